"""Pairs of integer noise: the discrete Laplace and the discrete Gaussian law, moved by a whole number.

Scaled noise on a lattice sℤ is integer noise with scale and sensitivity divided by s. In both laws the loss
decreases in the outcome x, so the best tests are {x ≤ m}, and δ(ε) = max over m of P[x ≤ m] − e^ε Q[x ≤ m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy
from flint import ctx

from dither.errors import ParameterError, PrecisionError
from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Mirrored, Pair, Tails, whole_steps

__all__ = ["DiscreteGaussianPair", "DiscreteLaplacePair"]


@dataclass(frozen=True)
class DiscreteLaplacePair(Mirrored):
    """P[X = x] ∝ e^{−|x|/t} on ℤ, t = `scale`, against its shift by Δ = `sensitivity`.

    L(x) = (|x − Δ| − |x|)/t takes the values Δ/t, (Δ−2)/t, ..., −Δ/t. With a = e^{−1/t} and 0 ≤ m < Δ,
    P[X ≤ m] = 1 − a^{m+1}/(1+a) and Q[X ≤ m] = a^{Δ−m}/(1+a). A smaller Δ/t at the same Δ is dominated:
    with probability a/a′ keep X, else add fresh noise of the wider law a′ > a.
    """

    scale: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.positive(scale=self.scale)
        check.count(sensitivity=self.sensitivity)

    def profile(self, epsilon: Ball) -> Ball:
        shift, t = self.sensitivity, ball(self.scale)
        a = (-1 / t).exp()
        best = (-epsilon.expm1()).max(Ball(0))
        candidates = _candidates((shift - epsilon * t) / 2, 0, shift - 1)
        if _are_many(candidates):
            return best.union(Ball(1))
        for m in candidates:
            p = 1 - a ** (m + 1) / (1 + a)
            best = best.max(p - epsilon.exp() * a ** (shift - m) / (1 + a))
        return best

    def tail(self, n: int) -> Ball:
        """P[X > n]."""
        wide = (-ball((n + 1 if n >= 0 else -n) / self.scale)).exp() / (1 + ball(-1 / self.scale).exp())
        return wide if n >= 0 else 1 - wide

    def log_tail(self, n: FloatArray) -> FloatArray:
        """ln P[X > n] for an array of whole numbers."""
        wide = -np.where(n >= 0, n + 1, -n) / float(self.scale) - math.log1p(math.exp(-1 / float(self.scale)))
        return np.where(n >= 0, wide, np.log1p(-np.exp(wide)))

    @once
    def _top(self) -> float:
        return float(self.sensitivity / self.scale)

    def tails(self, losses: FloatArray) -> Tails:
        t, shift, top = float(self.scale), self.sensitivity, self._top
        m = np.clip(np.ceil((shift - np.clip(losses, -top, top) * t) / 2) - 1, 0, shift - 1)
        normal = 1 + math.exp(-1 / t)
        p = 1 - np.exp(-(m + 1) / t) / normal
        scaled_q = np.exp(np.minimum(losses, top) - (shift - m) / t) / normal
        below, above = losses < -top, losses >= self.support[1]
        p = np.where(below, 1.0, np.where(above, 0.0, p))
        scaled_q = np.where(below, np.exp(np.minimum(losses, 0.0)), np.where(above, 0.0, scaled_q))
        return Tails(p, scaled_q, POSITION_ERROR * (16 + 4 * top))

    def _largest_loss(self) -> Ball:
        return ball(self.sensitivity / self.scale)

    @property
    def largest_loss(self) -> Fraction:
        return self.sensitivity / self.scale

    @property
    def atoms(self) -> Atoms:
        return Atoms(self._top, float(2 / self.scale))

    def shrunk(self, step: float) -> DiscreteLaplacePair:
        steps = whole_steps(float(2 / self.scale) / step)
        if steps < 1:
            return self
        return DiscreteLaplacePair(max(self.scale, 2 / (Fraction(step) * steps)), self.sensitivity)


@dataclass(frozen=True)
class DiscreteGaussianPair(Pair):
    """P[X = x] ∝ e^{−x²/2σ²} on ℤ, σ² = `variance`, against its shift by Δ = `sensitivity`.

    L(x) = Δ(Δ − 2x)/(2σ²). With T(n) = P[X > n] and n = ⌊εσ²/Δ − Δ/2⌋, δ(ε) = T(n) − e^ε T(n + Δ)
    (Canonne, Kamath and Steinke 2020, Theorem 7). T is summed for σ < 10⁴; above, by the midpoint rule
    T(n) = Φ(−z) − z·φ(z)/(24σ²) with z = (n + ½)/σ, off by at most (7/5760)(z⁴ + 6z² + 3)/σ⁴ relative
    (Euler and Maclaurin; the sum of all weights is σ√(2π) up to e^{−2π²σ²}).
    """

    variance: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.positive(variance=self.variance)
        check.count(sensitivity=self.sensitivity)
        if self.variance > _LARGEST_VARIANCE:
            raise ParameterError(f"variance must be at most {_LARGEST_VARIANCE} on a lattice, got {self.variance}.")

    @property
    def _is_summed(self) -> bool:
        return self.variance < _LARGEST_SUMMED

    def profile(self, epsilon: Ball) -> Ball:
        shift = self.sensitivity
        best = (-epsilon.expm1()).max(Ball(0))
        place = epsilon * ball(self.variance) / shift - ball(Fraction(shift, 2))
        candidates = _candidates(place, -_FARTHEST, _FARTHEST)
        if _are_many(candidates):
            return best.union(Ball(1))
        for n in candidates:
            best = best.max(_ball_tail(self.variance, n) - epsilon.exp() * _ball_tail(self.variance, n + shift))
        return best

    def tails(self, losses: FloatArray) -> Tails:
        shift, variance = self.sensitivity, float(self.variance)
        sigma = math.sqrt(variance)
        if not shift <= _LARGEST_MU * sigma:
            raise OverflowError("the tails of the neighbour are beyond the table, and beyond the midpoint rule")
        limit = 36 * sigma + shift + 2
        n = np.floor(np.clip(losses * variance / shift - shift / 2, -limit, limit))
        z = n / sigma
        with np.errstate(divide="ignore"):
            p = np.exp(self.log_tail(n))
            scaled_q = np.exp(np.minimum(losses + self.log_tail(n + shift), 0.0))
        # The 8 holds ERFCX_ERROR, which is 4 of them; the squares hold |ℓ|, which is about half of their difference.
        error = POSITION_ERROR * (8 + z * z + (z + shift / sigma) ** 2)
        # The midpoint rule is off by (7/5760)·z⁴/σ⁴ at either place: for σ ≥ 10⁴ and z < 38, where floats end, a fifth
        # of the squares, and at z + Δ/σ < 38 + 50 still less than they are.
        return Tails(p, np.minimum(scaled_q, p), error)

    def tail(self, n: int) -> Ball:
        """T(n) = P[X > n]."""
        return _ball_tail(self.variance, n)

    def log_tail(self, n: FloatArray) -> FloatArray:
        """ln T(n) for an array of whole numbers; T(n) = 1 − T(−n−1) for n < 0."""
        mirrored = np.where(n < 0, -n - 1, n)
        if self._is_summed:
            table = _table(self.variance, self.sensitivity)
            logs = table[np.minimum(mirrored, len(table) - 1).astype(np.int64)]
        else:
            sigma = math.sqrt(self.variance)
            z = (mirrored + 0.5) / sigma
            inner = 0.5 * scipy.special.erfcx(z / math.sqrt(2)) - z / (24 * sigma**2 * math.sqrt(2 * math.pi))
            logs = np.log(inner) - z * z / 2
        return np.where(n < 0, np.log1p(-np.exp(logs)), logs)

    def swapped(self) -> DiscreteGaussianPair:
        return self

    @property
    def atoms(self) -> Atoms:
        spacing = self.sensitivity / self.variance
        return Atoms(float(self.sensitivity * spacing / 2), float(spacing))


_LARGEST_SUMMED = 10**8
_LARGEST_MU = 50  # of Δ/σ in floats
_LARGEST_VARIANCE = 10**24
_FARTHEST = 10**40
_MOST_CANDIDATES = 64


def _candidates(place: Ball, least: int, most: int) -> range:
    """The whole numbers m = ⌈place⌉ − 1 may be, for a place known as a ball, inside [least, most]."""
    low, high = _ceilings(place)
    first = min(max(low - 1, least), most)
    return range(first, min(max(high - 1, first), most) + 1)


def _are_many(candidates: range) -> bool:
    """Whether the place is known too roughly to look at all: then nothing is known but that δ is at most 1."""
    return candidates.stop - candidates.start > _MOST_CANDIDATES


def _ceilings(place: Ball) -> tuple[int, int]:
    ends = (place.lower().ceil().unique_fmpz(), place.upper().ceil().unique_fmpz())
    if ends[0] is None or ends[1] is None:
        raise PrecisionError("a threshold on the lattice is too large to be a whole number at this precision")
    return int(ends[0]), int(ends[1])


@lru_cache(maxsize=16)
def _table(variance: Fraction, shift: int) -> FloatArray:
    """ln T(n) for n = 0, 1, ..., up to 38 standard deviations and a shift, in the longest floats there are.

    Those hold e^{−11000}, hence 38 + 50 standard deviations.
    """
    twice = np.longdouble(float(2 * variance))
    sigma = math.sqrt(variance)
    x = np.arange(1, math.ceil(38.5 * sigma) + min(shift, math.ceil(_LARGEST_MU * sigma)) + 12, dtype=np.longdouble)
    weights = np.exp(-x * x / twice)
    sums = np.cumsum(weights[::-1])[::-1]
    tails: FloatArray = np.log(sums / (1 + 2 * sums[0])).astype(np.float64)
    return tails


@lru_cache(maxsize=4096)
def _ball_tail_at(variance: Fraction, n: int, bits: int) -> Ball:
    if n < 0:
        return 1 - _ball_tail_at(variance, -n - 1, bits)
    if variance >= _LARGEST_SUMMED:
        return _midpoint_tail(variance, n)
    sums = _ball_sums(variance, bits)
    above = sums[n] if n < len(sums) else _ball_sum(variance, n + 1)
    return above / (1 + 2 * sums[0])


def _ball_tail(variance: Fraction, n: int) -> Ball:
    return _ball_tail_at(variance, n, ctx.prec)


@lru_cache(maxsize=8)
def _ball_sums(variance: Fraction, bits: int) -> list[Ball]:
    """Σ_{x > n} e^{−x²/2σ²} for n = 0, 1, ..., up to 14 standard deviations, the smallest terms added first."""
    square, last = ball(1 / (2 * variance)), 14 * (math.isqrt(int(variance)) + 1)
    term = (-square).exp()
    ratio, factor = (-3 * square).exp(), (-2 * square).exp()
    sums = []
    for _ in range(last):
        sums.append(term)
        term, ratio = term * ratio, ratio * factor
    total = _ball_sum(variance, last + 1)
    for n in reversed(range(last)):
        total = sums[n] = sums[n] + total
    return sums


def _ball_sum(variance: Fraction, first: int) -> Ball:
    """Σ_{x ≥ first} e^{−x²/2σ²} for first ≥ 1: terms until they are negligible, then a geometric bound."""
    square = ball(1 / (2 * variance))
    term = (-square * first * first).exp()
    ratio, factor = (-square * (2 * first + 1)).exp(), (-2 * square).exp()
    total, small = term, term * Ball(2) ** -160
    while not term * ratio <= small * (1 - ratio):
        term = term * ratio
        ratio = ratio * factor
        total = total + term
    rest = term * ratio / (1 - ratio)
    return total + rest.union(Ball(0))


def _midpoint_tail(variance: Fraction, n: int) -> Ball:
    sigma = ball(variance).sqrt()
    z = (n + Ball(0.5)) / sigma
    tail = (z / Ball(2).sqrt()).erfc() / 2
    density = (-z * z / 2).exp() / (2 * Ball.pi()).sqrt()
    bound = tail * Ball(7) / 5760 * (z**4 + 6 * z**2 + 3) / ball(variance) ** 2 * 2
    return tail - z * density / (24 * ball(variance)) + bound.union(-bound)
