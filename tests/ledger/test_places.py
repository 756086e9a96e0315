"""Files and databases that are no ledgers, are newer, cannot be written, or change under one's hands."""

import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

import dither as dp
from dither.errors import LedgerError, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Ledger, postgresql, sqlite

EVENT = LaplaceNoise(Fraction(2))


def opened(location: str | Path) -> Ledger:
    ledger = Ledger(location)
    ledger.open_account("visits", dp.PureDP(1))
    return ledger


def test_a_connection_syncs_the_log_itself_and_lets_sqlite_sync_what_it_copies_back(folder: Path) -> None:
    """What is synced when: test_group_commit.py."""
    ledger = opened(folder / "test.ledger")
    with ledger._store.reading() as entries:
        settings = [
            entries.connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "fullfsync")
        ]
    assert settings == ["wal", 1, 1]
    ledger.close()


def test_a_new_ledger_is_for_its_owner_alone(folder: Path) -> None:
    """It holds questions, names and answers; whoever shared a ledger with others before goes on sharing it."""
    before = os.umask(0o022)
    try:
        ledger = opened(folder / "test.ledger")
        rights = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert rights == dict.fromkeys(["test.ledger", "test.ledger-wal", "test.ledger-shm"], 0o600)
        ledger.close()
        (folder / "test.ledger").chmod(0o640)
        ledger = opened(folder / "test.ledger")
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o640}
        ledger.close()
    finally:
        os.umask(before)


