"""From data to sorted numbers inside public bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact import Number, plain_entries, rational

__all__ = [
    "Bounds",
    "Floats",
    "checked_bounds",
    "difference_above",
    "fraction_above",
    "in_units",
    "of_records",
    "padded",
    "width_above",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Bounds: TypeAlias = "tuple[Number, Number] | None"
"""The public interval that data is clamped to, or None if there is none."""

_NUMERIC_KINDS = "biuf"


def checked_bounds(bounds: object) -> tuple[float, float] | None:
    """The bounds as the nearest doubles, refused unless low < high and high − low is a double too."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds must be a pair (low, high) of public numbers, or None for unbounded data.")
    low, high = float(rational(bounds[0], "the lower bound")), float(rational(bounds[1], "the upper bound"))
    if not low < high:
        raise ParameterError(f"bounds must satisfy low < high, got ({low!r}, {high!r}).")
    if not high - low < math.inf:
        raise ParameterError(f"bounds must be less than 1.7e308 apart, got ({low!r}, {high!r}). Give narrower bounds.")
    return low, high


def of_records(adjacency: Adjacency) -> Adjacency:
    """The adjacency, refused unless it is about one record."""
    if adjacency not in (REPLACE_ONE, ADD_REMOVE):
        raise AdjacencyMismatch(
            f"the sensitivity of a list of numbers is known for one record replaced, added or removed; "
            f"got '{adjacency}'. Use REPLACE_ONE or ADD_REMOVE, with one record per protected person."
        )
    return adjacency


def padded(data: Any, bounds: tuple[float, float] | None, adjacency: Adjacency) -> Floats:
    """x[0] = low ≤ x[1] ≤ … ≤ x[n] ≤ x[n + 1] = high: the data as doubles, clamped and sorted, between its bounds.

    Each record is rounded and clamped by itself, so that neighbours stay neighbours. Without bounds the padding is
    infinite. Refused: what is not a list of finite numbers; and no data at all when records can only be replaced,
    since the number of records is public then.
    """
    try:
        given = np.asarray(plain_entries(data))
        values = given.astype(np.float64) if given.dtype.kind in _NUMERIC_KINDS + "O" or given.size == 0 else None
    except (TypeError, ValueError, OverflowError):
        values = None
    if values is None or values.ndim != 1:
        raise ParameterError("data must be a list or an array of numbers, one for each record.")
    if not np.isfinite(values).all():
        raise ParameterError("data must be finite numbers without NaN. Replace or drop missing records first.")
    if adjacency == REPLACE_ONE and values.size == 0:
        raise ParameterError("data must have at least one record when records are replaced. Use ADD_REMOVE.")
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    return np.concatenate(([low], np.sort(np.clip(values, low, high)), [high]))


def difference_above(high: Floats, low: Floats) -> Floats:
    """The smallest doubles not below high − low; the same real difference always gives the same double.

    The error of a rounded sum is itself a double, found without rounding (Knuth's TwoSum): where it is positive, the
    double above is the answer. With an infinite end, or past the largest double, the difference is inf.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = high - low
        part = rounded - high
        error = (high - (rounded - part)) - (low + part)
        return np.where(error > 0, np.nextafter(rounded, math.inf), rounded)


def width_above(bounds: tuple[float, float] | None) -> float:
    """The smallest double not below high − low; inf without bounds."""
    if bounds is None:
        return math.inf
    return float(difference_above(np.array(bounds[1]), np.array(bounds[0])))


def in_units(values: Iterable[float]) -> tuple[list[int], Fraction]:
    """The same doubles as whole numbers of one unit, and the unit."""
    ratios = [float(value).as_integer_ratio() for value in values]
    bottom = max((denominator for _, denominator in ratios), default=1)  # powers of two
    return [numerator * (bottom // denominator) for numerator, denominator in ratios], Fraction(1, bottom)


def fraction_above(exact: Fraction) -> float:
    """The smallest double not below `exact`, which lies in the range of doubles."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
