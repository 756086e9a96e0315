"""Real columns in bins that are as wide as the numbers are large: by the first binary digits of a double.

A number x ≥ 0 with 2^(flat + k) ≤ x < 2^(flat + k + 1), k ≥ 0, is in the bin k·2^m + floor(x·2^(m − flat − k)), with
m = `digits`: each octave is cut into 2^m bins of equal width, and what lies below 2^flat into as many. A negative
number is in the bin of −x, with a minus.

Every engine computes it alike: a product with a power of two is exact, its whole part has at most m + 1 digits, and
the octave is found by comparisons. It cannot underflow, on which PostgreSQL fails: a double that is not 0 is at least
1e-100 (sealed_entry.py), and the factor at least 2^-385, as bounds are at most 1e100.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from dither.tables.expression_compiler import between

__all__ = ["FloatBins"]


@dataclass(frozen=True, slots=True)
class FloatBins:
    """The bins of numbers that are clamped to `low` and `high`."""

    low: float
    high: float
    flat: int
    digits: int

    def number(self, real: Any) -> Any:
        """The bin of each tame double; NULL where it is missing."""
        value = between(real, self.low, self.high)
        octaves = max(math.frexp(max(abs(self.low), abs(self.high)))[1] - 1 - self.flat, 0)
        size = self._within(value.abs(), 0, octaves)
        return real.notnull().ifelse((value < 0).ifelse(-size, size), ibis.null("int64"))

    def _within(self, size: Any, first: int, last: int) -> Any:
        """Of numbers in the octaves from `first` to `last`: a search that halves them in each step."""
        if first == last:
            return (size * 2.0 ** (self.digits - self.flat - first)).floor().cast("int64") + (first << self.digits)
        middle = (first + last + 1) // 2
        below, above = self._within(size, first, middle - 1), self._within(size, middle, last)
        return (size < 2.0 ** (self.flat + middle)).ifelse(below, above)

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bins of numbers in hand."""
        inside = np.clip(values, self.low, self.high)
        size = np.abs(inside)
        octave = np.frexp(np.maximum(size, 2.0**self.flat))[1].astype(np.int64) - 1 - self.flat
        found = np.floor(np.ldexp(size, self.digits - self.flat - octave)).astype(np.int64) + (octave << self.digits)
        signed: NDArray[np.int64] = np.where(inside < 0, -found, found)
        return signed

    def sizes(self, bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Where bins of numbers that are not negative begin."""
        octave = np.maximum((bins >> self.digits) - 1, 0)
        found: NDArray[np.float64] = np.ldexp(
            (bins - (octave << self.digits)).astype(np.float64), octave + self.flat - self.digits
        )
        return found
