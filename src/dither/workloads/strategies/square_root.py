"""Prefix sums of any length: the square root of the matrix of prefix sums.

The matrix L of prefix sums multiplies power series by 1/(1 − z). Its root B multiplies by (1 − z)^{−1/2} =
Σ f_k z^k, f_0 = 1, f_k = f_{k−1}(2k − 1)/(2k): measure B x, and L x = B (B x). Its error is within about a tenth of the
best factorisation (Fichtenberger, Henzinger and Upadhyay 2023; Henzinger, Upadhyay and Upadhyay 2023).
"""

from __future__ import annotations

import numpy as np
import scipy
from flint import fmpz_poly

from dither.exact import once
from dither.workloads.strategies.strategy import FINE, Floats, Integers, Strategy

__all__ = ["SquareRoot", "inverse_series"]


class SquareRoot(Strategy):
    """A_ij = a_{i−j} for i ≥ j, with a_k = f_k·2^24 rounded to whole numbers.

    What rounding does to B is undone exactly: the rule is C = L A^{−1}, from the inverse series of a.
    """

    name = "square root"
    only_gaussian = True

    def __init__(self, cells: int) -> None:
        self._cells = cells

    @property
    def measurements(self) -> int:
        """One for each prefix."""
        return self._cells

    @once
    def _series(self) -> Integers:
        """a_k; the running product loses less than a part in 10^9 over 10^6 factors, and any whole numbers would do."""
        steps = np.arange(1, self._cells, dtype=np.float64)
        ratios = np.concatenate([[1.0], (2 * steps - 1) / (2 * steps)])
        return np.asarray(np.rint(FINE * np.cumprod(ratios)), dtype=np.int64)

    def measure(self, counts: Integers) -> Integers:
        """The first terms of a product of polynomials, in whole numbers."""
        product = fmpz_poly(self._series.tolist()) * fmpz_poly(counts.tolist())
        return np.array([int(product[i]) for i in range(self._cells)], dtype=np.int64)

    def largest_column(self, power: int) -> int:
        """The first column has every a_k; the others have fewer."""
        return sum(int(int(entry) ** power) for entry in self._series)

    def largest_distance(self, power: int) -> int:
        """At most that of two columns with nothing in common: entries are not negative."""
        return 2 * self.largest_column(power) if self._cells > 1 else 0

    def answers(self, measured: Floats) -> Floats:
        """C y, a convolution."""
        return _product(self._rule, measured)[: self._cells]

    def row_squares(self) -> Floats:
        """Row q of C has the first q + 1 terms."""
        return np.cumsum(self._rule**2)

    @once
    def _rule(self) -> Floats:
        """The series of 1/((1 − z) a(z)): close to f, over 2^24."""
        return np.cumsum(inverse_series(self._series / FINE)) / FINE


def inverse_series(series: Floats) -> Floats:
    """1/a(z) by Newton's rule r ← r(2 − a r), which doubles the number of right terms; a_0 = 1."""
    found = np.ones(1)
    while len(found) < len(series):
        length = 2 * len(found)
        correction = -_product(series[:length], found)[:length]
        correction[0] += 2
        found = _product(found, correction)[:length]
    return found[: len(series)]


def _product(left: Floats, right: Floats) -> Floats:
    """The coefficients of a product of polynomials. (scipy.signal has it too, and takes seconds to load.)"""
    length = len(left) + len(right) - 1
    padded = scipy.fft.next_fast_len(length, real=True)
    product: Floats = scipy.fft.irfft(scipy.fft.rfft(left, padded) * scipy.fft.rfft(right, padded), padded)[:length]
    return product
