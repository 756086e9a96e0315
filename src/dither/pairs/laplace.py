"""Laplace noise: two Laplace laws of one scale."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Mirrored, Tails, whole_steps

__all__ = ["LaplacePair"]


@dataclass(frozen=True)
class LaplacePair(Mirrored):
    """Laplace noise of scale b on a value of sensitivity Δ, ε₀ = Δ/b = `largest`.

    δ(ε) = 1 − e^{(ε−ε₀)/2} for |ε| ≤ ε₀: L has atoms at ±ε₀ and a density between them. A smaller ε₀ is
    dominated by a larger one: adding noise turns one Laplace law into a wider one.
    """

    largest: Fraction

    def __post_init__(self) -> None:
        check.positive(largest=self.largest)

    def profile(self, epsilon: Ball) -> Ball:
        top = ball(self.largest)
        if epsilon >= top:
            return Ball(0)
        inside = -((epsilon - top) / 2).expm1()
        return inside.max(-epsilon.expm1()).max(Ball(0))

    @property
    def largest_loss(self) -> Fraction:
        return self.largest

    @once
    def _top(self) -> float:
        return float(self.largest)

    def tails(self, losses: FloatArray) -> Tails:
        half = 0.5 * np.exp((np.clip(losses, -self._top, self._top) - self._top) / 2)
        below, above = losses < -self._top, losses >= self.support[1]
        p = np.where(below, 1.0, np.where(above, 0.0, 1 - half))
        scaled_q = np.where(below, np.exp(np.minimum(losses, 0.0)), np.where(above, 0.0, half))
        return Tails(p, scaled_q, POSITION_ERROR * (4 + self._top))

    def _largest_loss(self) -> Ball:
        return ball(self.largest)

    @property
    def atoms(self) -> Atoms:
        return Atoms(self._top, 2 * self._top)

    def shrunk(self, step: float) -> LaplacePair:
        steps = whole_steps(2 * self._top / step)
        return self if steps < 1 else LaplacePair(min(self.largest, Fraction(step) * steps / 2))
