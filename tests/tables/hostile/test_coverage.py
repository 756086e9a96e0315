"""Every column type, verb and aggregate that there is has a case: a new one without a case fails here, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.engine import AGGREGATES
from dither.engine.left_out import cuts_of
from dither.engine.query import Query
from dither.engine.question import Question
from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.postgres import PostgreSQL
from dither.tables.expression import ARITHMETIC, COMPARISONS, DATES, LOGIC, OTHERS, TEXTS, TIMES
from dither.unit import Neighbour, Rows
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, people
from tests.tables.hostile.operators import (
    ELSEWHERE,
    ENDS,
    LEFT_OUT,
    METHODS,
    OPERATORS,
    REFUSED_BOUNDS,
    SHAPES,
    verbs_of,
)
from tests.tables.hostile.runner import Worlds
from tests.tables.hostile.search import kinds_of, part_of, types_of
from tests.tables.hostile.values import Typed

_MAIN = {engine: listed[0] for engine, listed in CONTAINERS.items()}
_BOUNDED = [name for name, of in AGGREGATES.items() if "bounds" in inspect.signature(of).parameters]
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


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_parameter_of_an_aggregate_is_given(name: str) -> None:
    """Those that may be left out: a new one that no case gives fails here, by name."""
    said = [str(each.aggregate("c0")) for each in OPERATORS.values() if name in each.functions]
    for parameter, of in inspect.signature(AGGREGATES[name]).parameters.items():
        if of.default is not inspect.Parameter.empty:
            assert any(f"{parameter}=" in each for each in said), f"{name}({parameter}=...)"


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", _BOUNDED)
def test_every_aggregate_with_bounds_has_those_of_every_size(name: str, ends: str) -> None:
    """By itself, with a range to be found where there may be one, and with what it leaves out where something is."""
    asked = [each for each in OPERATORS.values() if name in each.functions and each.ends == ends]
    assert "all" in {each.shape for each in asked}
    if "clip" in inspect.signature(AGGREGATES[name]).parameters:
        assert any("clip=True" in str(each.aggregate("c0")) for each in asked if each.shape == "all")
    aggregate: Any = asked[0].aggregate("c0")
    if any(cut.of is not None for cut in cuts_of({"v": aggregate}, Neighbour.of(Rows(), grouped=False), [])):
        assert LEFT_OUT in {each.shape for each in asked}


@pytest.mark.parametrize("bounds", REFUSED_BOUNDS)
@pytest.mark.parametrize("name", _BOUNDED)
def test_bounds_of_no_use_are_refused_before_the_charge(name: str, bounds: str, container: Open, book: Ledger) -> None:
    (typed,) = (each for each in types_of(_MAIN["duckdb"]) if each.name == "DOUBLE")
    worlds = Worlds(container(_MAIN["duckdb"]), [typed], book, worlds=[0])
    of: tuple[Any, ...] = ("0.5",) if name == "quantile" else ("c0",) if name == "ratio" else ()
    others = {"to_bounds": (0, 1)} if name == "ratio" else {}
    aggregate: Any = AGGREGATES[name]
    with pytest.raises(ParameterError, match=r"between 1e-(100 and 1e100|308 and 1e308)"):
        worlds.after.agg(v=aggregate("c0", *of, bounds=REFUSED_BOUNDS[bounds], **others)).release(
            epsilon=1, left_out=True
        )
    assert worlds.after.spent["epsilon"] == 0
    worlds.close()


@pytest.mark.parametrize("name", [name for name, of in vars(Query).items() if callable(of) and name[0] != "_"])
def test_every_method_of_a_query_has_a_case(name: str) -> None:
    if name in METHODS:
        assert any(shape.startswith(METHODS[name]) for shape in SHAPES)
    else:
        assert Path(ELSEWHERE[name].partition("::")[0]).exists(), f"no hostile rows for Query.{name}"


def test_every_option_of_a_release_that_asks_more_of_rows_has_a_case() -> None:
    """All others are about the price and the interval; a new one has to be put here, or among the shapes."""
    options = inspect.signature(Question.release).parameters.keys() - {"self"}
    assert options - {"epsilon", "delta", "rho", "noise", "weights", "level", "population", "key"} == {"left_out"}
    assert LEFT_OUT in SHAPES


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
    from dither.tables.database_engines.spark import Spark  # starts slowly

    return Spark(made.server)


def _named(engine: Engine, made: Any, typed: Typed) -> str:
    """The type in the catalogue; none for a type of which the engine cannot even describe a column."""
    name = made.made([typed], people([0], hostile=False))
    try:
        table: Any = getattr(engine, "table", engine.backend.table)(name)
        return engine.catalogue(table[0] if isinstance(table, tuple) else table)["c0"]
    except (LookupError, ParameterError):
        return ""
