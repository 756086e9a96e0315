"""What a pair costs between datasets that are several steps apart.

If each step keeps δ, then P₀(A) ≤ e^{ε₁}P₁(A) + δ(ε₁), P₁(A) ≤ e^{ε₂}P₂(A) + δ(ε₂), and so on: for ε = ε₁ + … + ε_k

    δ_k(ε) ≤ Σ_j e^{ε₁+…+ε_{j−1}} δ(ε_j),

for every choice of real ε_j; the best choice is all that follows from δ (Dong, Roth and Su 2022, Theorem 2.14). Here
the ε_j are ε/k + s·(j − (k+1)/2), for a few slopes s. With s = μ² that is the best choice for Gaussian noise, and s =
0 is best for what has one largest loss.

**Noise that is added** and whose loss grows with the outcome needs none of this. The half-lines are its best tests, the
curve of a step takes P(x > t) to P(x > t − Δ), and k of them take it to P(x > t − kΔ): the curve of a k-fold move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import check, once
from dither.guarantees import ApproxDP
from dither.pairs.bounded import AtMostPair, BoundedPair, on_fewer
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import ConcentratedPair
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails
from dither.pairs.two_point import TwoPointPair, approximate

__all__ = ["MOST_STEPS", "GroupPair", "grouped"]

MOST_STEPS = 1000
"""How many steps apart datasets may be."""

_SLOPES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
_ONE_DEVIATION = 0.16
_LARGEST = 700.0
_MOST_WORK = 1 << 16  # losses times steps, for each slope
_FEWEST = 1 << 11


@dataclass(frozen=True)
class GroupPair(BoundedPair):
    """All mechanisms of which each of `steps` steps in one direction keeps the profile of `base`."""

    base: Pair
    steps: int

    def __post_init__(self) -> None:
        check.count(steps=self.steps)
        if not self.steps <= MOST_STEPS:
            raise ParameterError(f"steps must be at most {MOST_STEPS}, got {self.steps}.")

    @once
    def _variance(self) -> float:
        """About the square of a loss of `base` that is not unusual: only how tight the bound is depends on it."""
        low, high = 0.0, min(self.base.support[1], _LARGEST)
        for _ in range(4):
            places = np.linspace(low, high, 65)
            index = int(np.searchsorted(-self.base.tails(places).p, -_ONE_DEVIATION))
            low, high = float(places[max(index - 1, 0)]), float(places[min(index, 64)])
        return high * high

    def dots(self, losses: FloatArray) -> FloatArray:
        return on_fewer(losses, max(_MOST_WORK // self.steps, _FEWEST), self._dots)

    def _dots(self, losses: FloatArray) -> FloatArray:
        best = np.ones(len(losses))
        for slope in _SLOPES:
            best = np.minimum(best, self._by_steps(losses, slope * self._variance))
        return np.where(losses >= self.support[1], 0.0, best)

    def _by_steps(self, losses: FloatArray, rise: float) -> FloatArray:
        """Σ_j e^{ε₁+…+ε_{j−1}} δ(ε_j) with ε_{j+1} − ε_j = `rise`, rounded up; 1 where floats do not hold it."""
        k, infinity = self.steps, float(self.base.infinity)
        slack = POSITION_ERROR * (4 * (np.abs(losses) + k * rise) + 1) * k
        step = np.arange(1, k + 1)[:, None]
        before = (step - 1) * (losses / k) + rise * ((step - 1) * (step - 1 - k) / 2) + slack
        each = losses / k + rise * (step - (k + 1) / 2) - slack
        costs = np.exp(np.minimum(before, _LARGEST)) * (_of_any(self.base.dots, each) + infinity)
        # The slack in the exponents is at least k times 2^-50: that is more than what exponentials, products and k sums
        # are off by.
        return np.where((before < _LARGEST).all(axis=0), costs.sum(axis=0), 1.0)

    def tails(self, losses: FloatArray) -> Tails:
        """From below: the other steps may change nothing."""
        return self.base.tails(losses)

    def swapped(self) -> GroupPair:
        return GroupPair(self.base.swapped(), self.steps)

    @property
    def is_symmetric(self) -> bool:
        return self.base.is_symmetric

    @property
    def support(self) -> tuple[float, float]:
        (low, high), k = self.base.support, self.steps * (1 + 2.0**-50)
        return (-math.inf if self.base.swapped().infinity else low * k), (math.inf if self.base.infinity else high * k)

    @property
    def largest_loss(self) -> Fraction | None:
        largest = self.base.largest_loss
        return None if largest is None or self.base.infinity else largest * self.steps


def _of_any(dots: Callable[[FloatArray], FloatArray], losses: FloatArray) -> FloatArray:
    """The bounds at losses in any order and shape."""
    order = np.argsort(losses, axis=None, kind="stable")
    found = np.empty(losses.size)
    found[order] = dots(losses.ravel()[order])
    return found.reshape(losses.shape)


def grouped(pair: Pair, steps: int) -> Pair:
    """What `pair` costs between datasets that are so many steps apart, all in one direction."""
    check.count(steps=steps)
    if steps == 1:
        return pair
    if isinstance(pair, GaussianPair):
        return GaussianPair(pair.squared_mu * steps**2)
    if isinstance(pair, LaplacePair):
        return LaplacePair(pair.largest * steps)
    if isinstance(pair, DiscreteLaplacePair | DiscreteGaussianPair):
        return replace(pair, sensitivity=pair.sensitivity * steps)
    if isinstance(pair, ConcentratedPair) and not pair.xi:  # Bun and Steinke 2016, Proposition 1.9
        return ConcentratedPair(pair.rho * steps**2)
    if isinstance(pair, ChoicePair):
        return ChoicePair(grouped(pair.first, steps), grouped(pair.second, steps))
    if isinstance(pair, TwoPointPair) and not pair.leak and pair.loss is not None:
        return TwoPointPair(loss=pair.loss * steps)
    if isinstance(pair, TwoPointPair) and pair.loss is not None:  # from below the other steps may change nothing
        grown = ApproxDP(pair.loss, pair.leak)._group(steps)
        return AtMostPair(approximate(grown.stated_epsilon, grown.stated_delta), pair)
    return GroupPair(pair, steps)
