"""Fail-stop: failures and questions in flight together never exceed what the owner allowed."""

import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import dither as dp
from dither.errors import EngineError, LedgerConflict, LedgerError, ParameterError, TooManyFailures
from dither.events import LaplaceNoise
from dither.ledger import Charge, Failures, Ledger
from dither.release import ReleasePath
from tests.ledger.faults import IO_ERROR, NO_SPACE, Server, quick_folder

EVENT, COST = LaplaceNoise(Fraction(1000)), dp.PureDP("0.001")
WRITERS = Path(__file__).parent / "failing_writers.py"


class Exact:
    """An exact aggregate of one number."""

    def _rehearse(self) -> None: ...

    def _open(self) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": [7]})


def answering(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
    return pa.Table.from_batches(list(batches[0]))


def failing(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
    raise ValueError("a row that no engine can read")


def ask(release_path: ReleasePath, draw: Callable[..., pa.Table] = answering, key: str | None = None) -> pa.Table:
    return release_path.release(EVENT, COST, "how many?", [Exact()], draw, key=key)[0]  # type: ignore[list-item]


def counts(release_path: ReleasePath) -> tuple[int, int]:
    found = release_path.ledger.account(release_path.account).failures
    return found.failed, found.pending


@pytest.fixture
def release_path(ledger: Ledger) -> ReleasePath:
    ledger.open_account("visits", dp.PureDP(1), failures_allowed=2)
    return ReleasePath(ledger, "visits")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the outcomes of others."""
    monkeypatch.setattr("dither.ledger.failures.WAIT_SECONDS", -1)


def test_e67_after_the_failures_allowed_every_question_is_refused_and_free(release_path: ReleasePath) -> None:
    """A row that makes an engine fail is worth two failures, and not one for every 0.001 of the budget."""
    for _ in range(5):
        ask(release_path)
    for _ in range(2):
        with pytest.raises(EngineError, match="charged and could not be answered"):
            ask(release_path, failing)
    spent = release_path.ledger.account("visits").spent
    for draw, key in ((answering, None), (failing, None), (answering, "k")):
        with pytest.raises(TooManyFailures, match=r"2 failed after their charge and 0 .* 2 are allowed.*--resume"):
            ask(release_path, draw, key)
    assert release_path.ledger.account("visits").spent == spent
    assert release_path.ledger.resume("visits", by="ada") == 2
    ask(release_path)
    assert counts(release_path) == (0, 0)
    assert release_path.ledger.account("visits").failures.resumes == 1
    resumed = [entry.content for entry in release_path.ledger.entries() if entry.kind == "resume"]
    assert [(each["by"], each["lifted"]) for each in resumed] == [("ada", 2)]
    assert release_path.ledger.verify(release_path.ledger.anchor()) > 0


@pytest.mark.parametrize(
    "cause", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError, pa.ArrowException]
)
def test_e67_whatever_ends_a_question_counts(release_path: ReleasePath, cause: type[BaseException]) -> None:
    def draw(_: object) -> pa.Table:
        raise cause

    with pytest.raises(EngineError if issubclass(cause, Exception) else cause):
        ask(release_path, draw)
    assert counts(release_path) == (1, 0)


def test_e67_each_attempt_under_one_key_counts(release_path: ReleasePath) -> None:
    """One charge, and not as many failures as one likes."""
    for _ in range(2):
        with pytest.raises(EngineError):
            ask(release_path, failing, "k")
    with pytest.raises(TooManyFailures):
        ask(release_path, failing, "k")
    account = release_path.ledger.account("visits")
    assert (account.charges, account.failures.failed) == (1, 2)
    release_path.ledger.resume("visits")
    answer = ask(release_path, key="k")
    assert ask(release_path, failing, "k") == answer
    assert release_path.ledger.account("visits").charges == 1
    release_path.ledger.verify()


def test_an_answer_that_was_given_before_is_given_again_even_when_stopped(release_path: ReleasePath) -> None:
    """It is stored: no data is read for it."""
    answer = ask(release_path, key="k")
    for _ in range(2):
        with pytest.raises(EngineError):
            ask(release_path, failing)
    assert ask(release_path, failing, "k") == answer


@pytest.mark.usefixtures("impatient")
def test_e67_a_question_without_an_outcome_counts(release_path: ReleasePath) -> None:
    """As one whose process was killed, or is still at work."""
    flying = [release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True) for _ in range(2)]
    with pytest.raises(TooManyFailures, match="0 failed after their charge and 2 have no outcome"):
        ask(release_path)
    release_path.ledger.answered(flying[0])
    ask(release_path)
    release_path.ledger.failed(flying[1])
    assert counts(release_path) == (1, 0)
    release_path.ledger.verify()


def begun(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Entries from now on say that they were written so long ago."""
    at = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    monkeypatch.setattr("dither.ledger.ledger._now", lambda: at)


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a question of this thread waited for others, pause by pause; the hundredth is the last."""
    slept: list[float] = []
    asking, pause = threading.current_thread(), time.sleep

    def sleep(seconds: float) -> None:
        if threading.current_thread() is not asking:  # a thread that an earlier test left behind
            pause(seconds)
            return
        slept.append(seconds)
        if len(slept) == 100:
            monkeypatch.setattr("dither.ledger.failures.WAIT_SECONDS", -1)  # all of them are too old now

    monkeypatch.setattr("dither.ledger.failures.time.sleep", sleep)
    return slept


def test_nobody_waits_for_processes_that_were_killed_long_ago(
    release_path: ReleasePath, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    """Each question would else wait for two minutes before it is refused, and nothing says why."""
    begun(monkeypatch, 200)
    for _ in range(2):
        release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    for _ in range(3):
        with pytest.raises(
            TooManyFailures, match=r"0 failed .* and 2 have no outcome.*It is busy.*Ask again when.*--resume"
        ):
            ask(release_path)
    assert not naps
    assert release_path.ledger.account("visits").charges == 2
    assert release_path.ledger.resume("visits") == 2
    ask(release_path)


def test_one_young_question_in_flight_is_waited_for_beside_old_ones(
    release_path: ReleasePath, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    begun(monkeypatch, 200)
    old = release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    begun(monkeypatch, 0)
    young = release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    with pytest.raises(TooManyFailures, match="It is busy"):
        ask(release_path)
    assert len(naps) == 100
    monkeypatch.setattr("dither.ledger.failures.WAIT_SECONDS", 120)
    release_path.ledger.failed(young)
    with pytest.raises(TooManyFailures, match=r"1 failed .* and 1 have no outcome.*It is busy"):
        ask(release_path)
    release_path.ledger.failed(old)
    with pytest.raises(
        TooManyFailures, match=r"2 failed .* and 0 have no outcome.*It is stopped: its owner .*--resume"
    ):
        ask(release_path)
    assert len(naps) == 100, "nobody waits for what has failed, or is old"


def test_questions_from_before_a_resume_are_not_waited_for(
    release_path: ReleasePath, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    """They are forgiven, and their outcomes make no room."""
    release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    release_path.ledger.resume("visits")
    begun(monkeypatch, 200)
    for _ in range(2):
        release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    with pytest.raises(TooManyFailures, match="It is busy"):
        ask(release_path)
    assert not naps


def test_a_question_waits_for_those_in_flight(release_path: ReleasePath) -> None:
    flying = [release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True) for _ in range(2)]
    said: list[pa.Table] = []
    waiting = threading.Thread(target=lambda: said.append(ask(release_path)))
    waiting.start()
    while len(list(release_path.ledger.entries())) < 5 or release_path.ledger.account("visits").charges < 2:
        time.sleep(0.01)
    release_path.ledger.answered(flying[0])
    waiting.join()
    assert len(said) == 1
    assert counts(release_path) == (0, 1)


def test_e67_an_outcome_from_before_the_resume_changes_nothing(release_path: ReleasePath) -> None:
    """Else questions in flight over a resume would make room for failures that nobody allowed."""
    before = [release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True) for _ in range(2)]
    assert release_path.ledger.resume("visits") == 2
    with pytest.raises(EngineError):
        ask(release_path, failing)
    release_path.ledger.answered(before[0])
    release_path.ledger.failed(before[1])
    assert counts(release_path) == (1, 0)
    with pytest.raises(EngineError):
        ask(release_path, failing)
    with pytest.raises(TooManyFailures):
        ask(release_path, failing)
    release_path.ledger.verify()


def test_an_outcome_is_written_once(release_path: ReleasePath) -> None:
    charge = release_path.ledger.charge("visits", EVENT, COST, "?", awaits_outcome=True)
    release_path.ledger.failed(charge)
    release_path.ledger.answered(charge)
    release_path.ledger.failed(charge)
    assert counts(release_path) == (1, 0)
    assert release_path.ledger.verify() == 4


def test_e67_the_outcome_of_another_ledger_is_not_taken(ledger: Ledger, folder: Path) -> None:
    """After a restore the number of an attempt may be another's: its failure must not be covered up."""
    with closing(Ledger(folder / "other.ledger")) as other:
        charges = []
        for each in (ledger, other):
            each.open_account("z", dp.PureDP(1))
            charges.append(each.charge("z", EVENT, COST, "how many?", awaits_outcome=True))
        with pytest.raises(LedgerError, match="is not in this ledger"):
            other.answered(charges[0])
        other.failed(charges[1])
        assert (other.account("z").failures.failed, other.account("z").failures.answered) == (1, 0)
        other.verify()


def test_e67_an_answer_is_given_and_a_failure_is_uniform_whatever_closing_does(release_path: ReleasePath) -> None:
    class Loud(Exact):
        def _open(self) -> Iterator[pa.RecordBatch]:
            try:
                yield pa.record_batch({"n": pa.array([1])})
            finally:
                raise RuntimeError("row 4711")

    def reading(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        return pa.Table.from_batches([next(batches[0])])

    def stumbling(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        next(batches[0])
        raise ValueError("row 4711")

    def release(draw: Callable[..., pa.Table]) -> pa.Table:
        return release_path.release(EVENT, COST, "how many?", [Loud()], draw)[0]  # type: ignore[list-item]

    assert release(reading).num_rows == 1
    with pytest.raises(EngineError, match="charged and could not be answered") as caught:
        release(stumbling)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e300])
def test_e67_where_numpy_would_warn_there_is_no_answer(release_path: ReleasePath, wrong: float) -> None:
    """A warning about a row is seen as a failure is, and was not counted; and the number was 2^63 away."""

    def rounding(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        numbers = np.array([wrong for batch in batches[0] for _ in range(batch.num_rows)])
        return pa.table({"n": numbers.astype(np.int64)})

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(EngineError, match="charged and could not be answered"):
            ask(release_path, rounding)
    assert not heard
    assert counts(release_path) == (1, 0)
    assert ask(release_path)["n"].to_pylist() == [7]


def test_a_charge_by_hand_awaits_no_outcome(release_path: ReleasePath) -> None:
    for number in range(5):
        charge = release_path.ledger.charge("visits", EVENT, COST, "?", key=f"k{number}")
        release_path.ledger.keep(charge, b"7")
        release_path.ledger.failed(charge)
    assert counts(release_path) == (0, 0)
    assert release_path.ledger.verify() == 11


def test_the_allowance_is_given_once(ledger: Ledger) -> None:
    ledger.open_account("usual", dp.PureDP(1))
    assert ledger.account("usual").failures == Failures(3)
    ledger.open_account("usual", dp.PureDP(1), failures_allowed=3)
    with pytest.raises(LedgerConflict, match=r"allowed 3 failures in this ledger, and failures_allowed=5"):
        ledger.open_account("usual", dp.PureDP(1), failures_allowed=5)
    ledger.open_account("more", dp.PureDP(1), failures_allowed=5)
    ledger.open_account("more", dp.PureDP(1))
    assert ledger.account("more").failures.allowed == 5
    wrong: list[Any] = [0, -1, True, 1.0, "3", float("nan"), 10**7]
    for each in wrong:
        with pytest.raises(ParameterError, match="failures_allowed must be a whole number from 1"):
            ledger.open_account("wrong", dp.PureDP(1), failures_allowed=each)
    assert ledger.resume("usual") == 0
    with pytest.raises(LedgerError, match="no budget"):
        ledger.resume("nobody")
    assert ledger.verify() == 2


def test_an_answer_whose_outcome_cannot_be_written_is_given_and_counts(
    release_path: ReleasePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for. What cannot be written, as on a full disk, leaves the attempt among those without an outcome."""

    def full(self: Ledger, charge: Charge, digest: str | None = None) -> None:
        raise LedgerError("its disk is full")

    monkeypatch.setattr(Ledger, "answered", full)
    assert ask(release_path)["n"].to_pylist() == [7]
    assert counts(release_path) == (0, 1)
    monkeypatch.setattr(Ledger, "failed", full)
    with pytest.raises(EngineError, match="charged and could not be answered"):
        ask(release_path, failing)
    assert counts(release_path) == (0, 2)


def test_an_anchor_names_no_entry_that_a_power_cut_may_take(release_path: ReleasePath) -> None:
    ask(release_path)
    assert release_path.ledger.anchor().startswith("3:"), "the attempt, and not that it was answered"
    ask(release_path, key="k")
    assert release_path.ledger.anchor().startswith("7:"), "the answer that was kept"
    with pytest.raises(EngineError):
        ask(release_path, failing)
    assert release_path.ledger.anchor().startswith("11:"), "a failure is on disk"
    assert release_path.ledger.verify(release_path.ledger.anchor()) == 11


@pytest.mark.parametrize("how", ["threads", "processes"])
def test_e67_many_at_once_never_see_more_failures_than_allowed(location: str, how: str) -> None:
    """Eight at once, each of which fails and asks on until it is refused."""
    ledger = Ledger(location)
    ledger.open_account("visits", dp.PureDP(1), failures_allowed=3)
    done = subprocess.run([sys.executable, str(WRITERS), location, how], capture_output=True, text=True, check=True)
    seen = [line.split() for line in done.stdout.splitlines()]
    assert len(seen) == 8, done.stderr
    failed = sum(int(each[0]) for each in seen)
    assert failed == 3
    assert all(each[1] == "TooManyFailures" for each in seen), seen
    assert ledger.account("visits").failures.failed == 3
    ledger.verify()
    ledger.close()


class Attempts(RuleBasedStateMachine):
    """An account beside one that is kept by hand: which attempts count, and whether one more is taken."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.closing = ExitStack()
        self.ledger = Ledger(self.closing.enter_context(quick_folder()) / "test.ledger")
        self.closing.callback(self.ledger.close)
        self.allowed = 1
        self.flying: list[tuple[Charge, int]] = []
        self.failed = self.pending = self.period = 0

    @initialize(allowed=st.integers(1, 3))
    def open(self, allowed: int) -> None:
        self.allowed = allowed
        self.ledger.open_account("visits", dp.PureDP(1), failures_allowed=allowed)

    @rule(key=st.sampled_from(["a", "b", None, None]))
    def attempt(self, key: str | None) -> None:
        kept = {entry.content["key"] for entry in self.ledger.entries() if entry.kind == "answer"}
        try:
            charge = self.ledger.charge("visits", EVENT, COST, "?", key=key, awaits_outcome=True)
        except TooManyFailures:
            assert key not in kept
            assert self.failed + self.pending == self.allowed
        else:
            assert (charge.attempt is None) == (key in kept)
            if charge.attempt is not None:
                assert self.failed + self.pending < self.allowed
                self.flying.append((charge, self.period))
                self.pending += 1

    @rule(index=st.integers(0, 9), is_answered=st.booleans())
    def end(self, index: int, is_answered: bool) -> None:
        if self.flying:
            charge, period = self.flying.pop(index % len(self.flying))
            self.ledger.keep(charge, b"7") if is_answered else self.ledger.failed(charge)
            if period == self.period:
                self.pending -= 1
                self.failed += not is_answered

    @rule()
    def resume(self) -> None:
        assert self.ledger.resume("visits") == self.failed + self.pending
        if self.failed + self.pending:
            self.period += 1
            self.failed = self.pending = 0

    @invariant()
    def agrees(self) -> None:
        Attempts.steps += 1
        with suppress(LedgerError):
            found = self.ledger.account("visits").failures
            assert (found.failed, found.pending, found.resumes) == (self.failed, self.pending, self.period)
            assert found.unanswered <= found.allowed == self.allowed
        self.ledger.verify()

    def teardown(self) -> None:
        self.closing.close()


@pytest.mark.usefixtures("impatient")
def test_failures_agree_with_an_account_kept_by_hand() -> None:
    run_state_machine_as_test(Attempts, settings=settings(max_examples=25, stateful_step_count=20))


def test_a_dataset_says_how_many_failed(folder: Path) -> None:
    (folder / "visits.csv").write_text("user,cost\n1,2\n", encoding="utf-8")
    place: Any = {"unit": dp.Rows(), "ledger": folder / "test.ledger"}
    with dp.Dataset(folder / "visits.csv", budget=dp.PureDP(1), failures_allowed=7, **place) as data:
        data.count(epsilon="0.1")
        assert data.failures == Failures(7, asked=1, answered=1)
    with dp.Dataset(folder / "visits.csv", **place) as data:
        assert data.failures.allowed == 7
    with pytest.raises(LedgerConflict, match="failures_allowed=3"):
        dp.Dataset(folder / "visits.csv", failures_allowed=3, **place)


# ------------------------------------------------------------ a ledger of before


def older(path: Path) -> None:
    """As the version before wrote it: format 1, and no word of failures."""
    ledger = Ledger(path)
    ledger.open_account("visits", dp.PureDP(1))
    ledger.close()
    with sqlite3.connect(path) as connection:
        (body,) = connection.execute("SELECT body FROM dither_entries").fetchone()
        entry = dp.ledger.Entry(1, "0" * 64, "budget", "visits", body.replace('"failures_allowed":3,', ""))
        connection.execute("UPDATE dither_entries SET body = ?, hash = ?", (entry.body, entry.hash))
        connection.execute("UPDATE dither_format SET version = 1")
    connection.close()


def version(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        found = [row[0] for row in connection.execute("SELECT version FROM dither_format")]
    connection.close()
    return found


def test_a_ledger_of_before_is_read_as_it_is_and_goes_on_with_three_failures(folder: Path) -> None:
    older(folder / "test.ledger")
    ledger = Ledger(folder / "test.ledger")
    assert ledger.verify() == 1
    assert ledger.account("visits").failures == Failures(3)
    ledger.close()
    assert version(folder / "test.ledger") == [1], "to look changes nothing"
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1), failures_allowed=3)
    for _ in range(3):
        with pytest.raises(EngineError):
            ask(ReleasePath(ledger, "visits"), failing)
    with pytest.raises(TooManyFailures):
        ask(ReleasePath(ledger, "visits"))
    assert ledger.verify() == 10
    ledger.close()
    assert version(folder / "test.ledger") == [3], "an older dither would not count, so it is kept out"


# ------------------------------------------------------------ death and disks


@pytest.mark.xdist_group("ledger faults")
@pytest.mark.parametrize("step", ["charged", "opened", "drawn", "failed"])
def test_e67_killed_between_the_failure_and_its_entry(server: Server, folder: Path, step: str) -> None:
    """Kill −9 at each step, again and again: what was charged and has no outcome counts as a failure."""
    for number in range(3):
        outcome = server.run(folder, dies=step, keys=(f"key{number}",), fails=step == "failed")
        assert outcome.killed
        assert not outcome.answers
    ledger = Ledger(folder / "test.ledger")
    assert ledger.account("visits").failures.pending == 3
    stopped = server.run(folder, keys=("key9",), impatient=True)
    assert [line.split()[1] for line in stopped.errors] == ["TooManyFailures"]
    assert ledger.account("visits").charges == 3
    assert ledger.resume("visits") == 3
    assert server.run(folder, keys=("key9",)).answers.keys() == {"key9"}
    ledger.verify()
    ledger.close()


@pytest.mark.xdist_group("ledger faults")
@pytest.mark.parametrize("fault", [NO_SPACE, IO_ERROR], ids=["disk full", "input or output error"])
def test_e67_a_failure_counts_at_whatever_call_the_disk_fails(server: Server, folder: Path, fault: int) -> None:
    """A failed question and a failing disk, at every third call: what was charged and saw no answer counts."""
    (folder / "whole").mkdir()
    calls = server.run(folder / "whole", fails=True).calls
    for number in range(1, calls + 1, 3):
        place = folder / str(number)
        place.mkdir()
        outcome = server.run(place, fault, number, goes_on=True, fails=True)
        assert not outcome.answers
        ledger = Ledger(place / "test.ledger")
        ledger.open_account("visits", dp.PureDP(1000))
        account = ledger.account("visits")
        assert account.failures.unanswered == account.charges
        ledger.verify()
        ledger.close()
