"""What SQL says of texts, days and times, as expressions: LIKE, EXTRACT and DATE_TRUNC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dither.tables import Expression, if_else
from dither.tables.row_functions import CLOCK_UNITS, DAY_UNITS

__all__ = ["PARTS", "UNITS", "like"]

UNITS: Final = (*CLOCK_UNITS, *DAY_UNITS)
"""To which DATE_TRUNC cuts off."""


def _iso_weekday(value: Expression) -> Expression:
    return value.weekday() + 1


def _weekday(value: Expression) -> Expression:
    """0 is Sunday, as in PostgreSQL."""
    day = value.weekday()
    return if_else(day == 6, 0, day + 1)


def _quarter(value: Expression) -> Expression:
    return ((value.month() + 2) / 3).floor()


PARTS: Final[dict[str, Callable[[Expression], Expression]]] = {
    "YEAR": lambda value: value.year(),
    "QUARTER": _quarter,
    "MONTH": lambda value: value.month(),
    "DAY": lambda value: value.day(),
    "HOUR": lambda value: value.hour(),
    "MINUTE": lambda value: value.minute(),
    **dict.fromkeys(("DOW", "DAYOFWEEK"), _weekday),
    **dict.fromkeys(("ISODOW", "DAYOFWEEKISO", "WEEKDAY_ISO"), _iso_weekday),
}
"""What EXTRACT takes."""


def like(value: Expression, pattern: str) -> Expression | None:
    """`value LIKE pattern`, where % stands for any characters; None if the pattern has another sign: _ or a backslash.

    The parts between the signs % are looked for from left to right, each behind the one before: whatever stands in
    the text, that takes one walk through it. What is left must end with the last part.
    """
    if "_" in pattern or "\\" in pattern:
        return None
    begin, *parts = pattern.split("%")
    if not parts:
        return value == begin
    end = parts.pop()
    middle = [part for part in parts if part]
    conditions = [value.starts_with(begin)] if begin else []
    rest = value.after(begin) if begin and (middle or end) else value
    for part in middle[: None if end else -1]:
        rest = rest.after(part)
    if end or middle:
        conditions.append(rest.ends_with(end) if end else rest.contains(middle[-1]))
    if not conditions:
        return ~value.is_null()
    found = conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1]
    return found if rest is value else found.coalesce(False).where(~value.is_null())
