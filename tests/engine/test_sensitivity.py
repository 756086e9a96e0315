"""What a neighbour can change, against what the noise was made for: on the exact aggregates of random tables.

Many small worlds stand in one table, each with its own people and groups, and their neighbours in another: the same
salt chooses the same groups and rows in both.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.engine.most_common import Best
from dither.engine.quantiles import Ranks
from dither.ledger import Ledger
from dither.tables import BoundedTable, Column
from dither.tables.database_engines.duckdb import DuckDB
from dither.unit import Neighbour
from tests.engine.exact import exact_numbers, needs_of
from tests.engine.sensitivity import check, declared, noised

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
    "sum far from 0": dp.sum("x", (60, 90)),
    "mean": dp.mean("x", (0, 100)),
    "share": dp.share(dp.col("x") > 50),
    "ratio": dp.ratio("x", "k", (0, 90), (0, 4)),
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
    return UNITS[kind] if grouped or kind != "persons" else dp.Person("user", max_groups=1, max_rows_per_group=2)


@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "all rows"])
@pytest.mark.parametrize("kind", UNITS)
def test_no_neighbour_moves_more_than_was_declared(kind: str, grouped: bool) -> None:
    before, after = (numbers(kind, other, grouped) for other in (False, True))
    neighbour = Neighbour.of(unit(kind, grouped), grouped=grouped)
    assert neighbour.is_in_place == (kind == "replaced rows" and not grouped)
    size = len(CITIES) if grouped else 1
    for key in NEEDS:
        check_all(key, neighbour, before, after, size)


def check_all(key: str, neighbour: Neighbour, before: dict[str, Any], after: dict[str, Any], size: int) -> None:
    for world in range(WORLDS):
        here = slice(world * size, (world + 1) * size)
        check(NEEDS[key], neighbour, before[key][here], after[key][here])


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


REPLACED: list[dict[str, Any]] = [
    {"world": 0, "user": None, "city": "a", "x": x, "k": k}
    for x, k in [(None, 0), (-10.0, 1), (90.0, 2), (0.0, 3), (100.0, 0), (50.5, 4)]
]
"""Rows of which each takes the place of each other one, or of none that counts; some values of k are others' too."""


def _exchanged() -> list[dict[str, Any]]:
    """For each two of these rows and one that is in no world: what is known of a table with the first, and the second.

    The other rows are the same. A row outside of all worlds is one that a condition leaves out.
    """
    others = [{**REPLACED[0], "x": x, "k": k} for x, k in [(5.0, 0), (7.0, 0), (None, 3)]]
    choices = [*REPLACED, None]
    pairs = [(one, other) for one in choices for other in choices]
    engine, by = DuckDB(), {"world": Column("world")}
    keys = pa.table({"world": range(len(pairs))})
    found = []
    for side in (0, 1):
        rows = [
            {**row, "world": world if counts else -1}
            for world, pair in enumerate(pairs)
            for row, counts in [
                *((other, True) for other in others),
                (pair[side] or REPLACED[0], pair[side] is not None),
            ]
        ]
        table = engine.upload(pa.Table.from_pylist(rows, schema=SCHEMA))
        bounded = BoundedTable(engine, table, dp.Rows("replace"), by, engine.upload(keys))
        found.append(exact_numbers(bounded, NEEDS, keys))
    return found


