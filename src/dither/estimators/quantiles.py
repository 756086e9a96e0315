"""Quantiles: one, or several for the price of one (Kaplan, Schnapp and Stemmer 2022).

**Several.** The middle probability is answered first; its answer v cuts the data in two, and each half answers its own.
A level spends ε/levels, whatever the number of its nodes:

* add/remove: a record is in one node of a level, and only that node sees a change;
* replace-one, one node: a record is replaced, added or removed there: Δ = d covers all three;
* replace-one, several nodes: a record may leave one and enter another. Each node spends half as for add/remove.
  A record replaced within a node moves its score by d ≤ 2·max(p, d − p), so that it costs no more than both halves.

In each case the privacy losses of a level lie in an interval of width ε/levels, which is what its event says. (Losses
of two independent selections lie in an interval of the sum of the widths.)

**Far out.** For a single quantile beyond 5 % or 95 % there may be few records to tell the tail from the empty space
up to the bounds. A tenth of the budget first finds the median; from there the base measure falls with the cube of the
distance, or less steeply where records are few: it pulls towards the median no harder than the number of records
allows, as in `clipping`. For that they are counted, with a twentieth, if their number is not public.

**Intervals** cost extra: see `quantile_bars`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.quantile_bars import QuantileBars
from dither.estimators.ranks import (
    MOST_UNITS,
    Base,
    checked_probability,
    quantile_sensitivity,
    quantile_target,
    released_place,
)
from dither.estimators.records import Bounds, Floats, checked_adjacency, checked_bounds, is_replace, present
from dither.estimators.sampling import released_size
from dither.estimators.scale import found_bounds
from dither.exact import Number, check, rational
from dither.mechanisms import Exponential
from dither.mechanisms.released import Interval

__all__ = ["median", "quantile"]

_RANGE_SHARE = Fraction(1, 10)
_ANCHOR_SHARE = Fraction(1, 10)
_COUNT_SHARE = Fraction(1, 20)
_TO_SPARE = 12
"""How many scales of loss the base measure of a far quantile leaves at the median."""
_BARS_SHARE = Fraction(2, 5)
_FAR_OUT = Fraction(1, 20)
_HALF = Fraction(1, 2)
_NARROW = 2.0**-60


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
        Public (low, high) within which the answer lies; they may be far too wide at little cost. Without them a tenth
        of the budget finds a range.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    interval_level : Number, optional
        The level of an interval, such as 0.95, on which two fifths of the budget are spent. Without it there is none.
    population : bool, default False
        Whether the interval is for the median of the population from which the records were drawn independently.

    Returns
    -------
    Estimate
        `.value` is a float, with an error of about 3/ε ranks (with probability 95 %, under add/remove).

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
        Public (low, high) within which the answers lie; they may be far too wide at little cost, as the base measure is
        the same for each octave. Without them a tenth of the budget finds a range.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which two fifths of the budget are spent; each holds with that level.
        Without it there are none.
    population : bool, default False
        Whether the intervals are for the quantiles of the population from which the records were drawn independently. A
        tenth of their share counts the records, if their number is not public. Needs `interval_level`.

    Returns
    -------
    Estimate
        `.value` is a float, or a list of floats in the order of `probability`.

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
    spent, rest = Spent(adjacency), total
    if limits is None:
        limits = found_bounds(values, adjacency, total * _RANGE_SHARE, spent)
        values, rest = np.clip(values, *limits), rest - total * _RANGE_SHARE
    for_bars = Fraction(0) if level is None else total * _BARS_SHARE
    search = _Search(limits, adjacency, spent)
    answers = search.run(values, asked, rest - for_bars)
    ends = None
    if level is not None:
        asked_bars = QuantileBars(limits, adjacency, level, population)
        ends = asked_bars.released(values, answers, for_bars, spent)
    shown = [answers[q] for q in asked]
    single = not isinstance(probability, list | tuple | np.ndarray)
    return spent.estimate(
        _name,
        shown[0] if single else shown,
        search.mechanism(_HALF, total),
        found={"bounds": limits} if bounds is None else {},
        covers=_covers(level, population),
        bars=None if ends is None or level is None else _Bars(level, _shaped(ends, asked, single)),
    )


def _probabilities(probability: Any) -> list[Fraction]:
    several = isinstance(probability, list | tuple | np.ndarray)
    asked = [rational(q, "probability") for q in (probability if several else [probability])]
    if not asked:
        raise ParameterError("probability must be a number between 0 and 1, or a list of them; got an empty list.")
    return [checked_probability(q) for q in asked]


def _covers(level: Fraction | None, population: bool) -> str:
    if level is None:
        return "Ask for one with interval_level=0.95: it costs two fifths of the budget."
    return "the quantile of the population" if population else "the quantile of the data"


def _shaped(ends: dict[Fraction, Bounds], asked: list[Fraction], single: bool) -> Interval:
    lows, highs = [ends[q][0] for q in asked], [ends[q][1] for q in asked]
    return (lows[0], highs[0]) if single else (lows, highs)


@dataclass(frozen=True)
class _Bars:
    """An interval that was bought for one level; it holds for every lower one too."""

    level: Fraction
    ends: Interval

    def __call__(self, level: Fraction) -> Interval:
        if level > self.level:
            raise ParameterError(f"the interval was bought for the level {float(self.level)}, got {float(level)}.")
        return self.ends


@dataclass(frozen=True)
class _Node:
    """A part of the data between two answers, with the probabilities that fall there."""

    values: Floats
    bounds: Bounds
    asked: list[Fraction]
    first: Fraction
    last: Fraction
    base: Base

    @property
    def middle(self) -> Fraction:
        return self.asked[len(self.asked) // 2]

    @property
    def probability(self) -> Fraction:
        """The middle probability, relative to this part. Rounded, it still is a target like any other."""
        inside = ((self.middle - self.first) / (self.last - self.first)).limit_denominator(MOST_UNITS)
        least = Fraction(1, MOST_UNITS)
        return min(max(inside, least), 1 - least)

    def children(self, answer: float) -> list[_Node]:
        low, high = self.bounds
        cut = int(np.searchsorted(self.values, answer, side="left"))
        parts = [
            (self.values[:cut], (low, answer), [q for q in self.asked if q < self.middle], self.first, self.middle),
            (self.values[cut:], (answer, high), [q for q in self.asked if q > self.middle], self.middle, self.last),
        ]
        return [_Node(*part, Base.in_a_tail(part[1], answer)) for part in parts if part[2]]


@dataclass(frozen=True)
class _Search:
    """The steps of one quantile query on sorted values."""

    bounds: Bounds
    adjacency: Adjacency
    spent: Spent

    def mechanism(self, probability: Fraction, epsilon: Fraction) -> Exponential:
        """The mechanism for one quantile of all data."""
        sensitivity = quantile_sensitivity(probability, self.adjacency)
        return Exponential(sensitivity=sensitivity, epsilon=epsilon, adjacency=self.adjacency)

    def run(self, values: Floats, asked: list[Fraction], epsilon: Fraction) -> dict[Fraction, float]:
        """An answer to each probability."""
        distinct = sorted(set(asked))
        base = Base.around_zero(self.bounds)
        if len(distinct) == 1:
            (q,) = distinct
            if not _FAR_OUT <= q <= 1 - _FAR_OUT:
                epsilon, base = self._far_out(values, q, epsilon)
            return {q: self._one(values, q, base, epsilon, "quantile")}
        return self._levels([_Node(values, self.bounds, distinct, Fraction(0), Fraction(1), base)], epsilon)

    def _far_out(self, values: Floats, probability: Fraction, epsilon: Fraction) -> tuple[Fraction, Base]:
        """What is left of ε for a quantile in a tail, and the base measure, from released numbers and the bounds."""
        count = Fraction(0) if is_replace(self.adjacency) else epsilon * _COUNT_SHARE
        records = released_size(len(values), self.adjacency, count, self.spent).value
        anchor = self._one(values, _HALF, Base.around_zero(self.bounds), epsilon * _ANCHOR_SHARE, "median")
        rest = epsilon * (1 - _ANCHOR_SHARE) - count
        scale_in_ranks = self.mechanism(probability, rest).scale / probability.denominator
        pull = float(records * abs(probability - _HALF) / scale_in_ranks) - _TO_SPARE
        return rest, Base.in_a_tail(self.bounds, anchor).pulling_at_most(pull)

    def _one(self, values: Floats, probability: Fraction, base: Base, epsilon: Fraction, step: str) -> float:
        mechanism = self.mechanism(probability, epsilon)
        released = released_place(values, base, quantile_target(probability, len(values)), mechanism)
        self.spent.record(step, epsilon, released.event)
        return float(released.value)

    def _levels(self, nodes: list[_Node], epsilon: Fraction) -> dict[Fraction, float]:
        share = epsilon / len(nodes[0].asked).bit_length()
        answers: dict[Fraction, float] = {}
        while nodes:
            for node in nodes:
                answers[node.middle] = self._answer(node, share, is_alone=len(nodes) == 1)
            whole = Exponential(sensitivity=1, epsilon=share, adjacency=self.adjacency)
            self.spent.record("quantiles", share, whole.event)
            nodes = [child for node in nodes for child in node.children(answers[node.middle])]
        return answers

    def _answer(self, node: _Node, share: Fraction, *, is_alone: bool) -> float:
        low, high = node.bounds
        if not high - low > (self.bounds[1] - self.bounds[0]) * _NARROW:  # two answers that are all but equal
            return low
        q = node.probability
        if is_replace(self.adjacency) and not is_alone:
            adjacency, share = ADD_REMOVE, share / 2
        else:
            adjacency = self.adjacency
        sensitivity = quantile_sensitivity(q, adjacency)
        mechanism = Exponential(sensitivity=sensitivity, epsilon=share, adjacency=adjacency)
        released = released_place(node.values, node.base, quantile_target(q, len(node.values)), mechanism)
        return float(released.value)
