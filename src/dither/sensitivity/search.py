"""The largest discounted gap max (x[j] − x[i]) e^{−β·cost(i, j)} over many pairs, in O(n log n).

Let the rows r be sorted by x[i] and the columns c by x[j]. If the cost is a sum of a term of the row and a term of the
column, then the entry M(r, c) = (x[j] − x[i])₊ e^{−β·cost} is *log-supermodular*: for r < r′ and c < c′,

    M(r, c) M(r′, c′) ≥ M(r, c′) M(r′, c),

because the discounts cancel and (b − a)(b′ − a′) − (b′ − a)(b − a′) = (b′ − b)(a′ − a) ≥ 0. So the best column moves
right as the row moves down, and the middle row halves the work of the others (Nissim, Raskhodnikova, Smith 2007,
section 3.1). `largest_entry` does all halves of a level at once.

Rounding. Entries are computed within a factor 1 ± η, η = 2^-49 (one difference, one discount, one product). A column
chosen for row r is then within a factor 1 − 2η of its best. By the inequality above, a row that is kept to one side of
that column loses the same factor at most. The levels (at most 40) lose less than 2^-42, and `Scale.rounded_up` adds
2^-41 at the end: the result is never below the maximum and at most 2^-40 above it, relatively.

That needs entries that are neither 0 nor too small for a double. So the bounds are scaled to a width near 2^900, every
gap gets 2^-100 more (as if every x[j] were larger, which leaves the inequality alone), and no discount falls below
2^-901. All of it errs upwards, by less than 2^-900 of the width, which is nothing beside the floor of 2^-850.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dither.exact import Ball, Number, ball, check, precision, rational, upper
from dither.sensitivity.records import Floats

__all__ = ["SMOOTH_EXCESS", "Entry", "Indices", "Scale", "discounts", "floor", "gap", "largest_entry", "reach"]

Indices: TypeAlias = npt.NDArray[np.int64]
Entry: TypeAlias = Callable[[Indices, Indices], Floats]

SMOOTH_EXCESS: Final = 2.0**-40
"""A smooth sensitivity is never below the truth, and exceeds it by at most this, relatively.

The truth counts as 2^-850 of the global sensitivity where it is less. To put a constant floor below it keeps it smooth.
"""

_FLOOR_EXPONENT = -850
_WIDTH_EXPONENT = 900
_LEAST_GAP = 2.0**-100
_LEAST_DISCOUNT = 2.0**-901


def discounts(beta: Number, count: int) -> Floats:
    """e^{−βt} for t < count, each within a factor 1 ± 2^-50, or 2^-901 if that is more.

    Two small tables of certified values are multiplied, so that no large exponent is ever rounded.
    """
    rate = rational(beta, "beta")
    check.positive(beta=rate)
    stride = math.isqrt(count) + 1
    coarse, fine = _table(rate * stride, stride), _table(rate, stride)
    with np.errstate(under="ignore"):
        product: Floats = np.multiply.outer(coarse, fine).ravel()[:count]
    return np.maximum(product, _LEAST_DISCOUNT)


def _table(rate: Fraction, count: int) -> Floats:
    with precision(96):
        step: Ball = ball(rate)
        return np.array([upper((-step * t).exp()) for t in range(count)])


def reach(discount: Floats, largest: float, found: float) -> int:
    """The largest t at which a gap of `largest`, discounted, may still beat what was found; at least 0."""
    hopeful = np.flatnonzero(discount * largest * (1 + SMOOTH_EXCESS) >= found)
    return int(hopeful[-1]) if hopeful.size else 0


def largest_entry(rows: int, columns: int, entry: Entry) -> float:
    """The largest of the nonnegative, log-supermodular entries of a matrix that is never written out."""
    if rows <= 0 or columns <= 0:
        return 0.0
    best = np.zeros(rows, dtype=np.int64)
    largest = 0.0
    step = 1 << (rows.bit_length() - 1)
    while step:
        row = np.arange(step - 1, rows, 2 * step)
        first = np.where(row >= step, best[row - step], 0)
        last = np.where(row + step < rows, best[np.minimum(row + step, rows - 1)], columns - 1)
        start = np.concatenate(([0], np.cumsum(last - first + 1)))
        length = np.diff(start)
        column = np.arange(start[-1]) + np.repeat(first - start[:-1], length)
        value = entry(np.repeat(row, length), column)
        highest = np.maximum.reduceat(value, start[:-1])
        attained = np.flatnonzero(value == np.repeat(highest, length))
        best[row] = column[attained[np.searchsorted(attained, start[:-1])]]
        largest = max(largest, float(highest.max()))
        step //= 2
    return largest


@dataclass(frozen=True, slots=True)
class Scale:
    """A power of two that brings the width of the bounds near 2^900, where no product of interest underflows."""

    exponent: int

    @classmethod
    def of(cls, values: Floats) -> Scale:
        """The scale of sorted values between their bounds, x[0] and x[-1]."""
        return cls(_WIDTH_EXPONENT - int(np.frexp(values[-1] - values[0])[1]))

    def scaled(self, values: Floats) -> Floats:
        """The values times 2^exponent. They fit: a double is at most 2^53 times its distance to another one."""
        return np.ldexp(values, self.exponent)

    def rounded_up(self, found: float, bound: float) -> float:
        """Above the maximum of which `found` is the computed value, yet not above `bound`, which nothing exceeds."""
        back = math.ldexp(found * (1 + SMOOTH_EXCESS / 2), -self.exponent)
        return min(bound, max(floor(bound), math.nextafter(back, math.inf)))


def floor(bound: float) -> float:
    """The least smooth sensitivity that is ever stated: 2^-850 of a global sensitivity, or the least double."""
    return max(math.ldexp(bound, _FLOOR_EXPONENT), math.ulp(0.0))


def gap(high: Floats, low: Floats) -> Floats:
    """The scaled gap high − low, or 0 if it is negative, plus a trifle that keeps it from vanishing."""
    return np.maximum(high - low, 0) + _LEAST_GAP
