"""A ledger in a file: SQLite with a write-ahead log, synced after every commit, before anything is said of it.

What is relied on, and why it is enough: ledger.md, "Durability".
"""

from __future__ import annotations

import ctypes
import errno
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine

from dither.errors import LedgerError

if sys.platform == "darwin":
    import fcntl

__all__ = ["OpenFiles", "SQLiteFile", "made_for_its_owner"]

Identity = tuple[int, int]
"""Device and inode."""

_LISTS: Final = ("/proc/self/fd", "/dev/fd")
"""Where the system lists what this process has open: Linux, and macOS."""

WAIT_SECONDS: Final = 120
"""How long a writer waits for the others."""

_TURN_SECONDS: Final = 1
"""How long a thread waits for the others of its process before it asks SQLite, which makes it sleep and try again."""

_UNSYNCED: Final = "synchronous=NORMAL"
"""A commit gives the lock back at once. It is whole or absent after a power cut, and never there without those before
it; `sync` makes sure of it."""
_SETTINGS: Final = ("fullfsync=ON", "checkpoint_fullfsync=ON", "trusted_schema=OFF")
_COPY_BACK: Final = "PRAGMA wal_checkpoint(PASSIVE)"
"""Copy the log into the file and sync that, as far as no reader needs what was there before; nobody is held up."""
_CAUSES: Final = {
    sqlite3.SQLITE_BUSY: f"another process held it for more than {WAIT_SECONDS} seconds",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check its path and its folder",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a copy",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk reported an error",
    sqlite3.SQLITE_NOTADB: "the file is no ledger of dither; name another file",
    sqlite3.SQLITE_READONLY: "the file or its folder cannot be written",
}
_Result = TypeVar("_Result")
_OPENING = threading.RLock()
"""Held while a connection is opened or closed: no other may free a descriptor whose number the new one then gets."""
if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
    os.register_at_fork(before=_OPENING.acquire, after_in_parent=_OPENING.release, after_in_child=_OPENING.release)


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files that one connection has open, and whether their names still lead to them.

    SQLite opens the ledger, its log (-wal) and the index of the log (-shm) by name, once. If a name leads elsewhere
    later, this connection and the next one that is opened write two logs, each with a budget of its own.
    """

    path: Path
    opened: tuple[Identity | None, ...]

    @classmethod
    def now(cls, path: Path, before: Mapping[int, Identity]) -> OpenFiles:
        """Those that the names lead to, which must be those that were opened since `before`.

        Of the log every connection has a descriptor of its own; the others may be shared within a process. A number
        that was another file's `before` counts as new: a thread may have closed that file meanwhile. Where the system
        lists no descriptors, as on Windows, a file that is open cannot be removed either.
        """
        opened = tuple(identity(each) for each in _names(path))
        listed = open_now()
        if listed is not None:
            own = {found for number, found in listed.items() if before.get(number) != found}
            ledger, log, index = opened
            shared = set(listed.values())
            opened = tuple(
                each if each in has else None for each, has in ((ledger, shared), (log, own), (index, shared))
            )
        return cls(path, opened)

    @property
    def are_in_place(self) -> bool:
        """Whether each name leads to the file that this connection has open."""
        return None not in self.opened and tuple(identity(each) for each in _names(self.path)) == self.opened


def _names(path: Path) -> tuple[str, str, str]:
    return str(path), f"{path}-wal", f"{path}-shm"


def identity(path: str | Path) -> Identity | None:
    """Which file has the name now. It is not opened: to close it again would give up SQLite's locks on it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_now() -> dict[int, Identity] | None:
    """Every descriptor of this process with its file, None if the system does not list them."""
    for place in _LISTS:
        try:
            numbers = [int(name) for name in os.listdir(place)]
        except OSError:
            continue
        return {number: found for number in numbers if (found := _of_descriptor(number)) is not None}
    return None


def _of_descriptor(number: int) -> Identity | None:
    try:
        found = os.fstat(number)
    except OSError:  # closed meanwhile, such as that of the list itself
        return None
    return found.st_dev, found.st_ino


def made_for_its_owner(path: Path) -> None:
    """Make a new, empty file that nobody else may read; SQLite gives its log and the index of the log the same rights.

    One that is there is left as it is: it is not opened, as closing it would give up SQLite's locks on it.
    """
    with suppress(OSError):  # it is there, or SQLite will say what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def is_a_mount_point(path: Path) -> bool:
    """Whether the ledger or its log is mounted by itself, so that its name and that of its log are in two folders.

    One file that is mounted twice, as containers do it, would have two logs. A folder may be mounted as often as one
    likes: the log is in it.
    """
    found = [_mount(name) for name in _names(path)]
    return any(each not in (None, _mount(path.parent)) for each in found)


