"""Real columns as whole numbers: clamped and put on a public lattice row by row, so that sums are exact.

A value x becomes the number of steps floor(min(max(x, low), high)/step + ½), clamped once more to the lattice's own
ends. Whatever the engine's division does in the last digit, the result is a function of that row alone and lies
between the ends, and that is all that sensitivity needs. The step is a power of two, so for doubles the division is
exact, and integers of up to 2^24 in magnitude are kept as they are.

**No sum can overflow.** A lattice is at most 2^25 steps wide (2^24 to either side of zero), so a step count is a 32-bit
integer, and 64-bit integers hold the sum of 2^38 rows of one person; sums over persons are decimals of 38 digits (or
128-bit integers). Squares are taken on a coarser lattice of 12 bits, so they are 32-bit integers as well. The ends of a
lattice are at most 2^52 steps from zero, so doubles hold them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import ibis

from dither.errors import ParameterError
from dither.exact import Number, rational
from dither.tables.database_engines.sealed_entry import LARGEST, SMALLEST
from dither.tables.expression_compiler import between

__all__ = ["SQUARE_BITS", "SUM_BITS", "Lattice"]

SUM_BITS: Final = 24
SQUARE_BITS: Final = 12
_MOST_STEPS: Final = 1 << 52
_WIDEST: Final = 1 << SUM_BITS + 1


@dataclass(frozen=True, slots=True)
class Lattice:
    """The multiples of `step` from `low` to `high`, which are counted in steps."""

    step: Fraction
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.high - self.low <= _WIDEST:
            raise ParameterError(f"a lattice has at most {_WIDEST} steps, got {self.high - self.low}. Make them wider.")

    @classmethod
    def within(cls, bounds: tuple[Number, Number], bits: int = SUM_BITS, *, from_zero: bool) -> Lattice:
        """The finest lattice whose width, or whose distance from zero, has at most `bits` bits in steps."""
        return _finest(*checked_bounds(bounds), bits, from_zero=from_zero)

    @property
    def width(self) -> int:
        """The number of steps from one end to the other."""
        return self.high - self.low

    @property
    def magnitude(self) -> int:
        """The largest distance from zero, in steps."""
        return max(abs(self.low), abs(self.high))

    def steps(self, real: Any) -> Any:
        """How many steps each tame double lies above `low`; NULL where it is missing.

        The quotient cannot underflow, on which PostgreSQL fails: a double that is not 0 is at least 1e-100, a bound is
        at least a step, and a step is at most 1e100 (its bounds are at most that), so it is at least 1e-200, or 0.
        """
        low, high, step = float(self.low * self.step), float(self.high * self.step), float(self.step)
        above = (between(real, low, high) / step + 0.5).floor().cast("int64") - self.low
        return real.notnull().ifelse(between(above, 0, self.width), ibis.null("int64"))


@lru_cache
def _finest(low: Fraction, high: Fraction, bits: int, *, from_zero: bool) -> Lattice:
    reach = max(abs(low), abs(high)) if from_zero else high - low
    least = max(reach / ((1 << bits) - 1), max(abs(low), abs(high)) / _MOST_STEPS)
    step = Fraction(1)
    while step < least:
        step *= 2
    while step / 2 >= least and _has_use(low, high, step):
        step /= 2
    lattice = Lattice(step, _nearest(low / step), _nearest(high / step))
    if not lattice.width:
        raise ParameterError("bounds must differ by more than a millionth of a billionth of their magnitude.")
    return lattice


def checked_bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    """Two exact numbers in order."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds must be a pair (low, high) of numbers.")
    low, high = (rational(bound, "bounds") for bound in bounds)
    if not low < high:
        raise ParameterError(f"bounds must be in order, low < high; got bounds=({low}, {high}).")
    if not rational(SMALLEST, "bounds") <= max(abs(low), abs(high)) <= rational(LARGEST, "bounds"):
        raise ParameterError("the larger of the bounds must have a magnitude between 1e-100 and 1e100.")
    return low, high


def _nearest(value: Fraction) -> int:
    return (2 * value + 1).__floor__() // 2


def _has_use(low: Fraction, high: Fraction, step: Fraction) -> bool:
    """Steps below one are for columns that are not whole: whole bounds of some width are served by step 1."""
    return not (step == 1 and low.denominator == high.denominator == 1 and high - low >= 1 << SQUARE_BITS)
