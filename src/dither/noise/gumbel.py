"""Gumbel noise on the integers: the noise whose largest sum is the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, once, precision, set_fields
from dither.noise.bernoulli import BernoulliExp, Coin
from dither.noise.blocks import Arm, Floats, exp_minus, exp_minus_any
from dither.noise.entropy import BitSource
from dither.noise.law import WORKING_BITS, Integers, lattice_scale
from dither.noise.rejection import RejectionLaw

__all__ = ["Gumbel"]


@dataclass(frozen=True, init=False)
class Gumbel(RejectionLaw):
    """Gumbel noise on the integers: P[X ≤ x] = exp(−e^{−(x+1)/t}).

    Parameters
    ----------
    scale : Number
        t, in lattice steps, between 2^-100 and 2^900.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    X = ⌊t·G⌋ for a standard Gumbel variable G. On a lattice that is fine against t, adding it to scores and taking the
    largest is the exponential mechanism but for ties (claim C14). Sampled exactly: noise/gumbel.md and
    noise/rejection.md have the proof.

    Examples
    --------
    >>> Gumbel(10).quantile(0.975)
    36
    """

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        set_fields(self, scale=lattice_scale(scale))
        if self.scale < _SMALLEST_SCALE:
            raise ParameterError("scale must be at least 2^-100 lattice steps. Use a finer lattice.")

    def _pmf(self, x: int) -> Ball:
        """P[X = x] = exp(−e^{−(x+1)/t}) (1 − exp(−e^{−x/t} (1 − e^{−1/t}))): nothing cancels."""
        share = -ball(-1 / self.scale).expm1()
        return -self._cdf(x) * (-self._hazard(x) * share).expm1()

    def _tail(self, x: int) -> Ball:
        """P[X > x] = 1 − exp(−e^{−(x+1)/t})."""
        return -(-self._hazard(x + 1)).expm1()

    def _cdf(self, x: int) -> Ball:
        """P[X ≤ x] = exp(−e^{−(x+1)/t})."""
        return (-self._hazard(x + 1)).exp()

    def _hazard(self, x: int) -> Ball:
        """e^{−x/t}."""
        return ball(-x / self.scale).exp()

    @once
    def _doubles(self) -> tuple[float, float, float]:
        """1/t, e^{−1/t} and 1 − e^{−1/t}."""
        with precision(WORKING_BITS):
            step = ball(-1 / self.scale)
            return float(1 / self.scale), float(step.exp()), float(-step.expm1())

    def _arms(self) -> Sequence[Arm]:
        # The most likely point is 0, whatever the scale: gumbel.md.
        return (Arm(_Above(self), sign=1, first=0), Arm(_Below(self), sign=-1, first=1))

    def _draw(self, source: BitSource) -> int:
        if self.scale >= _STEEP:
            return super()._draw(source)
        x, outwards = (-1, -1) if _BELOW_ZERO._draw(source) else (0, 1)
        while _Onward(self, x, outwards)._draw(source):
            x += outwards
        return x

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        if self.scale >= _STEEP:
            return super()._draw_many(source, count)
        out = -_BELOW_ZERO._draw_many(source, count)
        for start, outwards in ((0, 1), (-1, -1)):
            x, there = start, np.flatnonzero(out == start)
            while len(there):
                onward = _Onward(self, x, outwards)._draw_many(source, len(there))
                x, there = x + outwards, there[onward == 1]
                out[there] = x
        return out


_SMALLEST_SCALE = Fraction(1, 2**100)  # below, e^{1/t} has too large an exponent for a ball
_STEEP = Fraction(1, 8)  # below, exp(−e^{2/t}) is no number that a table can hold, so points are reached by coins
_BELOW_ZERO = BernoulliExp(1)  # P[X < 0] = exp(−e^0)


@dataclass(frozen=True)
class _Onward(Coin):
    """Whether X lies further from 0 than x, if it lies at x or further; `outwards` is the direction, 1 or −1."""

    law: Gumbel
    x: int
    outwards: int

    def chance(self) -> Ball:
        """P[X > x | X ≥ x] upwards from x ≥ 0, P[X < x | X ≤ x] downwards from x < 0."""
        if self.outwards > 0:
            return self.law.tail(self.x) / self.law.tail(self.x - 1)
        return (ball(-1 / self.law.scale).expm1() * self.law._hazard(self.x)).exp()


@dataclass(frozen=True)
class _Above:
    """The points 0, 1, 2, …: an exponential tail."""

    law: Gumbel

    def weight(self, i: int) -> Ball:
        return self.law.pmf(i)

    def tail_bound(self, i: int) -> Ball:
        return self.law.tail(i - 1)

    def ratio(self, near: Floats, offset: Floats) -> Floats:
        """e^{−d} · e^{q (H − H′)} · φ(sH′)/φ(sH) with an error below 2^-46; the letters are in gumbel.md."""
        rate, q, s = self.law._doubles
        fall, hazard = exp_minus_any(offset * rate), exp_minus_any(near * rate)
        later = hazard * fall
        rise = exp_minus(q * (hazard - later))
        quotient: Floats = fall / rise * (_mean_fall(s * later) / _mean_fall(s * hazard))
        return quotient


@dataclass(frozen=True)
class _Below:
    """The points −1, −2, …: a tail that falls like the exponential of an exponential."""

    law: Gumbel

    def weight(self, i: int) -> Ball:
        return self.law.pmf(-i)

    def tail_bound(self, i: int) -> Ball:
        return self.law.cdf(-i)

    def ratio(self, near: Floats, offset: Floats) -> Floats | None:
        """e^{−qH (e^d − 1)} · f(sH′)/f(sH), off by less than 2^-44, up to near/t = 8; the letters are in gumbel.md."""
        rate, q, s = self.law._doubles
        d, a = offset * rate, near * rate
        if np.any(a > _FARTHEST_BELOW):
            return None
        hazard, growth = 1 / exp_minus_any(a), 1 / exp_minus_any(d)
        chance = exp_minus_any(q * hazard * (d * _mean_fall(d) * growth))
        quotient: Floats = chance * (_fall(s * (hazard * growth)) / _fall(s * hazard))
        return quotient


_FARTHEST_BELOW = 8.0

_INVERSE_FACTORIALS = [1.0]
for _k in range(2, 20):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / _k)
_HIGHEST, *_LOWER = reversed(_INVERSE_FACTORIALS)


def _mean_fall(y: Floats) -> Floats:
    """φ(y) = (1 − e^{−y})/y for 0 ≤ y ≤ 1 with a relative error below 9 · 2^-53 (gumbel.md): Σ (−y)^k/(k + 1)!."""
    total = _HIGHEST + 0 * y
    for coefficient in _LOWER:
        total = coefficient - y * total
    return total


def _fall(y: Floats) -> Floats:
    """f(y) = 1 − e^{−y} for y ≥ 0 with a relative error below 11 · 2^-53 (gumbel.md)."""
    if isinstance(y, float):
        return y * _mean_fall(y) if y <= 1 else 1 - exp_minus_any(y)
    near: Floats = np.where(y <= 1, y * _mean_fall(np.minimum(y, 1.0)), 1 - exp_minus_any(y))
    return near
