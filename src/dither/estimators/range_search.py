"""To what range the records are clamped before they are added: chosen from noisy counts of half-octaves.

A sum gets noise in proportion to its range, and what lies outside the range is lost. One noisy histogram, in which a
record is in one cell, judges all ranges at once (`tails`): for each it predicts the noise of the answer and what
clamping would cost, and the range with the smallest sum of their squares is taken. Zeros are one large cell among
others.

1. **Look** at the counts of joined cells with a twentieth of the budget or so: fewer cells have more records in each,
   so that less is hidden by the noise. From the ends of the bounds inwards there are four octaves of half-octaves, two
   octaves, and then cells of twelve octaves (two without bounds): what is asked is whether the bounds are too wide.
2. **Keep the bounds** unless that look shows records, and a range with clearly less than half the noise of the bounds.
   A range that gains less is not worth the risk of records that the noise hides: there may be some 1/(share of the
   look·ε) of them, and each costs as much as all of the noise. So tight bounds cost a twentieth and no more.
3. **Look again** at all half-octaves, with a larger share, and take the best range by that; again, if it has half the
   noise or less. No range is chosen if what is seen could be noise (evidence of both looks together below 10⁶).
4. Where all that is seen lies within an octave far from the anchor, and nothing at the anchor, **move the anchor**
   there first: to a mean of the records, clamped to these cells. That helps where distances count and not sizes: not
   for a sum of which the number of terms is unknown. It is tried where a range gains three times already, or would by
   its length alone.
5. **In doubt look again** before the anchor moves or stays: some cell elsewhere may seem to have records by noise alone
   in one of seven first looks, and bounds that are kept for that may cost a thousand times the noise. The second look
   is four times as exact; by it, noise alone keeps the anchor where it is once in a thousand times. What was suspected
   elsewhere is looked at more closely around the new anchor (`starts_in`): noise is seldom at one place twice.
6. **In doubt about a far cell look again** too: noise alone makes one of 150 looks see records where there are none,
   and inside bounds that are a thousand times too wide that costs a thousand times the noise. If the range would gain
   three times as much without cells of which there is some doubt, the same cells are counted once more, and both counts
   are read together; a first look leads to a second where the range would gain five times without them. So they are
   where a range that gains five times was seen, but not beyond doubt.

How sure the first look must be of records depends on what a second one in vain would cost, and on what it may gain.
From both ends a mean has 0.71 times the error of a count and a sum, so that it may cost a fifth: more likely than not
is enough. It also is where the noise may become five times less. Else, for sums, and where n is public, it must be 20
times as likely. A look at nothing leads to another with a probability of 1/20 at most by Markov's inequality in the
last case, and did so in 1 of 30 looks at zeros otherwise.

Without bounds the first look gets more of the budget, and records count as seen where they are beyond doubt. If there
are none, there is no answer.

**Privacy.** One record is in one cell: under add/remove the counts have sensitivity 1, under replace-one 2. All else,
doubts, a new anchor and what is suspected where among it, is computed from what was released. Which steps follow the
first look depends on it; whichever they are, each has its fixed part and the answer gets what is left (`Spent.choose`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.binned import Binned, BinSide, HalfOctaves, Range, apart
from dither.estimators.records import Floats, is_replace
from dither.estimators.sums import Placed, released_places
from dither.estimators.tails import Seen, Tail
from dither.mechanisms.laplace import Laplace

__all__ = ["Found", "Goal", "all_looks", "first_look", "found_range", "needed"]

_LOOK = Fraction(45, 1000)
_SECOND_LOOK = Fraction(17, 100)
_LOOK_WITHOUT_BOUNDS = Fraction(12, 100)
_NEW_ANCHOR = Fraction(6, 100)

_SURE = math.log(10**6)
_LIKELY, _VERY_LIKELY = 0.0, math.log(20)
"""Evidence that something is seen: enough to choose a range by it, and enough to look again."""

_MUCH = 5.0
"""How many times less noise a range must promise for a second look that may well be in vain."""
_MUCH_MORE = 3.0
_BARELY_A_DOUBT = 1e-3
"""Cells that have records but for less than this are no matter of doubt; how much more is to gain without others."""

_WORTH_IT = 2.0
_WORTH_A_LOOK = 2.7
"""The same of a first look, which joins cells and so promises too much: from 2 on, half of the second looks at sums in
tight bounds were in vain."""
_WORTH_MOVING = 3.0
"""How many times less noise than that of the bounds a range must promise, and one around another anchor."""

_DOUBT, _NO_DOUBT = 0.2, 1e-6
"""A cell has records but for this probability. Without bounds an error far out costs the answer."""
_EVEN, _LITTLE_DOUBT = 0.5, 1e-3
"""The anchor moves by the first look where nobody is more likely elsewhere than not, and else by the second where
nobody is elsewhere but for little doubt. Where half-octaves inside bounds are looked at, a cell has records that are
more likely there than not: an error costs noise, or another look, and records that are overlooked cost more."""

_OCTAVE = 2.0

_LAST_OCTAVE, _OFTEN_TIGHT = 2, 0.1
"""How likely records start anew in each of the last half-octaves before an end of bounds, which are often tight."""

_JOINED = 4
"""By how many half-octaves the number of records may change from one joined cell to the next."""

_SMALLEST = 2.0**-300
"""A width of 0 is taken as this, in units of the largest distance."""

_ENOUGH = 500
"""Records times ε that do without bounds, whatever their spread (measured: see docs/stats.md); twice that where one is
replaced, as counts get twice the noise."""


def needed(epsilon: Fraction, adjacency: Adjacency) -> int:
    """How many records, none of them 0, a moment without bounds needs."""
    return math.ceil(_ENOUGH * (2 if is_replace(adjacency) else 1) / epsilon)


def first_look(*, is_bounded: bool) -> Fraction:
    """The part of the budget of the first look; others follow where it says that they pay."""
    return _LOOK if is_bounded else _LOOK_WITHOUT_BOUNDS


def all_looks(*, is_bounded: bool, may_move: bool) -> Fraction:
    """The part of the budget of all looks together; never too small: around another anchor, in vain, and then here."""
    closer = (2 if is_bounded else 1) * _SECOND_LOOK
    moved = _NEW_ANCHOR + closer if may_move else 0
    return first_look(is_bounded=is_bounded) + closer + moved


_Starts = tuple[Floats | None, Floats | None]
"""How likely records start anew in each cell below the anchor and above it, by an earlier look."""


@dataclass(frozen=True)
class Goal:
    """What is asked for, which decides what noise and clamping cost.

    All errors are n times those of the answer, with the largest distance of a cell as the unit: powers stay finite.
    """

    statistic: str
    """sum, mean or variance."""
    replaces: bool
    """Whether records are replaced, and their number is public."""

    @property
    def power(self) -> int:
        """The power of the distances that are added."""
        return 2 if self.statistic == "variance" else 1

    @property
    def is_of_distances(self) -> bool:
        """Whether all records may be moved alike without changing the noise."""
        return self.replaces or self.statistic != "sum"

    @property
    def is_from_both_ends(self) -> bool:
        """Whether the number of records comes with the sums."""
        return not self.replaces and self.statistic != "sum"

    def noise(self, bins: HalfOctaves, mean: float, spread: float, epsilon: float) -> Floats:
        """Its variance by range, for records of this mean (from the anchor) and variance."""
        low, high = bins.below.relative(bins.farthest)[:, None], bins.above.relative(bins.farthest)[None, :]
        width = np.maximum(low + high, _SMALLEST)
        if not self.is_of_distances:
            anchor = bins.anchor / bins.farthest
            largest = np.maximum(np.abs(anchor + high), np.abs(anchor - low))
            return np.asarray(2 * (largest / epsilon) ** 2)
        if self.replaces:
            return np.asarray(2 * (width**self.power / epsilon) ** 2)
        place = np.clip((mean + low) / width, 0.0, 1.0)
        if self.statistic == "mean":
            return np.asarray(2 * (width / epsilon) ** 2 * (place**2 + (1 - place) ** 2))
        square = np.clip(place**2 + np.minimum(spread / width / width, 1.0), place**2, place)
        weights = (1 - square - 2 * place * (1 - place), place * (2 * place - 1) - square, 2 * place**2 - square)
        return np.asarray(2 * (width**2 / epsilon) ** 2 * sum(weight**2 for weight in weights))

    def loss(self, below: Floats, above: Floats) -> Floats:
        """The square of what is lost by clamping, from what is lost to either side."""
        if self.statistic == "variance":
            return np.asarray((below[:, None] + above[None, :]) ** 2)
        return np.asarray(below[:, None] ** 2 + above[None, :] ** 2)


@dataclass(frozen=True)
class Found:
    """A range of cells, and how many records seem to lie outside it (None where nobody looked)."""

    binned: Binned
    reach: Range
    outside: float | None = None

    @classmethod
    def bounds(cls, binned: Binned) -> Found:
        """The bounds as they are."""
        return cls(binned, binned.bins.whole)


@dataclass(frozen=True)
class _Narrow:
    """Cells of an octave to one side of the anchor, with all records that are seen: their edges."""

    is_above: bool
    first: int
    last: int


@dataclass(frozen=True)
class _Choice:
    """The best range by what was seen."""

    reach: Range
    gain: float
    """How many times less the error would be than the noise of all cells."""
    evidence: float
    is_seen: bool
    outside: float
    bins: HalfOctaves
    views: tuple[_View, _View]
    centre: Tail
    """The cell at the anchor, by itself."""
    hoped: float
    """The gain, if nobody is in cells of which there is some doubt."""
    looks: tuple[Seen, ...]
    """The noisy counts of all cells that this is read from."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether much depends on cells that may have records by noise alone: a range, or what makes it wide."""
        if self.bins.bounds is None:
            return False
        if self.is_sure:
            return self.hoped >= _MUCH_MORE * self.gain
        return self.is_seen and self.evidence >= _VERY_LIKELY and self.gain >= _MUCH

    @property
    def is_sure(self) -> bool:
        """Whether records were seen beyond doubt."""
        return self.is_seen and self.evidence >= _SURE

    def narrow(self, doubt: float) -> _Narrow | None:
        """Where all records are that are seen but for this probability, if that is within an octave off the anchor.

        Not at the end of bounds: those that records reach are tight, as 0 and 1 are for shares, and what the noise
        hides may be at the other end.
        """
        below, above = self.views
        is_above = above.last(doubt) > 0
        tail, side = (above if is_above else below).tail, (above if is_above else below).side
        if self.centre.last_with(doubt) >= 0 or is_above == (below.last(doubt) > 0) or tail is None:
            return None
        first, last = tail.first_with(doubt) + 1, tail.last_with(doubt) + 2
        inner, outer = side.edges[first], side.edges[last]
        is_far = max(self.gain, outer / (outer - inner)) >= _WORTH_MOVING
        return _Narrow(is_above, first, last) if outer <= _OCTAVE * inner and is_far and last < side.cells else None

    def starts_in(self, cells: HalfOctaves, but: _Narrow | None = None) -> _Starts:
        """How likely records start anew in each of these cells, by what was seen: no less than one in as many.

        Those among which the anchor will be do not count.
        """
        spans = np.array([*self._spans(but), (self.bins.anchor, self.bins.anchor, 0.0)])
        low, high, likely = spans.T
        touched = [
            (np.minimum(ends[:-1], ends[1:])[:, None] < high) & (np.maximum(ends[:-1], ends[1:])[:, None] > low)
            for side, sign in ((cells.below, -1), (cells.above, 1))
            for ends in [cells.anchor + sign * np.array(side.edges[1:])]
        ]
        each = likely / np.maximum(sum(part.sum(axis=0) for part in touched), 1)
        below, above = (np.maximum((part * each).max(axis=1), 1 / max(len(part), 1)) for part in touched)
        if cells.bounds is not None:
            for starts in (below, above):
                starts[-_LAST_OCTAVE:] = np.maximum(starts[-_LAST_OCTAVE:], _OFTEN_TIGHT)
        return below, above

    def _spans(self, but: _Narrow | None) -> Iterator[tuple[float, float, float]]:
        """Where records may start: from, to, how likely."""
        sides = [np.array(view.side.edges) for view in self.views]
        nearest = [float(edges[1]) if len(edges) > 1 else 0.0 for edges in sides]
        yield self.bins.anchor - nearest[0], self.bins.anchor + nearest[1], float(self.centre.has_records[0])
        for view, edges, sign in zip(self.views, sides, (-1, 1), strict=True):
            anew = view.anew
            if but is not None and but.is_above == (sign > 0):
                anew[but.first - 1 : but.last - 1] = 0.0
            ends = np.sort(self.bins.anchor + sign * np.stack([edges[1:-1], edges[2:]]), axis=0)
            yield from zip(*ends.tolist(), anew.tolist(), strict=True)


