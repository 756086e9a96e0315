"""Sums of records, exact until the noise: each record becomes an integer on its own, and integers are added.

Floating-point sums depend on the order, so that one record may move them by more than its bound (Casacuberta,
Shoemate, Vadhan and Wagaman 2022). Here record i is clamped to [low, high] around a centre and rounded to a whole
number of steps of a public grid, −a ≤ kᵢ ≤ b. Adding or removing a record moves Σk by max(a, b) at most, replacing
one by a + b, exactly.

**Both sides.** Where nothing is known of the mean, under add/remove two numbers are released: U = Σ(k + a) and
V = Σ(b − k), how far the records are from either end. Together they are (a + b)·n, so that n needs no share of its own.
One record moves U by k + a and V by b − k, neither below 0 and a + b in all: in ℓ₁ that is the sensitivity of one sum,
and each of the two gets the noise that it would get alone. With t the mean's place between the ends, 0 to 1, the error
of the mean is (a + b)/(n ε) times a variable of variance 2(t² + (1 − t)²): never more than that of a sum from one end
with n known. (For a sum from the middle and n, with half of ε each, it is 2 + 2(2t − 1)²: twice as much.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.records import Bounds, Floats, is_replace
from dither.mechanisms import Laplace, Release
from dither.noise import Grid

__all__ = ["ExactSum", "NoisySides", "NoisySum", "released_sides", "released_sum"]

_STEP_BITS = 8  # the grid of a width has 2^40 steps to it; 2^32 leave room for 2^30 records in 64 bits
_CHUNK = 1 << 28


@dataclass(frozen=True)
class NoisySum:
    """A sum with noise, in steps; `released` carries the mechanism."""

    released: Release
    step: Fraction

    @property
    def value(self) -> Fraction:
        """The sum with noise."""
        return int(self.released.value) * self.step

    def between(self, miss: Fraction, count: int) -> tuple[Fraction, Fraction]:
        """Bounds on the sum of `count` clamped records, missed with probability `miss` or less.

        Rounding moved each record by half a step at most; another half covers the rounding of its difference.
        """
        low, high = self.released.interval(1 - miss)
        return (low - count) * self.step, (high + count) * self.step


@dataclass(frozen=True)
class NoisySides:
    """U and V with noise, in steps; `ends` are those of the range, in steps from its centre."""

    released: Release
    ends: tuple[int, int]
    step: Fraction

    @property
    def _width(self) -> int:
        return self.ends[1] - self.ends[0]

    @property
    def mean(self) -> Fraction:
        """The mean, as seen from the centre; of less than one record, as if there were one."""
        above, below = (int(side) for side in self.released.value)
        return (self.ends[0] + Fraction(self._width * above, max(above + below, self._width))) * self.step

    def mean_between(self, miss: Fraction) -> tuple[Fraction, Fraction]:
        """Bounds on the mean of the clamped records, missed with probability `miss` or less.

        Both sides are inside their bounds but for half of `miss` each, and not below 0. U/(U + V) grows with U and
        falls with V. Rounding moved the mean by a step at most, as for sums.
        """
        (least_up, least_down), (most_up, most_down) = self._between(miss / 2)
        low = Fraction(least_up, least_up + most_down) if least_up else Fraction(0)
        high = Fraction(most_up, most_up + least_down) if most_up else Fraction(1)
        return (self.ends[0] + self._width * low - 1) * self.step, (self.ends[0] + self._width * high + 1) * self.step

    def fewest(self, miss: Fraction) -> int:
        """A number of records that there are fewer of with probability `miss` or less."""
        (above, below), _ = self._between(miss / 2)
        return (above + below) // self._width

    def _between(self, miss: Fraction) -> tuple[tuple[int, int], tuple[int, int]]:
        """The lower ends of both sides, and the upper ones; each side is missed with probability `miss` or less."""
        low, high = self.released.interval(1 - miss)
        return (max(int(low[0]), 0), max(int(low[1]), 0)), (max(int(high[0]), 0), max(int(high[1]), 0))


@dataclass(frozen=True)
class ExactSum:
    """Σk in steps of a grid, and how far one neighbour can move it."""

    total: int
    sensitivity: int
    grid: Grid
    ends: tuple[int, int]
    """The limits, in steps."""

    @classmethod
    def of(cls, values: Floats, limits: Bounds, adjacency: Adjacency) -> ExactSum:
        """The sum of the values clamped to `limits`, inside which 0 must lie."""
        low, high = limits
        grid = Grid(Grid.for_scale(Fraction(high) - Fraction(low)).exponent + _STEP_BITS)
        least, most = (int(grid.round(end)[()]) for end in limits)
        steps = np.clip(grid.round(np.clip(values, low, high)), least, most)
        # All of them fit into 64 bits: fewer than 2^34 steps each.
        total = sum(int(steps[start : start + _CHUNK].sum(dtype=np.int64)) for start in range(0, len(steps), _CHUNK))
        return cls(total, most - least if is_replace(adjacency) else max(most, -least), grid, (least, most))


def released_sum(
    values: Floats, limits: Bounds, adjacency: Adjacency, epsilon: Fraction, spent: Spent, step_name: str
) -> NoisySum:
    """Σ of the values clamped to `limits`, which may depend on what was released before."""
    exact = ExactSum.of(values, limits, adjacency)
    released = Laplace(sensitivity=exact.sensitivity, epsilon=epsilon, adjacency=adjacency).release(exact.total)
    spent.record(step_name, epsilon, released.event)
    return NoisySum(released, exact.grid.step)


def released_sides(values: Floats, limits: Bounds, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> NoisySides:
    """How far the values, clamped to `limits`, are from either end in all: see the module for why that is ε-DP."""
    assert not is_replace(adjacency)  # replacing a record would move U and V by the whole width each
    exact, count = ExactSum.of(values, limits, adjacency), len(values)
    least, most = exact.ends
    mechanism = Laplace(sensitivity=most - least, epsilon=epsilon, dimension=2, adjacency=adjacency)
    released = mechanism.release([exact.total - least * count, most * count - exact.total])
    spent.record("sums", epsilon, released.event)
    return NoisySides(released, exact.ends, exact.grid.step)
