"""Threads that wait to write are committed together, with one sync, and each is charged or refused by itself.

The first one writes, and is held up until all others wait; these are then one group.
"""

import errno
import gc
import os
import secrets
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither import PureDP
from dither.errors import LedgerConflict, LedgerError, OverBudget, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Charge, Failures, Ledger
from dither.ledger import group as group_module
from dither.ledger.entries import Appending
from dither.ledger.group import Decision, Writers
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


def together(
    ledger: Ledger,
    *asks: Ask,
    lead: Callable[[Sequence[Decision], Commit], None] | None = None,
    sizes: list[int] | None = None,
) -> list[Any]:
    """What each of `asks` returns or raises: they wait for another, and are led together, in this order.

    How many are led at a time is put into `sizes`, if it is given.
    """
    outcomes: list[Any] = [None] * len(asks)
    is_one_group, sizes = sizes is None, [] if sizes is None else sizes
    group = ledger._store._group

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
                while len(group._waiting) <= place:
                    time.sleep(0.001)
        if len(sizes) == 2 and lead is not None:
            lead(decisions, commit)
        else:
            commit(decisions)

    with committed_by(ledger, held_up):
        ledger._store.together(lambda entries: None)
        for thread in threads:
            thread.join()
    assert not is_one_group or sizes[:2] == [1, len(asks)]
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


class TimeLimit(Exception):
    """What a handler of a signal may raise."""


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "?"), KeyboardInterrupt(), SystemExit(), TimeLimit(), RecursionError()], ids=repr
)
def test_if_a_group_is_not_committed_none_of_it_is_charged(ledger: Ledger, error: BaseException) -> None:
    """What the database reports is about the transaction of all, and any other error may be that of who leads."""
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


