"""Threads that wait to write are committed together, with one sync, and each is charged or refused by itself.

The first one writes, and is held up until all others wait; these are then one group.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither import PureDP
from dither.errors import LedgerConflict, LedgerError, OverBudget
from dither.events import LaplaceNoise
from dither.ledger import Charge, Failures, Ledger
from dither.ledger.group import Decision
from tests.ledger.faults import IO_ERROR, KILL, Server
from tests.ledger.test_faults import check, each_call
from tests.ledger.test_group_commit import asked, opened
from tests.ledger.test_power_cuts import lost, traced

EVENT, COST = LaplaceNoise(Fraction(10)), PureDP("0.1")
KEYS = ("key1", "key2", "key3")
"""As many as may be in flight."""

Ask = Callable[[], Any]
Commit = Callable[[Sequence[Decision]], None]


@contextmanager
def committed_by(ledger: Ledger, how: Callable[[Sequence[Decision], Commit], None]) -> Iterator[None]:
    """What the leader of a group does in the place of committing it."""
    group = ledger._store._group
    commit = group._commit
    group._commit = lambda decisions: how(decisions, commit)
    try:
        yield
    finally:
        group._commit = commit


def together(ledger: Ledger, *asks: Ask, lead: Callable[[Sequence[Decision], Commit], None] | None = None) -> list[Any]:
    """What each of `asks` returns or raises: they wait for another, and are led together, in this order."""
    outcomes: list[Any] = [None] * len(asks)
    sizes: list[int] = []
    waiting = ledger._store._group._waiting

    def run(place: int, ask: Ask) -> None:
        try:
            outcomes[place] = ask()
        except BaseException as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(asks)]

    def held_up(decisions: Sequence[Decision], commit: Commit) -> None:
        sizes.append(len(decisions))
        if len(sizes) == 1:
            for place, thread in enumerate(threads):
                thread.start()
                while len(waiting) <= place:
                    time.sleep(0.001)
        if len(sizes) == 2 and lead is not None:
            lead(decisions, commit)
        else:
            commit(decisions)

    with committed_by(ledger, held_up):
        ledger._store.together(lambda entries: None)
        for thread in threads:
            thread.join()
    assert sizes[:2] == [1, len(asks)]
    return outcomes


def errors(outcomes: list[Any]) -> list[type]:
    return [type(each) for each in outcomes if isinstance(each, BaseException)]


def numbers(outcomes: list[Any]) -> list[int]:
    return [each.entry.number for each in outcomes if isinstance(each, Charge)]


# ------------------------------------------------------------ each by itself


def test_all_who_wait_are_synced_at_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open_account("visits", PureDP(1))
    place, syncs = ledger._store._place, list[int]()
    monkeypatch.setattr(type(place), "sync", lambda *_: syncs.append(1))
    outcomes = together(ledger, *[lambda: asked(ledger)] * 6)
    assert numbers(outcomes) == [2, 3, 4, 5, 6, 7]
    assert len(syncs) == 2, "that of the first one, and of the group"
    assert ledger.verify(ledger.anchor()) == 7


def test_a_group_is_synced_if_one_of_it_needs_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """That something was answered need not be on disk, and what is charged meanwhile must."""
    ledger.open_account("visits", PureDP(1))
    first, second = (asked(ledger, awaits_outcome=True) for _ in range(2))
    place, syncs = ledger._store._place, list[int]()
    monkeypatch.setattr(type(place), "sync", lambda *_: syncs.append(1))
    together(ledger, lambda: ledger.answered(first), lambda: asked(ledger))
    assert len(syncs) == 2, "that of the first one, and of the group"
    together(ledger, lambda: ledger.answered(second))
    assert len(syncs) == 3, "that of the first one alone"
    assert ledger.verify(ledger.anchor()) == 8


def test_of_a_group_each_is_charged_or_refused_by_itself(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP("0.3"))
    ledger.open_account("sales", PureDP(1))
    outcomes = together(
        ledger,
        lambda: asked(ledger, key="a"),
        lambda: ledger.charge("visits", EVENT, PureDP(1), "how many?"),
        lambda: ledger.charge("nothing", EVENT, COST, "how many?"),
        lambda: ledger.charge("sales", EVENT, COST, "how many?"),
        lambda: ledger.charge("visits", EVENT, COST, "how old?", key="a"),
        lambda: asked(ledger, key="a"),
        lambda: asked(ledger),
        lambda: asked(ledger),
        lambda: asked(ledger),
    )
    assert errors(outcomes) == [OverBudget, LedgerError, LedgerConflict, OverBudget]
    assert numbers(outcomes) == [3, 4, 3, 5, 6], "under one key one charge"
    assert ledger.account("visits").remaining["epsilon"] == 0
    assert ledger.account("sales").charges == 1
    assert ledger.verify(ledger.anchor()) == 6


def test_what_a_refused_one_appended_is_taken_back_alone(ledger: Ledger) -> None:
    """A share is charged first; if the budget of all has too little left, it is not charged."""
    ledger.open_account("visits", PureDP("0.2"))
    ledger.open_account("anna", PureDP("0.3"))
    outcomes = together(ledger, *[lambda: asked(ledger, share="anna")] * 3, lambda: asked(ledger))
    assert errors(outcomes) == [OverBudget, OverBudget]
    assert [ledger.account(name).charges for name in ("visits", "anna")] == [2, 2]
    assert ledger.verify(ledger.anchor()) == 6


def test_a_group_never_has_more_in_flight_than_may_fail(ledger: Ledger) -> None:
    """Those for whom there is no room wait, and are not charged meanwhile."""
    ledger.open_account("visits", PureDP(1))
    seen = list[Failures]()

    def answered() -> Charge:
        charge = asked(ledger, awaits_outcome=True)
        seen.append(ledger.account("visits").failures)
        ledger.answered(charge)
        return charge

    outcomes = together(ledger, *[answered] * 7)
    assert len(numbers(outcomes)) == 7
    assert max(each.unanswered for each in seen) == 3
    assert ledger.account("visits").failures.answered == ledger.account("visits").charges == 7
    assert ledger.verify(ledger.anchor()) == 1 + 3 * 7


def test_answers_and_failures_are_kept_together(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP(1))
    charges = [asked(ledger, key=key, awaits_outcome=True) for key in "ab"]
    failed = asked(ledger, awaits_outcome=True)
    outcomes = together(
        ledger,
        lambda: ledger.keep(charges[0], b"7"),
        lambda: ledger.keep(charges[0], b"8"),
        lambda: ledger.failed(failed),
        lambda: ledger.keep(charges[1], b"9"),
        lambda: ledger.keep(Charge(failed.entry), b"9"),
    )
    assert outcomes == [b"7", b"7", None, b"9", b"9"]
    assert ledger.account("visits").failures == Failures(3, asked=3, answered=2, failed=1)
    assert ledger.verify(ledger.anchor()) == 12


# ------------------------------------------------------------ who fails


@pytest.mark.parametrize("error", [OSError(errno.EIO, "?"), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_if_the_sync_of_a_group_fails_none_of_it_has_an_answer(
    location: str, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Its entries stay, which is the safe side, and the next one goes on from there."""
    with closing(opened(location)) as ledger:
        place = type(ledger._store._place)

        def failing(*_: object) -> None:
            raise error

        def lead(decisions: Sequence[Decision], commit: Commit) -> None:
            with monkeypatch.context() as patched:
                patched.setattr(place, "sync", failing)
                commit(decisions)

        outcomes = together(ledger, *[lambda: asked(ledger, awaits_outcome=True)] * 3, lead=lead)
        led = LedgerError if isinstance(error, OSError) else type(error)
        assert sorted(errors(outcomes), key=str) == sorted([led, LedgerError, LedgerError], key=str)
        assert all("No answer was given" in str(each) for each in outcomes if isinstance(each, LedgerError))
        assert ledger.account("visits").failures.pending == 3
        ledger.resume("visits")
        assert asked(ledger).entry.number == 9
        assert ledger.verify(ledger.anchor()) == 9


