"""In a table with types a text is a text: it is not read as the number or the day that may be written there.

Only files of separated values hold texts for want of types (text_parsing.py). Elsewhere a question that needs a number and
finds a text is a mistake, and reading it would charge for an answer about missing values. Types and names decide, which
are public; no row is looked at.
"""

from __future__ import annotations

from typing import Any, Final

import ibis.expr.operations as ops
import ibis.expr.types as ir

from dither.errors import ParameterError
from dither.tables.text_parsing import DAY, NUMBER

__all__ = ["no_text_is_read"]

_NEEDED: Final = {NUMBER: "a number", DAY: "a date"}


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