@dataclass
class _Search:
    """One look at these cells."""

    binned: Binned
    goal: Goal
    total: Fraction
    adjacency: Adjacency
    spent: Spent
    rest: Fraction
    """What will be left for the answer."""
    joined: int = 1
    """How many half-octaves a cell has, about."""
    starts: _Starts = (None, None)
    before: tuple[Seen, ...] = ()
    """Earlier looks at the same cells."""
    known: float = 0.0
    """The evidence of an earlier look at longer cells. Its noise was another's, so that ratios multiply."""

    def look(self, share: Fraction) -> _Choice:
        """A noisy count of each cell, and what it says."""
        sensitivity = 2 if is_replace(self.adjacency) else 1
        mechanism = Laplace(sensitivity=sensitivity, epsilon=self.total * share, adjacency=self.adjacency)
        released = mechanism.release(self.binned.counts)
        self.rest -= self.total * share
        self.spent.record("look", self.total * share, released.event)
        now = Seen(np.asarray(released.value, dtype=np.float64), float(mechanism.scale))
        return self._choice((*self.before, now))

    def look_again(self, seen: _Choice) -> _Choice:
        """Where that is in doubt: the same cells counted once more, and read together with what was seen."""
        if not seen.is_in_doubt:
            return seen
        again = replace(self, before=seen.looks)
        clearer = again.look(_SECOND_LOOK)
        self.rest = again.rest
        return clearer

    def _last(self, below: _View, above: _View) -> float:
        """How far records are seen; 0 if none are.

        Without bounds, the cell that has records most likely tells what one more cell costs if it is empty: F times as
        far, the noise is F or F² times as large. Its square counts once in as many times.
        """
        views = (below, above)
        if self.binned.bins.bounds is not None:
            return max(view.last(_DOUBT if self.joined > 1 else _EVEN) for view in views)
        likeliest = min((view.least_doubt for view in views if view.tail is not None), default=1.0)
        sure = max(view.last(max(_NO_DOUBT, likeliest)) for view in views)
        return max([sure, *(view.last(view.doubts(sure, 2 * self.goal.power)) for view in views)]) if sure else 0.0

    def found(self, seen: _Choice) -> Found | None:
        """The range that was seen, if it is sure and worth it."""
        is_worth_it = seen.gain >= _WORTH_IT or self.binned.bins.bounds is None
        return Found(self.binned, seen.reach, seen.outside) if seen.is_sure and is_worth_it else None

    def _choice(self, looks: tuple[Seen, ...]) -> _Choice:
        """The best range, with what is left of the budget for the answer."""
        bins = self.binned.bins
        parts = [apart(each.counts, bins) for each in looks]
        downs = [Seen(part[1], each.scale) for part, each in zip(parts, looks, strict=True)]
        ups = [Seen(part[2], each.scale) for part, each in zip(parts, looks, strict=True)]
        below = _View.of(bins.below, downs, self.joined, self.starts[0])
        above = _View.of(bins.above, ups, self.joined, self.starts[1])
        centre = float(np.mean([part[0] for part in parts]))
        last = self._last(below, above)
        reach, gain, outside = self._best(below, above, centre, last)
        hoped, certain = gain, max(view.last(_BARELY_A_DOUBT) for view in (below, above))
        if 0 < certain < last and bins.bounds is not None:
            _, hoped, _ = self._best(below, above, centre, certain)
        at_anchor = Tail.of([Seen(np.array([part[0]]), each.scale) for part, each in zip(parts, looks, strict=True)])
        evidence = self._evidence([view.tail for view in (below, above) if view.tail is not None])
        return _Choice(reach, gain, evidence, last > 0, outside, bins, (below, above), at_anchor, hoped, looks)

    def _evidence(self, tails: Sequence[Tail]) -> float:
        """ln of a ratio whose mean is 1 at most where there are no records, whatever was seen before.

        That of the chains, or their average with those of stretches. A first look inside bounds, which only asks for
        another, goes by the chains: records spread over many cells are not worth more looks in vain.
        """
        ratios = [sum(tail.evidence for tail in tails)]
        if self.joined == 1 or self.binned.bins.bounds is None:
            ratios += [tail.spread_out for tail in tails]
        return self.known + float(np.logaddexp.reduce(ratios)) - math.log(len(ratios))

    def _best(self, below: _View, above: _View, centre: float, last: float) -> tuple[Range, float, float]:
        """The range with the least error if no records start anew beyond `last`: its gain, and what is outside."""
        bins = self.binned.bins
        down, up = (view.expected(last, self.goal.power, bins.farthest) for view in (below, above))
        count = max(max(centre, 0.0) + float(down.records.sum() + up.records.sum()), 1.0)
        mean = (up.moment(1) - down.moment(1)) / count
        square = (up.moment(2) + down.moment(2)) / count
        noise = self.goal.noise(bins, mean, max(square - mean**2, 0.0), float(self.rest))
        errors = noise + self.goal.loss(down.losses, up.losses)
        errors[0, 0] = math.inf
        best = np.unravel_index(int(np.argmin(errors)), errors.shape)
        reach = int(best[0]), int(best[1])
        outside = float(down.records[reach[0] :].sum() + up.records[reach[1] :].sum())
        return reach, math.sqrt(float(noise[-1, -1]) / float(errors[reach])), outside


