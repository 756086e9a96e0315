"""Which answers tell two inputs apart: a search among many events, on samples that are not used to test them.

One half of the samples teaches scores, the other half chooses where to cut them. An event is {score ≥ threshold}, and
the scores are

* an entry of the answer, upwards and downwards;
* the log-likelihood ratio of a histogram of one entry, of two entries that tell much, of all discrete entries together,
  and of these with one more, in fine cells and in coarse ones;
* a number that is told, among the answers whose discrete entries follow one pattern;
* a weighted sum of the ratios of all entries: logistic regression, the small classifier for vectors and sequences.

Entries are also the sum, the largest, the smallest and the missing ones of a vector, and the lowest bit of a real
number. Nothing that happens here can accuse a private mechanism: an event is only a proposal, which fresh samples put
to the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.audit.outcomes import Rows, fitted, lowest_bits

__all__ = ["Event", "Objective", "Proposal", "hits", "propose", "race"]

Floats = NDArray[np.float64]
Objective = Callable[[Floats, Floats], Floats]
"""From the smallest chance of an event on one input and the largest on the other: how far beyond the claim that is."""

_MOST_DISCRETE = 64
_MOST_BINS = 128
_RUNS_TO_A_BIN = 50
_MOST_CUTS = 400
_MOST_FINE = 3  # entries whose lowest bits are looked at
_MOST_SINGLE = 10  # entries that are looked at by themselves
_MOST_JOINED = 8  # entries that are joined with the discrete ones
_MOST_PATTERNS = 12  # patterns of the discrete entries, the commonest, of which each is looked at by itself
_MOST_PAIRED = 4  # entries that are joined two by two
_COARSE = 12  # bins of each of them
_MOST_WEIGHTED = 64  # entries in a weighted sum
_MOST_WEIGHING = 20_000  # runs of each input by which they are weighted
_NEWTON_STEPS = 6
_TEST_DEVIATIONS = 5.0  # a share of alpha = 1e-6 is about so many standard deviations away
_CHOICE_DEVIATIONS = 1.5  # what chance does for the best of many events
_ENTRY_DEVIATIONS = 2.5  # more where a race follows: rare events that shine by chance would crowd out the others
_RACE_DEVIATIONS = 1.0  # and for the best of a few


# -------------------------------------------------------------------- entries


@dataclass(frozen=True)
class _Entries:
    """Which numbers are read off a row."""

    width: int
    with_sums: bool
    fine: tuple[int, ...]

    @classmethod
    def for_rows(cls, rows: Rows) -> _Entries:
        width = rows.shape[1]
        fractional = [i for i in range(width) if _is_fractional(rows[:, i])]
        return cls(width, 1 < width, tuple(fractional[:_MOST_FINE]))

    @property
    def names(self) -> list[str]:
        entries = ["the answer"] if self.width == 1 else [f"entry {i + 1}" for i in range(self.width)]
        sums = ["the sum of the entries", "the largest entry", "the smallest entry", "the number of missing entries"]
        sums = sums if self.with_sums else []
        return [*entries, *sums, *(f"the exponent of the lowest bit of {entries[i]}" for i in self.fine)]

    def of(self, rows: Rows) -> _Reading:
        rows = fitted(rows, self.width)
        found = [rows[:, i] for i in range(self.width)]
        if self.with_sums:
            is_missing = np.isnan(rows)
            known, low, high = (np.where(is_missing, fill, rows) for fill in (0.0, np.inf, -np.inf))
            found += [known.sum(axis=1), high.max(axis=1), low.min(axis=1), is_missing.sum(axis=1).astype(np.float64)]
        return _Reading([*found, *(lowest_bits(rows[:, i]) for i in self.fine)])


def _is_fractional(entry: Floats) -> bool:
    real = entry[np.isfinite(entry)]
    return bool((real != np.round(real)).any())


@dataclass(frozen=True, eq=False)
class _Cells:
    """One entry in cells: between neighbouring points, and one for NaN."""

    points: Floats
    is_discrete: bool

    @classmethod
    def for_entry(cls, entry: Floats, *, is_coarse: bool = False) -> _Cells:
        known = entry[~np.isnan(entry)]
        values = np.unique(known)
        if len(values) <= (_COARSE if is_coarse else _MOST_DISCRETE):
            return cls(values, True)
        bins = _COARSE if is_coarse else int(np.clip(len(entry) // _RUNS_TO_A_BIN, 4, _MOST_BINS))
        return cls(np.unique(np.quantile(known, np.arange(1, bins) / bins, method="lower")), False)

    def of(self, entry: Floats) -> NDArray[np.int64]:
        cells = np.searchsorted(self.points, entry, side="right")
        return np.where(np.isnan(entry), len(self.points) + 1, cells).astype(np.int64)

    def words(self, cell: int) -> str:
        if cell > len(self.points):
            return "none"
        if self.is_discrete:
            return f"{self.points[max(cell - 1, 0)]:g}"
        low = "−∞" if cell == 0 else f"{self.points[cell - 1]:g}"
        high = "∞" if cell == len(self.points) else f"{self.points[cell]:g}"
        return f"[{low}, {high})"


_Cuts = tuple[tuple[int, _Cells], ...]


class _Reading(list[Floats]):
    """The entries of many rows; what several scores ask of them is worked out once."""

    def __init__(self, entries: Iterable[Floats]) -> None:
        super().__init__(entries)
        self._cells: dict[tuple[int, _Cells], NDArray[np.int64]] = {}
        self._keys: dict[_Cuts, NDArray[np.uint64]] = {}

    def cells(self, cuts: _Cuts) -> NDArray[np.int64]:
        """A row for each of some entries."""
        for i, cut in cuts:
            if (i, cut) not in self._cells:
                self._cells[i, cut] = cut.of(self[i])
        return np.stack([self._cells[each] for each in cuts])

    def keys(self, cuts: _Cuts) -> NDArray[np.uint64]:
        """One number for the cells of a row. Two rows of cells with the same one would only make an event coarser."""
        if cuts not in self._keys:
            key = np.zeros(len(self[0]), dtype=np.uint64)
            for cells in self.cells(cuts):
                key = key * np.uint64(0x9E3779B97F4A7C15) + cells.astype(np.uint64) + np.uint64(1)
            self._keys[cuts] = key
        return self._keys[cuts]

    def first(self, rows: int) -> _Reading:
        """The first rows."""
        return _Reading(entry[:rows] for entry in self)


# --------------------------------------------------------------------- scores


class _Score(Protocol):
    """A number for each row, by which rows are put in order; NaN for a row that is in no event."""

    @property
    def handicap(self) -> float:
        """What an event must promise more than a plainer one."""
        ...

    def __call__(self, entries: _Reading) -> Floats: ...

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str: ...


@dataclass(frozen=True)
class _Raw:
    """An entry itself."""

    entry: int

    @property
    def handicap(self) -> float:
        return 0.0

    def __call__(self, entries: _Reading) -> Floats:
        return entries[self.entry]

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        return f"{names[self.entry]} {'≥' if sign > 0 else '≤'} {sign * threshold:.6g}"


@dataclass(frozen=True)
class _Histogram:
    """The log-likelihood ratio of the cells of some entries."""

    cuts: _Cuts
    keys: NDArray[np.uint64]
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
    def learnt(cls, cuts: _Cuts, left: _Reading, right: _Reading) -> _Histogram:
        one, other = (entries.cells(cuts) for entries in (left, right))
        both = np.concatenate([one, other], axis=1)
        every = np.concatenate([left.keys(cuts), right.keys(cuts)])
        keys, first, inverse = np.unique(every, return_index=True, return_inverse=True)
        is_left = np.arange(both.shape[1]) < one.shape[1]
        seen = np.bincount(inverse[is_left], minlength=len(keys)), np.bincount(inverse[~is_left], minlength=len(keys))
        ratios = np.log((seen[0] + 1.0) / (seen[1] + 1.0))
        information = float(((seen[0] - seen[1]) ** 2 / (seen[0] + seen[1])).sum() / both.shape[1])
        return cls(cuts, keys, ratios, both[:, first], seen[0] + seen[1], information)

    @property
    def commonest(self) -> list[int]:
        """The places of the keys that were seen most often."""
        return [int(place) for place in np.argsort(-self.seen, kind="stable")[:_MOST_PATTERNS]]

    def __call__(self, entries: _Reading) -> Floats:
        keys = entries.keys(self.cuts)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.ratios[place], 0.0)

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        chosen = np.flatnonzero(sign * self.ratios >= threshold)
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
class _Within:
    """An entry itself, of the rows whose discrete entries follow one pattern."""

    patterns: _Histogram
    place: int
    """Of the pattern, among those of the histogram."""
    entry: int

    @property
    def handicap(self) -> float:
        return 0.02

    def __call__(self, entries: _Reading) -> Floats:
        follows = entries.keys(self.patterns.cuts) == self.patterns.keys[self.place]
        return np.where(follows, entries[self.entry], np.nan)

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        pattern = self.patterns.named(names, self.place)
        return f"{pattern} and {names[self.entry]} {'≥' if sign > 0 else '≤'} {sign * threshold:.6g}"


@dataclass(frozen=True)
class _Weighted:
    """A weighted sum of the log-likelihood ratios of single entries."""

    parts: tuple[_Histogram, ...]
    weights: Floats

    @property
    def handicap(self) -> float:
        return 0.05

    @classmethod
    def learnt(cls, parts: Sequence[_Histogram], left: _Reading, right: _Reading) -> _Weighted:
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

    def __call__(self, entries: _Reading) -> Floats:
        return np.asarray(sum(weight * part(entries) for weight, part in zip(self.weights, self.parts, strict=True)))

    def words(self, names: Sequence[str], sign: float, threshold: float) -> str:
        return f"a weighted score of {len(self.parts)} entries {'≥' if sign > 0 else '≤'} {sign * threshold:.4g}"


def _scores(entries: _Entries, left: _Reading, right: _Reading) -> Iterator[_Score]:
    cells = [_Cells.for_entry(np.concatenate(pair)) for pair in zip(left, right, strict=True)]
    told = [i for i, pair in enumerate(zip(left, right, strict=True)) if not _is_constant(np.concatenate(pair))]
    told = told or [0]

    def coarse(entry: int) -> _Cells:
        return _Cells.for_entry(np.concatenate([left[entry], right[entry]]), is_coarse=True)

    single = {i: _Histogram.learnt(((i, cells[i]),), left, right) for i in told}
    discrete = tuple((i, cells[i]) for i in told if cells[i].is_discrete and i < entries.width)
    continuous = [i for i in told if not cells[i].is_discrete]
    strongest = sorted(told, key=lambda i: -single[i].information)
    for i in strongest[:_MOST_SINGLE]:
        yield _Raw(i)
        yield single[i]
    if discrete:
        patterns = _Histogram.learnt(discrete, left, right)
        if len(discrete) > 1:
            yield patterns
        for i in continuous[:_MOST_JOINED]:
            yield _Histogram.learnt((*discrete, (i, cells[i])), left, right)
            yield _Histogram.learnt((*discrete, (i, coarse(i))), left, right)
            if i < entries.width:
                yield from (_Within(patterns, place, i) for place in patterns.commonest)
    if len(told) > 1:
        yield _Weighted.learnt([single[i] for i in strongest[:_MOST_WEIGHTED]], left, right)
        for pair in combinations(strongest[:_MOST_PAIRED], 2):
            yield _Histogram.learnt(tuple((i, coarse(i)) for i in pair), left, right)


def _is_constant(entry: Floats) -> bool:
    return bool((entry == entry[0]).all() or np.isnan(entry).all())


# --------------------------------------------------------------------- events


@dataclass(frozen=True)
class Event:
    """A set of answers: those with a score of at least, or at most, a threshold."""

    _entries: _Entries
    _score: _Score
    _sign: float
    _threshold: float

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row is in it."""
        return self._holds(self._entries.of(rows))

    def _holds(self, entries: _Reading) -> NDArray[np.bool_]:
        return np.asarray(self._sign * self._score(entries) >= self._threshold)

    def scores(self, rows: Rows) -> Floats:
        """The number by which the event is cut out, for each row: what a picture shows."""
        return self._score(self._entries.of(rows))

    @property
    def handicap(self) -> float:
        """What it must promise more than a plainer event."""
        return self._score.handicap

    @property
    def threshold(self) -> float:
        """Where it is cut."""
        return self._sign * self._threshold

    def __str__(self) -> str:
        return self._score.words(self._entries.names, self._sign, self._threshold)


