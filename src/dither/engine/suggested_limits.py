"""Limits and bounds with the least error, from draws of what noisy histograms allow: post-processing, which is free.

The stated error of a column is √(noise² + bias²) of a typical group. With c people who are in G groups and have r rows
in one of theirs, limits L and m keep Σ c·min(G, L)·min(r, m) of Σ c·G·r rows; what is missing, shared evenly by the
groups, is the bias of a count. A person's sum is clipped to m times the bounds, and a mean is moved by what clamping
moves. The noise is that of the plan: its sensitivity grows with L·m.

Nobody knows which draw is true. For each draw, the error of limits is divided by the least that any limits have in it,
and those are chosen for which this is least on average: the least regret, and not the least error, to which draws with
a few huge people would be all that counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import Spread
from dither.engine.group_sensitivity import Added
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.noisy_shapes import MOST_ROWS, Floats, Shapes, ValueSpread
from dither.engine.ratio_aggregate import Ratio
from dither.unit import Neighbour, Person

__all__ = ["Weighed", "weighed"]

_FINE = 8
"""Limits that are tried in an octave, near the best."""
_COARSE = {round(2 ** (step / 2)) for step in range(64)}
"""Those that are tried everywhere."""
_REFINED = 2


@dataclass(frozen=True, slots=True)
class Weighed:
    """Limits, the bounds that go best with them, the error of each column, and the regret."""

    max_groups: int
    max_rows_per_group: int
    bounds: Mapping[str, tuple[float, float]]
    errors: Mapping[str, float]
    """Half of what could be there has more."""
    regrets: Mapping[str, float]
    """Of each column, the error over the least one, on average over what could be there."""
    left_out: float = 0.0
    """The part of all rows, or of the sums of people, that these limits cut in half of what could be there."""

    @property
    def regret(self) -> float:
        """The mean over the columns."""
        return sum(self.regrets.values()) / max(len(self.regrets), 1)


def weighed(
    aggregates: Mapping[str, Aggregate],
    spreads: Mapping[str, ValueSpread],
    shapes: Shapes,
    unit: Person,
    groups: int,
    epsilon: Fraction,
    totals: Mapping[str, Shapes] | None = None,
) -> list[Weighed]:
    """All limits that are worth a look, the best first.

    With `totals`, each person's sums in a group, nothing else depends on rows: then all rows of a person may count as
    one, whose bounds are those of the sum.
    """
    sums = totals or {}
    share = epsilon / max(len(aggregates), 1)
    most_rows, most_groups = shapes.largest
    if sums:
        most_rows, most_groups = 1.0, max(each.largest[1] for each in (*sums.values(), shapes))
    rows = _steps(most_rows, MOST_ROWS)
    of_groups = _steps(min(float(groups), most_groups), groups)
    tried = {name: each.tried(from_zero=isinstance(aggregates[name], Total)) for name, each in spreads.items()}
    clamped = {name: _Clamped.of(each, tried[name]) for name, each in spreads.items()}
    tried |= {name: _ends_of(each) for name, each in sums.items()}
    judged: dict[tuple[int, int], dict[str, Floats]] = {}

    def judge(limits: tuple[int, int]) -> None:
        if limits not in judged:
            of = _Judge(shapes, Neighbour(*limits, unit.adjacency), groups, share)
            judged[limits] = {
                name: of.of_totals(sums[name], tried[name]) if name in sums else of.error(each, clamped.get(name))
                for name, each in aggregates.items()
            }

    coarse = [[each for each in steps if each in _COARSE or each == steps[-1]] for steps in (of_groups, rows)]
    for most, each in product(*coarse):
        judge((most, each))
    for _ in range(_REFINED):
        best = _ranked(judged, tried)[0]
        for most, each in product(_near(best.max_groups, of_groups), _near(best.max_rows_per_group, rows)):
            judge((most, each))
    best, *others = _ranked(judged, tried)
    of = _Judge(shapes, Neighbour(best.max_groups, best.max_rows_per_group, unit.adjacency), groups, share)
    cut = of.left_out if not sums else max(of.left_out_of_sums(sums[name], best.bounds[name]) for name in sums)
    return [replace(best, left_out=cut), *others]


def _ranked(judged: Mapping[tuple[int, int], Mapping[str, Floats]], tried: Mapping[str, Floats]) -> list[Weighed]:
    """By their regret; `judged` has the errors of each column by draw and bounds."""
    names = list(next(iter(judged.values())))
    least = {name: np.min([each[name].min(axis=1) for each in judged.values()], axis=0) for name in names}
    found = []
    for (max_groups, max_rows), of in judged.items():
        errors, bounds, regrets = {}, {}, {}
        for name in names:
            regret = np.mean(of[name] / np.maximum(least[name], 1e-300)[:, None], axis=0)
            best = int(np.argmin(regret))
            regrets[name] = float(regret[best])
            errors[name] = float(np.median(of[name][:, best]))
            if name in tried:
                low, high = tried[name][best].tolist()
                bounds[name] = low, high
        found.append(Weighed(max_groups, max_rows, bounds, errors, regrets))
    return sorted(found, key=lambda each: each.regret)


def _steps(largest: float, most: int) -> list[int]:
    """1, 2, 3, …, then eight in each octave, up to the first that is as large, and no more than there can be."""
    steps = [min(round(2 ** (step / _FINE)), most) for step in range(_FINE * math.ceil(math.log2(largest)) + 2)]
    unlike = sorted(set(steps))
    return unlike[: sum(step < largest for step in unlike) + 1]


def _near(limit: int, steps: list[int]) -> list[int]:
    """Those no more than half an octave away, and the next ones."""
    at = steps.index(limit)
    return steps[max(at - _FINE // 2, 0) : at + _FINE // 2 + 1]


def _ends_of(totals: Shapes) -> Floats:
    """Bounds for sums: as far on both sides of 0 as there are sums, for noise is that of the larger end."""
    sides = [bool((side * totals.sizes > 0).any()) for side in (-1, 1)]
    there = np.abs(totals.sizes[totals.people.any(axis=(0, 2))])
    sizes = np.abs(totals.sizes)
    if len(there):
        sizes = sizes[(sizes >= there.min()) & (sizes <= there.max() * 1.1)]
    rounded = np.array(sorted({float(f"{size:.3g}") for size in sizes if size > 0}))
    return np.column_stack([-rounded if sides[0] else 0 * rounded, rounded if sides[1] else 0 * rounded])


def _part_lost(kept: Floats, every: Floats) -> float:
    """In half of the draws; nothing is lost where nothing is seen."""
    there = every > 0
    return float(np.median(1 - kept[there] / every[there])) if there.any() else 0.0


@dataclass(frozen=True, slots=True)
class _Judge:
    """The error of a column under limits, by draw and bounds."""

    shapes: Shapes
    limits: Neighbour
    groups: int
    epsilon: Fraction

    def error(self, aggregate: Aggregate, clamped: _Clamped | None) -> Floats:
        """In each draw, with each of the bounds that are tried; one of them where there are none."""
        if isinstance(aggregate, Total | Mean) and clamped is not None:
            return self._of_sums(clamped) if isinstance(aggregate, Total) else self._of_means(clamped)
        is_people = isinstance(aggregate, Count) and aggregate.people
        every = self._kept(math.inf, math.inf, is_people=is_people)
        kept = self._kept(self.limits.groups, self.limits.rows, is_people=is_people)
        if isinstance(aggregate, Count | Spread):
            return np.hypot(self._noise(aggregate), (every - kept) / self.groups / aggregate.width)[:, None]
        if isinstance(aggregate, Ratio):  # as a count of rows would be: its bounds stay as they are
            return np.hypot(self._scale, (every - kept) / self.groups)[:, None]
        # What is chosen by ranks: noise beside the rows that are left, and no bias by values.
        return (self._scale / np.maximum(kept / self.groups, 1.0))[:, None]

    def of_totals(self, totals: Shapes, tried: Floats) -> Floats:
        """What is beyond the bounds is lost for good, and so is all of groups that do not count."""
        counting = totals.counted(self.limits.groups)
        beyond = np.maximum(totals.sizes - tried[:, 1:], 0.0) + np.maximum(tried[:, :1] - totals.sizes, 0.0)
        lost = counting @ beyond.T
        lost += ((totals.counted(math.inf) - counting) @ np.abs(totals.sizes))[:, None]
        errors: Floats = np.hypot(self._scale * np.abs(tried).max(axis=1), lost / self.groups)
        return errors

    @property
    def left_out(self) -> float:
        """The part of all rows that the limits cut."""
        return _part_lost(self._kept(self.limits.groups, self.limits.rows), self._kept(math.inf, math.inf))

    def left_out_of_sums(self, totals: Shapes, bounds: tuple[float, float]) -> float:
        """The part of what people add up to that is beyond the bounds, or in groups that do not count."""
        sizes = np.abs(totals.sizes)
        kept = totals.counted(self.limits.groups) @ np.abs(np.clip(totals.sizes, *bounds))
        return _part_lost(kept, totals.counted(math.inf) @ sizes)

    def _kept(self, max_groups: float, max_rows: float, *, is_people: bool = False) -> Floats:
        """Rows, or pairs of a person and a group, that count: in each draw."""
        each = np.ones_like(self.shapes.sizes) if is_people else np.minimum(self.shapes.sizes, max_rows)
        found: Floats = self.shapes.counted(max_groups) @ each
        return found

    def _noise(self, aggregate: Aggregate) -> float:
        (need,) = aggregate.needs.values()
        noise = need.pure(self.limits, self.epsilon)
        assert isinstance(noise, Added)
        return math.sqrt(noise.variance)

    @property
    def _scale(self) -> float:
        """The standard deviation of Laplace noise for numbers between 0 and 1."""
        return math.sqrt(2) * self.limits.groups * self.limits.rows / float(self.epsilon)

    def _of_means(self, of: _Clamped) -> Floats:
        """Noise, what clamping moves, and that rows count as they would not: people with many rows weigh less.

        With weights w of pairs that add to W, of N rows in all, independent values of variance v are off by
        v·(Σw²/r/W² − 1/N) from their mean: Σ (w/W − r/N)²·v/r. Values that lean by b for each octave of r are off by
        b·Σ (w/W − r/N)·log₂ r besides.
        """
        shapes, rows = self.shapes, self.shapes.sizes
        counted, pairs = shapes.counted(self.limits.groups), shapes.counted(math.inf)
        kept, every = counted @ np.minimum(rows, self.limits.rows), pairs @ rows
        squares = counted @ (np.minimum(rows, self.limits.rows) ** 2 / np.maximum(rows, 1.0))
        least = float(self.groups)
        weigh = squares * self.groups / np.maximum(kept, least) ** 2 - self.groups / np.maximum(every, least)
        octaves = np.log2(np.maximum(rows, 1.0))
        leans = counted @ (np.minimum(rows, self.limits.rows) * octaves) / np.maximum(kept, least)
        leans -= pairs @ (rows * octaves) / np.maximum(every, least)
        width = of.high - of.low
        noise = self._scale * width * np.hypot(of.place, 1 - of.place) / np.maximum(kept / self.groups, 1.0)[:, None]
        off = of.variance * np.maximum(weigh, 0.0)[:, None] + (of.lean * leans)[:, None] ** 2
        errors: Floats = np.sqrt(np.minimum(noise, width) ** 2 + of.moved**2 + off)
        return errors

    def _of_sums(self, of: _Clamped) -> Floats:
        """A person's sum is clipped to what so many rows could add up to, and beside that to the bounds of a row."""
        noise = self._scale * np.maximum(np.abs(of.low), np.abs(of.high))
        rows, size = self.shapes.sizes, np.abs(of.mean)
        most = self.limits.rows * np.where(of.mean >= 0, of.high, -of.low)
        counted, every = self.shapes.counted(self.limits.groups), self.shapes.counted(math.inf)
        kept = np.einsum("dr,dbr->db", counted, np.minimum(size[:, :, None] * rows, np.maximum(most, 0.0)[:, :, None]))
        lost = (size + of.moved) * (every @ rows)[:, None] - kept
        errors: Floats = np.hypot(noise, lost / self.groups)
        return errors


