"""One sync for all who wait: a commit gives the lock back before it is synced, and nothing is said before that.

The sync of one writer is held up at a chosen place, and others do there whatever they can.
"""

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from dither import PureDP
from dither.errors import LedgerConflict, LedgerError, OverBudget, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Charge, Failures, Ledger, sqlite
from dither.release import _read
from tests.ledger.faults import KILL, Server
from tests.ledger.server_proxy import proxy
from tests.ledger.test_faults import check, each_call
from tests.ledger.test_power_cuts import lost, traced
from tests.servers import running_postgres

KILLED = Path(__file__).parent / "killed_writers.py"
EVENT, COST = LaplaceNoise(Fraction(10)), PureDP("0.1")


def opened(location: str | Path, budget: str = "1") -> Ledger:
    ledger = Ledger(location)
    ledger.open_account("visits", PureDP(budget))
    return ledger


def asked(ledger: Ledger, **more: Any) -> Charge:
    return ledger.charge("visits", EVENT, COST, "how many?", **more)


Hook = Callable[[], object]


@contextmanager
def held_up(monkeypatch: pytest.MonkeyPatch, ledger: Ledger, hook: Hook) -> Iterator[list[str]]:
    """Call `hook` where the next sync would begin; after it, syncs are as before. Which syncs were done is listed."""
    place = type(ledger._store._place)
    before, hooks, done = place.sync, [hook], list[str]()

    def sync(self: Any, connection: Any) -> None:
        if hooks:
            hooks.pop()()
            done.append("held up")
        before(self, connection)
        done.append("synced")

    with monkeypatch.context() as patched:
        patched.setattr(place, "sync", sync)
        yield done
    assert not hooks, "nothing was synced"


def failing(error: BaseException) -> Hook:
    def hook() -> None:
        raise error

    return hook


# ------------------------------------------------------------ the others meanwhile


