"""Pairs of which only bounds are known, both in floats: what all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails

__all__ = ["AtMostPair", "BoundedPair", "nothing_known", "on_fewer"]

_ROUNDING = 2.0**-40
_SHARE_ERROR = 2.0**-44


class BoundedPair(Pair):
    """`dots` bound the profile from above, the `tails` of an example from below; the profile is all between them."""

    def profile(self, epsilon: Ball) -> Ball:
        low = np.nextafter([float(epsilon.lower())], -np.inf)
        high = np.nextafter([float(epsilon.upper())], np.inf)
        p, scaled_q, error = self.tails(high)
        slack = error + POSITION_ERROR * (1 + np.abs(high))
        infinity = float(self.infinity)
        least = max(float((p - scaled_q - slack * (p + scaled_q))[0]) + infinity * (1 - _ROUNDING), 0.0)
        most = min(float(self.dots(low)[0]) + infinity * (1 + _ROUNDING), 1.0)
        everything = (-epsilon.expm1()).max(Ball(0))
        return Ball(least).union(Ball(max(most, least))).max(everything).min(Ball(1))

    @property
    def is_exact(self) -> bool:
        return False


def nothing_known(losses: FloatArray) -> Tails:
    """The tails of two laws that are the same: an example of everything."""
    p = np.where(losses < 0, 1.0, 0.0)
    return Tails(p, p * np.exp(np.minimum(losses, 0.0)), POSITION_ERROR)


@dataclass(frozen=True)
class AtMostPair(BoundedPair):
    """What costs at most what `above` costs, and at least what `below` does, without infinite losses: an example of it.

    An infinite loss of `above` counts as a large one here, for what is bounded need not have it. Where several are
    composed, each end of the answer is that of its own pair (accounting/composed_brackets.py).
    """

    above: Pair
    below: Pair

    @property
    def may_leak(self) -> bool:
        """Whether the bound has infinite losses in one of both directions."""
        return bool(self.above.infinity or self.above.swapped().infinity)

    def dots(self, losses: FloatArray) -> FloatArray:
        return self.above.dots(losses) + float(self.above.infinity) * (1 + _ROUNDING)

    def tails(self, losses: FloatArray) -> Tails:
        return self.below.tails(losses)

    def swapped(self) -> AtMostPair:
        return AtMostPair(self.above.swapped(), self.below.swapped())

    @property
    def is_symmetric(self) -> bool:
        return self.above.is_symmetric

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.above.support
        return (
            -math.inf if self.above.swapped().infinity else min(low, self.below.support[0]),
            math.inf if self.above.infinity else max(high, self.below.support[1]),
        )

    @property
    def largest_loss(self) -> Fraction | None:
        return None if self.above.infinity else self.above.largest_loss

    def delta_bracket(self, epsilon: float | Fraction) -> tuple[float, float]:
        return self.below.delta_bracket(epsilon)[0], self.above.delta_bracket(epsilon)[1]

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        return self.below.bracket(delta)[0], self.above.bracket(delta)[1]


def on_fewer(losses: FloatArray, most: int, dots: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Upper bounds at increasing losses from at most so many of them: δ is convex in e^ℓ, so chords lie above it."""
    if len(losses) <= most:
        return dots(losses)
    places = np.unique(np.linspace(0, len(losses) - 1, most).astype(np.int64))
    found = np.maximum.accumulate(dots(losses[places])[::-1])[::-1]
    right = np.maximum(np.searchsorted(places, np.arange(len(losses))), 1)
    first, last = losses[places[right - 1]], losses[places[right]]
    with np.errstate(divide="ignore", invalid="ignore"):
        # (e^ℓ − e^first)/(e^last − e^first), divided by e^last on the way; rounded down, as the bounds fall.
        share = np.exp(losses - last) * np.expm1(first - losses) / np.expm1(first - last)
    share = np.clip(np.where(last > first, share, 1.0) - _SHARE_ERROR, 0.0, 1.0)
    chords: FloatArray = (found[right - 1] * (1 - share) + found[right] * share) * (1 + _ROUNDING)
    chords[places] = found
    return chords
