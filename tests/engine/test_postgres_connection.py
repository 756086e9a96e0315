"""A connection to PostgreSQL that ends, is shared by threads, or has settings of its own costs no paid answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import EngineError, ParameterError
from dither.ledger import Ledger
from dither.tables.database_engines.postgres import (
    NEWER_SETTINGS,
    SESSION_SETTINGS,
    SETTINGS,
    PostgreSQL,
    _set_if_known,
)
from tests.postgres import Database, fresh_database
from tests.servers import PostgresServer, running_postgres

_VISITS = (
    "CREATE TABLE visits (who bigint, city text, day timestamptz, x float8)",
    "INSERT INTO visits SELECT i % 10, CASE WHEN i % 2 = 0 THEN 'Paris' ELSE 'Lyon' END, "
    "'2024-02-29 23:30-05', i FROM generate_series(1, 100) AS i",
)


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with fresh_database(postgres_url) as fresh:
        fresh.run(*_VISITS)
        yield fresh


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One that may be stopped: no other test uses it."""
    with running_postgres() as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            for statement in _VISITS:
                connection.execute(statement)
        yield running


def _dataset(source: Any, folder: Path, **more: Any) -> dp.Dataset:
    table: dict[str, Any] = {"table": "visits"} if isinstance(source, str) else {"identity": "visits"}
    return dp.Dataset(source, unit=dp.Rows(), budget=dp.PureDP(10**8), ledger=folder / "l", **table, **more)


def _by_city(data: dp.Dataset) -> Any:
    """A question that needs two public tables in the server: keys, and one that is joined."""
    cities = pa.table({"city": ["Paris", "Lyon"], "river": ["Seine", "Rhone"]})
    return data.join(cities, on="city").group_by("river", keys=["Seine", "Rhone"]).agg(n=dp.count())


def _end_others(connection: Any) -> None:
    """As an administrator does, or a firewall."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_a_connection_that_was_ended_costs_no_paid_answer(database: Database, tmp_path: Path) -> None:
    with _dataset(database.url, tmp_path) as data:
        question = _by_city(data)
        for _ in range(3):
            assert question.release(epsilon=10**6).value["n"].to_pylist() == [50, 50]
            _end_others(database.connection)
        assert data.count(epsilon=10**6).value == 100
        assert data.spent["epsilon"] == 4 * 10**6


def test_a_connection_is_opened_with_all_public_tables_or_not_at_all(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two public tables cannot be copied at first, as the server is short of disk."""
    with _dataset(database.url, tmp_path) as data:
        question = _by_city(data)
        assert question.release(epsilon=10**6).value["n"].to_pylist() == [50, 50], "both tables are there"
        copy, left = PostgreSQL._copy, [True, False]

        def short_of_disk(engine: PostgreSQL, name: str, table: pa.Table) -> None:
            if left and not left.pop(0):
                raise psycopg.errors.DiskFull
            copy(engine, name, table)

        monkeypatch.setattr(PostgreSQL, "_copy", short_of_disk)
        _end_others(database.connection)
        with pytest.raises(EngineError, match="so nothing was charged"):
            question.release(epsilon=10**6)
        assert question.release(epsilon=10**6).value["n"].to_pylist() == [50, 50]
        assert data.spent["epsilon"] == 2 * 10**6


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_server_costs_no_paid_answer(server: PostgresServer, tmp_path: Path, mode: str) -> None:
    with _dataset(server.url, tmp_path) as data:
        question = _by_city(data)
        assert question.release(epsilon=10**6).value["n"].to_pylist() == [50, 50]
        server.stop(mode)
        try:
            for _ in range(2):
                with pytest.raises(EngineError, match="so nothing was charged"):
                    question.release(epsilon=10**6)
        finally:
            server.start()
        assert data.spent["epsilon"] == 10**6
        assert question.release(epsilon=10**6).value["n"].to_pylist() == [50, 50]
        assert data.spent["epsilon"] == 2 * 10**6


def test_a_connection_of_others_is_not_opened_again(database: Database, tmp_path: Path) -> None:
    theirs = ibis.connect(database.url)
    with _dataset(theirs.table("visits"), tmp_path) as data:
        assert data.count(epsilon=10**6).value == 100
        _end_others(database.connection)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"nothing was charged\. It is not opened again here"):
                data.count(epsilon=10**6)
        assert data.spent["epsilon"] == 10**6


def test_a_closed_dataset_stays_closed(database: Database, tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "book")) as book:
        data = dp.Dataset(database.url, table="visits", unit=dp.Rows(), budget=dp.PureDP(1), ledger=book)
        data.close()
        with pytest.raises(EngineError, match="was closed, so nothing was charged"):
            data.count(epsilon=1)
        assert data.spent["epsilon"] == 0


