"""DuckDB, in this process: the default."""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary, WeakSet

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import EngineError, ParameterError
from dither.progress import progress_bar
from dither.tables.database_engines.csv_files import is_one_line_each, is_utf8
from dither.tables.database_engines.duckdb_paths import exact
from dither.tables.database_engines.duckdb_tables import Definitions, definitions
from dither.tables.database_engines.engine import BATCH_ROWS, PUBLIC_NAME, Engine, builtin, leaves_of, or_empty
from dither.tables.database_engines.file_fingerprint import Fingerprint
from dither.tables.database_engines.lazy_compilers import load_compilers_when_asked
from dither.tables.database_engines.parquet_files import AS_STORED, COUNTS_PROGRESS, check_values
from dither.tables.database_engines.sealed_entry import (
    ColumnType,
    as_type,
    called,
    day,
    none_left,
    short,
    tame,
    text,
    truth,
    whole,
)
from dither.tables.expression_compiler import different

__all__ = ["SEPARATED", "DuckDB"]

SEPARATED: Final = frozenset({".csv", ".tsv", ".txt"})
"""The endings of files of separated values, whose columns have no types."""

_KEPT = "dither_kept"
"""Part of the names of tables that were worked out once."""
_LONGEST_HEADER = 1 << 20
_LONGEST_LINE = 2_000_000
_ALL_COLUMNS = "unused_columns"
_SLOW_PLANNING = "partial_aggregate_pushdown"
"""An optimizer whose work grows fast with the steps of a question: seconds for some, and no answer is found sooner."""
_LOCKED = ("lock_configuration=true",)
_SEALED = (
    "enable_external_access=false",  # no read_text, COPY, ATTACH or INSTALL
    "autoinstall_known_extensions=false",
    "autoload_known_extensions=false",
    "python_scan_all_frames=false",
    "python_enable_replacements=false",  # a table name is never a variable of Python
)


def _wide(value: Any) -> Any:
    """Numbers of up to 39 digits, which doubles hold, rounded: they need no taming."""
    return as_type(value, "float64")


def _decimal(value: Any) -> Any:
    """A decimal of no more digits than its type has, else NULL. Files may hold others, and casts fail on some."""
    of = value.type()
    digits = str(Decimal((0, (9,) * of.precision, -of.scale)))
    # Written as texts: of a number with 38 digits behind the point DuckDB makes a double, which is 1.
    least, most = (ibis.literal(sign + digits).cast(of) for sign in ("-", ""))
    return value.between(least, most).ifelse(value, ibis.null(of.copy(nullable=True)))


def _short_text(value: Any) -> Any:
    written = text(value)
    return short(written, builtin("strlen", "int64", written))


def _hexadecimal(value: Any) -> Any:
    return builtin("hex", "string", short(value, builtin("octet_length", "int64", value)))


def _day(value: Any) -> Any:
    """The day of a time: one of seconds may lie beyond the last date there is, on which the plain cast fails.

    Whether it is finite is asked of the day itself: DuckDB takes the cast for a monotone one and may believe that all
    days lie within a range, while the cast of the smallest time but one in nanoseconds is the infinite past.
    """
    found = value.try_cast("date")
    return day(builtin("isfinite", "boolean", found).ifelse(found, ibis.null("date")))


def _time(value: Any) -> Any:
    """A time of a day that enters, to the microsecond: of others, casts fail on some."""
    found = _day(value).notnull().ifelse(value, ibis.null(value.type())).try_cast("timestamp")
    return builtin("isfinite", "boolean", found).ifelse(found, ibis.null("timestamp"))


def _in_utc(value: Any) -> Any:
    """A time with a zone as one without, in UTC whatever zone the session has: the same moment is on the same day."""
    within = builtin("isfinite", "boolean", value).ifelse(value, ibis.null(value.type()))
    return builtin("make_timestamp", "timestamp", builtin("epoch_us", "int64", within))


def _moment(value: Any) -> Any:
    """A time as text, of the days that enter: of a time before the first date, DuckDB fails to write the text."""
    return text(_day(value).notnull().ifelse(value, ibis.null(value.type())))


def _small(value: Any) -> Any:
    """An integer of 32 bits, which is sorted and joined a fifth faster; what leaves the engine has 64 (`fetch`)."""
    return as_type(value, "int32")


_SMALL = ColumnType("whole", _small)
_WHOLE = ColumnType("whole", whole)
_WIDE = ColumnType("real", _wide, identify=text)
_REAL = ColumnType("real", tame)
_TEXT = ColumnType("text", _short_text)
_TIME = ColumnType("time", _time, identify=_moment)


