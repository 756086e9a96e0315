"""Streams without noise, and a table that a stream reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dither.noise import entropy
from dither.testing.exact_answers import exact_answers


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Exact numbers for the length of a test."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    with exact_answers():
        yield
