"""How the service runs: what `[server]` of a description says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from dither.errors import ParameterError

__all__ = ["Settings"]

_MOST_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the service listens, what it keeps, and how much of anything it takes."""

    store: str
    """Keys, sessions and questions: a SQLite file, or postgresql://... for several workers."""
    host: str = "127.0.0.1"
    port: int = 8470
    period: float = 1.0
    """Answers are given at multiples of so many seconds after the question came; 0 gives them at once."""
    approval: bool = False
    """Whether a question waits until the owner accepts it."""
    practice: bool = True
    """Whether each dataset has made-up rows beside it, about which questions cost nothing."""
    requests_per_second: float = 50.0
    """Of one key; of one address without a key that is known, a tenth."""
    most_bytes: int = 65_536
    """Of the body of a request."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    """Whether a proxy that speaks TLS stands before it. Who asks is then what it says, if it is on this machine."""

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65_535:
            raise ParameterError(f"port must be a whole number from 1 to 65535, got {self.port}.")
        if not 0 <= self.period <= _MOST_SECONDS:
            raise ParameterError(f"period must be from 0 to {_MOST_SECONDS} seconds, got {self.period}.")
        if not 0 < self.requests_per_second < math.inf:
            raise ParameterError("requests_per_second must be greater than 0.")
        if not 1_000 <= self.most_bytes <= 10_000_000:
            raise ParameterError("most_bytes must be a whole number from 1000 to 10000000.")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ParameterError("TLS needs two files: tls_certificate and tls_key.")

    def check_network(self) -> None:
        """Refuse to listen where others hear: keys and answers would pass in plain text."""
        if not (self.is_encrypted or self.behind_proxy or _is_this_machine(self.host)):
            raise ParameterError(
                f"the service would listen at {self.host} without TLS, and keys and answers would pass the network in "
                "plain text. Name tls_certificate and tls_key in [server], or put a proxy with TLS before it and say "
                "so: --behind-proxy."
            )

    @property
    def is_encrypted(self) -> bool:
        """Whether the service itself speaks TLS."""
        return self.tls_key is not None

    @property
    def address(self) -> str:
        """What a browser opens."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
