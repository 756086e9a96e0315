"""Marginals: the counts of a table over some of its attributes, summed over the others."""

from __future__ import annotations

from math import prod

import numpy as np

from dither.workloads.queries import Array, Floats, Queries

__all__ = ["Marginals"]


class Marginals(Queries):
    """For each set of attributes, one query for each of their combinations of values.

    `shape` has the number of values of each attribute; the cells are all combinations, the last attribute fastest.
    """

    def __init__(self, shape: tuple[int, ...], attributes: tuple[tuple[int, ...], ...]) -> None:
        self.shape = shape
        self.attributes = attributes
        self.cells = prod(shape)

    @property
    def count(self) -> int:
        """The cells of all marginals."""
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """How many cells each marginal has."""
        return [prod(self.shape[i] for i in kept) for kept in self.attributes]

    @property
    def key(self) -> tuple[object, ...]:
        """The shape and the sets."""
        return self.shape, self.attributes

    def answers(self, histogram: Array) -> Array:
        """Sums over the attributes that are left out."""
        rest = histogram.shape[1:]
        table = histogram.reshape(*self.shape, *rest)
        sums = [table.sum(axis=self.left_out(kept), dtype=table.dtype) for kept in self.attributes]
        return np.concatenate([part.reshape(-1, *rest) for part in sums])

    def spread(self, values: Floats) -> Floats:
        """Each value is added to all cells that it counts."""
        table, start = np.zeros(self.shape), 0
        for kept, size in zip(self.attributes, self.sizes, strict=True):
            table += values[start : start + size].reshape(self.with_ones(kept))
            start += size
        return table.ravel()

    def left_out(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """The attributes that a marginal sums over."""
        return tuple(i for i in range(len(self.shape)) if i not in kept)

    def with_ones(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a marginal that still has all attributes, those summed over with one value."""
        return tuple(size if i in kept else 1 for i, size in enumerate(self.shape))

    def row_squares(self) -> Floats:
        """How many cells each query adds up."""
        return np.repeat([self.cells / size for size in self.sizes], self.sizes)

    def largest_column(self, power: int) -> int:
        """A record is counted once in each marginal."""
        return len(self.attributes)

    def largest_distance(self, power: int) -> int:
        """A record that changes every attribute leaves one count and joins another, in each marginal that can tell."""
        return 2 * sum(size > 1 for size in self.sizes)
