"""Where entries lie: one table in SQLite or PostgreSQL, written by one writer at a time.

The store knows nothing of budgets. It appends rows in a transaction that excludes other writers, and a transaction
that ended is on disk (ledger.md, "Durability"). What differs between the two databases is in sqlite.py and
postgresql.py.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final, Protocol, TypeVar

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from dither.errors import DitherError, LedgerError, ParameterError
from dither.ledger.entries import TABLES, Appending, CommittedEntries, Row, VisibleEntries, version_table
from dither.ledger.entry import Entry
from dither.ledger.group import Decision, Writers
from dither.ledger.memory import IN_MEMORY, SQLiteMemory
from dither.ledger.postgresql import PostgreSQLDatabase
from dither.ledger.sqlite import SQLiteFile

__all__ = ["Store"]

FORMAT: Final = 3
"""The version of the tables. It grows when their meaning changes; newer ones are refused."""

OLDER: Final = (1, 2)
"""1: without attempts, outcomes and resumes. 2: what was found was on disk, and no budget was renewed. Such a ledger is
read as it is, and gets our number with our first entry."""

_INHERITED: Final[list[Engine]] = []
"""Engines of a parent process. They are never closed here: that would disturb the parent's connections."""


class Place(Protocol):
    """What a database must offer to hold a ledger."""

    is_durable: ClassVar[bool]
    is_a_server: ClassVar[bool]
    readers_hold_up_writers: ClassVar[bool]

    @property
    def name(self) -> str: ...
    def is_there(self) -> bool: ...
    def engine(self) -> Engine: ...
    def schema(self, connection: Connection, tables: Mapping[str, Collection[str]]) -> str | None: ...
    def turn(self) -> AbstractContextManager[object]: ...
    def begin_writing(self, connection: Connection) -> None: ...
    def begin_reading(self, connection: Connection) -> None: ...
    def sync(self, connection: Connection) -> None: ...
    def check(self, connection: Connection) -> None: ...
    def cause(self, error: BaseException) -> str: ...


_OF_THE_DATABASE: Final = (SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError)
"""What a transaction ends with when the database, its disk or its server fails."""

_OF_ONE: Final = (DitherError, ValueError, TypeError, ArithmeticError, LookupError)
"""What one decision is refused with: our rules, and values that nobody thought of. Anything else may be about the
thread that decides for all: its stack, its memory, or a handler of a signal."""

_LIMIT_EXCEEDED: Final = "54"
"""SQLSTATE of PostgreSQL for a value that is too long, which its driver calls an operational error."""

Result = TypeVar("Result")


class _AllRefused(Exception):
    """Nothing was appended: the transaction is taken back, and nothing is synced."""


class _NotTogether(Exception):
    """The database refuses what one of several appended, and does not say which: all of it is taken back."""


class _Inside(LedgerError):
    """A handler of a signal writes inside a transaction of its own thread."""


