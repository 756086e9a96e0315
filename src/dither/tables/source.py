"""Where the data is: files, frames, a database or a Spark session, as one kind of noun.

`identity` names the source itself, not the way it was named: two paths to one file, or two spellings of one database,
share one budget. It never depends on rows.
"""

from __future__ import annotations

import glob
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import EngineError, ParameterError
from dither.tables.engines import Engine
from dither.tables.engines.duckdb import DuckDB

__all__ = ["Source", "arrow_table", "open_source"]

RESERVED = "dither "
"""No column of a source may start with this: the names of intermediate columns do."""


@dataclass(frozen=True)
class Source:
    """A table in an engine."""

    engine: Engine
    table: ir.Table
    identity: str

    def __post_init__(self) -> None:
        if not self.table.columns:
            raise ParameterError("the source has no columns.")
        for name in self.table.columns:
            if name.startswith(RESERVED):
                raise ParameterError(f"no column of a source may have a name that starts with {RESERVED!r}. Rename it.")


def open_source(source: Any, table: str | None = None, identity: str | None = None) -> Source:
    """The table behind a path, a glob, a frame, an Ibis table, or a database URL or a Spark session with `table`.

    Frames in memory have no name of their own, so they need `identity`: a name under which their budget is kept.
    """
    if isinstance(source, str | os.PathLike) and "://" not in os.fspath(source):
        _not_needed(table)
        return _files(os.fspath(source), identity)
    if isinstance(source, str):
        return _database(source, table, identity)
    if isinstance(source, ir.Table):
        _not_needed(table)
        return Source(_engine_of(source), source, _named(identity))
    if _library(source) == "pyspark":
        return _spark(source, table, identity)
    _not_needed(table)
    engine = DuckDB()
    return Source(engine, engine.frame(arrow_table(source)), _named(identity))


def arrow_table(frame: Any) -> pa.Table:
    """A pandas, Polars (also lazy) or Arrow table as an Arrow table."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if _library(frame) == "polars":
        return (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    if _library(frame) == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    raise ParameterError(
        f"a source is a path, a database URL, or a table of pandas, Polars, Arrow, Ibis or Spark; "
        f"got the type {type(frame).__name__}."
    )


def _files(pattern: str, identity: str | None) -> Source:
    found = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
    paths = sorted({Path(name).resolve() for name in found if os.path.isfile(name)})
    if not paths:
        raise ParameterError(
            f"no file is found at {pattern!r}. Check the path; a pattern such as data/*.parquet works too."
        )
    engine = DuckDB()
    try:
        table = engine.files(paths)
    except ParameterError:
        raise
    except Exception as error:
        raise EngineError(
            f"the files at {pattern!r} cannot be read as a table ({type(error).__name__}). "
            "Check that they are CSV files with a header line, or Parquet files, and that none is empty."
        ) from None
    return Source(engine, table, identity or f"files:{_digest(map(str, paths))}:{paths[0].name}")


def _database(url: str, table: str | None, identity: str | None) -> Source:
    if table is None:
        raise ParameterError("a database URL needs table=..., the name of the table.")
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ParameterError(f"databases are PostgreSQL, got a URL of the kind {parts.scheme!r}.")
    from dither.tables.engines.postgres import PostgreSQL  # psycopg is an extra

    try:
        engine = PostgreSQL.at(url)
        found = engine.backend.table(table)
    except Exception as error:
        raise EngineError(
            f"the table {table!r} of the database cannot be opened ({type(error).__name__}). "
            "Check the URL, that the server runs, and the name of the table."
        ) from None
    place = f"{(parts.hostname or 'localhost').lower()}:{parts.port or 5432}{parts.path}"
    return Source(engine, found, identity or f"postgresql:{place}/{table}")


def _spark(source: Any, table: str | None, identity: str | None) -> Source:
    from dither.tables.engines.spark import Spark  # PySpark is an extra

    if hasattr(source, "sparkSession"):
        _not_needed(table)
        engine = Spark(source.sparkSession)
        return Source(engine, engine.frame(source), _named(identity))
    if table is None:
        raise ParameterError("a Spark session needs table=..., the name of a table or view of the session.")
    engine = Spark(source)
    return Source(engine, engine.backend.table(table), identity or f"spark:{table}")


def _engine_of(table: ir.Table) -> Engine:
    backend: Any = table.get_backend()
    if backend.name == "duckdb":
        return DuckDB(backend)
    if backend.name == "postgres":
        from dither.tables.engines.postgres import PostgreSQL

        return PostgreSQL(backend)
    if backend.name == "pyspark":
        from dither.tables.engines.spark import Spark

        return Spark(backend._session)
    raise ParameterError(
        f"tables of the Ibis backend {backend.name!r} are not supported: use duckdb, postgres or pyspark."
    )


def _named(identity: str | None) -> str:
    if not identity:
        raise ParameterError(
            "a table in memory has no name under which its budget could be kept. "
            "Give it one that stays the same: identity='visits 2024'."
        )
    return identity


def _not_needed(table: str | None) -> None:
    if table is not None:
        raise ParameterError("table=... goes with a database URL or a Spark session only.")


def _library(frame: Any) -> str:
    """The name of the library that a frame is from, without importing it."""
    return type(frame).__module__.partition(".")[0]


def _digest(names: Any) -> str:
    return hashlib.sha256("\x00".join(names).encode()).hexdigest()[:16]
