"""Which private histograms are looked at before limits are chosen, what each costs, and the choice from them.

**Sensitivity.** Each look is asked of a table with one row for each person, which is a function of that person's rows
alone. Looks at numbers of rows, groups, values and sums count that row in one bin: a person who is added or removed
moves one count by 1, however many bins there are, and the noise is Laplace noise of scale 1/ε. A look at how values
lean adds, to the sum of one bin, a number between two public bounds: its noise has the scale of the larger one.

**Cost.** Looks are charged one after the other, and together with no more than `share` of the price. A look that cannot
change the choice is not taken; which these are follows from the looks before, which are public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from dither.engine.aggregate import Aggregate, known_bounds
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.noisy_shapes import (
    CLOSELY,
    NO_END,
    Closer,
    Floats,
    Shapes,
    ValueSpread,
    group_edges,
    row_edges,
    shapes_of,
    spread_of,
    total_edges,
    totals_of,
    totals_seen,
    value_edges,
    values_seen,
)
from dither.engine.suggested_limits import Weighed, weighed
from dither.engine.supposed import draws
from dither.engine.tails import DRAWS, drawn_from
from dither.exact import rational
from dither.unit import Person

__all__ = ["Choice", "Looks", "chosen"]

_OF_ROWS: Final = Fraction(2, 5)
"""What the look at rows takes, beside values; the rest is shared by these."""
_OF_ENDS: Final = Fraction(1, 8)
"""What is kept of a look at values or sums for a closer one, at the bins at their ends."""
_OF_LEANS: Final = Fraction(1, 3)
"""What is kept of the part of a mean for a look at how values lean."""
_ROWS_OF_LEANS: Final = (*(1 << step for step in range(10)), NO_END)
"""The ends of the bins of rows in which values are added up."""
_SURELY_LEANS: Final = 8.0
"""By how much a slope is likelier than none, as a power of e: a lean that only may be there decides nothing."""
_LEANS_TELL: Final = 50.0
"""Fewer people, in scales of the noise, show no slope that would matter."""
_FARTHEST_SLOPE: Final = 30.0
"""Slopes are tried as far as this, in standard errors; and heights of the line."""
_LINES: Final = 241

_TILT: Final = 5.0
"""Values of rows are those of people, weighed by an exponential of theirs, no more than e to this power."""


class Looks(Protocol):
    """Noisy histograms of the people of a question, each with Laplace noise of its own ε."""

    def by_rows(self, edges: Sequence[Sequence[int]], epsilon: Fraction) -> Floats:
        """People by rows in one group and, if there are two sets of edges, by groups."""
        ...

    def by_totals(
        self, name: str, edges: Sequence[float], groups: Sequence[Sequence[int]], epsilon: Fraction
    ) -> Floats:
        """People by the sum of their values in one group and, if there are edges, by groups."""
        ...

    def by_values(self, name: str, edges: Sequence[float], epsilon: Fraction) -> Floats:
        """People by the value of one of their rows."""
        ...

    def leans(self, name: str, edges: Sequence[int], ends: tuple[float, float], epsilon: Fraction) -> Floats:
        """By rows in one group, the sum of how far people's mean values are above the middle of two ends."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """What was considered, the best first, what is left of the price, and whether nobody was seen."""

    considered: Sequence[Weighed]
    left: Fraction
    is_blind: bool


def chosen(
    looks: Looks, aggregates: Mapping[str, Aggregate], unit: Person, groups: int, price: Fraction, share: Fraction
) -> Choice:
    """Look, for no more than `share` of the price, and choose."""
    to_spend = price * share
    sums = {name: each for name, each in aggregates.items() if isinstance(each, Total)}
    if sums and all(name in sums or (isinstance(each, Count) and each.people) for name, each in aggregates.items()):
        epsilon = to_spend / len(sums)
        found = {name: _totals(looks, name, each, groups, epsilon) for name, each in sums.items()}
        totals, left = (
            {name: each for name, (each, _) in found.items()},
            price - sum(cost for _, cost in found.values()),
        )
        shapes = next(iter(totals.values()))
        ranked = weighed(aggregates, {}, shapes, unit, groups, left, totals)
        return Choice(ranked, left, is_blind=not all(each.are_seen for each in totals.values()))
    of_values = {name: each for name, each in aggregates.items() if isinstance(each, Total | Mean)}
    first = to_spend * (_OF_ROWS if of_values else 1)
    edges = [row_edges(groups), *([group_edges(groups)] if groups > 1 else [])]
    shapes = shapes_of(looks.by_rows(edges, first), groups, 1 / float(first))
    spreads, spent = {}, first
    may_lean = bool(np.mean(shapes.people[:, shapes.sizes >= 2].sum(axis=(1, 2)) >= 1) > 0.5)
    for name, each in of_values.items():
        part = (to_spend - first) / len(of_values)
        people = float(shapes.people.sum()) / DRAWS
        may_tell = isinstance(each, Mean) and may_lean and people * float(part * _OF_LEANS) >= _LEANS_TELL
        for_leans = part * _OF_LEANS if may_tell else Fraction(0)
        spreads[name], cost = _spread(looks, name, each, shapes, part - for_leans)
        if for_leans:
            spreads[name], more = _leaning(looks, name, spreads[name], shapes, for_leans)
            cost += more
        spent += cost
    ranked = weighed(aggregates, spreads, shapes, unit, groups, price - spent)
    are_seen = shapes.are_seen and all(each.weights.any() for each in spreads.values())
    return Choice(ranked, price - spent, is_blind=not are_seen)


