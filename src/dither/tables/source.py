"""Where the data is: files, frames, a database or a Spark session, as one kind of noun.

`identity` names the source itself, not the way it was named: two paths to one file, or two spellings of one database,
share one budget. It never depends on rows. `parts` name the files and tables below it, so that a pattern and one of its
files, or a view and its table, are not taken for two datasets. Copies of data are: nothing tells them from other data.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from dither.errors import EngineError, ParameterError
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import SEPARATED, DuckDB
from dither.tables.database_engines.registry import BUILT_IN, GROUP, engine_class, engine_names
from dither.tables.database_engines.sealed_entry import none_left, refused_column
from dither.tables.expression_compiler import different, missing_column, not_reserved, shown
from dither.tables.plain_columns import is_frame, library_of

__all__ = [
    "Source", "arrow_table", "digest", "engine_of", "found_files", "named", "named_files", "of_others", "open_source",
    "opened", "parts_of", "patterns_of", "spark_table", "state_of", "without_shapes",
]  # fmt: skip

_Opened = TypeVar("_Opened")

_MICROSECONDS = {"s": 10**6, "ms": 10**3}
"""How many there are in one tick of a column of times, where it is coarser."""


@dataclass(frozen=True)
class Source:
    """A table in an engine, of which nothing but its sealed entry is seen."""

    engine: Engine
    table: ir.Table
    """Its columns, entered (sealed_entry.py)."""
    refused: Mapping[str, str]
    """The columns that did not enter, with their types."""
    identity: str
    parts: frozenset[str] = frozenset()
    """The files or tables that it consists of, each by a name of its own: two sources that share one share people."""
    has_types: bool = True
    """Whether columns have types of their own; in files of separated values all of them are texts."""
    state: str | None = None
    """A digest that changes when a file is written to, from what the file system says of it; None if not of files."""

    @classmethod
    def of(
        cls,
        engine: Engine,
        table: ir.Table,
        identity: str,
        parts: frozenset[str] = frozenset(),
        *,
        has_types: bool = True,
        outside: Mapping[str, str] | None = None,
    ) -> Source:
        """The table as it is, sealed here once and for all; columns that are `outside` already cannot be used."""
        names = [*table.columns, *(outside or {})]
        if not names:
            raise ParameterError("the source has no columns.")
        different((), names)
        for name in names:
            not_reserved(name)
        sealed = engine.sealed(table)
        return cls(engine, sealed.table, {**sealed.refused, **(outside or {})}, identity, parts, has_types)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that entered."""
        return shown(self.table)

    def check(self, *names: str) -> None:
        """Refuse names of columns that do not exist or did not enter."""
        for name in names:
            if name in self.refused:
                raise refused_column(name, self.refused[name])
            if name not in self.columns:
                raise missing_column(name, self.columns)


def open_source(source: Any, table: str | None = None, identity: str | None = None) -> Source:
    """The table behind paths or globs, a frame, an Ibis table, or a database URL or a Spark session with `table`.

    Frames in memory have no name of their own, so they need `identity`: a name under which their budget is kept.
    """
    if (patterns := patterns_of(source)) is not None:
        _not_needed(table)
        return _files(patterns, identity)
    if isinstance(source, str):
        return _database(source, table, identity)
    if isinstance(source, ir.Table):
        _not_needed(table)
        return opened(
            lambda: of_others(engine_of(source), without_shapes(source), named(identity)),
            "the Ibis table cannot be opened",
            "Check that its connection is open and that its tables are there.",
        )
    if library_of(source) == "pyspark":
        return _spark(source, table, identity)
    _not_needed(table)
    if not is_frame(source):
        raise ParameterError(
            "a source is a path or a list of paths, a database URL, or a table of pandas, Polars, Arrow, Ibis or "
            f"Spark; got the type {type(source).__name__}."
        )
    called, frame, own = named(identity), arrow_table(source), DuckDB()
    return opened(
        lambda: Source.of(own, (taken := own.frame(frame))[0], called, outside=taken[1]),
        "the frame cannot be read",
        "Check that DuckDB knows the types of its columns, and that its texts are UTF-8.",
    )


def of_others(
    engine: Engine, found: tuple[ir.Table, Mapping[str, str]], identity: str, parts: frozenset[str] = frozenset()
) -> Source:
    """A table of somebody else's connection, and the columns that are outside of it."""
    table, outside = found
    return Source.of(engine, engine.plain(table), identity, parts, outside=outside)


def without_shapes(table: ir.Table) -> tuple[ir.Table, dict[str, str]]:
    """Without its columns of points, lines and areas, for which Ibis would ask functions that may not be there."""
    outside = {name: str(of) for name, of in table.schema().items() if of.is_geospatial()}
    none_left(table.columns, outside)
    return table.drop(*outside) if outside else table, outside


