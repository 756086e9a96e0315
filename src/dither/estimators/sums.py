"""Sums of records, exact until the noise: each record becomes an integer on its own, and integers are added.

Floating-point sums depend on the order, so that one record may move them by more than its bound (Casacuberta,
Shoemate, Vadhan and Wagaman 2022). Here record i is clamped to [low, high] around a centre and rounded to a whole
number of steps of a public grid, −a ≤ kᵢ ≤ b. Adding or removing a record moves Σk by max(a, b) at most, replacing
one by a + b, exactly.
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

__all__ = ["ExactSum", "NoisySum", "released_sum"]

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
class ExactSum:
    """Σk in steps of a grid, and how far one neighbour can move it."""

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
