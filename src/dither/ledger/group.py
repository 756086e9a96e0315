"""Threads that wait to write: one of them leads, and commits what all of them decide in one transaction.

It is for speed alone. What each may decide is up to the transaction, and what it may say when to the store (ledger.md,
"Group commit").

A signal may end any call of the main thread with an error of its handler, and a handler may write into the ledger
itself. So what has to hold afterwards is done by plain assignments, which no signal comes between; and what one leader
left undone is done by the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from dither.errors import LedgerError
from dither.ledger.entries import Appending

__all__ = ["Decision", "Writers"]

_LOOK_SECONDS: Final = 1
"""How long a thread waits before it looks for itself: a leader that was interrupted may have called nobody."""

_MOST: Final = 100
"""How many are committed together. Those of other processes wait meanwhile."""

_MOST_BYTES: Final = 10_000_000
"""How many bytes of answers are committed together, but for one answer that is longer by itself."""

_INTERRUPTED: Final = (
    "the thread that wrote into the ledger for this one too was interrupted. No answer was given. Ask again."
)

Result = TypeVar("Result")


class Decision:
    """What one thread wants to decide and append, and what came of it."""

    __slots__ = ("_called", "decide", "failure", "is_ended", "refusal", "result", "size", "synced", "thread")

    def __init__(self, decide: Callable[[Appending], Any], synced: bool, size: int = 0) -> None:
        self.decide: Callable[[Appending], Any] | None = decide
        """None when its thread waits for it no more: then nobody need decide it."""
        self.synced = synced
        """Whether its thread may only go on when it is on disk."""
        self.size = size
        """Bytes of the answer that it stores."""
        self.thread = threading.get_ident()
        self.result: Any = None
        self.refusal: Exception | None = None
        self.failure: str | None = None
        """Why nobody knows what came of it, whatever was decided."""
        self.is_ended = False
        # One call of C to wait and one to call: a handler of a signal may come at any time. An Event is written in
        # Python around a lock, for which a handler would wait that calls while its own thread holds it.
        self._called = threading.Lock()
        self._called.acquire()

    def wait(self) -> None:
        """Until it is called, or it is time to look."""
        self._called.acquire(timeout=_LOOK_SECONDS)

    def call(self) -> None:
        """Have its thread look how things are."""
        with suppress(RuntimeError):  # it was called before, and has not looked yet
            self._called.release()

    def end(self, failure: str | None) -> None:
        """Nothing more comes of it."""
        self.failure = failure
        self.is_ended = True
        self.call()


class Writers:
    """The threads of this process that wait to write into one ledger.

    Parameters
    ----------
    commit : callable
        Lets each of some decisions append in turn, in one transaction; sets the result or the refusal of each. It
        returns when all may be said, and raises if nothing may be.
    """

    def __init__(self, commit: Callable[[Sequence[Decision]], None]) -> None:
        self._commit = commit
        self._waiting: list[Decision] = []
        self._taken: list[Decision] = []
        """Those for whom a leader commits, or has been interrupted in it."""
        self._leader: Decision | None = None
        self._queue = threading.RLock()
        """Held to queue and to begin to lead. A handler of a signal may hold it once more."""

    def run(self, decide: Callable[[Appending], Result], synced: bool, size: int = 0) -> Result:
        """The result of `decide`, or its refusal, when it may be said."""
        own, leader = Decision(decide, synced, size), self._leader
        try:
            if leader is not None and leader.thread == own.thread:  # a handler of a signal; this thread leads already
                self._commit([own])
            else:
                self._wait_for(own)
            if own.failure is not None:
                raise LedgerError(own.failure)
            if own.refusal is not None:
                raise own.refusal
            return own.result  # type: ignore[no-any-return]
        finally:  # an error that reaches its own frame, or a leader that still has this one, would keep it in memory
            own.decide = own.result = own.refusal = None

    def _wait_for(self, own: Decision) -> None:
        """Until its turn to lead comes, or another has led it. Who is interrupted waits no more."""
        try:
            with self._queue:
                self._waiting.append(own)
            while not own.is_ended:
                if self._lead(own):
                    self._call_next()
                else:
                    own.wait()
        except BaseException:
            own.decide = None
            self._call_next()
            raise

    def _call_next(self) -> None:
        """One of those who have not ended finds that nobody leads. No lock: it would look by itself in a second."""
        for each in (*self._taken, *self._waiting):
            if each.decide is not None and not each.is_ended:
                each.call()
                return

    def _lead(self, own: Decision) -> bool:
        """Commit for all who wait, if nobody leads; whether this led."""
        try:
            with self._queue:
                if self._leader is None:
                    self._leader = own
                    self._take(own)
            if self._leader is not own:
                return False
            if self._taken:
                self._commit_taken()
            return True
        finally:
            if self._leader is own:
                self._leader = None

    def _take(self, own: Decision) -> None:
        """Its own and as many others as fit, in the order in which they came. What an interrupted leader took may be
        committed or not, so it is not decided again."""
        for each in self._taken:
            if not each.is_ended:
                each.end(_INTERRUPTED)
        taken, rest = list[Decision](), list[Decision]()
        others, room = _MOST - 1, _MOST_BYTES - own.size
        for each in self._waiting:
            if each.is_ended or each.decide is None:
                continue
            if each is own:
                taken.append(each)
            elif not own.is_ended and others > 0 and each.size <= room:
                taken.append(each)
                others, room = others - 1, room - each.size
            else:
                rest.append(each)
        if not own.is_ended and own not in taken:
            taken.append(own)
        self._taken, self._waiting = taken, rest

    def _commit_taken(self) -> None:
        """Commit, and tell each. Whatever happens: who is not told here is told by the next leader."""
        taken = self._taken
        failure: str | None = _INTERRUPTED
        try:
            self._commit(taken)
            failure = None
        except LedgerError as error:
            if type(error) is LedgerError:  # another kind is that of a handler of a signal
                failure = str(error)
            raise
        finally:
            for each in taken:
                each.end(failure)
            taken.clear()
