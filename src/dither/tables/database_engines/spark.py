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
from pyspark.sql.functions import bit_xor, lit, pmod, xxhash64
from sqlglot import exp

from dither.errors import EngineError, ParameterError
from dither.tables.database_engines.engine import BATCH_ROWS, PUBLIC_NAME, Engine, builtin, or_empty
from dither.tables.database_engines.sealed_entry import (
    ColumnType,
    as_type,
    day,
    none_left,
    short,
    tame,
    text,
    time,
    truth,
    whole,
)
from dither.tables.expression import LONGEST_TEXT

__all__ = ["Spark"]

_BY_BYTES: Final = "UTF8_BINARY"
_LIMIT: Final = "spark.driver.maxResultSize"
_ZONE: Final = "spark.sql.session.timeZone"
_LEAST_COLLECTED, _MOST_COLLECTED = 1 << 24, 1 << 30
_NUMBER_BYTES: Final = 64
"""More than any value but a text takes, with its part of a batch."""
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def _wide(value: Any) -> Any:
    """Numbers of up to 38 digits, which doubles hold, rounded: they need no taming."""
    return as_type(value, "float64")


def _short(value: Any) -> Any:
    return short(value, builtin("octet_length", "int32", value))


def _hexadecimal(value: Any) -> Any:
    return builtin("hex", "string", _short(value))


def _valid(value: Any) -> Any:
    """A text, or NULL if its bytes are not UTF-8: Spark keeps any bytes, and fails where such a text leaves it.

    So does a name by which persons are told apart, as streams keep who was there.
    """
    return builtin("try_validate_utf8", "string", _short(text(value)))


def _instant(value: Any) -> Any:
    """A time as a number: as text, two of them are one in the hour that summer time repeats."""
    return builtin("unix_micros", "int64", value)


