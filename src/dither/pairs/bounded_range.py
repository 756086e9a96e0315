"""The exponential mechanism: losses that lie in an interval of known width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, FloatArray, Mirrored, Tails

__all__ = ["BoundedRangePair"]


@dataclass(frozen=True)
class BoundedRangePair(Mirrored):
    """Everything whose losses lie in some interval [t − η, t], η = `width`: the exponential mechanism (claim C12).

    The worst such pair has the losses t and t − η; over all t the profile is
    δ(ε) = (1 − e^{(ε−η)/2})²/(1 − e^{−η}) for |ε| ≤ η, at t = (ε+η)/2 (Durfee and Rogers 2019; Dong, Durfee and
    Rogers 2020, who take t after each answer). It is convex in e^ε, so one pair has it: that one costs less than
    randomized response with ε₀ = η.
    """

    width: Fraction

    def __post_init__(self) -> None:
        check.positive(width=self.width)

    def profile(self, epsilon: Ball) -> Ball:
        eta = ball(self.width)
        if epsilon >= eta:
            return Ball(0)
        everything = (-epsilon.expm1()).max(Ball(0))
        if epsilon <= -eta:
            return everything
        inside = ((epsilon - eta) / 2).expm1() ** 2 / -(-eta).expm1()
        return inside.max(everything)

    @property
    def largest_loss(self) -> Fraction:
        return self.width

    @once
    def _eta(self) -> float:
        return float(self.width)

    def tails(self, losses: FloatArray) -> Tails:
        eta = self._eta
        half = (np.clip(losses, -eta, eta) - eta) / 2
        p = np.expm1(half) / math.expm1(-eta)
        below = losses < -eta
        p = np.where(below, 1.0, p)
        scaled_q = np.where(below, np.exp(np.minimum(losses, 0.0)), np.exp(half) * p)
        return Tails(p, scaled_q, POSITION_ERROR * (8 + 2 * eta))

    def _largest_loss(self) -> Ball:
        return ball(self.width)