@dataclass(frozen=True)
class _Expected:
    """Of one side: the mean number of records by cell, their distance, and by edge what would be lost beyond it."""

    records: Floats
    distances: Floats
    losses: Floats

    def moment(self, power: int) -> float:
        """Σ of powers of the distances."""
        return float(self.records @ self.distances**power)


@dataclass(frozen=True)
class _View:
    """One side, as it was seen; `tail` is without the cell next to the anchor, and None if there are no cells."""

    side: BinSide
    tail: Tail | None

    @classmethod
    def of(cls, side: BinSide, seen: Sequence[Seen], joined: int, starts: Floats | None) -> _View:
        return cls(side, Tail.of(seen, joined, starts) if side.cells else None)

    @property
    def anew(self) -> Floats:
        """How likely records start in each cell that have not gone on from the one before."""
        if self.tail is None:
            return np.zeros(0)
        return np.maximum(np.diff(self.tail.has_records, prepend=0.0), 0.0)

    @property
    def least_doubt(self) -> float:
        """Of the cell that has records most likely; a little more, so that it is below that."""
        assert self.tail is not None
        return float(1 - self.tail.has_records.max(initial=0.0)) * (1 + 1e-9) + 1e-300

    def doubts(self, sure: float, power: int) -> Floats:
        """For each cell, in proportion to this power of the distance at which records are beyond doubt."""
        farther = np.maximum(np.array(self.side.edges[2:]) / sure, 1.0)
        return np.clip(farther ** float(-power), _NO_DOUBT, _DOUBT)

    def last(self, doubt: float | Floats) -> float:
        """How far records are seen; 0 if none are."""
        cell = -1 if self.tail is None else self.tail.last_with(doubt)
        return self.side.edges[cell + 2] if cell >= 0 else 0.0

    def expected(self, last: float, power: int, unit: float) -> _Expected:
        """If no records start anew beyond `last`."""
        if self.tail is None:
            return _Expected(np.zeros(0), np.zeros(0), np.zeros(1))
        records, squares = self.tail.moments(int(np.searchsorted(self.side.edges, last, side="right")) - 3)
        edges = self.side.relative(unit)
        middles = (edges[:-1] + edges[1:]) / 2
        costs = np.maximum(middles[None, :] ** power - edges[:, None] ** power, 0.0)
        return _Expected(np.append(0.0, records), middles, costs[:, 1:] @ squares)


