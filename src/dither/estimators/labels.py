"""Arrays as names: what each record is called, for counts by name.

One record at a time, as in `records`. Numbers that are equal have one name, whatever their type: 3, 3.0 and
Decimal(3) are the int 3. So have equal moments: one with a time zone is named in UTC, and all to a microsecond.
Names that are equal are also spelt alike, whatever class or time zone they came in: otherwise the one that is shown
would tell how the first of the records was spelt. Missing are NULL, NaN, ±inf, integers beyond the range of a float,
and what has no name of its own, such as a list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError

__all__ = ["label", "labels"]

_MOST_BITS = 1024


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
        return int(entry) if entry.bit_length() <= _MOST_BITS else None
    if isinstance(entry, str):
        return str.__str__(entry)
    if isinstance(entry, bytes):
        return bytes(entry)
    try:
        return _moment(entry)
    except (ArithmeticError, TypeError, ValueError):  # NaT, or a moment that UTC has no year for
        return None


def _moment(entry: Any) -> datetime | date | time | timedelta | None:
    """A date, a time or a duration; None if it is neither."""
    if isinstance(entry, timedelta):
        return timedelta(entry.days, entry.seconds, entry.microseconds)
    if isinstance(entry, date) and not isinstance(entry, datetime):
        return date(entry.year, entry.month, entry.day)
    if not isinstance(entry, datetime | time):
        return None
    clock, offset = time(entry.hour, entry.minute, entry.second, entry.microsecond), entry.utcoffset()
    day = date(entry.year, entry.month, entry.day) if isinstance(entry, datetime) else date(2000, 1, 2)
    moment = datetime.combine(day, clock)
    if offset is not None:
        moment = (moment - offset).replace(tzinfo=UTC)
    return moment if isinstance(entry, datetime) else moment.timetz()


def _number(entry: float | Decimal | Fraction) -> int | float | None:
    try:
        value = float(entry)
    except (OverflowError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
