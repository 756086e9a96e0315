"""The curator: many analysts under one budget, over HTTP.

Strings ↔ typed objects; what a question means and costs is decided elsewhere, and the one way to data is a release.
"""

from dither.web.settings import Settings

__all__ = ["Settings"]