class DuckDB(Engine):
    """DuckDB in memory; it spills to disk when a query needs more memory than it has."""

    name = "DuckDB"
    column_types: ClassVar[Mapping[str, ColumnType]] = {
        "TINYINT": _SMALL,
        "SMALLINT": _SMALL,
        "INTEGER": _SMALL,
        "BIGINT": _WHOLE,
        "UTINYINT": _SMALL,
        "USMALLINT": _SMALL,
        "UINTEGER": _WHOLE,
        "UBIGINT": _WIDE,
        "HUGEINT": _WIDE,
        "UHUGEINT": _WIDE,
        "DECIMAL": ColumnType(
            "real", lambda value: _wide(_decimal(value)), identify=lambda value: text(_decimal(value))
        ),
        "FLOAT": _REAL,
        "DOUBLE": _REAL,
        "VARCHAR": _TEXT,
        "ENUM": _TEXT,
        "UUID": ColumnType("text", text),
        "BLOB": ColumnType("text", _hexadecimal),
        "BOOLEAN": ColumnType("truth", truth),
        "DATE": ColumnType("date", day),
        "TIMESTAMP": _TIME,
        "TIMESTAMP_S": _TIME,
        "TIMESTAMP_MS": _TIME,
        "TIMESTAMP_NS": _TIME,
        "TIMESTAMP WITH TIME ZONE": ColumnType(
            "time", lambda value: _time(_in_utc(value)), identify=lambda value: _moment(_in_utc(value))
        ),
    }

    def __init__(self, backend: Any = None) -> None:
        if backend is None:
            load_compilers_when_asked()
        self.backend = ibis.duckdb.connect() if backend is None else backend
        self._is_watched = backend is None and sys.stderr.isatty()  # somebody may look on
        if self._is_watched:
            self.backend.raw_sql("; ".join(f"SET {setting}" for setting in COUNTS_PROGRESS))
        self._files: tuple[Fingerprint, ...] = ()
        self._read: tuple[Any, ...] = ()
        self._defined: Definitions = frozenset()
        self._kept: WeakKeyDictionary[Any, ir.Table] = WeakKeyDictionary()
        self._filled: WeakSet[Any] = WeakSet()
        super().__init__(is_ours=backend is None)

    def files(self, paths: Sequence[Path]) -> ir.Table:
        """A view on CSV or Parquet files, and from then on no other file can be opened."""
        table, _ = self.several({"files": paths})["files"]
        return table

    def several(self, sources: Mapping[str, Sequence[Path] | pa.Table]) -> dict[str, tuple[ir.Table, dict[str, str]]]:
        """Views on files and tables in memory, each with its columns that stay outside; then the connection is sealed.

        DuckDB asks for the pattern of a file, and then for the file that it found.
        """
        self._without(_SLOW_PLANNING)
        opened = {name: self._taken(each) for name, each in sources.items()}
        paths = [path for each in sources.values() if not isinstance(each, pa.Table) for path in each]
        self._seal([*map(exact, paths), *map(str, paths)])
        self.ready()
        return opened

    def _taken(self, source: Sequence[Path] | pa.Table) -> tuple[ir.Table, dict[str, str]]:
        if not isinstance(source, pa.Table):
            return self._viewed(source), {}
        outside = self._outside(source.schema)
        none_left(source.column_names, outside)
        uploaded = self._brought.keep(self._uploaded(source.drop_columns(list(outside))).op())
        return uploaded.to_expr(), outside

    def _viewed(self, paths: Sequence[Path]) -> ir.Table:
        kind = {path.suffix.lower() for path in paths}
        names = [exact(path) for path in paths]
        found = tuple(map(Fingerprint.of, paths))
        self._files = (*self._files, *found)
        if kind <= {".parquet", ".pq"}:
            self._check_types(names)
            check_values(found)
            return self.backend.read_parquet(names, **AS_STORED)
        if kind <= SEPARATED:
            return self._texts(paths, names)
        raise ParameterError("a source is CSV or Parquet files of one kind, by their endings .csv and .parquet.")

    def take_files_as_they_are(self) -> None:
        """For the audit, which writes one made-up table after the other into the file that it opened."""
        self._files = tuple(Fingerprint.of(Path(file.path)) for file in self._files)
        self._filled.clear()

    def kept(self, table: ir.Table) -> ir.Table:
        """On a connection of our own, a table in its memory, filled before the first question that reads it.

        What is below are files, which are refused once they were written to (`ready`), and frames, which nobody writes
        to. So the table stays what the expression would give, and whoever asks gets the same rows sooner.
        """
        if not self._is_ours:
            return table
        with self.lock:
            made = self.backend.create_table(ibis.util.gen_name(_KEPT), schema=table.schema(), temp=True)
            leaf = self._brought.keep(made.op())
            self._kept[leaf] = table
            return leaf.to_expr()

    def fill(self, expression: ir.Table) -> None:
        """Fill those that were not yet; the words of an error may be data, so it is reported without them."""
        failed = ""
        with self.lock:
            if all(leaf in self._filled for leaf in list(self._kept)):
                return
            try:
                self._fill(expression)
            except Exception as error:
                failed = type(error).__name__
        if failed:
            raise EngineError(
                f"{self.name} could not work out whose rows are whose ({failed}), so nothing was charged. Check that "
                "it has memory and disk."
            )

    def _fill(self, expression: ir.Table) -> None:
        """Those that a kept table is made of are filled before it."""
        for leaf in leaves_of(expression):
            if leaf not in self._kept or leaf in self._filled:
                continue
            self._fill(self._kept[leaf])
            rows = self._compiled(self._kept[leaf])
            self.backend.con.execute(f'DELETE FROM temp."{leaf.name}"')
            self.backend.con.execute(f'INSERT INTO temp."{leaf.name}" {rows}')
            self._filled.add(leaf)

    def ready(self) -> None:
        """Refuse to go on if a file or a table is not the one that was opened: what is known holds for that one."""
        for file in self._files:
            file.check()
        if not self._read:
            return
        with self.lock:
            if definitions(self.backend.con, self._read) != self._defined:
                raise ParameterError(
                    "a table of this DuckDB connection was replaced or altered since it was opened. Nothing was "
                    "charged. Open it again."
                )

    def _check_types(self, names: Sequence[str]) -> None:
        """DuckDB would cast all files to the types of the first, and fail on a value that does not fit."""
        opened = (self.backend.con.read_parquet([name], **AS_STORED) for name in names)
        if len({frozenset(zip(each.columns, map(str, each.types), strict=True)) for each in opened}) > 1:
            raise ParameterError(
                "the files do not have the same columns of the same types. "
                "Write them alike, or give them as datasets of their own."
            )

    def _texts(self, paths: Sequence[Path], names: Sequence[str]) -> ir.Table:
        """Files of separated values. Only the header line decides how they are read, never the rows.

        Every column is text (text_parsing.py), an empty field is NULL. A line with too few fields is left out, as is
        one of more than two million bytes; of one with too many fields the rest is. Not strict, as a strict reader
        gives up on lines behind a stray return. In parallel only if each line is a row: a thread that starts inside of
        a quoted field takes its lines for rows, of whomever they name. Quotes that are not closed are refused.
        A line with a field that is not UTF-8 is left out of every question, as all fields are read then
        (csv_files.py).
        """
        header, separator = _header(paths[0])
        if any(_header(path) != (header, separator) for path in paths[1:]):
            raise ParameterError("the files do not have the same header line. Give them as datasets of their own.")
        lines = [is_one_line_each(path, separator) for path in paths]
        if not all(map(is_utf8, paths)):
            self._without(_SLOW_PLANNING, _ALL_COLUMNS)
        return self.backend.read_csv(
            names,
            columns=dict.fromkeys(header, "VARCHAR"),
            auto_detect=False,
            header=True,
            delim=separator,
            new_line="\\n",  # "\\r\\n" ends a line too; found in the header, it would make text of a second return
            quote='"',
            escape='"',
            ignore_errors=True,
            strict_mode=False,
            parallel=all(lines),
            max_line_size=_LONGEST_LINE,
            compression="none",
            hive_partitioning=False,  # a folder user_id=1 would replace the column user_id
            union_by_name=False,
            filename=False,
        )

    def _without(self, *optimizers: str) -> None:
        """Plan questions without these optimizers, as far as this version of DuckDB has them."""
        found = self.backend.con.execute("SELECT name FROM duckdb_optimizers()").fetchall()
        listed = ",".join(name for (name,) in found if name in optimizers)
        self.backend.raw_sql(f"SET disabled_optimizers='{listed}'")

    def _seal(self, names: Sequence[str]) -> None:
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        if names:
            self.backend.raw_sql(f"SET allowed_paths=[{listed}]")
        self.backend.raw_sql("; ".join(f"SET {setting}" for setting in _SEALED + _LOCKED))

    def catalogue(self, table: ir.Table) -> dict[str, str]:
        """The types of the relation, without their parameters: those of a DECIMAL or an ENUM change nothing."""
        found = self.backend.con.sql(self._compiled(table))
        return dict(zip(found.columns, map(_named, found.types), strict=True))

    def frame(self, table: pa.Table) -> tuple[ir.Table, dict[str, str]]:
        """A table that lies in memory already, and its columns of types that cannot be taken, which stay outside."""
        return self.several({"frame": table})["frame"]

    def _outside(self, schema: pa.Schema) -> dict[str, str]:
        """Tried on columns without rows: types decide alone."""
        if self._takes(schema):
            return {}
        return {field.name: str(field.type) for field in schema if not self._takes(pa.schema([field]))}

    def _takes(self, schema: pa.Schema) -> bool:
        try:
            self._drop_one(self._uploaded(schema.empty_table()).get_name())
        except Exception:  # of DuckDB, Ibis or Arrow
            return False
        return True

    def plain(self, table: ir.Table) -> ir.Table:
        """Base tables of somebody else's connection, with texts that are equal only if their bytes are.

        A collation is no part of a type that DuckDB would tell. Under one, a row finds each spelling in a public table
        as a partner, and one row is many. Bytes that become a text again have none; those that cannot, since they are
        no UTF-8, are NULL.
        """
        with self.lock:
            self._check_collation()
            self._read = (*self._read, *leaves_of(table))
            self._defined = definitions(self.backend.con, self._read)
        texts = [name for name, of in table.schema().items() if of.is_string()]
        return table.mutate(*called({name: _bare(table[name]) for name in texts})) if texts else table

    def _check_collation(self) -> None:
        ((collation,),) = self.backend.con.execute("SELECT current_setting('default_collation')").fetchall()
        if collation.lower() not in ("", "binary", "c", "posix"):
            raise ParameterError(
                f"this DuckDB connection has default_collation={collation!r}, in which different texts are equal. "
                "Set default_collation=''."
            )

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """DuckDB's own `hash` of all values and the salt, hashed again.

        The inner one joins the hash of the salt by xor, which hardly changes the order of two values; the outer mixes.
        """
        inner = builtin("hash", "uint64", *values, ibis.literal(salt, type="int64"))
        return builtin("hash", "uint64", inner)

    def _uploaded(self, table: pa.Table) -> ir.Table:
        """Ibis would take the rows as well, but asks pyarrow for each kind of table there is, which loads pandas."""
        name = ibis.util.gen_name(PUBLIC_NAME)
        rows = f"{name}_rows"
        self.backend.con.register(rows, table)  # first: what DuckDB cannot read leaves no table behind
        try:
            made = self.backend.create_table(name, schema=ibis.Schema.from_pyarrow(table.schema), temp=True)
            self.backend.con.execute(f'INSERT INTO temp."{name}" SELECT * FROM "{rows}"')
        finally:
            self.backend.con.unregister(rows)
        return made

    def _drop_one(self, name: str) -> None:
        self.backend.con.execute(f'DROP TABLE IF EXISTS temp."{name}"')

    def _without_rows(self, table: ir.Table) -> ir.Table:
        return self.backend.create_table(ibis.util.gen_name("dither_empty"), schema=table.schema(), temp=True)

    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._check_collation()  # the connection may belong to others as well
        connection = self.backend.con
        if not self._is_watched:
            reader = connection.sql(query).to_arrow_reader(BATCH_ROWS)
            yield from or_empty(reader, reader.schema)
            return
        with progress_bar("asking the engine", lambda: max(0.0, connection.query_progress()) / 100):
            reader = connection.sql(query).to_arrow_reader(BATCH_ROWS)
            first = next(reader, None)  # rows are read and grouped before there is one
        rest = reader if first is None else itertools.chain([first], reader)
        yield from or_empty(rest, reader.schema)


def _named(of: Any) -> str:
    """The name of a type. One that is derived from another, such as JSON or a list, is not the other."""
    name: str = of.id.upper()
    return name if str(of).partition("(")[0] == name else str(of)


def _header(path: Path) -> tuple[list[str], str]:
    """The column names of a file of separated values, and what separates them: the one most often in its header."""
    with path.open("rb") as lines:
        first = lines.readline(_LONGEST_HEADER).decode("utf-8-sig")
    if "\0" in first:
        raise ParameterError(f"the file {path.name!r} is not UTF-8: it looks like UTF-16. Write it anew as UTF-8.")
    separator = max(",;\t|", key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    if not all(names) or not names or len(set(names)) != len(names):
        raise ParameterError(
            f"the file {path.name!r} must start with a header line of different column names, one for each column."
        )
    different((), names)
    return names, separator


def _bare(text: Any) -> Any:
    """The same text without a collation; NULL where its bytes are no UTF-8, for which `decode` alone fails."""
    return builtin("try", "string", builtin("decode", "string", builtin("encode", "binary", text)))