def _mount(path: str | Path) -> int | None:
    """The mount in which a path lies, None if there is nothing; the device where the system does not number mounts.

    A bind mount has the device of what is mounted. O_PATH looks without opening: closing it gives up no lock.
    """
    try:
        if not hasattr(os, "O_PATH"):
            return os.stat(path).st_dev
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    except (FileNotFoundError, StopIteration):
        return os.fstat(number).st_dev
    finally:
        os.close(number)


class _Connection(sqlite3.Connection):
    """A connection that is left open for good if the names of its files lead elsewhere.

    Closing the last connection copies its log into the ledger, and deletes the log by its name: that of others, here.
    """

    files: OpenFiles | None = None
    log: int | None = None
    """Our own descriptor of the log, to sync it. The system tells each descriptor once that something was lost; it may
    tell that of SQLite when the log is copied back, and SQLite passes over it there."""
    made_up: int = 0
    """After how many failed syncs of this process the log was last copied back by this connection."""

    def close(self) -> None:
        """Close it, unless that would harm the files of others."""
        if self.files is None or self.files.are_in_place:
            with _OPENING:
                self._close_log()
                super().close()
        else:
            _leave_open(self)

    def __del__(self) -> None:
        if self.files is not None and not self.files.are_in_place:
            _leave_open(self)
        else:
            self._close_log()

    def _close_log(self) -> None:
        """SQLite has no lock on the log, so closing one more descriptor of it gives none up."""
        log, self.log = self.log, None
        if log is not None:
            os.close(log)


