"""What a replay found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dither.audit.replay.calls import Call
from dither.guarantees import Guarantee

__all__ = ["Replayed"]


@dataclass(frozen=True)
class Replayed:
    """The result of `replay`: whether two neighbouring inputs differed only as far as privacy was paid for.

    `str(replayed)` is a sentence.

    Parameters
    ----------
    passed : bool
        Whether nothing differed by more than was charged.
    difference : str or None
        The first thing that differed too much, in words that contain no data; None if there is none.
    calls : int
        How many answers were drawn on the first input, salts included.
    charged : Guarantee or None
        What was charged; None if it is not known, so that only the calls were compared.
    result : Any, optional
        What the pipeline returned on both inputs; if both fail alike, the error.
    witness : tuple of Call, optional
        The two calls that differed. They contain exact values, that is data, and are therefore not part of the `repr`.
    """

    passed: bool
    difference: str | None
    calls: int
    charged: Guarantee | None
    result: Any = field(default=None, repr=False)
    witness: tuple[Call, Call] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.passed and isinstance(self.result, Exception):
            raised = type(self.result).__name__
            return f"both inputs raise {raised} with the same message, and there is no result; calls: {self.calls}"
        if self.passed and self.charged is None:
            return f"the same, at a cost that is not known, as charged= was not given; calls: {self.calls}"
        if self.passed:
            return f"the same up to what was charged; calls: {self.calls}"
        return f"DIFFERENT: {self.difference}"
