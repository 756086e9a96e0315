"""Trees over cells in order: sums of blocks of 1, b, b², … cells, each level with a weight of its own.

The square AᵀA is a sum of block matrices that commute, so that everything about the least squares is known in closed
form: on the differences between blocks of level l and their parents it is the number μ_l = Σ_{m≤l} c_m² b^m. Estimates
take O(cells) for each level, and no matrix is formed. (Hay, Rastogi, Miklau and Suciu 2010, with weights.)
"""

from __future__ import annotations

import numpy as np

from dither.exact import once
from dither.workloads.ranges import Ranges
from dither.workloads.strategies.strategy import FINE, Floats, Integers, Strategy

__all__ = ["Tree"]

_STEPS = 300


class Tree(Strategy):
    """Level l has blocks of b^l cells and the whole weight c_l; the leaves have c_0 ≥ 1.

    The weights are the best for the workload and the norm of the noise (`power`), up to rounding.
    """

    def __init__(self, queries: Ranges, branching: int, power: int) -> None:
        self.name = f"tree of {branching}"
        self._queries = queries
        self._branching = branching
        self._weights = _weights(self._parts.mean(axis=0), self._sizes, power)

    @once
    def _sizes(self) -> list[int]:
        """b^0, b^1, … up to a block that holds all cells."""
        sizes = [1]
        while sizes[-1] < self._queries.cells:
            sizes.append(sizes[-1] * self._branching)
        return sizes

    @property
    def _levels(self) -> list[tuple[int, int]]:
        """The sizes and weights of the levels that are measured."""
        return [(size, weight) for size, weight in zip(self._sizes, self._weights, strict=True) if weight]

    @property
    def measurements(self) -> int:
        """The blocks of all levels with a weight."""
        return sum(self._sizes[-1] // size for size, _ in self._levels)

    def measure(self, counts: Integers) -> Integers:
        """Sums over blocks, times their weights; the cells are padded with empty ones."""
        padded = np.pad(counts, (0, self._sizes[-1] - len(counts)))
        return np.concatenate([weight * padded.reshape(-1, size).sum(axis=1) for size, weight in self._levels])

    def largest_column(self, power: int) -> int:
        """A cell is in one block of each level."""
        return sum(int(weight**power) for weight in self._weights)

    def largest_distance(self, power: int) -> int:
        """The first and the last cell share the top block and no other."""
        return 2 * sum(int(weight**power) for weight in self._weights[:-1])

    def answers(self, measured: Floats) -> Floats:
        """W (AᵀA)^{-1} Aᵀ y: block means of Aᵀy, level by level, each over its μ."""
        length, start = self._sizes[-1], 0
        pulled = np.zeros(length)
        for size, weight in self._levels:
            blocks = measured[start : start + length // size]
            pulled += weight * np.repeat(blocks, size)
            start += length // size
        estimate, finer = np.zeros(length), pulled
        for size, mu in zip(self._sizes[1:], self._eigenvalues, strict=False):
            coarser = np.repeat(finer.reshape(-1, size).mean(axis=1), size)
            estimate += (finer - coarser) / mu
            finer = coarser
        estimate += finer / self._eigenvalues[-1]
        return np.asarray(self._queries.answers(estimate[: self._queries.cells]), dtype=np.float64)

    def row_squares(self) -> Floats:
        """Σ_l ‖the part of w_q at level l‖²/μ_l."""
        squares: Floats = self._parts @ (1 / self._eigenvalues)
        return squares

    @once
    def _eigenvalues(self) -> Floats:
        terms = [float(weight) ** 2 * size for size, weight in zip(self._sizes, self._weights, strict=True)]
        return np.cumsum(terms)

    @once
    def _parts(self) -> Floats:
        """For each query and level the squared length of its part there: between means of blocks and of their parents.

        With overlaps o of a range with the blocks of size B, the means have the squared length Σ o²/B.
        """
        low, high = self._queries.low, self._queries.high
        means = np.zeros((len(low), len(self._sizes) + 1))
        for level, size in enumerate(self._sizes):
            first, last = low // size, (high - 1) // size
            head, rest = (first + 1) * size - low, high - last * size
            several = head**2 + rest**2 + (last - first - 1).astype(np.float64) * size**2
            means[:, level] = np.where(first == last, (high - low).astype(np.float64) ** 2, several) / size
        parts: Floats = means[:, :-1] - means[:, 1:]
        return parts


def _weights(parts: Floats, sizes: list[int], power: int) -> tuple[int, ...]:
    """Whole weights near the minimum of (Σ c^p)^{2/p} · Σ_l parts_l/μ_l, p = `power`.

    With u = c^p at the minimum u_m·(−∂/∂u_m) is in proportion to u_m: a level is turned up while it gains more than its
    share. p = 1 takes smaller steps, since its gains are not concave.
    """
    blocks = np.array(sizes, dtype=np.float64)
    shares, pace = np.full(len(sizes), 1 / len(sizes)), 1 / (4 - power)
    for _ in range(_STEPS):
        squares = shares ** (2 / power)
        mu = np.cumsum(squares * blocks)
        gains = squares * blocks * np.cumsum((parts / mu**2)[::-1])[::-1]
        shares = shares * (gains / np.maximum(shares, 1e-300) / gains.sum()) ** pace
        shares /= shares.sum()
    lengths = shares ** (1 / power)
    lengths /= np.sqrt((lengths**2).sum())
    return max(round(FINE * lengths[0]), 1), *(round(FINE * length) for length in lengths[1:])
