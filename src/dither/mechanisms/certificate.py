"""What a release states about itself: plain JSON values, and a digest that an accidental change breaks.

The digest is a checksum, not a signature: whoever changes a certificate on purpose computes it anew. Believe what
can be computed again, and what a ledger confirms (`dither.engine.certificate_check`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from typing import Any, Final

from dither.events import Event, GaussianNoise
from dither.guarantees import GaussianDP, Guarantee
from dither.pairs import ProfileOf
from dither.version import __version__

__all__ = ["FORMAT", "NOT_PRIVATE", "digest", "sealed", "shown", "stated"]

FORMAT: Final = 1
"""The version of certificates. It grows when a field changes its meaning; other versions are refused."""

NOT_PRIVATE: Final = "NOT PRIVATE: the noise was removed for a test."
"""What a release without noise says of itself; its certificate is never accepted."""


def sealed(terms: dict[str, Any]) -> dict[str, Any]:
    """The terms between the versions that wrote them and their digest."""
    whole = {"dither_certificate": FORMAT, "version": __version__, **terms}
    return {**whole, "digest": digest(whole)}


def digest(content: dict[str, Any]) -> str:
    """SHA-256 in hexadecimal digits of everything else, as JSON with sorted keys and without spaces."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def shown(guarantee: Guarantee, event: Event) -> Guarantee:
    """The guarantee as the event shows it, never below: an event rounds long variances down, by 1e-15 of themselves."""
    if isinstance(guarantee, GaussianDP) and isinstance(event, GaussianNoise) and event.step is None:
        square = max(guarantee.mu_squared, event.sensitivity_squared / event.variance)
        return GaussianDP.from_square(square, adjacency=guarantee.adjacency)
    return guarantee


def stated(guarantee: Guarantee) -> dict[str, Any]:
    """The kind, the exact parameters as text, and who is protected, as in the text of an event.

    {"kind": "ApproxDP", "epsilon": "1", "delta": "1/1000000"}. A profile has no parameters: it is δ(ε) of the event,
    which stands beside it, at every ε: {"kind": "ProfileOf", "of": "event"}.
    """
    says: dict[str, Any] = {"kind": type(guarantee).__name__}
    if isinstance(guarantee, ProfileOf):
        says["of"] = "event"
    else:
        named = (field.name for field in fields(guarantee) if field.compare)  # type: ignore[arg-type]
        public = (name for name in named if name != "adjacency" and not name.startswith("_"))
        says |= {name.removeprefix("stated_"): _exactly(getattr(guarantee, name)) for name in public}
    if guarantee.adjacency is not None:
        says["adjacency"] = {name: value for name, value in asdict(guarantee.adjacency).items() if value is not None}
    return says


def _exactly(value: Any) -> Any:
    return [_exactly(item) for item in value] if isinstance(value, tuple) else str(value)
