"""Records that are replaced: the sensitivities of a run of consecutive ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Number, check, whole
from dither.sensitivity.records import Floats, difference_above, fraction_above
from dither.sensitivity.search import Indices, Scale, discounts, gap, largest_entry, reach

__all__ = ["ReplacedRun"]


@dataclass(frozen=True, slots=True, eq=False)
class ReplacedRun:
    """How far the sum of the ranks `first` to `last`, over `divisor`, can move when one record is replaced.

    One record moved from below to above shifts the run by one rank: its sum grows by x[last + 1] − x[first]. One moved
    from above to below takes x[last] − x[first − 1] away. No replacement does more, since it moves no order statistic
    beyond its neighbour. With g = last − first + 1, both are differences over g ranks.

    Before that, t records may be replaced: with ℓ of them raised and t − ℓ lowered, x[j] becomes at most x[j + ℓ] and
    x[i] at least x[i − t + ℓ], and both are attained if they are taken from between. So

        A^(t) = max (x[j] − x[i])/divisor  over  j − i = g + t, i ≤ first, j ≥ last,

    with low and high in place of what lies outside 1..n (Nissim, Raskhodnikova, Smith 2007, section 3.1, for g = 1).
    """

    values: Floats
    first: int
    last: int
    divisor: int = 1

    def within(self, distance: int) -> float:
        """A^(t), rounded up to a double."""
        check.count(0, distance=distance)
        size = len(self.values) - 2
        steps = min(whole(distance), size)  # then both ends are bounds
        low = np.arange(self.first - 1 - steps, self.first + 1)
        high = low + steps + self.last - self.first + 1
        ends = self.values[np.clip(high, 0, size + 1)], self.values[np.clip(low, 0, size + 1)]
        return self._divided(float(difference_above(*ends).max()))

    def _divided(self, number: float) -> float:
        """The number over the divisor, rounded up: never below the truth, and the same for the same number."""
        return fraction_above(Fraction(number) / self.divisor) if number < math.inf else math.inf

    def smooth(self, beta: Number) -> float:
        """max over t of e^{−βt} A^(t), never below the truth and at most `SMOOTH_EXCESS` above it.

        The pairs are the rectangle i < first, j ≥ last, with cost (first − 1 − i) + (j − last), and the row i = first
        with j > last, at cost j − last − 1.
        """
        discount = discounts(beta, len(self.values))
        width = float(difference_above(self.values[-1], self.values[0]))
        if not width < math.inf:
            return math.inf
        scale = Scale.of(self.values)
        values = scale.scaled(self.values)
        below, above = values[: self.first][::-1], values[self.last :]  # from the run outwards, at cost 0, 1, 2, …
        lone = float((gap(above[1:], values[self.first]) * discount[: len(above) - 1]).max())
        even = min(len(below), len(above))
        found = max(lone, float((gap(above[:even], below[:even]) * discount[: 2 * even : 2]).max()))
        span = 1 + reach(discount, float(gap(values[-1:], values[:1])[0]), found)
        below, above = below[:span][::-1], above[:span]

        def entry(row: Indices, column: Indices) -> Floats:
            worth: Floats = gap(above[column], below[row]) * discount[len(below) - 1 - row + column]
            return worth

        found = max(found, largest_entry(len(below), len(above), entry))
        return self._divided(scale.rounded_up(found, width))
