"""What comes out of a mechanism."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from dither.events import Event, to_json
from dither.exact import Number, check, rational
from dither.measures import Guarantee, ProfileOf

if TYPE_CHECKING:
    from dither.mechanisms.mechanism import Mechanism

__all__ = ["Interval", "Release"]

Interval: TypeAlias = tuple[Any, Any]
"""Lower and upper bounds: two numbers, or two arrays of the shape of the value."""


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer: it may be shown to anyone."""

    value: Any
    """The noisy answer."""
    event: Event
    """What was done, in exact numbers."""
    guarantee: Guarantee
    """What it cost, never less than the truth."""
    mechanism: Mechanism = field(repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Bounds that hold the exact answer with probability `level` or more over the noise, for each coordinate."""
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        return self.mechanism._interval(self.value, exact)

    def certificate(self) -> dict[str, Any]:
        """What a stranger needs to recompute the cost: plain JSON values, no data, not even the answer."""
        return {
            "dither_certificate": 1,
            "mechanism": type(self.mechanism).__name__,
            "event": json.loads(to_json(self.event)),
            "guarantee": _stated(self.guarantee),
        }


def _stated(guarantee: Guarantee) -> dict[str, Any]:
    """The kind, the exact parameters as text, and who is protected, as in the text of an event.

    {"kind": "ApproxDP", "epsilon": "1", "delta": "1/1000000"}. A profile has no parameters: it is δ(ε) of the event,
    which stands beside it, at every ε: {"kind": "ProfileOf", "of": "event"}.
    """
    says: dict[str, Any] = {"kind": type(guarantee).__name__}
    if isinstance(guarantee, ProfileOf):
        says["of"] = "event"
    else:
        named = (field.name for field in fields(guarantee))  # type: ignore[arg-type]
        public = (name for name in named if name != "adjacency" and not name.startswith("_"))
        says |= {name.removeprefix("stated_"): _exactly(getattr(guarantee, name)) for name in public}
    if guarantee.adjacency is not None:
        says["adjacency"] = {name: value for name, value in asdict(guarantee.adjacency).items() if value is not None}
    return says


def _exactly(value: Any) -> Any:
    return [_exactly(item) for item in value] if isinstance(value, tuple) else str(value)
