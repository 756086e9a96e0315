"""Numbers by which answers are put in order, the more telling ones first.

One half of the samples teaches them. They are

* an entry of the answer, upwards and downwards;
* the log-likelihood ratio of a histogram of one entry, of two entries that tell much, of all discrete entries together,
  and of these with one more, in fine cells and in coarse ones;
* an entry among the answers whose discrete entries follow one pattern, or that have another entry far out;
* a weighted sum of the ratios of all entries: logistic regression, the small classifier for vectors and sequences.

Entries are also the sum, the largest, the smallest and the missing ones of a vector, and the lowest bit of a real
number. What entries are to each other (`residues`) is looked at by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.answer_readings import Cells, Cuts, Entries, Reading, table
from dither.audit.attack.curve import Allowed, Floats
from dither.audit.attack.expected_evidence import Counts, Outlook

__all__ = ["Score", "scores"]

_MOST_SINGLE = 10  # entries that are looked at by themselves
_MOST_JOINED = 8  # entries that are joined with the discrete ones
_MOST_PATTERNS = 12  # patterns of the discrete entries, the commonest, of which each is looked at by itself
_MOST_PAIRED = 4  # entries that are joined two by two
_MOST_CORNERED = 6  # entries of which two are far out at once
_MOST_WEIGHTED = 64  # entries in a weighted sum
_MOST_WEIGHING = 20_000  # runs of each input by which they are weighted
_NEWTON_STEPS = 6


class Score(Protocol):
    """A number for each row, by which rows are put in order; NaN for a row that is in no event."""

    @property
    def handicap(self) -> float:
        """What an event must promise more than a plainer one."""
        ...

    def __call__(self, entries: Reading) -> Floats: ...

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str: ...


@dataclass(frozen=True)
class _Raw:
    """An entry itself."""

    entry: int

    @property
    def handicap(self) -> float:
        return 0.0

    def __call__(self, entries: Reading) -> Floats:
        return entries[self.entry]

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        return f"{names[self.entry]} {'≥' if sign > 0 else '≤'} {sign * threshold:.6g}"


@dataclass(frozen=True)
class _Histogram:
    """The log-likelihood ratio of the cells of some entries."""

    cuts: Cuts
    keys: NDArray[np.uint64]
    """In order; all numbers from 0 on where there is a table of all cells."""
    ratios: Floats
    examples: NDArray[np.int64]
    """For each key, the cells of a row that has it."""
    seen: NDArray[np.int64]
    """How often each key was seen, on both inputs together."""
    information: float
    """How far apart the two inputs are in these cells: the sum of squared differences over sums, per run."""

    @property
    def handicap(self) -> float:
        return 0.02 * len(self.cuts)

    @classmethod
    def learnt(cls, cuts: Cuts, left: Reading, right: Reading) -> _Histogram:
        shape = table(cuts)
        if shape is None:
            every = np.concatenate([left.keys(cuts), right.keys(cuts)])
            keys, first, places = np.unique(every, return_index=True, return_inverse=True)
            examples = np.stack([cut.of(np.concatenate([left[i], right[i]])[first]) for i, cut in cuts])
            of_each = places[: len(left[0])], places[len(left[0]) :]
        else:
            keys = np.arange(math.prod(shape), dtype=np.uint64)
            examples = np.stack(np.unravel_index(keys.astype(np.int64), shape))
            of_each = left.keys(cuts).astype(np.int64), right.keys(cuts).astype(np.int64)
        one, other = (np.bincount(places, minlength=len(keys)) for places in of_each)
        information = float(((one - other) ** 2 / np.maximum(one + other, 1)).sum() / len(left[0]))
        return cls(cuts, keys, np.log((one + 1.0) / (other + 1.0)), examples, one + other, information)

    @property
    def commonest(self) -> list[int]:
        """The places of the keys that were seen most often."""
        return [int(place) for place in np.argsort(-self.seen, kind="stable")[:_MOST_PATTERNS]]

    def __call__(self, entries: Reading) -> Floats:
        keys = entries.keys(self.cuts)
        if table(self.cuts) is not None:
            return np.asarray(self.ratios[keys.astype(np.int64)])
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.ratios[place], 0.0)

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        chosen = np.flatnonzero((sign * self.ratios >= threshold) & (self.seen > 0))
        strongest = chosen[np.argsort(-sign * self.ratios[chosen], kind="stable")][:3]
        shown = [self.named(names, int(place)) for place in strongest]
        more = f", or one of {len(chosen) - len(shown)} others" if len(chosen) > len(shown) else ""
        return ", or ".join(shown) + more

    def named(self, names: Sequence[str], place: int) -> str:
        """The cells of one key, in words."""
        cells = self.examples[:, place]
        return " and ".join(
            f"{names[i]} = {cut.words(int(cell))}" for (i, cut), cell in zip(self.cuts, cells, strict=True)
        )


@dataclass(frozen=True)
class _Pattern:
    """The rows whose discrete entries follow one pattern."""

    patterns: _Histogram
    place: int
    """Of the pattern, among those of the histogram."""

    def holds(self, entries: Reading) -> NDArray[np.bool_]:
        return np.asarray(entries.keys(self.patterns.cuts) == self.patterns.keys[self.place])

    def words(self, names: Sequence[str]) -> str:
        return self.patterns.named(names, self.place)


@dataclass(frozen=True)
class _Side:
    """The rows with an entry from a point on, or those with less."""

    entry: int
    from_on: bool
    point: float

    def holds(self, entries: Reading) -> NDArray[np.bool_]:
        entry = entries[self.entry]
        return np.asarray(entry >= self.point if self.from_on else entry < self.point)

    def words(self, names: Sequence[str]) -> str:
        return f"{names[self.entry]} {'≥' if self.from_on else '<'} {self.point:.6g}"


@dataclass(frozen=True)
class _Within:
    """An entry itself, of some of the rows."""

    part: _Pattern | _Side
    entry: int

    @property
    def handicap(self) -> float:
        return 0.02

    def __call__(self, entries: Reading) -> Floats:
        return np.where(self.part.holds(entries), entries[self.entry], np.nan)

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        return f"{self.part.words(names)} and {names[self.entry]} {'≥' if sign > 0 else '≤'} {sign * threshold:.6g}"


def _corners(cuts: Cuts, left: Reading, right: Reading, allowed: Allowed) -> Iterator[_Within]:
    """Rows with two entries far out: for each order of the inputs the surest such corner, with its second side open."""
    (side, sides), (entry, across) = cuts
    shape = sides.count, across.count
    tables = [
        np.bincount(r.keys(cuts).astype(np.int64), minlength=math.prod(shape)).reshape(shape) for r in (left, right)
    ]
    ways = [(from_on, upwards) for from_on in (True, False) for upwards in (True, False)]

    def within(counts: Counts, from_on: bool, upwards: bool) -> Counts:
        known = counts[:-1, :-1]  # what is missing is in the last cell
        return _summed(_summed(known, 0, from_on), 1, upwards)[int(from_on) :][: len(sides.points)]

    one, other = (np.stack([within(counts, *way) for way in ways]) for counts in tables)
    for here, there in ((one, other), (other, one)):
        surety = Outlook(here, there, len(left[0]), len(left[0]), 0.0).surety(allowed)
        way, top, _ = np.unravel_index(int(np.argmax(surety)), surety.shape)
        yield _Within(_Side(side, ways[int(way)][0], float(sides.points[top])), entry)


def _summed(counts: Counts, axis: int, from_on: bool) -> Counts:
    """The counts from each place on, or up to each place."""
    return np.flip(np.flip(counts, axis).cumsum(axis), axis) if from_on else counts.cumsum(axis)


@dataclass(frozen=True)
class _Weighted:
    """A weighted sum of the log-likelihood ratios of single entries."""

    parts: tuple[_Histogram, ...]
    weights: Floats

    @property
    def handicap(self) -> float:
        return 0.05

    @classmethod
    def learnt(cls, parts: Sequence[_Histogram], left: Reading, right: Reading) -> _Weighted:
        """Logistic regression by Newton's method, with a small penalty that keeps the weights finite."""
        one, other = (
            np.stack([part(entries) for part in parts], axis=1)
            for entries in (left.first(_MOST_WEIGHING), right.first(_MOST_WEIGHING))
        )
        seen = np.concatenate([one, other])
        is_left = np.arange(len(seen)) < len(one)
        weights = np.full(len(parts), 1 / len(parts))
        for _ in range(_NEWTON_STEPS):
            chance = 1 / (1 + np.exp(-np.clip(seen @ weights, -30, 30)))
            slope = np.einsum("ri,r->i", seen, is_left - chance) - weights  # not @: threads that wait cost more
            curvature = np.einsum("ri,rj->ij", seen * (chance * (1 - chance))[:, None], seen) + np.eye(len(parts))
            weights = weights + np.linalg.solve(curvature, slope)
        return cls(tuple(parts), weights)

    def __call__(self, entries: Reading) -> Floats:
        return np.asarray(sum(weight * part(entries) for weight, part in zip(self.weights, self.parts, strict=True)))

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        return f"a weighted score of {len(self.parts)} entries {'≥' if sign > 0 else '≤'} {sign * threshold:.4g}"


