"""Cases call what they say they cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dither as dp
from tests.replay import mechanism_cases, stats_cases
from tests.replay.case import Case
from tests.replay.drawing import Choices
from tests.replay.trace import entered

_SIMPLEST = b""


@pytest.mark.parametrize("case", [*mechanism_cases.CASES, *stats_cases.CASES], ids=str)
def test_a_case_calls_what_it_says_it_covers(case: Case) -> None:
    def made_and_run() -> None:
        run = case.runs(Choices(_SIMPLEST))
        run.pipeline(run.first)

    assert case.covers <= entered(made_and_run)


WRONG: dict[str, Callable[[], Any]] = {
    "Laplace": lambda: dp.Laplace(sensitivity=1, epsilon=1).error(0.05),
    "NoisyMax": lambda: dp.Exponential(sensitivity=1, epsilon=1).release([1, 2]),
    "Oracle": lambda: dp.Oracle(np.zeros(100), queries=1),
    "stats.mean": lambda: dp.stats.sum([1.0], epsilon=1, bounds=(0, 1)),
    "stats.median": lambda: dp.stats.median,
    "Query.where": lambda: dp.col("x") > 1,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_case_that_does_not_call_it_would_be_seen(name: str) -> None:
    assert name not in entered(WRONG[name])
