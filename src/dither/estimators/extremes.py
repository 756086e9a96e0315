"""The smallest and the largest: as far out as privacy allows.

The largest record itself is one person's, so no private answer can be it. What can be had is a place that about 20/ε
records exceed: the rank is a constant number of records, with a score of sensitivity 1 under add/remove and
replace-one alike.

**Why 20.** Beyond the last record the loss is that number, 10 scales, and the empty space up to the bounds has to be
outweighed by the places at that rank. Where many records are equal, or so close to each other that their rank is a
narrow place, these are no wider than the spread of one record, 2^-11 of its distance from the median: e^7 times less
than the space beyond. So an answer lies beyond all records with a probability of about e^{−3}, 5 %.

**Few records.** The base measure pulls towards the median no harder than the number of records allows, as in
`clipping`. For that they are counted, with a twentieth of the budget, if their number is not public.
"""

from __future__ import annotations

import builtins
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.ranks import Base, Target, quantile_sensitivity, quantile_target, released_place
from dither.estimators.records import checked_adjacency, checked_bounds, is_replace, present
from dither.estimators.sampling import released_size
from dither.estimators.scale import found_bounds
from dither.exact import Number
from dither.mechanisms import Exponential

__all__ = ["max", "min"]

_RANGE = Fraction(1, 10)
_MEDIAN = Fraction(1, 10)
_COUNT = Fraction(1, 20)
_RANK = 20
_SPREAD_BITS = 11
_TO_SPARE = 12
"""How many scales of loss the base measure leaves at the median."""
_HALF = Fraction(1, 2)


def max(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """Estimate a value near the top of the data, with ε-DP.

    The largest record is one person's, so no private answer can be it. The answer is a value that about 20/ε records
    exceed, or equal where many are equal.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person; None, NaN and infinities are missing.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answer lies. Without them a range is found privately.
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
    ['count', 'max', 'median']
    """
    return _extreme("max", data, epsilon, bounds, adjacency)


def min(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """Estimate a value near the bottom of the data, with ε-DP.

    The smallest record is one person's, so no private answer can be it. The answer is a value that about 20/ε records
    lie below, or equal where many are equal.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person; None, NaN and infinities are missing.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) within which the answer lies. Without them a range is found privately.
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
    ['count', 'median', 'min', 'range']
    """
    return _extreme("min", data, epsilon, bounds, adjacency)


def _extreme(
    name: str, data: Any, epsilon: Number, bounds: tuple[Number, Number] | None, adjacency: Adjacency
) -> Estimate:
    total = budget(epsilon)
    limits = None if bounds is None else checked_bounds(bounds)
    values = np.sort(present(data, checked_adjacency(adjacency), limits))
    spent, rest = Spent(adjacency), total
    if limits is None:
        limits, rest = found_bounds(values, adjacency, total * _RANGE, spent), total * (1 - _RANGE)
        values = np.clip(values, *limits)
    if not is_replace(adjacency):
        rest -= total * _COUNT
    records = released_size(len(values), adjacency, total * _COUNT, spent).value
    middle = Exponential(
        sensitivity=quantile_sensitivity(_HALF, adjacency), epsilon=total * _MEDIAN, adjacency=adjacency
    )
    anchor = released_place(values, Base.around_zero(limits), quantile_target(_HALF, len(values)), middle)
    spent.record("median", total * _MEDIAN, anchor.event)
    rest -= total * _MEDIAN
    mechanism = Exponential(sensitivity=1, epsilon=rest, adjacency=adjacency)
    # Both depend on the number of records that was released, and on no record: public, like the bounds.
    outside = builtins.max(builtins.min(math.ceil(_RANK / rest), records // 4), 1)
    pull = (records / 2 - outside) / float(mechanism.scale) - _TO_SPARE
    base = replace(Base.in_a_tail(limits, anchor.value), spread_bits=_SPREAD_BITS).pulling_at_most(pull)
    few, many = outside, len(values) - outside
    target = Target(1, above=few, below=many) if name == "max" else Target(1, above=many, below=few)
    released = released_place(values, base, target, mechanism)
    spent.record(name, rest, released.event)
    return spent.estimate(
        name, released.value, mechanism, found={"bounds": limits} if bounds is None else {},
        covers="No interval holds the largest record of every dataset but the bounds.",
    )  # fmt: skip
