"""The two strategies that need no thought: noise on every cell, or noise on every answer."""

from __future__ import annotations

import numpy as np

from dither.exact import once
from dither.workloads.queries import Queries
from dither.workloads.strategies.strategy import Floats, Integers, Strategy

__all__ = ["AnswersStrategy", "CellsStrategy"]

_FEW_CELLS = 1024
_NONE, _CLEAR = 1e-14, 1e-8
"""Eigenvalues, as shares of the largest: below the first they are errors of 0, above the second they are not 0."""


class CellsStrategy(Strategy):
    """A = `scale`·I: each class of cells gets noise, and the answers are sums of these."""

    name = "cells"

    def __init__(self, queries: Queries, scale: int) -> None:
        self._queries = queries
        self._scale = scale

    @property
    def measurements(self) -> int:
        """One for each class."""
        return self._queries.cells

    def measure(self, counts: Integers) -> Integers:
        """The counts, times the scale."""
        return counts * self._scale

    def largest_column(self, power: int) -> int:
        """One entry."""
        return int(self._scale**power)

    def largest_distance(self, power: int) -> int:
        """Two entries, if there are two cells."""
        return 2 * self._scale**power if self._queries.cells > 1 else 0

    def answers(self, measured: Floats) -> Floats:
        """W y / scale."""
        return np.asarray(self._queries.answers(measured / self._scale), dtype=np.float64)

    def row_squares(self) -> Floats:
        """‖w_q‖²/scale²."""
        return self._queries.row_squares() / self._scale**2

    def row_peaks(self) -> Floats:
        """The largest entry of the workload, or the length of the row if that is less."""
        return np.minimum(np.sqrt(self.row_squares()), self._queries.largest_entry / self._scale)


class AnswersStrategy(Strategy):
    """A = `scale`·W: each answer gets noise. More answers than cells are made consistent by least squares.

    With C = W(WᵀW)⁻Wᵀ, for any generalised inverse, the variances are the diagonal of a projection: they add up to the
    rank of W. Where floats cannot tell that rank, the answers are left as they are: C would forget a direction of W.
    """

    name = "answers"

    def __init__(self, queries: Queries, scale: int) -> None:
        self._queries = queries
        self._scale = scale

    @once
    def is_direct(self) -> bool:
        """Not if there are more answers than cells, as long as least squares can be trusted."""
        if not self._queries.cells < self._queries.count or self._queries.cells > _FEW_CELLS:
            return True
        shares = self._spectrum[0] / self._spectrum[0][-1]
        return bool(((shares > _NONE) & (shares < _CLEAR)).any())

    @property
    def measurements(self) -> int:
        """One for each query."""
        return self._queries.count

    def measure(self, counts: Integers) -> Integers:
        """The exact answers, times the scale."""
        return np.asarray(self._queries.answers(counts), dtype=np.int64) * self._scale

    def largest_column(self, power: int) -> int:
        """That of the workload."""
        return self._queries.largest_column(power) * int(self._scale**power)

    def largest_distance(self, power: int) -> int:
        """That of the workload."""
        return self._queries.largest_distance(power) * int(self._scale**power)

    def answers(self, measured: Floats) -> Floats:
        """The noisy answers, or the consistent ones that are closest to them."""
        if self.is_direct:
            return measured / self._scale
        estimate = self._inverse @ self._queries.spread(measured / self._scale)
        return np.asarray(self._queries.answers(estimate), dtype=np.float64)

    def row_squares(self) -> Floats:
        """1, or the diagonal of the projection."""
        forms = np.ones(self.measurements) if self.is_direct else self._queries.row_forms(self._inverse)
        return forms / self._scale**2

    @once
    def _spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues, from the smallest, and eigenvectors of WᵀW with columns of W made equally long."""
        values, vectors = np.linalg.eigh(self._queries.gram() / np.outer(self._lengths, self._lengths))
        return values, vectors

    @once
    def _lengths(self) -> Floats:
        """Of the columns of W; none is 0, since every class is counted by some query."""
        return np.sqrt(np.diag(self._queries.gram()))

    @once
    def _inverse(self) -> Floats:
        """(WᵀW)⁻."""
        values, vectors = self._spectrum
        clear = values > _CLEAR * values[-1]
        scaled = vectors[:, clear] / self._lengths[:, None]
        inverse: Floats = (scaled / values[clear]) @ scaled.T
        return inverse
