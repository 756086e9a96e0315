"""Limits and bounds with the least error, from noisy histograms: post-processing, which costs nothing.

The stated error of a column is √(noise² + bias²) of a typical group. With c people who are in G groups and have r rows
in one of theirs, limits L and m keep Σ c·min(G, L)·min(r, m) of Σ c·G·r rows; what is missing, shared evenly by the
groups, is the bias of a count. A person's sum is clipped to m times the bounds, and a mean is moved by what clamping
moves. The noise is that of the plan: its sensitivity grows with L·m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import Spread
from dither.engine.group_sensitivity import Added
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.noisy_shapes import Clamped, Floats, Shapes, ValueSpread
from dither.engine.ratio_aggregate import Ratio
from dither.unit import Neighbour, Person

__all__ = ["Weighed", "weighed"]


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
    *,
    totals: bool = False,
) -> list[Weighed]:
    """All limits that are worth a look, the best first.

    With `totals`, `spreads` are those of each person's sum in a group, and nothing else depends on rows: then all rows
    of a person may count as one, whose bounds are those of the sum.

    Best is the least sum, over the columns, of the error divided by the least error that any limits give the column.
    """
    widest = min(float(groups), max(1.0, float(shapes.groups.max(initial=1.0))))
    share = epsilon / max(len(aggregates), 1)
    tried = {name: each.clamped(from_zero=isinstance(aggregates[name], Total)) for name, each in spreads.items()}
    found = []
    for most_groups in _steps(widest, groups):
        for most_rows in [1] if totals else _steps(float(shapes.rows.max(initial=1.0)), shapes.most_rows):
            limits = Neighbour(most_groups, most_rows, unit.adjacency)
            judge = _Judge(shapes, limits, groups, share, totals)
            judged = {name: judge.error(each, tried.get(name)) for name, each in aggregates.items()}
            bounds = {name: both for name, (_, both) in judged.items() if both is not None}
            found.append(Weighed(most_groups, most_rows, bounds, {name: error for name, (error, _) in judged.items()}))
    least = {name: max(min(each.errors[name] for each in found), 1e-300) for name in aggregates}
    return sorted(found, key=lambda each: sum(error / least[name] for name, error in each.errors.items()))


def _steps(largest: float, most: int) -> list[int]:
    """1, 2, 3, …, then eight in each octave, up to the first that is as large, and no more than there can be."""
    steps = sorted({min(round(2 ** (step / 8)), most) for step in range(8 * math.ceil(math.log2(largest)) + 2)})
    return steps[: sum(step < largest for step in steps) + 1]


@dataclass(frozen=True, slots=True)
class _Judge:
    """The error of a column under limits."""

    shapes: Shapes
    limits: Neighbour
    groups: int
    epsilon: Fraction
    totals: bool

    def error(self, aggregate: Aggregate, tried: Clamped | None) -> tuple[float, tuple[float, float] | None]:
        """The error, and the bounds with which it is least."""
        shapes, groups, rows = self.shapes, self.limits.groups, self.limits.rows
        if isinstance(aggregate, Count | Spread):
            is_people = isinstance(aggregate, Count) and aggregate.people
            every = shapes.pairs(math.inf) if is_people else float(shapes.kept(math.inf, 1.0, math.inf))
            kept = shapes.pairs(groups) if is_people else float(shapes.kept(groups, 1.0, rows))
            return math.hypot(self._noise(aggregate), (every - kept) / self.groups / aggregate.width), None
        if isinstance(aggregate, Total | Mean) and tried is not None:
            errors = self._of_sums(tried) if isinstance(aggregate, Total) else self._of_means(tried)
            best = int(np.argmin(errors))
            return float(errors[best]), (float(tried.low[best]), float(tried.high[best]))
        if isinstance(aggregate, Ratio):  # as a count of rows would be: its bounds stay as they are
            every, kept = (float(shapes.kept(*most)) for most in ((math.inf, 1.0, math.inf), (groups, 1.0, rows)))
            return math.hypot(self._scale, (every - kept) / self.groups), None
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
        """Noise, what clamping moves, and that rows count as they would not: people with many rows weigh less.

        With weights w of pairs that add to W, of N rows in all, independent values of variance v are off by
        v·(Σw²/r/W² − 1/N) from their mean: Σ (w/W − r/N)²·v/r.
        """
        kept = np.maximum(self.shapes.kept(self.limits.groups, 1.0, self.limits.rows) / self.groups, 1.0)
        width = tried.high - tried.low
        place = (tried.mean - tried.low) / width
        weighed = self.shapes.squares(self.limits.groups, self.limits.rows) / self.groups / kept**2
        every = np.maximum(self.shapes.kept(math.inf, 1.0, math.inf) / self.groups, 1.0)
        off = tried.variance * np.maximum(weighed - 1 / every, 0.0)
        noise = self._scale * width * np.hypot(place, 1 - place) / kept
        errors: Floats = np.sqrt(np.minimum(noise, width) ** 2 + tried.moved**2 + off)
        return errors

    def _of_sums(self, tried: Clamped) -> Floats:
        """A person's sum is clipped to what so many rows could add up to; what is lost is lost for good."""
        noise = self._scale * np.maximum(np.abs(tried.low), np.abs(tried.high))
        if self.totals:
            counted, all_pairs = self.shapes.pairs(self.limits.groups), self.shapes.pairs(math.inf)
            cut = tried.moved * counted + np.abs(tried.mean) * (all_pairs - counted)
            return np.asarray(np.hypot(noise, cut / self.groups))
        size, most = np.abs(tried.mean), self.limits.rows * np.where(tried.mean >= 0, tried.high, -tried.low)
        every = self.shapes.kept(math.inf, size, math.inf)
        lost = every - self.shapes.kept(self.limits.groups, size, most)
        lost += tried.moved * self.shapes.kept(math.inf, 1.0, math.inf)
        return np.asarray(np.hypot(noise, lost / self.groups))