class Store:
    """The table of entries at `location`: a path, a URL that starts with postgresql://, or ":memory:"."""

    def __init__(self, location: str | os.PathLike[str], *, create: bool = True) -> None:
        self._place = _place(location)
        self.is_durable = self._place.is_durable
        """Whether what is written outlives this process."""
        self._version: int | None = None
        self._schema: str | None = None
        self._process = os.getpid()
        self._engine = self._place.engine()
        self._writing: set[tuple[int, int]] = set()
        """Processes and threads of them that are in a transaction, or about to begin one."""
        self._group, self._group_process = self._writers(), self._process
        try:
            self._prepare(create)
        except BaseException:
            self.close()
            raise

    def _prepare(self, create: bool) -> None:
        """Create the tables if there are none, or refuse to."""
        if create or self._place.is_there():  # to look into a file would make it
            with self.reading() as entries:
                self._version = self._found(entries.connection)
                if self._version is not None:
                    return
        if not create:
            raise LedgerError(f"there is no ledger at {self._place.name}. Check the place; nothing was made there.")
        with self.writing() as entries:
            self._version = self._found(entries.connection)  # another process may have been faster
            if self._version is None:
                TABLES.create_all(self._named(entries.connection), checkfirst=False)
                entries.connection.execute(version_table.insert().values(version=FORMAT))
                self._version = FORMAT

    def _found(self, connection: Connection) -> int | None:
        """The version of the ledger that is there, if one is, and where its tables are."""
        columns = {name: table.columns.keys() for name, table in TABLES.tables.items()}
        self._schema = self._place.schema(connection, columns)
        return _version(self._named(connection), self._schema)

    def _named(self, connection: Connection) -> Connection:
        """A connection whose statements name our tables with their schema."""
        if self._schema is None:
            return connection
        return connection.execution_options(schema_translate_map={None: self._schema})

    def together(self, decide: Callable[[Appending], Result], *, synced: bool = True, size: int = 0) -> Result:
        """What `decide` returns, in a `writing` that it shares with all who wait for one at the same time.

        They decide one after the other. Who is refused takes back its own entries, and nobody else's. `size` is how
        many bytes long the answer is that it stores.
        """
        if self._group_process != os.getpid():  # its threads are the parent's
            self._group, self._group_process = self._writers(), os.getpid()
        return self._group.run(decide, synced, size)

    def _writers(self) -> Writers:
        """Its threads. They do not keep the store: its files are closed when nobody holds it any more."""
        own = weakref.ref(self)

        def commit(decisions: Sequence[Decision]) -> None:
            store = own()
            assert store is not None, "whoever writes holds it"
            store._commit(decisions)

        return Writers(commit)

    def _commit(self, decisions: Sequence[Decision]) -> None:
        """Let each decide, in one transaction. What the database reports is about all of them, unless it is a value."""
        try:
            self._commit_together(decisions)
        except _NotTogether:
            for each in decisions:
                self._commit_alone(each)

    def _commit_together(self, decisions: Sequence[Decision]) -> None:
        synced = any(each.synced for each in decisions)
        with suppress(_AllRefused), self.writing(synced=synced) as entries:
            try:
                appended = [_decided(entries, each) for each in decisions]
                if not any(appended):
                    raise _AllRefused
                entries.write()
            except DBAPIError as error:
                if len(decisions) > 1 and _is_about_a_value(error):
                    raise _NotTogether from None
                raise

    def _commit_alone(self, decision: Decision) -> None:
        try:
            self._commit_together([decision])
        except _Inside:
            raise
        except LedgerError as refusal:
            decision.refusal = refusal

    @contextmanager
    def writing(self, *, synced: bool = True) -> Iterator[Appending]:
        """A transaction that no other writer can enter. When this ends without an error, what it wrote is on disk, and
        so is all that it read.

        The others may enter when it is committed, and it is synced only then: one sync serves all who wait for one
        (ledger.md, "Group commit"). So what a transaction reads need not be on disk yet, and nothing is said of it
        before this has ended. If it is not `synced`, a power cut may take it back, with all that was written after it
        and is not synced.

        A handler of a signal that comes inside the transaction of its own thread cannot wait for that, and is refused.
        """
        here = os.getpid(), threading.get_ident()
        if here in self._writing:
            raise _Inside(
                "this thread is writing into the ledger already, and a handler of a signal, or a decision about an "
                "entry, cannot write inside of that. Nothing was written. Let the handler set a flag, and write later."
            )
        entries: Appending | None = None
        try:
            self._writing.add(here)
            with self._errors_in_our_words():
                with self._connected() as connection:
                    with self._place.turn(), connection.begin():
                        self._place.begin_writing(connection)
                        is_older = self._version in OLDER
                        if is_older:  # from now on it may hold what an older dither does not know
                            connection.execute(
                                version_table.update().where(version_table.c.version < FORMAT).values(version=FORMAT)
                            )
                        entries = Appending(self._named(connection))
                        yield entries
                        entries.write()
                        newest = entries.last() if synced and self._place.is_a_server else None
                    self._writing.discard(here)
                    if synced:
                        self._sync(self._named(connection), newest)
                if is_older:
                    self._version = FORMAT
        finally:
            self._writing.discard(here)
            if entries is not None:
                entries.forget()

    @contextmanager
    def reading(self, *, synced: bool = False) -> Iterator[CommittedEntries]:
        """A consistent view; writers are not held up.

        If it is `synced`, what was seen is on disk when this ends, but for outcomes that nobody syncs: else a power cut
        may take back the newest of it.
        """
        with self._errors_in_our_words(), self._connected() as connection:
            with connection.begin():
                self._place.begin_reading(connection)
                entries = CommittedEntries(connection)
                yield entries
                newest = entries.last() if synced else None
            if synced:
                self._sync(connection, newest)

    def _sync(self, connection: Connection, newest: Entry | None) -> None:
        """Have what was seen on disk, up to the `newest` entry.

        A server may have crashed since, and forgotten it; then our connection is gone, but a proxy in between may have
        made another. So who syncs looks whether it is still there.
        """
        with connection.begin():
            self._place.sync(connection)
            if newest is not None and not VisibleEntries(connection).holds(newest):
                raise LedgerError(
                    f"the server of the ledger {self._place.name} was started anew and has lost an entry that was not "
                    "on its disk yet. No answer was given. Ask again."
                )

    def close(self) -> None:
        """Give back the connections of this process."""
        if os.getpid() == self._process:
            self._engine.dispose()

    def _connected(self) -> Connection:
        if os.getpid() != self._process:  # a connection is never shared with a child
            _INHERITED.append(self._engine)
            self._engine, self._process = self._place.engine(), os.getpid()
        return self._named(self._engine.connect())

    @contextmanager
    def _errors_in_our_words(self) -> Iterator[None]:
        """Errors of the database in our words: theirs may hold values and passwords."""
        try:
            yield
        except _OF_THE_DATABASE as error:
            original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            raise LedgerError(
                f"the ledger {self._place.name} could not be used: {self._place.cause(original)}. No answer was given."
            ) from None

    @contextmanager
    def all(self) -> Iterator[Iterator[Row]]:
        """Every entry in order, after a check of what lies below the rows."""
        with ExitStack() as opened:
            entries = opened.enter_context(self.reading())
            self._place.check(entries.connection)
            rows: Iterator[Row] = opened.enter_context(closing(entries.all()))
            if self._place.readers_hold_up_writers:  # who looks at each entry may write the next
                rows = iter(list(rows))
                opened.close()
            yield rows


