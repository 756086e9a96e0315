"""Arrays as names: what each record is called, for counts by name.

One record at a time, as in `records`. Numbers that are equal have one name, whatever their type: 3, 3.0 and
Decimal(3) are the int 3. Missing are NULL, NaN, ±inf, and what has no name of its own, such as a list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError

__all__ = ["label", "labels"]

_NAMES = (str, bytes, date, time, timedelta)


def labels(data: Any) -> list[Any]:
    """The names of the records that have one."""
    if isinstance(data, np.ma.MaskedArray):
        entries: Iterable[Any] = data.compressed().tolist()
    elif hasattr(data, "__array__"):
        array = np.asarray(data)
        if array.ndim != 1:
            raise ParameterError(f"data must have one dimension, got {array.ndim}. Give one entry for each record.")
        entries = array.tolist()
    elif isinstance(data, list | tuple | range):
        entries = data
    else:
        raise ParameterError(f"data must be a list or an array, got the type {type(data).__name__}.")
    return [name for name in map(label, entries) if name is not None]


def label(entry: Any) -> Any:
    """The name of one entry; None if it has none."""
    if isinstance(entry, np.generic):
        entry = entry.item()
    if isinstance(entry, float | Decimal | Fraction):
        return _number(entry)
    if isinstance(entry, int):
        return int(entry)
    return entry if isinstance(entry, _NAMES) and entry == entry else None  # NaT is a date, unlike itself


def _number(entry: float | Decimal | Fraction) -> int | float | None:
    try:
        value = float(entry)
    except (OverflowError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