def _leave_open(connection: _Connection) -> None:
    """One reference that is never given back, so that Python does not close it at its end either."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


@dataclass
class SQLiteFile:
    """The file at `path`, shared by any number of processes and threads of one machine."""

    path: Path
    _inode: Identity | None = field(default=None, init=False)
    _names_are_durable: bool = field(default=False, init=False)
    _failed_syncs: int = field(default=0, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)
    _process: int = field(default_factory=os.getpid, init=False)
    is_a_server: ClassVar = False
    is_durable: ClassVar = True
    readers_hold_up_writers: ClassVar = False

    @property
    def name(self) -> str:
        """For messages."""
        return str(self.path)

    def is_there(self) -> bool:
        """Whether something is in the file."""
        return self.path.exists() and self.path.stat().st_size > 0

    def engine(self) -> Engine:
        """As many connections as there are threads that use them at once; none is shared by two."""
        url = sql.URL.create("sqlite", database=str(self.path))
        # The driver waits a second at a time, so that Ctrl-C is heard; `_patiently` repeats.
        settings = {"timeout": 1, "isolation_level": None, "factory": _Connection}
        engine = sql.create_engine(url, max_overflow=-1, connect_args=settings)
        sql.event.listen(engine, "do_connect", self._connected)
        return engine

    def _connected(self, dialect: Any, _record: Any, arguments: Any, named: Any) -> _Connection:
        """A connection that knows its files. One at a time: what was opened meanwhile is its own."""
        if is_a_mount_point(self.path):
            raise LedgerError(
                f"the ledger {self.name} is mounted as a single file, so that it would have a log of its own in each "
                "place where it is mounted. Mount its folder instead."
            )
        with _OPENING:
            before = open_now() or {}
            made_for_its_owner(self.path)
            connection: _Connection = dialect.connect(*arguments, **named)
            try:
                self._prepare(connection)
                connection.files = OpenFiles.now(self.path, before)
                self._inode = self._inode or self._identity()
                self._check(connection)
                self._open_log(connection)
            except BaseException:
                connection.close()
                raise
        self._names_are_durable = False  # this connection may have created the file or its log
        return connection

    def _prepare(self, connection: _Connection) -> None:
        """Refuse what is no ledger; then open the log."""
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        # Looked at before anything is changed: the file may be somebody else's database.
        tables = _patiently(lambda: connection.execute("SELECT name FROM sqlite_master").fetchall())
        if tables and not any(name.startswith("dither_") for (name,) in tables):
            raise LedgerError(
                f"the SQLite file {self.name} is no ledger of dither. Nothing was changed. Name another file."
            )
        (mode,) = _patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchone())
        if mode != "wal":
            raise LedgerError(
                f"the ledger {self.name} cannot have a write-ahead log where it lies. Put it on a local disk."
            )
        connection.execute(f"PRAGMA {_UNSYNCED}")
        _patiently(lambda: connection.execute("SELECT name FROM sqlite_master").fetchall())  # opens the log's index

    def _open_log(self, connection: _Connection) -> None:
        """Have the log open, to sync it; and copy it back, as far as readers let us.

        A sync may have failed before, of which the system does not tell who opens the log later (`_make_up`).
        """
        assert connection.files is not None
        connection.log = os.open(_names(self.path)[1], os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        if _of_descriptor(connection.log) != connection.files.opened[1]:
            raise self._replaced()
        connection.execute(_COPY_BACK).fetchall()

    def schema(self, connection: Connection, tables: Mapping[str, Collection[str]]) -> None:
        """A file has none."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let the threads of this process write in turn. It is for speed alone: SQLite's lock is what counts."""
        if self._process != os.getpid():  # a thread of the parent may have had its turn at the fork
            self._turn, self._process = threading.Lock(), os.getpid()
        turn = self._turn
        is_ours = turn.acquire(timeout=_TURN_SECONDS)
        try:
            yield
        finally:
            if is_ours:
                turn.release()

    def begin_writing(self, connection: Connection) -> None:
        """Take the lock before reading, so that what is read stays true until the end of the transaction."""
        driver: Any = connection.connection.driver_connection
        if driver.made_up != self._failed_syncs:
            self._make_up(driver)
        _patiently(driver.execute, "BEGIN IMMEDIATE")
        self._check(driver)

    def begin_reading(self, connection: Connection) -> None:
        """One consistent view; writers go on."""
        driver: Any = connection.connection.driver_connection
        _patiently(driver.execute, "BEGIN")
        self._check(driver)

    def sync(self, connection: Connection) -> None:
        """Wait until the log is on disk up to here, this connection's commits and those it saw among it; and its name.

        Nobody is held up meanwhile, and the system lets one sync of the disk serve all who wait. SQLite syncs the
        folder of a new log, but does not look whether that worked. The names must still lead to what was synced.
        """
        driver: Any = connection.connection.driver_connection
        try:
            _sync_file(driver.log)
        except OSError:
            with _OPENING:
                self._failed_syncs += 1
            raise
        if not self._names_are_durable:
            _sync_folder(self.path.parent)
            self._names_are_durable = True
        self._check(driver)

    def _make_up(self, connection: _Connection) -> None:
        """After a failed sync: copy the whole log into the file, and sync that, before anything rests on the log again.

        The system may have dropped what it could not write, and the next sync of the log would not say so.
        """
        failed = self._failed_syncs
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            is_busy, frames, copied = connection.execute(_COPY_BACK).fetchone()
            if not is_busy and frames == copied:
                connection.made_up = failed
                return
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"the disk of the ledger {self.name} reported an error, and its log cannot be copied back, as "
                    "somebody reads it. Nothing was charged. Try again when they have ended."
                )
            time.sleep(0.005)

    def _check(self, connection: Any) -> None:
        """Refuse to go on if a name leads elsewhere than when this connection opened it.

        Else the next process would open another log than this one, and neither would know what the other spends.
        """
        if self._identity() != self._inode or not connection.files.are_in_place:
            raise self._replaced()

    def _replaced(self) -> LedgerError:
        return LedgerError(
            f"the ledger {self.name}, its -wal or its -shm file was moved, replaced or deleted while it was in "
            "use. No answer was given. Put them back and start again."
        )

    def _identity(self) -> Identity | None:
        """Which file has the name now."""
        if (found := identity(self.path)) is not None and os.stat(self.path).st_nlink != 1:
            raise LedgerError(
                f"the ledger {self.name} has several names (hard links), each of which would have a log of its own. "
                "Keep one name; symbolic links are fine."
            )
        return found

    def check(self, connection: Connection) -> None:
        """Pages, types and indexes fit together."""
        for (report,) in connection.exec_driver_sql("PRAGMA integrity_check(1)"):
            if report != "ok":
                raise LedgerError(f"the ledger {self.name} is damaged. Restore it from a copy.")

    def cause(self, error: BaseException) -> str:
        """Why it failed, in words that hold no data."""
        if isinstance(error, UnicodeDecodeError):  # SQLite's own words, with bytes of a damaged schema in them
            return _CAUSES[sqlite3.SQLITE_CORRUPT]
        if isinstance(error, OSError) and error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            return _CAUSES[sqlite3.SQLITE_IOERR if error.errno == errno.EIO else sqlite3.SQLITE_FULL]
        code = getattr(error, "sqlite_errorcode", None)
        return type(error).__name__ if code is None else _CAUSES.get(code & 0xFF, f"SQLite's error {code}")


def _patiently(attempt: Callable[..., _Result], *arguments: str) -> _Result:
    """The result of `attempt`, which is repeated while another process is in the way.

    SQLite's own waiting does not cover everything: the change to a write-ahead log and the repair after a crash give
    up at once.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return attempt(*arguments)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def _sync_file(descriptor: int) -> None:
    """What was written to the file survives a power cut. On macOS an fsync alone does not reach the disk itself."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Files that were created in it survive a power cut."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