def scores(entries: Entries, left: Reading, right: Reading, allowed: Allowed) -> Iterator[Score]:
    cells = [Cells.for_entry(np.concatenate(pair)) for pair in zip(left, right, strict=True)]
    varied = [i for i, pair in enumerate(zip(left, right, strict=True)) if not _is_constant(np.concatenate(pair))]
    told = [i for i in varied if i < entries.plain] or [0]

    @cache
    def coarse(entry: int) -> Cells:
        return Cells.for_entry(np.concatenate([left[entry], right[entry]]), is_coarse=True)

    single = {i: _Histogram.learnt(((i, cells[i]),), left, right) for i in told}
    discrete = tuple((i, cells[i]) for i in told if cells[i].is_discrete and i < entries.width)
    continuous = [i for i in told if not cells[i].is_discrete]
    strongest = sorted(told, key=lambda i: -single[i].information)
    for i in strongest[:_MOST_SINGLE]:
        if not cells[i].has_names:
            yield _Raw(i)
        yield single[i]
    for i in varied:
        if i >= entries.plain:
            yield _Raw(i)
            yield _Histogram.learnt(((i, cells[i]),), left, right)
    if discrete:
        patterns = _Histogram.learnt(discrete, left, right)
        if len(discrete) > 1:
            yield patterns
        for i in continuous[:_MOST_JOINED]:
            yield _Histogram.learnt((*discrete, (i, cells[i])), left, right)
            yield _Histogram.learnt((*discrete, (i, coarse(i))), left, right)
            if i < entries.width:
                yield from (_Within(_Pattern(patterns, place), i) for place in patterns.commonest)
    if len(told) > 1:
        yield _Weighted.learnt([single[i] for i in strongest[:_MOST_WEIGHTED]], left, right)
        for pair in combinations(strongest[:_MOST_PAIRED], 2):
            yield _Histogram.learnt(tuple((i, coarse(i)) for i in pair), left, right)
        for one, other in permutations(strongest[:_MOST_CORNERED], 2):
            yield from _corners(((one, cells[one]), (other, coarse(other))), left, right, allowed)


def _is_constant(entry: Floats) -> bool:
    return bool((entry == entry[0]).all() or np.isnan(entry).all())