def test_somebody_elses_database_is_left_alone(folder: Path) -> None:
    with sqlite3.connect(folder / "theirs.db") as theirs:
        theirs.execute("CREATE TABLE patients (name)")
    theirs.close()
    before = (folder / "theirs.db").read_bytes()
    with pytest.raises(LedgerError, match=r"no ledger of dither\. Nothing was changed"):
        Ledger(folder / "theirs.db")
    assert (folder / "theirs.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["theirs.db"]


@pytest.mark.parametrize("content", [b"name,age\nAda,36\n" * 100, b"PAR1" * 500, b"SQLite format 3\x00" + b"x" * 4080])
def test_a_file_that_is_no_database(folder: Path, content: bytes) -> None:
    (folder / "visits.csv").write_bytes(content)
    with pytest.raises(LedgerError, match=r"no ledger of dither|damaged") as caught:
        Ledger(folder / "visits.csv")
    assert "Ada" not in str(caught.value)
    assert (folder / "visits.csv").read_bytes() == content


def test_a_folder_and_a_missing_folder(folder: Path) -> None:
    for path in (folder, folder / "missing" / "test.ledger"):
        with pytest.raises(LedgerError, match="cannot be opened; check its path"):
            Ledger(path)


def test_a_newer_ledger_is_left_alone(location: str) -> None:
    ledger = opened(location)
    with ledger._store._engine.connect() as connection:
        connection.exec_driver_sql("UPDATE dither_format SET version = 4")
        connection.commit()
    ledger.close()
    with pytest.raises(LedgerError, match=r"has the format 4, and this version of dither knows formats up to 3\. Use"):
        Ledger(location)


def test_a_ledger_without_one_of_its_tables(location: str) -> None:
    ledger = opened(location)
    with ledger._store._engine.connect() as connection:
        connection.exec_driver_sql("DROP TABLE dither_entries")
        connection.commit()
    ledger.close()
    with pytest.raises(LedgerError, match="lacks one of its tables"):
        Ledger(location)


@pytest.mark.parametrize(
    "location", ["", "a\x00b", 7, None, b"x", "mysql://host/db", "sqlite:///x.db", "://", "file:///x"]
)
def test_what_is_no_place_for_a_ledger(location: Any) -> None:
    with pytest.raises(ParameterError, match="ledger"):
        Ledger(location)


def test_hard_links_are_refused_and_symbolic_ones_lead_to_one_ledger(folder: Path) -> None:
    """Two names by hard links would have two logs for one file."""
    ledger = opened(folder / "one.ledger")
    (folder / "two.ledger").symlink_to("one.ledger")
    other = Ledger(folder / "two.ledger")
    other.charge("visits", EVENT, dp.PureDP(1), "how many?")
    assert ledger.account("visits").charges == 1
    ledger.close()
    other.close()
    os.link(folder / "one.ledger", folder / "three.ledger")
    with pytest.raises(LedgerError, match="hard links"):
        Ledger(folder / "three.ledger")


@pytest.mark.parametrize("gone", ["test.ledger", "test.ledger-wal"])
def test_a_ledger_that_is_deleted_while_it_is_open(folder: Path, gone: str) -> None:
    """A charge that went to a file without a name is none."""
    ledger = opened(folder / "test.ledger")
    (folder / gone).unlink()
    with pytest.raises(LedgerError, match=r"deleted while it was in use\. No answer"):
        ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
    ledger.close()


@pytest.mark.parametrize("content", [None, b""])
def test_to_look_for_a_ledger_makes_none(content: bytes | None, folder: Path) -> None:
    place = folder / "elsewhere.ledger"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(LedgerError, match="nothing was made there"):
        Ledger(place, create=False)
    assert [path.read_bytes() for path in folder.glob("elsewhere*")] == ([] if content is None else [content])


def test_a_ledger_that_is_replaced_while_it_is_open(folder: Path) -> None:
    ledger = opened(folder / "test.ledger")
    shutil.copy(folder / "test.ledger", folder / "copy")
    os.replace(folder / "copy", folder / "test.ledger")
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
    ledger.close()


def test_a_ledger_that_cannot_be_written(folder: Path) -> None:
    """Tried by a process without privileges: root may write anything."""
    ledger = opened(folder / "test.ledger")
    ledger.close()
    (folder / "test.ledger").chmod(0o444)
    folder.chmod(0o555)
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            Ledger(folder / "test.ledger").charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
        except BaseException as error:
            os.write(say, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(say)
    os.waitpid(child, 0)
    with os.fdopen(hear) as heard:
        said = heard.read()
    folder.chmod(0o755)
    assert said.startswith("LedgerError: the ledger")
    assert "could not be used: the file" in said


def test_a_writer_waits_for_others_and_then_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(folder / "test.ledger")
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", -1)
    with sqlite3.connect(folder / "test.ledger", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another process held it"):
            ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
        assert ledger.account("visits").charges == 0, "readers do not wait"
        other.execute("ROLLBACK")
    other.close()
    ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
    assert ledger.verify() == 2
    ledger.close()


def test_postgresql_waits_for_the_disk_whatever_its_default(database: str) -> None:
    engine = sql.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        connection.exec_driver_sql("ALTER DATABASE ledger SET synchronous_commit = off")
        connection.exec_driver_sql("ALTER DATABASE ledger SET default_transaction_isolation = 'serializable'")
        connection.commit()
    engine.dispose()
    ledger = opened(database)
    asked = "SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')"
    with ledger._store.writing() as entries:
        assert tuple(entries.connection.exec_driver_sql(asked).one()) == ("off", "read committed"), "the sync waits"
    for default, synced in (("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")):
        with ledger._store._engine.begin() as connection:
            connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {default}")
            connection.exec_driver_sql(postgresql._SYNC)
            assert connection.exec_driver_sql(asked).one()[0] == synced
    with ledger._store.reading() as entries:
        assert entries.connection.exec_driver_sql(asked).one()[1] == "repeatable read"
    ledger.close()


@pytest.mark.parametrize(("fsync", "encoding"), [("off", "UTF8"), ("on", "LATIN1")])
def test_postgresql_must_sync_and_know_every_letter(fsync: str, encoding: str) -> None:
    class Answer:
        def __enter__(self) -> "Answer":
            return self

        def __exit__(self, *_: object) -> None: ...
        def cursor(self) -> "Answer":
            return self

        def execute(self, _: str) -> None: ...
        def rollback(self) -> None: ...
        def fetchone(self) -> tuple[str, str]:
            return fsync, encoding

    place = postgresql.PostgreSQLDatabase(sql.make_url("postgresql://ada:secret@host/db"))
    with pytest.raises(LedgerError, match=r"fsync=off|UTF8") as caught:
        place._connected(Answer(), None)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_down_and_a_lock_that_is_held(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LedgerError, match=r"could not be used: OperationalError\. No answer") as caught:
        Ledger("postgresql://ada:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(caught.value)
    ledger, other = opened(database), Ledger(database)
    monkeypatch.setattr(postgresql, "_WAIT_SECONDS", 0.05)
    with other._store.writing(), pytest.raises(LedgerError, match="could not be used"):
        ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
    assert ledger.verify() == 1
    ledger.close()
    other.close()
