"""Real columns in parts of octaves of their size, at the price of one logarithm a row.

With u = log₂|x| − flat, a number x is in the bin ⌊2^m·u⌋ + 1, m = `digits`, and in the bin 0 where u is negative: each
octave is cut into 2^m bins of equal ratio. A negative number is in the bin of −x, with a minus.

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

__all__ = ["OctaveBins"]

_MORE: Final = 2.0**-36


@dataclass(frozen=True, slots=True)
class OctaveBins:
    """The bins of numbers that are clamped to `low` and `high`."""

    low: float
    high: float
    flat: int
    digits: int

    def numbered(self, rows: ir.Table, real: str, name: str) -> ir.Table:
        """The rows with the bin of a tame double that is never missing, as the column `name`."""
        rows = rows.mutate(dither_inside=between(rows[real], self.low, self.high))
        least = 2.0 ** (self.flat - 1)
        logarithm = ibis.greatest(rows["dither_inside"].abs(), least).ln() * (1 / math.log(2))
        octaves = logarithm - (self.flat - _MORE)
        number = ibis.greatest((octaves * 2.0**self.digits).floor() + 1, 0)
        sign = (rows["dither_inside"] < 0).ifelse(-1, 1)
        return rows.mutate(**{name: (number * sign).cast("int64")}).drop("dither_inside")

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bins of numbers in hand."""
        inside = np.clip(values, self.low, self.high)
        octaves = np.log2(np.maximum(np.abs(inside), 2.0 ** (self.flat - 1))) - self.flat + _MORE
        found = np.maximum(np.floor(octaves * 2.0**self.digits) + 1, 0).astype(np.int64)
        signed: NDArray[np.int64] = np.where(inside < 0, -found, found)
        return signed

    def sizes(self, bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Where bins of numbers that are not negative begin."""
        octaves = (bins - 1) / 2.0**self.digits + self.flat
        begin: NDArray[np.float64] = np.where(bins > 0, np.exp2(octaves), 0.0)
        return begin
