"""The best of a random number of runs: private selection.

A mechanism M is run K times and the output that ranks highest is released; with K = 0, which is as likely under both
datasets, a fixed symbol. Let F_P(y) and F_Q(y) be the probabilities of an output that ranks at or below y; where
outputs rank alike, or have positive probability, a uniform number is put beside each, and forgotten after the
selection. With f the generating function of K, the law of what is released has the density p(y)·f′(F_P(y)), for F^k
has k·F^{k−1}·p.

**K negative binomial**, at least 1, of shape η > −1 and stopping probability γ: f′(x) is proportional to
(1 − (1 − γ)x)^{−(η+1)}. Since 1 − F_Q(y) ≤ e^a(1 − F_P(y)) + δ(a) for every a ≥ 0,

    γ + (1 − γ)(1 − F_Q) ≤ (e^a + δ(a)(1 − γ)/γ)·(γ + (1 − γ)(1 − F_P)),

f′(F_P)/f′(F_Q) is at most e^c, c = (η + 1)·ln min_a (e^a + δ(a)(1 − γ)/γ).

**K Poisson** of mean m: f′(x) = m·e^{m(x−1)}, and f′(F_P)/f′(F_Q) = e^{m(F_P − F_Q)} is at most e^c, c = m·δ(0).

Either way f′ ≤ f′(1) = E[K], and what is released has the profile

    δ′(ε) = ∫ (p·f′(F_P) − e^ε q·f′(F_Q))₊ ≤ ∫ f′(F_P)(p − e^{ε−c} q)₊ ≤ E[K]·δ(ε − c).

For an ε₀-DP mechanism and negative binomial K that is (η + 2)ε₀-DP (Papernot and Steinke 2022, Corollary 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, precision, upper
from dither.exact.certified import fraction_above
from dither.exact.negative_binomial import mean_repetitions
from dither.pairs.bounded import BoundedPair, nothing_known
from dither.pairs.moments import unfolded
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails

__all__ = ["SelectedPair", "selected"]

_UP = 1 + 2.0**-49  # above what four roundings lose
_PLACES = 4096
_ZOOMS = 3


@dataclass(frozen=True)
class SelectedPair(BoundedPair):
    """Everything with δ(ε) ≤ `factor`·δ(ε − `shift`) for ε ≥ 0 in both directions, of the profile δ of `base`."""

    base: Pair
    factor: Fraction
    shift: Fraction

    def __post_init__(self) -> None:
        check.at_least(0, shift=self.shift)
        check.positive(factor=self.factor)
        if not self.base.is_symmetric:
            raise ParameterError("base must be the same in both directions. Give either(pair) instead.")

    def dots(self, losses: FloatArray) -> FloatArray:
        sizes = np.abs(losses)
        order = np.argsort(sizes, kind="stable")
        places = sizes[order] - float(self.shift)
        places -= POSITION_ERROR * (4 + 4 * np.abs(places) + float(self.shift))
        whole = np.empty(len(losses))
        whole[order] = self.base.dots(places) + float(self.base.infinity) * _UP
        bound = unfolded(losses, np.minimum(float(self.factor) * _UP * whole, 1.0))
        return np.where(losses >= self.support[1], 0.0, bound)

    def tails(self, losses: FloatArray) -> Tails:
        return nothing_known(losses)

    def swapped(self) -> SelectedPair:
        return self

    @property
    def support(self) -> tuple[float, float]:
        top = self.base.support[1]
        if self.base.infinity or top == math.inf:
            return -math.inf, math.inf
        with precision(128):
            end = upper(Ball(top) + ball(self.shift))
        return -end, end

    @property
    def largest_loss(self) -> Fraction | None:
        largest = self.base.largest_loss
        return None if largest is None or self.base.infinity else largest + self.shift


def selected(base: Pair, shape: Fraction | None, stop: Fraction | None, mean: Fraction | None) -> SelectedPair:
    """`base`, the same in both directions, run as often as a negative binomial law says, or a Poisson law of `mean`."""
    if shape is None or stop is None:
        assert mean is not None, "the event has checked it"
        return SelectedPair(base, mean, fraction_above(lambda: ball(mean) * _whole(base, Ball(0))))
    factor = fraction_above(lambda: mean_repetitions(shape, stop))
    if stop == 1:
        return SelectedPair(base, Fraction(1), Fraction(0))
    place = _best_place(base, float((1 - stop) / stop))
    odds = ball((1 - stop) / stop)

    def most() -> Ball:
        return ball(shape + 1) * (ball(place).exp() + odds * _whole(base, ball(place))).log()

    return SelectedPair(base, factor, fraction_above(lambda: most().upper()))


def _whole(base: Pair, epsilon: Ball) -> Ball:
    return base.profile(epsilon).upper().min(Ball(1))


def _best_place(base: Pair, odds: float) -> Fraction:
    """Where e^a + δ(a)·odds is least, about: every a ≥ 0 gives a bound."""
    low, high = 0.0, min(base.support[1], 2 * math.log1p(odds) + 1)
    for _ in range(_ZOOMS):
        places = np.linspace(low, high, _PLACES)
        found = np.exp(places) + odds * (base.dots(places) + float(base.infinity))
        best = int(np.argmin(found))
        low, high = float(places[max(best - 1, 0)]), float(places[min(best + 1, _PLACES - 1)])
    return min(Fraction(float(places[best])), base.largest_loss or Fraction(float(places[best])))
