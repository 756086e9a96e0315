"""A ledger in a PostgreSQL database, shared by any number of machines.

What is relied on, and why it is enough: ledger.md, "PostgreSQL".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine

from dither.errors import LedgerError

__all__ = ["PostgreSQLDatabase"]

_LOCK: Final = 0x64697468
"""The advisory lock of all writers of one database: "dith"."""

_WAIT_SECONDS = 120
_CONNECT_SECONDS = 30


_PINNED: Final = "pg_catalog, pg_temp"
"""The search path of every transaction: functions and operators are the server's, whatever others define. Our tables
are named with their schema, so that no table of a session (pg_temp) and no schema of a role stands in their place."""

_USUAL: Final = "public"
_FOUND: Final = """
    SELECT n.nspname, c.relname, c.relkind, c.relpersistence,
           has_table_privilege(c.oid, 'SELECT'),
           ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = ANY (%(names)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
"""
"""Relations that have rows: no index, sequence or type is part of a ledger, and no table of one session."""
_TABLES: Final = ("r", "p")
"""Tables and partitioned tables, as the catalogue calls them; the others are views or lie elsewhere."""
_MAY_CREATE: Final = (
    "SELECT nspname FROM pg_catalog.pg_namespace "
    "WHERE nspname = ANY (%(names)s) AND has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE')"
)
_SYNC: Final = (
    f"SET LOCAL search_path = {_PINNED}; "
    "SELECT set_config('synchronous_commit', "
    "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), "
    "CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'dither', '') END"
)


class _Relation(NamedTuple):
    """What the catalogue holds about a relation that has the name of one of our tables."""

    schema: str
    name: str
    kind: str
    persistence: str
    may_read: bool
    columns: list[str]


@dataclass
class PostgreSQLDatabase:
    """The database at `url`."""

    url: sql.URL
    is_a_server: ClassVar = True
    is_durable: ClassVar = True
    readers_hold_up_writers: ClassVar = False
    _path: tuple[str, ...] = field(default=(), init=False)
    """The schemas that the role looks into, as its connection reports."""

    @property
    def name(self) -> str:
        """For messages: host and database. The rest of a URL may hold passwords, its options among it."""
        return f"{self.url.host or 'PostgreSQL'}/{self.url.database or ''}"

    def is_there(self) -> bool:
        """Only connecting shows it."""
        return True

    def engine(self) -> Engine:
        """Connections that are tested before they are used. READ COMMITTED: see `begin_writing`."""
        try:
            engine = sql.create_engine(
                self.url,
                isolation_level="READ COMMITTED",
                pool_pre_ping=True,
                pool_timeout=_WAIT_SECONDS,
                connect_args={"connect_timeout": _CONNECT_SECONDS},
            )
        except ModuleNotFoundError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg. Install dither[postgres].") from None
        sql.event.listen(engine, "connect", self._connected)
        return engine

    def _connected(self, connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_catalog.current_setting('fsync'), pg_catalog.current_setting('server_encoding')")
            fsync, encoding = cursor.fetchone()
        connection.rollback()
        if fsync != "on":
            raise LedgerError(
                f"the server of the ledger {self.name} runs with fsync={fsync}, so that a charge could be lost. "
                "Switch it on."
            )
        if encoding != "UTF8":
            raise LedgerError(f"the database of the ledger {self.name} must have the encoding UTF8, not {encoding}.")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_catalog.current_schemas(false)")
            (schemas,) = cursor.fetchone()
        connection.rollback()
        self._path = tuple(name for name in schemas if not name.startswith("pg_"))

    def schema(self, connection: Connection, tables: Mapping[str, Collection[str]]) -> str:
        """Where our tables, given with their columns, are, in whichever schema; if nowhere, where they belong.

        Roles with schemas of their own would else have a ledger, and a budget, each. Everybody may read the list of
        tables, so that one is found even by a role that may not look into it.
        """
        named = [_Relation(*row) for row in connection.exec_driver_sql(_FOUND, {"names": list(tables)})]
        schemas = sorted({each.schema for each in named if _is_ledger(each.schema, named, tables)})
        if not schemas:
            return self._home(connection)
        if len(schemas) > 1:
            raise LedgerError(
                f"the database of the ledger {self.name} has tables of a ledger in the schemas {', '.join(schemas)}, "
                "and one database holds one ledger. Keep the one that was charged, and rename or drop the others."
            )
        (schema,) = schemas
        if schema not in (_USUAL, *self._path):
            raise LedgerError(
                f"the database of the ledger {self.name} has its ledger in the schema {schema}, which this role does "
                "not look into, and one database holds one ledger. If it is the role's, put that schema on its "
                "search_path and grant it USAGE there."
            )
        found = [each for each in named if each.schema == schema]
        if any(each.kind != "r" or each.persistence != "p" for each in found):
            raise LedgerError(f"the ledger {self.name} is not in ordinary tables. Restore it from a copy.")
        if not all(each.may_read for each in found):
            raise LedgerError(
                f"this role may not use the ledger {self.name} in the schema {schema}. Let the owner of its tables "
                f"grant SELECT and INSERT on {' and '.join(sorted(tables))}."
            )
        return schema

    def _home(self, connection: Connection) -> str:
        """Where a new ledger is made: where everybody looks, or else in the first schema of this role."""
        asked = [_USUAL, *self._path]
        may = set(connection.exec_driver_sql(_MAY_CREATE, {"names": asked}).scalars())
        schema = next((name for name in asked if name in may), None)
        if schema is None:
            raise LedgerError(
                f"this role may not make a ledger in {self.name}. Grant CREATE on the schema {_USUAL}, or make the "
                "ledger with a role that may."
            )
        return schema

    def turn(self) -> AbstractContextManager[object]:
        """The server lets writers wait for each other."""
        return nullcontext()

    def begin_writing(self, connection: Connection) -> None:
        """One writer at a time, and a commit that does not wait for the disk: `sync` does, when the next may write.

        Such a commit is whole or absent after a crash of the server, and never there without those before it.

        Under READ COMMITTED every statement sees what was committed before it began. The statements after the lock
        begin when the writer before has committed, so they see all it wrote. A stricter level would take its view with
        the first statement, before the lock is granted, and would miss it.
        """
        connection.exec_driver_sql(
            "SELECT pg_catalog.set_config('search_path', %(path)s, true), "
            "pg_catalog.set_config('synchronous_commit', 'off', true), "
            "pg_catalog.set_config('lock_timeout', %(wait)s, true)",
            {"path": _PINNED, "wait": f"{int(_WAIT_SECONDS * 1000)}ms"},
        )
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view; writers go on."""
        connection.exec_driver_sql(
            f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL search_path = {_PINNED}"
        )

    def sync(self, connection: Connection) -> None:
        """Wait until the server's log is on disk up to here, whatever its default is, and with it all commits before.

        A commit that waits for the disk syncs the log up to its own record, and one sync of the server serves all who
        wait. It waits only if its transaction wrote something: a message of no bytes, of which no table knows. A
        standby takes no commits, and has only what is on the disk of its primary.
        """
        connection.exec_driver_sql(_SYNC)

    def check(self, connection: Connection) -> None:
        """The server checks its pages itself (data_checksums)."""

    def cause(self, error: BaseException) -> str:
        """Why it failed, in words that hold no data."""
        return type(error).__name__


def _is_ledger(schema: str, named: Sequence[_Relation], tables: Mapping[str, Collection[str]]) -> bool:
    """Whether a schema has a ledger: all its tables, at least one of them no view; or one with all of our columns.

    A stray relation of the name of one of ours, as another program may have made it, is no ledger. A ledger that lost
    its small table of one number is one: its entries hold what was spent, and a new one beside it would forget them.
    """
    here = [each for each in named if each.schema == schema and each.kind in _TABLES]
    largest = max(tables, key=lambda name: len(tables[name]))
    if any(each.name == largest and set(tables[largest]) <= set(each.columns) for each in here):
        return True
    return bool(here) and {each.name for each in named if each.schema == schema} == set(tables)
