"""Every column type, verb and aggregate that there is has a case: a new one without a case fails here, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dither.engine import AGGREGATES
from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.tables.engines import Engine
from dither.tables.engines.duckdb import DuckDB
from dither.tables.engines.postgres import PostgreSQL
from dither.tables.expression import ARITHMETIC, COMPARISONS, DATES, LOGIC, OTHERS, TEXTS, TIMES
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, people
from tests.tables.hostile.operators import OPERATORS, SHAPES, verbs_of
from tests.tables.hostile.runner import Worlds
from tests.tables.hostile.search import kinds_of, part_of, types_of
from tests.tables.hostile.values import Typed

_MAIN = {engine: listed[0] for engine, listed in CONTAINERS.items()}
_NEEDS_PERSONS = {"count", "sum", "mean", "min", "max"}


@pytest.mark.parametrize("verb", [*ARITHMETIC, *COMPARISONS, *LOGIC, *DATES, *TIMES, *TEXTS, *OTHERS])
def test_every_verb_has_a_case(verb: str) -> None:
    said = [words for each in OPERATORS.values() for words in each.words]
    said += [words for each in SHAPES.values() for words in each.words]
    assert verb in {found for words in said for found in verbs_of(words)}


@pytest.mark.parametrize("verb", [*COMPARISONS, *LOGIC])
def test_every_condition_filters(verb: str) -> None:
    said = [words for name, shape in SHAPES.items() if name.startswith("where") for words in shape.words]
    assert verb in {found for words in said for found in verbs_of(words)}


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_has_a_case(name: str) -> None:
    assert name in {found for operator in OPERATORS.values() for found in operator.functions}


@pytest.mark.parametrize("name", sorted(_NEEDS_PERSONS))
def test_every_aggregate_within_a_person_has_a_case(name: str) -> None:
    assert f"per person {name}" in SHAPES


def test_every_operator_is_asked_at_each_commit(container: Open) -> None:
    """Of a type that it goes with; the types of each kind are there."""
    made = container(_MAIN["duckdb"])
    kinds = kinds_of(made)
    asked = {
        name
        for each in types_of(type(made))
        for name in part_of("duckdb", made, each)
        if kinds[each.name] in OPERATORS[name].kinds
    }
    assert asked == OPERATORS.keys()
    assert set(kinds.values()) >= {"whole", "real", "text", "truth", "date", "time"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DOUBLE", "real"),
        ("BIGINT", "whole"),
        ("VARCHAR", "text"),
        ("BOOLEAN", "truth"),
        ("DATE", "date"),
        ("TIMESTAMP", "time"),
    ],
)
def test_operators_go_with_the_kinds_that_they_say(name: str, kind: str, container: Open, book: Ledger) -> None:
    """Otherwise a case would be counted where nothing is asked."""
    (typed,) = (each for each in types_of(_MAIN["duckdb"]) if each.name == name)
    worlds = Worlds(container(_MAIN["duckdb"]), [typed], book, worlds=[0])
    assert worlds.accepted(typed) == {name for name, operator in OPERATORS.items() if kind in operator.kinds}
    worlds.close()


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.xdist_group("spark")]),
    ],
)
def test_every_column_type_has_a_case(engine: str, container: Open) -> None:
    """By the name that the engine's own catalogue has for it."""
    made = container(_MAIN[engine])
    found = _ENGINES[engine](made)
    try:
        named = {_named(found, made, typed) for typed in types_of(_MAIN[engine])}
    finally:
        if engine == "postgres":
            found.backend.disconnect()
    missing = found.column_types.keys() - named
    assert not missing, f"no hostile values for the types {', '.join(sorted(missing))} of {found.name}"


_ENGINES: dict[str, Callable[[Any], Engine]] = {
    "duckdb": lambda made: DuckDB(made.server),
    "postgres": lambda made: PostgreSQL.at(made.server),
    "spark": lambda made: _spark(made),
}


def _spark(made: Any) -> Engine:
    from dither.tables.engines.spark import Spark  # starts slowly

    return Spark(made.server)


def _named(engine: Engine, made: Any, typed: Typed) -> str:
    """The type in the catalogue; none for a type of which the engine cannot even describe a column."""
    name = made.made([typed], people([0], hostile=False))
    try:
        table: Any = getattr(engine, "table", engine.backend.table)(name)
        return engine.catalogue(table[0] if isinstance(table, tuple) else table)["c0"]
    except (LookupError, ParameterError):
        return ""
