"""The best strategy for Gaussian noise over few cells, to within one percent.

With noise that hides a column of length 1, the errors of W are tr(V X^{−1}) in total, for V = WᵀW and X = AᵀA with
diag X ≤ 1. The least of these is a convex problem, and for every λ ≥ 0 with Σλ = 1

    (tr √(Λ^½ V Λ^½))²  ≤  min tr(V X^{−1})  ≤  tr(V X^{−1}) for any such X,

where X = Λ^{−½} √(Λ^½ V Λ^½) Λ^{−½}, its columns made equally long, is a good choice. λ ∝ diag √(Λ^½ V Λ^½) is a fixed
point at the best λ (Denisov, McMahan, Rush, Smith and Guha Thakurta 2022; Yuan, Yang, Zhang and Hao 2016). A few
steps close the gap to one percent. How well that goes is a matter of accuracy alone; privacy needs A in whole numbers,
and the exact lengths of its columns.
"""

from __future__ import annotations

import numpy as np

from dither.exact import once
from dither.workloads.queries import Queries
from dither.workloads.strategies.strategy import FINE, Floats, Integers, Strategy

__all__ = ["MOST_CELLS", "Optimal", "best_square"]

MOST_CELLS = 1024
_GAP = 0.01
_STEPS = 50
_RIDGE = 1e-8
"""Of the mean eigenvalue of V, on its diagonal: each direction is measured a little, so that A can be inverted."""
_LEAST_SHARE = 1e-4
_LEAST_EIGENVALUE = 1e-10


class Optimal(Strategy):
    """A = √X·2^24, rounded to whole numbers; C = W A^{−1}."""

    name = "optimal"
    only_gaussian = True

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    @property
    def measurements(self) -> int:
        """As many as there are classes of cells."""
        return self._queries.cells

    @once
    def _matrix(self) -> Integers:
        """The rounded root. A column of length 2^24 stays below 2^25 when n ≤ 1024 entries move by up to ½ each."""
        return np.rint(FINE * _root(best_square(self._queries.gram())[0])).astype(np.int64)

    def measure(self, counts: Integers) -> Integers:
        """A x, in 64-bit integers."""
        return np.asarray(self._matrix @ counts, dtype=np.int64)

    def largest_column(self, power: int) -> int:
        """Over all columns."""
        return int((np.abs(self._matrix) ** power).sum(axis=0).max())

    def largest_distance(self, power: int) -> int:
        """For ℓ₂ exactly, from AᵀA: no sum of products exceeds 2^50, by Cauchy and Schwarz, so that floats are exact.

        For ℓ₁ at most twice the longest column.
        """
        if power == 1:
            return 2 * self.largest_column(1)
        entries = self._matrix.astype(np.float64)
        square = entries.T @ entries
        lengths = np.diag(square)
        return int((lengths[:, None] + lengths - 2 * square).max())

    def answers(self, measured: Floats) -> Floats:
        """W A^{−1} y."""
        return np.asarray(self._queries.answers(self._inverse @ measured), dtype=np.float64)

    def row_squares(self) -> Floats:
        """w_q A^{−1} A^{−T} w_qᵀ."""
        return self._queries.row_forms(self._inverse @ self._inverse.T)

    @once
    def _inverse(self) -> Floats:
        return np.linalg.inv(self._matrix.astype(np.float64))


def best_square(gram: Floats) -> tuple[Floats, float]:
    """The X of the smallest error that was found, with diag X ≤ 1, and what no X is below: tr(V X^{−1}) for V."""
    cells = len(gram)
    ridged = gram + np.eye(cells) * (_RIDGE * np.trace(gram) / cells)
    shares, lowest, least, best = np.full(cells, 1 / cells), 0.0, float(np.trace(ridged)), np.eye(cells)
    for _ in range(_STEPS):
        scale = np.sqrt(shares)
        root = _root(scale[:, None] * ridged * scale)
        lowest = max(lowest, float(np.trace(root)) ** 2)
        unscaled = root / np.outer(scale, scale)
        for lengths in (np.sqrt(np.diag(unscaled)), np.full(cells, np.sqrt(np.diag(unscaled).max()))):
            found = unscaled / np.outer(lengths, lengths)
            error = _error(found, ridged)
            if error < least:
                least, best = error, found
        if not least > (1 + _GAP) * lowest:
            break
        shares = np.maximum(np.diag(root) / np.trace(root), _LEAST_SHARE / cells)
        shares /= shares.sum()
    return best, lowest


def _error(square: Floats, gram: Floats) -> float:
    """tr(V X^{−1}); infinite where X is too close to one that cannot be inverted."""
    values, vectors = np.linalg.eigh(square)
    if not values[0] > _LEAST_EIGENVALUE * values[-1]:
        return np.inf
    return float((((gram @ vectors) * vectors).sum(axis=0) / values).sum())


def _root(symmetric: Floats) -> Floats:
    """The root of a matrix without negative eigenvalues; rounding may leave some just below 0."""
    values, vectors = np.linalg.eigh(symmetric)
    found: Floats = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return found
