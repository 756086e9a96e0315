"""Noise on 0, 1, 2, …: the one-sided geometric law, which is the exponential law on a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dither.exact import Ball, Number, ball, set_fields
from dither.noise.blocks import Arm, Floats, exp_minus
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
        """g(i) = e^{−i/t}."""
        return self._exponent(i).exp()

    def tail_bound(self, i: int) -> Ball:
        """The sum of g(n) over n ≥ i: e^{−i/t} / (1 − e^{−1/t})."""
        return self.weight(i) / -self._exponent(1).expm1()

    def _exponent(self, i: int) -> Ball:
        """−i/t; dividing balls is much faster than dividing fractions."""
        return ball(-i * self.scale.denominator) / self.scale.numerator

    def ratio(self, near: Floats, offset: Floats) -> Floats:
        """e^{−offset/t}: three roundings of a number below 1, then `exp_minus`; the error is below 2^-44."""
        return exp_minus(offset * self._rate)


@dataclass(frozen=True, init=False)
class Geometric(ExponentialDecay, RejectionLaw):
    """Integer noise X ≥ 0 with P[X = x] = (1 − e^{−1/t}) e^{−x/t}, t = `scale`.

    It is the whole part of an exponential variable of scale t, and the noise of permute-and-flip on a lattice.
    Sampled exactly: see geometric.md and rejection.md.

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