def found_range(
    binned: Binned,
    goal: Goal,
    total: Fraction,
    adjacency: Adjacency,
    spent: Spent,
    around: Callable[[float], Binned] | None = None,
) -> Found | None:
    """The range for `goal`, inside the bounds; None if there are no bounds and nothing is seen.

    `around` bins the records around another anchor, where that can be done.
    """
    is_bounded = binned.bins.bounds is not None
    unchanged = Found.bounds(binned) if is_bounded else None
    first = _Search(binned.coarse(), goal, total, adjacency, spent, total, _JOINED)
    seen = first.look(first_look(is_bounded=is_bounded))
    spent.choose()
    around = around if goal.is_of_distances else None
    narrow = seen.narrow(_EVEN)
    if around is not None and narrow is not None and seen.evidence >= _SURE:
        moved = _moved(first, seen, narrow, around)
        if moved is not None:
            return moved
        around = None  # once is enough
    may_move = around is not None and (narrow or seen.narrow(_LITTLE_DOUBT)) is not None
    hoped = max(seen.gain, seen.hoped if seen.is_in_doubt else 0.0)
    enough = _LIKELY if goal.is_from_both_ends or hoped >= _MUCH else _VERY_LIKELY
    is_worth_it = seen.gain >= _WORTH_A_LOOK or hoped >= _MUCH or may_move
    is_promising = is_worth_it and seen.evidence >= enough
    if not (is_promising if is_bounded else seen.is_sure):
        return unchanged
    starts = seen.starts_in(binned.bins)
    second = _Search(binned, goal, total, adjacency, spent, first.rest, starts=starts, known=seen.evidence)
    seen = second.look(_SECOND_LOOK)
    narrow = seen.narrow(_LITTLE_DOUBT)
    if around is not None and narrow is not None and seen.evidence >= _SURE:
        moved = _moved(second, seen, narrow, around)
        return moved or second.found(seen) or unchanged
    return second.found(second.look_again(seen)) or unchanged