@dataclass(frozen=True)
class Proposal:
    """An event, likelier on the one input than on the other; `promise` is what the objective makes of it."""

    event: Event
    on_left: bool
    """Whether it is likelier on the left input."""
    band: float
    """The upper end of the band of chances that it is the answer for."""
    promise: float


def propose(
    left: Rows, right: Rows, objective: Objective, runs: int, bands: Sequence[float], *, for_race: bool = False
) -> list[Proposal]:
    """For each order of the inputs and each band of chances of the unlikelier input, the most promising events.

    What is promised is about what a test with `runs` fresh runs will show, less what chance did for the choice. Each
    score gives one event at most, so that those of a band differ; they come best first. `bands` are the upper ends of
    the bands: a single one that ends at 1 asks for a single event.
    """
    width = max(left.shape[1], right.shape[1])
    left, right = fitted(left, width), fitted(right, width)
    half = len(left) // 2
    entries = _Entries.for_rows(np.concatenate([left[:half], right[:half]]))
    learn = entries.of(left[:half]), entries.of(right[:half])
    choose = entries.of(left[half:]), entries.of(right[half:])
    chance = _ENTRY_DEVIATIONS if for_race else _CHOICE_DEVIATIONS
    found: list[Proposal] = []
    for score in _scores(entries, *learn):
        values = score(choose[0]), score(choose[1])
        best: dict[tuple[bool, float], Proposal] = {}
        for sign in (1.0, -1.0):
            ordered = [np.sort(sign * part[~np.isnan(part)]) for part in values]
            cuts = _cuts(np.concatenate(ordered))
            if len(cuts):
                counts = [len(part) - np.searchsorted(part, cuts, side="left") for part in ordered]
                for on_left in (True, False):
                    here, there = counts if on_left else counts[::-1]
                    low, high = _ends(here, there, len(left) - half, runs, chance)
                    promise = objective(low, high) - score.handicap
                    for before, band in zip([-1.0, *bands], bands, strict=False):
                        inside = np.where((high > before) & (high <= band), promise, -np.inf)
                        top = int(np.argmax(inside))
                        known = best.get((on_left, band))
                        if inside[top] > (-np.inf if known is None else known.promise):
                            event = Event(entries, score, sign, float(cuts[top]))
                            best[on_left, band] = Proposal(event, on_left, band, float(inside[top]))
        found += best.values()
    return sorted(found, key=lambda proposal: -proposal.promise)


