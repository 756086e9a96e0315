"""Texts read as numbers and days, row by row: the same on every engine, NULL where nothing of the kind is written.

A file of comma-separated values holds nothing but texts. Guessing the type of a column from its rows would let one
row decide whether a question can be asked at all, so a text is read where a number or a day is needed and not before.

Engines fail on texts they cannot cast. So a text first becomes NULL unless it has a form that all engines read alike;
what is cast is the result, and no order of evaluation can pass over that.

In a table with types a text is a text: it is not read as the number or the day that may be written there. There a
question that needs a number and finds a text is a mistake, and reading it would charge for an answer about missing
values. Types and names decide, which are public; no row is looked at.
"""

from __future__ import annotations

from typing import Any, Final

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from dither.errors import ParameterError

__all__ = ["DAY", "NUMBER", "TIME", "no_text_is_read", "written_day", "written_number", "written_time"]

NUMBER: Final = r" *[+-]?([0-9]{1,30}[.]?[0-9]{0,30}|[.][0-9]{1,30})([eE][+-]?[0-9]{1,2})? *"
"""Digits of ASCII and no exponent of three digits: always within the range of doubles."""
_LEAP: Final = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
DAY: Final = (
    r"([0-9]{4}-("
    r"(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
    r"(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    rf"02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
"""The calendar, as one pattern: a query that computes the length of each month is a hundred times as long. It takes
the year 0000, which no engine has, for one like others."""
TIME: Final = (
    DAY + r"[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?( ?(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?))?"
)
"""A day and the time that a clock shows. A zone behind it is passed over, as it is behind a day."""
_NEEDED: Final = {NUMBER: "a number", TIME: "a time", DAY: "a date"}


def written_number(text: Any) -> Any:
    """The double nearest to a decimal number such as 12, -0.5 or 1e6."""
    return _where(_is_all(text, NUMBER), text).cast("float64")


def written_day(text: Any) -> Any:
    """The day of 2024-12-31, with or without a time behind it; a day that the calendar does not have is NULL."""
    day = text.left(10)
    stands_alone = text.left(11).isin([day, day + " ", day + "T"])
    return _where(_is_all(day, DAY) & (day.left(4) != "0000") & stands_alone, day).cast("date")


def written_time(text: Any) -> Any:
    """The time of 2024-12-31 08:15 or 2024-12-31T08:15:30.5+01:00, to the second and as the clock showed it."""
    whole = _where(_is_all(text, TIME) & (text.left(4) != "0000"), text)
    seconds = (whole.substr(16, 1) == ":").ifelse(whole.substr(17, 2), "00")
    return (whole.left(10) + " " + whole.substr(11, 5) + ":" + seconds).cast("timestamp")


def _is_all(text: Any, form: str) -> Any:
    """Whether the whole text is of a form. What `$` means before a last line break, engines see differently."""
    return (text + "!").re_search(f"^{form}!$")


def _where(condition: Any, text: Any) -> Any:
    return condition.ifelse(text, ibis.null("string"))


def no_text_is_read(asked: ir.Table) -> None:
    """Refuse a question in which a text is checked for the form of a number or a day: that is how one is read.

    Expressions have no other patterns. A table of Ibis that has the same ones itself is refused too, for no harm.
    """
    for search in asked.op().find(ops.RegexSearch):
        pattern = getattr(search.pattern, "value", None)
        for form, needed in _NEEDED.items():
            if isinstance(pattern, str) and form in pattern:
                raise ParameterError(
                    f"{_named(search.arg)}, and {needed} is needed here. In a table with types a text is not read as "
                    "one: give the column that type in the source, or choose another."
                )


def _named(value: Any) -> str:
    """What gives the texts: a column, by the name that the source has for it, or something that was made of several."""
    name = ""
    while value is not None:
        if isinstance(value, ops.Field):
            name = value.name
            value = getattr(value.rel, "values", {}).get(name)
        else:
            parts = [part for part in value.__args__ if isinstance(part, ops.Value | tuple) and part]
            is_of_first = len(parts) == 1 or isinstance(value, ops.StringConcat | ops.Substring)
            first = parts[0] if parts and is_of_first else None
            value = first[0] if isinstance(first, tuple) else first
    return f"column {name!r} holds texts" if name and not name.startswith("dither ") else "the expression gives a text"
