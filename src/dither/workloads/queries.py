"""Many counting queries at once: an integer matrix with a row for each query and a column for each cell of the domain.

A kind of matrix is never written out if its shape says the same. What is asked of it: its answers, how far one record
can move them (exactly, in whole numbers), and a few quadratic forms that predict errors (in floats; no privacy rests on
them).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.exact import once

__all__ = ["Matrix", "Queries"]

Array = NDArray[Any]
Floats = NDArray[np.float64]

_AT_ONCE = 1 << 22


class Queries(ABC):
    """W: `count` queries over `cells` cells, whole numbers."""

    cells: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many queries there are."""

    @property
    @abstractmethod
    def key(self) -> tuple[object, ...]:
        """What makes two of the same kind equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queries) and type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @abstractmethod
    def answers(self, histogram: Array) -> Array:
        """W x, for whole numbers or floats; x may have several columns."""

    @abstractmethod
    def spread(self, values: Floats) -> Floats:
        """Wᵀ y."""

    @abstractmethod
    def largest_column(self, power: int) -> int:
        """The largest Σ_q |W_qi|^power over the cells i: what one record more or less moves."""

    @abstractmethod
    def largest_distance(self, power: int) -> int:
        """The largest Σ_q |W_qi − W_qj|^power over cells i, j: what a record that goes from one to the other moves."""

    @abstractmethod
    def row_squares(self) -> Floats:
        """‖w_q‖² of each query."""

    @property
    def largest_entry(self) -> int:
        """max |W_qi|: queries that count have entries 0 and 1."""
        return 1

    def row_forms(self, kernel: Floats) -> Floats:
        """w_q K w_qᵀ of each query, for a symmetric K of `cells` × `cells`."""
        written = self._written
        forms: Floats = ((written @ kernel) * written).sum(axis=1)
        return forms

    def gram(self) -> Floats:
        """WᵀW, written out; for few cells."""
        product: Floats = self._written.T @ self._written
        return product

    @once
    def _written(self) -> Floats:
        """W itself; for few cells."""
        return np.asarray(self.answers(np.eye(self.cells)), dtype=np.float64)


class Matrix(Queries):
    """Any whole numbers, of which most may be 0. No two columns are equal."""

    def __init__(self, rows: scipy.sparse.csr_array) -> None:
        self.rows = rows
        self.cells = int(rows.shape[1])

    @property
    def count(self) -> int:
        """One for each row."""
        return int(self.rows.shape[0])

    @once
    def key(self) -> tuple[object, ...]:
        """The entries and their places."""
        parts = (self.rows.data.astype(np.int64), self.rows.indices.astype(np.int64), self.rows.indptr.astype(np.int64))
        return (self.rows.shape, *(part.tobytes() for part in parts))

    @property
    def largest_entry(self) -> int:
        """Of those that are written down."""
        return int(np.abs(self.rows.data).max())

    def answers(self, histogram: Array) -> Array:
        """W x."""
        return np.asarray(self.rows @ histogram)

    def spread(self, values: Floats) -> Floats:
        """Wᵀ y."""
        return np.asarray(self.rows.T @ values, dtype=np.float64)

    def row_squares(self) -> Floats:
        """The squares of the entries, added up."""
        return np.asarray(self._powers(2).sum(axis=1), dtype=np.float64).ravel()

    def largest_column(self, power: int) -> int:
        """Over all columns."""
        return int(self._column_sums(power).max())

    def largest_distance(self, power: int) -> int:
        """Over all pairs of columns, the longest first, until the rest is too short to matter.

        ‖a − b‖₁ ≤ ‖a‖₁ + ‖b‖₁ and ‖a − b‖₂² ≤ 2‖a‖₂² + 2‖b‖₂²; without negative entries the 2 is not needed.
        """
        lengths = self._column_sums(power)
        factor = 2 if power == 2 and (self.rows.data < 0).any() else 1
        best, longest = 0, int(lengths.max())
        for column in np.argsort(-lengths, kind="stable"):
            if factor * (int(lengths[column]) + longest) <= best:
                break
            best = max(best, int(self._distances(int(column), power, lengths).max()))
        return best

    def _distances(self, column: int, power: int, lengths: Array) -> Array:
        """Σ_q |W_qi − W_qj|^power for one i and all j: the length of j, but for the rows in which i is not 0."""
        start, stop = self._columns.indptr[column : column + 2]
        touched, entries = self._columns.indices[start:stop], self._columns.data[start:stop]
        if power == 2 or self._is_binary:
            inner = self.rows[touched].T @ entries
            return np.asarray(lengths + lengths[column] - 2 * inner)
        found = lengths.copy()
        at_once = max(1, _AT_ONCE // self.cells)
        for first in range(0, len(touched), at_once):
            part = slice(first, first + at_once)
            written = self.rows[touched[part]].toarray()
            found += (np.abs(entries[part, None] - written) - np.abs(written)).sum(axis=0)
        return found

    @once
    def _columns(self) -> scipy.sparse.csc_array:
        return self.rows.tocsc()

    @once
    def _is_binary(self) -> bool:
        """Whether all entries are 0 or 1, so that |a − b| is its own square."""
        return bool((self.rows.data == 1).all())

    def _powers(self, power: int) -> scipy.sparse.csr_array:
        return abs(self.rows) if power == 1 else self.rows.multiply(self.rows)

    def _column_sums(self, power: int) -> Array:
        return np.asarray(self._powers(power).sum(axis=0)).ravel()
