"""Hypothesis profiles: every commit searches the same examples, the nightly run searches new ones."""

from collections.abc import Iterator

import pytest
from flint import ctx
from hypothesis import settings

settings.register_profile("commit", deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", deadline=None, max_examples=5_000)
settings.load_profile("commit")


@pytest.fixture(autouse=True)
def _usual_precision() -> Iterator[None]:
    """Flint's precision is one for the whole process: a test that leaves it changed would help or hurt the next one."""
    before = ctx.prec
    yield
    assert ctx.prec == before, "this test left flint's precision changed; use ctx.workprec"
