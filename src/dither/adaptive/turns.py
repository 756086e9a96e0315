"""One question at a time: other threads wait; other processes, and questions inside another, are refused."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from dither.errors import ParameterError

__all__ = ["Turns"]


class Turns:
    """A lock around what is asked and counted. A query is foreign code that runs inside it, and may come back.

    A lock that let it in again would let in any number of questions before the first of them is counted; one that made
    it wait would wait for ever. So would a forked child, if another thread was asking at the fork; it is refused first.
    """

    __slots__ = ("_holder", "_lock", "_process", "_whose")

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            raise ParameterError(f"{self._whose} belongs to the process that made it. Make another, of other rows.")
        if self._holder == threading.get_ident():  # only this thread can have written its own name there
            raise ParameterError(
                "a query must not ask the oracle or holdout that is evaluating it. Ask one after the other."
            )
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._holder = None
        self._lock.release()