def hits(proposals: Sequence[Proposal], rows: Rows) -> list[int]:
    """How many rows are in the event of each proposal."""
    readings = {entries: entries.of(rows) for entries in {each.event._entries for each in proposals}}
    return [int(each.event._holds(readings[each.event._entries]).sum()) for each in proposals]


def race(
    proposals: Sequence[Proposal], counts: NDArray[np.int64], seen: int, objective: Objective, runs: int
) -> list[Proposal]:
    """The best proposal of each order and band, by its `counts` on both inputs in `seen` runs it was not chosen by."""
    best: dict[tuple[bool, float], Proposal] = {}
    for proposal, both in zip(proposals, counts, strict=True):
        here, there = both if proposal.on_left else both[::-1]
        low, high = _ends(np.array([here]), np.array([there]), seen, runs, _RACE_DEVIATIONS)
        again = replace(proposal, promise=float(objective(low, high)[0]) - proposal.event.handicap)
        known = best.get((again.on_left, again.band))
        if known is None or again.promise > known.promise:
            best[again.on_left, again.band] = again
    return list(best.values())


def _cuts(values: Floats) -> Floats:
    cuts = np.unique(values)
    if len(cuts) > _MOST_CUTS:
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, _MOST_CUTS), method="lower"))
    return cuts


