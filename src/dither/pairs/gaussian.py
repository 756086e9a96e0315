"""Gaussian noise: two normal laws of one variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails

__all__ = ["ERFCX_ERROR", "GaussianPair"]

ERFCX_ERROR = 2.0**-48
"""Assumed relative error of scipy's erfcx on [0, 40]; measured below 2^-50 against balls in the tests."""

_ROOT_TWO = math.sqrt(2)
_SMALL = 1e-6
_NEWTON_STEPS = 30
_LEAST_MU = 1e-140
_LEAST_ERFCX = -25.0  # e^{x²}erfc(x) overflows a little further left


@dataclass(frozen=True)
class GaussianPair(Pair):
    """N(μ, 1) against N(0, 1), μ² = `squared_mu`: noise N(0, σ²) on a value of sensitivity Δ has μ = Δ/σ.

    L is normal with mean μ²/2 and variance μ² under P, and δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
    (Balle and Wang 2018, Theorem 8). Products of such pairs are such pairs: the μ² add up.
    """

    squared_mu: Fraction

    def __post_init__(self) -> None:
        check.positive(squared_mu=self.squared_mu)

    def profile(self, epsilon: Ball) -> Ball:
        mu = ball(self.squared_mu).sqrt()
        root = Ball(2).sqrt()
        p = ((epsilon / mu - mu / 2) / root).erfc() / 2
        q = ((epsilon / mu + mu / 2) / root).erfc() / 2
        return p - epsilon.exp() * q

    def _near(self, delta: Fraction) -> float | None:
        """Newton's method for ln δ(ε) = ln δ. The left side is concave, so it comes down from where Φ(μ/2 − ε/μ) = δ.

        With a = (ε/μ − μ/2)/√2 and b = a + μ/√2: δ(ε) = ½e^{−a²}(erfcx(a) − erfcx(b)), −δ′(ε) = ½e^{−a²}erfcx(b).
        """
        mu, goal = self._mu, float(delta)
        if not (0 < goal < 1 and _SMALL < mu < 1 / _SMALL):
            return None
        log_goal = math.log(2 * goal)
        epsilon = mu * (mu / 2 - float(scipy.special.ndtri(goal)))
        for _ in range(_NEWTON_STEPS):
            a = (epsilon / mu - mu / 2) / _ROOT_TWO
            if not a > _LEAST_ERFCX:
                return None
            slope = float(scipy.special.erfcx(a + mu / _ROOT_TWO))
            value = float(scipy.special.erfcx(a)) - slope
            if not value > 0 < slope:
                return None
            stride = (math.log(value) - a * a - log_goal) * value / slope
            epsilon += stride
            if abs(stride) <= 1e-13 * abs(epsilon):
                break
        return epsilon

    @once
    def _mu(self) -> float:
        return math.sqrt(self.squared_mu)

    def tails(self, losses: FloatArray) -> Tails:
        if not self._mu > _LEAST_MU:
            raise OverflowError("the squares of losses over μ are beyond the floats")
        centre = losses / self._mu
        above_p, above_q = centre - self._mu / 2, centre + self._mu / 2
        density = np.exp(-above_p * above_p / 2)
        p = _upper_tail(above_p, density)
        # e^ℓ φ(z_Q) = φ(z_P): the scaled tail of Q needs no second exponential where z_Q ≥ 0.
        first = int(np.searchsorted(above_q, 0.0))
        scaled_q = 0.5 * density * scipy.special.erfcx(np.abs(above_q) / math.sqrt(2))
        scaled_q[:first] = np.exp(losses[:first]) - scaled_q[:first]
        squares = above_p * above_p + np.abs(losses) + 1
        return Tails(p, scaled_q, ERFCX_ERROR + POSITION_ERROR * squares)

    def swapped(self) -> GaussianPair:
        return self


def _upper_tail(z: FloatArray, density: FloatArray) -> FloatArray:
    """P[N(0, 1) > z] from e^{−z²/2}."""
    tail: FloatArray = 0.5 * density * scipy.special.erfcx(np.abs(z) / math.sqrt(2))
    return np.where(z < 0, 1 - tail, tail)
