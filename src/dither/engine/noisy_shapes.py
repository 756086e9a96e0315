"""How many groups and rows people have, and how large their values are: estimates from noisy histograms.

Post-processing, which costs nothing. Limits are decided by people who are too few to be seen through the noise of a
look, so what is seen is continued (`with_tail`); where little is seen, shapes that are likely on the whole take its
place (`likely_shapes.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.engine.likely_shapes import Likely, likely_counts, likely_counts_of_values

__all__ = [
    "Clamped",
    "Floats",
    "Shapes",
    "ValueSpread",
    "group_edges",
    "row_edges",
    "shapes_of",
    "spread_of",
    "value_edges",
    "with_tail",
]

Floats: TypeAlias = NDArray[np.float64]
_Law: TypeAlias = Callable[[Floats, Floats], Floats]
"""The logarithm of a density of what was fitted, at places."""
_MOST_ROWS = 1 << 16
_OCTAVES = 18
_FINE = 8
"""Bins of an octave, for values: a look has room for them."""
_CONTINUED = 8.0
"""A tail goes on for so many octaves beyond the last count that is surely there."""
_NEAR = 1.0
"""Counts so many octaves beyond it, which are mostly noise, still say how the tail goes on."""
_SURELY = 50
"""Of k empty bins, all stay below scale · ln(50k) but for a probability of 1 %: P[noise > t · scale] ≤ e^-t / 2."""
_WEAKLY = 1.5
"""Scales of the noise that a wide bin shows if it keeps another company."""
_FITTED = 4.0
"""So many octaves below the last count that is surely there say how the tail goes on."""
_NEARLY_NOBODY = 1e-6
"""As a part of the fullest bin: the logarithm of nothing has no end."""
_MISFIT = 0.05
"""How far a curve may be from the counts, as a share of them."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """How many `people` have so many groups, and so many rows in one of them; all estimates."""

    people: Floats
    groups: Floats
    rows: Floats
    most_rows: int
    """More are not told apart."""

    def pairs(self, max_groups: float) -> float:
        """How many pairs of a person and a group count."""
        return float(np.sum(self.people * np.minimum(self.groups, max_groups)))

    def kept(self, max_groups: float, each: Floats | float, most: Floats | float) -> Floats:
        """The sum over pairs that count, if each row brings `each` and a person in a group at most `most`."""
        brought = np.minimum(np.multiply.outer(each, self.rows), np.expand_dims(most, -1))
        found: Floats = brought @ (self.people * np.minimum(self.groups, max_groups))
        return found

    def squares(self, max_groups: float, most: float) -> float:
        """The sum over pairs that count of w²/r: of r rows w count, `most` or all."""
        each = np.minimum(self.rows, most) ** 2 / np.maximum(self.rows, 1.0)
        return float(np.sum(self.people * np.minimum(self.groups, max_groups) * each))


@dataclass(frozen=True, slots=True)
class Clamped:
    """Bounds that are worth a look, the mean and variance of clamped values, and how far clamping moves values."""

    low: Floats
    high: Floats
    mean: Floats
    variance: Floats
    moved: Floats
    """On average, upwards and downwards added up: they may cancel in the mean of all, and not in that of a group."""


@dataclass(frozen=True, slots=True)
class ValueSpread:
    """How many of some `values` there are, by their size; an estimate."""

    values: Floats
    weights: Floats
    edges: Floats
    """The ends of the bins: bounds that are worth a look."""
    bounds: tuple[float, float]
    """Those that were asked for, and are kept where nothing is seen."""

    def clamped(self, *, from_zero: bool) -> Clamped:
        """Under all pairs of bounds; for sums, whose noise is that of the larger end, the lower one is not raised."""
        held = np.flatnonzero(self.weights)
        if not len(held):
            return Clamped(*(np.array([each]) for each in (*self.bounds, np.mean(self.bounds), 0.0, 0.0)))
        low, high = float(self.edges[0]), float(self.edges[-1])
        near = self.edges[max(held[0] - 1, 0) : held[-1] + 3]
        inner = np.array(sorted({float(f"{edge:.3g}") for edge in near if low < edge < high}))
        middle = self._middle
        lows = [low] + ([0.0] if low < 0 < high else [])
        lows += [value for value in inner if value < (min(middle, 0.0) if from_zero else middle)]
        ends = np.array([(start, end) for start in lows for end in (*inner[inner >= middle], high) if start < end])
        placed = np.clip(self.values, ends[:, :1], ends[:, 1:])
        weights = self.weights / self.weights.sum()
        mean = placed @ weights
        variance = np.maximum(placed**2 @ weights - mean**2, 0.0)
        return Clamped(ends[:, 0], ends[:, 1], mean, variance, np.abs(placed - self.values) @ weights)

    @property
    def _middle(self) -> float:
        """The median."""
        running = np.cumsum(self.weights)
        return float(self.values[np.searchsorted(running, running[-1] / 2)])


def row_edges(groups: int) -> list[int]:
    """The ends of the bins of numbers of rows in one group, of so many; up to 8, each number has its own.

    They are public, and a person is in one of them, so that a person moves one count by 1 however many bins there are.
    """
    return sorted({*range(1, _FINE), *_edges(_MOST_ROWS, _FINE // 2 if groups == 1 else 2)})


def group_edges(groups: int) -> list[int]:
    """The ends of the bins of numbers of groups."""
    return _edges(groups, 1)


def _edges(most: int, per_octave: int) -> list[int]:
    """1, 2, 4, … or steps between them, and at last more than there can be."""
    steps = range(per_octave * max(most - 1, 1).bit_length() + 1)
    return [*sorted({round(2 ** (step / per_octave)) for step in steps}), 1 << 62]


def _middles(edges: Sequence[int]) -> Any:
    """The number that stands for each bin of whole numbers: of the last, which has no end, the first."""
    return np.array([*(math.sqrt(low * (high - 1)) for low, high in pairwise(edges[:-1])), edges[-2]])


def value_edges(low: float, high: float, seen: float) -> list[float]:
    """Parts of octaves on both sides of 0, and the bounds.

    `seen` is how many people there are, in scales of the noise: few of them are seen in wide bins only.
    """
    return _sized_edges(low, high, _OCTAVES, min(_FINE, _bins_of_octave(seen)))


def total_edges(low: float, high: float, seen: float) -> list[float]:
    """The same for sums of the values of one person."""
    most = float(_MOST_ROWS)
    return _sized_edges(
        min(low, 0.0) * most, max(high, 0.0) * most, 2 * _OCTAVES, min(_FINE // 2, _bins_of_octave(seen))
    )


def _bins_of_octave(seen: float) -> int:
    return 8 if seen > 250 else 4 if seen > 100 else 2 if seen > 40 else 1


def _sized_edges(low: float, high: float, octaves: int, per_octave: int) -> list[float]:
    """A histogram has 150 bins at most, and two at least: narrow bounds far from 0 may hold no end of a part."""
    each = max(per_octave // 2, 1) if low < 0 < high else per_octave
    sizes = [max(abs(low), abs(high)) * 2 ** (-step / each) for step in range(each * octaves)]
    sized = {float(f"{side * size:.6g}") for size in sizes for side in (-1, 1)} | {0.0}
    inner = {edge for edge in sized if low < edge < high} or {low / 2 + high / 2}
    return sorted({low, high} | inner)


def shapes_of(noisy: Floats, groups: int, scale: float) -> Shapes:
    """Numbers of people by rows and groups, from the noisy counts of the bins: one after the other, rows first."""
    edges = [row_edges(groups), *([group_edges(groups)] if groups > 1 else [])]
    noisy = noisy.reshape([len(each) - 1 for each in edges])
    ends = np.array([*edges[0][:-1], 2 * edges[0][-2]], dtype=np.float64)
    seen = np.apply_along_axis(with_tail, 0, noisy, ends, scale, noisy.size)
    people = _likelier(seen, noisy, scale, likely_counts(noisy, edges, scale))
    sizes = [_middles(of) for of in edges]
    known = people > 0
    grid = [each[known] for each in np.meshgrid(*sizes, indexing="ij")]
    return Shapes(people[known], grid[1] if groups > 1 else np.ones_like(grid[0]), grid[0], _MOST_ROWS)


def _likelier(seen: Floats, noisy: Floats, scale: float, likely: Likely | None) -> Floats:
    """What is seen bin by bin, or the shapes that are likely on the whole: whichever the noisy counts speak for.

    Counts that were copied from the noisy ones are likely because of it: by 1 on average, the mean of |noise|/scale.
    """
    if likely is None:
        return seen
    gain = float(np.abs(noisy).sum() - np.abs(noisy - seen).sum()) / scale
    copied = np.count_nonzero((seen == noisy) & (seen > 0))
    return seen if gain - copied > likely.evidence else likely.counts


def spread_of(noisy: Floats, edges: Sequence[float], scale: float, bounds: tuple[float, float]) -> ValueSpread:
    """Values by their size, from the noisy counts of the bins: each side of 0 has a tail outwards and one inwards."""
    ends, counts = np.array(edges), np.zeros_like(noisy)
    for side in (1, -1):
        own = side * (ends[1:] + ends[:-1]) > 0
        if own.any():
            sizes = np.sort(np.abs(ends[np.r_[own, False] | np.r_[False, own]]))
            sizes[0] = max(sizes[0], sizes[1] / 2)  # the bin that ends at 0
            outwards = with_tail(noisy[own][::side], sizes, scale, noisy.size)
            inwards = with_tail(noisy[own][::-side], 1 / sizes[::-1], scale, noisy.size, are_inverse=True)
            counts[own] = np.maximum(outwards, inwards[::-1])[::side]
    counts = _likelier(counts, noisy, scale, likely_counts_of_values(noisy, ends, scale))
    finer, parts = _finer(ends, counts)
    return ValueSpread((finer[1:] + finer[:-1]) / 2, parts, finer, bounds)


def _finer(ends: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Bins that are wider than the finest ones in parts: between their middles, the density is a power of the size.

    Few people are counted in wide bins, and the best bounds are mostly inside of one. Each bin keeps its count: only
    noisy counts are read, so this is post-processing.
    """
    places = np.log2(np.maximum(np.abs(ends), np.abs(ends).max() * 2.0**-60))
    widths, middles = np.abs(np.diff(places)), (places[1:] + places[:-1]) / 2
    own = [(ends[:-1] >= 0) & (side > 0) | (ends[1:] <= 0) & (side < 0) for side in (1, -1)]
    density = np.log(np.maximum(counts / np.maximum(widths, 1e-9), max(float(counts.max()), 1.0) * _NEARLY_NOBODY))
    found, parts = [ends[:1]], []
    for at, (low, high) in enumerate(pairwise(ends.tolist())):
        number = round(_FINE * float(widths[at])) if low * high > 0 and widths[at] <= 2 else 1
        if number < 2:
            found.append(np.array([high]))
            parts.append(counts[at : at + 1])
            continue
        inner = np.linspace(places[at], places[at + 1], number + 1)
        side = own[0] if low > 0 else own[1]
        order = np.argsort(middles[side])
        near = np.interp((inner[1:] + inner[:-1]) / 2, middles[side][order], density[side][order])
        weights = np.exp(near - near.max())
        found.append(np.array([*(math.copysign(2.0**each, low) for each in inner[1:-1]), high]))
        parts.append(counts[at] * weights / weights.sum())
    return np.concatenate(found), np.concatenate(parts)


