"""The release path: what is written before data is read, and what is said when something fails."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sql
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.engine.dataset import Dataset
from dither.errors import EngineError, LedgerError, OverBudget, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Ledger
from dither.ledger.entry import named_parts
from dither.release import ReleasePath
from dither.unit import Rows
from tests.ledger.faults import quick_folder

EVENT, COST = LaplaceNoise(Fraction(4)), dp.PureDP("0.25")


class Exact:
    """An exact aggregate that can be looked at: whether it was opened, and what was in the ledger then."""

    def __init__(self, release_path: ReleasePath, value: int = 7) -> None:
        self.release_path, self.value = release_path, value
        self.charges_when_opened: list[int] = []

    def _rehearse(self) -> None: ...

    def _open(self) -> Iterator[pa.RecordBatch]:
        other = Ledger(self.release_path.ledger._store._place.name)  # as another process would see it
        self.charges_when_opened.append(other.account(self.release_path.account).charges)
        other.close()
        yield pa.record_batch({"n": [self.value]})


def drawn(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
    table = pa.Table.from_batches(list(batches[0]))
    return table.append_column("noise", pa.array([os.urandom(8).hex()]))


@pytest.fixture
def release_path(folder: Path) -> Iterator[ReleasePath]:
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1))
    yield ReleasePath(ledger, "visits")
    ledger.close()


def ask(
    release_path: ReleasePath, exact: Any, draw: Callable[..., pa.Table] = drawn, key: str | None = None, **other: Any
) -> pa.Table:
    asked = {"event": EVENT, "cost": COST, "question": "how many?", **other}
    return release_path.release(**asked, exact=[exact], draw=draw, key=key)[0]


def test_d55_the_charge_is_there_before_data_is_read(release_path: ReleasePath) -> None:
    exact = Exact(release_path)
    ask(release_path, exact)
    ask(release_path, exact)
    assert exact.charges_when_opened == [1, 2]
    assert [entry.content["cost"] for entry in release_path.ledger.entries() if entry.kind == "charge"] == [
        '{"dither_event":1,"kind":"Stated","measure":"PureDP","values":["1/4"]}'
    ] * 2


def test_what_is_refused_reads_no_data(release_path: ReleasePath) -> None:
    exact = Exact(release_path)
    with pytest.raises(OverBudget, match=r"costs epsilon 2 .* only 1 .* of 1"):
        ask(release_path, exact, cost=dp.PureDP(2))
    with pytest.raises(ParameterError):
        ask(release_path, exact, question=7)
    with pytest.raises(LedgerError, match="no budget"):
        ask(ReleasePath(release_path.ledger, "sales"), exact)
    assert exact.charges_when_opened == []
    assert release_path.ledger.verify() == 1


def failing(error: BaseException) -> Callable[..., pa.Table]:
    def draw(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        list(batches[0])
        raise error

    return draw


@pytest.mark.parametrize("key", [None, "k"], ids=["without a key", "with a key"])
def test_d52_no_refund_and_one_error_for_all_failures(release_path: ReleasePath, key: str | None) -> None:
    """The source is gone, a value of a person is in the words, memory is short: the same is said, and nothing more."""
    release_path = ReleasePath(release_path.ledger, "four may fail")
    release_path.ledger.open_account("four may fail", dp.PureDP(1), failures_allowed=4)
    causes = [EngineError("duckdb could not answer"), ValueError("Ada, 36"), MemoryError(), pa.ArrowInvalid("36")]
    said = set()
    for number, cause in enumerate(causes):
        with pytest.raises(EngineError) as caught:
            ask(release_path, Exact(release_path), failing(cause), key and f"{key}{number}")
        assert release_path.ledger.account(release_path.account).failures.failed == number + 1
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None, "an error must not carry another one that may hold data"
        said.add((type(caught.value), str(caught.value)))
    assert len(said) == 1
    assert "charged stays charged" in said.pop()[1]
    assert release_path.ledger.account("four may fail").spent == {"epsilon": 1, "delta": 0}
    with pytest.raises(OverBudget):
        ask(release_path, Exact(release_path))


@pytest.mark.parametrize(
    "cause", [KeyboardInterrupt(), SystemExit(), GeneratorExit()], ids=lambda each: type(each).__name__
)
def test_d52_a_cancelled_question_is_not_refunded(release_path: ReleasePath, cause: BaseException) -> None:
    with pytest.raises(type(cause)):
        ask(release_path, Exact(release_path), failing(cause), "k")
    assert release_path.ledger.account("visits").charges == 1
    answer = ask(release_path, Exact(release_path), key="k")
    assert release_path.ledger.account("visits").charges == 1, "nothing had been said under this key"
    assert ask(release_path, Exact(release_path), key="k") == answer


def test_d54_data_that_changed_is_asked_and_charged_anew(release_path: ReleasePath) -> None:
    first, second = ask(release_path, Exact(release_path, 7)), ask(release_path, Exact(release_path, 8))
    assert (first["n"][0].as_py(), second["n"][0].as_py()) == (7, 8)
    assert first["noise"] != second["noise"]
    assert release_path.ledger.account("visits").charges == 2


def test_d53_the_same_key_gives_the_same_bytes_and_reads_nothing(release_path: ReleasePath) -> None:
    first = ask(release_path, Exact(release_path, 7), key="k")
    changed = Exact(release_path, 8)
    again = ask(release_path, changed, key="k")
    assert again.equals(first)
    assert again.schema == first.schema
    assert changed.charges_when_opened == []
    with pytest.raises(LedgerError, match="another question"):
        ask(release_path, changed, key="k", question="how old?")
    assert release_path.ledger.account("visits").charges == 1


def test_an_answer_that_cannot_be_kept_is_not_given(release_path: ReleasePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.ledger.LONGEST_ANSWER", 10)
    with pytest.raises(LedgerError, match=r"more than 10 bytes.*stays charged"):
        ask(release_path, Exact(release_path), key="k")
    assert release_path.ledger.account("visits").charges == 1


def test_d56_two_names_for_one_source_share_a_cap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a relative path, a symbolic link, a pattern; and a symbolic link to the ledger."""
    pq.write_table(pa.table({"user": [1, 2, 3]}), folder / "visits.parquet")
    (folder / "link.parquet").symlink_to("visits.parquet")
    (folder / "link.ledger").symlink_to("test.ledger")
    monkeypatch.chdir(folder)
    names = [
        str(folder / "visits.parquet"),
        "visits.parquet",
        "./link.parquet",
        "visit?.parquet",
        folder / "link.parquet",
    ]
    accounts = set()
    for index, name in enumerate(names):
        book = Ledger(folder / ("link.ledger" if index % 2 else "test.ledger"))
        data = Dataset(name, unit=Rows(), budget=dp.PureDP(1), ledger=book)
        account = data.origin.release_path.account
        accounts.add(account)
        book.charge(
            account, LaplaceNoise(Fraction(5), adjacency=ADD_REMOVE), dp.PureDP("0.2", adjacency=ADD_REMOVE), "?"
        )
        book.close()
    assert len(accounts) == 1
    book = Ledger(folder / "test.ledger")
    assert book.account(accounts.pop()).remaining == {"epsilon": 0, "delta": 0}
    book.close()


