"""Hypothesis profiles: every commit searches the same examples, the nightly run searches new ones."""

from hypothesis import settings

settings.register_profile("commit", deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", deadline=None, max_examples=5_000)
settings.load_profile("commit")
