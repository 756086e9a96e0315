"""Marginals: the best strategy for Gaussian noise, in closed form.

A set S of attributes has a residual: its marginal with every mean over one of its attributes taken out. The residuals
of all S are perpendicular, V = WᵀW is a number v_S on each, and all cells look alike. So X = √V, up to a factor,
is the best strategy of all, for any domain (the bound in optimal.py with equal λ is attained). Only the sets inside a
wanted marginal are measured. (Xiao, He, Zhang and Kifer 2023, whose noise has the same law.)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product
from math import prod

import numpy as np

from dither.exact import once
from dither.workloads.marginals import Marginals
from dither.workloads.strategies.strategy import Floats, Integers, Strategy

__all__ = ["Residuals"]

Attributes = tuple[int, ...]

_LARGEST_ENTRY = 1 << 28  # times 2^33 people: below 2^62
_FEW_ATTRIBUTES = 12


class Residuals(Strategy):
    """For each set S: c_S·⊗_{i∈S} (n_i I − J) times the marginal of S, with whole weights c_S.

    (n_i I − J is n_i times "less the mean".) Its square is g_S P_S, g_S = c_S² ∏_{i∈S} n_i² ∏_{i∉S} n_i.
    """

    name = "residuals"
    only_gaussian = True

    def __init__(self, queries: Marginals) -> None:
        self._queries = queries

    @staticmethod
    def fits(queries: Marginals) -> bool:
        """Whether whole weights leave room in 64 bits."""
        return max(queries.sizes) <= _LARGEST_ENTRY

    @once
    def _weights(self) -> dict[Attributes, int]:
        """c_S² in proportion to √v_S/(∏_{i∈S} n_i² ∏_{i∉S} n_i), so that g_S is to √v_S."""
        sizes, wanted = self._queries.shape, self._queries.attributes
        inside = {part for kept in wanted for part in _subsets(tuple(i for i in kept if sizes[i] > 1))}
        real = {}
        for part in sorted(inside):
            eigenvalue = sum(self._queries.cells / self._size(kept) for kept in wanted if set(part) <= set(kept))
            real[part] = (eigenvalue**0.5 / (self._size(part) * self._queries.cells)) ** 0.5
        unit = min(_LARGEST_ENTRY / (weight * self._size(part)) for part, weight in real.items())
        return {part: max(int(unit * weight), 1) for part, weight in real.items()}

    def _size(self, part: Attributes) -> int:
        return prod(self._queries.shape[i] for i in part)

    @property
    def measurements(self) -> int:
        """The cells of all residuals."""
        return sum(self._size(part) for part in self._weights)

    def measure(self, counts: Integers) -> Integers:
        """The residuals of each set, in whole numbers."""
        table, found = counts.reshape(self._queries.shape), []
        for part, weight in self._weights.items():
            sums = weight * table.sum(axis=self._queries.left_out(part), keepdims=True)
            for i in part:
                sums = self._queries.shape[i] * sums - sums.sum(axis=i, keepdims=True)
            found.append(sums.ravel())
        return np.concatenate(found)

    def largest_column(self, power: int) -> int:
        """Every column is alike: n_i − 1 once and −1 for the n_i − 1 others, for each attribute."""
        entries = [int((n - 1) ** power) + n - 1 for n in self._queries.shape]
        total = sum(weight**power * prod(entries[i] for i in part) for part, weight in self._weights.items())
        return int(total)

    def largest_distance(self, power: int) -> int:
        """For ℓ₂ over all sets of attributes in which two cells may differ, if few; otherwise twice the longest column.

        Two columns of n I − J have the inner product −n, a column with itself n(n − 1).
        """
        attributes = sorted({i for part in self._weights for i in part})
        longest = self.largest_column(power)
        if power == 1 or len(attributes) > _FEW_ATTRIBUTES:
            return int(2**power) * longest
        sizes, least = self._queries.shape, longest
        for differs in product((False, True), repeat=len(attributes)):
            inner = {
                i: -sizes[i] if other else sizes[i] * (sizes[i] - 1)
                for i, other in zip(attributes, differs, strict=True)
            }
            found = sum(weight**2 * prod(inner[i] for i in part) for part, weight in self._weights.items())
            least = min(least, found)
        return 2 * (longest - least)

    def answers(self, measured: Floats) -> Floats:
        """Each marginal is the sum of the residuals inside it, spread evenly over the other attributes."""
        residuals = dict(self._residuals(measured))
        tables = []
        for kept in self._queries.attributes:
            table = np.zeros(self._queries.with_ones(kept))
            for part, residual in residuals.items():
                if set(part) <= set(kept):
                    table += residual * (self._size(part) / self._size(kept))
            tables.append(table.ravel())
        return np.concatenate(tables)

    def _residuals(self, measured: Floats) -> Iterator[tuple[Attributes, Floats]]:
        """In counts; the means that noise has brought in are taken out again."""
        start = 0
        for part, weight in self._weights.items():
            size = self._size(part)
            table = measured[start : start + size].reshape(self._queries.with_ones(part)) / (weight * size)
            for i in part:
                table = table - table.mean(axis=i, keepdims=True)
            start += size
            yield part, table

    def row_squares(self) -> Floats:
        """Σ_{S ⊆ T} ‖P_S w‖²/g_S, the same for each cell of the marginal T."""
        squares = []
        for kept in self._queries.attributes:
            total = 0.0
            for part, weight in self._weights.items():
                if set(part) <= set(kept):
                    means = prod(1 - 1 / self._queries.shape[i] for i in part) * self._size(part) / self._size(kept)
                    square = self._queries.cells / self._size(kept) * means
                    total += square / (weight**2 * self._size(part) * self._queries.cells)
            squares.append(total)
        return np.repeat(squares, self._queries.sizes)


def _subsets(attributes: Attributes) -> Iterator[Attributes]:
    return chain.from_iterable(combinations(attributes, size) for size in range(len(attributes) + 1))
