"""Real columns in half-octaves of their size, at the price of one logarithm a row.

A number x with 2^(flat + k) ≤ |x| < 1.5·2^(flat + k), k ≥ 0, is in the bin 2k + 1, one with 1.5·2^(flat + k) ≤ |x| <
2^(flat + k + 1) in the bin 2k + 2, and what is smaller in the bin 0. A negative number is in the bin of −x, with a
minus. With u = log₂|x| − flat the number is ⌊u⌋ + ⌊u + 2 − log₂1.5⌋, and 0 where that is negative.

A logarithm is rounded, by each engine in its own way. So 2^-36 is added to u, which is more than the error of any: a
number is never below its bin, and one that is below an edge by less than a part of 2^36 is in the bin above it. That is
good enough for a look, and it is a rule for one row at a time. The exact bins of `float_bins` take a search of up to
nine comparisons instead, and several times the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import ibis
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from dither.tables.expression_compiler import between

__all__ = ["HalfOctaveBins"]

_MORE: Final = 2.0**-36
_HALF: Final = math.log2(1.5)


@dataclass(frozen=True, slots=True)
class HalfOctaveBins:
    """The bins of numbers that are clamped to `low` and `high`."""

    low: float
    high: float
    flat: int

    def numbered(self, rows: ir.Table, real: str, name: str) -> ir.Table:
        """The rows with the bin of a tame double that is never missing, as the column `name`."""
        rows = rows.mutate(dither_inside=between(rows[real], self.low, self.high))
        least = 2.0 ** (self.flat - 1)
        logarithm = ibis.greatest(rows["dither_inside"].abs(), least).ln() * (1 / math.log(2))
        rows = rows.mutate(dither_octaves=logarithm - (self.flat - _MORE))
        octaves = rows["dither_octaves"]
        number = ibis.greatest(octaves.floor() + (octaves + (2 - _HALF)).floor(), 0)
        sign = (rows["dither_inside"] < 0).ifelse(-1, 1)
        return rows.mutate(**{name: (number * sign).cast("int64")}).drop("dither_inside", "dither_octaves")

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bins of numbers in hand, exactly: without what is added for the sake of engines."""
        inside = np.clip(values, self.low, self.high)
        mantissa, exponent = np.frexp(np.abs(inside))
        octave = exponent.astype(np.int64) - 1 - self.flat
        found = np.where((octave < 0) | (mantissa == 0), 0, 2 * octave + 1 + (mantissa >= 0.75))
        signed: NDArray[np.int64] = np.where(inside < 0, -found, found)
        return signed

    def sizes(self, bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Where bins of numbers that are not negative begin."""
        octave, half = np.divmod(np.maximum(bins, 1) - 1, 2)
        begin: NDArray[np.float64] = np.where(bins > 0, np.ldexp(1.0 + half / 2, octave + self.flat), 0.0)
        return begin
