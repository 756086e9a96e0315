"""What a strategy is: the sums that get noise, from which the answers to a workload are put together.

A strategy is a matrix A of whole numbers with a column for each class of cells. Its entries are public, and are
whole numbers so that its sensitivity is exact and its noise lives on the integers. Everything after the noise is
post-processing: floats may be used there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

__all__ = ["FINE", "Floats", "Integers", "Strategy"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE = 1 << 24
"""How many whole numbers there are to the length of a column, where a strategy of real numbers is rounded.

With fewer than 2^33 people no entry of A x leaves 64 bits, and squares of columns are below 2^53.
"""
_WRITTEN = 1 << 21


class Strategy(ABC):
    """A, and how to get from noisy A x to the answers W x by a linear rule C with C A = W."""

    name: str
    only_gaussian: bool = False
    """Whether it was made for ℓ₂ alone: Laplace noise of its ℓ₁ length would be far too wide."""
    is_direct: bool = False
    """Whether each answer is one measurement, with noise of its own."""

    @property
    @abstractmethod
    def measurements(self) -> int:
        """How many sums get noise: the rows of A."""

    @abstractmethod
    def measure(self, counts: Integers) -> Integers:
        """A x, exactly."""

    @abstractmethod
    def largest_column(self, power: int) -> int:
        """max Σ_r |A_ri|^power over the cells i; never too small."""

    @abstractmethod
    def largest_distance(self, power: int) -> int:
        """max Σ_r |A_ri − A_rj|^power over the cells i, j; never too small."""

    @abstractmethod
    def answers(self, measured: Floats) -> Floats:
        """C y: unbiased, with the least squared error where there is a choice."""

    @abstractmethod
    def row_squares(self) -> Floats:
        """‖c_q‖² of each row of C: the variance of each answer, for noise of variance 1."""

    def row_peaks(self) -> Floats:
        """At least max |C_qr| of each row, and at most its length."""
        lengths: Floats = np.sqrt(self.row_squares())
        return lengths

    def rule(self) -> Floats | None:
        """C, or None if it is too large to write."""
        if self.measurements * len(self.row_squares()) > _WRITTEN:
            return None
        return np.array([self.answers(unit) for unit in np.eye(self.measurements)]).T