def with_tail(noisy: Floats, ends: Floats, scale: float, bins: int, *, are_inverse: bool = False) -> Floats:
    """Noisy counts of sizes by bins, from small to large: without noise where nobody is, and with the tail they show.

    Curves are fitted to the counts from the largest one on (`_curves`). Counts that are surely there stay, and beyond
    the last of them goes on the average of the curves, weighed by how well they fit, with no more people than the noisy
    counts there allow. `ends` are the ends of the bins, all above 0, or the inverse ones if `are_inverse`; `scale` is
    that of the Laplace noise on the counts, of which there are `bins` in all.
    """
    sizes = np.log2(ends)
    widths, places = np.diff(sizes), (sizes[1:] + sizes[:-1]) / 2
    sure = _surely_there(noisy, places, scale * math.log(_SURELY * max(bins, 1)), _WEAKLY * scale)
    counts: Floats = np.zeros_like(noisy)
    if not len(sure):
        return counts
    first, last = int(sure[np.argmax(noisy[sure])]), int(sure[-1])
    between = np.min(np.abs(places[:, None] - places[sure]), axis=1) <= max(_NEAR / 2, float(np.median(widths)))
    counts[between] = np.maximum(noisy[between], 0.0)
    beyond = (places > places[last]) & (places <= places[last] + _CONTINUED)
    counts[beyond] = 0.0
    begin = max(places[first], places[last] - _FITTED)
    fitted = np.flatnonzero((places >= begin) & (places <= places[last] + _NEAR))
    curves = _curves(noisy[fitted], widths[fitted], places[fitted], scale, are_inverse) if len(fitted) >= 4 else []
    if curves and beyond.any():
        best = min(misfit for misfit, _ in curves)
        weights = [math.exp((best - misfit) / 2) for misfit, _ in curves]
        densities = [weight * curve(places) for weight, (_, curve) in zip(weights, curves, strict=True)]
        more = np.where(beyond, widths * np.sum(densities, axis=0) / sum(weights), 0.0)
        allowed = max(float(noisy[beyond].sum()), 0.0) + scale * math.sqrt(2 * beyond.sum())
        counts = counts + more * min(1.0, allowed / max(float(more.sum()), 1e-300))
    return counts


