"""Questions at work: each is a task of its own, whether somebody waits for it or looks again later.

A question holds one of the places of its dataset from before its charge until its outcome is told, which is at a
multiple of the period after it began. So neither who asked, nor who asks the same again, nor who stands behind it in
the queue can see when the engine was done: only how many periods it took. The ledger hears of it no sooner, as the
numbers of later entries, which answers have, would tell it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar

import anyio

from dither.engine import TableRelease
from dither.web.access_keys import Key
from dither.web.http_failures import TooMany, failure, is_charged
from dither.web.offered_dataset import Offered
from dither.web.pace import wait_for
from dither.web.questions import ANSWERED, FAILED, REFUSED, AskedQuestion
from dither.web.service import Service

__all__ = ["Jobs"]

_Value = TypeVar("_Value")
_MOST_PLACES: Final = 16
"""Of one dataset: so many questions are at work at once at most."""
_MOST_THREADS: Final = 256
_MOST_OF_ONE: Final = 64
"""Questions of one key that are at work or wait for a place."""


@dataclass
class _Job:
    of: str
    task: asyncio.Task[TableRelease]
    has_begun: bool = False


@dataclass
class Jobs:
    """The questions of this process that are not answered yet."""

    service: Service
    _jobs: dict[str, _Job] = field(default_factory=dict)
    _places: dict[str, anyio.CapacityLimiter] = field(default_factory=dict)
    _threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_MOST_THREADS))
    """Of their own, as most of them only wait for the end of a period."""
    _ends: threading.Event = field(default_factory=threading.Event)

    def start(self, key: Key, inquiry: AskedQuestion) -> asyncio.Task[TableRelease]:
        """The task that answers it; the same request sent twice is one task."""
        found = self._jobs.get(inquiry.id)
        if found is None:
            if Counter(each.of for each in self._jobs.values())[key.id] >= _MOST_OF_ONE:
                raise TooMany
            found = _Job(key.id, asyncio.create_task(self._answered(key, inquiry)))
            self._jobs[inquiry.id] = found
            found.task.add_done_callback(lambda task: self._forget(inquiry.id, task))
        return found.task

    async def answer(self, key: Key, inquiry: AskedQuestion) -> TableRelease:
        """Wait for the answer. A client that goes away does not end it: it is in the history."""
        if inquiry.state == ANSWERED:
            return await _in_thread(lambda: self.service.release(key, inquiry))
        return await asyncio.shield(self.start(key, inquiry))

    def ahead(self, id: str) -> int | None:
        """How many stand before it in the queue; None if it does not stand there."""
        waiting = [each for each, job in self._jobs.items() if not job.has_begun]
        return waiting.index(id) if id in waiting else None

    async def drain(self, seconds: float) -> None:
        """Before the service ends: what waits for a place is left, uncharged; what has begun is answered.

        What waits for the end of a long period is written down then, so that it does not count as a failure.
        """
        for each in [job for job in self._jobs.values() if not job.has_begun]:
            each.task.cancel()
        for patience in (0.8 * seconds, 0.2 * seconds):
            if running := [job.task for job in self._jobs.values() if job.has_begun]:
                await asyncio.wait(running, timeout=patience)
            self._ends.set()

    async def _answered(self, key: Key, inquiry: AskedQuestion) -> TableRelease:
        async with self._place(self.service.offered[inquiry.dataset]):
            began = time.monotonic()
            self._jobs[inquiry.id].has_begun = True
            running = await _in_thread(lambda: self.service.questions.begin(inquiry.id))
            release, state, told, error = None, ANSWERED, "", None
            pauses: list[float] = []

            def pause() -> None:
                pauses.append(self._rest(began, running))
                self._ends.wait(pauses[-1])

            try:
                release = await anyio.to_thread.run_sync(
                    lambda: self.service.release(key, running, pause), limiter=self._threads
                )
            except Exception as found:
                error, told = found, failure(found)[1]
                state = FAILED if is_charged(found) else REFUSED
            if not pauses:  # refused before data was read, or read again
                await asyncio.sleep(self._rest(began, running))
            await _in_thread(lambda: self.service.questions.end(inquiry.id, state, told))
        self.service.count("answers" if error is None else state)
        if error is not None:
            raise error
        assert release is not None
        return release

    def _rest(self, began: float, running: AskedQuestion) -> float:
        """Seconds until it is told. One that began elsewhere, or before a restart, keeps the beginning that it has."""
        period, now = self.service.settings.period, time.monotonic()
        since = (datetime.now(UTC) - datetime.fromisoformat(running.began)).total_seconds() if running.began else 0.0
        if since > now - began + 1:  # by more than the clocks of a moment ago differ
            return min(period, wait_for(0.0, period, since))
        return wait_for(began, period, now)

    def _place(self, offered: Offered) -> anyio.CapacityLimiter:
        """As many as may fail, and no more: else a charge would wait for outcomes of others (fail-stop)."""
        if offered.name not in self._places:
            allowed = min(_MOST_PLACES, offered.account.failures.allowed)
            self._places[offered.name] = anyio.CapacityLimiter(allowed)
        return self._places[offered.name]

    def _forget(self, id: str, task: asyncio.Task[TableRelease]) -> None:
        self._jobs.pop(id, None)
        if not task.cancelled():
            task.exception()  # it was told; nobody need wait for it


async def _in_thread(work: Callable[[], _Value]) -> _Value:
    return await anyio.to_thread.run_sync(work)
