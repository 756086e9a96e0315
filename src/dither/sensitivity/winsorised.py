"""The sensitivities of a winsorised mean. The proof for records that come and go is in winsorised.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dither.sensitivity.means_added_removed import AddRemoveMean, PaddedSide

__all__ = ["AddRemoveWinsorised", "ReplacedWinsorised"]


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


@dataclass(frozen=True, eq=False)
class AddRemoveWinsorised(AddRemoveMean):
    """How far a winsorised mean can move when one record comes or goes.

    Let E have M ≥ 1 records and K = ⌊trim·(M + 1)⌋. A record more on top of E moves the mean up by 1/(M(M + 1)) times

        M(K + 1)c − (M + 1)K b − K a − S     if K = ⌊trim·M⌋: a, …, b are the ranks K + 1 to M − K, S is their sum,
                                             and c is the next one (which is high if K = 0);
        M K q − (M + 1)K p + (M − K)c − S    if K grew: p, q are the ranks K and K + 1, c is the rank M + 1 − K, and
                                             S is the sum of the ranks from q to just below c.

    The dataset at hand is E itself, or has that record already: then one more record lies from c on.
    """

    def _moves(self, removed: int, added: int, size: int) -> Iterator[Fraction]:
        for smaller in range(max(size - 1, 1), size + 1):
            cut = self._cut(smaller + 1)
            furthest = _with_the_same_cut if self._cut(smaller) == cut else _with_one_more_cut
            for side in self._sides:
                best = furthest(side, removed, added, smaller, cut, cut + size - smaller)
                yield Fraction(best, smaller * (smaller + 1))


def _with_the_same_cut(side: PaddedSide, removed: int, added: int, smaller: int, cut: int, from_top: int) -> int:
    """The first case, over the number of added records that are high; the others are low."""
    best = 0
    for raised in range(max(0, from_top + removed - side.size), min(added, from_top) + 1):
        left, lowered = side.size - removed - from_top + raised, added - raised
        first, last, top = (side.values[rank] for rank in (max(cut + 1 - lowered, 0), left, left + removed + 1))
        fixed = cut * first + side.kept_below(cut, lowered, left) + (smaller + 1) * cut * last
        best = max(best, smaller * (cut + 1) * top - fixed)
    return best


def _with_one_more_cut(side: PaddedSide, removed: int, added: int, smaller: int, cut: int, from_top: int) -> int:
    """The second case, over the numbers of added records that are low, high or copies of q, and over q.

    Most of these numbers are ruled out by the highest q and the lowest S that they allow, whether or not together.
    """
    values, sums = side.values, side.sums
    hopes = []
    for lowered in range(min(added, cut) + 1):
        low = cut - lowered
        for raised in range(max(0, low + removed + from_top - side.size), min(added - lowered, from_top) + 1):
            high = side.size + 1 - from_top + raised
            between = high - low - 1 - removed  # records of the data from q to just below c
            weight = smaller * cut - (added - lowered - raised)
            ends = (smaller - cut) * values[high] - (smaller + 1) * cut * values[low]
            hope = ends + weight * values[low + removed + 1] - sums[low + between] + sums[low]
            hopes.append((hope, ends, weight, low, between))
    best = 0
    for hope, ends, weight, low, between in sorted(hopes, reverse=True):
        if hope <= best:
            break
        highest = range(low + 1, low + removed + 2)
        best = max(best, ends + max(weight * values[q] - sums[q + between - 1] + sums[q - 1] for q in highest))
    return best