def test_a_row_replaced_where_there_is_one_group_moves_as_much_as_was_declared_and_no_more() -> None:
    """Its old place is its new one: a count moves by 1 and a sum by its spread, half of what two groups see.

    For counts, sums, means and tallies some exchange moves as much as the noise is for.
    """
    in_place = Neighbour.of(dp.Rows("replace"), grouped=False)
    before, after = _exchanged()
    largest: dict[str, tuple[int, int]] = {}
    for key, need in NEEDS.items():
        for world in range(len(before[key])):
            check(need, in_place, before[key][world : world + 1], after[key][world : world + 1])
        if not isinstance(need, Ranks | Best):
            moved = (before[key] - after[key]).reshape(len(before[key]), -1).astype(object)
            turned = noised(need, in_place, before[key] - after[key]).reshape(moved.shape).astype(object)
            largest[key] = abs(turned).sum(axis=1).max(), (moved**2).sum(axis=1).max()
    for aggregate in ("count", "distinct", "sum", "sum far from 0", "mean", "share", "histogram"):
        (key,) = ASKED[aggregate].needs
        laplace, gaussian = declared(NEEDS[key], in_place)
        assert largest[key] == (laplace.sensitivity, gaussian.sensitivity_squared), aggregate
    two = Neighbour.of(dp.Rows("replace"), grouped=True)
    for aggregate, times in {"count": 2, "distinct": 2, "sum": Fraction(9, 5), "mean": 1, "histogram": 1}.items():
        (key,) = ASKED[aggregate].needs
        assert declared(NEEDS[key], two)[0].sensitivity == times * declared(NEEDS[key], in_place)[0].sensitivity


def test_the_only_group_is_one_group() -> None:
    person = UNITS["persons"]
    assert Neighbour.of(person, grouped=False) == Neighbour(1, 2, person.adjacency)
    assert Neighbour.of(person, grouped=True) == Neighbour(2, 2, person.adjacency)
    assert Neighbour.of(dp.Rows("replace"), grouped=False).groups == 2


FEW = {"found": dp.top("k", 2), **ASKED}
FEW_KEYS = (["a"], ["a", "b"])


@pytest.mark.parametrize("keys", FEW_KEYS, ids=len)
def test_a_person_is_in_no_more_groups_than_there_are_keys(keys: list[str], tmp_path: Path) -> None:
    """Somebody with many rows, values and groups moves no more than was declared, and as much as was declared."""
    person = dp.Person("user", max_groups=3, max_rows_per_group=2)
    theirs = [(city, float(x), x % 5) for city in "abcd" for x in range(10)]
    rows = [{"world": 0, "user": "them", "city": city, "x": x, "k": k} for city, x, k in theirs]
    others = [{"world": 0, "user": f"{n}", "city": "ab"[n % 2], "x": float(n), "k": n % 5} for n in range(8)]
    needs, seen = needs_of(FEW), []
    for at, made in enumerate((others, others + rows)):
        frame = pa.Table.from_pylist(made, schema=SCHEMA)
        ledger = tmp_path / f"{at}.ledger"
        data = dp.Dataset(frame, unit=person, budget=dp.PureDP(1), ledger=ledger, identity="few")
        question = data.group_by("city", keys=keys).agg(**FEW)
        seen.append(exact_numbers(question._bounded, needs, pa.table({"city": keys})))
    assert question.neighbour == Neighbour(len(keys), 2, person.adjacency)
    before, after = seen
    for key, need in needs.items():
        numbers = [each[key].groups if key == str(FEW["found"]) else each[key] for each in (after, before)]
        check(need, question.neighbour, *numbers)
    assert (after["rows"] - before["rows"]).tolist() == [2] * len(keys)


def test_noise_and_words_follow_the_number_of_keys(tmp_path: Path) -> None:
    person = dp.Person("user", max_groups=5, max_rows_per_group=1)
    frame = pa.table({"user": ["x", "y"], "city": ["a", "b"], "age": [3.0, 40.0]})
    ledger = Ledger(tmp_path / "few.ledger")
    data = dp.Dataset(frame, unit=person, budget=dp.PureDP(9), ledger=ledger, identity="few")
    for query, groups in (
        (data.group_by("city", keys=["a", "b"]), 2),
        (data.group_by(dp.bins("age", [0, 18, 65, 99])), 3),
        (data.group_by("city", dp.bins("age", [0, 18, 99]), keys=["a", "b", "c"]), 5),
    ):
        question = query.agg(n=dp.count_people())
        released = question.release(epsilon=1)
        event: Any = released.event
        assert (event.scale, event.sensitivity) == (groups, groups)
        assert f"at most {groups} groups" in str(question.neighbour)
        assert f"at most {groups} groups" in released.certificate()["unit"]
        assert dp.check_certificate(released.certificate(), ledger).entry == released.entry
    assert Neighbour.of(dp.Rows("replace").among(1), grouped=True).groups == 2
