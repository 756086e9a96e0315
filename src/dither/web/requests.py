"""One request at a time: who sends it, what it holds, and what every response carries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import anyio
from fastapi import Request, Response

from dither.web.access_keys import Key
from dither.web.answer_files import as_json
from dither.web.http_failures import TooLarge, TooMany, failure
from dither.web.jobs import Jobs
from dither.web.pace import Limits
from dither.web.service import Service

__all__ = ["Desk", "log"]

log = logging.getLogger(__name__)

_Value = TypeVar("_Value")
_SLOWEST_BODY: Final = 20.0
_PLANS_OF_ONE: Final = 2
"""Plans of one key that are made at once, of eight in all."""
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers do not say from where a form comes
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""On every response: nothing is cached, framed, guessed at or loaded from elsewhere."""


@dataclass
class Desk:
    """The service behind a queue: questions are jobs; plans and tests of keys are done by threads, so many each."""

    service: Service

    def __post_init__(self) -> None:
        self._limits = Limits(self.service.settings.requests_per_second)
        self._strangers = Limits(self.service.settings.requests_per_second / 10)
        self.jobs = Jobs(self.service)
        self._plans = anyio.CapacityLimiter(8)
        self._turns: dict[str, anyio.CapacityLimiter] = {}
        self._keys = anyio.CapacityLimiter(4)

    async def body(self, request: Request) -> bytes:
        """What was sent, if it is short and comes in time."""
        try:
            async with asyncio.timeout(_SLOWEST_BODY):
                found = bytearray()
                async for part in request.stream():
                    found += part
                    if len(found) > self.service.settings.most_bytes:
                        raise TooLarge
                return bytes(found)
        except TimeoutError:
            raise TooLarge from None

    async def key(self, request: Request, dataset: str | None = None, *, owner: bool = False) -> Key:
        """The key of an API request, from its Authorization header: never from its address, which others may see."""
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        self.limit(request, shown if self.service.keyring.is_known(shown) else None)
        found = self.service.offered.get(dataset or "")
        right = dataset if found is None else found.right
        taken = shown if scheme.lower() == "bearer" else None
        return await anyio.to_thread.run_sync(
            lambda: self.service.keyring.authenticated(taken, right, owner=owner), limiter=self._keys
        )

    def limit(self, request: Request, caller: str | None = None) -> None:
        """Count a request of this caller. Who shows no key that is known is counted by address, and may send a tenth.

        To test a key costs as much as many plans.
        """
        address = request.client.host if request.client else ""
        if not (self._strangers.allow(address) if caller is None else self._limits.allow(caller)):
            raise TooMany

    async def quick(self, work: Callable[[], _Value]) -> _Value:
        """Plans, lists and looks into the ledger."""
        return await anyio.to_thread.run_sync(work, limiter=self._plans)

    async def planned(self, key: Key, work: Callable[[], _Value]) -> _Value:
        """A plan: with a small price and a δ it may take seconds, so that one key has few at once and others go on."""
        turns = self._turns.setdefault(key.id, anyio.CapacityLimiter(_PLANS_OF_ONE))
        async with turns:
            return await self.quick(work)

    async def middleware(self, request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Errors become sentences, every response gets its headers, and every request a line in the log."""
        try:
            response = await go_on(request)
        except Exception as error:
            response = self._told(request, error)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if self.service.settings.is_encrypted:
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
        if response.status_code >= 400 and self._may_go_on(request):
            response.headers["Connection"] = "close"  # what is not wanted is not waited for
        route: Any = request.scope.get("route")
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "method": request.method if request.method in ("GET", "POST") else "other",
            "route": getattr(route, "path", "none"),
            "status": response.status_code,
            "by": getattr(request.state, "by", ""),
        }
        self.service.count(f"status_{response.status_code}")
        log.info("%s", json.dumps(line))
        return response

    def _may_go_on(self, request: Request) -> bool:
        """Whether more of the body may come than is taken."""
        length = request.headers.get("content-length", "0")
        is_short = length.isdecimal() and len(length) < 12 and int(length) <= self.service.settings.most_bytes
        return not is_short or "transfer-encoding" in request.headers

    def _told(self, request: Request, error: Exception) -> Response:
        status, sentence = failure(error)
        if status == 500:
            log.error("%s", json.dumps({"error": type(error).__name__}))  # its words may be data
        page: Any = getattr(request.state, "page_of_failure", None)
        if page is not None:
            made: Response = page(status, sentence)
            return made
        return Response(as_json({"error": sentence}), status, media_type="application/json")
