"""Builds the documentation as a static site: `make docs`, or `python -m docs.site` from the root of the repository."""
