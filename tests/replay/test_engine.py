"""Every verb and aggregate of the engine, replayed on many pairs of neighbours in one table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.audit.rerun import replay
from tests.replay.case import PAIRS
from tests.replay.engine_cases import CASES, EngineCase
from tests.replay.tables import UNITS, neighbours

BUDGET = dp.ApproxDP(1000, "1e-3")


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Any]:
    """Open a table under a ledger of its own, release once, and close it."""
    numbers = count()

    def asked(table: pa.Table, unit: Any, question: Callable[[Any], Any], price: Any) -> Any:
        budget = dp.ZCDP(1000) if "rho" in price else BUDGET
        ledger = tmp_path / f"{next(numbers)}.ledger"
        with dp.Dataset(table, unit=unit, budget=budget, ledger=ledger, identity="data") as data:
            released = question(data).release(**price)
            assert {name: amount for name, amount in data.spent.items() if amount} == {
                name: Fraction(amount) for name, amount in price.items()
            }
            return released

    return asked


def chosen() -> list[Any]:
    """Each case with one unit on every commit, with all units at night; all aggregates at once only at night."""
    found = []
    for number, case in enumerate(CASES):
        for kind in case.units:
            usual = kind == case.units[number % len(case.units)] and len(case.ask) < 10
            marks = () if usual else (pytest.mark.nightly,)
            found.append(pytest.param(case, kind, marks=marks, id=f"{case.name}, {kind}"))
    return found


@pytest.mark.parametrize(("case", "kind"), chosen())
def test_neighbours_differ_by_what_was_paid_for(
    case: EngineCase, kind: str, asked: Callable[..., Any], record_property: Any
) -> None:
    worlds = [world for world in range(case.worlds) for _ in range(case.groups)]
    rounds = -(-PAIRS // case.worlds) if PAIRS > 200 else max(1, case.worlds // 200)  # smaller worlds are slower
    for round_ in range(rounds):
        first, second = neighbours(kind, case.worlds, f"{case.name} {round_}")
        verdict = replay(
            lambda table: asked(table, UNITS[kind], lambda q: case.group(q, case.worlds).agg(**case.ask), case.price),
            first,
            second,
            seed=round_,
            worlds=worlds,
        )
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", rounds * case.worlds)


X, BOUNDS = "x", (0, 100)
SHORTCUTS: dict[str, Callable[..., Any]] = {
    "count": lambda data, **price: data.count(**price),
    "count_people": lambda data, **price: data.count_people(**price),
    "count_distinct": lambda data, **price: data.count_distinct("k", **price),
    "sum": lambda data, **price: data.sum(X, BOUNDS, **price),
    "mean": lambda data, **price: data.mean(X, BOUNDS, **price),
    "variance": lambda data, **price: data.variance(X, BOUNDS, **price),
    "std": lambda data, **price: data.std(X, BOUNDS, **price),
    "median": lambda data, **price: data.median(X, BOUNDS, **price),
    "quantile": lambda data, **price: data.quantile(X, [0.1, 0.5], BOUNDS, **price),
    "min": lambda data, **price: data.min(X, BOUNDS, **price),
    "max": lambda data, **price: data.max(X, BOUNDS, **price),
    "histogram": lambda data, **price: data.histogram(X, [0, 50, 100], **price),
    "top": lambda data, **price: data.top("k", 1, candidates=[0, 1], **price),
}


@pytest.mark.parametrize("name", SHORTCUTS)
def test_questions_about_all_rows(name: str, tmp_path: Path, record_property: Any) -> None:
    """The same aggregates without groups, where a neighbour is in one group: a few pairs, as each is two releases."""
    kinds, numbers = list(UNITS), count()

    def pipeline(table: pa.Table) -> Any:
        ledger = tmp_path / f"{next(numbers)}.ledger"
        with dp.Dataset(table, unit=UNITS[kind], budget=BUDGET, ledger=ledger, identity="data") as data:
            return SHORTCUTS[name](data, epsilon=1)

    rounds = max(3, PAIRS // 100)
    for round_ in range(rounds):
        kind = kinds[round_ % len(kinds)]
        verdict = replay(pipeline, *neighbours(kind, 1, f"{name} {round_}"), seed=round_)
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", rounds)
