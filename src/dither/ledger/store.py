"""Where entries lie: one table in SQLite or PostgreSQL, written by one writer at a time.

The store knows nothing of budgets. It appends rows in a transaction that excludes other writers, and a transaction
that ended is on disk (ledger.md, "Durability"). What differs between the two databases is in sqlite.py and
postgresql.py.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dither.errors import LedgerError, ParameterError
from dither.ledger.entry import BEGINNING, Entry
from dither.ledger.memory import IN_MEMORY, SQLiteMemory
from dither.ledger.postgresql import PostgreSQLDatabase
from dither.ledger.sqlite import SQLiteFile

__all__ = ["Heads", "Row", "Store"]

FORMAT: Final = 3
"""The version of the tables. It grows when their meaning changes; newer ones are refused."""

OLDER: Final = (1, 2)
"""1: without attempts, outcomes and resumes. 2: what was found was on disk, and no budget was renewed. Such a ledger is
read as it is, and gets our number with our first entry."""

Row = tuple[Entry, str | None]
"""An entry, and the idempotency key that stands beside it for the index."""

_tables = sql.MetaData()
_format = sql.Table("dither_format", _tables, sql.Column("version", sql.Integer, nullable=False))
_entries = sql.Table(
    "dither_entries",
    _tables,
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("previous", sql.Text, nullable=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("account", sql.Text, nullable=False),
    sql.Column("body", sql.Text, nullable=False),
    sql.Column("key", sql.Text, nullable=True),
    sql.Column("hash", sql.Text, nullable=False),
    sql.Index("dither_entries_account", "account", "kind", "number"),
    sql.Index("dither_entries_key", "account", "kind", "key", unique=True),
)
_COLUMNS: Final = [_entries.c[name] for name in ("number", "previous", "kind", "account", "body", "key", "hash")]
_ACCOUNT: Final = _entries.c.account == sql.bindparam("account")
_APPEND: Final = _entries.insert()
_IN_ORDER: Final = sql.select(*_COLUMNS).order_by(_entries.c.number)
_NEWEST: Final = sql.select(*_COLUMNS).order_by(_entries.c.number.desc()).limit(1)
_NUMBERED: Final = sql.select(*_COLUMNS).where(_entries.c.number == sql.bindparam("number"))
_BEFORE: Final = _NEWEST.where(_entries.c.number < sql.bindparam("number"))
_NUMBER: Final = attrgetter("number")
_COUNTED: Final = ("attempt", "outcome", "resume")
"""Kinds of entries that hold how many questions have failed."""
_HEADS: Final = sql.select(*_COLUMNS).where(
    _entries.c.number.in_(
        sql.select(sql.func.max(_entries.c.number)).where(*of).scalar_subquery()
        for of in [(), *((_ACCOUNT, _entries.c.kind == kind) for kind in ("budget", "charge", *_COUNTED))]
    )
)
_KEYED: Final = sql.select(*_COLUMNS).where(
    _ACCOUNT, _entries.c.kind == sql.bindparam("kind"), _entries.c.key == sql.bindparam("key")
)
_outcomes = _entries.alias()
_YOUNGEST_PENDING: Final = _NEWEST.where(
    _ACCOUNT,
    _entries.c.kind == "attempt",
    _entries.c.number > sql.bindparam("since"),
    ~sql.exists().where(
        _outcomes.c.account == _entries.c.account,
        _outcomes.c.kind == "outcome",
        _outcomes.c.key == sql.cast(_entries.c.number, sql.Text),
    ),
)
_NAMING: Final = _IN_ORDER.where(_entries.c.kind.in_(["budget", "source"]))
_NAMING_OF_ACCOUNT: Final = _NAMING.where(_ACCOUNT)
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


@dataclass(frozen=True, slots=True)
class Heads:
    """Where the next entry of an account goes on from."""

    last: Entry | None
    """The newest entry of all."""
    budget: Entry | None
    """What opened the account."""
    charge: Entry | None
    """Its newest charge."""
    counted: Entry | None
    """Its newest attempt, outcome or resume: it holds how many questions have failed."""


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
        try:
            self._prepare(create)
        except BaseException:
            self.close()
            raise

    def _prepare(self, create: bool) -> None:
        """Create the tables if there are none, or refuse to."""
        if create or self._place.is_there():  # to look into a file would make it
            with self.reading() as connection:
                self._version = self._found(connection)
                if self._version is not None:
                    return
        if not create:
            raise LedgerError(f"there is no ledger at {self._place.name}. Check the place; nothing was made there.")
        with self.writing() as connection:
            self._version = self._found(connection)  # another process may have been faster
            if self._version is None:
                _tables.create_all(self._named(connection), checkfirst=False)
                connection.execute(_format.insert().values(version=FORMAT))
                self._version = FORMAT

    def _found(self, connection: Connection) -> int | None:
        """The version of the ledger that is there, if one is, and where its tables are."""
        columns = {name: table.columns.keys() for name, table in _tables.tables.items()}
        self._schema = self._place.schema(connection, columns)
        return _version(self._named(connection), self._schema)

    def _named(self, connection: Connection) -> Connection:
        """A connection whose statements name our tables with their schema."""
        if self._schema is None:
            return connection
        return connection.execution_options(schema_translate_map={None: self._schema})

    @contextmanager
    def writing(self, *, synced: bool = True) -> Iterator[Connection]:
        """A transaction that no other writer can enter. When this ends without an error, what it wrote is on disk, and
        so is all that it read.

        The others may enter when it is committed, and it is synced only then: one sync serves all who wait for one
        (ledger.md, "Group commit"). So what a transaction reads need not be on disk yet, and nothing is said of it
        before this has ended. If it is not `synced`, a power cut may take it back, with all that was written after it
        and is not synced.
        """
        with self._errors_in_our_words():
            with self._connected() as connection:
                with self._place.turn(), connection.begin():
                    self._place.begin_writing(connection)
                    is_older = self._version in OLDER
                    if is_older:  # from now on it may hold what an older dither does not know
                        connection.execute(_format.update().where(_format.c.version < FORMAT).values(version=FORMAT))
                    yield connection
                    newest = self.last(self._named(connection)) if synced and self._place.is_a_server else None
                if synced:
                    self._sync(self._named(connection), newest)
            if is_older:
                self._version = FORMAT

    @contextmanager
    def reading(self, *, synced: bool = False) -> Iterator[Connection]:
        """A consistent view; writers are not held up.

        If it is `synced`, what was seen is on disk when this ends, but for outcomes that nobody syncs: else a power cut
        may take back the newest of it.
        """
        with self._errors_in_our_words(), self._connected() as connection:
            with connection.begin():
                self._place.begin_reading(connection)
                yield connection
                newest = self.last(connection) if synced else None
            if synced:
                self._sync(connection, newest)

    def _sync(self, connection: Connection, newest: Entry | None) -> None:
        """Have what was seen on disk, up to the `newest` entry.

        A server may have crashed since, and forgotten it; then our connection is gone, but a proxy in between may have
        made another. So who syncs looks whether it is still there.
        """
        with connection.begin():
            self._place.sync(connection)
            if newest is not None and not self.holds(connection, newest):
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
        except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
            original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            raise LedgerError(
                f"the ledger {self._place.name} could not be used: {self._place.cause(original)}. No answer was given."
            ) from None

    def append(
        self, connection: Connection, last: Entry | None, kind: str, account: str, body: str, key: str | None = None
    ) -> Entry:
        """Write the entry after `last`, inside the `writing` in which it was found to be the newest."""
        entry = Entry(last.number + 1 if last else 1, last.hash if last else BEGINNING, kind, account, body)
        connection.execute(_APPEND, {"key": key, "hash": entry.hash, **asdict(entry)})
        return entry

    def last(self, connection: Connection) -> Entry | None:
        """The newest entry of all."""
        return _first(connection.execute(_NEWEST))

    def before(self, connection: Connection, entry: Entry) -> Entry | None:
        """The entry before this one."""
        return _first(connection.execute(_BEFORE, {"number": entry.number}))

    def holds(self, connection: Connection, entry: Entry) -> bool:
        """Whether this very entry is here: its number alone may be another's in another ledger, or after a restore."""
        return _first(connection.execute(_NUMBERED, {"number": entry.number})) == entry

    def heads(self, connection: Connection, account: str) -> Heads:
        """The newest entry of all, and those that hold the state of an account: one question to the database."""
        found = [_read(row)[0] for row in connection.execute(_HEADS, {"account": account})]
        last = max(found, key=_NUMBER, default=None)
        of = {(entry.account, entry.kind): entry for entry in found}
        counted = [entry for entry in found if entry.account == account and entry.kind in _COUNTED]
        newest = max(counted, key=_NUMBER, default=None)
        return Heads(last, of.get((account, "budget")), of.get((account, "charge")), newest)

    def keyed(self, connection: Connection, kind: str, account: str, key: str) -> Entry | None:
        """The entry of that kind that carries an idempotency key."""
        return _first(connection.execute(_KEYED, {"account": account, "kind": kind, "key": key}))

    def youngest_pending(self, connection: Connection, account: str, since: int) -> Entry | None:
        """The newest attempt after the entry `since` that has no outcome."""
        return _first(connection.execute(_YOUNGEST_PENDING, {"account": account, "since": since}))

    def naming(self, connection: Connection, account: str | None = None) -> list[Entry]:
        """The entries that may name parts of sources: of one account, or of all."""
        if account is None:
            return [_read(row)[0] for row in connection.execute(_NAMING)]
        return [_read(row)[0] for row in connection.execute(_NAMING_OF_ACCOUNT, {"account": account})]

    @contextmanager
    def all(self) -> Iterator[Iterator[Row]]:
        """Every entry in order, after a check of what lies below the rows."""
        with ExitStack() as opened:
            connection = opened.enter_context(self.reading())
            self._place.check(connection)
            streaming = connection.execution_options(stream_results=True, max_row_buffer=1000)
            rows: Iterable[Any] = opened.enter_context(streaming.execute(_IN_ORDER))
            if self._place.readers_hold_up_writers:  # who looks at each entry may write the next
                rows = list(rows)
                opened.close()
            yield map(_read, rows)


def _first(rows: sql.CursorResult[Any]) -> Entry | None:
    row = rows.first()
    return None if row is None else _read(row)[0]


def _read(row: Any) -> Row:
    """An entry whose hash is the one that was written with it. SQLite would give any type in any column."""
    number, *texts, key, written = row
    if type(number) is not int or not all(type(text) is str for text in (*texts, written)) or type(key) is bytes:
        raise LedgerError("the ledger holds a row that dither did not write. Restore it from a copy.")
    entry = Entry(number, *texts)
    if entry.hash != written:
        raise LedgerError(f"entry {number} of the ledger was changed: its hash does not fit. Restore it from a copy.")
    return entry, key


def _version(connection: Connection, schema: str | None) -> int | None:
    """The format of the ledger, None if there are no tables yet; parts of a ledger and newer ledgers are refused."""
    present = set(sql.inspect(connection).get_table_names(schema)) & set(_tables.tables)
    if not present:
        return None
    if present != set(_tables.tables):
        raise LedgerError(
            f"the ledger lacks one of its tables, as there is only {' and '.join(sorted(present))}. Restore it from a "
            "copy; or rename that one, if dither did not make it."
        )
    versions = list(connection.execute(sql.select(_format.c.version)).scalars())
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
