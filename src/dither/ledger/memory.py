"""A ledger in memory, for tests and notebooks: it is gone with the process, and its charges with it."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dither.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

__all__ = ["IN_MEMORY", "SQLiteMemory"]

IN_MEMORY: Final = ":memory:"
"""What is given in the place of a path."""

_WAIT_SECONDS: Final = 120
_numbers = count(1)


class _MemoryConnection(sqlite3.Connection):
    """A connection that nobody has to close: with the last one only memory is given back (Python 3.13 would warn)."""

    def __del__(self) -> None:
        self.close()


class SQLiteMemory:
    """A SQLite database in the memory of this process, shared by its threads. Each one made is another ledger.

    A child process would have a copy with a budget of its own, so there it is refused.
    """

    name = IN_MEMORY
    is_a_server: ClassVar = False
    is_durable: ClassVar = False
    readers_hold_up_writers: ClassVar = True  # there is no write-ahead log in memory

    def __init__(self) -> None:
        self._process = os.getpid()
        self._address = f"file:/dither-ledger-{self._process}-{next(_numbers)}?vfs=memdb"
        kept = self._connected()  # the database lives as long as one connection does
        weakref.finalize(self, kept.close)

    def is_there(self) -> bool:
        """A new one is empty."""
        return False

    def engine(self) -> Engine:
        """As many connections as there are threads that use them at once."""
        if os.getpid() != self._process:
            raise LedgerError(
                "a ledger in memory belongs to the process that made it; a child process would spend its budget once "
                "more. Give the path of a file."
            )
        import sqlalchemy as sql

        return sql.create_engine("sqlite://", creator=self._connected, poolclass=sql.QueuePool, max_overflow=-1)

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._address,
            uri=True,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_MemoryConnection,
        )

    def schema(self, connection: Connection, tables: Mapping[str, Collection[str]]) -> None:
        """It has none."""

    def turn(self) -> AbstractContextManager[object]:
        """Threads wait for each other's locks in SQLite."""
        return nullcontext()

    def begin_writing(self, connection: Connection) -> None:
        """Take the lock before reading, so that what is read stays true until the end of the transaction."""
        driver: Any = connection.connection.driver_connection
        driver.execute("BEGIN EXCLUSIVE")

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view."""
        driver: Any = connection.connection.driver_connection
        driver.execute("BEGIN")

    def sync(self, connection: Connection) -> None:
        """There is no disk."""

    def check(self, connection: Connection) -> None:
        """Nobody else can write here."""

    def cause(self, error: BaseException) -> str:
        """Why it failed, in words that hold no data."""
        return type(error).__name__
