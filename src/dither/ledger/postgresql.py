"""A ledger in a PostgreSQL database, shared by any number of machines.

What is relied on, and why it is enough: ledger.md, "PostgreSQL".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine

from dither.errors import LedgerError

__all__ = ["PostgreSQLDatabase"]

_LOCK: Final = 0x64697468
"""The advisory lock of all writers of one database: "dith"."""

_WAIT_SECONDS = 120
_CONNECT_SECONDS = 30


@dataclass(frozen=True)
class PostgreSQLDatabase:
    """The database at `url`."""

    url: sql.URL

    @property
    def name(self) -> str:
        """For messages: without the password."""
        return self.url.render_as_string(hide_password=True)

    def is_there(self) -> bool:
        """Only asking tells."""
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
            cursor.execute("SELECT current_setting('fsync'), current_setting('server_encoding')")
            fsync, encoding = cursor.fetchone()
        connection.rollback()
        if fsync != "on":
            raise LedgerError(
                f"the server of the ledger {self.name} runs with fsync={fsync}, so that a charge could be lost. "
                "Switch it on."
            )
        if encoding != "UTF8":
            raise LedgerError(f"the database of the ledger {self.name} must have the encoding UTF8, not {encoding}.")

    def begin_writing(self, connection: Connection, *, synced: bool) -> None:
        """One writer at a time, and a commit that waits for the disk, whatever the server's default is.

        If it is not `synced`, the commit does not wait: it is whole or absent after a crash of the server, and never
        there without those before it.

        Under READ COMMITTED every statement sees what was committed before it began. The statements after the lock
        begin when the writer before has committed, so they see all it wrote. A stricter level would take its view with
        the first statement, before the lock is granted, and would miss it.
        """
        connection.exec_driver_sql(
            "SELECT set_config('lock_timeout', %(wait)s, true), set_config('synchronous_commit', "
            "CASE WHEN NOT %(synced)s THEN 'off' "
            "WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)",
            {"wait": f"{int(_WAIT_SECONDS * 1000)}ms", "synced": synced},
        )
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view; writers go on."""
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def written(self, connection: Connection, *, synced: bool) -> None:
        """Nothing can have come between: the server answers for its files."""

    def check(self, connection: Connection) -> None:
        """The server checks its pages itself (data_checksums)."""

    def cause(self, error: BaseException) -> str:
        """Why it failed, in words that hold no data."""
        return type(error).__name__
