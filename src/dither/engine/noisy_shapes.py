"""How many groups and rows people have, and how large their values are: draws of what noisy histograms allow.

Post-processing, which costs nothing. Limits are decided by people who are too few to be seen through the noise of a
look, so what is seen is continued (`tails.py`). Where little is seen, shapes that are likely on the whole take its
place (`likely_shapes.py`). Both give draws: what could be there, as often as the noisy counts make it likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.engine.likely_shapes import Likely, likely_counts, likely_counts_of_values
from dither.engine.supposed import Draws, draws
from dither.engine.tails import DRAWS, with_tails

__all__ = [
    "CLOSELY",
    "Closer",
    "Floats",
    "InBins",
    "Shapes",
    "ValueSpread",
    "group_edges",
    "row_edges",
    "shapes_of",
    "spread_of",
    "total_edges",
    "totals_of",
    "totals_seen",
    "value_edges",
    "values_seen",
]

Floats: TypeAlias = NDArray[np.float64]
MOST_ROWS = 1 << 16
NO_END = 10**15
"""More rows than any table has: the end of a last bin that takes all beyond."""
_OCTAVES = 18
_FINE = 8
"""Bins of an octave, of what is drawn."""
_PARTS = 8
"""Into which a closer look divides a bin."""
_WIDE = 1.15
"""By how much the ends of a bin must differ to be worth it."""
CLOSELY = 12.0
"""So many people, in scales of its noise, has a bin that is."""
_SURELY_A_PART = 50
"""Of k empty parts, all stay below scale · ln(50k) but for a probability of 1 %."""
_REST = 3.0
"""What a rest has to have, in scales of the noise."""
_NEARLY_NOBODY = 1e-6
"""As a part of the fullest bin: the logarithm of nothing has no end."""
_TILT = 1.0
"""How much likelier one end of a bin may be than the power law between the bins says: a power of e."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Draws of how many `people` have a size (of rows, or of the sum of values, in one group) and so many groups.

    `people` has an axis of draws, one of sizes and one of groups.
    """

    people: Floats
    sizes: Floats
    groups: Floats

    def counted(self, max_groups: float) -> Floats:
        """Pairs of a person and a group that count, by draw and size."""
        found: Floats = self.people @ np.minimum(self.groups, max_groups)
        return found

    @property
    def are_seen(self) -> bool:
        """Whether anybody stands out from the noise."""
        return bool(self.people.any())

    @property
    def largest(self) -> tuple[float, float]:
        """The largest size and number of groups of anybody, in any draw; 1 at least."""
        there = self.people.max(axis=0) > 0
        sizes, groups = np.abs(self.sizes[there.any(axis=1)]), self.groups[there.any(axis=0)]
        return max(1.0, float(sizes.max(initial=1.0))), max(1.0, float(groups.max(initial=1.0)))


@dataclass(frozen=True, slots=True)
class ValueSpread:
    """Draws of how many of some `values` there are, by their size."""

    values: Floats
    weights: Floats
    """With an axis of draws and one of values."""
    edges: Floats
    """The ends of the bins: bounds that are worth a look."""
    bounds: tuple[float, float]
    """Those that were asked for, and are kept where nothing is seen."""
    lean: Floats | float = 0.0
    """Draws of by how much values are larger for those with twice as many rows."""

    def tried(self, *, from_zero: bool) -> Floats:
        """Pairs of bounds; for sums, whose noise is that of the larger end, the lower one is not raised."""
        of_each = self.weights.sum(axis=0)
        held = np.flatnonzero(of_each)
        if not len(held):
            return np.array([self.bounds])
        low, high = float(self.edges[0]), float(self.edges[-1])
        near = self.edges[max(held[0] - 1, 0) : held[-1] + 3]
        inner = np.array(sorted({float(f"{edge:.3g}") for edge in near if low < edge < high}))
        running = np.cumsum(of_each)
        middle = float(self.values[np.searchsorted(running, running[-1] / 2)])
        lows = [low] + ([0.0] if low < 0 < high else [])
        below = [value for value in inner if value < (min(middle, 0.0) if from_zero else middle)]
        lows += below[:: max(len(below) // 20, 1)]
        return np.array([(start, end) for start in lows for end in (*inner[inner >= middle], high) if start < end])


def row_edges(groups: int) -> list[int]:
    """The ends of the bins of numbers of rows in one group, of so many; up to 8, each number has its own.

    They are public, and a person is in one of them, so that a person moves one count by 1 however many bins there are.
    """
    return sorted({*range(1, _FINE), *_edges(MOST_ROWS, _FINE // 2 if groups == 1 else 2)})


def group_edges(groups: int) -> list[int]:
    """The ends of the bins of numbers of groups, of which there are so many."""
    return sorted({each for each in _steps(groups, 2) if each < groups} | {groups, groups + 1})


def _edges(most: int, per_octave: int) -> list[int]:
    """1, 2, 4, … or steps between them, and at last more than there can be."""
    return [*_steps(most, per_octave), NO_END]


def _steps(most: int, per_octave: int) -> list[int]:
    steps = range(per_octave * max(most - 1, 1).bit_length() + 1)
    return sorted({round(2 ** (step / per_octave)) for step in steps})


def _middles(edges: Sequence[int]) -> Any:
    """The number that stands for each bin of whole numbers: of the last, if it has no end, the first."""
    last = edges[-2] if edges[-1] == NO_END else edges[-1] - 1
    return np.array([*(math.sqrt(low * (high - 1)) for low, high in pairwise(edges[:-1])), math.sqrt(edges[-2] * last)])


def value_edges(low: float, high: float, seen: float) -> list[float]:
    """Parts of octaves on both sides of 0, and the bounds.

    `seen` is how many people there are, in scales of the noise: few of them are seen in wide bins only.
    """
    per_octave = 8 if seen > 2000 else 4 if seen > 200 else 2 if seen > 50 else 1
    return _sized_edges(low, high, _OCTAVES, min(_FINE, per_octave))


def total_edges(low: float, high: float, groups: int) -> list[float]:
    """The same for sums of the values of one person in one group, of so many."""
    most = float(MOST_ROWS)
    per_octave = _FINE // 2 if groups == 1 else 2
    return _sized_edges(min(low, 0.0) * most, max(high, 0.0) * most, 2 * _OCTAVES, per_octave)


def _sized_edges(low: float, high: float, octaves: int, per_octave: int) -> list[float]:
    """A histogram has 150 bins at most, and two at least: narrow bounds far from 0 may hold no end of a part."""
    each = max(per_octave // 2, 1) if low < 0 < high else per_octave
    sizes = [max(abs(low), abs(high)) * 2 ** (-step / each) for step in range(each * octaves)]
    sized = {float(f"{side * size:.6g}") for size in sizes for side in (-1, 1)} | {0.0}
    inner = {edge for edge in sized if low < edge < high} or {low / 2 + high / 2}
    return sorted({low, high} | inner)


def shapes_of(noisy: Floats, groups: int, scale: float) -> Shapes:
    """People by rows and groups, from the noisy counts of the bins."""
    edges = [row_edges(groups), *([group_edges(groups)] if groups > 1 else [])]
    counts = noisy.reshape([len(each) - 1 for each in edges])
    ends = np.array([*edges[0][:-1], 2 * edges[0][-2]], dtype=np.float64)
    rng = draws()

    def drawn(column: Floats) -> Floats:
        return with_tails(column, ends, scale, counts.size, rng)

    seen = _by_groups(counts.reshape(len(ends) - 1, -1), groups, scale, drawn, rng)
    likely = likely_counts(counts, edges, scale, rng)
    people = _likelier(seen, counts.reshape(seen.shape[1:]), scale, likely)
    return Shapes(people, _middles(edges[0]), _middles(edges[1]) if groups > 1 else np.ones(1))


def totals_seen(noisy: Floats, groups: int, edges: Sequence[float], scale: float) -> InBins:
    """People by their sum of values in one group, and by groups."""
    ends, rng = np.array(edges), draws()
    counts = noisy.reshape(len(ends) - 1, -1)

    def drawn(column: Floats) -> Floats:
        return _values_drawn(column, ends, scale, noisy.size, rng)

    return InBins(_by_groups(counts, groups, scale, drawn, rng), ends)


def totals_of(seen: InBins, groups: int, closer: Closer | None = None) -> Shapes:
    """Their sizes in parts of bins, which a closer look may have counted."""
    fine, parent, shares = _finer(seen.ends, seen.people.sum(axis=2).mean(axis=0), closer)
    of_groups = _middles(group_edges(groups)) if groups > 1 else np.ones(1)
    return Shapes(seen.people[:, parent] * shares[:, :, None], _places(fine, closer), of_groups)


def values_seen(noisy: Floats, edges: Sequence[float], scale: float, people: float | None = None) -> InBins:
    """Values by their size, from the noisy counts of the bins; of so many people, if that is known."""
    ends = np.array(edges)
    return InBins(_values_drawn(noisy, ends, scale, noisy.size, draws(), people)[:, :, None], ends)


def spread_of(seen: InBins, bounds: tuple[float, float], closer: Closer | None = None) -> ValueSpread:
    """Values in parts of bins, which a closer look may have counted."""
    drawn = seen.people[:, :, 0]
    fine, parent, shares = _finer(seen.ends, drawn.mean(axis=0), closer)
    return ValueSpread(_places(fine, closer), drawn[:, parent] * shares, fine, bounds)


def _places(fine: Floats, closer: Closer | None) -> Floats:
    """The middles of parts; of those that had a closer look the far end: all may have the same value there."""
    middles: Floats = (fine[1:] + fine[:-1]) / 2
    if closer is None:
        return middles
    far = np.where(middles > 0, fine[1:], fine[:-1])
    looked = np.isin(fine[1:], closer.ends) & np.isin(fine[:-1], closer.ends)
    return np.where(looked, far, middles)


@dataclass(frozen=True, slots=True)
class InBins:
    """Draws of how many `people` are in each bin, between its `ends`, and have so many groups."""

    people: Floats
    ends: Floats

    def ends_in_parts(self, epsilon: float) -> list[float] | None:
        """The ends of a look that divides the outermost bins that surely hold people; None if it would tell nothing.

        The best bounds are mostly there, and where many have the same largest value, a wide bin costs its width.
        """
        of_each = self.people.sum(axis=2).min(axis=0)
        held = np.flatnonzero(of_each * epsilon >= CLOSELY)
        ends = {float(self.ends[0]), float(self.ends[-1])}
        found = set(ends)
        for at, side in ((held[-1], 1), (held[0], -1)) if len(held) else ():
            near, far = (side * self.ends[at : at + 2])[::side].tolist()
            if far >= _WIDE * near > 0:
                found |= {side * float(f"{each:.6g}") for each in np.geomspace(near, far, _PARTS + 1)[1:-1]}
                found |= {side * near, side * far}
        return sorted(found) if found > ends else None


@dataclass(frozen=True, slots=True)
class Closer:
    """Noisy counts of the parts of some bins, and what lies between these."""

    ends: Floats
    noisy: Floats
    scale: float

    def within(self, low: float, high: float) -> tuple[Floats, Floats] | None:
        """The ends of the parts of a bin, and their counts; None if it was not divided."""
        parts = np.flatnonzero((self.ends[:-1] >= low) & (self.ends[1:] <= high))
        if len(parts) < 2:
            return None
        return self.ends[parts[0] : parts[-1] + 2], self.noisy[parts]

    def shared(self, beforehand: Floats, noisy: Floats, people: float) -> Floats:
        """Shares of the parts, by draw: counts that are surely there, and the rest as it is beforehand.

        A rest that noise alone could leave is none.
        """
        sure = noisy > self.scale * math.log(_SURELY_A_PART * len(noisy))
        if not sure.any():
            return beforehand
        rest = people - float(noisy[sure].sum())
        rest = rest if rest > _REST * self.scale * math.sqrt(np.count_nonzero(sure)) else 0.0
        others = np.where(sure, 0.0, beforehand)
        others *= rest / np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        shared = np.where(sure, noisy, others)
        return np.asarray(shared / shared.sum(axis=1, keepdims=True))


def _by_groups(noisy: Floats, groups: int, scale: float, drawn: Callable[[Floats], Floats], rng: Draws) -> Floats:
    """Draws for each number of groups; where too few people have it, as many as all sizes together show.

    Their sizes are taken to be those of people with the next smaller number of groups that is seen.
    """
    found = np.stack([drawn(column) for column in noisy.T], axis=2)
    seen = np.flatnonzero(found.any(axis=(0, 1)))
    if groups == 1 or not len(seen) or seen[-1] == noisy.shape[1] - 1:
        return found
    last = found[:, :, seen[-1]]
    there = np.flatnonzero(last.any(axis=0))
    ends = np.array(group_edges(groups), dtype=np.float64)
    together = with_tails(noisy[there].sum(axis=0), ends, scale * math.sqrt(len(there)), noisy.shape[1], rng)
    laws = last / np.maximum(last.sum(axis=1, keepdims=True), 1e-300)
    for column in range(seen[-1] + 1, noisy.shape[1]):
        found[:, :, column] = rng.poisson(laws * together[:, column, None])
    return found


def _values_drawn(
    noisy: Floats, ends: Floats, scale: float, bins: int, rng: Draws, people: float | None = None
) -> Floats:
    """Draws of counts of values: each side of 0 has a tail outwards and one inwards."""
    counts = np.zeros((DRAWS, len(noisy)))
    for side in (1, -1):
        own = side * (ends[1:] + ends[:-1]) > 0
        if own.any():
            sizes = np.sort(np.abs(ends[np.r_[own, False] | np.r_[False, own]]))
            sizes[0] = max(sizes[0], sizes[1] / 2)  # the bin that ends at 0
            outwards = with_tails(noisy[own][::side], sizes, scale, bins, rng)
            inwards = with_tails(noisy[own][::-side], 1 / sizes[::-1], scale, bins, rng, are_inverse=True)
            counts[:, own] = np.maximum(outwards, inwards[:, ::-1])[:, ::side]
    return _likelier(counts, noisy, scale, likely_counts_of_values(noisy, ends, scale, rng, people))


def _likelier(seen: Floats, noisy: Floats, scale: float, likely: Likely | None) -> Floats:
    """What is seen bin by bin, or the shapes that are likely on the whole: whichever the noisy counts speak for.

    Counts that were copied from the noisy ones are likely because of it. If beforehand each number up to that of all is
    as likely as any other, a count of N people, of Laplace noise of scale s, has the average likelihood 2s/N of what it
    has at the best number: each that was copied costs ln(N/2s), and 1 at least, the mean of |noise|/s.
    """
    if likely is None:
        return seen
    mean = seen.mean(axis=0)
    gain = float(np.abs(noisy).sum() - np.abs(noisy - mean).sum()) / scale
    copied = np.count_nonzero((mean == noisy) & (mean > 0))
    each = max(1.0, math.log(max(float(mean.sum()), 1.0) / (2 * scale)))
    return seen if gain - copied * each > likely.evidence else likely.counts.reshape(seen.shape)


def _finer(ends: Floats, counts: Floats, closer: Closer | None = None) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Wide bins in parts, between whose middles the density is a power of the size: ends, bins and shares of the parts.

    In each draw the people of all bins are nearer to one of the ends than that: nobody knows where in a bin they are.
    Of bins that had a closer look, that decides.

    Few people are counted in wide bins, and the best bounds are mostly inside of one. Each bin keeps its count: only
    noisy counts are read, so this is post-processing.
    """
    places = np.log2(np.maximum(np.abs(ends), np.abs(ends).max() * 2.0**-60))
    widths, middles = np.abs(np.diff(places)), (places[1:] + places[:-1]) / 2
    own = [(ends[:-1] >= 0) & (side > 0) | (ends[1:] <= 0) & (side < 0) for side in (1, -1)]
    density = np.log(np.maximum(counts / np.maximum(widths, 1e-9), max(float(counts.max()), 1.0) * _NEARLY_NOBODY))
    tilts = draws(1).normal(0, _TILT, (DRAWS, 1))
    found, parents, parts = [ends[:1]], list[int](), []
    for at, (low, high) in enumerate(pairwise(ends.tolist())):
        looked = None if closer is None else closer.within(low, high)
        number = round(_FINE * float(widths[at])) if low * high > 0 and widths[at] <= 2 else 1
        number = number if looked is None else len(looked[1])
        if number < 2:
            found.append(np.array([high]))
            parents.append(at)
            parts.append(np.ones((DRAWS, 1)))
            continue
        inner = np.linspace(places[at], places[at + 1], number + 1)
        side = own[0] if low > 0 else own[1]
        order = np.argsort(middles[side])
        near = np.interp((inner[1:] + inner[:-1]) / 2, middles[side][order], density[side][order])
        weights = np.exp(near - near.max() + tilts * np.linspace(-1, 1, number) * np.sign(low))
        weights /= weights.sum(axis=1, keepdims=True)
        found.append(
            np.array([*(math.copysign(2.0**each, low) for each in inner[1:-1]), high])
            if looked is None
            else looked[0][1:]
        )
        parents += [at] * number
        parts.append(
            weights if looked is None or closer is None else closer.shared(weights, looked[1], float(counts[at]))
        )
    return np.concatenate(found), np.array(parents), np.concatenate(parts, axis=1)