@dataclass(frozen=True, slots=True)
class _Clamped:
    """Of values within bounds that are tried, by draw: mean, variance, place of the mean, and how far they move."""

    low: Floats
    high: Floats
    mean: Floats
    variance: Floats
    moved: Floats
    """On average, upwards and downwards added up: they may cancel in the mean of all, and not in that of a group."""
    lean: Floats | float = 0.0
    """By how much values are larger for those with twice as many rows."""

    @classmethod
    def of(cls, spread: ValueSpread, tried: Floats) -> _Clamped:
        low, high = tried[:, 0], tried[:, 1]
        if not spread.weights.any():
            middle = np.repeat(tried.mean(axis=1)[None], len(spread.weights), axis=0)
            return cls(low, high, middle, np.zeros_like(middle), np.zeros_like(middle))
        placed = np.clip(spread.values, low[:, None], high[:, None])
        weights = spread.weights / np.maximum(spread.weights.sum(axis=1, keepdims=True), 1e-300)
        mean = weights @ placed.T
        return cls(
            low,
            high,
            mean,
            np.maximum(weights @ (placed**2).T - mean**2, 0.0),
            weights @ np.abs(placed - spread.values).T,
            spread.lean,
        )

    @property
    def place(self) -> Floats:
        """Of the mean between the bounds."""
        found: Floats = (self.mean - self.low) / (self.high - self.low)
        return found
