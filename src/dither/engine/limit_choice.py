"""Limits and bounds with the least error, from noisy histograms: post-processing, which costs nothing.

The stated error of a column is √(noise² + bias²) of a typical group. With c people who are in G groups and have r rows
in one of theirs, limits L and m keep Σ c·min(G, L)·min(r, m) of Σ c·G·r rows; what is missing, shared evenly by the
groups, is the bias of a count. A person's sum is clipped to m times the bounds, and a mean is moved by what clamping
moves. The noise is that of the plan: its sensitivity grows with L·m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import Spread
from dither.engine.group_sensitivity import Added
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.unit import Neighbour, Person

__all__ = ["Shapes", "ValueSpread", "Weighed", "looked_at", "weighed", "with_tail"]

Floats: TypeAlias = NDArray[np.float64]
_FITTED = 8
"""So many of the last bins with people say how the numbers go on."""
_CONTINUED = 2.0
"""For so many octaves."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """How many `people` have so many groups, and so many rows in one of them; all estimates."""

    people: Floats
    groups: Floats
    rows: Floats
    limits: Sequence[int]
    """Numbers of rows that are worth a look: the ends of the bins."""

    def pairs(self, max_groups: float) -> float:
        """How many pairs of a person and a group count."""
        return float(np.sum(self.people * np.minimum(self.groups, max_groups)))

    def kept(self, max_groups: float, each: Floats | float, most: Floats | float) -> Floats:
        """The sum over pairs that count, if each row brings `each` and a person in a group at most `most`."""
        brought = np.minimum(np.multiply.outer(each, self.rows), np.expand_dims(most, -1))
        found: Floats = brought @ (self.people * np.minimum(self.groups, max_groups))
        return found


@dataclass(frozen=True, slots=True)
class Clamped:
    """Bounds that are worth a look: their ends, the mean of clamped values, and how far clamping moves values."""

    low: Floats
    high: Floats
    mean: Floats
    moved: Floats
    """On average, upwards and downwards added up: they may cancel in the mean of all, and not in that of a group."""


@dataclass(frozen=True, slots=True)
class ValueSpread:
    """How many of some `values` there are, by their size; an estimate."""

    values: Floats
    weights: Floats
    bounds: tuple[float, float]

    def clamped(self, *, from_zero: bool) -> Clamped:
        """Under all pairs of bounds; for sums, whose noise is that of the larger end, the lower one is not raised."""
        low, high = self.bounds
        inner = np.array(sorted({float(f"{value:.2g}") for value in self.values if low < value < high}))
        middle = self._middle
        lows = [low] + ([0.0] if low < 0 < high else [])
        lows += [value for value in inner if value < (min(middle, 0.0) if from_zero else middle)]
        ends = np.array([(start, end) for start in lows for end in (*inner[inner >= middle], high) if start < end])
        placed = np.clip(self.values, ends[:, :1], ends[:, 1:])
        weights = self.weights / self.weights.sum() if self.weights.sum() > 0 else np.zeros_like(self.weights)
        return Clamped(ends[:, 0], ends[:, 1], placed @ weights, np.abs(placed - self.values) @ weights)

    @property
    def _middle(self) -> float:
        """The median."""
        running = np.cumsum(self.weights)
        if not len(running) or not running[-1] > 0:
            return self.bounds[1]
        return float(self.values[np.searchsorted(running, running[-1] / 2)])


@dataclass(frozen=True, slots=True)
class Weighed:
    """Limits, the bounds that go best with them, and the error of each column."""

    max_groups: int
    max_rows_per_group: int
    bounds: Mapping[str, tuple[float, float]]
    errors: Mapping[str, float]


def weighed(
    aggregates: Mapping[str, Aggregate],
    spreads: Mapping[str, ValueSpread],
    shapes: Shapes,
    unit: Person,
    groups: int,
    epsilon: Fraction,
) -> list[Weighed]:
    """All limits that are worth a look, the best first.

    Best is the least sum, over the columns, of the error divided by the least error that any limits give the column.
    """
    largest = float(shapes.rows.max(initial=1.0))
    widest = min(float(groups), max(1.0, float(shapes.groups.max(initial=1.0))))
    share = epsilon / max(len(aggregates), 1)
    found = []
    for most_groups in _steps(widest):
        for most_rows in shapes.limits[: sum(limit < largest for limit in shapes.limits) + 1]:
            limits = Neighbour(most_groups, most_rows, unit.adjacency)
            judge = _Judge(shapes, limits, groups, share)
            judged = {name: judge.error(each, spreads.get(name)) for name, each in aggregates.items()}
            bounds = {name: both for name, (_, both) in judged.items() if both is not None}
            found.append(Weighed(most_groups, most_rows, bounds, {name: error for name, (error, _) in judged.items()}))
    least = {name: max(min(each.errors[name] for each in found), 1e-300) for name in aggregates}
    return sorted(found, key=lambda each: sum(error / least[name] for name, error in each.errors.items()))


def _steps(largest: float) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … up to the first that is as large."""
    steps = sorted({1, *(round(2**power) for power in range(1, 21)), *(3 << power for power in range(19))})
    return steps[: sum(step < largest for step in steps) + 1]


