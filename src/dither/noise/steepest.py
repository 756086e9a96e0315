"""The noise of smooth sensitivity that falls as fast as pure privacy allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from flint import ctx

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, once, precision, set_fields, whole
from dither.noise.blocks import Floats
from dither.noise.law import lattice_scale
from dither.noise.power_law import whole_power
from dither.noise.rejection import TwoSidedLaw

__all__ = ["LARGEST_INDEX", "Steepest"]

LARGEST_INDEX = 64
"""Of the tail: beyond, the law is a Laplace law for all that can be seen."""

_LARGEST_FAST_INDEX = 19  # steepest.md counts the roundings


@dataclass(frozen=True, init=False)
class Steepest(TwoSidedLaw):
    """Noise on the integers for smooth sensitivity, falling as fast as pure privacy allows.

    Parameters
    ----------
    scale : Number
        c, in lattice steps, between 2^-200 and 2^900.
    index : int
        a, from 2 to 64: P[|X| > x] falls like x^{−a}. The mean exists, the variance for a > 2.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    P[X = x] ∝ g(|x|/c) with g(w) = (1 − w)^{a−1} for w ≤ 1/a, and g(1/a) · ((1 + 1/a)/(1 + w))^{a+1} beyond; the slopes
    agree at 1/a. Among all symmetric densities whose logarithm changes by at most ε where the value moves by S dt and S
    itself by βS dt, each in the worst direction, this one with a = ε/β and c = S/β falls fastest at every point
    (mechanisms/smooth_sensitivity.md). Sampled exactly: noise/steepest.md and noise/rejection.md have the proof.

    Examples
    --------
    >>> Steepest(40, 4).quantile(0.975)
    46
    """

    scale: Fraction
    index: int

    def __init__(self, scale: Number, index: int) -> None:
        set_fields(self, scale=lattice_scale(scale), index=whole(index, "index"))
        check.at_least(2, index=self.index)
        if self.index > LARGEST_INDEX:
            raise ParameterError(f"index must be at most {LARGEST_INDEX}, got index={self.index}. Use DiscreteLaplace.")

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] for x ≥ 0."""
        return self._sum_from(x + 1) / self._whole()

    def _whole(self) -> Ball:
        """Σ g over all integers."""
        return 1 + 2 * self._sum_from(1)

    def _sum_from(self, first: int) -> Ball:
        """Σ g(n/c) over n ≥ first: powers of whole exponents add up to Bernoulli polynomials and Hurwitz's zeta."""
        with precision(ctx.prec + _GUARD_BITS):
            return self._core_sum(first) + self._tail_sum(max(first, self._last_of_core + 1))

    @property
    def _last_of_core(self) -> int:
        """The largest i with i/c ≤ 1/a."""
        return floor(self.scale / self.index)

    def _core_sum(self, first: int) -> Ball:
        """Σ (1 − n/c)^{a−1} for n from `first` to the end of the core: a difference of B_a, over a c^{a−1}."""
        if first > self._last_of_core:
            return Ball(0)
        above, below = (ball(self.scale - n) for n in (first - 1, self._last_of_core))
        difference = above.bernoulli_poly(self.index) - below.bernoulli_poly(self.index)
        return difference / (self.index * ball(self.scale) ** (self.index - 1))

    def _tail_sum(self, first: int) -> Ball:
        """C Σ (1 + n/c)^{−a−1} over n ≥ first = C c^{a+1} ζ(a + 1, c + first)."""
        power = self.index + 1
        return self._join() * ball(self.scale) ** power * Ball(power).zeta(ball(self.scale + first))

    def _join(self) -> Ball:
        """C = (1 − 1/a)^{a−1} (1 + 1/a)^{a+1}, with which the two parts meet."""
        inverse = Fraction(1, self.index)
        return ball(1 - inverse) ** (self.index - 1) * ball(1 + inverse) ** (self.index + 1)

    # ------------------------------------------------------ shape (both sides)

    def weight(self, i: int) -> Ball:
        """Compute the weight g at a distance.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            A ball that contains g(i/c).
        """
        place = i / self.scale
        if place * self.index <= 1:
            return ball(1 - place) ** (self.index - 1)
        return self._join() / ball(1 + place) ** (self.index + 1)

    def tail_bound(self, i: int) -> Ball:
        """Bound the sum of all weights from a distance on.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            At least Σ g(n) over n ≥ i.

        Notes
        -----
        As g decreases, it is g(i/c) + ∫_i^∞ g.
        """
        a, place = self.index, max(i / self.scale, Fraction(1, self.index))
        integral = self._join() / ball(1 + place) ** a
        if i * a < self.scale:
            integral = integral + ball(1 - i / self.scale) ** a - ball(1 - place) ** a
        return self.weight(i) + ball(self.scale) * integral / a

    def ratio(self, near: Floats, offset: Floats) -> Floats | None:
        """Compute g(near + offset) / g(near) in double precision.

        Parameters
        ----------
        near : float or array
            A distance, rounded to double.
        offset : float or array
            What is added to it, rounded to double.

        Returns
        -------
        float or array or None
            The ratio, with an error below 2^-44 where it is at least ½; None if that is not proved for these
            parameters.

        Notes
        -----
        It is ((1 − v₋)/(1 − u₋))^{a−1} ((1 + u₊)/(1 + v₊))^{a+1}, u = near/c, v = (near + offset)/c, with x₋ = min(x,
        1/a) and x₊ = max(x, 1/a). Only for indices that are not too large: see noise/steepest.md.
        """
        if self.index > _LARGEST_FAST_INDEX:
            return None
        joint = 1 / self.index
        u, v = near * self._inverse_scale, (near + offset) * self._inverse_scale
        core: Floats = (1 - _least(v, joint)) / (1 - _least(u, joint))
        tail: Floats = (1 + _largest(u, joint)) / (1 + _largest(v, joint))
        return whole_power(core, self.index - 1) * whole_power(tail, self.index + 1)

    @once
    def _inverse_scale(self) -> float:
        return float(1 / self.scale)


_GUARD_BITS = 64  # B_a(above) − B_a(below) cancels as many digits as the core has points fewer than c


def _least(x: Any, bound: float) -> Any:
    return min(x, bound) if isinstance(x, float) else np.minimum(x, bound)


def _largest(x: Any, bound: float) -> Any:
    return max(x, bound) if isinstance(x, float) else np.maximum(x, bound)
