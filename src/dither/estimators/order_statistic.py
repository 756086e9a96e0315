"""A private order statistic: one exponential mechanism on the places of an axis, for arrays and tables alike.

**Rows** are known by stretches of places, with how many lie in each: a record of an array within a few places of its
own, a row of a table within its public bin. For a place y let A(y) be the number of rows that lie wholly above y and
B(y) of those that lie wholly below it. With A and B in units of 1/d and a target (d, α, β),

    loss(y) = min(T, max(0, v·(d·A(y) − α), w·(d·B(y) − β))),     score(y) = −loss(y) − shift:

no loss where at most α/d rows are certainly above and at most β/d certainly below. All of these are whole numbers.

*Quantiles.* For the p/d-quantile of n rows α = (d − p)n, β = pn and v = w = 1. A row that is added moves d·A − α by p
or −(d − p) and d·B − β by d − p or −p: Δ = max(p, d − p). A row that is replaced moves A and B by at most 1 and n not
at all: Δ = d. Cutting off at 0 and at T and the larger of two functions move no score by more.

*Few rows in the tail* (inside bounds, on the side that reaches farther from 0). Beyond all rows the p/d-quantile has
the loss (d − p)n only, and where that is a few scales, the space beyond outweighs the rows. So for p > d − p at least t
rows are to lie above the answer: with F = p·t the loss is max(0, min(d·A − α, p·A − F), d·B − β, p·B − (p·n − F)).
Beyond all rows that is F or more, and where α ≥ d·t nothing changes. F is three scales, and at most ⌊p·n/2⌋: never past
the middle. A row that is added moves F by at most ⌈p/2⌉, hence p·A − F by −⌈p/2⌉ to p and p·B − (p·n − F) by
−p to ⌈p/2⌉; a row that is replaced moves both by at most p. So Δ stays, as the smaller or larger of functions moves by
no more than they do. For p < d − p the same holds with above and below exchanged.

*Half as far.* The space that outweighs rows lies far beyond them, as most of wide bounds does. So F asks for few rows,
and for more above the half of the answer: with C(y) the rows that are not wholly below y/2 (the way from 0, or from the
bound next to it) the loss is at least G − p·C, G like F with more scales. Beyond twice the rows that is G; in tight
bounds it asks for nothing. G is also nine scales more than the loss (d − p)n of the space just beyond the rows, up to
22 scales of that: where many records are equal, and their number is not round, their place has e^{−18} of the weight of
its octave, and the space that is taken in its stead must not be the far one. Twice the end of a row is a public place,
so that a row that is added moves C by 0 or 1, G by 0 to max(⌈p/2⌉, d − p), hence G − p·C by −p to p at most, and one
that is replaced by p at most: Δ stays again.

*Extremes.* With d = 2 and t rows to lie beyond the largest, α = min(2t, n) and β = 2n − α: at most half of the rows
lie beyond. Only one of the two terms is positive, as A ≤ n − B. A row that is added moves 2A − α by 2 − s above y and
by −s at or below it, where s is 1 if n < 2t and 0 if not, and 2B − β by the opposite. So the score −v(2A − α)₊ − w(2B
− β)₊ moves for v = 1, w = 3 by −2 to 6 if s = 0, and by −3 to 3 if s = 1. With the shift of 2 for each row beyond 2t
it is −4 to 4 and −3 to 3: Δ = 4. (What is added to all scores alike changes no answer.) A row that is replaced moves
A and n − B by at most 1, and both in one direction: with v = w = 2 and no shift Δ = 4 again.

*No answer*. One more place has 2^13 times the mass of all others and, without bounds, the loss κdn, κ = ⅘·min(p, d −
p)/d. A row more moves that by at most min(p, d − p) ≤ Δ, rounding included. Whatever the data are, places that are off
by κn ranks or more have together less than 2^-13 of its weight (2^-12 where a released place is the origin of half of
the measure): a wild answer comes with a probability below 1/4000, and where the records are few, no answer does.
Inside bounds its loss is that of the space beyond all rows where these are few: n for a median, ⌊max(p, d − p)·n/2⌋ for
another quantile, and 18 min(p, d − p)·n where that is less, which a row more moves by Δ at most. (That is 18 scales
where as many rows lie in the tail as noise moves a rank by: nine for the mass of no answer, nine to make it the rule.
What the fence would answer there is another quantile.) So a place beyond twice all rows on the side of the space is
chosen at most once in 4000 times where G is not below that, and as seldom as G says where it is.
For an extreme its loss is that of the space beyond all rows and 6 scales more, or that of the space before them,
whichever is less, and moves as the losses there do. Beyond all rows a place is chosen 20 times less often than no
answer is, and where rows are many (150/ε, say) both are rare.

**Why rows have room.** If all are equal, every other place has the same loss; with their room, and the mass of round
numbers, the places of loss 0 have a weight.

**T** is so many scales that the places that are cut off have together less than e^{−64} times their base weight. It
makes the number of pieces depend on ε and not on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.base_measure import LEAST_TAIL_SCALES, Base
from dither.estimators.records import Floats, is_replace
from dither.mechanisms.public_measure import Wholes, released_place
from dither.mechanisms.released import Release
from dither.mechanisms.selection import Exponential

__all__ = [
    "EXTREME_DIGITS",
    "EXTREME_SENSITIVITY",
    "TABLE_DIGITS",
    "RankedRows",
    "Target",
    "chosen",
    "extreme_target",
    "quantile_aim",
]

_FAR = 64
_EXACT = 2**53
_WHOLE = 2**62
"""Losses are 64-bit integers until they are cut off at 2^53: no number of rows that a table can have passes that."""

QUANTILE_DIGITS = 26
"""Records of an array have a room of 2^-26 of their size: finer than most that are told apart, and equal ones weigh."""
TABLE_DIGITS = 16
"""Rows of a table are told apart to 2^-16 of their size: so many bins are counted in each octave."""
EXTREME_DIGITS = 11
"""For an extreme of 2^-11: the space beyond must not outweigh equal records there."""
EXTREME_SENSITIVITY = 4
_SCALES_BEYOND = Fraction(27, 2)
"""The loss beyond all rows, in scales: equal records with a room of 2^-11 weigh e^{−11.5} of all places or more."""
_SCALES_BEYOND_ALL = Fraction(21)
"""Without bounds there is more space, and it must not outweigh no answer either."""
_SCALES_OF_TIES = 22
"""So much less the place of equal records may weigh than its octave, and that may have some uniform weight."""
_SCALES_FARTHER = 9
"""How much more loss the space beyond twice all rows has than that next to them: e^{−9} is one in ten thousand."""
_TAIL_REFUSED = 18
"""The loss of no answer in a far tail, in losses of the space beyond all rows."""
_SCALES_REFUSED = 6
"""How much more loss no answer has than the space: with 2^13 times the mass it has 20 times the weight."""


@dataclass(frozen=True, eq=False)
class RankedRows:
    """In order: `at` which place each stands, and the places starts, …, ends − 1 in which it is known to lie.

    `sums` are how many rows there are before each, and in all; one each if None.
    """

    at: Wholes
    starts: Wholes
    ends: Wholes
    sums: Wholes | None = None

    @classmethod
    def of_values(cls, values: Floats, base: Base, digits: int = QUANTILE_DIGITS) -> RankedRows:
        """Sorted records of an array, clamped to the bounds; each lies within 2^-digits of its size."""
        at = np.clip(base.axis.places(values), base.first, base.end - 1)
        digits = base.axis.room_digits(digits, base.end - base.first)
        spread = 1 << digits if digits else 0
        return cls(at, at - spread, at + (spread + 1))

    @classmethod
    def of_bins(cls, firsts: Wholes, ends: Wholes, counts: Wholes) -> RankedRows:
        """Rows of a table in bins, in order: the places of each, the last one not included, and its rows."""
        return cls(firsts, firsts, ends, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.at) if self.sums is None else int(self.sums[-1])

    def before(self, positions: Wholes) -> Wholes:
        """How many rows come before each position."""
        return positions if self.sums is None else self.sums[positions]

    def below(self, places: Wholes) -> Wholes:
        """How many rows stand below each place."""
        return self.before(np.searchsorted(self.at, places, side="left"))

    def positions(self, first: int, last: int) -> slice:
        """Where between `first` and `last` rows come before, and a few more on each side."""
        if self.sums is not None:
            first, last = (int(np.searchsorted(self.sums, each)) for each in (first, last))
        count = len(self.at)
        return slice(min(max(first - 3, 0), count), min(max(last + 3, 0), count))

    def parted(self, place: int) -> tuple[RankedRows, RankedRows]:
        """Those that stand below a place, and the others."""
        cut = int(np.searchsorted(self.at, place, side="left"))
        return self._slice(0, cut), self._slice(cut, len(self.at))

    def _slice(self, first: int, last: int) -> RankedRows:
        sums = None if self.sums is None else self.sums[first : last + 1] - self.sums[first]
        return RankedRows(self.at[first:last], self.starts[first:last], self.ends[first:last], sums)


@dataclass(frozen=True)
class Target:
    """At most `above`/`units` rows above, at most `below`/`units` below, and how dear more are: d, α, β, v, w."""

    units: int
    above: int
    below: int
    above_weight: int = 1
    below_weight: int = 1
    shift: int = 0
    refusal: int | None = None
    """The loss of no answer, where there is that."""
    fence: Fence | None = None


@dataclass(frozen=True)
class Fence:
    """At least `loss`/`slope` rows are to lie above the answer, or below it; `half_loss`/`slope` beyond its half."""

    slope: int
    loss: int
    half_loss: int
    is_above: bool

    def losses(self, near: Wholes, far: Wholes, tail: Wholes, rest: Wholes, count: int) -> Wholes:
        """Of `near` and `far` without it; `tail` are the rows on its side, `rest` those on the other."""
        return np.maximum(
            np.minimum(near, self.slope * tail - self.loss),
            np.maximum(far, self.slope * rest - (self.slope * count - self.loss)),
        )

    def half_way(self, rows: RankedRows, base: Base) -> HalfWay:
        """Where the number of rows beyond the half of a place changes, as far as it matters."""
        few, count = -(-self.half_loss // self.slope), rows.total
        near = rows.positions(count - few, count) if self.is_above else rows.positions(0, few)
        edges = base.twice_as_far(rows.ends[near] if self.is_above else rows.starts[near])
        return HalfWay(self, rows, near.start, edges)


@dataclass(frozen=True, eq=False)
class HalfWay:
    """Rows beyond the half of places: `edges` are twice as far as the rows from position `first` on."""

    fence: Fence
    rows: RankedRows
    first: int
    edges: Wholes

    def losses(self, places: Wholes) -> Wholes:
        """What too few rows there cost; rows that are not known have no say, as with them there are enough."""
        passed = self.rows.before(self.first + np.searchsorted(self.edges, places, side="right"))
        beyond = self.rows.total - passed if self.fence.is_above else passed
        return self.fence.half_loss - self.fence.slope * beyond


def quantile_aim(probability: Fraction, count: int, base: Base, mechanism: Exponential) -> Target:
    """The p/d-quantile of n = `count` rows: #above ≤ (1 − p/d)n, #below ≤ (p/d)n.

    Rows in the tail are asked for where its side of the bounds reaches farther from 0: there the space is.
    """
    p, d = probability.numerator, probability.denominator
    if not base.is_bounded:
        return Target(d, (d - p) * count, p * count, refusal=4 * min(p, d - p) * count // 5)
    slope, is_above = max(p, d - p), 2 * p > d
    few = count if 2 * p == d else min(slope * count // 2, _TAIL_REFUSED * min(p, d - p) * count)
    refusal = few if base.refuses else None
    plain = Target(d, (d - p) * count, p * count, refusal=refusal)
    if 2 * p == d or is_above != base.is_farther_above:
        return plain
    least, most, ties, farther = (
        math.ceil(Fraction(scales) * mechanism.scale)
        for scales in (LEAST_TAIL_SCALES, base.tail_scales, _SCALES_OF_TIES, _SCALES_FARTHER)
    )
    if base.tail_scales > LEAST_TAIL_SCALES:  # there is space far beyond
        most = max(most, min(min(p, d - p) * count, ties) + farther)
    middle = slope * count // 2
    return replace(plain, fence=Fence(slope, min(least, middle), min(most, middle), is_above))


def extreme_target(
    count: int, mechanism: Exponential, adjacency: Adjacency, *, largest: bool, refuses: bool = False
) -> Target:
    """For the largest or smallest of n = `count` rows; `mechanism` has the sensitivity 4 times the rows of a person.

    t is 13.5 scales of the dearer side, 18/ε rows under add/remove and 27/ε under replace-one; 21 scales without
    bounds.
    """
    near, far = (2, 2) if is_replace(adjacency) else (1, 3)
    scales = _SCALES_BEYOND_ALL if refuses else _SCALES_BEYOND
    few = min(math.ceil(scales * mechanism.scale / far), count)
    shift = 0 if is_replace(adjacency) else 2 * (count - few)
    beyond_all, before_all = far * few + math.ceil(_SCALES_REFUSED * mechanism.scale), near * (2 * count - few)
    refusal = min(beyond_all, before_all) if refuses else None
    if largest:
        return Target(2, few, 2 * count - few, near, far, shift, refusal)
    return Target(2, 2 * count - few, few, far, near, shift, refusal)


def chosen(rows: RankedRows, base: Base, between: tuple[int, int], target: Target, mechanism: Exponential) -> Release:
    """A place between two places of the base, the second not included; `base.end` if no answer is given."""
    starts, scores = scored(rows, base, between, target, mechanism)
    return released_place(mechanism, starts, scores, base.measure)


def scored(
    rows: RankedRows, base: Base, between: tuple[int, int], target: Target, mechanism: Exponential
) -> tuple[Wholes, Floats]:
    """Pieces on which the score is constant, and the scores."""
    cut = min(math.ceil(_FAR * mechanism.scale), _EXACT)
    total, units = rows.total, target.units
    assert max(target.above_weight, target.below_weight) * units * (total + 1) < _WHOLE  # a million units: 10¹² rows
    # A row changes a score only where a loss is between 0 and T.
    reach_above, reach_below = cut // target.above_weight, cut // target.below_weight
    above_least, below_least = target.above // units, target.below // units
    above_most, below_most = (target.above + reach_above) // units, (target.below + reach_below) // units
    if (fence := target.fence) is not None:  # as far as it may move either end
        few = -(-(fence.loss + cut) // fence.slope)
        above_least, below_least = min(above_least, total - few), min(below_least, total - few)
        above_most, below_most = max(above_most, few), max(below_most, few)
    near_start = rows.starts[rows.positions(total - above_most, total - above_least)]
    near_end = rows.ends[rows.positions(below_least, below_most)]
    half_way = None if fence is None else fence.half_way(rows, base)
    edges = np.zeros(0, np.int64) if half_way is None else half_way.edges
    first, end = between
    starts = np.unique(np.clip(np.concatenate([[first, end], near_start, near_end, edges]), first, end))
    begin = starts[:-1]
    above = total - rows.before(np.searchsorted(rows.starts, begin, side="right"))
    below = rows.before(np.searchsorted(rows.ends, begin, side="right"))
    too_low = target.above_weight * (units * above - target.above)
    too_high = target.below_weight * (units * below - target.below)
    if fence is None:
        loss = np.maximum(too_low, too_high)
    elif fence.is_above:
        loss = fence.losses(too_low, too_high, above, below, total)
    else:
        loss = fence.losses(too_high, too_low, below, above, total)
    if half_way is not None:
        loss = np.maximum(loss, half_way.losses(begin))
    loss = np.clip(loss, 0, cut)
    scores = -(loss + target.shift).astype(np.float64)
    if target.refusal is None:
        return starts, scores
    refusal = min(target.refusal, cut) + target.shift
    return np.append(starts, base.end + 1), np.append(scores, -float(refusal))