@dataclass(frozen=True, slots=True)
class _Judge:
    """The error of a column under limits."""

    shapes: Shapes
    limits: Neighbour
    groups: int
    epsilon: Fraction

    def error(self, aggregate: Aggregate, spread: ValueSpread | None) -> tuple[float, tuple[float, float] | None]:
        """The error, and the bounds with which it is least."""
        shapes, groups, rows = self.shapes, self.limits.groups, self.limits.rows
        if isinstance(aggregate, Count | Spread):
            is_people = isinstance(aggregate, Count) and aggregate.people
            every = shapes.pairs(math.inf) if is_people else float(shapes.kept(math.inf, 1.0, math.inf))
            kept = shapes.pairs(groups) if is_people else float(shapes.kept(groups, 1.0, rows))
            return math.hypot(self._noise(aggregate), (every - kept) / self.groups / aggregate.width), None
        if isinstance(aggregate, Total | Mean) and spread is not None:
            tried = spread.clamped(from_zero=isinstance(aggregate, Total))
            errors = self._of_sums(tried) if isinstance(aggregate, Total) else self._of_means(tried)
            best = int(np.argmin(errors))
            return float(errors[best]), (float(tried.low[best]), float(tried.high[best]))
        # What is chosen by ranks: noise beside the rows that are left, and no bias by values.
        return self._scale / max(float(shapes.kept(groups, 1.0, rows)) / self.groups, 1.0), None

    def _noise(self, aggregate: Aggregate) -> float:
        (need,) = aggregate.needs.values()
        noise = need.pure(self.limits, self.epsilon)
        assert isinstance(noise, Added)
        return math.sqrt(noise.variance)

    @property
    def _scale(self) -> float:
        """The standard deviation of Laplace noise for numbers between 0 and 1."""
        return math.sqrt(2) * self.limits.groups * self.limits.rows / float(self.epsilon)

    def _of_means(self, tried: Clamped) -> Floats:
        kept = np.maximum(self.shapes.kept(self.limits.groups, 1.0, self.limits.rows) / self.groups, 1.0)
        width = tried.high - tried.low
        place = (tried.mean - tried.low) / width
        errors: Floats = np.hypot(self._scale * width * np.hypot(place, 1 - place) / kept, tried.moved)
        return errors

    def _of_sums(self, tried: Clamped) -> Floats:
        """A person's sum is clipped to what so many rows could add up to; what is lost is lost for good."""
        size, most = np.abs(tried.mean), self.limits.rows * np.where(tried.mean >= 0, tried.high, -tried.low)
        every = self.shapes.kept(math.inf, size, math.inf)
        lost = every - self.shapes.kept(self.limits.groups, size, most)
        lost += tried.moved * self.shapes.kept(math.inf, 1.0, math.inf)
        errors: Floats = np.hypot(self._scale * np.maximum(np.abs(tried.low), np.abs(tried.high)), lost / self.groups)
        return errors


def looked_at(counts: Sequence[float], scale: float) -> Floats:
    """Noisy counts without those that are likely nothing but noise: below scale · ln(50k) of k of them.

    Of k empty ones, all stay below but for a probability of 1 %: P[noise > t · scale] ≤ e^-t / 2.
    """
    noisy = np.asarray(counts, dtype=np.float64)
    kept: Floats = np.where(noisy > _least(scale, noisy.size), noisy, 0.0)
    return kept


def _least(scale: float, counts: int) -> float:
    return scale * math.log(50 * max(counts, 1))


def with_tail(noisy: Floats, edges: Sequence[int], scale: float, cells: int) -> Floats:
    """Noisy counts of sizes by bins: those that are surely there, and a tail beyond the last of them.

    Most rows may be those of people who are too few for the noise. The logarithm of the density over the logarithm of
    the size is a parabola for a lognormal law and a line for a power law. It is fitted to the last counts, bent
    downwards or straight, and goes on for two octaves, with no more people than the noisy counts there allow.
    """
    counts: Floats = np.where(noisy > _least(scale, cells), noisy, 0.0)
    known = np.flatnonzero(counts)[-_FITTED:]
    if len(known) < 3:
        return counts
    ends = np.log2(np.array([*edges[:-1], edges[-2] * 2], dtype=np.float64))
    widths, places = np.diff(ends), (ends[1:] + ends[:-1]) / 2
    height, weights = np.log(counts[known] / widths[known]), counts[known] / scale
    line = np.polyfit(places[known], height, 2, w=weights)
    if line[0] > 0:
        line = np.polyfit(places[known], height, 1, w=weights)
    last = places[known[-1]]
    beyond = (places > last) & (places <= last + _CONTINUED)
    if not np.polyval(np.polyder(line), last) < 0 or not beyond.any():
        return counts
    more = np.where(beyond, widths * np.exp(np.polyval(line, places)), 0.0)
    allowed = max(float(noisy[beyond].sum()), 0.0) + scale * math.sqrt(2 * beyond.sum())
    tail: Floats = counts + more * min(1.0, allowed / more.sum())
    return tail
