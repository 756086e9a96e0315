"""Pairs of which only bounds are known, both in floats: what all of them share."""

from __future__ import annotations

import numpy as np

from dither.exact import Ball
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails

__all__ = ["BoundedPair", "nothing_known"]

_ROUNDING = 2.0**-40


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
