"""The sensitivities of a dataset when nothing is known but how to find them at one distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dither.exact import Ball, Number, ball, check, precision, rational, upper
from dither.sensitivity.search import floor

__all__ = ["Stepwise"]


@dataclass(frozen=True, slots=True, eq=False)
class Stepwise:
    """A profile that asks for one distance after the other.

    `at`: A^(t) for a given t, never below the truth. `bound`: never below any of them.
    """

    at: Callable[[int], float]
    bound: float

    def within(self, distance: int) -> float:
        """A^(t)."""
        check.count(0, distance=distance)
        return self.at(distance)

    def smooth(self, beta: Number) -> float:
        """max_t e^{−βt} A^(t), rounded up; it stops where e^{−βt} · bound cannot win any more, or is attained."""
        if not self.bound < math.inf:
            return math.inf
        found, distance = floor(self.bound), 0
        with precision(128):
            rate = ball(rational(beta, "beta"))
            check.positive(beta=rate)
            while True:
                discount: Ball = (-rate * distance).exp()
                if not upper(discount * Ball(self.bound)) > found:
                    return found
                sensitivity = self.at(distance)
                found = max(found, upper(discount * Ball(sensitivity)))
                if sensitivity >= self.bound:
                    return found
                distance += 1
