"""Pairs of which only moments of the loss are known: zero-concentrated and Rényi differential privacy.

From above, each order α with D_α ≤ γ gives (Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020)

    δ(ε) ≤ e^{(α−1)(γ−ε)}/(α−1) · (1 − 1/α)^α,   and δ(−ε) = 1 − e^{−ε}(1 − δ′(ε)) with δ′ the other direction.

From below, a mechanism that keeps the promise and whose profile is known stands for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball, ball, check, precision, rational, upper
from dither.exact.certified import exactly_above
from dither.guarantees.renyi import ZCDP, RenyiDP
from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import POSITION_ERROR, PROFILE_BITS, FloatArray, Pair, Tails

__all__ = ["ConcentratedPair", "RenyiPair", "unfolded"]

_ROUNDING = 2.0**-36


@dataclass(frozen=True)
class ConcentratedPair(Pair):
    """Everything with D_α ≤ ξ + ρα for every α, ρ = `rho` and ξ = `xi`; ρ-zCDP if ξ = 0.

    The Gaussian pair with μ² = 2ρ is one of it. A bound at ε is that of ρ-zCDP at ε − ξ, for ξ only moves the exponent.
    """

    rho: Fraction
    xi: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check.positive(rho=self.rho)
        check.nonnegative(xi=self.xi)

    @property
    def _example(self) -> GaussianPair:
        return GaussianPair(2 * self.rho)

    def profile(self, epsilon: Ball) -> Ball:
        low = self._example.profile(epsilon)
        return low.union(_unfolded_ball(epsilon, self._bound))

    def _bound(self, size: Ball) -> Ball:
        return _ball_bound(size - ball(self.xi), ball(self.rho), None)

    def dots(self, losses: FloatArray) -> FloatArray:
        rho, xi = float(self.rho), float(self.xi)
        size = np.abs(losses)
        centre = np.maximum((size - xi - rho) / (2 * rho), 1e-3 / max(rho, 1e-3))
        orders = 1 + centre * np.geomspace(0.5, 2.0, 9)[:, None]
        return unfolded(losses, _bounds(size, orders, xi + rho * orders).min(axis=0))

    def tails(self, losses: FloatArray) -> Tails:
        return self._example.tails(losses)

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        low = self._example.bracket(delta)[0]
        high = ZCDP(self.rho).epsilon(delta)
        return low, high if not self.xi else math.nextafter(high + exactly_above(self.xi), math.inf)

    def delta_bracket(self, epsilon: float | Fraction) -> tuple[float, float]:
        low, rest = self._example.delta_bracket(epsilon)[0], rational(epsilon, "epsilon") - self.xi
        if rest >= 0:
            return low, ZCDP(self.rho).delta(rest)
        with precision(PROFILE_BITS):
            return low, min(upper(self.profile(ball(rest + self.xi))), 1.0)

    @property
    def is_exact(self) -> bool:
        return False

    def swapped(self) -> ConcentratedPair:
        return self


@dataclass(frozen=True)
class RenyiPair(Pair):
    """Everything with D_α ≤ γ for each (α, γ) of `points`. From below: what says nothing, P = Q, is one of it."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def profile(self, epsilon: Ball) -> Ball:
        return _unfolded_ball(epsilon, self._bound).union((-epsilon.expm1()).max(Ball(0)))

    def _bound(self, size: Ball) -> Ball:
        least = Ball(1)
        for order, value in self.points:
            least = least.min(_ball_bound(size, ball(value), order))
        return least

    def dots(self, losses: FloatArray) -> FloatArray:
        size = np.abs(losses)
        best = np.ones(len(losses))
        for order, value in self.points:
            best = np.minimum(best, _bounds(size, np.array(float(order)), np.array(float(value))))
        return unfolded(losses, best)

    def tails(self, losses: FloatArray) -> Tails:
        p = np.where(losses < 0, 1.0, 0.0)
        return Tails(p, p * np.exp(np.minimum(losses, 0.0)), POSITION_ERROR)

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        return 0.0, RenyiDP(dict(self.points)).epsilon(delta)

    def delta_bracket(self, epsilon: float | Fraction) -> tuple[float, float]:
        return 0.0, RenyiDP(dict(self.points)).delta(epsilon)

    @property
    def is_exact(self) -> bool:
        return False

    def swapped(self) -> RenyiPair:
        return self


def _bounds(size: FloatArray, orders: FloatArray, values: FloatArray) -> FloatArray:
    """The bound at ε = `size`, rounded up: the exponent is off by less than 2^-36 relative to its parts."""
    parts = (orders - 1) * values, (orders - 1) * size, orders * np.log1p(-1 / orders), np.log(orders - 1)
    exponent = parts[0] - parts[1] + parts[2] - parts[3]
    slack = _ROUNDING * (1 + sum(np.abs(part) for part in parts))
    bound: FloatArray = np.exp(np.minimum(exponent + slack, 0.0))
    return bound


def unfolded(losses: FloatArray, bound: FloatArray) -> FloatArray:
    """The bound for all ε from that for |ε|: 1 − e^ε(1 − δ′) = e^ε δ′ − (e^ε − 1), a sum without cancellation."""
    negative = np.minimum(losses, 0.0)
    below = (np.exp(negative) * bound - np.expm1(negative)) * (1 + _ROUNDING)
    return np.minimum(np.where(losses < 0, below, bound), 1.0)


def _unfolded_ball(epsilon: Ball, bound: Callable[[Ball], Ball]) -> Ball:
    """The bound for all ε from that for ε ≥ 0, which holds in both directions: δ(−ε) = 1 − e^{−ε}(1 − δ′(ε))."""
    if epsilon >= 0:
        return bound(epsilon)
    if epsilon < 0:
        return 1 - epsilon.exp() * (1 - bound(-epsilon))
    return Ball(0).union(Ball(1))


def _ball_bound(epsilon: Ball, value: Ball, order: Fraction | None) -> Ball:
    """The bound in balls; without an order, `value` is ρ and a nearly optimal order is used. For ε ≥ 0."""
    if order is None:
        guess = max((float(epsilon) - float(value)) / (2 * float(value)), 1e-3)
        exact = 1 + Fraction(guess)
        return _ball_bound(epsilon, value * ball(exact), exact)
    a = ball(order)
    return (((a - 1) * (value - epsilon)).exp() / (a - 1) * (a * (1 - 1 / a).log()).exp()).min(Ball(1))