def account_of(source: str, folder: Path, **more: Any) -> str:
    """The account under which a source is opened in the ledger of the folder, with a budget of 1."""
    with Dataset(source, unit=Rows(), budget=dp.PureDP(1), ledger=folder / "test.ledger", **more) as data:
        return data.origin.release_path.account


def test_d56_patterns_that_overlap_have_no_second_budget(folder: Path) -> None:
    """One file of a pattern, a pattern that has grown, another identity: refused, with the account to go on with."""
    for name in ("a1", "a2", "b1"):
        pq.write_table(pa.table({"user": [1, 2, 3]}), folder / f"{name}.parquet")
    first = account_of(f"{folder}/a*.parquet", folder)
    others: list[tuple[str, dict[str, str]]] = [
        (f"{folder}/a1.parquet", {}),
        (f"{folder}/*1.parquet", {}),
        (f"{folder}/**/*.parquet", {}),
        (f"{folder}/a*.parquet", {"identity": "another"}),
    ]
    for source, more in others:
        with pytest.raises(LedgerError, match=r"have a budget in this ledger already, as 'files:.*Open the source as"):
            account_of(source, folder, **more)
    ledger = Ledger(folder / "test.ledger")
    assert [entry.kind for entry in ledger.entries()] == ["budget"], "nothing was changed"
    assert account_of(f"{folder}/a*.parquet", folder) == first
    assert account_of(f"{folder}/b1.parquet", folder) != first, "other files, another budget"
    pq.write_table(pa.table({"user": [4]}), folder / "a3.parquet")
    with pytest.raises(LedgerError, match="already"):
        account_of(f"{folder}/a*.parquet", folder)
    assert account_of(f"{folder}/a*.parquet", folder, identity=first) == first
    with pytest.raises(LedgerError, match="already"):
        account_of(f"{folder}/a3.parquet", folder)
    assert [entry.kind for entry in ledger.entries()] == ["budget", "budget", "source"]
    assert ledger.verify() == 3
    ledger.close()


