"""Gaussian noise on a value that a record moves by a random amount: a mixture of normal laws against one.

In units of the noise P = Σ wᵢ N(mᵢ, 1) with mᵢ ≥ 0 and Q = N(0, 1); `is_swapped` is (Q, P). The loss at an outcome x is

    L(x) = ln Σ wᵢ e^{mᵢx − mᵢ²/2},

which grows with x, from ln w₀ (w₀ the weight of mᵢ = 0; −∞ without it) to ∞. So the best tests are {x > z} with
L(z) = ε, and δ(ε) = Σ wᵢ Φ(mᵢ − z) − e^ε Φ(−z); in the other direction {x < z} with L(z) = −ε, and
δ(ε) = Φ(z) − e^ε Σ wᵢ Φ(z − mᵢ). L is convex, so Newton's method comes down to z from any place above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy
from flint import ctx

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, lower, once, precision, upper
from dither.pairs.gaussian import ERFCX_ERROR
from dither.pairs.pair import POSITION_ERROR, PROFILE_BITS, FloatArray, Pair, Tails

__all__ = ["GaussianMixturePair"]

_STEPS = 200
_LARGEST, _LEAST = 1e6, 1e-6
_ROOT_TWO = math.sqrt(2)


@dataclass(frozen=True)
class GaussianMixturePair(Pair):
    """Σ wᵢ N(mᵢ, 1) against N(0, 1), mᵢ² = `squared_means`[i] and wᵢ = `weights`[i].

    A mean farther from 0 dominates a nearer one: every test {x > z} gains by it, and {x < z} in the other direction.

    >>> half = Fraction(1, 2)
    >>> GaussianMixturePair((Fraction(0), Fraction(1)), (half, half)).delta(1)
    0.0288...
    """

    squared_means: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    is_swapped: bool = False

    def __post_init__(self) -> None:
        if not 0 < len(self.squared_means) == len(self.weights):
            raise ParameterError(
                f"give one weight for each mean, got {len(self.weights)} and {len(self.squared_means)}."
            )
        check.positive(smallest_weight=min(self.weights))
        check.nonnegative(smallest_mean=min(self.squared_means))
        if sum(self.weights) != 1:
            raise ParameterError(f"weights must add up to 1, got {sum(self.weights)}.")
        if not any(self.squared_means):
            raise ParameterError("at least one mean must be larger than 0: otherwise nothing is moved.")
        largest = math.sqrt(max(self.squared_means))
        if not _LEAST <= largest <= _LARGEST:
            raise ParameterError(f"the largest sensitivity over σ must lie between 1e-6 and 1e6, got {largest:.3g}.")

    def _parts(self) -> Iterable[tuple[Ball, Ball]]:
        for square, weight in zip(self.squared_means, self.weights, strict=True):
            yield ball(square).sqrt(), ball(weight)

    @once
    def _at_rest(self) -> Fraction:
        """w₀: how much is not moved at all."""
        return sum((w for square, w in zip(self.squared_means, self.weights, strict=True) if not square), Fraction(0))

    def _loss(self, x: Ball) -> tuple[Ball, Ball]:
        """L(x) and its slope."""
        terms = [(mean, weight * (mean * (x - mean / 2)).exp()) for mean, weight in self._parts()]
        total = sum((term for _, term in terms), Ball(0))
        return total.log(), sum((mean * term for mean, term in terms), Ball(0)) / total

    def profile(self, epsilon: Ball) -> Ball:
        """Of a ball at both of its ends, between which it falls."""
        ends = [self._profile_at(end) for end in (epsilon.lower(), epsilon.upper())]
        return ends[0].union(ends[1])

    def _profile_at(self, epsilon: Ball) -> Ball:
        loss = -epsilon if self.is_swapped else epsilon
        everything = Ball(0) if self.is_swapped else -epsilon.expm1()
        if self._at_rest:
            least = ball(self._at_rest).log()
            if loss <= least:  # everything is in the test, or nothing
                return everything
            if not loss > least:
                return everything.union(Ball(0) if self.is_swapped else 1 - ball(self._at_rest))
        x, odds = self._place(loss), epsilon.exp()
        tails = [(weight, _above(x - mean), _above(mean - x)) for mean, weight in self._parts()]
        if self.is_swapped:
            return _above(-x) - odds * sum((weight * below for weight, _, below in tails), Ball(0))
        return sum((weight * above for weight, above, _ in tails), Ball(0)) - odds * _above(x)

    def _place(self, loss: Ball) -> Ball:
        """A ball that holds z with L(z) = `loss`: Newton's method, then a radius at whose ends L differs."""
        x = Ball(float(self._places(np.array([float(loss.mid())]))[0]))
        for _ in range(_STEPS):
            found, slope = self._loss(x)
            step = ((found - loss) / slope).mid()
            x = (x - step).mid()
            if not abs(step) > Ball(2) ** -(ctx.prec // 2):
                break
        radius = (1 + abs(x)) * Ball(2) ** (16 - ctx.prec)
        for _ in range(_STEPS):
            if self._loss(x - radius)[0] < loss < self._loss(x + radius)[0]:
                return (x - radius).union(x + radius)
            radius = radius * 4
        raise OverflowError("no place with this loss was found")

    @once
    def _floats(self) -> tuple[FloatArray, FloatArray]:
        """Means and the logarithms of their weights."""
        means = np.array([math.sqrt(square) for square in self.squared_means])
        return means, np.array([math.log(weight) for weight in self.weights])

    def _places(self, losses: FloatArray) -> FloatArray:
        """z with L(z) = ℓ in floats, for losses above ln w₀.

        Each mean alone gives a place at which L is ℓ or more: the first of them starts Newton's method.
        """
        means, logs = self._floats
        moved = means > 0
        starts = (losses[:, None] - logs[moved] + means[moved] ** 2 / 2) / means[moved]
        x: FloatArray = starts.min(axis=1)
        for _ in range(_STEPS):
            exponents = logs + means * (x[:, None] - means / 2)
            top = exponents.max(axis=1)
            terms = np.exp(exponents - top[:, None])
            total = terms.sum(axis=1)
            step = (top + np.log(total) - losses) * total / (terms @ means)
            x = x - step
            if np.all(np.abs(step) <= 1e-15 * (1 + np.abs(x))):
                break
        return x

    def tails(self, losses: FloatArray) -> Tails:
        """Masses of {x > z} at the rounded z: these are one test, whose loss is off by the rounding of L."""
        means, logs = self._floats
        sign = -1.0 if self.is_swapped else 1.0
        p, scaled_q = np.zeros(len(losses)), np.zeros(len(losses))
        error = np.full(len(losses), POSITION_ERROR * (8 + 4 * np.abs(losses)))
        inside = sign * losses > (math.log(self._at_rest) if self._at_rest else -math.inf)
        if not self.is_swapped:  # left of every loss all is in the test
            p[~inside], scaled_q[~inside] = 1.0, np.exp(np.minimum(losses[~inside], 0.0))
        x, wanted = self._places(sign * losses[inside]), losses[inside]
        here, zero = sign * (x[:, None] - means), np.zeros(len(x))
        shares = np.exp(logs)
        if self.is_swapped:
            p[inside] = _float_tail(-x, zero)
            scaled_q[inside] = _float_tail(here, wanted[:, None]) @ shares
        else:
            p[inside] = _float_tail(here, np.zeros_like(here)) @ shares
            scaled_q[inside] = _float_tail(x, wanted)
        reach = np.abs(x) + means.max()
        rounding = 16 + 4 * len(means) + 4 * reach**2 + 4 * np.abs(wanted) + 2 * float(np.abs(logs).max())
        error[inside] = 2 * ERFCX_ERROR + POSITION_ERROR * rounding
        return Tails(p, np.minimum(scaled_q, p), error)

    def swapped(self) -> GaussianMixturePair:
        return replace(self, is_swapped=not self.is_swapped)

    @property
    def is_symmetric(self) -> bool:
        return len(set(self.squared_means)) == 1

    @property
    def support(self) -> tuple[float, float]:
        if not self._at_rest:
            return -math.inf, math.inf
        with precision(PROFILE_BITS):
            least = ball(self._at_rest).log()
            return (-math.inf, upper(-least)) if self.is_swapped else (lower(least), math.inf)


def _above(z: Ball) -> Ball:
    """P[N(0, 1) > z]."""
    return (z / Ball(2).sqrt()).erfc() / 2


def _float_tail(z: FloatArray, logs: FloatArray) -> FloatArray:
    """e^log · P[N(0, 1) > z] without an overflow on the way."""
    tail: FloatArray = 0.5 * np.exp(logs - z * z / 2) * scipy.special.erfcx(np.abs(z) / _ROOT_TWO)
    return np.where(z < 0, np.exp(np.minimum(logs, 700.0)) - tail, tail)