def _moved(search: _Search, seen: _Choice, narrow: _Narrow, around: Callable[[float], Binned]) -> Found | None:
    """A range around an anchor among the records, where they are close together far from the old one."""
    binned = around(_mean_inside(search, narrow))
    moved = replace(search, binned=binned, joined=1, starts=seen.starts_in(binned.bins, narrow), known=0.0)
    closer = moved.look_again(moved.look(_SECOND_LOOK))
    search.rest = moved.rest
    return moved.found(closer)


def _mean_inside(search: _Search, narrow: _Narrow) -> float:
    """The mean of the records clamped to these cells: with the noise of a range as narrow as that."""
    binned, spent = search.binned, search.spent
    tally = binned.above if narrow.is_above else binned.below
    edges = tally.side.edges
    inner, outer = Fraction(edges[narrow.first]), Fraction(edges[narrow.last])
    inside = (tally.clamped(narrow.last)[0] - tally.clamped(narrow.first)[0]) / (outer - inner)
    places = Placed(binned.count, inside, Fraction(0))
    search.rest -= search.total * _NEW_ANCHOR
    price, is_known = search.total * _NEW_ANCHOR, search.goal.replaces
    noisy = released_places(places, search.adjacency, price, spent, "anchor", is_count_public=is_known)
    distance = float(inner + noisy.mean * (outer - inner))
    return binned.bins.anchor + (distance if narrow.is_above else -distance)
