"""In how many periods one person takes part, and how far that moves what is measured.

A person brings a vector c_s of length 1 at most in each period s of a pattern π: at most `max_periods` of them, two of
which are `min_separation` or more apart. What is measured moves by A c, with ‖A c‖² = Σ_{i,j∈π} X_ij ⟨c_i, c_j⟩ for
X = AᵀA, which is Σ_{i,j∈π} |X_ij| at most, and that where no X_ij is negative and all c_s are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import check

__all__ = ["ONCE", "Participation"]

Floats = NDArray[np.float64]
_OUTWARDS = 1 + 2.0**-30
"""Sums of at most 2^20 floats that are not negative are off by 2^-32 at most, relatively."""


@dataclass(frozen=True, slots=True)
class Participation:
    """At most `max_periods` periods, each `min_separation` or more after the one before."""

    max_periods: int = 1
    min_separation: int = 1

    def __post_init__(self) -> None:
        check.count(max_periods=self.max_periods, min_separation=self.min_separation)

    def most(self, periods: int) -> int:
        """How many of these periods one person can be in."""
        return min(self.max_periods, math.ceil(periods / self.min_separation))

    def earliest(self, periods: int) -> list[int]:
        """The pattern that begins at once and never waits: 0, b, 2b, …"""
        return [self.min_separation * place for place in range(self.most(periods))]

    def largest_sum(self, values: Floats) -> Floats:
        """max Σ_{s∈π} v_s over all patterns, for each row of values that are not negative; never too small.

        best[n] after period s is the largest sum of n periods up to s: either s is not in the pattern, or it is, and
        the others are `min_separation` or more before it.
        """
        rows, periods = values.shape
        most = self.most(periods)
        is_limited = most < math.ceil(periods / self.min_separation)
        counts = most if is_limited else 1
        best = np.zeros((periods + 1, rows, counts + 1))
        for period in range(periods):
            before = best[max(period + 1 - self.min_separation, 0)]
            taken = values[:, period, None] + (before[:, :-1] if is_limited else before[:, 1:])
            best[period + 1] = best[period]
            np.maximum(best[period + 1][:, 1:], taken, out=best[period + 1][:, 1:])
        found: Floats = best[-1].max(axis=1) * _OUTWARDS
        return found

    def bound(self, gram: Floats) -> tuple[float, float]:
        """Ends of max Σ_{i,j∈π} |X_ij|, the truth between them: over a pattern that was tried, and over rows.

        Above: no pattern has more than Σ_{i∈π} max_{π′} Σ_{j∈π′} |X_ij|. For one period both are max X_ii.
        """
        periods = len(gram)
        sizes = np.abs(gram)
        if self.most(periods) == 1:
            return float(np.diag(sizes).max()), float(np.diag(sizes).max())
        if gram.size * self.most(periods) > _MOST_STEPS:
            raise ParameterError("the pattern of participation is too large for a matrix of its own.")
        chosen = self.earliest(periods)
        tried = float(sizes[np.ix_(chosen, chosen)].sum()) / _OUTWARDS
        over_rows = float(self.largest_sum(self.largest_sum(sizes)[None, :])[0])
        return tried, min(over_rows, float(self.most(periods)) ** 2 * float(np.diag(sizes).max()) * _OUTWARDS)


_MOST_STEPS = 1 << 31
ONCE = Participation()