def test_who_is_interrupted_before_its_turn_is_not_charged(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken up already, but the leader has not come to it."""
    ledger.open_account("visits", PureDP(1))
    interrupted, waits = list[Decision](), Decision.wait

    def wait(own: Decision) -> None:
        waits(own)
        if own in interrupted:
            raise KeyboardInterrupt

    def lead(decisions: Sequence[Decision], commit: Commit) -> None:
        interrupted.extend([each for each in decisions if each.thread != threading.get_ident()][:1])
        interrupted[0].call()
        while interrupted[0].decide is not None:
            time.sleep(0.001)
        commit(decisions)

    monkeypatch.setattr(Decision, "wait", wait)
    outcomes = together(ledger, *[lambda: asked(ledger)] * 3, lead=lead)
    assert errors(outcomes) == [KeyboardInterrupt]
    assert numbers(outcomes) == [2, 3]
    assert ledger.verify(ledger.anchor()) == 3


@pytest.mark.parametrize(
    ("place", "name", "charged"),
    [(Writers, "_take", 0), (Writers, "_commit_taken", 0), (Decision, "end", 3), (Decision, "call", 3)],
    ids=["it leads", "it took them", "it tells them", "it calls them"],
)
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
def test_a_leader_that_is_interrupted_leaves_nobody_behind(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, place: type, name: str, charged: int, is_before: bool
) -> None:
    """Whoever it took up is told that nobody knows, or asks for itself; the next one is charged."""
    ledger.open_account("visits", PureDP(1))
    does, turns = getattr(place, name), [1]

    def interrupted(self: Any, *arguments: Any) -> Any:
        is_turn = len(sizes) == 2 if place is Decision else len(self._waiting) + len(self._taken) == 3
        if not (is_turn and turns):
            return does(self, *arguments)
        turns.pop()
        if not is_before:
            does(self, *arguments)
        raise KeyboardInterrupt

    sizes: list[int] = []
    monkeypatch.setattr(place, name, interrupted)
    outcomes = together(ledger, *[lambda: asked(ledger)] * 3, sizes=sizes)
    assert errors(outcomes).count(KeyboardInterrupt) == 1
    assert not turns
    others = [each for each in outcomes if not isinstance(each, KeyboardInterrupt)]
    assert all(isinstance(each, Charge) or "was interrupted. No answer was given" in str(each) for each in others)
    has = len(list(ledger.entries()))
    assert max(charged, len(numbers(outcomes))) <= has - 1 <= 3
    assert asked(ledger).entry.number == has + 1
    group = ledger._store._group
    assert group._leader is None
    assert not group._taken
    assert not group._waiting
    assert ledger.verify(ledger.anchor()) == has + 1


# ------------------------------------------------------------ what the database refuses


def same_key(entries: Appending) -> None:
    entries.append("charge", "visits", "{}", "a")


def long_name(entries: Appending) -> None:
    entries.append("charge", secrets.token_hex(10_000), "{}")


def no_text(entries: Appending) -> None:
    entries.append("charge", "visits", '"\ud800"')


@pytest.mark.parametrize(
    ("decide", "error"), [(same_key, LedgerError), (no_text, UnicodeEncodeError)], ids=["same key", "no text"]
)
def test_what_the_database_refuses_of_one_harms_nobody_else(ledger: Ledger, decide: Any, error: type) -> None:
    ledger.open_account("visits", PureDP(1))
    asked(ledger, key="a")
    outcomes = together(ledger, lambda: asked(ledger), lambda: ledger._store.together(decide), lambda: asked(ledger))
    assert errors(outcomes) == [error]
    assert numbers(outcomes) == [3, 4]
    assert ledger.account("visits").charges == 3
    assert ledger.verify(ledger.anchor()) == 4


def test_what_the_index_of_a_server_refuses_of_one_harms_nobody_else(database: str) -> None:
    with closing(opened(database)) as ledger:
        outcomes = together(
            ledger, lambda: asked(ledger), lambda: ledger._store.together(long_name), lambda: asked(ledger)
        )
        assert errors(outcomes) == [LedgerError]
        assert numbers(outcomes) == [2, 3]
        assert ledger.verify(ledger.anchor()) == 3


def test_a_digest_that_is_no_text_is_refused(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP(1))
    charge, kept = asked(ledger, awaits_outcome=True), asked(ledger, key="a", awaits_outcome=True)
    for refused in (lambda: ledger.answered(charge, "\ud800"), lambda: ledger.keep(kept, b"7", "\ud800")):
        with pytest.raises(ParameterError, match="digest must be a Unicode text"):
            refused()
    assert ledger.verify() == 5


# ------------------------------------------------------------ how much at once


def test_so_many_are_committed_at_once_and_not_more(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open_account("visits", PureDP(1))
    monkeypatch.setattr(group_module, "_MOST", 2)
    sizes: list[int] = []
    outcomes = together(ledger, *[lambda: asked(ledger)] * 5, sizes=sizes)
    assert sorted(numbers(outcomes)) == [2, 3, 4, 5, 6]
    assert max(sizes) == 2
    assert sum(sizes) == 6


def test_so_many_bytes_are_committed_at_once_and_not_more(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for one answer that is longer by itself."""
    ledger.open_account("visits", PureDP(1))
    charges = [asked(ledger, key=key) for key in "abcd"]
    answers = [b"7" * length for length in (30, 6, 6, 4)]
    keeps = [
        lambda each=each, answer=answer: ledger.keep(each, answer)
        for each, answer in zip(charges, answers, strict=True)
    ]
    monkeypatch.setattr(group_module, "_MOST_BYTES", 10)
    together_bytes, commit = list[int](), ledger._store._commit

    def noted(decisions: Sequence[Decision]) -> None:
        together_bytes.append(sum(each.size for each in decisions))
        commit(decisions)

    with committed_by(ledger, lambda decisions, _: noted(decisions)):
        assert together(ledger, *keeps, sizes=[]) == answers
    assert 30 in together_bytes
    assert all(each in (0, 4, 6, 10, 30) for each in together_bytes)
    assert ledger.verify(ledger.anchor()) == 9


def test_a_refusal_keeps_nothing_of_the_others(ledger: Ledger) -> None:
    """It may be kept for long, and shown with all that its traceback reaches: no answer of another analyst."""
    ledger.open_account("visits", PureDP(1))
    gone, seen = list[Any](), list[Appending]()

    class Deciding:
        def __call__(self, entries: Appending) -> threading.Event:
            seen.append(entries)
            entries.heads("visits")
            answer = threading.Event()
            gone.append(weakref.ref(answer))
            return answer

    def other() -> None:
        decide = Deciding()
        gone.append(weakref.ref(decide))
        ledger._store.together(decide)

    outcomes = together(ledger, other, lambda: ledger.charge("visits", EVENT, PureDP(2), "how many?"), other)
    gc.collect()
    assert errors(outcomes) == [OverBudget]
    assert len(gone) == 4
    assert all(each() is None for each in gone)
    assert not any(each._known or each._appended or each._keyed or each._newest for each in seen)


# ------------------------------------------------------------ signals


@contextmanager
def handled(handler: Callable[[], object]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, lambda *_: handler())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_handler_of_a_signal_does_not_write_inside_a_transaction_of_its_thread(ledger: Ledger) -> None:
    """It would wait for its own lock. It is refused at once, and what it came into goes on if it catches that."""
    ledger.open_account("visits", PureDP(1))
    refused: list[str] = []

    def handler() -> None:
        with pytest.raises(LedgerError, match="this thread is writing into the ledger already") as caught:
            asked(ledger)
        refused.append(str(caught.value))

    def decide(entries: Appending) -> int:
        signal.raise_signal(signal.SIGUSR1)
        return 7

    with handled(handler):
        assert ledger._store.together(decide) == 7
        with ledger._store.writing() as entries:
            decide(entries)
    assert len(refused) == 2
    assert asked(ledger).entry.number == 2
    with handled(lambda: asked(ledger)), pytest.raises(LedgerError, match="this thread is writing"):
        ledger._store.together(decide)
    assert asked(ledger).entry.number == 3


def test_a_refusal_of_a_handler_is_not_that_of_a_decision(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP(1))
    asks = [lambda: asked(ledger), lambda: ledger._store.together(lambda entries: asked(ledger)), lambda: asked(ledger)]
    outcomes = together(ledger, *asks)
    assert [isinstance(each, LedgerError) for each in outcomes] == [True] * 3
    assert sum("this thread is writing" in str(each) for each in outcomes) == 1
    assert sum("was interrupted. No answer was given" in str(each) for each in outcomes) == 2
    assert ledger.verify() == 1


def test_a_handler_of_a_signal_may_write_while_its_thread_queues_or_begins_to_lead(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.open_account("visits", PureDP(1))
    group, turns = ledger._store._group, [1, 1]
    takes = group._take

    class Queue(list[Decision]):
        def append(self, own: Decision) -> None:
            if turns:
                turns.pop()
                signal.raise_signal(signal.SIGUSR1)
            super().append(own)

    def take(own: Decision) -> None:
        if turns:
            turns.pop()
            signal.raise_signal(signal.SIGUSR1)
        takes(own)

    written: list[int] = []
    with handled(lambda: written.append(asked(ledger).entry.number)):
        group._waiting = Queue()
        assert asked(ledger).entry.number in (3, 4)
        turns[:] = [1]
        monkeypatch.setattr(group, "_take", take)
        assert asked(ledger).entry.number == ledger.account("visits").charges + 1
    assert len(written) >= 2
    assert group._leader is None
    assert ledger.verify(ledger.anchor()) == 1 + ledger.account("visits").charges


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
