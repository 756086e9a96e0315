"""The event of an estimator covers all that might have been done, not only what an answer led to."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.events import Composed, Stated
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers

LOOK = Fraction(45, 1000)


def test_steps_that_a_look_decides_on_do_not_show_in_the_event() -> None:
    """Few records and bounds much too wide: about half of the looks lead to others."""
    for name in ("sum", "mean", "variance", "std"):
        data = np.linspace(1.0, 9.0, 190)  # 56 % of 150 looks were followed by two, 40 % by none
        runs = [getattr(dp.stats, name)(data, epsilon=1, bounds=(0, 3000)) for _ in range(40)]
        assert len({run.split["look"] for run in runs}) > 1  # all alike with probability below 1e-6
        assert len({run.event for run in runs}) == 1
    event = dp.stats.mean(data, epsilon=1, bounds=(0, 3000)).event
    assert isinstance(event, Composed)
    assert event.events[1] == Stated("PureDP", (1 - LOOK,), ADD_REMOVE)
    assert compose([event]).epsilon(0) <= 1 + 1e-9


def test_public_steps_are_told_one_by_one() -> None:
    def steps(name: str = "mean", **other: Any) -> list[type]:
        event = getattr(dp.stats, name)([1.0, 2.0] * 400, epsilon=1, **other).event
        return [type(each) for each in (event.events if isinstance(event, Composed) else [event])]

    for name in ("sum", "mean", "variance", "std"):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            options: dict[str, Any] = {"name": name, "adjacency": adjacency}
            assert steps(**options, bounds=(0, 10), clip=False) == [dp.events.LaplaceNoise]
            assert steps(**options, bounds=(0, 10)) == [dp.events.LaplaceNoise, Stated]
            assert steps(**options) == [dp.events.LaplaceNoise, Stated]


def test_without_clipping_all_of_the_budget_is_for_the_sums() -> None:
    for name, step in (("sum", "sum"), ("mean", "sum"), ("variance", "squares"), ("std", "squares")):
        assert getattr(dp.stats, name)([1.0, 2.0], epsilon=1, bounds=(0, 10), clip=False).split == {step: 1}


def test_no_answer_is_paid_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, which looks alone are taken for records once in 10⁶ times."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    for name in ("sum", "mean", "variance", "std"):
        with exact_answers():
            release = getattr(dp.stats, name)([3.0, 4.0], epsilon="1/4")
        assert isinstance(release.value, dp.NoAnswer)
        assert "2000 records" in str(release.value)
        assert release.interval(0.9) == (-float("inf"), float("inf"))
        assert release.guarantee == dp.PureDP(Fraction(1, 4), adjacency=ADD_REMOVE)
        assert release.event == dp.stats.mean([3.0] * 900, epsilon="1/4").event