@pytest.mark.parametrize("error", [OSError(errno.EIO, "?"), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_if_a_group_is_not_committed_none_of_it_is_charged(ledger: Ledger, error: BaseException) -> None:
    """What the database reports is about the transaction of all."""
    ledger.open_account("visits", PureDP(1))

    def fail(entries: Any) -> None:
        raise error

    outcomes = together(ledger, lambda: asked(ledger), lambda: ledger._store.together(fail), lambda: asked(ledger))
    led = LedgerError if isinstance(error, OSError) else type(error)
    assert sorted(errors(outcomes), key=str) == sorted([led, LedgerError, LedgerError], key=str)
    assert ledger.verify(ledger.anchor()) == 1
    assert asked(ledger).entry.number == 2


def test_an_error_that_nobody_thought_of_is_that_of_one(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP(1))

    def wrong(entries: Any) -> None:
        entries.append("charge", "visits", "{}")
        raise ZeroDivisionError

    outcomes = together(ledger, lambda: asked(ledger), lambda: ledger._store.together(wrong), lambda: asked(ledger))
    assert errors(outcomes) == [ZeroDivisionError]
    assert numbers(outcomes) == [2, 3]
    assert ledger.verify(ledger.anchor()) == 3


def test_who_is_interrupted_while_it_waits_is_not_charged(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C. The others are."""
    ledger.open_account("visits", PureDP(1))
    group, waits = ledger._store._group, Decision.wait

    def interrupted(own: Decision) -> None:
        if threading.current_thread().name == "interrupted":
            raise KeyboardInterrupt
        waits(own)

    monkeypatch.setattr(Decision, "wait", interrupted)
    outcomes: list[Any] = []

    def ask() -> None:
        try:
            outcomes.append(asked(ledger))
        except KeyboardInterrupt as error:
            outcomes.append(error)

    threads = [threading.Thread(target=ask, name=name) for name in ("interrupted", "other")]

    def held_up(decisions: Sequence[Decision], commit: Commit) -> None:
        if not threads[1].ident:
            threads[0].start()
            threads[0].join()
            threads[1].start()
            while not group._waiting:
                time.sleep(0.001)
        commit(decisions)

    with committed_by(ledger, held_up):
        ledger._store.together(lambda entries: None)
        threads[1].join()
    assert errors(outcomes) == [KeyboardInterrupt]
    assert numbers(outcomes) == [2]
    assert ledger.verify(ledger.anchor()) == 2


def test_a_leader_that_is_interrupted_while_it_tells_leaves_nobody_waiting(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom it did not tell looks, finds that nobody leads, and says nothing."""
    ledger.open_account("visits", PureDP(1))
    ends, end = iter(range(10**6)), Decision.end

    def interrupted(own: Decision, failure: Exception | None) -> None:
        if next(ends) == 2:  # the second of the group
            raise KeyboardInterrupt
        end(own, failure)

    monkeypatch.setattr(Decision, "end", interrupted)
    outcomes = together(ledger, *[lambda: asked(ledger)] * 3)
    assert sorted(map(str, errors(outcomes))) == sorted(map(str, [KeyboardInterrupt, LedgerError, LedgerError]))
    assert ledger.account("visits").charges == 3, "the safe side"
    assert asked(ledger).entry.number == 5
    assert ledger.verify(ledger.anchor()) == 5


def test_a_leader_that_calls_nobody_is_missed(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the very moment in which it gave up the lead: who waits looks for itself."""
    ledger.open_account("visits", PureDP(1))
    monkeypatch.setattr(type(ledger._store._group), "_call_next", lambda self: None)
    assert numbers(together(ledger, lambda: asked(ledger), lambda: asked(ledger))) == [2, 3]


def test_a_handler_of_a_signal_does_not_wait_for_its_own_thread(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while its thread leads, and writes by itself."""
    with closing(opened(location)) as ledger:
        place = type(ledger._store._place)
        sync, turns = place.sync, [1]

        def interrupted(self: Any, connection: Any) -> None:
            if turns:
                turns.pop()
                asked(ledger)
            sync(self, connection)

        monkeypatch.setattr(place, "sync", interrupted)
        assert asked(ledger).entry.number == 2
        assert ledger.verify(ledger.anchor()) == 3


def test_a_child_does_not_wait_for_threads_of_its_parent(location: str) -> None:
    """It is forked while one of them leads and others wait."""
    with closing(opened(location)) as ledger:
        children = list[int]()

        def lead(decisions: Sequence[Decision], commit: Commit) -> None:
            commit(decisions)
            child = os.fork()
            if not child:
                os._exit(0 if asked(ledger).entry.number == 4 else 1)
            children.append(os.waitpid(child, 0)[1])

        assert numbers(together(ledger, lambda: asked(ledger), lambda: asked(ledger), lead=lead)) == [2, 3]
        assert children == [0]
        assert ledger.verify(ledger.anchor()) == 4


# ------------------------------------------------------------ death and power


@pytest.mark.xdist_group("ledger faults")
def test_a_power_cut_loses_nothing_of_a_group(server: Server, folder: Path) -> None:
    assert lost(folder, traced(server, folder, KEYS, at_once=True), lambda: 0) == []


@pytest.mark.xdist_group("ledger faults")
def test_a_group_that_does_not_sync_would_be_noticed(server: Server, folder: Path) -> None:
    """The negative control."""
    assert lost(folder, traced(server, folder, KEYS, at_once=True, unsynced=True), lambda: 0) != []


@pytest.mark.xdist_group("ledger faults")
def test_killed_at_every_call_of_a_group(server: Server, folder: Path) -> None:
    """The first twenty calls make the file."""
    kills = each_call(server, folder, KILL, False, lambda calls: range(20, calls + 1, 2), keys=KEYS, at_once=True)
    assert kills >= 25


@pytest.mark.xdist_group("ledger faults")
def test_a_disk_that_fails_a_group(server: Server, folder: Path) -> None:
    """At any call; whoever has an answer has it in the ledger, and the others a reason."""
    (folder / "whole").mkdir()
    calls = server.run(folder / "whole", keys=KEYS, at_once=True).calls
    failed = 0
    for number in range(22, calls + 1, 3):
        (folder / str(number)).mkdir()
        outcome = server.run(folder / str(number), IO_ERROR, number, keys=KEYS, at_once=True)
        failed += bool(outcome.errors)
        check(folder / str(number), outcome)
    assert failed >= 8
