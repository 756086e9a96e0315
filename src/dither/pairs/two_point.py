"""Randomized response, and the worst pair of every ε-DP and every (ε, δ)-DP mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball, ball, check, once, precision
from dither.pairs.pair import POSITION_ERROR, PROFILE_BITS, Atoms, FloatArray, Mirrored, Tails, whole_steps

__all__ = ["TwoPointPair", "approximate", "pure", "response"]


@dataclass(frozen=True)
class TwoPointPair(Mirrored):
    """Randomized response with odds e^{ε₀}, preceded with probability δ₀ by giving everything away.

    The worst pair that is (ε₀, δ₀)-indistinguishable (Kairouz, Oh and Viswanath 2015, Theorem 3.4): under P the
    loss is ∞, ε₀ or −ε₀ with probabilities δ₀, (1−δ₀)·e^{ε₀}/(1+e^{ε₀}) and (1−δ₀)/(1+e^{ε₀}).
    Either `loss` = ε₀ or `odds` = e^{ε₀} is given, whichever is rational. `leak` is δ₀.
    """

    loss: Fraction | None = None
    odds: Fraction | None = None
    leak: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.odds is not None:
            check.at_least(1, odds=self.odds)
        else:
            check.nonnegative(loss=self.loss)
        check.probability(leak=self.leak)

    @property
    def largest(self) -> Ball:
        """ε₀ as a ball."""
        return ball(self.odds).log() if self.odds is not None else ball(self.loss or Fraction(0))

    def profile(self, epsilon: Ball) -> Ball:
        odds = ball(self.odds) if self.odds is not None else self.largest.exp()
        kept = ((odds - epsilon.exp()) / (1 + odds)).max(-epsilon.expm1()).max(Ball(0))
        return ball(self.leak) + ball(1 - self.leak) * kept

    @once
    def _numbers(self) -> tuple[float, float, float]:
        """ε₀ and the probabilities of the true answer and of the other, each to a few ulp."""
        top = math.log(self.odds) if self.odds is not None else float(self.loss or 0)
        false = math.exp(-top) / (1 + math.exp(-top))
        rest = float(1 - self.leak)
        return top, rest / (1 + math.exp(-top)), rest * false

    def tails(self, losses: FloatArray) -> Tails:
        top, true, false = self._numbers
        below, above = losses < -top, losses >= self.support[1]
        p = np.where(below, true + false, np.where(above, 0.0, true))
        # e^ℓ·Q: below −ε₀ the factor is small; between, e^ℓ·false = true·e^{ℓ−ε₀}.
        scale = np.exp(np.minimum(losses, top) - top)
        whole = (true + false) * np.exp(np.minimum(losses, 0))
        scaled_q = np.where(below, whole, np.where(above, 0.0, true * scale))
        return Tails(p, scaled_q, POSITION_ERROR * (4 + 2 * top))

    def _largest_loss(self) -> Ball:
        return self.largest

    @property
    def largest_loss(self) -> Fraction | None:
        return super().largest_loss if self.loss is None else self.loss

    @property
    def infinity(self) -> Fraction:
        return self.leak

    @property
    def atoms(self) -> Atoms | None:
        top = self._numbers[0]
        return Atoms(top, 2 * top) if top > 0 else None

    def shrunk(self, step: float) -> TwoPointPair:
        steps = whole_steps(2 * self._numbers[0] / step)
        smaller = Fraction(step) * steps / 2
        with precision(PROFILE_BITS):
            is_smaller = steps >= 1 and ball(smaller) < self.largest
        return TwoPointPair(loss=smaller, leak=self.leak) if is_smaller else self


def pure(epsilon: Fraction) -> TwoPointPair:
    """The pair that dominates every ε-DP mechanism: randomized response."""
    return TwoPointPair(loss=epsilon)


def approximate(epsilon: Fraction, delta: Fraction) -> TwoPointPair:
    """The pair that dominates every (ε, δ)-DP mechanism."""
    return TwoPointPair(loss=epsilon, leak=delta)


def response(truth: Fraction) -> TwoPointPair:
    """Two answers, of which the true one is given with probability `truth` in [1/2, 1)."""
    check.between(0, 1, truth=truth)
    check.at_least(Fraction(1, 2), truth=truth)
    return TwoPointPair(odds=truth / (1 - truth))
