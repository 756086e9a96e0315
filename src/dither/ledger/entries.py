"""The entries as one transaction sees them: those in the table, and those that it will append to them at its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from dither.errors import LedgerError
from dither.ledger.entry import BEGINNING, Entry

__all__ = ["TABLES", "Appending", "CommittedEntries", "Heads", "Row", "VisibleEntries", "version_table"]

Row = tuple[Entry, str | None]
"""An entry, and the idempotency key that stands beside it for the index."""

TABLES: Final = sql.MetaData()
version_table: Final = sql.Table("dither_format", TABLES, sql.Column("version", sql.Integer, nullable=False))
_entries = sql.Table(
    "dither_entries",
    TABLES,
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
_NAMES: Final = ("budget", "source")
"""Kinds of entries that may name parts of sources."""
_NAMING: Final = _IN_ORDER.where(_entries.c.kind.in_(_NAMES))
_NAMING_OF_ACCOUNT: Final = _NAMING.where(_ACCOUNT)


@dataclass(frozen=True, slots=True)
class Heads:
    """The entries that hold the state of an account."""

    budget: Entry | None = None
    """What opened it."""
    charge: Entry | None = None
    """Its newest charge."""
    counted: Entry | None = None
    """Its newest attempt, outcome or resume: it holds how many questions have failed."""

    def after(self, entry: Entry) -> Heads:
        """With one more entry of the account."""
        if entry.kind in _COUNTED:
            return replace(self, counted=entry)
        return replace(self, **{entry.kind: entry}) if entry.kind in ("budget", "charge") else self


class VisibleEntries:
    """What every transaction sees."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def last(self) -> Entry | None:
        """The newest entry of all."""
        return _first(self.connection.execute(_NEWEST))

    def holds(self, entry: Entry) -> bool:
        """Whether this very entry is here: its number alone may be another's in another ledger, or after a restore."""
        return _first(self.connection.execute(_NUMBERED, {"number": entry.number})) == entry

    def heads(self, account: str) -> Heads:
        """Those that hold the state of an account."""
        return self._heads(account)[1]

    def _heads(self, account: str) -> tuple[Entry | None, Heads]:
        """The newest entry of all too: one question to the database."""
        found = sorted((_read(row)[0] for row in self.connection.execute(_HEADS, {"account": account})), key=_NUMBER)
        heads = Heads()
        for entry in found:
            if entry.account == account:
                heads = heads.after(entry)
        return found[-1] if found else None, heads

    def keyed(self, kind: str, account: str, key: str) -> Entry | None:
        """The entry of that kind that carries an idempotency key."""
        return _first(self.connection.execute(_KEYED, {"account": account, "kind": kind, "key": key}))

    def naming(self, account: str | None = None) -> list[Entry]:
        """The entries that may name parts of sources: of one account, or of all."""
        if account is None:
            return [_read(row)[0] for row in self.connection.execute(_NAMING)]
        return [_read(row)[0] for row in self.connection.execute(_NAMING_OF_ACCOUNT, {"account": account})]


class CommittedEntries(VisibleEntries):
    """What a transaction sees that only reads."""

    def before(self, entry: Entry) -> Entry | None:
        """The entry before this one."""
        return _first(self.connection.execute(_BEFORE, {"number": entry.number}))

    def youngest_pending(self, account: str, since: int) -> Entry | None:
        """The newest attempt after the entry `since` that has no outcome."""
        return _first(self.connection.execute(_YOUNGEST_PENDING, {"account": account, "since": since}))

    def all(self) -> Generator[Row, None, None]:
        """Every entry in order, as many at a time as fit into memory."""
        streaming = self.connection.execution_options(stream_results=True, max_row_buffer=1000)
        with streaming.execute(_IN_ORDER) as rows:
            yield from map(_read, rows)


class Appending(VisibleEntries):
    """What a transaction sees that no other writer can enter, its own entries among it.

    They are written at its end, all together. What was read once is remembered: nobody else can change it meanwhile.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.forget()

    def forget(self) -> None:
        """Give up all that was read and appended: the transaction is over, and an error may keep this in memory."""
        self._appended: dict[Entry, dict[str, Any]] = {}
        """The rows that will be written."""
        self._keyed: dict[tuple[str, str, str], Entry] = {}
        """Those of them that have a key, by kind, account and key."""
        self._known: dict[str, Heads] = {}
        self._newest: Entry | None = None
        self._is_newest_known = False

    def append(self, kind: str, account: str, body: str, key: str | None = None) -> Entry:
        """Add the entry after the last one. A text that is in no encoding is refused here, not when all are written."""
        last = self.last()
        if last is None:
            number, previous = 1, BEGINNING
        else:
            number, previous = last.number + 1, self._appended[last]["hash"] if last in self._appended else last.hash
        entry = Entry(number, previous, kind, account, body)
        row = _row(entry, key)
        self._appended[entry] = row
        if key is not None:
            self._keyed[kind, account, key] = entry
        self._newest = entry
        if account in self._known:
            self._known[account] = self._known[account].after(entry)
        return entry

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take back what was appended since, if this ends with an error."""
        before = self._appended, self._keyed, self._known, self._newest, self._is_newest_known
        self._appended, self._keyed, self._known = dict(self._appended), dict(self._keyed), dict(self._known)
        try:
            yield
        except BaseException:
            self._appended, self._keyed, self._known, self._newest, self._is_newest_known = before
            raise

    def write(self) -> None:
        """Put into the table what was appended."""
        if self._appended:
            # One statement: many, in a pipeline of the driver, wait for ever where the server is gone.
            self.connection.execute(_APPEND.values(list(self._appended.values())))
            self._appended, self._keyed = {}, {}

    def last(self) -> Entry | None:
        """The newest entry of all."""
        if not self._is_newest_known:
            self._newest, self._is_newest_known = super().last(), True
        return self._newest

    def holds(self, entry: Entry) -> bool:
        """Whether this very entry is here."""
        return entry in self._appended or super().holds(entry)

    def heads(self, account: str) -> Heads:
        """Those that hold the state of an account."""
        if account not in self._known:
            last, heads = self._heads(account)
            if not self._is_newest_known:
                self._newest, self._is_newest_known = last, True
            for entry in self._appended:
                if entry.account == account:
                    heads = heads.after(entry)
            self._known[account] = heads
        return self._known[account]

    def keyed(self, kind: str, account: str, key: str) -> Entry | None:
        """The entry of that kind that carries an idempotency key."""
        return self._keyed.get((kind, account, key)) or super().keyed(kind, account, key)

    def naming(self, account: str | None = None) -> list[Entry]:
        """The entries that may name parts of sources: of one account, or of all."""
        own = (entry for entry in self._appended if entry.kind in _NAMES and account in (None, entry.account))
        return [*super().naming(account), *own]


def _row(entry: Entry, key: str | None) -> dict[str, Any]:
    return {
        "number": entry.number,
        "previous": entry.previous,
        "kind": entry.kind,
        "account": entry.account,
        "body": entry.body,
        "key": key,
        "hash": entry.hash,
    }


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
