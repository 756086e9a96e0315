"""PostgreSQL: the tables stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, ClassVar, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import psycopg
import pyarrow as pa
from psycopg import sql

from dither.errors import EngineError, ParameterError
from dither.tables.database_engines.engine import BATCH_ROWS, PUBLIC_NAME, Engine, builtin, or_empty
from dither.tables.database_engines.postgres_relations import (
    Relation,
    check_collations,
    check_encoding,
    described,
    quoted,
    relation,
)
from dither.tables.database_engines.postgres_steps import fence
from dither.tables.database_engines.postgres_types import COLUMN_TYPES
from dither.tables.database_engines.sealed_entry import ColumnType

__all__ = ["PostgreSQL"]

SETTINGS: Final = {
    "TimeZone": "UTC",  # in which a time with a zone is a day
    "DateStyle": "ISO, YMD",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",  # otherwise a backslash would end a text of the question early
    "transform_null_equals": "off",
    "statement_timeout": "0",  # how long a question takes depends on rows, and so would its failure
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""What a role, a database or a connection of somebody else may have set otherwise; set again for each question."""
NEWER_SETTINGS: Final = {
    "transaction_timeout": "0",  # since version 17
}
"""The same, of versions that are newer than the oldest one: to set one that a server does not know is an error."""
SESSION_SETTINGS: Final = {
    "idle_session_timeout": "0",  # since version 14; the connection would end between the charge and the question
}
"""What is set once on a connection of our own, as it counts outside of questions."""


def _set_if_known(settings: Mapping[str, str], *, locally: bool) -> list[str]:
    """One expression for each, which sets it if the list of settings has its name, and is NULL otherwise."""
    return [
        f"(SELECT pg_catalog.set_config(name, '{value}', {str(locally).lower()}) "
        f"FROM pg_catalog.pg_settings WHERE name = '{name}')"
        for name, value in settings.items()
    ]


_CATALOGUE_FIRST: Final = (
    "pg_catalog.concat_ws(', ', 'pg_catalog', nullif(pg_catalog.current_setting('search_path'), ''))"
)
"""Functions and operators are those of PostgreSQL, whatever other schemas define."""
_SET_LOCALLY: Final = "SELECT " + ", ".join(
    [f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in SETTINGS.items()]
    + _set_if_known(NEWER_SETTINGS, locally=True)
    + [f"pg_catalog.set_config('search_path', {_CATALOGUE_FIRST}, true)"]
)
_SET_FOR_GOOD: Final = "SELECT " + ", ".join(_set_if_known(SESSION_SETTINGS, locally=False))
_BLANKS: Final = {"string": "", "boolean": False, "date": date(1970, 1, 1)}
"""What stands for NULL where it is compared; whether it is NULL is compared as well."""


