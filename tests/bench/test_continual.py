"""The bench of streams runs, in small: what it measures moves with the engine."""

from __future__ import annotations

import pytest

from bench import continual
from dither.continual.choice import chosen
from dither.continual.participation import ONCE


def test_a_long_stream_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time, memory, and no total outside of its interval: 1,500 of them, each with probability 10^-9."""
    monkeypatch.setattr(continual, "LONG", 5_000)
    monkeypatch.setattr(continual, "STEPS", 15)
    step, memory, strays = continual._long()
    assert step.ours > 0
    assert memory.ours > 0
    assert strays.verdict == "holds"


def test_a_simulation_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 streams of 20 days: the RMS error is predicted within a fifth, but for a chance below 10^-8."""
    monkeypatch.setattr(continual, "YEAR", 20)
    monkeypatch.setattr(continual, "SIMULATED", 400)
    row = continual._simulated(chosen(20, [None], ONCE))
    assert row.ratio > 0.8
    assert row.asked == 0.98


def test_what_tests_count_is_read() -> None:
    """Two cases of six periods each, and no failure."""
    case = "tests/engine/test_stream.py::test_h86_a_person_on_many_days_moves_no_more_than_is_charged"
    assert continual._counts_of("replayed pairs", "not nightly", case) == (12, 0)