def _decided(entries: Appending, own: Decision) -> bool:
    """Whether it appended, or may have."""
    decide = own.decide
    if decide is None:  # its thread was interrupted, and waits no more
        return False
    own.result = own.refusal = None
    try:
        with entries.all_or_nothing():
            own.result = decide(entries)
    except (*_OF_THE_DATABASE, _Inside):
        raise
    except _OF_ONE as refusal:
        own.refusal = refusal
        if own.thread != threading.get_ident():
            _forget_frames(refusal)
        return False
    return True


def _forget_frames(error: BaseException | None) -> None:
    """Its traceback leads to the frames of the thread that decided, and so to what another analyst asked."""
    while error is not None:
        error.__traceback__, error = None, error.__context__


def _is_about_a_value(error: DBAPIError) -> bool:
    """Whether the database refuses what is to be written, and works."""
    state = getattr(error.orig, "sqlstate", None) or ""
    return isinstance(error, DataError | IntegrityError) or state.startswith(_LIMIT_EXCEEDED)


def _version(connection: Connection, schema: str | None) -> int | None:
    """The format of the ledger, None if there are no tables yet; parts of a ledger and newer ledgers are refused."""
    present = set(sql.inspect(connection).get_table_names(schema)) & set(TABLES.tables)
    if not present:
        return None
    if present != set(TABLES.tables):
        raise LedgerError(
            f"the ledger lacks one of its tables, as there is only {' and '.join(sorted(present))}. Restore it from a "
            "copy; or rename that one, if dither did not make it."
        )
    versions = list(connection.execute(sql.select(version_table.c.version)).scalars())
    if versions not in [[each] for each in (*OLDER, FORMAT)]:
        raise LedgerError(
            f"the ledger has the format {' and '.join(map(str, versions)) or 'none'}, and this version of dither "
            f"knows formats up to {FORMAT}. Use the version of dither that wrote it, or a newer one."
        )
    return int(versions[0])


def _place(location: object) -> Place:
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\x00" in text:
        raise ParameterError(
            "ledger must be the path of a file, or a URL that starts with postgresql://; for tests, ':memory:'."
        )
    if text == IN_MEMORY:
        return SQLiteMemory()
    if "://" not in text:
        return SQLiteFile(Path(text).resolve())
    try:
        url = sql.make_url(text)
    except (SQLAlchemyError, ValueError):
        raise ParameterError(
            "the URL of the ledger cannot be read. Expected postgresql://user@host/database."
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ParameterError(
            f"a ledger lies in a SQLite file or in PostgreSQL, got a URL of the kind {url.get_backend_name()!r}. "
            "Give the path of a file, or postgresql://user@host/database."
        )
    return PostgreSQLDatabase(url.set(drivername="postgresql+psycopg"))
