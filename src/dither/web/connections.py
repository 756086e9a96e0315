"""Connections that cost little: so many in all and of one address, and none that only waits.

uvicorn itself waits for ever for the first request of a connection, and for a reader who does not read.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MOST_AT_ONCE", "BoundedConnection"]

MOST_AT_ONCE: Final = 512
"""Connections in all."""
MOST_OF_ONE_ADDRESS: Final = MOST_AT_ONCE // 2
"""So that one address alone cannot keep all others out."""
PATIENCE: Final = 20.0
"""Seconds for a request to be sent, and for each part of a response to be taken."""


class BoundedConnection(H11Protocol):
    """A connection that is closed if there are too many, if no request comes, or if a response is not read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse it without a word where there are too many."""
        super().connection_made(transport)
        self._idle_since: float | None = time.monotonic()
        self._stuck_since: float | None = None
        self._last_seen: object = None
        everyone: Any = self.connections
        of_address = Counter(each.client[0] for each in everyone if each.client)
        own = of_address[self.client[0]] if self.client else 0
        if len(everyone) > MOST_AT_ONCE or own > MOST_OF_ONE_ADDRESS:
            transport.abort()
            return
        self._look_again()

    def _look_again(self) -> None:
        self._looking = self.loop.call_later(PATIENCE / 4, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if hasattr(self, "_looking"):
            self._looking.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        now = time.monotonic()
        if self.cycle is not self._last_seen:  # another request than at the last look
            self._last_seen, self._idle_since = self.cycle, None
        request: Any = self.cycle  # None before the first
        is_idle = request is None or request.response_complete
        self._idle_since = (self._idle_since or now) if is_idle else None
        self._stuck_since = (self._stuck_since or now) if self.flow.write_paused else None
        if any(since is not None and now - since > PATIENCE for since in (self._idle_since, self._stuck_since)):
            self.transport.abort()
        else:
            self._look_again()
