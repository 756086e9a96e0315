"""The pair of staircase noise: three losses, so exact in closed form on the line and on every lattice.

Moved by its sensitivity Δ, the density of staircase noise changes by a factor e^ε, 1 or e^{−ε} (Geng and Viswanath
2014). Three facts make one pair of two parameters enough.

* *The law.* With b = e^{−ε}, stair 0 has width TΔ and height 1, the 2Δ of stair k ≥ 1 have height b^k: the whole is
  (T + 2b/(1 − b))Δ. The law is symmetric and falls outwards, so P exceeds Q exactly where |x| < |x − Δ|, and the total
  variation distance is the mass of |x| < Δ/2. As P − Q = (1 − b)·P where L = ε, dividing by 1 − b gives

      m = P[L = ε] = (N + b(1 − N))/(T + b(2 − T)),   N = min(T, 1).

* *The lattice.* Staircase noise on ℤ with the stairs at r, r + Δ, … is the law on the line with its stairs at r − ½,
  r − ½ + Δ, …, rounded to the nearest integer; the latter are constant on each [x − ½, x + ½). Rounding is monotone, so
  it keeps the sign of |x| − |x − Δ|: the pair is the same, with T = (2r − 1)/Δ.
* *Smaller changes.* For a symmetric law that falls outwards and ε ≥ 0 only x < d/2 adds to Σ (p(x) − e^ε p(x − d))₊,
  and there p(x − d) falls as d grows: a change of Δ dominates every smaller one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Mirrored, Tails, whole_steps

__all__ = ["StaircasePair"]


@dataclass(frozen=True)
class StaircasePair(Mirrored):
    """Losses ε = `largest`, 0 and −ε, for staircase noise whose first stair is T = `top` sensitivities wide.

    T = 2γ on the line, γ the share of Δ at which the stairs fall, and (2r − 1)/Δ on the integers. Under P the losses
    have the probabilities m, 1 − (1 + b)m and bm, with b = e^{−ε} and m as above, so that

        δ(x) = m·(1 − e^{x−ε}) for 0 ≤ x ≤ ε,   1 − e^x + m·(e^x − b) for −ε ≤ x ≤ 0.

    m grows with ε, and with T up to T = 1, where the pair is randomized response; after that it falls. So a smaller ε
    at the same T is dominated, and so is every T by one that lies nearer to 1 on the same side.

    >>> StaircasePair(Fraction(1), Fraction(1)).delta(0), StaircasePair(Fraction(1), Fraction(1, 2)).delta(0)
    (0.4621171572600098, 0.41103297420389...)
    """

    largest: Fraction
    top: Fraction

    def __post_init__(self) -> None:
        check.positive(largest=self.largest, top=self.top)
        if not self.top <= 2:
            raise ParameterError(f"top must be at most 2 sensitivities, got top={self.top}.")

    def profile(self, epsilon: Ball) -> Ball:
        b = (-ball(self.largest)).exp()
        within = min(self.top, Fraction(1))
        likely = (ball(within) + b * ball(1 - within)) / (ball(self.top) + b * ball(2 - self.top))
        # Each test gives a line below δ, and one of these is the best: nothing, {ε}, {ε, 0}, everything.
        first = -likely * (epsilon - ball(self.largest)).expm1()
        everything = -epsilon.expm1()
        two = everything + likely * (epsilon.exp() - b)
        return first.max(two).max(everything).max(Ball(0))

    @once
    def _numbers(self) -> tuple[float, float, float, float]:
        """ε, m, bm and 1 − m, each to a few ulp: all terms are positive."""
        epsilon, top = float(self.largest), float(self.top)
        b = math.exp(-epsilon)
        whole = top + b * (2 - top)
        likely, rest = (top + b * (1 - top), b) if top <= 1 else (1.0, float(self.top - 1) + b * (2 - top))
        return epsilon, likely / whole, b * likely / whole, rest / whole

    def tails(self, losses: FloatArray) -> Tails:
        epsilon, likely, unlikely, rest = self._numbers
        place = [losses < -epsilon, losses < 0, losses < self.support[1]]
        p = np.select(place, [1.0, 1 - unlikely, likely], 0.0)
        small = np.exp(np.minimum(losses, 0.0))
        scaled_q = np.select(place, [small, small * rest, likely * np.exp(np.minimum(losses, epsilon) - epsilon)], 0.0)
        return Tails(p, scaled_q, POSITION_ERROR * (8 + 2 * epsilon))

    def _largest_loss(self) -> Ball:
        return ball(self.largest)

    @property
    def largest_loss(self) -> Fraction:
        return self.largest

    @property
    def atoms(self) -> Atoms:
        epsilon = self._numbers[0]
        return Atoms(epsilon, epsilon)

    def shrunk(self, step: float) -> StaircasePair:
        steps = whole_steps(self._numbers[0] / step)
        return self if steps < 1 else StaircasePair(min(self.largest, Fraction(step) * steps), self.top)
