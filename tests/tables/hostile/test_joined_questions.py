"""Hostile values where questions tie rows to other rows: EXISTS, IN, LEFT JOIN, UNION ALL, ROLLUP, and foreign keys of
foreign keys. None decides whether or how a question is answered, and a person moves no more than was declared.

The lines are the same in both worlds of a pair. Those that only the orders of the hostile person find are nobody's as
long as the person is not there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.unit import Neighbour
from tests.engine.exact import exact_batches, needs_of, numbers_of
from tests.engine.sensitivity import check
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import Container, people
from tests.tables.hostile.operators import CITIES, world_name
from tests.tables.hostile.runner import warned
from tests.tables.hostile.search import types_of
from tests.tables.hostile.test_joined_tables import MAIN
from tests.tables.hostile.values import Typed

_QUICK = {"BIGINT", "DOUBLE", "VARCHAR beyond ASCII", "DATE", "bigint", "numeric", "citext"}
"""Types that are tried at each commit; the others at night."""
_ASKED = "COUNT(*) AS n, COUNT(DISTINCT who) AS people, SUM(w) AS s"
QUESTIONS = {
    "exists": f"SELECT world, city, {_ASKED} FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE reference = "
    "orders.c0) GROUP BY world, city",
    "not exists": f"SELECT world, city, {_ASKED} FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE reference = "
    "orders.c0 AND theirs > 2) GROUP BY world, city",
    "in": f"SELECT world, city, {_ASKED} FROM orders WHERE c0 IN (SELECT reference FROM lines WHERE theirs >= 1) "
    "GROUP BY world, city",
    "of the same table": f"SELECT world, city, {_ASKED} FROM orders WHERE EXISTS (SELECT 1 FROM orders AS o WHERE "
    "o.who = orders.who AND o.c0 = orders.c0 AND o.city = 'a') GROUP BY world, city",
    "left join": "SELECT world, city, COUNT(*) AS n, SUM(theirs) AS s FROM orders LEFT JOIN lines ON lines.reference = "
    "orders.c0 AND lines.theirs > 1 GROUP BY world, city",
    "chain": "SELECT world, city, COUNT(*) AS n, SUM(theirs) AS s FROM lines JOIN orders ON lines.reference = "
    "orders.c0 JOIN people ON orders.buyer = people.who WHERE one = 1 GROUP BY world, city",
    "union": f"SELECT world, city, {_ASKED} FROM (SELECT world, city, w, who, c0 FROM orders UNION ALL SELECT world, "
    "city, w, who, c0 FROM orders WHERE c0 IS NOT NULL) AS t GROUP BY world, city",
    "rollup": f"SELECT world, city, label, {_ASKED} FROM orders GROUP BY world, ROLLUP (city, label)",
    "rollup of public groups": f"SELECT world, city, {_ASKED} FROM orders WHERE c0 = c0 GROUP BY world, ROLLUP (city)",
}


def _opened(container: Any, typed: Typed, book: Ledger, *, hostile: bool) -> dp.Dataset:
    """Orders have a person by one foreign key, lines have one by two: the hostile column is the key between them."""
    worlds = range(len(typed.hostile))
    orders = container.made([typed], people(worlds, hostile=hostile))
    lines = orders if hostile else container.made([typed], people(worlds, hostile=True))
    made = {
        "people": f"SELECT DISTINCT who, 1 AS one FROM {orders}",
        "orders": f"SELECT who AS buyer, world, city, w, c0, c0 AS label FROM {orders}",
        "lines": f"SELECT c0 AS reference, w AS theirs FROM {lines}",
    }
    tables: dict[str, Any] = {name: f"{orders}_as_{name}" for name in made}
    for name, select in made.items():
        container.run(f"CREATE TABLE {tables[name]} AS {select}")
    url: Any = {"source": container.server}
    if container.name == "DuckDB table":
        tables, url = {name: container.server.table(of) for name, of in tables.items()}, {"identity": orders}
    return dp.Dataset(
        **url,
        tables=tables,
        foreign_keys={"lines.reference": "orders.c0", "orders.buyer": "people.who"},
        unit=dp.Person("who", max_groups=2, max_rows_per_group=2),
        budget=dp.ApproxDP(10**6, "1e-3"),
        ledger=book,
        columns={
            "world": [world_name(world) for world in worlds],
            "city": list(CITIES),
            "w": (0, 200),
            "theirs": (0, 200),
        },
    )


def _outcomes(data: dp.Dataset) -> dict[str, Any]:
    """Each question with its exact answers and warnings, or how it is refused; a failure of the engine goes through."""
    found: dict[str, Any] = {}
    for name, text in QUESTIONS.items():
        try:
            question = data.sql(text)
        except ParameterError as refusal:
            found[name] = str(refusal)
            continue
        with warned() as heard:
            found[name] = question, exact_batches(question._bounded, needs_of(question.aggregates)), heard
    return found


def _compare(before: Any, after: Any) -> None:
    """Both are refused in the same words, or answered in the same types with numbers that moved by what they may."""
    if isinstance(before, str) or isinstance(after, str):
        assert before == after
        return
    question, first, heard = before
    _, second, heard_then = after
    types = [{key: {str(batch.schema) for batch in each} for key, each in side.items()} for side in (first, second)]
    assert (types[0], heard) == (types[1], heard_then)
    needs, names = needs_of(question.aggregates), list(question.query.keys)
    listed = [pa.table(batch).select(names) for side in (first, second) for each in side.values() for batch in each]
    groups = pa.concat_tables(listed).group_by(names).aggregate([])
    numbers = [numbers_of(side, needs, groups) for side in (first, second)]
    worlds = groups.column("world").to_pylist()
    for key, need in needs.items():
        for world in set(worlds):
            here = [at for at, each in enumerate(worlds) if each == world]
            old, new = (np.array([side[key][at] for at in here], dtype=np.int64) for side in numbers)
            check(need, question.neighbour, new, old)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(
            kind, typed.name, id=f"{kind.name} - {typed.name}",
            marks=[
                *([pytest.mark.xdist_group("postgres")] if kind is MAIN[1] else []),
                *([] if typed.name in _QUICK else [pytest.mark.nightly]),
            ],
        )
        for kind in MAIN
        for typed in types_of(kind)
    ],
)  # fmt: skip
def test_no_value_decides_an_outcome_or_moves_more_than_was_declared(
    kind: type[Container], name: str, container: Open, book: Ledger
) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    sides = []
    for hostile in (False, True):
        try:
            with _opened(container(kind), typed, book, hostile=hostile) as data:
                sides.append(_outcomes(data))
        except ParameterError as refusal:  # of the type, as of real numbers that are no keys
            sides.append({"opened": str(refusal).partition(" has ")[2]})
    before, after = sides
    assert before.keys() == after.keys()
    for question in before:
        _compare(before[question], after[question])


def test_the_questions_are_answered(container: Open, book: Ledger) -> None:
    """Of texts and of whole numbers all of them: else nothing is compared."""
    for name in ("BIGINT", "VARCHAR"):
        (typed,) = (each for each in types_of(MAIN[0]) if each.name == name)
        with _opened(container(MAIN[0]), typed, book, hostile=True) as data:
            refused = {key: each for key, each in _outcomes(data).items() if isinstance(each, str)}
        assert refused == {}


def test_a_limit_that_is_not_kept_would_be_noticed(container: Open, book: Ledger) -> None:
    """The control: the same numbers, held against what half as many rows or one group might move."""
    (typed,) = (each for each in types_of(MAIN[0]) if each.name == "VARCHAR")
    sides = []
    for hostile in (False, True):
        with _opened(container(MAIN[0]), typed, book, hostile=hostile) as data:
            sides.append(_outcomes(data)["rollup of public groups"])
    question = sides[0][0]
    _compare(*sides)
    smaller = Neighbour(1, 1, question.neighbour.adjacency)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(question), "neighbour", smaller)
        with pytest.raises(AssertionError):
            _compare(*sides)
