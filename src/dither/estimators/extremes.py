"""The smallest and the largest: as far out as privacy allows.

The largest record itself is one person's, so no private answer can be it. What can be had is a place that about 12/ε
records exceed: the rank is a constant number of records, with a score of sensitivity 1 under add/remove and
replace-one alike.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.ranks import Base, Target, quantile_sensitivity, quantile_target, released_place
from dither.estimators.records import checked_adjacency, checked_bounds, present
from dither.estimators.scale import found_bounds
from dither.exact import Number
from dither.mechanisms import Exponential

__all__ = ["max", "min"]

_RANGE = Fraction(1, 10)
_MEDIAN = Fraction(1, 10)
_RANK = 12
_HALF = Fraction(1, 2)


def max(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """A place near the top of the data: about 12/ε records lie above it, where data reach that far.

    >>> release = max(range(1000), epsilon=1, bounds=(0, 10**9))
    >>> sorted(release.split)
    ['max', 'median']
    """
    return _extreme("max", data, epsilon, bounds, adjacency)


def min(
    data: Any, *, epsilon: Number, bounds: tuple[Number, Number] | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Estimate:
    """A place near the bottom of the data: about 12/ε records lie below it.

    >>> sorted(min(range(1000), epsilon=1).split)
    ['median', 'min', 'range']
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
    middle = Exponential(
        sensitivity=quantile_sensitivity(_HALF, adjacency), epsilon=total * _MEDIAN, adjacency=adjacency
    )
    anchor = released_place(values, Base.around_zero(limits), quantile_target(_HALF, len(values)), middle)
    spent.record("median", total * _MEDIAN, anchor.event)
    rest -= total * _MEDIAN
    outside = math.ceil(_RANK / rest)
    few, many = outside, len(values) - outside
    target = Target(1, above=few, below=many) if name == "max" else Target(1, above=many, below=few)
    mechanism = Exponential(sensitivity=1, epsilon=rest, adjacency=adjacency)
    released = released_place(values, Base.in_a_tail(limits, anchor.value), target, mechanism)
    spent.record(name, rest, released.event)
    return spent.estimate(
        name, released.value, mechanism, found={"bounds": limits} if bounds is None else {},
        covers="No interval holds the largest record of every dataset but the bounds.",
    )  # fmt: skip
