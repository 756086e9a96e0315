"""PostgreSQL: the tables stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa
from psycopg import sql
from sqlglot import expressions as glot

from dither.errors import ParameterError
from dither.tables.compiled import ARITHMETIC_PREFIX
from dither.tables.engines.engine import BATCH_ROWS, Engine, builtin
from dither.tables.engines.entry import LARGEST, SMALLEST, ColumnType, as_type, day, tame, text, truth, whole

__all__ = ["PostgreSQL"]

_PLACE: Final = """
    SELECT (SELECT system_identifier FROM pg_control_system()), current_database(), namespace.nspname, class.relname
    FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
    WHERE class.oid = to_regclass(%s)"""
_PARTS: Final = """
    WITH RECURSIVE below(oid) AS (
        SELECT to_regclass(%s)::oid
        UNION
        SELECT next.oid FROM below, LATERAL (
            SELECT depend.refobjid
            FROM pg_rewrite AS rule JOIN pg_depend AS depend ON depend.objid = rule.oid
            WHERE rule.ev_class = below.oid AND depend.classid = 'pg_rewrite'::regclass
                AND depend.refclassid = 'pg_class'::regclass
            UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = below.oid
        ) AS next(oid)
    )
    SELECT (SELECT system_identifier FROM pg_control_system()), current_database(), below.oid FROM below"""
"""What a table or a view reads, whatever lies between: views, materialized views, partitions, heirs."""
_LOOSE_TEXTS: Final = """
    SELECT attribute.attname
    FROM pg_attribute AS attribute JOIN pg_collation AS rules ON attribute.attcollation = rules.oid
    WHERE attribute.attrelid = to_regclass(%s) AND NOT rules.collisdeterministic"""
_ANY_LOOSE: Final = "SELECT EXISTS (SELECT FROM pg_collation WHERE NOT collisdeterministic)"
_TYPE_NAMES: Final = "SELECT oid, typname FROM pg_type WHERE oid = ANY(%s)"
_BLANKS: Final = {"string": "", "boolean": False, "date": date(1970, 1, 1)}
"""What stands for NULL where it is compared; whether it is NULL is compared as well."""


def _unlimited(value: Any) -> Any:
    """A tame double of a number of any length: made tame first, as the cast fails on numbers beyond the doubles."""
    number = as_type(value, "decimal")
    most, least = (ibis.literal(Decimal(of), type=dt.Decimal()) for of in (f"{LARGEST:e}", f"{SMALLEST:e}"))
    present = number.notnull() & (text(number) != "NaN")
    clamped = ibis.greatest(ibis.least(number, most), -most)
    tamed = (number.abs() < least).ifelse(ibis.literal(Decimal(0), type=dt.Decimal()), clamped)
    return as_type(present.ifelse(tamed, ibis.null(dt.Decimal())), "float64")


def _hexadecimal(value: Any) -> Any:
    return builtin("encode", "string", value, ibis.literal("hex"))


def _digits(value: Any) -> Any:
    """A text that is the same for equal numbers: 1.0 and 1.00 are."""
    return text(builtin("trim_scale", "decimal", value))


_WHOLE = ColumnType("whole", whole)
_REAL = ColumnType("real", tame)
_TEXT = ColumnType("text", text)
_TIME = ColumnType("date", day, identify=text)


class PostgreSQL(Engine):
    """A connection to a PostgreSQL server. Groups come back through a cursor of the server, in batches."""

    name = "PostgreSQL"
    column_types: ClassVar[Mapping[str, ColumnType]] = {
        "int2": _WHOLE,
        "int4": _WHOLE,
        "int8": _WHOLE,
        "float4": _REAL,
        "float8": _REAL,
        "numeric": ColumnType("real", _unlimited, identify=_digits),
        "text": _TEXT,
        "varchar": _TEXT,
        "bpchar": _TEXT,
        "uuid": _TEXT,
        "bytea": ColumnType("text", _hexadecimal),
        "bool": ColumnType("truth", truth),
        "date": ColumnType("date", day),
        "timestamp": _TIME,
        "timestamptz": _TIME,
    }

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    @classmethod
    def at(cls, url: str) -> PostgreSQL:
        """Connect to postgresql://user@host/database. Times with a zone are read in UTC, whoever asks."""
        engine = cls(ibis.connect(url))
        engine.backend.con.execute("SET TIME ZONE 'UTC'")
        return engine

    def table(self, name: str) -> tuple[ir.Table, str]:
        """A table or view, `name` or `schema.name`, and where it is: the same for every spelling of host and name.

        Columns in whose collation different texts are equal are refused: no other engine would group them so.
        """
        schema, _, bare = name.rpartition(".")
        connection, quoted = self.backend.con, self._quoted(name)
        found = self.backend.table(bare, database=schema or None)
        for (column,) in connection.execute(_LOOSE_TEXTS, [quoted]).fetchall():
            raise ParameterError(
                f"the column {column!r} has a collation in which different texts are equal. "
                'Ask a view without it, or with it under COLLATE "C".'
            )
        server, database, *place = connection.execute(_PLACE, [quoted]).fetchone()
        return found, f"postgresql:{server}/{database}/{'.'.join(place)}"

    def parts(self, name: str) -> frozenset[str]:
        """Every table and view that `name` reads, by its number on this server, which it keeps when it is renamed.

        The server knows what the text of a view names, not what a function in it reads.
        """
        rows = self.backend.con.execute(_PARTS, [self._quoted(name)]).fetchall()
        return frozenset(f"postgresql:{server}/{database}/{relation}" for server, database, relation in rows)

    def _quoted(self, name: str) -> str:
        schema, _, bare = name.rpartition(".")
        return sql.Identifier(*filter(None, (schema, bare))).as_string(self.backend.con)

    def plain(self, table: ir.Table) -> ir.Table:
        """A table of somebody else's connection. Its collations are not known, so none of the database may be loose."""
        if self.backend.con.execute(_ANY_LOOSE).fetchone()[0]:
            raise ParameterError(
                "this database has a collation in which different texts are equal, and an Ibis table does not tell "
                "whether it is used. Give the URL of the database and table=... instead."
            )
        return table

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """`hash_record_extended` of the row of values, seeded with the salt: 64 bits, of any types, NULL among them."""
        row: Any = builtin("row", "json", *values)
        return builtin("hash_record_extended", "int64", row, ibis.literal(salt, type="int64"))

    def same(self, a: Any, b: Any) -> list[Any]:
        """Two equalities: IS NOT DISTINCT FROM would compare each row with each key, and not find it by a hash."""
        blank = _BLANKS.get(str(a.type().copy(nullable=True)).partition("(")[0], 0)
        return [a.isnull() == b.isnull(), a.fill_null(blank) == b.fill_null(blank)]

    def catalogue(self, table: ir.Table) -> dict[str, str]:
        """The types of the columns as `pg_type` names them."""
        found = self.backend.con.execute(f"SELECT * FROM ({self._compiled(table)}) AS asked LIMIT 0").description
        names = dict(self.backend.con.execute(_TYPE_NAMES, [[column.type_code for column in found]]).fetchall())
        return {column.name: names[column.type_code] for column in found}

    def _uploaded(self, table: pa.Table) -> ir.Table:
        """By COPY into a temporary table, which ends with the connection."""
        name = ibis.util.gen_name("dither_public")
        self.backend.create_table(name, schema=ibis.Schema.from_pyarrow(table.schema), temp=True)
        target = sql.Identifier(name)
        with self.backend.con.cursor() as cursor:
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(target)) as copy:
                for batch in table.to_batches(BATCH_ROWS):
                    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row(row)
            cursor.execute(sql.SQL("ANALYZE {}").format(target))
        return self.backend.table(name)

    def _sql(self, expression: ir.Table) -> str:
        """With OFFSET 0 in each SELECT that does arithmetic, so that it stays a step of its own.

        PostgreSQL would pull it into the SELECT around it, and what is named four times there would be computed four
        times, and sixteen times one step further: an expression of five operations would need all memory there is. A
        SELECT with an OFFSET is not pulled up, and one of 0 leaves out no rows. It keeps the query in one process,
        which is why other steps have none.
        """
        query = self.backend.compiler.to_sqlglot(expression)
        for select in query.find_all(glot.Select):
            if any(_is_computed(column) for column in select.expressions):
                select.set("offset", glot.Offset(expression=glot.Literal.number(0)))
        return str(query.sql(dialect=self.backend.dialect))

    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        connection = self.backend.con
        with connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            with connection.cursor(name=ibis.util.gen_name("dither")) as cursor:
                cursor.execute(query)
                while rows := cursor.fetchmany(BATCH_ROWS):
                    columns = [
                        pa.array(values, type=field.type)
                        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
                    ]
                    yield pa.record_batch(columns, schema=schema)


def _is_computed(column: glot.Expression) -> bool:
    """Whether it is a step of arithmetic, and not only handed on."""
    is_step = isinstance(column, glot.Alias) and column.alias.startswith(ARITHMETIC_PREFIX)
    return is_step and not isinstance(column.this, glot.Column)