def test_d56_a_view_and_its_table_have_one_budget(folder: Path, database: str) -> None:
    """Views on views, materialized ones, partitions and renamed tables."""
    engine = sql.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE visits (who bigint) PARTITION BY RANGE (who)",
            "CREATE TABLE early PARTITION OF visits FOR VALUES FROM (0) TO (10)",
            "CREATE VIEW few AS SELECT who FROM visits WHERE who < 5",
            "CREATE VIEW fewer AS SELECT who + 1 AS who FROM few",
            "CREATE MATERIALIZED VIEW kept AS SELECT * FROM fewer",
            "CREATE TABLE sales (who bigint)",
        ):
            connection.exec_driver_sql(statement)
    first = account_of(database, folder, table="fewer")
    assert account_of(database, folder, table="public.fewer") == first
    for table in ("visits", "few", "kept", "early"):
        with pytest.raises(LedgerError, match="already, as 'postgresql:"):
            account_of(database, folder, table=table)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE visits RENAME TO renamed")
    with pytest.raises(LedgerError, match="already"):
        account_of(database, folder, table="renamed")
    assert account_of(database, folder, table="renamed", identity=first) == first
    assert account_of(database, folder, table="sales") != first
    engine.dispose()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.frozensets(st.integers(1, 5))), max_size=12))
@settings(max_examples=25)
def test_d56_a_part_has_one_account(openings: list[tuple[str, frozenset[int]]]) -> None:
    """Beside a dictionary from parts to accounts, kept by hand."""
    owners: dict[str, str] = {}
    with quick_folder() as folder:
        ledger = Ledger(folder / "test.ledger")
        for account, numbers in openings:
            parts = [f"file:{number}" for number in numbers]
            if all(owners.get(part, account) == account for part in parts):
                ledger.open_account(account, dp.PureDP(1), parts=parts)
                owners |= dict.fromkeys(parts, account)
            else:
                with pytest.raises(LedgerError, match="already, as"):
                    ledger.open_account(account, dp.PureDP(1), parts=parts)
        ledger.verify()
        named = {part: entry.account for entry in ledger.entries() for part in named_parts(entry)}
        assert named == owners
        ledger.close()


WHEN_ASKED = {
    "ended by the server": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}",
    "timed out": "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {ours}",
    "interrupted": "SELECT pid FROM pg_stat_activity WHERE {ours}",
}


@pytest.fixture
def _listening() -> Iterator[None]:
    """Ctrl-C is heard: tests that a shell started in the background would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening")
@pytest.mark.parametrize("how", WHEN_ASKED)
def test_d52_a_question_that_ends_in_the_middle_is_not_refunded(folder: Path, database: str, how: str) -> None:
    """While PostgreSQL computes: its connection is ended, its query is cancelled as by a timeout, Ctrl-C is pressed."""
    place = database.replace("postgresql://", "postgresql+psycopg://")
    engine = sql.create_engine(place, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE visits AS SELECT generate_series(1, 100) AS who")
        connection.exec_driver_sql("CREATE VIEW slow AS SELECT who FROM visits WHERE pg_sleep(0.1) IS NOT NULL")

    def strike() -> None:
        """As soon as the server is at work on the question."""
        ours = WHEN_ASKED[how].format(ours="wait_event = 'PgSleep'")
        with engine.connect() as connection:
            while not connection.exec_driver_sql(ours).fetchall():
                time.sleep(0.01)
        if how == "interrupted":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    striking = threading.Thread(target=strike)
    with Dataset(database, table="slow", unit=Rows(), budget=dp.PureDP(1), ledger=folder / "test.ledger") as data:
        striking.start()
        with pytest.raises(KeyboardInterrupt if how == "interrupted" else EngineError) as caught:
            data.count(epsilon="0.5")
        striking.join()
        if how != "interrupted":
            assert str(caught.value).startswith("the question was charged and could not be answered; what was charged")
        assert data.spent == {"epsilon": Fraction(1, 2), "delta": 0}
    engine.dispose()
