"""The suite notices: a type that enters by a plain cast, or as it is, makes it report a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import pytest

from dither.ledger import Ledger
from dither.tables import BoundedTable, lost_to_limits
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.engine import builtin
from dither.tables.database_engines.postgres import PostgreSQL
from dither.tables.database_engines.sealed_entry import ColumnType, as_type
from dither.unit import Rows
from tests.tables.hostile.containers import CONTAINERS
from tests.tables.hostile.search import tried, types_of


@contextmanager
def entering(engine: type[Engine], catalogue: str, naive: ColumnType) -> Iterator[None]:
    """A type of the catalogue that enters otherwise."""
    known = engine.column_types
    engine.column_types = {**known, catalogue: naive}
    try:
        yield
    finally:
        engine.column_types = known


def _cast(of: str) -> Callable[[Any], Any]:
    return lambda value: as_type(value, of)


def _naive(kind: str, of: str) -> ColumnType:
    """A plain cast to the type of a kind."""
    return ColumnType(kind, _cast(of), identify=_cast(of))


def _decoded(value: Any) -> Any:
    return builtin("convert_from", "string", value, ibis.literal("UTF8"))


NAIVE: list[tuple[type[Engine], str, str, ColumnType, list[str]]] = [
    (DuckDB, "UBIGINT", "UBIGINT", _naive("whole", "int64"), ["count_distinct"]),
    (DuckDB, "HUGEINT", "HUGEINT", _naive("whole", "int64"), ["sum, ordinary bounds"]),
    (DuckDB, "UHUGEINT", "UHUGEINT", _naive("whole", "int64"), ["found: count"]),
    (DuckDB, "DECIMAL(38,0)", "DECIMAL", _naive("whole", "int64"), ["mean, ordinary bounds"]),
    (DuckDB, "DATE", "DATE", _naive("date", "date"), ["top"]),
    (DuckDB, "TIMESTAMP", "TIMESTAMP", _naive("date", "date"), ["top"]),
    (DuckDB, "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", _naive("date", "date"), ["top"]),
    (DuckDB, "JSON", "JSON", _naive("real", "float64"), ["sum, ordinary bounds"]),
    (DuckDB, "BIGNUM", "BIGNUM", _naive("real", "float64"), ["sum, ordinary bounds"]),
    (DuckDB, "DOUBLE", "DOUBLE", _naive("whole", "int64"), ["sum, ordinary bounds"]),
    (PostgreSQL, "double precision", "float8", _naive("real", "float64"), ["sum, huge bounds", "sum, tiny bounds"]),
    (PostgreSQL, "numeric", "numeric", _naive("real", "float64"), ["count_distinct"]),
    (PostgreSQL, "numeric(310,0)", "numeric", _naive("real", "float64"), ["mean, ordinary bounds"]),
    (PostgreSQL, "domain over numeric(310,0)", "numeric", _naive("real", "float64"), ["median, ordinary bounds"]),
    (PostgreSQL, "date", "date", _naive("date", "date"), ["top"]),
    (PostgreSQL, "timestamp", "timestamp", _naive("date", "date"), ["top"]),
    (PostgreSQL, "timestamptz", "timestamptz", _naive("date", "date"), ["top"]),
    (PostgreSQL, "bytea", "bytea", ColumnType("text", _decoded), ["count_distinct"]),
]
"""Types that enter by a plain cast, and what is asked then. (Doubles of DuckDB would do no harm as they are.)"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name", "catalogue", "naive", "operators"),
    [
        pytest.param(
            *each, id=f"{each[0].name} - {each[1]}",
            marks=[pytest.mark.xdist_group("postgres")] if each[0] is PostgreSQL else [],
        )
        for each in NAIVE
    ],
)  # fmt: skip
def test_a_plain_cast_is_noticed(
    engine: type[Engine],
    name: str,
    catalogue: str,
    naive: ColumnType,
    operators: list[str],
    tmp_path: Path,
    book: Ledger,
    request: pytest.FixtureRequest,
) -> None:
    """On a connection of its own: some engines do not live on after such a failure."""
    kind = CONTAINERS["duckdb" if engine is DuckDB else "postgres"][0]
    made = kind(tmp_path, None if engine is DuckDB else request.getfixturevalue("postgres_url"))
    (typed,) = (each for each in types_of(kind) if each.name == name)
    try:
        assert not tried(made, typed, operators, book).findings
        with entering(engine, catalogue, naive):
            assert tried(made, typed, operators, book).findings
    finally:
        made.close()


def test_looks_and_shares_that_move_by_too_much_are_noticed(
    tmp_path: Path, book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person counted once for each row, where one count is declared; and four times what may be lost of them."""
    made = CONTAINERS["duckdb"][0](tmp_path)
    (typed,) = (each for each in types_of(type(made)) if each.name == "DOUBLE")
    cells, part = BoundedTable.cells, lost_to_limits._part
    for name, operator in (("cells", "mean, range found in huge bounds"), ("_part", "left out: mean")):
        assert not tried(made, typed, [operator], book).findings
        with monkeypatch.context() as patched:
            if name == "cells":
                patched.setattr(BoundedTable, name, lambda table, *asked: cells(replace(table, unit=Rows()), *asked))
            else:
                patched.setattr(lost_to_limits, name, lambda steps, of, most: part(steps, of, 4 * most))
            assert "by more than was declared" in str(tried(made, typed, [operator], book))
