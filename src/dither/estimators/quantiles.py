"""Quantiles: one, or several for the price of one (Kaplan, Schnapp and Stemmer 2022).

`quantile_search` has the steps, for arrays and tables alike.

**Few records** may get a `NoAnswer`: see `places`.

**Intervals** cost extra: see `quantile_bars`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.base_measure import Base, bounded, stepped, unbounded
from dither.estimators.order_statistic import RankedRows
from dither.estimators.quantile_bars import ANSWER_SHARE, HISTOGRAM_SHARE, SCALE_SHARE, QuantileBars
from dither.estimators.quantile_search import QuantileSearch
from dither.estimators.ranks import checked_probability
from dither.estimators.records import Bounds, checked_adjacency, checked_bounds, is_replace, present
from dither.exact import Number, check, in_words, rational
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.no_answer import NoAnswer
from dither.mechanisms.released import Interval

__all__ = ["BoughtBars", "base_for", "is_whole", "median", "quantile"]

_HALF = Fraction(1, 2)
_ENOUGH, _ENOUGH_WITHOUT_BOUNDS = 40, 100
"""How many records times ε a median needs."""
_LARGEST_WHOLE = 2**52


def median(
    data: Any,
    *,
    epsilon: Number,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    interval_level: Number | None = None,
    population: bool = False,
) -> Estimate:
    """Estimate the median of numbers, with ε-DP: `quantile` at one half.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answer lies; they may be far too wide at little cost. The value is a
        `NoAnswer` if there are too few records, fewer than about 25/ε to 40/ε, without bounds 50/ε to 120/ε.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    interval_level : Number, optional
        The level of an interval, such as 0.95, on which three fifths of the budget are spent. Without it there is none.
    population : bool, default False
        Whether the interval is for the median of the population from which the records were drawn independently.

    Returns
    -------
    Estimate
        `.value` is a float, with an error of about 3/ε ranks (with probability 95 %, under add/remove), or `NoAnswer`.

    Examples
    --------
    >>> import dither as dp
    >>> ages = [23, 45, 31, 38, 62, 19, 51, 44, 27, 35] * 20
    >>> release = dp.stats.median(ages, epsilon=1, bounds=(0, 120))
    >>> 15 < release.value < 65
    True
    """
    return quantile(
        data, _HALF, epsilon=epsilon, bounds=bounds, adjacency=adjacency, interval_level=interval_level,
        population=population, _name="median",
    )  # fmt: skip


def quantile(
    data: Any,
    probability: Number | Sequence[Number],
    *,
    epsilon: Number,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    interval_level: Number | None = None,
    population: bool = False,
    _name: str = "quantile",
) -> Estimate:
    """Estimate one or several quantiles of numbers, with ε-DP in all.

    The q-quantile of n records has at most qn of them below it and at most (1 − q)n above it.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    probability : Number or sequence of Number
        One q strictly between 0 and 1, or a list of them.
    epsilon : Number
        The privacy budget ε > 0 of all quantiles together.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answers lie; they may be far too wide at little cost, as much of the base
        measure is the same for each octave. A value is a `NoAnswer` if there are too few records: fewer than about 40/ε
        for a median and 80/ε for another, or 2.5/(ε·min(q, 1 − q)) if that is more; without bounds 120/ε and
        60/(ε·min(q, 1 − q)).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which three fifths of the budget are spent; each holds with that level.
        Without it there are none.
    population : bool, default False
        Whether the intervals are for the quantiles of the population from which the records were drawn independently.
        Needs `interval_level`.

    Returns
    -------
    Estimate
        `.value` is a float, or a list of floats in the order of `probability`; `NoAnswer` where records are too few.

    Raises
    ------
    ParameterError
        If a probability, the bounds or a level is out of range.

    Notes
    -----
    Drawn by the exponential mechanism (claim C12) with weights that depend on the distance in ranks, so the error is a
    number of ranks: about 3/ε of them with probability 95 % for a median under add/remove, 6/ε under replace-one.
    Several quantiles share the budget as in Kaplan, Schnapp and Stemmer 2022.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.quantile(range(1000), [0.25, 0.5, 0.75], epsilon=2, bounds=(0, 10**6))
    >>> len(release.value), release.value == sorted(release.value)
    (3, True)
    >>> release.guarantee
    PureDP(epsilon=2, adjacency='add or remove one record')
    """
    total, asked = budget(epsilon), _probabilities(probability)
    level = None if interval_level is None else rational(interval_level, "interval_level")
    if level is not None:
        check.between(0, 1, interval_level=level)
    elif population:
        raise ParameterError("population=True is about the interval. Say which: interval_level=0.95.")
    limits = None if bounds is None else checked_bounds(bounds)
    values = np.sort(present(data, checked_adjacency(adjacency), limits))
    base = base_for(data, limits)
    rows = RankedRows.of_values(values, base)
    spent = Spent(adjacency)
    search = QuantileSearch(base, adjacency)
    for_answers = total if level is None else total * ANSWER_SHARE
    answers = search.run(rows, asked, for_answers)
    for step, share in search.steps(asked, for_answers):
        spent.record(step, share, search.mechanism(_HALF if step != "quantile" else asked[0], share).event)
    ends = None
    if level is not None:
        ends = _ends(QuantileBars(base, adjacency, level, population), rows, answers, total, spent)
    single = not isinstance(probability, list | tuple | np.ndarray)
    shown = [_shown(base, answers[q], total) for q in asked]
    return spent.estimate(
        _name,
        shown[0] if single else shown,
        search.mechanism(_HALF, total),
        covers=_covers(level, population),
        bars=None if ends is None or level is None else BoughtBars(level, _shaped(ends, asked, single)),
    )


def base_for(data: Any, limits: Bounds | None) -> Base:
    """Where answers can be: whole numbers in an array of whole numbers, whose type is public, and doubles in others."""
    if limits is None:
        return unbounded(is_whole=is_whole(data))
    first, last = math.ceil(limits[0]), math.floor(limits[1])
    if is_whole(data) and first < last and max(abs(first), abs(last)) <= _LARGEST_WHOLE:
        return stepped(Fraction(1), first, last)
    return bounded(limits)


def is_whole(data: Any) -> bool:
    """Whether these are whole numbers by their type."""
    return getattr(getattr(data, "dtype", None), "kind", None) in ("b", "i", "u")


def _shown(base: Base, place: int | None, epsilon: Fraction) -> float | NoAnswer:
    if place is not None:
        return base.axis.value(place)
    enough = _ENOUGH if base.is_bounded else _ENOUGH_WITHOUT_BOUNDS
    do = "Spend" if base.is_bounded else "State bounds, spend"
    return NoAnswer(
        f"no answer: there are too few records for a quantile{'' if base.is_bounded else ' without bounds'}. A median "
        f"needs about {in_words(Fraction(math.ceil(enough / epsilon)))} records at this epsilon, other quantiles more. "
        f"{do} a larger epsilon, or use more data."
    )


def _ends(
    bars: QuantileBars, rows: RankedRows, answers: dict[Fraction, int | None], total: Fraction, spent: Spent
) -> dict[Fraction, Bounds]:
    """The interval of each answer; everything where there is none."""
    found = {q: place for q, place in answers.items() if place is not None}
    choice = bars.scale_choice(total * SCALE_SHARE)
    sensitivity = 2 if is_replace(bars.adjacency) else 1
    laplace = Laplace(sensitivity=sensitivity, epsilon=total * HISTOGRAM_SHARE, adjacency=bars.adjacency)
    parts = bars
    if is_replace(bars.adjacency) and len(set(found.values())) > 1:
        parts = replace(bars, adjacency=ADD_REMOVE)
    spent.record("scale", total * SCALE_SHARE, choice.event)
    if not found:
        spent.record("interval", total * HISTOGRAM_SHARE, laplace.event)
        return dict.fromkeys(answers, bars.base.everything)
    edges = parts.cells(rows, found, parts.scale_choice(total * SCALE_SHARE / (1 if parts is bars else 2)))
    released = laplace.release(bars.counts(rows, edges))
    spent.record("interval", total * HISTOGRAM_SHARE, released.event)
    walk = bars.walk(edges, np.asarray(released.value), float(laplace.scale))
    return {q: walk.ends(q) if q in found else bars.base.everything for q in answers}


def _probabilities(probability: Any) -> list[Fraction]:
    several = isinstance(probability, list | tuple | np.ndarray)
    asked = [rational(q, "probability") for q in (probability if several else [probability])]
    if not asked:
        raise ParameterError("probability must be a number between 0 and 1, or a list of them; got an empty list.")
    return [checked_probability(q) for q in asked]


def _covers(level: Fraction | None, population: bool) -> str:
    if level is None:
        return "Ask for one with interval_level=0.95: it costs three fifths of the budget."
    return f"the quantile of the {'population' if population else 'data'}, clamped to the bounds"


def _shaped(ends: dict[Fraction, Bounds], asked: list[Fraction], single: bool) -> Interval:
    lows, highs = [ends[q][0] for q in asked], [ends[q][1] for q in asked]
    return (lows[0], highs[0]) if single else (lows, highs)


@dataclass(frozen=True)
class BoughtBars:
    """An interval that was bought for one level; it holds for every lower one too."""

    level: Fraction
    ends: Interval

    def __call__(self, level: Fraction) -> Interval:
        if level > self.level:
            raise ParameterError(f"the interval was bought for the level {float(self.level)}, got {float(level)}.")
        return self.ends
