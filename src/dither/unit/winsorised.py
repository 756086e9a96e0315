"""Records that are replaced: the sensitivities of a winsorised mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["ReplacedWinsorised"]


@dataclass(frozen=True, slots=True, eq=False)
class ReplacedWinsorised:
    """How far a winsorised mean can move when one record is replaced, for at least three ranks in the middle.

    The mean is Σ c[l]·x[l], with weight (k + 1)/n on the ranks k + 1 and n − k, and 1/n on those between. One record
    moved from below to above lifts each rank to the next one, and none can do more. With a = x[k + 1], b = x[k + 2],
    c = x[n − k] and d = x[n − k + 1] that is

        ((k + 1)(d − a) − k (c − b))/n.

    The way down is the way up of the data turned around. Let t records be replaced first. To make x[i], x[i′], x[j′],
    x[j] of i < i′ ≤ j′ < j the new a, b, c, d, the records between i and i′ and between j′ and j go. There should be
    k + 1 records up to a, k from d on, n − 2k − 1 ≥ 2 between; i, n + 1 − j and so on are there. What is too much goes,
    what is missing comes, and as many go as come. So with the surplus p = i − k − 1 and q = n + 1 − j − k, the cost is

        max(p⁻ + q⁻, (i′ − i − 1) + (j − j′ − 1) + p⁺ + q⁺),

    the records missing or too many at the ends: the middle makes up the difference, with copies of b, whichever way.
    If nothing is between i and j, the middle is all copies, and the cost is p⁺ + q⁺, since p + q = n − 2k − 1 > 0.
    """

    values: tuple[int, ...]
    cut: int

    @property
    def bound(self) -> Fraction:
        """(k + 1)(high − low)/n, which no dataset of this size exceeds, and some attain."""
        return Fraction((self.cut + 1) * (self.values[-1] - self.values[0]), len(self.values) - 2)

    def within(self, distance: int) -> Fraction:
        """A^(t) in the unit of the values, exactly."""
        size = len(self.values) - 2
        steps = min(distance, size)
        ways = self.values, tuple(-value for value in reversed(self.values))
        return Fraction(max(_furthest(values, self.cut, steps) for values in ways), size)


def _furthest(values: tuple[int, ...], cut: int, steps: int) -> int:
    """n times the largest way up."""
    size = len(values) - 2
    best = 0
    for i in range(max(0, cut + 1 - steps), min(size, cut + 1 + steps) + 1):
        for j in range(max(i + 1, size + 1 - cut - steps), min(size + 1, size + 1 - cut + steps) + 1):
            low_surplus, high_surplus = i - cut - 1, size + 1 - j - cut
            missing = max(-low_surplus, 0) + max(-high_surplus, 0)
            spare = steps - max(low_surplus, 0) - max(high_surplus, 0)
            if missing > steps or spare < 0:
                continue
            between = 0
            if spare < j - i - 2:
                between = min(values[j - 1 - spare + r] - values[i + 1 + r] for r in range(spare + 1))
            best = max(best, (cut + 1) * (values[j] - values[i]) - cut * between)
    return best
