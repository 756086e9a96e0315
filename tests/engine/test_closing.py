"""What is brought to an engine is dropped again, and a dataset is closed when its questions are answered."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import EngineError
from dither.ledger import Ledger
from tests.postgres import fresh_database

_TABLE = pa.table({"city": ["Paris", "Lyon"] * 50, "x": [1.0, 2.0] * 50})
Session = tuple[Any, Callable[[], set[str]]]
"""A table of somebody else's session, and what of ours is there."""


@pytest.fixture
def duckdb_session() -> Iterator[Session]:
    own: Any = ibis.duckdb.connect()
    own.create_table("visits", _TABLE)
    yield own.table("visits"), lambda: _ours(own.con.execute("SELECT table_name FROM duckdb_tables()").fetchall())
    own.disconnect()


@pytest.fixture
def postgres_session(postgres_url: str) -> Iterator[Session]:
    with fresh_database(postgres_url) as database:
        database.run("CREATE TABLE visits AS SELECT 'Paris' AS city, 1::float8 AS x FROM generate_series(1, 100)")
        own: Any = ibis.connect(database.url)
        yield own.table("visits"), lambda: _ours(own.con.execute("SELECT relname FROM pg_class").fetchall())
        own.disconnect()


@pytest.fixture
def spark_session(spark: Any) -> Session:
    def there() -> set[str]:
        return _ours([(row.tableName,) for row in spark.sql("SHOW TABLES").collect()])

    before = there()  # of datasets of other tests that nobody closed
    return spark.createDataFrame(_TABLE), lambda: there() - before


@pytest.fixture(
    params=["duckdb", "postgres", pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.xdist_group("spark")])]
)
def session(request: pytest.FixtureRequest) -> Session:
    found: Session = request.getfixturevalue(f"{request.param}_session")
    return found


def _ours(rows: list[tuple[str]]) -> set[str]:
    return {name for (name,) in rows if "dither" in name}


def _open(source: Any, folder: Path) -> dp.Dataset:
    return dp.Dataset(source, unit=dp.Rows(), budget=dp.PureDP(10**9), ledger=folder / "l", identity="visits")


def _asked(data: dp.Dataset, *keys: str) -> Any:
    return data.group_by("city", keys=list(keys)).agg(n=dp.count())


def test_a_public_table_is_brought_once_and_dropped_when_no_question_names_it(session: Session, tmp_path: Path) -> None:
    source, there = session
    with _open(source, tmp_path) as data:
        held = _asked(data, "Paris", "Nice")
        held.release(epsilon=10**6)
        with_one = there()
        for _ in range(5):
            _asked(data, "Nice", "Rome").release(epsilon=10**6)
        with_two = there()
        assert len(with_two) <= 2 * len(with_one), "the same keys are brought once"
        for number in range(30):
            _asked(data, "Paris", f"city {number}").release(epsilon=10**6)
        gc.collect()
        data.count(epsilon=10**6)
        assert len(there()) <= 30, "of those that no question names, the last eight are there, with a twin each"
        assert held.release(epsilon=10**6).value["n"].to_pylist()[0] >= 50, "its own table is still there"
    assert not there()


def test_what_a_dataset_that_is_gone_brought_is_dropped_by_the_next(session: Session, tmp_path: Path) -> None:
    source, there = session
    data = _open(source, tmp_path)
    _asked(data, "Paris").release(epsilon=10**6)
    engine = weakref.ref(data.origin._source.engine)
    before = there()
    assert before
    data._ours.pop_all()  # nobody closes it, and the ledger goes with it
    data.origin.release_path.ledger.close()
    del data
    gc.collect()
    assert engine() is None
    with _open(source, tmp_path) as other:
        assert not before & there()
        other.count(epsilon=10**6)
    assert not there()


def test_a_dataset_is_closed_after_the_questions_of_other_threads(session: Session, tmp_path: Path) -> None:
    """Between the charge and the question the connection is free: who closed it there took a paid answer away."""
    source, there = session
    book = Ledger(tmp_path / "book")
    data = dp.Dataset(source, unit=dp.Rows(), budget=dp.PureDP(10**9), ledger=book, identity="visits")
    question = _asked(data, "Paris")
    closing = threading.Thread(target=data.close)
    charge, answers = book.charge, list[Any]()

    def closed_meanwhile(*arguments: Any, **options: Any) -> Any:
        paid = charge(*arguments, **options)
        closing.start()
        closing.join(0.5)  # it waits for us; without waiting, it is through by now
        return paid

    book.charge = closed_meanwhile  # type: ignore[method-assign]
    answers.append(question.release(epsilon=10**6).value["n"].to_pylist())
    closing.join()
    assert answers[0][0] >= 50
    assert not there()
    with pytest.raises(EngineError, match=r"was closed, so nothing was charged\. Open it again"):
        question.release(epsilon=10**6)
    with pytest.raises(EngineError, match="was closed"):
        _asked(data, "Nice").release(epsilon=10**6)  # whose keys are not there yet
    data.close()
    account = book.account("visits")
    assert (account.charges, account.failures.unanswered) == (1, 0)
    book.close()


def test_a_frame_in_memory_is_given_back(tmp_path: Path) -> None:
    with _open(_TABLE, tmp_path) as data:
        _asked(data, "Paris").release(epsilon=10**6)
        engine = weakref.ref(data.origin._source.engine)
    del data
    gc.collect()
    assert engine() is None


def test_a_question_about_a_table_that_was_dropped_is_refused_and_free(tmp_path: Path) -> None:
    """As a copy of a question would be, if it did not keep its public table."""
    with _open(_TABLE, tmp_path) as data:
        question = _asked(data, "Paris")
        engine: Any = data.origin._source.engine
        engine._drop(engine._brought.all())
        with pytest.raises(EngineError, match="no longer in the engine, so nothing was charged"):
            question.release(epsilon=10**6)
        assert data.spent["epsilon"] == 0
