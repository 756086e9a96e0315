"""Poisson sampling where a record is replaced: it is kept with probability γ, and so is the one that takes its place.

R is the law without either record, P₁ that with the one, Q₁ that with the other; P = (1−γ)R + γP₁, Q = (1−γ)R + γQ₁.

**Gaussian noise**, records that move the value by at most Δ = μσ, in any direction. For a test A with R(A) = a the
lemma of Neyman and Pearson gives P₁(A) ≤ Φ(Φ⁻¹(a) + μ) and Q₁(A) ≥ Φ(Φ⁻¹(a) − μ), both attained by a half-line if the
records move the value by Δ in opposite directions. So for every u ≥ 0

    P(A) − u·Q(A) ≤ (1−γ)(1−u)a + γΦ(Φ⁻¹(a) + μ) − uγΦ(Φ⁻¹(a) − μ),

and (1−γ)N(0, 1) + γN(μ, 1) against (1−γ)N(0, 1) + γN(−μ, 1) dominates. Its loss at x is odd and grows with x, and with
y = e^{μx}, α = 1 − γ, β = γe^{−μ²/2} it is ε where βy² + α(1−u)y − uβ = 0, u = e^ε.

**Any mechanism.** With u′ = 1 + γ(u − 1) and β = u′/u, P − u′Q = γ(P₁ − u((1−β)R + βQ₁)) (Balle, Barthe and Gaboardi
2018, Theorem 2), so δ(ln u′) ≤ γ((1−β)·H_u(P₁‖R) + β·H_u(P₁‖Q₁)): between what one step and what two steps cost. And
the record is removed and another one added, P(A) ≤ e^a R(A) + δ₁(a), R(A) ≤ e^{ε−a}Q(A) + δ₂(ε − a), with δ₁ and δ₂
those of Poisson sampling, so δ(ε) ≤ δ₁(a) + e^a δ₂(ε − a) for every a. The smaller bound counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once
from dither.pairs.bounded import BoundedPair
from dither.pairs.gaussian import ERFCX_ERROR, GaussianPair
from dither.pairs.groups import grouped
from dither.pairs.moments import unfolded
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails
from dither.pairs.subsampled import PoissonRemovePair, WorstPair, either

__all__ = ["ReplacedGaussianPair", "ReplacedPair", "poisson_replaced"]

_ROOT_TWO = math.sqrt(2)
_LARGEST, _LEAST = 1e6, 1e-6
_UP = 1 + 2.0**-49  # above what six roundings lose
_FARTHEST = 600.0
_PARTS = (0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class ReplacedGaussianPair(Pair):
    """(1−γ)N(0, 1) + γN(μ, 1) against (1−γ)N(0, 1) + γN(−μ, 1), μ² = `squared_mu`, γ = `rate` in (0, 1).

    >>> ReplacedGaussianPair(Fraction(1), Fraction(1, 2)).delta(1)
    0.0933...
    """

    squared_mu: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        check.positive(squared_mu=self.squared_mu)
        if not 0 < self.rate < 1:
            raise ParameterError(f"rate must be between 0 and 1, got {self.rate}.")
        if not _LEAST <= math.sqrt(self.squared_mu) <= _LARGEST:
            raise ParameterError(f"the sensitivity over σ must lie between 1e-6 and 1e6, got {self._mu:.3g}.")

    @once
    def _mu(self) -> float:
        return math.sqrt(self.squared_mu)

    def profile(self, epsilon: Ball) -> Ball:
        """Of a ball at both of its ends, between which it falls."""
        ends = [self._profile_at(end) for end in (epsilon.lower(), epsilon.upper())]
        return ends[0].union(ends[1])

    def _profile_at(self, epsilon: Ball) -> Ball:
        mu, odds, gamma = ball(self.squared_mu).sqrt(), epsilon.exp(), ball(self.rate)
        place = self._log_y(abs(epsilon)) / mu
        z = place if epsilon >= 0 else -place
        here = _above(z)
        p = (1 - gamma) * here + gamma * _above(z - mu)
        return p - odds * ((1 - gamma) * here + gamma * _above(z + mu))

    def _log_y(self, epsilon: Ball) -> Ball:
        """ln y = ln (α(u−1) + √(α²(u−1)² + 4uβ²)) − ln 2β for ε ≥ 0: a sum, no difference."""
        gamma = ball(self.rate)
        alpha, beta = (1 - gamma) * epsilon.expm1(), gamma * (-ball(self.squared_mu) / 2).exp()
        return ((alpha + (alpha * alpha + 4 * epsilon.exp() * beta * beta).sqrt()) / (2 * beta)).log()

    def _places(self, losses: FloatArray) -> FloatArray:
        """x at which the loss is ℓ, in floats: all divided by e^{ℓ/2}."""
        sizes, gamma = np.abs(losses), float(self.rate)
        half = float(1 - self.rate) * np.sinh(np.minimum(sizes, 1400.0) / 2)
        log_beta = math.log(gamma) - float(self.squared_mu) / 2
        beta = math.exp(log_beta)
        logs = np.log(half + np.hypot(half, beta)) - log_beta + sizes / 2
        found: FloatArray = np.copysign(logs / self._mu, losses)
        return found

    def tails(self, losses: FloatArray) -> Tails:
        """Of {x > z} at the rounded z, which is one test; its loss is off by the rounding of z."""
        mu, gamma, rest = self._mu, float(self.rate), float(1 - self.rate)
        z = self._places(losses)
        p = rest * _tail(z, 0 * z) + gamma * _tail(z - mu, 0 * z)
        q = rest * _tail(z, losses) + gamma * _tail(z + mu, losses)
        reach = np.abs(z) + mu
        rounding = 64 + 8 * reach**2 + 8 * np.abs(losses) + 4 * abs(math.log(gamma)) + 4 * mu**2
        return Tails(p, np.minimum(q, p), 2 * ERFCX_ERROR + POSITION_ERROR * rounding)

    def swapped(self) -> ReplacedGaussianPair:
        return self


@dataclass(frozen=True)
class ReplacedPair(BoundedPair):
    """A mechanism on a Poisson sample where a record is replaced: `one` step costs H(P₁‖R), `two` H(P₁‖Q₁).

    Both are the same in both directions. From below: the record that takes the place may move nothing.
    """

    one: Pair
    two: Pair
    rate: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ParameterError(f"rate must be between 0 and 1, got {self.rate}.")
        if not (self.one.is_symmetric and self.two.is_symmetric):
            raise ParameterError("both pairs must be the same in both directions. Give either(pair) instead.")

    def dots(self, losses: FloatArray) -> FloatArray:
        order = np.argsort(np.abs(losses), kind="stable")
        outer = np.minimum(np.abs(losses)[order], _FARTHEST)  # beyond, the bound there
        found = np.empty(len(losses))
        found[order] = np.minimum(np.minimum(self._at_once(outer), self._in_two_steps(outer)), 1.0)
        return np.where(losses >= self.support[1], 0.0, unfolded(losses, found))

    def _at_once(self, outer: FloatArray) -> FloatArray:
        """γ((1−β)·H_u(P₁‖R) + β·H_u(P₁‖Q₁)), rounded up, where 1 + γ(u − 1) = e^`outer`."""
        gamma = float(self.rate)
        # A smaller u bounds more; and it makes the share larger, by more than the rounding of it.
        inner = np.log1p(np.expm1(outer) / gamma)
        inner -= POSITION_ERROR * (8 - 2 * math.log(gamma) + 4 * np.abs(inner))
        one, two = (pair.dots(inner) + float(pair.infinity) for pair in (self.one, self.two))
        share = np.minimum(np.exp(outer - inner), 1.0)
        # What two steps cost is the larger of both: a share that is too large errs upwards.
        found: FloatArray = gamma * ((1 - share) * one + share * np.maximum(two, one)) * _UP
        return found

    def _in_two_steps(self, outer: FloatArray) -> FloatArray:
        """δ₁(a) + e^a δ₂(ε − a), rounded up, for a few a."""
        removed, added = self._steps
        tops = removed.support[1], added.support[1]
        parts = (*_PARTS, tops[0] / (tops[0] + tops[1])) if math.isfinite(tops[0]) else _PARTS
        best = np.ones(len(outer))
        for part in parts:
            first = part * outer
            slack = 4 * POSITION_ERROR * (1 + outer)
            here, there = (
                pair.dots(each - slack) + float(pair.infinity)
                for pair, each in ((removed, first), (added, outer - first))
            )
            best = np.minimum(best, (here + np.exp(first + slack) * there) * _UP)
        return best

    @once
    def _steps(self) -> tuple[Pair, Pair]:
        removed = PoissonRemovePair(self.one, self.rate)
        return removed, removed.swapped()

    def tails(self, losses: FloatArray) -> Tails:
        found, infinity = self._example.tails(losses), float(self._example.infinity)
        if not infinity:
            return found
        p = np.where(losses < self.support[1], found.p, 0.0)
        return Tails(p, np.minimum(found.scaled_q, p), found.error)

    @once
    def _example(self) -> Pair:
        return WorstPair(*self._steps)

    def swapped(self) -> ReplacedPair:
        return self

    @property
    def support(self) -> tuple[float, float]:
        if self.one.infinity or self.two.infinity:
            return -math.inf, math.inf
        removed, added = self._steps
        steps = (removed.support[1] + added.support[1]) * _UP
        top = min(PoissonRemovePair(self.two, self.rate).support[1], steps)
        return -top, top


def poisson_replaced(base: Pair, rate: Fraction) -> Pair:
    """`base` is what a record costs that comes or goes; here one is replaced, on a Poisson sample."""
    check.probability(rate=rate)
    both = either(base)
    if rate == 1:
        return grouped(both, 2)
    if isinstance(base, GaussianPair):
        return ReplacedGaussianPair(base.squared_mu, rate)
    return ReplacedPair(both, grouped(both, 2), rate)


def _above(z: Ball) -> Ball:
    """P[N(0, 1) > z]."""
    return (z / Ball(2).sqrt()).erfc() / 2


def _tail(z: FloatArray, logs: FloatArray) -> FloatArray:
    """e^log · P[N(0, 1) > z] without an overflow on the way."""
    tail: FloatArray = 0.5 * np.exp(logs - z * z / 2) * scipy.special.erfcx(np.abs(z) / _ROOT_TWO)
    return np.where(z < 0, np.exp(np.minimum(logs, 700.0)) - tail, tail)
