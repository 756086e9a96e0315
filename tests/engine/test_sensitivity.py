"""What a neighbour can change, against what the noise was made for: on the exact aggregates of random tables.

Many small worlds stand in one table, each with its own people and groups, and their neighbours in another: the same
salt chooses the same groups and rows in both.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.common import Best
from dither.engine.needs import Neighbour
from dither.engine.ranks import Binned, Extreme, Ranks
from dither.tables import BoundedTable, Column
from dither.tables.engines.duckdb import DuckDB
from tests.engine.exact import exact_numbers, needs_of

WORLDS, CITIES = 16, "abc"
GROUPS = pa.table(
    {
        "world": [world for world in range(WORLDS) for _ in CITIES],
        "city": list(CITIES) * WORLDS,
    }
)
SCHEMA = pa.schema({"world": pa.int64(), "user": pa.string(), "city": pa.string(), "x": pa.float64(), "k": pa.int64()})
SPECIAL = [None, float("nan"), float("inf"), -0.0, 0.0, 100.0]
ASKED = {
    "count": dp.count(),
    "people": dp.count_people(),
    "distinct": dp.count_distinct("k"),
    "sum": dp.sum("x", (-10, 90)),
    "mean": dp.mean("x", (0, 100)),
    "std": dp.std("x", (0, 100)),
    "histogram": dp.histogram("x", [0, 10, 50, 100]),
    "quantile": dp.quantile("x", ["0.25", "0.5"], (0, 100)),
    "max": dp.max("x", (0, 100)),
    "top": dp.top("k", 2, candidates=[0, 1, 2]),
}
NEEDS = needs_of(ASKED)
UNITS: dict[str, Any] = {
    "rows": dp.Rows(),
    "replaced rows": dp.Rows("replace"),
    "persons": dp.Person("user", max_groups=2, max_rows_per_group=2),
}


def row(world: int, choose: random.Random) -> dict[str, Any]:
    x = choose.choice(SPECIAL) if choose.random() < 0.2 else choose.uniform(-20, 120)
    user = f"{world} {choose.randrange(3)}"
    return {"world": world, "user": user, "city": choose.choice(CITIES + "d"), "x": x, "k": choose.randrange(5)}


def worlds() -> list[list[dict[str, Any]]]:
    choose = random.Random(7)
    return [[row(world, choose) for _ in range(choose.randint(1, 14))] for world in range(WORLDS)]


def neighbours(kind: str) -> list[list[dict[str, Any]]]:
    """In each world one person less, one row less, or the first row replaced."""
    choose, made = random.Random(8), []
    for world, rows in enumerate(worlds()):
        if kind == "persons":
            made.append([each for each in rows if each["user"] != rows[0]["user"]])
        else:
            made.append([row(world, choose), *rows[1:]] if kind == "replaced rows" else rows[1:])
    return made


@cache
def numbers(kind: str, other: bool, grouped: bool) -> dict[str, Any]:
    """The exact numbers of all worlds; without groups, of a world as a whole."""
    rows = list(itertools.chain(*(neighbours(kind) if other else worlds())))
    engine = DuckDB()
    keys = GROUPS if grouped else pa.table({"world": range(WORLDS)})
    table, public = engine.upload(pa.Table.from_pylist(rows, schema=SCHEMA)), engine.upload(keys)
    by = {name: Column(name) for name in keys.column_names}
    return exact_numbers(BoundedTable(engine, table, unit(kind, grouped), by, public), NEEDS, keys)


def unit(kind: str, grouped: bool) -> Any:
    return UNITS[kind] if grouped or kind != "persons" else dp.Person("user", max_rows_per_group=2)


@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "all rows"])
@pytest.mark.parametrize("kind", UNITS)
def test_no_neighbour_moves_more_than_was_declared(kind: str, grouped: bool) -> None:
    before, after = (numbers(kind, other, grouped) for other in (False, True))
    neighbour = Neighbour.of(unit(kind, grouped), grouped=True)
    size = len(CITIES) if grouped else 1
    for key in NEEDS:
        check_all(key, neighbour, before, after, size)


def check_all(key: str, neighbour: Neighbour, before: dict[str, Any], after: dict[str, Any], size: int) -> None:
    for world in range(WORLDS):
        here = slice(world * size, (world + 1) * size)
        check(NEEDS[key], neighbour, before[key][here], after[key][here])


def check(need: Any, neighbour: Neighbour, before: Any, after: Any) -> None:
    if isinstance(need, Ranks):
        check_scores(need, neighbour, before, after)
    elif isinstance(need, Best):
        check_votes(neighbour, before - after)
    else:
        check_moves(need, neighbour, before - after)


def check_moves(need: Any, neighbour: Neighbour, moved: Any) -> None:
    laplace, gaussian = need.pure(neighbour, Fraction(1)).event, need.concentrated(neighbour, Fraction(1)).event
    assert sum(abs(int(x)) for x in moved.ravel()) <= laplace.sensitivity
    assert sum(int(x) ** 2 for x in moved.ravel()) <= gaussian.sensitivity_squared
    assert np.count_nonzero(moved) <= gaussian.dimension


def check_votes(neighbour: Neighbour, moved: Any) -> None:
    assert np.abs(moved).max(initial=0) <= neighbour.rows
    assert np.count_nonzero(np.abs(moved).max(axis=1)) <= neighbour.groups
    if not neighbour.replaces:
        assert (moved >= 0).all()


def check_scores(need: Ranks, neighbour: Neighbour, before: list[Binned], after: list[Binned]) -> None:
    """Naive scores, place by place: what the groups lose together is what they were made for."""
    slopes = {None: 1} if isinstance(need.asked, Extreme) else {q: max(q, 1 - q) for q in need.asked}
    for q, slope in slopes.items():
        changes = [
            max(abs(score(old, y, q) - score(new, y, q)) for y in places(old, new))
            for old, new in zip(before, after, strict=True)
        ]
        assert sum(changes) <= slope * neighbour.rows * neighbour.groups
        if not neighbour.replaces:
            assert max(changes) <= slope * neighbour.rows


def places(*groups: Binned) -> list[float]:
    edges = sorted({0.0, 100.0, *(edge for rows in groups for edge in (*rows.starts.tolist(), *rows.ends.tolist()))})
    return [(low + high) / 2 for low, high in pairwise(edges)]


def score(rows: Binned, y: float, q: Fraction | None) -> Fraction:
    bins: list[tuple[float, float, int]] = list(
        zip(rows.starts.tolist(), rows.ends.tolist(), rows.counts.tolist(), strict=True)
    )
    total = sum(count for _, _, count in bins)
    above = sum(count for start, _, count in bins if start > y)
    below = sum(count for _, end, count in bins if end <= y)
    if q is None:
        return Fraction(-max(0, above - 7, below - (total - 7)))
    return -max(Fraction(0), above - (1 - q) * total, below - q * total)


@pytest.mark.parametrize("key", NEEDS)
def test_a_smaller_bound_would_be_seen(key: str) -> None:
    """For each need there is a world in which a bound on groups or rows that is smaller by one does not hold."""
    before, after = (numbers("persons", other, True) for other in (False, True))
    full = Neighbour.of(UNITS["persons"], grouped=True)
    less = [Neighbour(full.groups - 1, full.rows, full.adjacency)]
    if key != "people":
        less.append(Neighbour(full.groups, full.rows - 1, full.adjacency))
    for neighbour in less:
        with pytest.raises(AssertionError):
            check_all(key, neighbour, before, after, len(CITIES))


def test_the_only_group_is_one_group() -> None:
    person = UNITS["persons"]
    assert Neighbour.of(person, grouped=False) == Neighbour(1, 2, person.adjacency)
    assert Neighbour.of(person, grouped=True) == Neighbour(2, 2, person.adjacency)
    assert Neighbour.of(dp.Rows("replace"), grouped=False).groups == 2
