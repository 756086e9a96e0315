"""Hostile persons: of every type that can tell persons apart, without a name, and with ten thousand rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import EngineError, ParameterError
from dither.ledger import Ledger
from dither.tables import PERSON
from tests.engine.exact import exact_numbers, needs_of
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, ORDINARY, Container, Row, engine_of, people
from tests.tables.hostile.operators import CITIES, world_name
from tests.tables.hostile.runner import Worlds
from tests.tables.hostile.search import refusal, types_of
from tests.tables.hostile.values import Typed

_ON_SERVER = [pytest.mark.xdist_group("postgres")]
_KINDS = [CONTAINERS["duckdb"][0], CONTAINERS["duckdb"][1], CONTAINERS["postgres"][0]]
_SPARK, _NAMES_IN_SPARK = CONTAINERS["spark"][0], ("string", "string beyond ASCII", "decimal(38,38)")
_IN_SPARK = [pytest.mark.slow, pytest.mark.xdist_group("spark")]
_MANY = 10_000


class _Persons(Worlds):
    """The column itself tells persons apart. Ordinary people are the same in all worlds, hostile ones are not."""

    @property
    def unit(self) -> Any:
        return dp.Person("c0", max_groups=2, max_rows_per_group=2)


class _Busy(Worlds):
    """The hostile person has very many rows, in all groups."""

    def rows(self, *, hostile: bool) -> list[Row]:
        others = people(self._worlds, hostile=False)
        brought = [
            Row(world, f"{world_name(world)} new", CITIES[at % len(CITIES)], ORDINARY + world)
            for world in self._worlds
            for at in range(_MANY)
        ]
        return others + brought if hostile else others


def _is_somebody_new(typed: Typed, value: Any) -> bool:
    """Whether nobody else has the value; a text of fixed length has no blanks at its end."""
    return str(value).rstrip(" ").casefold() not in {str(each).casefold() for each in typed.ordinary}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, typed.name, id=f"{kind.name} - {typed.name}", marks=_ON_SERVER if kind is _KINDS[2] else [])
        for kind in _KINDS
        for typed in types_of(kind)
    ]
    + [pytest.param(_SPARK, name, id=f"{_SPARK.name} - {name}", marks=_IN_SPARK) for name in _NAMES_IN_SPARK],
)
def test_a_hostile_person_moves_two_groups(
    kind: type[Container], name: str, container: Open, book: Ledger, request: pytest.FixtureRequest
) -> None:
    (found,) = (each for each in types_of(kind) if each.name == name)
    new = {
        label: value
        for label, value in found.hostile.items()
        if _is_somebody_new(found, value) and not container(kind).may_refuse(found, value)
    }
    typed = Typed(found.name, found.type, found.ordinary, new or found.hostile)
    worlds = _Persons(container(kind), [typed], book)
    try:
        report = worlds.ask(typed, ["count", "count_people"])
        assert_told_apart_alike(worlds.after)
    except (ParameterError, EngineError):  # a type that does not come in, or does not tell persons apart
        assert_refused(worlds)
        return
    finally:
        worlds.close()
    assert not new or not report.findings, str(report)
    request.node.user_properties.append((f"hostile rows, {engine_of(kind)}", report.answered if new else 0))


def assert_told_apart_alike(data: dp.Dataset) -> None:
    """Streams keep who was there: as many as the engine counts, each once, and their rows are found again by it."""
    question = data.agg(people=dp.count_people())
    bounded, needs = question._bounded, needs_of(question.aggregates)
    found = pa.Table.from_batches(bounded.people()._open())
    assert found.group_by(PERSON).aggregate([]).num_rows == found.num_rows
    only = bounded.only(bounded.engine.upload(found))
    counted = [int(exact_numbers(each, needs, pa.table({}))["people"][0]) for each in (bounded, only)]
    assert counted == [found.num_rows] * 2


def assert_refused(worlds: Worlds) -> None:
    """With hostile persons as without, in the same words."""
    assert refusal(worlds, "before") == refusal(worlds, "after") is not None


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (_KINDS[0], "DOUBLE", "'NaN'"),
        (_KINDS[0], "DOUBLE", "'1.7e308'"),
        pytest.param(_KINDS[2], "numeric", "'1e400'", marks=_ON_SERVER),
        pytest.param(_KINDS[2], "double precision", "'1e-300'", marks=_ON_SERVER),
    ],
)
def test_ten_thousand_rows_of_one_person_move_as_much_as_two(
    kind: type[Container], name: str, value: str, container: Open, book: Ledger
) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    worlds = _Busy(container(kind), [typed], book, worlds=[list(typed.hostile).index(value)])
    asked = ["count", "count_people", "sum, huge bounds", "mean, ordinary bounds", "std, ordinary bounds"]
    report = worlds.ask(typed, [*asked, "median, ordinary bounds", "count_distinct", "per person sum: sum"])
    assert not report.findings, str(report)
    worlds.close()
