"""The generated tables hold what they should, in what every commit replays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
import dither.release as door
from dither.tables import ExactAggregate
from tests.replay.apart import caught
from tests.replay.engine_cases import APART, CASES
from tests.replay.tables import CITIES, UNITS, has_strays, is_heavy, neighbours

WORLDS = 200
SEEDS = [f"{name} 0" for name in (*(case.name for case in CASES), *(case.name for case in APART))][::6]

Row = tuple[Any, ...]


def by_world(table: pa.Table) -> dict[int, Counter[Row]]:
    """The rows of each world; NaN as a text, as it is not equal to itself."""
    found: dict[int, Counter[Row]] = {world: Counter() for world in range(WORLDS)}
    for row in table.to_pylist():
        x = row["x"]
        shown = repr(x) if isinstance(x, float) and (math.isnan(x) or x == 0) else x
        found[row["world"]][row["user"], row["city"], shown, row["k"], row["day"]] += 1
    return found


def moved(kind: str, seed: str) -> dict[int, tuple[Counter[Row], Counter[Row]]]:
    """Of each world the rows that only one side has, and those that only the other has."""
    left, right = map(by_world, neighbours(kind, WORLDS, seed))
    return {world: (left[world] - right[world], right[world] - left[world]) for world in left}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_world_is_a_pair_of_neighbours(seed: str) -> None:
    for only in moved("rows", seed).values():
        assert sorted(side.total() for side in only) == [0, 1]
    for only in moved("replaced rows", seed).values():
        assert [side.total() for side in only] == [1, 1]
    for world, only in moved("persons", seed).items():
        assert sorted(bool(side) for side in only) == [False, True]
        persons = {row[0] for side in only for row in side}
        assert len(persons - {None}) == 1
        assert has_strays(world) or None not in persons


@pytest.mark.parametrize("seed", SEEDS)
def test_heavy_persons_rows_of_nobody_and_empty_worlds_come_and_go(seed: str) -> None:
    persons = moved("persons", seed)
    assert {world for world, only in persons.items() if sum(map(Counter.total, only)) >= 1000} == set(
        filter(is_heavy, range(WORLDS))
    )
    assert any(row[0] is None for only in persons.values() for side in only for row in side)
    for kind in ("rows", "persons"):
        sides = list(map(by_world, neighbours(kind, WORLDS, seed)))
        empty = [{world for world, rows in side.items() if not rows} for side in sides]
        assert empty[0] - empty[1]
        assert empty[1] - empty[0]


@pytest.mark.parametrize("kind", UNITS)
def test_every_odd_value_is_there(kind: str) -> None:
    rows = [row for table in neighbours(kind, WORLDS, SEEDS[0]) for row in table.to_pylist()]
    assert {"None", "nan", "inf", "-inf", "-0.0", "0.0", "1.7e+308", "-1.7e+308", "5e-324"} <= {
        repr(row["x"]) for row in rows
    }
    assert {row["city"] for row in rows} == {*CITIES, "elsewhere", "", None}
    assert None in {row["user"] for row in rows}
    assert {None, -(2**63)} <= {row["k"] for row in rows}
    assert None in {row["day"] for row in rows}


@pytest.mark.parametrize("case", [APART[4], APART[7], APART[-1]], ids=str)
def test_a_world_by_itself_is_the_world_as_a_table(
    case: Any, opened: Callable[..., dp.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference of `apart`: a dataset that holds nothing else, asked in the usual way under the same salts."""
    table, _ = neighbours("persons", 8, case.name)
    with opened(table, UNITS["persons"], case.price) as data:
        side = caught(data, lambda rows: case.ask(rows, **case.price), 8, seed=1)
    for world in (0, 3, 7):
        alone: list[list[dict[str, Any]]] = []
        drawn = door._drawn

        def asked(exact: list[ExactAggregate], draw: Any, alone: Any = alone, drawn: Any = drawn) -> Any:
            alone.extend([row for batch in each._open() for row in batch.to_pylist()] for each in exact)
            return drawn(exact, draw)

        with monkeypatch.context() as patch:
            patch.setattr(door, "_drawn", asked)
            rows = table.filter(pa.compute.equal(table["world"], world))
            with opened(rows, UNITS["persons"], case.price) as data:
                caught(data, lambda rows: case.ask(rows, **case.price), 8, seed=1)
        found = [batch.to_pylist() for batch in side.answers[world]]
        assert [sorted(map(repr, each)) for each in found] == [sorted(map(repr, each)) for each in alone]
