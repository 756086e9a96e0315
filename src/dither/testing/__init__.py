"""For tests of code that uses dither: a pytest fixture that takes the noise away.

In `conftest.py`:

    pytest_plugins = ["dither.testing"]

A test that asks for the fixture `dither_without_noise` gets exact answers. It works in a test that pytest runs and
nowhere else: the test switch of `dither.noise` must have been set by this plugin (or by DITHER_TEST_DOOR=open in the
environment) before the noise was loaded. What is released says that it is not private, and no durable ledger is
charged. This module needs pytest, and loads nothing else: the switch is read when the noise is first loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dither.errors import EntropyError

__all__ = ["dither_without_noise", "without_noise"]

_DOOR = "DITHER_TEST_DOOR"


def pytest_configure() -> None:
    """Load the noise with its test switch on. Processes that tests start do not inherit it."""
    before = os.environ.get(_DOOR)
    os.environ[_DOOR] = "open"
    try:
        from dither.noise import entropy  # noqa: F401  (it looks once, now)
    finally:
        if before is None:
            del os.environ[_DOOR]
        else:
            os.environ[_DOOR] = before


@contextmanager
def without_noise() -> Iterator[None]:
    """Take the noise away inside the block, in a test that pytest runs.

    Raises
    ------
    EntropyError
        Outside of a test, or if the noise was loaded before this plugin.
    """
    if "PYTEST_CURRENT_TEST" not in os.environ:
        raise EntropyError("noise is taken away only in a test that pytest runs: answers without it are not private.")
    from dither.testing.exact_answers import exact_answers  # loads the noise

    with exact_answers():
        yield


@pytest.fixture
def dither_without_noise() -> Iterator[None]:
    """Exact answers for the length of a test."""
    with without_noise():
        yield