_WHOLE = ColumnType("whole", whole)
_REAL = ColumnType("real", tame)
_TEXT = ColumnType("text", _valid)


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
        "timestamp": ColumnType("time", time, identify=_instant),
        "timestamp_ntz": ColumnType("time", time, identify=text),
    }

    def __init__(self, session: Any) -> None:
        self.session = session
        self._check_ansi()
        self._may_collect()
        self.backend = ibis.pyspark.connect(session)
        super().__init__(is_ours=False)

    @classmethod
    def of_backend(cls, backend: Any) -> Spark:
        return cls(backend._session)  # Ibis has no public name for it

    def _check_ansi(self) -> None:
        # Without a fallback, which Spark would give back instead of its own default.
        if str(self.session.conf.get("spark.sql.ansi.enabled")).lower() != "true":
            raise ParameterError(
                "this Spark session has spark.sql.ansi.enabled=false, so integers wrap around silently. "
                "Set spark.sql.ansi.enabled=true."
            )

    def check_days(self) -> None:
        """Ibis sets the zone of a session to UTC when it is opened; somebody may have set another one since."""
        if self.session.conf.get(_ZONE) != "UTC":
            raise ParameterError(
                f"the time zone of this Spark session was changed, so that times may be on other days than in earlier "
                f"periods. Nothing was released. Set {_ZONE}=UTC."
            )

    def plain(self, table: ir.Table) -> ir.Table:
        """Columns in whose collation different texts are equal are refused: a group would show one of its spellings."""
        for field in self.session.sql(self._compiled(table)).schema:
            if getattr(field.dataType, "collation", _BY_BYTES) != _BY_BYTES:
                raise ParameterError(
                    f"the column {field.name!r} has a collation in which different texts are equal. "
                    "Ask a view without it, or with it under COLLATE UTF8_BINARY."
                )
        self._check_values(self.session.sql(self._compiled(table)))
        return table

    def _check_values(self, frame: Any) -> None:
        """Read all rows once if they lie in files, and refuse what cannot be read, as long as there is no budget.

        Readers fail on some values, as that of Parquet on a time in milliseconds beyond the year 294,000. Filters
        decide which rows are read, so that a failure after a charge would tell that such a row is near.
        """
        names = [field.name for field in frame.schema if _named(field.dataType) in self.column_types]
        if not names or not frame.inputFiles():
            return
        failed = ""
        try:
            with _unlogged():
                frame.select(bit_xor(xxhash64(*(frame[_quoted(name)] for name in names)))).collect()
        except Exception as error:  # its words may be data
            failed = type(error).__name__
        if failed:
            raise ParameterError(
                f"Spark cannot read all rows of the table ({failed}): a value in its files is not what its type says, "
                "or a file is damaged. Have it written anew, with texts in UTF-8 and times in microseconds."
            )

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """`xxhash64` of the salt and all values."""
        return builtin("xxhash64", "int64", ibis.literal(salt, type="int64"), *values)

    def total(self, value: Any) -> Any:
        """Spark keeps a sum of 64-bit integers in 64 bits, so they become decimals first."""
        return value.cast("decimal(20, 0)").sum().cast("decimal(38, 0)")

    def place(self, name: str) -> str:
        """Where a table or a view is: catalog and database, if it is in any, in lower case as Spark compares names."""
        found = self.session.catalog.getTable(_quoted(name))
        return ".".join(filter(None, (found.catalog, *(found.namespace or ()), found.name))).casefold()

    def table(self, name: str) -> tuple[ir.Table, dict[str, str]]:
        """A table or a view of this session, and its columns of types that Ibis has no word for."""
        frame = self.session.table(_quoted(name))
        return self.frame(frame) if _outside(frame.schema) else (self.backend.table(name), {})

    def frame(self, frame: Any) -> tuple[ir.Table, dict[str, str]]:
        """A Spark DataFrame as a view of this session, without its columns of types that Ibis has no word for."""
        outside = _outside(frame.schema)
        none_left(frame.columns, outside)
        known = [frame[_quoted(name)] for name in frame.columns if name not in outside]
        viewed = self._viewed(frame.select(*known) if outside else frame, "dither_source")
        return self._brought.keep(viewed.op()).to_expr(), outside

    def _viewed(self, frame: Any, prefix: str) -> ir.Table:
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

    def _sql(self, expression: ir.Table) -> str:
        query = self.backend.compiler.to_sqlglot(expression)
        if any(map(_is_misread, query.find_all(exp.Literal))):
            query = query.transform(_by_bytes)
        return str(query.sql(dialect=self.backend.dialect))

    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._check_ansi()  # the session belongs to others as well
        # Ibis's own fetch goes through pandas, where large integers with NULLs lose digits.
        for table in self._pieces(self.session.sql(query), self._rows_at_once(schema)):
            yield from or_empty(table.to_batches(max_chunksize=BATCH_ROWS), table.schema)

    def ready(self) -> None:
        """Refuse to go on if the session has ended, or its driver may collect hardly anything."""
        try:
            self._may_collect()
            return
        except ParameterError:
            raise
        except Exception as error:
            failed = type(error).__name__
        raise EngineError(
            f"Spark cannot be asked ({failed}), so nothing was charged. Check that the session is running."
        )

    def _may_collect(self) -> int:
        """How many bytes the driver takes from one job; at most 2^30, which formats of 31 bits hold."""
        context = self.session.sparkContext
        stated = context._jsc.sc().conf().get(_LIMIT, "1g")
        size = int(context._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(stated))
        if 0 < size < _LEAST_COLLECTED:
            raise ParameterError(
                f"this Spark session has {_LIMIT}={stated}, so nothing was charged: answers are collected in pieces, "
                "and a piece may need more. Start it with 16m or more, or with 0 for no limit."
            )
        return min(size or _MOST_COLLECTED, _MOST_COLLECTED)

    def _rows_at_once(self, schema: pa.Schema) -> int:
        """How many rows take no more than half of that, however long the texts in them are."""
        width: int = sum(_NUMBER_BYTES + LONGEST_TEXT * pa.types.is_large_string(field.type) for field in schema)
        return self._may_collect() // 2 // width

    def _pieces(self, found: Any, most: int) -> Iterator[pa.Table]:
        """The rows of a frame, collected in one piece, or in several of about half of `most` rows.

        **Whether the driver takes a piece does not depend on the data.** Texts have a longest length (sealed_entry.py),
        so `most` rows always fit, with as much room again. Rows are dealt to pieces by a hash that nobody knows
        beforehand, and of what the rows hold: a row that is computed again is in the same piece.
        """
        with _unlogged():
            table: pa.Table = found.limit(most + 1).toArrow()
        if table.num_rows <= most:
            yield table
            return
        kept = found.persist()
        try:
            with _unlogged():
                count = -(-2 * kept.count() // most)
            dealt = xxhash64(lit(ibis.util.gen_name("piece")), *(kept[_quoted(name)] for name in kept.columns))
            for piece in range(count):
                with _unlogged():
                    table = kept.filter(pmod(dealt, lit(count)) == lit(piece)).coalesce(1).toArrow()
                yield table
        finally:
            kept.unpersist()


def _is_misread(node: exp.Expr) -> bool:
    """Whether it is a text with a control character: sqlglot writes \\v for some, which Spark reads as v."""
    return isinstance(node, exp.Literal) and node.is_string and any(c < " " and c not in "\t\n\r" for c in node.this)


def _by_bytes(node: exp.Expr) -> exp.Expr:
    if not _is_misread(node):
        return node
    return exp.func("decode", exp.func("unhex", exp.Literal.string(node.this.encode().hex())), "'UTF-8'")


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _outside(schema: Any) -> dict[str, str]:
    """The columns of types that Ibis has no word for, such as variants: it would refuse the table as a whole."""
    unknown = {}
    for field in schema:
        try:
            PySparkType.to_ibis(field.dataType)
        except (NotImplementedError, IbisError):
            unknown[field.name] = _named(field.dataType)
    return unknown


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