@pytest.mark.parametrize("each", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_eight_threads_get_every_answer_they_paid_for(database: Database, tmp_path: Path, each: int) -> None:
    with _dataset(database.url, tmp_path) as data:
        questions = [_by_city(data), data.agg(n=dp.count()), data.group_by("city", keys=["Lyon"]).agg(n=dp.count())]
        expected = [[50, 50], [100], [50]]

        def ask(at: int) -> bool:
            if at % 7 == 0:
                _by_city(data)  # a public table goes to the server while others ask
            answer = questions[at % 3].release(epsilon=1000).value
            return bool(answer["n"].to_pylist() == expected[at % 3])

        with ThreadPoolExecutor(8) as threads:
            right = list(threads.map(ask, range(8 * each)))
        assert all(right)
        assert len(right) == 8 * each
        assert data.spent["epsilon"] == Fraction(8 * each * 1000)


def test_settings_of_the_database_change_no_answer(database: Database, tmp_path: Path) -> None:
    """A zone, a timeout that rows decide about, or texts that a backslash ends early."""
    name = database.url.rpartition("/")[2]
    for setting in (
        "TimeZone = 'Asia/Tokyo'",
        "DateStyle = 'German'",
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "client_encoding = 'LATIN1'",
        "default_transaction_read_only = on",
        "lock_timeout = '1ms'",
    ):
        database.run(f"ALTER DATABASE {name} SET {setting}")
    with _dataset(database.url, tmp_path) as data:
        assert data.where(dp.col("day").month() == 3).count(epsilon=10**6).value == 100
        evil = "\\' OR true OR city = '"
        assert data.where(dp.col("city") == evil).count(epsilon=10**6).value == 0
        keys = ["\u0141\u00f3d\u017a", "Paris", "\\"]
        assert data.group_by("city", keys=keys).agg(n=dp.count()).release(epsilon=10**6).value["n"].to_pylist() == [
            0,
            50,
            0,
        ]


_NOT_OURS = {
    "tcp_user_timeout": "a network that is gone",
    "wal_sender_timeout": "copies of the server",
    "wal_receiver_timeout": "copies of the server",
}


def test_every_timeout_that_a_session_may_have_is_off(database: Database, tmp_path: Path) -> None:
    """Also those of newer servers: a new one that is not thought of fails this test on the version that brings it."""
    pinned = SETTINGS | NEWER_SETTINGS | SESSION_SETTINGS
    listed = database.connection.execute(
        "SELECT name FROM pg_settings WHERE name LIKE '%timeout%' AND context IN ('user', 'superuser')"
    ).fetchall()
    known = {name for (name,) in listed} - _NOT_OURS.keys() - {"deadlock_timeout"}
    assert known <= pinned.keys()
    assert pinned.keys() >= {"transaction_timeout", "idle_session_timeout"}, "of versions 17 and 14"
    name = database.url.rpartition("/")[2]
    for setting in known:
        database.run(f"ALTER DATABASE {name} SET {setting} = '1h'")
    with _dataset(database.url, tmp_path) as data:
        engine: Any = data.origin._source.engine
        _end_others(database.connection)
        engine.ready()  # it connects again, and pins them again
        with engine._transaction("READ ONLY") as connection:
            for setting in known:
                assert connection.execute("SELECT current_setting(%s)", [setting]).fetchone() == ("0",), setting
        assert data.count(epsilon=10**6).value == 100


def test_settings_that_a_server_does_not_know_are_left_out(database: Database) -> None:
    """As transaction_timeout on the versions before 17; one that it knows is set by the same expression."""
    asked = _set_if_known({"no_such_timeout": "0", "idle_session_timeout": "1h"}, locally=True)
    with database.connection.transaction():
        assert database.connection.execute(f"SELECT {', '.join(asked)}").fetchone() == (None, "1h")
        assert database.value("SELECT current_setting('idle_session_timeout')") == "1h"


def test_what_others_write_meanwhile_fails_no_question(database: Database, tmp_path: Path) -> None:
    """A serializable transaction that only reads may fail for it, and whether it does depends on rows."""
    name = database.url.rpartition("/")[2]
    database.run(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with _dataset(database.url, tmp_path) as data:
        engine: Any = data.origin._source.engine
        with engine._transaction("READ ONLY") as connection:
            assert connection.execute("SHOW transaction_isolation").fetchone() == ("read committed",)
        assert data.count(epsilon=10**6).value == 100
    theirs: Any = ibis.connect(database.url)
    with _dataset(theirs.table("visits"), tmp_path) as data, theirs.con.transaction():
        theirs.con.execute("SELECT 1")
        assert data.count(epsilon=10**6).value == 100, "in a transaction of their own"
    theirs.disconnect()


def test_public_tables_that_the_server_does_not_take_are_refused(database: Database, tmp_path: Path) -> None:
    with _dataset(database.url, tmp_path) as data:
        with pytest.raises(ParameterError, match="does not take the public table"):
            data.group_by("city", keys=["Paris\0"]).agg(n=dp.count()).release(epsilon=1)
        with pytest.raises(ParameterError):
            data.where(dp.col("city") == "Paris\0").count(epsilon=1)
        assert data.spent["epsilon"] == 0
        _end_others(database.connection)
        assert _by_city(data).release(epsilon=10**6).value["n"].to_pylist() == [50, 50]


def test_no_timeout_ends_a_question_after_its_charge(database: Database, tmp_path: Path) -> None:
    """How long a question takes depends on rows, and a timeout would tell of them."""
    name = database.url.rpartition("/")[2]
    with _dataset(database.url, tmp_path) as data:
        database.run(
            f"ALTER DATABASE {name} SET statement_timeout = '100ms'",
            "INSERT INTO visits SELECT i, 'Nice', NULL, i FROM generate_series(1, 300000) AS i",
        )
        _end_others(database.connection)
        assert data.agg(n=dp.count_distinct("x")).release(epsilon=10**6).value["n"].to_pylist() == [300_000]
