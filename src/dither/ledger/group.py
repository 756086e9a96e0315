"""Threads that wait to write: one of them leads, and commits what all of them decide in one transaction.

It is for speed alone. What each may decide is up to the transaction, and what it may say when to the store (ledger.md,
"Group commit").
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dither.errors import LedgerError
from dither.ledger.entries import Appending

__all__ = ["Decision", "Writers"]

_LOOK_SECONDS = 1
"""How long a thread waits for its leader before it looks whether there is one: one that was interrupted in the very
moment in which it gave up the lead has called nobody."""

Result = TypeVar("Result")


class Decision:
    """What one thread wants to decide and append, and what came of it."""

    __slots__ = ("_called", "decide", "is_ended", "refusal", "result", "synced")

    def __init__(self, decide: Callable[[Appending], Any], synced: bool) -> None:
        self.decide = decide
        self.synced = synced
        """Whether its thread may only go on when it is on disk."""
        self.result: Any = None
        self.refusal: Exception | None = None
        self.is_ended = False
        self._called = threading.Lock()
        self._called.acquire()

    def wait(self) -> None:
        """Until it is called, or it is time to look."""
        self._called.acquire(timeout=_LOOK_SECONDS)

    def call(self) -> None:
        """Have its thread look how things are."""
        try:
            self._called.release()
        except RuntimeError:
            return  # it was called before, and has not looked yet

    def end(self, failure: Exception | None) -> None:
        """Nothing more comes of it. After a `failure` nobody knows more than that, whatever was decided."""
        if failure is not None:
            self.refusal = failure
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
        self._waiting: deque[Decision] = deque()
        self._queue = threading.Lock()
        self._lead = threading.Lock()
        self._leader: int | None = None

    def run(self, decide: Callable[[Appending], Result], synced: bool) -> Result:
        """The result of `decide`, or its refusal, when it may be said."""
        own = Decision(decide, synced)
        if self._leader == threading.get_ident():  # as a handler of a signal that came while this thread leads
            self._commit([own])
        else:
            self._wait_for(own)
        result, refusal = own.result, own.refusal
        if refusal is None:
            return result  # type: ignore[no-any-return]
        try:
            raise refusal
        finally:
            del own, refusal  # an error that holds its own frame would stay in memory

    def _wait_for(self, own: Decision) -> None:
        """Until its turn to lead comes, or another has led it. Who is interrupted waits no more."""
        try:
            with self._queue:
                self._waiting.append(own)
            while not own.is_ended:
                if self._lead.acquire(blocking=False):
                    try:
                        self._lead_all()
                        if not own.is_ended:  # a leader took it up, and was interrupted before it could tell
                            own.end(_interrupted())
                    finally:
                        self._lead.release()
                        self._call_next()
                else:
                    own.wait()
        except BaseException:
            with self._queue:
                if own in self._waiting:
                    self._waiting.remove(own)
            self._call_next()
            raise

    def _call_next(self) -> None:
        """One of those who came meanwhile finds that nobody leads."""
        with self._queue:
            if self._waiting:
                self._waiting[0].call()

    def _lead_all(self) -> None:
        """Commit what all decide who wait now. Whatever happens, each is told."""
        with self._queue:
            taken = list(self._waiting)
            self._waiting.clear()
        failure: Exception | None = _interrupted()
        try:
            self._leader = threading.get_ident()
            if taken:
                self._commit(taken)
            failure = None
        except Exception as error:
            failure = error
        finally:
            self._leader = None
            for each in taken:
                each.end(failure)


def _interrupted() -> LedgerError:
    return LedgerError(
        "the thread that wrote into the ledger for this one too was interrupted. No answer was given. Ask again."
    )