def test_others_are_charged_while_one_waits_for_the_disk(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its place in the chain by its commit. The cap is exact: one finds what the other spent."""
    with closing(opened(location, "0.3")) as first, closing(Ledger(location)) as second:
        numbers: list[int] = []

        def meanwhile() -> None:
            numbers.extend(asked(second).entry.number for _ in range(2))
            with pytest.raises(OverBudget, match=r"only 0 \(delta 0\) of 0\.3"):
                asked(second)

        with held_up(monkeypatch, first, meanwhile) as syncs:
            numbers.append(asked(first).entry.number)
        assert numbers == [3, 4, 2]
        assert syncs == ["synced", "synced", "held up", "synced"], "who is refused syncs nothing"
        assert first.verify(second.anchor()) == 4


def test_who_is_refused_spoils_nothing(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that wait together each is charged or refused by itself, whatever it is refused for."""
    with closing(opened(location)) as first, closing(Ledger(location)) as second:

        def meanwhile() -> None:
            refused: list[tuple[dict[str, Any], type[Exception]]] = [
                ({"cost": PureDP(1)}, OverBudget),
                ({"cost": PureDP("0.01")}, ParameterError),
                ({"key": "a", "question": "how old?"}, LedgerConflict),
                ({"account": "sales"}, LedgerError),
            ]
            usual: dict[str, Any] = {"account": "visits", "event": EVENT, "cost": COST, "question": "?"}
            for wrong, error in refused:
                with pytest.raises(error):
                    second.charge(**usual | wrong)
            asked(second)

        with held_up(monkeypatch, first, meanwhile):
            asked(first, key="a", awaits_outcome=True)
        assert [entry.kind for entry in first.entries()] == ["budget", "charge", "attempt", "charge"]
        assert first.account("visits").failures == Failures(3, asked=1)
        assert first.verify() == 4


def test_an_answer_that_is_not_synced_yet_is_not_given_by_another(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut it would be drawn again under the same charge: two answers, and one of them paid for."""
    with closing(opened(location)) as first, closing(Ledger(location)) as second:
        charge = asked(first, key="a", awaits_outcome=True)
        seen: list[Any] = []

        def meanwhile() -> None:
            seen.append(asked(second, key="a", awaits_outcome=True).answer)
            seen.append(list(syncs))

        with held_up(monkeypatch, first, meanwhile) as syncs:
            first.keep(charge, b"7")
        assert seen == [b"7", ["synced"]], "synced by who gives it"


def test_an_anchor_names_no_entry_that_is_not_synced(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(opened(location)) as first, closing(Ledger(location)) as second:
        seen: list[Any] = []
        with held_up(monkeypatch, first, lambda: seen.extend([second.anchor().partition(":")[0], *syncs])) as syncs:
            asked(first)
        assert seen == ["2", "synced"]


def test_every_writing_syncs_what_it_wrote_and_what_it_read(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that writes nothing; that something was answered is the one exception."""
    ledger.open_account("visits", PureDP(1))
    charge, lost = asked(ledger, key="a", awaits_outcome=True), asked(ledger, awaits_outcome=True)
    for writes in (
        lambda: ledger.open_account("visits", PureDP(1)),
        lambda: asked(ledger),
        lambda: ledger.keep(charge, b"7"),
        lambda: ledger.keep(charge, b"8"),
        lambda: asked(ledger, key="a"),
        lambda: ledger.failed(lost),
        lambda: ledger.failed(lost),
        lambda: ledger.resume("visits"),
        lambda: ledger.resume("visits"),
    ):
        with held_up(monkeypatch, ledger, lambda: None) as syncs:
            writes()
        assert syncs == ["held up", "synced"]
    other = asked(ledger, awaits_outcome=True)
    with held_up(monkeypatch, ledger, lambda: None) as syncs:
        ledger.answered(other)
        assert not syncs
        asked(ledger)
    assert ledger.verify() == 14


def test_a_dither_that_takes_all_it_finds_for_synced_is_kept_out(location: str) -> None:
    """And one that knows no budgets that are renewed: it would spend those of all periods in one."""
    with closing(opened(location)) as ledger:
        for before in (1, 2):
            with ledger._store._engine.begin() as connection:
                connection.exec_driver_sql(f"UPDATE dither_format SET version = {before}")
            with closing(Ledger(location)) as other:
                assert other.account("visits").charges == before - 1, "to look changes nothing"
                assert version(ledger) == before
                asked(other)
            assert version(ledger) == 3


def version(ledger: Ledger) -> int:
    with ledger._store._engine.begin() as connection:
        return int(connection.exec_driver_sql("SELECT version FROM dither_format").scalar_one())


# ------------------------------------------------------------ who fails, alone


@pytest.mark.parametrize("error", [OSError(errno.EIO, "?"), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_who_fails_in_its_sync_fails_alone(
    location: str, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """It has no answer, and its charge and attempt stay, which is the safe side. The lock is free for the next one."""
    with closing(opened(location)) as first, closing(Ledger(location)) as second:
        expected = LedgerError if isinstance(error, OSError) else type(error)
        with held_up(monkeypatch, first, failing(error)), pytest.raises(expected):
            asked(first, awaits_outcome=True)
        assert first.account("visits").failures.pending == 1
        asked(second)
        asked(first)
        assert first.verify(first.anchor()) == 5


def test_threads_of_which_some_fail_spend_exactly_the_cap(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third sync fails; what was said to be charged is charged, and nothing is granted twice.

    Of those whose common sync fails, some may have been over the budget: they ask again.
    """
    ledger, turns, said, refused = opened(location, "20"), iter(range(10**6)), list[int](), list[str]()
    place = type(ledger._store._place)
    before = place.sync

    def sync(self: Any, connection: Any) -> None:
        if next(turns) % 3 == 2:
            raise OSError(errno.EIO, "?")
        before(self, connection)

    def spend() -> None:
        while True:
            try:
                said.append(asked(ledger).entry.number)
            except OverBudget:
                return
            except LedgerError:
                refused.append("its disk reported an error")

    monkeypatch.setattr(place, "sync", sync)
    threads = [threading.Thread(target=spend) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert len(said) == len(set(said))
    assert len(said) + len(refused) >= 200
    assert len(refused) >= 10
    charged = {entry.number for entry in ledger.entries() if entry.kind == "charge"}
    assert len(charged) == 200
    assert set(said) < charged
    assert ledger.verify(ledger.anchor()) == 201
    ledger.close()


def test_processes_of_which_one_is_killed_spend_exactly_the_cap(location: str) -> None:
    """Kill −9 whenever it comes: what the killed one was told is charged, and the others go on to the cap."""
    opened(location, "6").close()
    command = [sys.executable, str(KILLED), location, "5", "10"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert lines.count("refused") >= 4, "on a busy machine the others may be through before the kill"
    said = [int(line) for line in lines if line != "refused"]
    with closing(Ledger(location)) as ledger:
        charged = [entry.number for entry in ledger.entries() if entry.kind == "charge"]
        assert len(charged) == 60
        assert len(said) == len(set(said)) >= 59, "at most the killed one had a charge that it did not tell"
        assert set(said) <= set(charged)
        assert ledger.verify(ledger.anchor()) == 61


# ------------------------------------------------------------ a sync that failed: SQLite


def without_its_log(place: Path) -> int:
    """How many entries the file holds by itself, as if nothing of the log had reached the disk."""
    alone = place.parent / "alone"
    alone.mkdir()
    shutil.copy(place, alone / "test.ledger")
    with closing(Ledger(alone / "test.ledger")) as ledger:
        entries = ledger.verify()
    shutil.rmtree(alone)
    return entries


def test_after_a_failed_sync_nothing_rests_on_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may have dropped what it could not write, and not say so again: the log is copied back first."""
    place = folder / "test.ledger"
    with closing(opened(place)) as ledger:
        asked(ledger)
        with held_up(monkeypatch, ledger, lambda: None):
            monkeypatch.setattr(sqlite, "_sync_file", lambda _: failing(OSError(errno.EIO, "?"))())
            with pytest.raises(LedgerError, match=r"its disk reported an error\. No answer was given"):
                asked(ledger)
        monkeypatch.undo()
        assert without_its_log(place) < 3
        asked(ledger)
        assert without_its_log(place) == 3, "all that was written before"
        assert ledger.verify(ledger.anchor()) == 4
        asked(ledger)
        assert without_its_log(place) == 3, "once is enough"


def test_after_a_failed_sync_a_reader_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(opened(folder / "test.ledger")) as ledger, closing(Ledger(folder / "test.ledger")) as other:
        reads = other._store.reading()
        reads.__enter__().last()
        with monkeypatch.context() as patched:
            patched.setattr(sqlite, "_sync_file", lambda _: failing(OSError(errno.ENOSPC, "?"))())
            with pytest.raises(LedgerError, match="its disk is full"):
                asked(ledger)
        monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.05)
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"cannot be copied back, as somebody reads it\. Nothing was charged"):
                asked(ledger)
        reads.__exit__(None, None, None)
        assert ledger.account("visits").charges == 1
        asked(ledger)
        assert ledger.verify() == 3


def test_who_opens_a_ledger_rests_on_no_sync_of_others(folder: Path) -> None:
    """One may have failed, and the system tells only those who had the log open then."""
    place = folder / "test.ledger"
    with closing(opened(place)) as ledger:
        asked(ledger)
        assert without_its_log(place) < 2
        with closing(Ledger(place)):
            assert without_its_log(place) == 2
        asked(ledger)


def test_a_log_is_closed_with_its_connection(folder: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    for _ in range(3):
        with closing(opened(folder / "test.ledger")) as ledger:
            asked(ledger, key="a")
    assert not before or sorted(os.listdir("/proc/self/fd")) == before
    assert [path.name for path in folder.iterdir()] == ["test.ledger"]


# ------------------------------------------------------------ death and power

OVERTAKEN = (1, 2, 3, 4)
"""The writer is overtaken while it makes the ledger, opens the account, charges, and keeps its answer."""


@pytest.mark.xdist_group("ledger faults")
@pytest.mark.parametrize("overtaken", OVERTAKEN)
def test_a_power_cut_loses_nothing_of_two_who_wait_together(server: Server, folder: Path, overtaken: int) -> None:
    """One commits; another commits, syncs and says its answer; then the first one syncs and says its own."""
    keys = ("key1", "key2")
    calls = traced(server, folder, keys, overtaken=overtaken)
    assert [call.name.split()[0] for call in calls if call.what == "n"].count("key-other") == 1
    assert lost(folder, calls, lambda: 0) == []


@pytest.mark.xdist_group("ledger faults")
def test_two_who_wait_together_and_do_not_sync_would_be_noticed(server: Server, folder: Path) -> None:
    """The negative control."""
    assert lost(folder, traced(server, folder, ("key1",), overtaken=3, unsynced=True), lambda: 0) != []


@pytest.mark.xdist_group("ledger faults")
@pytest.mark.parametrize("overtaken", OVERTAKEN)
def test_killed_at_every_call_of_two_who_wait_together(server: Server, folder: Path, overtaken: int) -> None:
    """A call before the log is none of theirs: the first twenty make the file."""
    kills = each_call(server, folder, KILL, False, lambda calls: range(20, calls + 1, 4), overtaken=overtaken)
    assert kills >= 12


@pytest.mark.xdist_group("ledger faults")
def test_who_dies_in_its_sync_leaves_a_charge_without_an_answer(server: Server, folder: Path) -> None:
    outcome = server.run(folder, overtaken=3, dies="overtaken")
    assert outcome.killed
    assert outcome.answers.keys() == {"key-other"}
    ledger = check(folder, outcome)
    kinds = [entry.kind for entry in ledger.entries()][:-1]
    assert kinds == ["budget", "charge", "attempt", "charge", "attempt", "answer", "outcome"]
    assert ledger.account("visits").failures.pending == 1
    with closing(Ledger(folder / "test.ledger")) as again:
        kept = again.charge("visits", EVENT, COST, "how many?", key="key-other").answer
        assert kept is not None
        assert str(_read(kept)["noisy"][0].as_py()) == outcome.answers["key-other"]


# ------------------------------------------------------------ PostgreSQL


def unhurried(url: str) -> None:
    """Its own process for writing the log sleeps, and commits do not wait by default: only our sync writes it."""
    engine = sql.create_engine(url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("ALTER SYSTEM SET wal_writer_delay = '10s'")
        connection.exec_driver_sql("ALTER SYSTEM SET synchronous_commit = off")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    engine.dispose()


def test_what_is_charged_survives_a_crash_of_the_server() -> None:
    with running_postgres() as server:
        unhurried(server.url)
        ledger = opened(server.url)
        said = [asked(ledger, awaits_outcome=True).entry.number for _ in range(3)]
        ledger.close()
        server.stop("immediate")
        server.start()
        with closing(Ledger(server.url)) as found:
            assert [entry.number for entry in found.entries() if entry.kind == "charge"] == said
            assert found.verify() == 7


def test_a_server_that_crashed_behind_a_proxy_before_a_sync_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that shares connections hides it: the sync is that of a server which has lost what was committed."""
    with running_postgres() as server, proxy(server.port) as port:
        unhurried(server.url)
        direct = opened(server.url)
        kept = asked(direct, key="a", awaits_outcome=True)
        ledger = Ledger(f"postgresql://dither@127.0.0.1:{port}/postgres")

        def crash() -> None:
            server.stop("immediate")
            server.start()

        asking: list[Callable[[], object]] = [lambda: asked(ledger), lambda: ledger.keep(kept, b"7")]
        for ask in asking:
            with held_up(monkeypatch, ledger, crash), pytest.raises(LedgerError, match="has lost an entry"):
                ask()
            direct.close()
            assert [entry.kind for entry in direct.entries()] == ["budget", "charge", "attempt"]
        assert asked(ledger).entry.number == 4
        ledger.close()
        direct.close()


def test_the_log_of_the_server_is_on_disk_when_a_charge_returns(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = sql.create_engine(database.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with closing(opened(database)) as ledger, place.connect() as connection:
        written = list[str]()

        def note() -> None:
            written.append(connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn()::text").scalar_one())

        with held_up(monkeypatch, ledger, note):
            asked(ledger)
        compared = "SELECT pg_current_wal_flush_lsn() >= %(written)s::pg_lsn"
        assert connection.exec_driver_sql(compared, {"written": written[0]}).scalar_one()
    place.dispose()
