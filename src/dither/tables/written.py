"""Texts read as numbers and days, row by row: the same on every engine, NULL where nothing of the kind is written.

A file of comma-separated values holds nothing but texts. Guessing the type of a column from its rows would let one
row decide whether a question can be asked at all, so a text is read where a number or a day is needed and not before.

Engines fail on texts they cannot cast. So a text first becomes NULL unless it has a form that all engines read alike;
what is cast is the result, and no order of evaluation can pass over that.
"""

from __future__ import annotations

from typing import Any, Final

import ibis

__all__ = ["DAY", "NUMBER", "written_day", "written_number"]

NUMBER: Final = r"^ *[+-]?([0-9]{1,30}[.]?[0-9]{0,30}|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})? *$"
"""Digits of ASCII and no exponent of three digits: always within the range of doubles."""
DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?$"


def written_number(text: Any) -> Any:
    """The double nearest to a decimal number such as 12, -0.5 or 1e6."""
    return _of_form(text, NUMBER).cast("float64")


def written_day(text: Any) -> Any:
    """The day of 2024-12-31, with or without a time behind it; a day that the calendar does not have is NULL."""
    formed = _of_form(text, DAY)
    year, month, day = (formed.substr(start, size).cast("int64") for start, size in ((0, 4), (5, 2), (8, 2)))
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    length = ibis.cases(
        (month == 2, leap.ifelse(29, 28)),
        (month.isin([4, 6, 9, 11]), 30),
        else_=31,
    )
    real = (year >= 1) & month.between(1, 12) & (day >= 1) & (day <= length)
    real = real.fill_null(False)
    safe = ibis.date(real.ifelse(year, 1), real.ifelse(month, 1), real.ifelse(day, 1))
    return real.ifelse(safe, ibis.null("date"))


def _of_form(text: Any, form: str) -> Any:
    return text.re_search(form).ifelse(text, ibis.null("string"))
