"""Cases call what they say they cover."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dither as dp
from tests.replay import engine_cases, mechanism_cases, stats_cases, stream_cases
from tests.replay.case import Case
from tests.replay.drawing import Choices
from tests.replay.tables import UNITS, neighbours
from tests.replay.trace import entered, made

_SIMPLEST = b""


@pytest.mark.parametrize("case", [*mechanism_cases.CASES, *stats_cases.CASES], ids=str)
def test_a_case_calls_what_it_says_it_covers(case: Case) -> None:
    def made_and_run() -> None:
        run = case.runs(Choices(_SIMPLEST))
        run.pipeline(run.first)

    assert case.covers <= entered(made_and_run)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Dataset]:
    table, _ = neighbours("persons", 4, "traced")
    budget, ledger = dp.ApproxDP(1000, "0.9"), tmp_path_factory.mktemp("traced") / "ledger"
    with dp.Dataset(table, unit=UNITS["persons"], budget=budget, ledger=ledger, identity="data") as data:
        yield data


NAMESPACE, MAKER = made(lambda: runpy.run_path(engine_cases.__file__))
"""The cases of the engine once more, made while it was watched which function makes which aggregate."""


@pytest.mark.parametrize("case", NAMESPACE["CASES"], ids=str)
def test_a_question_asks_what_it_says_it_covers(case: Any, data: dp.Dataset) -> None:
    aggregates = {MAKER(each) for each in case.ask.values()}
    name, one = next(iter(case.ask.items()))
    assert case.covers <= aggregates | entered(lambda: case.group(data, 4).agg(**{name: one}))


@pytest.mark.parametrize("case", engine_cases.APART, ids=str)
def test_a_question_about_all_rows_asks_what_it_says_it_covers(case: engine_cases.ApartCase, data: dp.Dataset) -> None:
    price = {"epsilon": 1, **({"delta": "1e-3"} if "delta" in case.price else {})}
    assert case.covers <= entered(lambda: case.ask(data, **price))


@pytest.mark.parametrize("case", stream_cases.CASES, ids=str)
def test_a_stream_asks_what_it_says_it_covers(case: stream_cases.StreamCase, tmp_path: Path) -> None:
    table, _ = stream_cases.neighbours(case, 4, "traced")
    with dp.Dataset(table, unit=case.unit, budget=dp.ZCDP(1), ledger=tmp_path / "ledger", identity="data") as opened:
        assert case.covers <= entered(lambda: stream_cases.asked(case, opened, 4))


def test_who_made_an_aggregate_is_known() -> None:
    (one, two), maker = made(lambda: (dp.count(), dp.count_people()))
    assert (maker(one), maker(two)) == ("count", "count_people")


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