def arrow_table(frame: Any) -> pa.Table:
    """A pandas, Polars (also lazy) or Arrow table as an Arrow table."""
    if not is_frame(frame):
        raise ParameterError(f"a table of pandas, Polars or Arrow is needed, got the type {type(frame).__name__}.")
    if isinstance(frame, pa.Table):
        return _decoded(frame)
    if isinstance(frame, pa.RecordBatch):
        return _decoded(pa.Table.from_batches([frame]))
    if library_of(frame) == "polars":
        found = opened(
            lambda: frame.collect() if hasattr(frame, "collect") else frame,
            "the lazy frame cannot be computed",
            "Check it with collect().",
        )
        return _decoded(found.to_arrow())
    return _decoded(_of_pandas(frame))


def patterns_of(source: Any) -> list[str] | None:
    """The patterns of files, if the source is a path or a list of paths."""
    listed = source if isinstance(source, list | tuple) else [source]
    return [os.fspath(each) for each in listed] if listed and all(map(_is_path, listed)) else None


def _is_path(source: Any) -> bool:
    """Whether this names files, and not a database."""
    return isinstance(source, str | os.PathLike) and "://" not in str(os.fspath(source))


def _of_pandas(frame: Any) -> pa.Table:
    if not all(isinstance(name, str) for name in frame.columns):
        raise ParameterError("the columns of a frame must have texts as names.")
    _check_names(list(frame.columns))
    mixed = ""
    columns = {}
    for name in frame.columns:
        try:
            columns[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # its words may be data
            mixed = name
    if mixed:
        raise ParameterError(
            f"the column {mixed!r} of the frame holds values of different types, or too large for it. Give it one type."
        )
    return pa.table(columns)


def _decoded(table: pa.Table) -> pa.Table:
    """Categories as the texts they stand for: their codes depend on all rows. Times as DuckDB keeps them."""
    _check_names(table.column_names)
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(index).cast(field.type.value_type)
            table = table.set_column(index, pa.field(field.name, field.type.value_type), plain)
        elif getattr(field.type, "unit", None) in _MICROSECONDS and not pa.types.is_time(field.type):
            table = table.set_column(index, field.name, _in_microseconds(table.column(index)))
    for name in table.column_names:
        _check_utf8(name, table.column(name))
    return table


def _check_utf8(name: str, column: pa.ChunkedArray) -> None:
    """Arrow and DuckDB take texts that are no UTF-8, and DuckDB then fails or errs on the rows that hold them."""
    of = column.type
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise ParameterError(
                f"the column {name!r} of the table holds a text that is not UTF-8. Decode it where it is read."
            ) from None


def _check_names(names: list[str]) -> None:
    if not names or len(set(names)) != len(names):
        raise ParameterError("a table has one or more columns, each with a name of its own.")
    different((), names)


def _in_microseconds(times: Any) -> Any:
    """NULL where there are too many of them: DuckDB would fail on the whole column."""
    of = times.type
    most = ((1 << 63) - 1) // _MICROSECONDS[of.unit]
    ticks = times.cast(pa.int64())
    inside = pc.and_(pc.less_equal(ticks, most), pc.greater_equal(ticks, -most))
    finer = pa.timestamp("us", of.tz) if pa.types.is_timestamp(of) else pa.duration("us")
    return pc.if_else(inside, times, pa.scalar(None, of)).cast(finer)


def _files(patterns: list[str], identity: str | None) -> Source:
    """All files of all patterns, each once: in whatever order they are given, they are one source with one name."""
    paths, said = found_files(patterns, identity)
    engine = DuckDB()
    name = identity or named_files(paths)
    has_types = paths[0].suffix.lower() not in SEPARATED
    return opened(
        lambda: replace(
            Source.of(engine, engine.files(paths), name, parts_of(paths), has_types=has_types), state=state_of(paths)
        ),
        f"the files at {said} cannot be read as a table",
        "Check that they are CSV files in UTF-8 with a header line, or Parquet files, and that none is empty.",
    )


def found_files(patterns: list[str], identity: str | None) -> tuple[list[Path], str]:
    """All files of all patterns, each once, and how messages call them."""
    paths = sorted({path for pattern in patterns for path in _found(pattern)})
    said = repr(patterns[0]) if len(patterns) == 1 else f"{patterns[0]!r} and {len(patterns) - 1} more"
    if identity is None and any(path.stat().st_nlink > 1 for path in paths):
        raise ParameterError(
            f"a file at {said} has several names (hard links), which would have a budget each. "
            "Give the data one name that stays the same: identity='visits 2024'."
        )
    return paths, said


def parts_of(paths: Sequence[Path]) -> frozenset[str]:
    """The names of files in a ledger."""
    return frozenset(f"file:{digest([str(path)])}" for path in paths)


def state_of(paths: Sequence[Path]) -> str:
    """A digest of lengths and times of writing: to the nanosecond, so that nobody guesses lengths from it."""
    return digest(f"{found.st_size} {found.st_mtime_ns}" for found in map(Path.stat, paths))


def named_files(paths: Sequence[Path]) -> str:
    """The identity of files, by their resolved paths in order."""
    return f"files:{digest(map(str, paths))}:{paths[0].name}"


def _found(pattern: str) -> list[Path]:
    if os.path.isdir(pattern):
        inside = os.path.join(pattern, "*.parquet")
        raise ParameterError(f"{pattern!r} is a folder. Name its files by a pattern, such as {inside!r}.")
    found = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
    paths = [Path(name).resolve() for name in found if os.path.isfile(name)]
    if not paths:
        raise ParameterError(
            f"no file is found at {pattern!r}. Check the path; a pattern such as data/*.parquet works too."
        )
    return paths


def _database(url: str, table: str | None, identity: str | None) -> Source:
    if table is None:
        raise ParameterError("a database URL needs table=..., the name of the table.")
    kind = url.partition("://")[0]  # no more of it is read here: an error of a parser would quote the password
    if kind not in ("postgresql", "postgres"):
        return _other_database(kind, url, table, identity)
    from dither.tables.database_engines.postgres import PostgreSQL  # psycopg is an extra

    def connected() -> Source:
        engine = PostgreSQL.at(url)
        try:
            found, relation = engine.table(table)
            if identity is None:
                relation.check_seen()
            return Source.of(engine, found, identity or relation.place, relation.parts)
        except BaseException:
            engine.close()
            raise

    return opened(
        connected,
        f"the table {table!r} of the database cannot be opened",
        "Check the URL, that the server runs, and the name of the table.",
    )


def _other_database(kind: str, url: str, table: str, identity: str | None) -> Source:
    """A table of an engine from another package; nothing is known of what names it for good, so the caller says it."""
    found = None if kind in BUILT_IN else engine_class(kind)
    if found is None:
        raise ParameterError(
            f"databases are PostgreSQL, and those of engines in other packages; got a URL of the kind {kind!r}. "
            f"Install a package with an entry point of that name in the group {GROUP!r}."
        )
    called = named(identity)

    def connected() -> Source:
        engine = found.at(url)
        try:
            return of_others(engine, without_shapes(engine.backend.table(table)), called)
        except BaseException:
            engine.backend.disconnect()
            raise

    return opened(
        connected,
        f"the table {table!r} of the database cannot be opened",
        "Check the URL, that the server runs, and the name of the table.",
    )


def opened(open_it: Callable[[], _Opened], failure: str, advice: str) -> _Opened:
    """What is opened, or an error without the words of the engine, which may be data or a password."""
    try:
        return open_it()
    except ParameterError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise EngineError(f"{failure} ({kind}). {advice}")


def _spark(source: Any, table: str | None, identity: str | None) -> Source:
    from dither.tables.database_engines.spark import Spark  # PySpark is an extra

    if hasattr(source, "sparkSession"):
        _not_needed(table)
        engine = Spark(source.sparkSession)
        called = named(identity)
        return opened(
            lambda: of_others(engine, engine.frame(source), called),
            "the Spark frame cannot be opened",
            "Check that it can be shown.",
        )
    if table is None:
        raise ParameterError("a Spark session needs table=..., the name of a table or view of the session.")
    engine = Spark(source)
    return opened(
        lambda: spark_table(engine, table, identity),
        f"the table {table!r} of the Spark session cannot be opened",
        "Check that it is a table or a view of this session.",
    )


def spark_table(engine: Any, table: str, identity: str | None) -> Source:
    """A table or view of a Spark session. It is a part by its own name, so that no other dataset has it as well."""
    place = f"spark:{engine.place(table)}"
    return of_others(engine, engine.table(table), identity or place, frozenset({place}))


def engine_of(table: ir.Table) -> Engine:
    backend: Any = table.get_backend()
    kind = engine_class(backend.name)
    if kind is None:
        raise ParameterError(
            f"tables of the Ibis backend {backend.name!r} are not supported: use {_listed(engine_names())}."
        )
    return kind.of_backend(backend)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def named(identity: str | None) -> str:
    if not identity:
        raise ParameterError(
            "a table in memory has no name under which its budget could be kept. "
            "Give it one that stays the same: identity='visits 2024'."
        )
    return identity


def _not_needed(table: str | None) -> None:
    if table is not None:
        raise ParameterError("table=... goes with a database URL or a Spark session only.")


def digest(names: Any) -> str:
    return hashlib.sha256("\x00".join(names).encode(errors="surrogateescape")).hexdigest()[:16]