def _surely_there(noisy: Floats, places: Floats, least: float, weak: float) -> NDArray[np.int64]:
    """Bins with more than noise would show in any; one that stands alone has to show twice as much."""
    if len(places) < 2:
        return np.flatnonzero(noisy > least)
    sure = np.flatnonzero(noisy > least)
    near = np.abs(places[sure][:, None] - places) <= max(_NEAR, 1.5 * float(np.median(np.diff(places))))
    is_coarse = np.median(np.diff(places)) > _NEAR / 2
    company = (near & (noisy > (weak if is_coarse else least))).sum(axis=1)
    return np.asarray(sure[(company > 1) | (noisy[sure] > 2 * least)])


def _curves(
    noisy: Floats, widths: Floats, places: Floats, scale: float, are_inverse: bool
) -> list[tuple[float, Callable[[Floats], Floats]]]:
    """Fitted densities by the logarithm of the size that fall at the end, each with its misfit (χ²).

    Their logarithm over that of the size is a parabola for a lognormal law and a line for a power law. Over the size
    itself it is a parabola for a normal law and a line for an exponential one, near to which is the end of a geometric
    or Poisson law. Both are bent downwards.
    """
    sign, end = -1.0 if are_inverse else 1.0, float(places[-1])
    spread = np.sqrt(2 * scale**2 + np.maximum(noisy, 0.0) + (_MISFIT * noisy) ** 2)
    start = math.log(max(float(noisy.max()), 1.0) / float(widths.mean()))

    def of_logarithm(line: Floats, at: Floats) -> Floats:
        return np.asarray(np.polyval(line, at - places[0]))

    def of_size(line: Floats, at: Floats) -> Floats:
        size = np.exp2(np.clip(sign * (at - end), -50.0, 50.0))
        return np.asarray(np.polyval(line, size) + sign * (at - end) * math.log(2))

    found: list[tuple[float, Callable[[Floats], Floats]]] = []

    def fit(law: _Law, first: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> Floats:
        def residuals(line: Floats) -> Floats:
            return np.asarray((widths * _density(law, line, places) - noisy) / spread)

        fitted = scipy.optimize.least_squares(residuals, np.clip(first, lows, highs), bounds=(lows, highs))
        if np.diff(law(fitted.x, np.array([end - 1e-3, end])))[0] < 0:
            found.append((2 * float(fitted.cost), partial(_density, law, np.asarray(fitted.x))))
        return np.asarray(fitted.x)

    line = fit(of_logarithm, [-1.0, -0.5, start], [-200.0, -50.0, -50.0], [0.0, 50.0, 50.0])
    # From the logarithm of that density at three places, so that the search starts near.
    begin = np.array([places[0], (places[0] + end) / 2, end])
    heights = of_logarithm(line, begin) - sign * (begin - end) * math.log(2)
    near = np.polyfit(np.exp2(sign * (begin - end)), heights, 2)
    fit(of_size, near.tolist(), [-1e6, -1e6, -1e6], [0.0, 1e6, 1e6])
    return found


def _density(law: _Law, line: Floats, at: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(law(line, at), -50.0, 50.0)))