class PostgreSQL(Engine):
    """A connection to a PostgreSQL server. Groups come back through a cursor of the server, in batches."""

    name = "PostgreSQL"
    column_types: ClassVar[Mapping[str, ColumnType]] = COLUMN_TYPES

    def __init__(self, backend: Any, *, is_ours: bool = False) -> None:
        check_encoding(backend.con)
        self.backend = backend
        self._first = backend.con
        super().__init__(is_ours=is_ours)  # then it may be opened again
        self._opened: tuple[Relation, ...] = ()
        self._described: dict[str, dict[str, str]] = {}
        self._public: dict[str, pa.Table] = {}
        if is_ours:
            self._connected()

    @classmethod
    def at(cls, url: str) -> PostgreSQL:
        """Connect to postgresql://user@host/database."""
        backend = ibis.connect(url)
        try:
            return cls(backend, is_ours=True)
        except BaseException:
            backend.disconnect()
            raise

    def _connected(self) -> None:
        """A connection of our own is not ended for being idle: a question waits for others and for the ledger."""
        self.backend.con.execute(_SET_FOR_GOOD)

    @property
    def _connection(self) -> Any:
        """The first one stands for all that were opened after it, so that their lock is one."""
        return self._first

    def table(self, name: str) -> tuple[ir.Table, Relation]:
        """A table or view, `name` or `schema.name`, and what the server knows of it."""
        schema, _, bare = name.rpartition(".")
        found = relation(self.backend.con, quoted(schema, bare))
        if found is None:
            raise LookupError("no table or view has this name")
        check_collations(self.backend.con, found.oid)
        self._opened = (*self._opened, found)
        columns = described(self.backend.con, f"SELECT * FROM {found.quoted}")
        schema = ibis.schema(dict.fromkeys(columns, dt.unknown))  # the entry casts, and what Ibis believes is not asked
        place = ops.Namespace(database=found.schema)
        return ops.DatabaseTable(found.name, schema, self.backend, place).to_expr(), found

    def plain(self, table: ir.Table) -> ir.Table:
        """A table of somebody else's connection."""
        check_collations(self.backend.con, None)
        return table

    def catalogue(self, table: ir.Table) -> dict[str, str]:
        """As the server describes the table: Ibis takes citext for text, and does not know domains."""
        query = self._compiled(table)
        found = described(self.backend.con, query)
        if getattr(table.op(), "name", None) not in self._public:
            self._described[query] = found
        return found

    def ready(self) -> None:
        """Refuse a question, before its charge, that could not be answered or would read other tables than it says.

        What is asked of the server here does not depend on rows. A connection that was opened here and has ended, since
        the server was restarted or an administrator ended it, is opened again with the public tables it had.
        """
        failed = ""
        with self.lock:
            try:
                is_same = self._is_same()
            except EngineError:
                raise
            except Exception as error:  # its words may have the address of the server
                failed = type(error).__name__
        if failed:
            raise EngineError(
                f"PostgreSQL cannot be asked ({failed}), so nothing was charged. Check that the server runs and that "
                "the table is still there, then ask again."
            )
        if not is_same:
            raise ParameterError(
                "the table was changed since it was opened: it was replaced, a column has another type, or it reads "
                "other tables (a partition was attached, a view was redefined). Nothing was charged. Open it again."
            )

    def _is_same(self) -> bool:
        """Whether the server knows the same of the source as when it was opened."""
        try:
            return self._looked_up()
        except (psycopg.OperationalError, psycopg.InterfaceError):  # the connection has ended
            pass
        self._connect_again()
        return self._looked_up()

    def _looked_up(self) -> bool:
        connection = self.backend.con
        connection.execute("SELECT 1")
        if any(relation(connection, opened.quoted) != opened for opened in self._opened):
            return False
        now = {query: described(connection, query) for query in self._described}
        return all(now[query].items() >= before.items() for query, before in self._described.items())

    def _connect_again(self) -> None:
        """With the same settings and the same public tables under the same names."""
        old = self.backend.con
        if not self._is_ours:
            raise EngineError(
                "the Ibis connection to PostgreSQL has ended, so nothing was charged. It is not opened again here, as "
                "it may have had settings and temporary tables of its own. Connect again and make a new dataset."
            )
        if old.closed and not old.broken:
            raise EngineError("the dataset was closed, so nothing was charged. Open it again.")
        self.backend.reconnect()
        try:
            self._connected()
            for name, table in self._public.items():
                self._copy(name, table)
        except BaseException:  # the next question tries it once more
            self.backend.disconnect()
            self.backend.con = old
            raise
        old.close()

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """`hash_record_extended` of the row of values, seeded with the salt: 64 bits, of any types, NULL among them."""
        row: Any = builtin("row", "json", *values)
        return builtin("hash_record_extended", "int64", row, ibis.literal(salt, type="int64"))

    def same(self, a: Any, b: Any) -> list[Any]:
        """Two equalities: IS NOT DISTINCT FROM would compare each row with each key, and not find it by a hash."""
        blank = _BLANKS.get(str(a.type().copy(nullable=True)).partition("(")[0], 0)
        return [a.isnull() == b.isnull(), a.fill_null(blank) == b.fill_null(blank)]

    def _uploaded(self, table: pa.Table) -> ir.Table:
        """In a temporary table, which ends with the connection and is made again on the next."""
        self.ready()
        name = ibis.util.gen_name(PUBLIC_NAME)
        failed = ""
        try:
            self._copy(name, table)
        except Exception as error:
            failed = type(error).__name__
        if failed:
            raise ParameterError(
                f"PostgreSQL does not take the public table ({failed}). Its columns must have types of PostgreSQL, its "
                "texts no NUL character, and the connection needs the right to create temporary tables."
            )
        self._public[name] = table
        return ops.DatabaseTable(name, ibis.Schema.from_pyarrow(table.schema), self.backend).to_expr()

    def _drop_one(self, name: str) -> None:
        self._public.pop(name, None)
        with self._transaction("READ WRITE") as connection:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS pg_temp.{}").format(sql.Identifier(name)))

    def _twin(self, leaf: Any) -> Any:
        """No table is made: of LIMIT 0, all that is asked is planned."""
        return self._without_rows(leaf.to_expr()).op()

    def _without_rows(self, table: ir.Table) -> ir.Table:
        return table.limit(0)

    def _copy(self, name: str, table: pa.Table) -> None:
        with self._transaction("READ WRITE") as connection, connection.cursor() as cursor:
            self.backend.create_table(name, schema=ibis.Schema.from_pyarrow(table.schema), temp=True)
            target = sql.Identifier(name)
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(target)) as copy:
                for batch in table.to_batches(BATCH_ROWS):
                    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row(row)
            cursor.execute(sql.SQL("ANALYZE {}").format(target))

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Any]:
        """The connection, in a transaction with our settings, whatever others have set.

        One that is serializable may fail for what others write meanwhile. The level of one that others began stays.
        """
        connection = self.backend.con
        begins = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with connection.transaction():
            connection.execute(f"SET TRANSACTION {'ISOLATION LEVEL READ COMMITTED, ' if begins else ''}{mode}")
            connection.execute(_SET_LOCALLY)
            yield connection

    def _sql(self, expression: ir.Table) -> str:
        query = self.backend.compiler.to_sqlglot(expression)
        fence(query)
        return str(query.sql(dialect=self.backend.dialect))

    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        name = ibis.util.gen_name("dither")
        with self._transaction("READ ONLY") as connection, connection.cursor(name=name) as cursor:
            cursor.execute(query)
            fetched = iter(lambda: cursor.fetchmany(BATCH_ROWS), [])
            yield from or_empty((_batch(rows, schema) for rows in fetched), schema)


def _batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array(values, type=field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.record_batch(columns, schema=schema)
