"""Base tables of somebody's own DuckDB connection: the only relations there of which it is known that reading succeeds.

What DuckDB stores itself it can read again; texts that are no UTF-8, which it may store, enter as NULL. A view may read
files, on some values of which its reader fails (parquet_files.py), or frames, or other databases; and its expressions,
as those of a generated column, may fail on a row. Whether a relation is a base table is what DuckDB's own catalogue
says, never what Ibis makes of it.
"""

from __future__ import annotations

from typing import Any, Final

import ibis.expr.operations as ops

from dither.errors import ParameterError

__all__ = ["Definitions", "definitions"]

Definitions = frozenset[tuple[Any, ...]]
"""Tables with the numbers and statements by which DuckDB knows them: others, if one of them was replaced or altered."""

_NAMED: Final = """
    SELECT database_name, schema_name, {kind}_name, {kind}_oid, sql FROM duckdb_{kind}s()
    WHERE lower({kind}_name) = lower($1) AND lower(database_name) = lower(coalesce($2, database_name))
        AND lower(schema_name) = lower(coalesce($3, schema_name))"""
_STORED: Final = "SELECT database_name FROM duckdb_databases() WHERE type = 'duckdb'"
_GENERATED: Final = "GENERATED ALWAYS AS"


def definitions(connection: Any, leaves: tuple[Any, ...]) -> Definitions:
    """The base tables that some relations of Ibis are; other relations are refused."""
    stored = {name for (name,) in connection.execute(_STORED).fetchall()}
    return frozenset(found for leaf in leaves for found in _tables(connection, leaf, stored))


def _tables(connection: Any, leaf: Any, stored: set[str]) -> list[tuple[Any, ...]]:
    """Tables of its name. There are several where it does not say its schema: then no view may have the name."""
    if not isinstance(leaf, ops.DatabaseTable):
        raise _refused("a query or a frame")
    place = [leaf.name, leaf.namespace.catalog, leaf.namespace.database]
    tables, views = (connection.execute(_NAMED.format(kind=kind), place).fetchall() for kind in ("table", "view"))
    if views:
        raise _refused(f"the view {leaf.name!r}")
    if not tables or any(database not in stored for database, *_ in tables):
        raise _refused(f"{leaf.name!r}, which DuckDB does not store itself")
    if any(_GENERATED in statement for *_, statement in tables):
        raise _refused(f"{leaf.name!r}, which has a generated column")
    return list(tables)


def _refused(what: str) -> ParameterError:
    return ParameterError(
        f"the Ibis table reads {what}. Of your own DuckDB connection only base tables are taken: elsewhere a single "
        "row may make DuckDB fail when it is read, which would tell that it is there. Give files by their paths and "
        "frames as they are, or copy the rows: CREATE TABLE visits AS SELECT * FROM ..."
    )
