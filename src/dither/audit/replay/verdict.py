"""What a replay found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dither.audit.replay.calls import Call
from dither.guarantees import Guarantee

__all__ = ["Replayed"]


@dataclass(frozen=True)
class Replayed:
    """Whether two neighbouring inputs differed only where, and as far as, privacy was paid for."""

    passed: bool
    difference: str | None
    """The first thing that differed too much, in words that tell no data; None if there is none."""
    calls: int
    """How many answers were drawn on the first input, salts and the like among them."""
    charged: Guarantee | None
    """What was charged; None if the pipeline did not say, so that only the calls were compared."""
    result: Any = field(default=None, repr=False)
    """What the pipeline gave on both inputs: where both fail alike, the error."""
    witness: tuple[Call, Call] | None = field(default=None, repr=False)
    """The two calls that differed, with their exact values: data, and therefore not shown unless asked for."""

    def __str__(self) -> str:
        if self.passed and isinstance(self.result, Exception):
            raised = type(self.result).__name__
            return f"both sides raise {raised}, in the same words, and there is no result; calls: {self.calls}"
        if self.passed and self.charged is None:
            return f"the same, at a price that is not known: charged= was not given; calls: {self.calls}"
        if self.passed:
            return f"the same up to what was charged; calls: {self.calls}"
        return f"DIFFERENT: {self.difference}"
