"""Several tables of the same people as one source: in one engine, under one name, with the parts of all of them.

A part belongs to one account of a ledger, so none of the tables gets a second budget: neither alone, nor in another
dataset. Frames have no name but the one that is given; as for a single frame, nothing tells copies from other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import ParameterError
from dither.tables.database_engines.duckdb import SEPARATED, DuckDB
from dither.tables.expression_compiler import different
from dither.tables.plain_columns import is_frame, library_of
from dither.tables.source import (
    Source,
    arrow_table,
    digest,
    engine_of,
    found_files,
    named,
    named_files,
    of_others,
    opened,
    parts_of,
    patterns_of,
    spark_table,
    state_of,
    without_shapes,
)

__all__ = ["open_sources"]


def open_sources(source: Any, tables: Mapping[str, Any], identity: str | None) -> dict[str, Source]:
    """The tables by name, all in one engine; each has the identity, the parts and the state of all together.

    `source` is None where `tables` are files and frames, or Ibis tables of one connection; else a database URL or a
    Spark session, and `tables` are the names of tables there.
    """
    if not tables or not all(tables):
        raise ParameterError("tables takes a dictionary such as {'visits': 'visits.csv', 'people': 'people.csv'}.")
    different((), tables)
    found = _found(source, tables, identity)
    parts = frozenset().union(*(each.parts for each in found.values()))
    return {name: replace(each, parts=parts) for name, each in found.items()}


def _found(source: Any, tables: Mapping[str, Any], identity: str | None) -> dict[str, Source]:
    if source is None:
        if all(isinstance(each, ir.Table) for each in tables.values()):
            return _of_ibis(tables, named(identity))
        return _in_duckdb(tables, identity)
    if not all(isinstance(each, str) for each in tables.values()):
        raise ParameterError("beside a database or a Spark session, tables gives the name of each table there.")
    if isinstance(source, str) and source.partition("://")[0] in ("postgresql", "postgres"):
        return _in_postgres(source, tables, identity)
    if library_of(source) == "pyspark" and not hasattr(source, "sparkSession"):
        return _in_spark(source, tables, identity)
    raise ParameterError("several tables are files, frames, Ibis tables, or tables of PostgreSQL or a Spark session.")


def _in_duckdb(tables: Mapping[str, Any], identity: str | None) -> dict[str, Source]:
    taken: dict[str, Sequence[Path] | pa.Table] = {}
    for name, each in tables.items():
        patterns = patterns_of(each)
        if patterns is None and not is_frame(each):
            raise ParameterError(f"the table {name!r} must be a path, a list of paths or a frame.")
        taken[name] = arrow_table(each) if patterns is None else found_files(patterns, identity)[0]
    files = {name: each for name, each in taken.items() if not isinstance(each, pa.Table)}
    paths = sorted(path for each in files.values() for path in each)
    if len(set(paths)) < len(paths):
        raise ParameterError("a file is in two of the tables. Give it once: a table may stand in a question once.")
    called = named_files(paths) if identity is None and len(files) == len(taken) else named(identity)
    engine = DuckDB()

    def all_of_them() -> dict[str, Source]:
        return {
            name: replace(
                Source.of(engine, table, called, parts_of(paths), has_types=_has_types(taken[name]), outside=outside),
                state=state_of(paths) if paths else None,
            )
            for name, (table, outside) in engine.several(taken).items()
        }

    return opened(
        all_of_them,
        "the tables cannot be read",
        "Check that they are CSV files in UTF-8 with a header line, Parquet files, or frames of known types.",
    )


def _has_types(table: Sequence[Path] | pa.Table) -> bool:
    return isinstance(table, pa.Table) or table[0].suffix.lower() not in SEPARATED


def _of_ibis(tables: Mapping[str, ir.Table], identity: str) -> dict[str, Source]:
    first = next(iter(tables.values()))
    if any(each.get_backend() is not first.get_backend() for each in tables.values()):
        raise ParameterError("several Ibis tables must be of one connection.")

    def all_of_them() -> dict[str, Source]:
        engine = engine_of(first)
        return {name: of_others(engine, without_shapes(each), identity) for name, each in tables.items()}

    return opened(all_of_them, "the Ibis tables cannot be opened", "Check that their connection is open.")


def _in_postgres(url: str, tables: Mapping[str, str], identity: str | None) -> dict[str, Source]:
    from dither.tables.database_engines.postgres import PostgreSQL  # psycopg is an extra

    def connected() -> dict[str, Source]:
        engine = PostgreSQL.at(url)
        try:
            looked_up = {name: engine.table(table) for name, table in tables.items()}
            for _, relation in looked_up.values() if identity is None else ():
                relation.check_seen()
            places = sorted(relation.place for _, relation in looked_up.values())
            called = identity or _joined_name(places)
            return {name: Source.of(engine, found, called, each.parts) for name, (found, each) in looked_up.items()}
        except BaseException:
            engine.close()
            raise

    return opened(
        connected, "the tables of the database cannot be opened", "Check the URL, the server and the names of tables."
    )


def _in_spark(session: Any, tables: Mapping[str, str], identity: str | None) -> dict[str, Source]:
    from dither.tables.database_engines.spark import Spark  # PySpark is an extra

    def all_of_them() -> dict[str, Source]:
        engine = Spark(session)
        called = identity or _joined_name(sorted(f"spark:{engine.place(table)}" for table in tables.values()))
        return {name: spark_table(engine, table, called) for name, table in tables.items()}

    return opened(
        all_of_them, "the tables of the Spark session cannot be opened", "Check that they are tables of this session."
    )


def _joined_name(places: Sequence[str]) -> str:
    """One name for all of them: that of a single table stays its own."""
    return places[0] if len(places) == 1 else f"tables:{digest(places)}:{places[0]}"
