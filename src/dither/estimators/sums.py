"""Sums of records with noise: exact integers until the noise, and no record moves them by more than their sensitivity.

Floating-point sums depend on the order, so that one record may move them by more than its bound (Casacuberta,
Shoemate, Vadhan and Wagaman 2022). Here every record is a fraction, exactly (`binned`), w ∈ [0, 1] says where it lies
in the range, and the exact sums are rounded down to a grid of M = 2^32 steps to the range, once. Rounding down
commutes with whole steps: a sum that moves by d ≤ M steps, moves by ⌊d⌋ or ⌈d⌉ after it.

**From both ends.** Under add/remove a mean needs U = Σw and V = Σ(1 − w), how far the records are from either end.
Together they are n, so that n needs no share of its own: U is rounded, and V is M·n − U. One record moves U by 0 to M
steps and V by the rest of M: in ℓ₁ that is the sensitivity of one sum, and each of the two gets the noise that it would
get alone. With t the mean's place, 0 to 1, the error of the mean is 1/(n ε) ranges times a variable of variance
2(t² + (1 − t)²): never more than that of a sum from one end with n known. (For a sum from the middle and n, with half
of ε each, it is 2 + 2(2t − 1)²: twice as much.)

**Squares.** A = Σw², B = Σ2w(1 − w) and C = Σ(1 − w)² add to 1 for every record: joint ℓ₁ sensitivity M. A and B are
rounded, C is M·n − A − B. Two roundings may add up to one step too much, which C takes back: M + 2 in all.

**Replaced records.** n is public. Σw moves by M. The variance of n records moves by (n − 1)/n² ranges squared: with m
the mean of the others, n·Var = Σ of the others (x − m)² + (x − m)²(n − 1)/n, and only the last term changes.

**Replaced by none.** Where a NULL may take the place of a value, n is not public. One record leaves U and V, and
another comes: 2M in ℓ₁.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.binned import Totals
from dither.estimators.records import Bounds, Floats, is_replace
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.released import Release
from dither.noise import Grid

__all__ = [
    "STEPS",
    "ExactSum",
    "NoisyPlaces",
    "NoisySquares",
    "NoisySum",
    "NoisyVariance",
    "Placed",
    "released_places",
    "released_squares",
    "released_sum",
    "released_total",
    "released_variance",
]

STEPS = 1 << 32
_STEP_BITS = 8  # the grid of a width has 2^40 steps to it; 2^32 leave room for 2^30 records in 64 bits
_CHUNK = 1 << 28


@dataclass(frozen=True)
class Placed:
    """n records, Σw and Σw² of their places w between the ends of a range."""

    count: int
    first: Fraction
    second: Fraction

    @classmethod
    def of(cls, totals: Totals, low: Fraction, high: Fraction) -> Placed:
        """Records clamped to [low, high], all as seen from the same anchor."""
        width, count = high - low, totals.count
        first = totals.first - low * count
        second = totals.second - 2 * low * totals.first + low**2 * count
        return cls(count, first / width, second / width**2)


@dataclass(frozen=True)
class NoisyPlaces:
    """U and V with noise, in steps."""

    released: Release
    above: int
    below: int
    scale: float
    is_shared: bool
    """Whether the two have the same noise, with opposite signs: then their sum is exact."""

    @property
    def mean(self) -> Fraction:
        """The mean of w; of less than one record, as if there were one."""
        return min(max(Fraction(self.above, max(self.above + self.below, STEPS)), Fraction(0)), Fraction(1))

    @property
    def count(self) -> float:
        """How many records there seem to be."""
        return (self.above + self.below) / STEPS


@dataclass(frozen=True)
class NoisySquares:
    """A, B and C with noise, in steps."""

    released: Release
    parts: tuple[int, int, int]
    scale: float

    @property
    def total(self) -> int:
        """M·n with noise, at least that of one record."""
        return max(sum(self.parts), STEPS)

    @property
    def mean(self) -> Fraction:
        """The mean of w."""
        upper = self.parts[0] + Fraction(self.parts[1], 2)
        return min(max(upper / self.total, Fraction(0)), Fraction(1))

    @property
    def variance(self) -> Fraction:
        """The variance of w: no more than the mean allows."""
        mean = self.mean
        return min(max(Fraction(self.parts[0], self.total) - mean**2, Fraction(0)), mean * (1 - mean))


@dataclass(frozen=True)
class NoisyVariance:
    """The variance of w with noise, `unit` to each of its steps; n is public."""

    released: Release
    unit: Fraction
    count: int

    @property
    def value(self) -> Fraction:
        """At least 0 and at most 1/4."""
        return min(max(int(self.released.value) * self.unit, Fraction(0)), Fraction(1, 4))


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


def released_total(
    total: Fraction, largest: Fraction, adjacency: Adjacency, epsilon: Fraction, spent: Spent
) -> NoisySum:
    """Σx, of which one record, or its replacement, moves `largest` at most; rounded down to a part 2^-32 of that."""
    step = largest / STEPS
    released = Laplace(sensitivity=STEPS, epsilon=epsilon, adjacency=adjacency).release(total // step)
    spent.record("sum", epsilon, released.event)
    return NoisySum(released, step)


def released_places(
    placed: Placed,
    adjacency: Adjacency,
    epsilon: Fraction,
    spent: Spent,
    step: str = "sum",
    *,
    is_count_public: bool | None = None,
) -> NoisyPlaces:
    """Σw, and Σ(1 − w) where n is not public: see the module for why that is ε-DP.

    It is public where records are replaced, unless the caller says that records may be missing.
    """
    upper, all_steps = int(placed.first * STEPS // 1), STEPS * placed.count
    is_known = is_replace(adjacency) if is_count_public is None else is_count_public
    assert is_replace(adjacency) or not is_known
    moved = STEPS * (2 if is_replace(adjacency) and not is_known else 1)
    mechanism = Laplace(sensitivity=moved, epsilon=epsilon, adjacency=adjacency)
    if is_known:
        released = mechanism.release(upper)
        above, below = int(released.value), all_steps - int(released.value)
    else:
        released = mechanism.release([upper, all_steps - upper])
        above, below = (int(side) for side in released.value)
    spent.record(step, epsilon, released.event)
    return NoisyPlaces(released, above, below, float(mechanism.scale), is_known)


def released_squares(placed: Placed, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> NoisySquares:
    """Σw², Σ2w(1 − w) and Σ(1 − w)²: see the module for why that is ε-DP."""
    assert not is_replace(adjacency)  # a replaced record would move them by twice as much
    upper = int(placed.second * STEPS // 1)
    middle = int(2 * (placed.first - placed.second) * STEPS // 1)
    mechanism = Laplace(sensitivity=STEPS + 2, epsilon=epsilon, adjacency=adjacency)
    released = mechanism.release([upper, middle, STEPS * placed.count - upper - middle])
    spent.record("squares", epsilon, released.event)
    first, second, third = (int(part) for part in released.value)
    return NoisySquares(released, (first, second, third), float(mechanism.scale))


def released_variance(placed: Placed, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> NoisyVariance:
    """The variance of w where records are replaced: see the module for why that is ε-DP."""
    assert is_replace(adjacency)
    count = placed.count
    unit = Fraction(max(count - 1, 1), count**2) / STEPS
    exact = placed.second / count - (placed.first / count) ** 2
    released = Laplace(sensitivity=STEPS, epsilon=epsilon, adjacency=adjacency).release(int(exact // unit))
    spent.record("variance", epsilon, released.event)
    return NoisyVariance(released, unit, count)


@dataclass(frozen=True)
class ExactSum:
    """Σk of values rounded to a grid, and how far one neighbour can move it."""

    total: int
    sensitivity: int
    grid: Grid

    @classmethod
    def of(cls, values: Floats, limits: Bounds, adjacency: Adjacency) -> ExactSum:
        """The sum of the values clamped to `limits`, inside which 0 must lie."""
        low, high = limits
        grid = Grid(Grid.for_scale(Fraction(high) - Fraction(low)).exponent + _STEP_BITS)
        least, most = (int(grid.round(end)[()]) for end in limits)
        steps = np.clip(grid.round(np.clip(values, low, high)), least, most)
        # All of them fit into 64 bits: fewer than 2^34 steps each.
        total = sum(int(steps[start : start + _CHUNK].sum(dtype=np.int64)) for start in range(0, len(steps), _CHUNK))
        return cls(total, most - least if is_replace(adjacency) else max(most, -least), grid)


def released_sum(
    values: Floats, limits: Bounds, adjacency: Adjacency, epsilon: Fraction, spent: Spent, step_name: str
) -> NoisySum:
    """Σ of the values clamped to `limits`, which may depend on what was released before."""
    exact = ExactSum.of(values, limits, adjacency)
    released = Laplace(sensitivity=exact.sensitivity, epsilon=epsilon, adjacency=adjacency).release(exact.total)
    spent.record(step_name, epsilon, released.event)
    return NoisySum(released, exact.grid.step)
