"""Pairs of noise that is not symmetric: Gumbel and one-sided geometric noise, moved up by a whole number.

(P, Q) = (X, X + Δ); `is_swapped` is the other direction. In both laws q/p grows with the outcome, so the best tests
are {x ≤ m}, or {x > m} in the other direction, and a larger Δ dominates a smaller one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once, precision, rational, upper
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Pair, Tails

__all__ = ["GeometricPair", "GumbelPair"]

_LARGEST = 500
_MOST_TESTS = 8


@dataclass(frozen=True)
class GumbelPair(Pair):
    """X = ⌊t·G⌋ for a standard Gumbel variable G, t = `scale`, against X + Δ, Δ = `sensitivity`.

    With H = e^{−(m+1)/t} and k = e^{Δ/t}, P[X ≤ m] = e^{−H} and Q[X ≤ m] = e^{−kH} = P[X ≤ m]^k. So with u = e^{−H}

        δ(ε) = max_m u − e^ε u^k,   in the other direction   δ(ε) = max_m (1 − u^k) − e^ε(1 − u).

    Both are concave in u, and largest over all reals at H = (Δ/t ± ε)/(k − 1), so the best m is next to that. The ratio
    q/p is a mean of ku^{k−1} over [P[X < x], P[X ≤ x]] and grows with x. Both maxima grow with k, hence with Δ.

    >>> from dither.pairs import ProfileOf
    >>> ProfileOf(GumbelPair(Fraction(10))).epsilon("1e-6")
    1.09608166285700...
    """

    scale: Fraction
    sensitivity: int = 1
    is_swapped: bool = False

    def __post_init__(self) -> None:
        check.positive(scale=self.scale)
        check.count(sensitivity=self.sensitivity)
        if not self._largest <= _LARGEST:
            raise ParameterError(f"sensitivity/scale must be at most {_LARGEST}, got {self._largest}. Add more noise.")

    @property
    def _largest(self) -> Fraction:
        return self.sensitivity / self.scale

    def _gain(self, hazard: Ball, epsilon: Ball) -> Ball:
        """P(A) − e^ε Q(A) of the test at H = `hazard`."""
        power = ball(self._largest).exp()
        if self.is_swapped:
            return -(-power * hazard).expm1() + epsilon.exp() * (-hazard).expm1()
        return (-hazard).exp() - epsilon.exp() * (-power * hazard).exp()

    def profile(self, epsilon: Ball) -> Ball:
        largest, t = ball(self._largest), ball(self.scale)
        everything = (-epsilon.expm1()).max(Ball(0))
        hazard = (largest - epsilon if self.is_swapped else largest + epsilon) / largest.expm1()
        if hazard <= 0:
            return everything
        if not hazard > 0:
            return everything.union(everything.max(self._gain(hazard.upper(), epsilon)))
        place = -t * hazard.log() - 1
        first, last = (end.unique_fmpz() for end in (place.lower().floor(), place.upper().ceil()))
        if first is not None and last is not None and last - first <= _MOST_TESTS:
            best = everything
            for m in range(int(first), int(last) + 1):
                best = best.max(self._gain((-(m + 1) / t).exp(), epsilon))
            return best
        # The lattice is finer than the working precision: between what one of its points and what the best real gains.
        some = (-(place.mid().floor() + 1) / t).exp()
        return everything.max(self._gain(some, epsilon)).union(everything.max(self._gain(hazard, epsilon)))

    def tails(self, losses: FloatArray) -> Tails:
        t, largest = float(self.scale), float(self._largest)
        sign = -1.0 if self.is_swapped else 1.0
        hazard = np.maximum(largest + sign * losses, 2.0**-50 * largest) / math.expm1(largest)
        place = np.floor(-t * np.log(hazard) - 1)
        tests = [self._test(place + next_, losses) for next_ in (0.0, 1.0)]
        is_next = tests[1].p - tests[1].scaled_q > tests[0].p - tests[0].scaled_q
        p, scaled_q, error = (np.where(is_next, b, a) for a, b in zip(*tests, strict=True))
        if self.is_swapped:
            inside = losses < self.support[1]
            return Tails(np.where(inside, p, 0.0), np.where(inside, scaled_q, 0.0), error)
        inside = losses > self.support[0]
        return Tails(np.where(inside, p, 1.0), np.where(inside, scaled_q, np.exp(np.minimum(losses, 0.0))), error)

    def _test(self, m: FloatArray, losses: FloatArray) -> Tails:
        """Both masses of the test at m. The rounding of H counts times kH in u^k, and once in 1 − u^k."""
        distance = (m + 1) / float(self.scale)
        with np.errstate(over="ignore"):
            hazard, moved = np.exp(-distance), np.exp(float(self._largest) - distance)
            grown = np.exp(np.minimum(losses, 700.0))
            if self.is_swapped:
                p, scaled_q = -np.expm1(-moved), -grown * np.expm1(-hazard)
            else:
                p, scaled_q = np.exp(-hazard), np.exp(np.minimum(losses - moved, 0.0))
        amplified = 1.0 if self.is_swapped else 1 + np.minimum(moved, 1e6)
        error = POSITION_ERROR * (8 + np.abs(losses) + amplified * (4 + np.abs(distance) + float(self._largest)))
        return Tails(p, np.minimum(scaled_q, p), error)

    def swapped(self) -> GumbelPair:
        return replace(self, is_swapped=not self.is_swapped)

    @property
    def support(self) -> tuple[float, float]:
        with precision(128):
            largest = upper(ball(self._largest))
        return (-math.inf, largest) if self.is_swapped else (-largest, math.inf)


@dataclass(frozen=True)
class GeometricPair(Pair):
    """P[X = x] ∝ e^{−x/t} on 0, 1, 2, …, against X + Δ, Δ/t = `largest`; also exponential noise on the line.

    X < Δ gives everything away: it has probability 1 − b under P and 0 under Q, b = e^{−Δ/t}. Elsewhere p/q = b. So

        δ(ε) = 1 − b + (b − e^ε)₊,   in the other direction   δ(ε) = (1 − e^{ε−Δ/t})₊:

    as noise on a value it keeps no ε without a δ of 1 − b. Several are one: the Δ/t add up. `infinity` is 1 − b rounded
    up, by less than 2^-100.

    >>> GeometricPair(Fraction(1, 10)).delta(5), GeometricPair(Fraction(1, 10)).swapped().epsilon(0)
    (0.09516258196404..., 0.1)
    """

    largest: Fraction
    is_swapped: bool = False

    def __post_init__(self) -> None:
        check.positive(largest=self.largest)

    def profile(self, epsilon: Ball) -> Ball:
        largest = ball(self.largest)
        if self.is_swapped:
            return (-(epsilon - largest).expm1()).max(Ball(0))
        return (-(-largest).expm1()).max(-epsilon.expm1())

    def tails(self, losses: FloatArray) -> Tails:
        largest = float(self.largest)
        if self.is_swapped:
            inside = losses < self.support[1]
            p, scaled_q = np.ones(len(losses)), np.exp(np.minimum(losses - largest, 0.0))
        else:
            inside = losses < -largest
            p, scaled_q = np.full(len(losses), math.exp(-largest)), np.exp(np.minimum(losses, -largest))
        error = POSITION_ERROR * (4 + largest)
        return Tails(np.where(inside, p, 0.0), np.where(inside, scaled_q, 0.0), error)

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        """For ε ≥ 0 the profile is 1 − b all the way: either ε = 0 is enough or nothing is."""
        if self.is_swapped:
            return super().bracket(delta)
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        low, high = self.delta_bracket(Fraction(0))
        return (0.0 if not low > exact else math.inf), (0.0 if high <= exact else math.inf)

    def swapped(self) -> GeometricPair:
        return replace(self, is_swapped=not self.is_swapped)

    @property
    def infinity(self) -> Fraction:
        return Fraction(0) if self.is_swapped else self._infinity

    @once
    def _infinity(self) -> Fraction:
        with precision(192):
            mantissa, exponent = (-(-ball(self.largest)).expm1()).upper().mid().man_exp()
        return min(int(mantissa) * Fraction(2) ** int(exponent), Fraction(1))

    @property
    def support(self) -> tuple[float, float]:
        with precision(128):
            largest = upper(ball(self.largest))
        return (largest, largest) if self.is_swapped else (-largest, -largest)

    @property
    def atoms(self) -> Atoms:
        largest = float(self.largest)
        return Atoms(largest if self.is_swapped else -largest, largest)
