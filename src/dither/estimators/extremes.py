"""The smallest and the largest: as far out as privacy allows.

The largest record itself is one person's, so no private answer can be it. What can be had is a place that about 18/ε
records exceed (27/ε under replace-one): one exponential mechanism with all of ε, whose score is about a constant
number of records beyond; `places` has the score, its sensitivity and the number.

**Why 18.** Each record too few beyond the answer costs ¾ε, each too many ¼ε: together they may cost ε. So the empty
space beyond the last record loses e^{−13.5}, and a place t records too far in loses e^{−t·ε/4}. Where many records
are equal the answer is their value, if that is a round number or the records are many.

**Few records.** At most half of the records lie beyond the answer, also where there are fewer than 36/ε.

**Without bounds** t is 28/ε (42/ε), as there is more empty space, and the answer may be `NoAnswer`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.base_measure import unbounded
from dither.estimators.order_statistic import EXTREME_DIGITS, EXTREME_SENSITIVITY, RankedRows, chosen, extreme_target
from dither.estimators.quantiles import base_for, is_whole
from dither.estimators.records import checked_adjacency, checked_bounds, present
from dither.exact import Number, in_words
from dither.mechanisms.no_answer import NoAnswer
from dither.mechanisms.selection import Exponential

__all__ = ["max", "min"]

_EXTREMES = {"max": "largest", "min": "smallest"}
_ENOUGH = 150
"""How many records times ε an extreme without bounds needs."""


def max(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """Estimate a value near the top of the data, with ε-DP.

    The largest record is one person's, so no private answer can be it. The answer is a value that about 18/ε records
    exceed, or equal where many are equal.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person; None, NaN and infinities are missing.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answer lies. Without them the value is a `NoAnswer` if there are too few
        records, fewer than about 150/ε.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Estimate
        `.value` is a float. It has no interval: none but the bounds contains the largest record of every dataset.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.max(range(1000), epsilon=1, bounds=(0, 10**9))
    >>> sorted(release.split)
    ['max']
    """
    return _extreme("max", data, epsilon, bounds, adjacency)


def min(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """Estimate a value near the bottom of the data, with ε-DP.

    The smallest record is one person's, so no private answer can be it. The answer is a value that about 18/ε records
    lie below, or equal where many are equal.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person; None, NaN and infinities are missing.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answer lies. Without them the value is a `NoAnswer` if there are too few
        records, fewer than about 150/ε.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Estimate
        `.value` is a float. It has no interval: none but the bounds contains the smallest record of every dataset.

    Examples
    --------
    >>> import dither as dp
    >>> sorted(dp.stats.min(range(1000), epsilon=1).split)
    ['min']
    """
    return _extreme("min", data, epsilon, bounds, adjacency)


def _extreme(
    name: str, data: Any, epsilon: Number, bounds: tuple[Number, Number] | None, adjacency: Adjacency
) -> Estimate:
    total = budget(epsilon)
    limits = None if bounds is None else checked_bounds(bounds)
    values = np.sort(present(data, checked_adjacency(adjacency), limits))
    base = unbounded() if limits is None else base_for(data, limits)
    rows = RankedRows.of_values(values, base, EXTREME_DIGITS)
    mechanism = Exponential(sensitivity=EXTREME_SENSITIVITY, epsilon=total, adjacency=adjacency)
    target = extreme_target(rows.total, mechanism, adjacency, largest=name == "max", refuses=not base.is_bounded)
    released = chosen(rows, base, (base.first, base.end), target, mechanism)
    spent = Spent(adjacency)
    spent.record(name, total, released.event)
    # Without bounds equal records have more room among doubles, 2^-11 of their size: whole numbers are rounded.
    found = _too_few(total) if released.value == base.end else base.axis.value(released.value)
    if limits is None and isinstance(found, float) and is_whole(data):
        found = float(round(found))
    return spent.estimate(
        name, found, mechanism,
        covers=f"No interval holds the {_EXTREMES[name]} record of every dataset but the bounds.",
    )  # fmt: skip


def _too_few(epsilon: Fraction) -> NoAnswer:
    return NoAnswer(
        "no answer: there are too few records to find an extreme without bounds. It needs about "
        f"{in_words(Fraction(math.ceil(_ENOUGH / epsilon)))} records at this epsilon. State bounds, spend a larger "
        "epsilon, or use more data."
    )
