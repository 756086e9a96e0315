"""Every verb, aggregate and shortcut of the engine, replayed on many pairs of neighbours in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.audit.replay import Replayed, replay
from dither.ledger.budget import amounts, read_budget
from tests.replay.apart import caught, replayed
from tests.replay.case import PAIRS
from tests.replay.engine_cases import APART, CASES, ApartCase, EngineCase
from tests.replay.tables import UNITS, neighbours

__all__ = ["chosen", "compare_apart", "compared"]

WORLDS = min(PAIRS, 2_000)
"""So many pairs are in one table."""

Opened = Callable[..., dp.Dataset]


def chosen(cases: Sequence[Any], usual: Callable[[Any], bool] = lambda case: True) -> list[Any]:
    """Each case with one unit on every commit, and with all units at night."""
    found = []
    for number, case in enumerate(cases):
        for kind in case.units:
            is_usual = usual(case) and kind == case.units[number % len(case.units)]
            marks = () if is_usual else (pytest.mark.nightly,)
            found.append(pytest.param(case, kind, marks=marks, id=f"{case.name}, {kind}"))
    return found


def check_paid(data: dp.Dataset, released: Any, price: Mapping[str, Any]) -> None:
    """The price, the ledger, its entry and the guarantee say the same."""
    spent = {name: amount for name, amount in data.spent.items() if amount}
    assert spent == {name: Fraction(amount) for name, amount in price.items()}
    assert spent == {name: amount for name, amount in amounts(released.guarantee).items() if amount}
    assert read_budget(released.entry.content["cost"]) == released.guarantee


def compared(
    case: EngineCase, kind: str, worlds: int, round_: int, opened: Opened, place: Callable[[pa.Table], Any]
) -> Replayed:
    """A case on two tables of so many worlds, each put where the engine finds it."""

    def asked(source: Any) -> Any:
        with opened(source, UNITS[kind], case.price) as data:
            released = case.group(data, worlds).agg(**case.ask).release(**case.price)
            check_paid(data, released, case.price)
            return released

    first, second = map(place, neighbours(kind, worlds, f"{case.name} {round_}"))
    return replay(asked, first, second, seed=round_, worlds=case.worlds(worlds))


def is_quick(case: EngineCase) -> bool:
    return case.name not in ("each need", "per_person")  # they are among the others, and below


@pytest.mark.parametrize(("case", "kind"), chosen(CASES, is_quick))
def test_neighbours_differ_by_what_was_paid_for(
    case: EngineCase, kind: str, opened: Opened, record_property: Any
) -> None:
    for round_ in range(PAIRS // WORLDS):
        verdict = compared(case, kind, WORLDS, round_, opened, lambda table: table)
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", PAIRS)


@pytest.mark.parametrize(("case", "kind"), chosen(APART))
def test_questions_about_all_rows(case: ApartCase, kind: str, opened: Opened, record_property: Any) -> None:
    pairs = PAIRS // case.slower
    worlds = min(pairs, WORLDS)
    for round_ in range(pairs // worlds):
        compare_apart(case, kind, worlds, round_, opened, lambda table: table)
    record_property("replayed pairs", pairs)


def compare_apart(
    case: ApartCase, kind: str, worlds: int, round_: int, opened: Opened, place: Callable[[pa.Table], Any]
) -> None:
    """Each world of two tables is a pair: the case is asked of each by itself, and none may differ too much."""
    sides = []
    with ExitStack() as stack:  # what is asked then is asked of a table that is still there
        for source in map(place, neighbours(kind, worlds, f"{case.name} {round_}")):
            data = stack.enter_context(opened(source, UNITS[kind], case.price))
            side = caught(data, lambda rows: case.ask(rows, **case.price), worlds, round_)
            check_paid(data, side.released, case.price)
            sides.append(side)
        first, second = sides
        for world in range(worlds):
            verdict = replayed(first, second, world, first.released.guarantee)
            assert verdict.passed, f"world {world}: {verdict.difference}"
            assert not isinstance(verdict.result, Exception), verdict.result