def _ends(
    here: NDArray[np.intp], there: NDArray[np.intp], seen: int, runs: int, chance: float
) -> tuple[Floats, Floats]:
    """About the lower end of one chance and the upper end of the other after `runs` runs, from `seen` of them.

    A count in the test varies by its root, which the test allows for; the count that it is foretold from, scaled up, by
    more: by so many deviations as `chance` does. Both together, in roots of the count.
    """
    scale = runs / seen
    deviations = np.sqrt(_TEST_DEVIATIONS**2 + scale * chance**2)
    hits, other = (np.asarray(counts * scale, dtype=np.float64) for counts in (here, there))
    low = np.maximum(_lowered(hits, deviations), runs - _raised(runs - hits, deviations)) / runs
    high = np.minimum(_raised(other, deviations), runs - _lowered(runs - other, deviations)) / runs
    return low, high


def _lowered(hits: Floats, deviations: float) -> Floats:
    """A count that is so many standard deviations too large, by the cube roots of Wilson and Hilferty (1931)."""
    seen = np.maximum(hits, 1.0)
    return np.where(hits > 0, seen * np.maximum(1 - 1 / (9 * seen) - deviations / (3 * np.sqrt(seen)), 0.0) ** 3, 0.0)


def _raised(hits: Floats, deviations: float) -> Floats:
    more = hits + 1
    return np.asarray(more * (1 - 1 / (9 * more) + deviations / (3 * np.sqrt(more))) ** 3)
