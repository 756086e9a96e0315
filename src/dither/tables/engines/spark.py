"""Apache Spark, when one machine is not enough: only the final groups reach the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends.pyspark.datatypes import PySparkType
from ibis.common.exceptions import IbisError
from pyspark.logger import PySparkLogger

from dither.errors import ParameterError
from dither.tables.engines.engine import BATCH_ROWS, PUBLIC_NAME, Engine, builtin
from dither.tables.engines.sealed_entry import ColumnType, as_type, day, refused_column, tame, text, truth, whole

__all__ = ["Spark"]

_BY_BYTES: Final = "UTF8_BINARY"
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def _wide(value: Any) -> Any:
    """Numbers of up to 38 digits, which doubles hold, rounded: they need no taming."""
    return as_type(value, "float64")


def _hexadecimal(value: Any) -> Any:
    return builtin("hex", "string", value)


def _valid(value: Any) -> Any:
    """A text, or NULL if its bytes are not UTF-8: Spark keeps any bytes, and fails where such a text leaves it."""
    return builtin("try_validate_utf8", "string", value)


def _instant(value: Any) -> Any:
    """A time as a number: as text, two of them are one in the hour that summer time repeats."""
    return builtin("unix_micros", "int64", value)


_WHOLE = ColumnType("whole", whole)
_REAL = ColumnType("real", tame)
_TEXT = ColumnType("text", _valid, identify=text)


class Spark(Engine):
    """A Spark session. It must run in ANSI mode: without it, integers that overflow wrap around silently."""

    name = "Spark"
    column_types: ClassVar[Mapping[str, ColumnType]] = {
        "byte": _WHOLE,
        "short": _WHOLE,
        "integer": _WHOLE,
        "long": _WHOLE,
        "decimal": ColumnType("real", _wide, identify=text),
        "float": _REAL,
        "double": _REAL,
        "string": _TEXT,
        "binary": ColumnType("text", _hexadecimal),
        "boolean": ColumnType("truth", truth),
        "date": ColumnType("date", day),
        "timestamp": ColumnType("date", day, identify=_instant),
        "timestamp_ntz": ColumnType("date", day, identify=text),
    }

    def __init__(self, session: Any) -> None:
        self.session = session
        self._check_ansi()
        self.backend = ibis.pyspark.connect(session)
        super().__init__(is_ours=False)

    def _check_ansi(self) -> None:
        # Without a fallback, which Spark would give back instead of its own default.
        if str(self.session.conf.get("spark.sql.ansi.enabled")).lower() != "true":
            raise ParameterError(
                "this Spark session has spark.sql.ansi.enabled=false, so integers wrap around silently. "
                "Set spark.sql.ansi.enabled=true."
            )

    def plain(self, table: ir.Table) -> ir.Table:
        """Columns in whose collation different texts are equal are refused: a group would show one of its spellings."""
        for field in self.session.sql(self._compiled(table)).schema:
            if getattr(field.dataType, "collation", _BY_BYTES) != _BY_BYTES:
                raise ParameterError(
                    f"the column {field.name!r} has a collation in which different texts are equal. "
                    "Ask a view without it, or with it under COLLATE UTF8_BINARY."
                )
        return table

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """`xxhash64` of the salt and all values."""
        return builtin("xxhash64", "int64", ibis.literal(salt, type="int64"), *values)

    def total(self, value: Any) -> Any:
        """Spark keeps a sum of 64-bit integers in 64 bits, so they become decimals first."""
        return value.cast("decimal(20, 0)").sum().cast("decimal(38, 0)")

    def place(self, name: str) -> str:
        """Where a table or a view is: catalog and database, if it is in any, in lower case as Spark compares names."""
        quoted = name.replace("`", "``")
        found = self.session.catalog.getTable(f"`{quoted}`")
        return ".".join(filter(None, (found.catalog, *(found.namespace or ()), found.name))).casefold()

    def table(self, name: str) -> ir.Table:
        """A table or a view of this session."""
        quoted = name.replace("`", "``")
        _check_known(self.session.table(f"`{quoted}`").schema)
        return self.backend.table(name)

    def frame(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as a view of this session."""
        return self._brought.keep(self._viewed(frame, "dither_source").op()).to_expr()

    def _viewed(self, frame: Any, prefix: str) -> ir.Table:
        _check_known(frame.schema)
        name = ibis.util.gen_name(prefix)
        frame.createOrReplaceTempView(name)
        return self.backend.table(name)

    def _drop_one(self, name: str) -> None:
        self.session.catalog.dropTempView(name)

    def catalogue(self, table: ir.Table) -> dict[str, str]:
        """The types of the columns, without their parameters; a text with a collation of its own is another type."""
        fields = self.session.sql(self._compiled(table)).schema
        return {field.name: _named(field.dataType) for field in fields}

    @property
    def _connection(self) -> Any:
        """One for all sessions, as the loggers are (`_unlogged`): one question that ends would let another speak."""
        return PySparkLogger

    @property
    def _session(self) -> Any:
        """A view is one of its session."""
        return self.session

    def _without_rows(self, table: ir.Table) -> ir.Table:
        """A table of its own, from an RDD: what is asked of an empty relation is left out before it is planned."""
        schema = self.session.sql(self._compiled(table)).schema
        empty = self.session.createDataFrame(self.session.sparkContext.emptyRDD(), schema)
        return self._viewed(empty, "dither_empty")

    def _uploaded(self, table: pa.Table) -> ir.Table:
        return self._viewed(self.session.createDataFrame(table), PUBLIC_NAME)

    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._check_ansi()  # the session belongs to others as well
        # Ibis's own fetch goes through pandas, where large integers with NULLs lose digits.
        with _unlogged():
            table: pa.Table = self.session.sql(query).toArrow()
        yield from table.to_batches(max_chunksize=BATCH_ROWS)


def _check_known(schema: Any) -> None:
    """Refuse columns of types that Ibis has no word for, such as variants: it would refuse the table without a name."""
    unknown: list[Any] = []
    for field in schema:
        try:
            PySparkType.to_ibis(field.dataType)
        except (NotImplementedError, IbisError):
            unknown.append(field)
    for field in unknown:
        raise refused_column(field.name, _named(field.dataType))


def _named(of: Any) -> str:
    is_loose = getattr(of, "collation", _BY_BYTES) != _BY_BYTES
    return str(of.simpleString() if is_loose else of.typeName())


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark writes each failed query with its message to stderr, and the message may hold values."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
