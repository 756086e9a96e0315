"""Arrays as records: one number each, or none.

Every rule here looks at one record at a time, so that neighbouring arrays stay neighbours. What the whole array
decides (an error, a shape) follows from its type and its dimension, which are taken as public; under replace-one so
is its length.

An entry is **missing** if it is no finite number: NULL, NaN, ±inf, text in a list. Missing entries are never counted
out loud. Under add/remove they are left out: adding a missing record adds nothing. Under replace-one the number of
records is public and must stay what it is, so each counts as the public `stand_in`: the middle of the bounds, or 0
without bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import NotANumberError, ParameterError
from dither.exact import plain, rational

__all__ = ["Bounds", "Floats", "checked_adjacency", "checked_bounds", "finite", "is_replace", "paired", "present"]

Floats: TypeAlias = NDArray[np.float64]
Bounds: TypeAlias = tuple[float, float]

LARGEST = 2.0**380
"""Bounds and data are clamped to ± this, so that no square of a width overflows."""


def checked_adjacency(adjacency: Adjacency) -> Adjacency:
    """One record is added or removed, or replaced: an array knows no persons, vertices or edges."""
    if adjacency not in (ADD_REMOVE, REPLACE_ONE):
        raise ParameterError(
            "adjacency must be ADD_REMOVE or REPLACE_ONE of dither.adjacency: an array holds one record per entry. "
            "If a person may have several, reduce them to one entry first."
        )
    return adjacency


def is_replace(adjacency: Adjacency) -> bool:
    """Whether the number of records is public."""
    return adjacency.change == "replace"


def checked_bounds(bounds: Any) -> Bounds:
    """Two finite numbers, the first below the second, as floats."""
    ends = list(bounds) if isinstance(bounds, Iterable) else []
    if len(ends) != 2:
        raise ParameterError("bounds must be two numbers (low, high).")
    low, high = (float(rational(end, "bounds")) for end in ends)
    if not low < high:
        raise ParameterError(f"bounds must be (low, high) with low below high, got ({low}, {high}).")
    if not (-LARGEST <= low and high <= LARGEST and high - low > 1 / LARGEST):
        raise ParameterError("bounds must be between ±2^380 and not closer than 2^-380. Measure in another unit.")
    return low, high


def present(data: Any, adjacency: Adjacency, bounds: Bounds | None) -> Floats:
    """The records that count, clamped to the bounds, as doubles (an integer beyond 2^53 is rounded to one).

    >>> present([1, None, 7.5, "x", float("inf")], ADD_REMOVE, (0.0, 5.0)).tolist()
    [1.0, 5.0]
    >>> present([1, None, 7.5, "x", float("inf")], REPLACE_ONE, (0.0, 5.0)).tolist()
    [1.0, 2.5, 5.0, 2.5, 2.5]
    """
    return _clamped(_kept(_column(data, "data"), adjacency, bounds), bounds)


def finite(data: Any) -> Floats:
    """The records that are not missing as doubles, as large as they are: for counts, which take no squares."""
    return _kept(_column(data, "data"), ADD_REMOVE, None)


def paired(
    first: Any, second: Any, adjacency: Adjacency, bounds: tuple[Bounds | None, Bounds | None]
) -> tuple[Floats, Floats]:
    """Two columns of the same records; a record is missing if either entry is."""
    columns = _column(first, "x"), _column(second, "y")
    if columns[0].shape != columns[1].shape:
        raise ParameterError("x and y must have the same number of entries: one pair for each record.")
    missing = ~(np.isfinite(columns[0]) & np.isfinite(columns[1]))
    x, y = (np.where(missing, math.nan, column) for column in columns)
    return present(x, adjacency, bounds[0]), present(y, adjacency, bounds[1])


def _kept(column: Floats, adjacency: Adjacency, bounds: Bounds | None) -> Floats:
    finite = np.isfinite(column)
    if not is_replace(adjacency):
        return column[finite]
    if not column.size:
        raise ParameterError(
            "there must be at least one record under replace-one, where the number of records is public. "
            "Use ADD_REMOVE if it may be 0."
        )
    stand_in = 0.0 if bounds is None else bounds[0] / 2 + bounds[1] / 2
    return np.where(finite, column, stand_in)


def _clamped(values: Floats, bounds: Bounds | None) -> Floats:
    low, high = bounds or (-LARGEST, LARGEST)
    return np.clip(values, low, high) + 0.0  # −0.0 becomes 0.0


def _column(data: Any, name: str) -> Floats:
    """One float for each entry, not finite where it is missing; anything that NumPy can read, or a list."""
    if isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), math.nan, _numbers(np.asarray(data), name))
    if isinstance(data, list | tuple | range):
        # Entry by entry: NumPy would turn all of them into text if one is.
        return np.array([_number(entry) for entry in data], dtype=np.float64)
    if not hasattr(data, "__array__"):
        raise NotANumberError(f"{name} must be a list or an array of numbers, got the type {type(data).__name__}.")
    return _numbers(np.asarray(data), name)


def _numbers(array: NDArray[Any], name: str) -> Floats:
    if array.ndim != 1:
        raise ParameterError(f"{name} must have one dimension, got {array.ndim}. Give one number for each record.")
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a wider float may become infinite, which is missing
            return array.astype(np.float64)
    if array.dtype.kind != "O":
        raise NotANumberError(f"{name} must be numbers, got dtype {array.dtype}. Convert them first.")
    return np.array([_number(entry) for entry in array.tolist()], dtype=np.float64)


def _number(entry: Any) -> float:
    """The entry as a float, NaN if it is no number. Never an error: that would tell about this one record."""
    if isinstance(entry, np.generic):
        entry = np.asarray(entry).item()
    if not isinstance(entry, bool | int | float | Fraction | Decimal):
        return math.nan
    try:
        return float(plain(entry))
    except (OverflowError, ValueError):
        return math.nan
