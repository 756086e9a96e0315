"""Ranges of cells that have an order: prefix sums, all ranges, or a list of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import once
from dither.workloads.queries import Array, Floats, Queries

__all__ = ["Ranges"]

Indices = NDArray[np.int64]


class Ranges(Queries):
    """Query q counts the cells low[q], …, high[q] − 1. Entries are 0 or 1, so that ℓ₁ is the square of ℓ₂."""

    def __init__(self, cells: int, low: Indices, high: Indices) -> None:
        self.cells = cells
        self.low = low
        self.high = high

    @property
    def count(self) -> int:
        """One for each pair of ends."""
        return len(self.low)

    @once
    def key(self) -> tuple[object, ...]:
        """The ends."""
        return self.cells, self.low.tobytes(), self.high.tobytes()

    @once
    def is_prefix(self) -> bool:
        """Whether query q counts the first q + 1 cells, for every q."""
        return self.count == self.cells and not self.low.any() and bool((self.high == np.arange(self.cells) + 1).all())

    def answers(self, histogram: Array) -> Array:
        """Differences of running sums."""
        zero = np.zeros((1, *histogram.shape[1:]), dtype=histogram.dtype)
        running: NDArray[Any] = np.concatenate([zero, np.cumsum(histogram, axis=0)])
        return np.asarray(running[self.high] - running[self.low])

    def spread(self, values: Floats) -> Floats:
        """Each value is added to all cells of its range: steps at both ends, then a running sum."""
        starts = np.bincount(self.low, values, minlength=self.cells + 1)
        stops = np.bincount(self.high, values, minlength=self.cells + 1)
        summed: Floats = np.cumsum(starts - stops)[: self.cells]
        return summed

    def row_squares(self) -> Floats:
        """The lengths."""
        return (self.high - self.low).astype(np.float64)

    def row_forms(self, kernel: Floats) -> Floats:
        """From sums of K over the rectangles that start in the corner."""
        corner = np.pad(np.cumsum(np.cumsum(kernel, axis=0), axis=1), ((1, 0), (1, 0)))
        low, high = self.low, self.high
        forms: Floats = corner[high, high] + corner[low, low] - 2 * corner[low, high]
        return forms

    def gram(self) -> Floats:
        """How many ranges hold both cells: low ≤ the smaller one, and high > the larger one."""
        starts = np.zeros((self.cells, self.cells))
        np.add.at(starts, (self.low, self.high - 1), 1)
        both = np.cumsum(np.cumsum(starts, axis=0)[:, ::-1], axis=1)[:, ::-1]
        upper = np.triu(both)
        square: Floats = upper + np.triu(both, 1).T
        return square

    def largest_column(self, power: int) -> int:
        """The most ranges that share a cell."""
        return int(self._holding.max())

    def largest_distance(self, power: int) -> int:
        """The most ranges that hold exactly one of two cells.

        For each cell i, from the left, `both` counts the ranges that start at i or before and reach j; those that hold
        exactly one of i < j are |i| + |j| − 2·both. No more is possible than all ranges but those that hold every cell.
        """
        holding, both = self._holding, np.zeros(self.cells, dtype=np.int64)
        most = self.count - int(((self.low == 0) & (self.high == self.cells)).sum())
        order = np.argsort(self.low, kind="stable")
        ends, best = self.high[order] - 1, 0
        firsts = np.searchsorted(self.low[order], np.arange(self.cells + 1))
        for cell in range(self.cells):
            here = ends[firsts[cell] : firsts[cell + 1]]
            if len(here):
                both += np.cumsum(np.bincount(here, minlength=self.cells)[::-1])[::-1]
            later = holding[cell:] - 2 * both[cell:]
            best = max(best, int(holding[cell] + later.max()))
            if best == most:
                break
        return best

    @once
    def _holding(self) -> Indices:
        """How many ranges hold each cell."""
        return np.rint(self.spread(np.ones(self.count))).astype(np.int64)
