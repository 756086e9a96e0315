"""Which private histograms are looked at before limits are chosen, what each costs, and the choice from them.

**Sensitivity.** Each look is asked of a table with one row for each person, which is a function of that person's rows
alone. Looks at numbers of rows, groups, values and sums count that row in one bin: a person who is added or removed
moves one count by 1, however many bins there are, and the noise is Laplace noise of scale 1/ε. A look at how values
lean adds, to the sum of one bin, a number between two public bounds: its noise has the scale of the larger one.

**Cost.** Looks are charged one after the other, and together with no more than `share` of the price. A look that cannot
change the choice is not taken; which these are follows from the looks before, which are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from dither.engine.aggregate import Aggregate, known_bounds
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.noisy_shapes import (
    NO_END,
    Floats,
    Shapes,
    ValueSpread,
    group_edges,
    row_edges,
    shapes_of,
    spread_of,
    total_edges,
    totals_of,
    value_edges,
)
from dither.engine.suggested_limits import Weighed, weighed
from dither.engine.supposed import draws
from dither.engine.tails import DRAWS
from dither.exact import rational
from dither.unit import Person

__all__ = ["Choice", "Looks", "chosen"]

_OF_ROWS: Final = Fraction(1, 2)
"""What the look at rows takes, beside values; the rest is shared by these."""
_OF_LEANS: Final = Fraction(1, 5)
"""What is kept of the part of a mean for a look at how values lean."""
_ROWS_OF_LEANS: Final = (*(1 << step for step in range(10)), NO_END)
"""The ends of the bins of rows in which values are added up."""
_SURELY_LEANS: Final = 3.0
"""Standard errors that a slope shows, or none is taken to be there: a lean that only may be there decides nothing."""


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
        totals = {name: _totals(looks, name, each, groups, epsilon) for name, each in sums.items()}
        shapes = next(iter(totals.values()))
        ranked = weighed(aggregates, {}, shapes, unit, groups, price - to_spend, totals)
        return Choice(ranked, price - to_spend, is_blind=not all(each.are_seen for each in totals.values()))
    of_values = {name: each for name, each in aggregates.items() if isinstance(each, Total | Mean)}
    first = to_spend * (_OF_ROWS if of_values else 1)
    edges = [row_edges(groups), *([group_edges(groups)] if groups > 1 else [])]
    shapes = shapes_of(looks.by_rows(edges, first), groups, 1 / float(first))
    spreads, spent = {}, first
    may_lean = bool(np.mean(shapes.people[:, shapes.sizes >= 2].sum(axis=(1, 2)) >= 1) > 0.5)
    for name, each in of_values.items():
        part = (to_spend - first) / len(of_values)
        for_leans = part * _OF_LEANS if isinstance(each, Mean) and may_lean else Fraction(0)
        spreads[name] = _spread(looks, name, each, shapes, part - for_leans)
        if for_leans:
            spreads[name] = _leaning(looks, name, spreads[name], shapes, for_leans)
        spent += part
    ranked = weighed(aggregates, spreads, shapes, unit, groups, price - spent)
    return Choice(ranked, price - spent, is_blind=not shapes.are_seen)


def _ends(aggregate: Total | Mean) -> tuple[float, float]:
    low, high = (float(rational(end, "bounds")) for end in known_bounds(aggregate.bounds))
    return low, high


def _totals(looks: Looks, name: str, aggregate: Total, groups: int, epsilon: Fraction) -> Shapes:
    edges = total_edges(*_ends(aggregate), groups)
    of_groups = [group_edges(groups)] if groups > 1 else []
    return totals_of(looks.by_totals(name, edges, of_groups, epsilon), groups, edges, 1 / float(epsilon))


def _spread(looks: Looks, name: str, aggregate: Total | Mean, shapes: Shapes, epsilon: Fraction) -> ValueSpread:
    bounds = _ends(aggregate)
    edges = value_edges(*bounds, float(shapes.people.sum()) / DRAWS * float(epsilon))
    return spread_of(looks.by_values(name, edges, epsilon), edges, 1 / float(epsilon), bounds)


def _leaning(looks: Looks, name: str, spread: ValueSpread, shapes: Shapes, epsilon: Fraction) -> ValueSpread:
    """With draws of how values lean: a line through the means of bins of rows, each as uncertain as it is.

    Slopes are as uncertain as the noise of the sums, and the chance of who is in a bin, make them.
    """
    if not spread.weights.any() or not shapes.are_seen:
        return spread
    weights = spread.weights.sum(axis=0)
    running = np.cumsum(weights) / weights.sum()
    low, high = (float(spread.values[np.searchsorted(running, level)]) for level in (0.005, 0.995))
    low, high = float(f"{low:.3g}"), float(f"{high:.3g}")
    if not low < high:
        return spread
    variance = float(weights @ spread.values**2 / weights.sum() - (weights @ spread.values / weights.sum()) ** 2)
    noisy = looks.leans(name, _ROWS_OF_LEANS, (low, high), epsilon)
    bins = np.searchsorted(_ROWS_OF_LEANS, shapes.sizes, side="right") - 1
    people = np.bincount(bins, shapes.people.mean(axis=0).sum(axis=1), len(noisy))
    octaves = np.bincount(
        bins, shapes.people.mean(axis=0).sum(axis=1) * np.log2(np.maximum(shapes.sizes, 1)), len(noisy)
    )
    seen = people >= 1
    people, at, noisy = people[seen], octaves[seen] / people[seen], noisy[seen]
    uncertain = 2 * ((high - low) / 2 / float(epsilon)) ** 2 / people**2 + variance / people
    trust = 1 / uncertain
    centre = at - trust @ at / trust.sum()
    precision = trust @ centre**2
    slope = (trust * centre) @ (noisy / people) / max(precision, 1e-300)
    if slope**2 * precision < _SURELY_LEANS**2:
        return spread
    normal = draws(2).standard_normal(DRAWS)
    rows, z = shapes.people.mean(axis=0) @ shapes.groups, np.log2(np.maximum(shapes.sizes, 1))
    further = (rows * shapes.sizes) @ z / (rows @ shapes.sizes) - rows @ z / rows.sum()
    tilt = np.exp(np.clip(slope * further / variance * (spread.values - low), -_TILT, _TILT))
    return replace(spread, weights=spread.weights * tilt, lean=slope + normal / np.sqrt(precision))
