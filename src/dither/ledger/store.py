"""Where entries lie: one table in SQLite or PostgreSQL, written by one writer at a time.

Only this file speaks SQL. It knows nothing of budgets: it appends rows in a transaction that excludes other writers,
and a transaction that ended is on disk (ledger.md, "Durability").
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dither.errors import LedgerError, ParameterError
from dither.ledger.entry import BEGINNING, Entry

__all__ = ["Store"]

FORMAT = 1
"""The version of the tables. It grows when their meaning changes; newer ones are refused."""

_WAIT_SECONDS = 120
_LOCK = 0x64697468  # "dith": the advisory lock of PostgreSQL that all ledgers of one database share

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
    sql.Index("dither_entries_account", "account", "number"),
    sql.Index("dither_entries_key", "account", "kind", "key", unique=True),
)


class Store:
    """The table of entries at `location`: a path, or a URL that starts with postgresql://."""

    def __init__(self, location: str | os.PathLike[str]) -> None:
        self.url = _url(location)
        self._process = os.getpid()
        self._engine = _engine(self.url)
        with self._speaking():
            self._prepare()

    def _prepare(self) -> None:
        """Create the tables if there are none; refuse a newer format and a database that is something else."""
        with self.writing() as connection:
            present = set(sql.inspect(connection).get_table_names())
            if not present & set(_tables.tables):
                if self._is_file and present:
                    raise LedgerError("this SQLite file is no ledger of dither. Name another file for the ledger.")
                _tables.create_all(connection)
                connection.execute(_format.insert().values(version=FORMAT))
            elif not present >= set(_tables.tables):
                raise LedgerError("the ledger lacks one of its tables. Restore it from a copy.")
            versions = connection.execute(sql.select(_format.c.version)).scalars().all()
        if list(versions) != [FORMAT]:
            newest = max(versions, default=0)
            raise LedgerError(
                f"the ledger has format {newest}, and this version of dither writes format {FORMAT}. "
                "Use the version of dither that wrote it, or a newer one."
            )
        if self._is_file:
            _sync_folder(Path(str(self.url.database)))

    @property
    def _is_file(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer can enter. When it ends without an error, what it wrote is on disk."""
        with self._speaking(), self._connected() as connection, connection.begin():
            if not self._is_file:
                connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view; writers are not held up."""
        with self._speaking(), self._connected() as connection:
            level = {"dither_read_only": True} if self._is_file else {"isolation_level": "REPEATABLE READ"}
            with connection.execution_options(**level).begin():
                yield connection

    def _connected(self) -> Connection:
        if os.getpid() != self._process:  # a connection is never shared with a child
            self._engine, self._process = _engine(self.url), os.getpid()
        return self._engine.connect()

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Errors of the database in our words: theirs may hold values and passwords."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = type(error.orig).__name__ if isinstance(error, DBAPIError) else type(error).__name__
            raise LedgerError(
                f"the ledger at {self.url.render_as_string(hide_password=True)} could not be used ({cause}). "
                "No answer was given. Check that its disk has room, that it can be written, and that its server runs."
            ) from None

    def append(self, connection: Connection, kind: str, account: str, body: str, key: str | None = None) -> Entry:
        """Write the next entry of the chain, inside `writing`."""
        last = self.last(connection)
        entry = Entry(last.number + 1 if last else 1, last.hash if last else BEGINNING, kind, account, body)
        row = {name: getattr(entry, name) for name in ("number", "previous", "kind", "account", "body", "hash")}
        connection.execute(_entries.insert().values(key=key, **row))
        return entry

    def last(self, connection: Connection, account: str | None = None, *kinds: str) -> Entry | None:
        """The newest entry, of one account and of some kinds if they are given."""
        query = _columns().order_by(_entries.c.number.desc()).limit(1)
        if account is not None:
            query = query.where(_entries.c.account == account)
        if kinds:
            query = query.where(_entries.c.kind.in_(kinds))
        return _entry(connection.execute(query).one_or_none())

    def keyed(self, connection: Connection, kind: str, account: str, key: str) -> Entry | None:
        """The entry of that kind that carries an idempotency key."""
        query = _columns().where(_entries.c.account == account, _entries.c.kind == kind, _entries.c.key == key)
        return _entry(connection.execute(query).one_or_none())

    def all(self, connection: Connection) -> Iterator[tuple[Entry, str]]:
        """Every entry in order, with the hash that is written beside it."""
        query = sql.select(*_FIELDS, _entries.c.hash).order_by(_entries.c.number)
        for *row, written in connection.execution_options(stream_results=True, max_row_buffer=1000).execute(query):
            yield Entry(*row), written


_FIELDS = (_entries.c.number, _entries.c.previous, _entries.c.kind, _entries.c.account, _entries.c.body)


def _columns() -> sql.Select[Any]:
    return sql.select(*_FIELDS)


def _entry(row: Any) -> Entry | None:
    return None if row is None else Entry(*row)


def _url(location: str | os.PathLike[str]) -> sql.URL:
    text = os.fspath(location)
    if not text:
        raise ParameterError("ledger must be the path of a file, or a URL that starts with postgresql://.")
    if "://" not in text:
        return sql.URL.create("sqlite", database=str(Path(text).resolve()))
    try:
        url = sql.make_url(text)
    except SQLAlchemyError:
        raise ParameterError(
            "the URL of the ledger cannot be read. Expected postgresql://user@host/database."
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ParameterError(
            f"a ledger lies in a SQLite file or in PostgreSQL, got a URL of the kind {url.get_backend_name()!r}. "
            "Give the path of a file, or postgresql://user@host/database."
        )
    return url.set(drivername="postgresql+psycopg")


def _engine(url: sql.URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sql.create_engine(url, pool_pre_ping=True)
    engine = sql.create_engine(url, connect_args={"timeout": _WAIT_SECONDS, "isolation_level": None})
    sql.event.listen(engine, "connect", _durable)
    sql.event.listen(engine, "begin", _begin)
    return engine


def _durable(connection: Any, _record: Any) -> None:
    """Every commit reaches the disk: the write-ahead log is synced before COMMIT returns (synchronous=FULL)."""
    for setting in ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"):
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Connection) -> None:
    """Writers take the lock before they read, so that what they read stays true until they have written."""
    read_only = connection.get_execution_options().get("dither_read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _sync_folder(path: Path) -> None:
    """A new file survives a power cut only when its folder is on disk too."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
