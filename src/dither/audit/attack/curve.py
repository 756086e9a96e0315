"""What a claim allows: the largest chance of an event on one input, given its chance on the other.

A guarantee promises for every event E and both orders of two neighbours that P[E] ≤ 1 − β(Q[E]), with its trade-off
curve β (Dong, Roth and Su 2022): for (ε, δ)-DP it is at most e^ε Q[E] + δ, for zCDP and Gaussian DP a whole curve. One
event whose P is certainly above the curve refutes the claim, wherever on the curve that is. So a curve is looked at in
several places at once, each with its share of the false alarms.

Sides: `beta` is never above the truth, so what is called excess exceeds what was truly claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dither.exact import ball
from dither.exact.certified import at_most, below
from dither.guarantees import ApproxDP, Guarantee, PureDP

__all__ = ["Allowed", "Floats", "epsilon_at_least"]

Floats = NDArray[np.float64]

_GRID = np.concatenate([np.geomspace(1e-7, 0.5, 60), np.linspace(0.55, 1.0, 10)])
_LARGE = 700.0  # an ε that allows everything, and whose exponential is a float
_CURVE_BANDS = (0.003, 0.03, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Allowed:
    """A claim as the auditor sees it."""

    claim: Guarantee

    @property
    def _point(self) -> tuple[Fraction, Fraction] | None:
        """(ε, δ) where these two numbers are all that is claimed."""
        if isinstance(self.claim, PureDP):
            return self.claim.stated_epsilon, Fraction(0)
        if isinstance(self.claim, ApproxDP):
            return self.claim.stated_epsilon, self.claim.stated_delta
        return None

    @property
    def delta(self) -> Fraction:
        """The δ of the claim; 0 for a curve, which has one for every ε."""
        return Fraction(0) if self._point is None else self._point[1]

    @property
    def is_pure(self) -> bool:
        """Whether all that is claimed is one ε, with δ = 0."""
        return self._point is not None and not self._point[1]

    @property
    def bands(self) -> Sequence[float]:
        """Where to look: one event for a point, and one in each of several places of a curve."""
        return _CURVE_BANDS if self._point is None else (1.0,)

    def is_exceeded(self, at_least: Fraction, at_most_other: Fraction) -> bool:
        """Whether chances of at least `at_least` here and at most `at_most_other` there certainly break the claim."""
        if self._point is None:
            return 1 - at_least < Fraction(self.claim.beta(at_most_other))
        epsilon, delta = self._point
        return at_most(lambda: ball(epsilon).exp() * ball(at_most_other) + ball(delta), at_least)

    # ---------------------------------------------- for the search, in floats

    def beyond(self, low: Floats, high: Floats) -> Floats:
        """How far beyond the claim two chances are, about: positive beyond it, in units of ε for a point."""
        if self._point is None:
            missed = np.maximum(np.interp(high, _GRID, self._curve), 1e-12)
            odds = np.log(missed / np.maximum(1 - low, 1e-12)) + np.log(np.maximum(low, 1e-12) / (1 - missed))
            return np.asarray(odds)
        epsilon, delta = (float(x) for x in self._point)
        return np.asarray(np.log(np.maximum(low - delta, 1e-300) / np.maximum(high, 1e-300)) - epsilon)

    def most(self, other: Floats) -> Floats:
        """The largest chance that is allowed on one input, about, for chances on the other."""
        if self._point is None:
            return np.asarray(1 - np.interp(other, _GRID, self._curve))
        epsilon, delta = (float(x) for x in self._point)
        return np.asarray(math.exp(min(epsilon, _LARGE)) * other + delta)

    @cached_property
    def _curve(self) -> Floats:
        return np.array([self.claim.beta(float(alpha)) for alpha in _GRID])


def epsilon_at_least(at_least: Fraction, at_most_other: Fraction, delta: Fraction) -> float:
    """The ε that an event proves: ln((P − δ)/Q), rounded down; 0 if it proves nothing."""
    if not at_least > delta + at_most_other:
        return 0.0
    return max(0.0, below(lambda: (ball(at_least - delta) / ball(at_most_other)).log()))
