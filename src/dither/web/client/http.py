"""Requests to a service, and its refusals as the errors that the same question would raise here."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dither.errors import EngineError, LedgerConflict, MissingPackage, OverBudget, ParameterError

__all__ = ["Http", "opened"]

_TRIES: Final = 6
_TIMEOUT: Final = 600.0
_ERRORS: Final[Mapping[int, type[Exception]]] = {402: OverBudget, 409: LedgerConflict}


@dataclass(frozen=True, slots=True)
class Http:
    """A service under a key. The key is in a header, and in no text that this makes."""

    url: str
    _client: Any = field(repr=False)

    def get(self, path: str) -> Any:
        """The JSON at an address."""
        return json.loads(self.send("GET", path))

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON that answers a JSON body."""
        return json.loads(self.send("POST", path, json.dumps(body, ensure_ascii=False).encode(), headers or {}))

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """The bytes of an answer. A request that was cut off is sent again: everything here can be sent twice."""
        pause = 0.25
        for tries_left in reversed(range(_TRIES)):
            try:
                answer = self._client.request(method, path, content=body, headers=dict(headers or {}))
            except OSError:
                answer = None
            except self._cut_off():
                answer = None
            if answer is not None and answer.status_code not in (429, 502, 504):
                return _content(answer)
            if tries_left:
                time.sleep(pause)
                pause *= 2
        if answer is not None:
            return _content(answer)
        raise EngineError(f"the service at {self.url} does not answer. Check the address and the network.")

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def _cut_off(self) -> type[Exception]:
        import httpx

        return httpx.TransportError


def _content(answer: Any) -> bytes:
    if answer.status_code < 300:
        content: bytes = answer.content
        return content
    try:
        sentence = str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        sentence = f"the service refused the request ({answer.status_code})."
    other = EngineError if answer.status_code >= 500 else ParameterError
    raise _ERRORS.get(answer.status_code, other)(sentence)


def opened(url: str, key: str) -> Http:
    """Connections to a service, under a key."""
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingPackage("connections to a service need httpx. Install it: pip install 'dither[server]'.") from None
    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"url must start with https:// (or http://, on this machine), got {url!r}.")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ParameterError("key must be the text that `dither keys add` showed, such as dither_…")
    place = url.rstrip("/")
    return Http(place, httpx.Client(base_url=place, headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT))
