"""Noise on 0, 1, 2, …: the one-sided geometric law, which is the exponential law on a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dither.exact import Ball, Number, ball, set_fields
from dither.noise.blocks import Arm, Floats, exp_minus
from dither.noise.direct_samplers import DirectGeometric
from dither.noise.law import lattice_scale
from dither.noise.rejection import RejectionLaw

__all__ = ["ExponentialDecay", "Geometric"]


@dataclass(frozen=True, init=False)
class ExponentialDecay:
    """The shape g(i) = e^{−i/t}, with t = `scale`; shared by the one- and the two-sided law."""

    scale: Fraction
    _rate: float = field(repr=False, compare=False)

    def __init__(self, scale: Number) -> None:
        set_fields(self, scale=lattice_scale(scale))
        set_fields(self, _rate=float(1 / self.scale))

    def weight(self, i: int) -> Ball:
        """Compute the weight g at a distance.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            A ball that contains g(i) = e^{−i/t}.
        """
        return self._exponent(i).exp()

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
        It is the sum itself: e^{−i/t} / (1 − e^{−1/t}).
        """
        return self.weight(i) / -self._exponent(1).expm1()

    def _exponent(self, i: int) -> Ball:
        """−i/t; dividing balls is much faster than dividing fractions."""
        return ball(-i * self.scale.denominator) / self.scale.numerator

    def ratio(self, near: Floats, offset: Floats) -> Floats:
        """Compute g(near + offset) / g(near) in double precision.

        Parameters
        ----------
        near : float or array
            A distance, rounded to double.
        offset : float or array
            What is added to it, rounded to double.

        Returns
        -------
        float or array
            The ratio, with an error below 2^-44 where it is at least ½.

        Notes
        -----
        It is e^{−offset/t}: three roundings of a number below 1, then `exp_minus`.
        """
        return exp_minus(offset * self._rate)


@dataclass(frozen=True, init=False)
class Geometric(ExponentialDecay, RejectionLaw):
    """One-sided geometric noise on the integers: P[X = x] = (1 − e^{−1/t}) e^{−x/t} for x ≥ 0.

    Parameters
    ----------
    scale : Number
        t, in lattice steps, between 2^-200 and 2^900.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    It is the whole part of an exponential variable of scale t, and the noise of permute-and-flip on a lattice. Sampled
    exactly: noise/geometric.md and noise/rejection.md have the proof.

    Examples
    --------
    >>> int(Geometric(3).quantile(0.5))
    2
    """

    def _pmf(self, x: int) -> Ball:
        """P[X = x]."""
        if x < 0:
            return ball(0)
        return -self._exponent(1).expm1() * self.weight(x)

    def _tail(self, x: int) -> Ball:
        """P[X > x] = e^{−(x+1)/t}."""
        return self.weight(max(x + 1, 0))

    def _cdf(self, x: int) -> Ball:
        """P[X ≤ x] = 1 − e^{−(x+1)/t}."""
        return -self._exponent(max(x + 1, 0)).expm1()

    def _arms(self) -> Sequence[Arm]:
        return (Arm(self, sign=1, first=0),)

    def _direct(self) -> DirectGeometric:
        return DirectGeometric(self.scale)