def _ends(aggregate: Total | Mean) -> tuple[float, float]:
    low, high = (float(rational(end, "bounds")) for end in known_bounds(aggregate.bounds))
    return low, high


def _totals(looks: Looks, name: str, aggregate: Total, groups: int, epsilon: Fraction) -> tuple[Shapes, Fraction]:
    """People by their sums in one group; and what that cost."""
    edges, for_ends = total_edges(*_ends(aggregate), groups), epsilon * _OF_ENDS
    first = epsilon - for_ends
    of_groups = [group_edges(groups)] if groups > 1 else []
    seen = totals_seen(looks.by_totals(name, edges, of_groups, first), groups, edges, 1 / float(first))
    parts = seen.ends_in_parts(float(for_ends))
    if parts is None:
        return totals_of(seen, groups), first
    closer = Closer(np.array(parts), looks.by_totals(name, parts, [], for_ends), 1 / float(for_ends))
    return totals_of(seen, groups, closer), epsilon


def _spread(
    looks: Looks, name: str, aggregate: Total | Mean, shapes: Shapes, epsilon: Fraction
) -> tuple[ValueSpread, Fraction]:
    """Values of single rows; and what that cost."""
    bounds, people = _ends(aggregate), float(shapes.people.sum()) / DRAWS
    for_ends = epsilon * _OF_ENDS if people * float(epsilon * _OF_ENDS) >= CLOSELY else Fraction(0)
    first = epsilon - for_ends
    edges, known = value_edges(*bounds, people * float(first)), people if shapes.are_seen else None
    seen = values_seen(looks.by_values(name, edges, first), edges, 1 / float(first), known)
    parts = seen.ends_in_parts(float(for_ends))
    if parts is None:
        return spread_of(seen, bounds), first
    closer = Closer(np.array(parts), looks.by_values(name, parts, for_ends), 1 / float(for_ends))
    return spread_of(seen, bounds, closer), epsilon


def _leaning(
    looks: Looks, name: str, spread: ValueSpread, shapes: Shapes, epsilon: Fraction
) -> tuple[ValueSpread, Fraction]:
    """With draws of how values lean: a line through the means of bins of rows, each as uncertain as it is.

    Slopes are as uncertain as the noise of the sums, and the chance of who is in a bin, make them. What is added up is
    how far values are from their mean: where nothing leans that is nothing on average, however many people a bin has.
    """
    if not spread.weights.any() or not shapes.are_seen:
        return spread, Fraction(0)
    weights = spread.weights.sum(axis=0)
    running = np.cumsum(weights) / weights.sum()
    low, high = (float(spread.values[np.searchsorted(running, level)]) for level in (0.005, 0.995))
    mean, lowest = float(weights @ spread.values / weights.sum()), low
    most = max(high - mean, mean - low)
    low, high = float(f"{mean - most:.3g}"), float(f"{mean + most:.3g}")
    if not low < high:
        return spread, Fraction(0)
    variance = float(weights @ spread.values**2 / weights.sum() - mean**2)
    noisy = looks.leans(name, _ROWS_OF_LEANS, (low, high), epsilon)
    bins = np.searchsorted(_ROWS_OF_LEANS, shapes.sizes, side="right") - 1
    of_sizes = shapes.people.mean(axis=0).sum(axis=1)
    people: Floats = np.bincount(bins, of_sizes, len(noisy)).astype(np.float64)
    octaves: Floats = np.bincount(bins, of_sizes * np.log2(np.maximum(shapes.sizes, 1)), len(noisy)).astype(np.float64)
    seen = people >= 1
    at: Floats = octaves[seen] / people[seen]
    people, noisy = people[seen], noisy[seen]
    slopes = _slopes(noisy, people, at, (high - low) / 2 / float(epsilon), variance)
    if slopes is None:
        return spread, epsilon
    slope = float(slopes.mean())
    rows, z = shapes.people.mean(axis=0) @ shapes.groups, np.log2(np.maximum(shapes.sizes, 1))
    further = (rows * shapes.sizes) @ z / (rows @ shapes.sizes) - rows @ z / rows.sum()
    tilt = np.exp(np.clip(slope * further / variance * (spread.values - lowest), -_TILT, _TILT))
    return replace(spread, weights=spread.weights * tilt, lean=slopes), epsilon


def _slopes(noisy: Floats, people: Floats, at: Floats, scale: float, variance: float) -> Floats | None:
    """Draws of the slope of a line through noisy sums of people, by their likelihood; None if there may be none.

    Noise is Laplace noise, and who is in a bin is chance besides, which is taken to have tails as heavy: so that one
    bin with much noise is no line.
    """
    spreads = np.sqrt(scale**2 + people * variance / 2)
    known = 1 / math.sqrt(float(np.sum(((people / spreads) * (at - np.average(at, weights=people))) ** 2)) + 1e-300)
    lines = known * np.linspace(-_FARTHEST_SLOPE, _FARTHEST_SLOPE, _LINES)
    heights = np.linspace(-1, 1, _LINES) * _FARTHEST_SLOPE / math.sqrt(float(np.sum((people / spreads) ** 2)))
    centre = at - np.average(at, weights=(people / spreads) ** 2)
    means = lines[:, None, None] * centre + heights[:, None]
    likely = -(np.abs(noisy - people * means) / spreads).sum(axis=2)
    along = likely.max(axis=1)
    if along.max() - along[_LINES // 2] < _SURELY_LEANS:
        return None
    return np.asarray(lines[drawn_from(np.exp(along - along.max()), draws(2))])
