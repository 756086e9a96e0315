"""What stands in columns of texts: numbers, dates, truth values or words.

Names and types of columns are taken as public. A file of separated values has no types, so its first lines must tell
what a typed table says of itself. Nothing is read otherwise because of it: a text stays a text, and a single value that
is no number stays missing (text_parsing.py). It serves to refuse a question that would be about missing values only.

The look is at rows, and its outcome is outside of every account and has no noise. It is the kind of the majority, which
one row changes where two kinds are level, and where hardly any line has a value: of a column with a single value it
tells that there is one, and of which kind. Whoever wants no look at all says the kinds (`[columns]` in a description).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

import pyarrow as pa

from dither.errors import EngineError
from dither.tables.source import Source
from dither.tables.text_parsing import DAY, NUMBER

__all__ = ["KINDS", "text_kinds"]

_FIRST_LINES: Final = 1_000


def text_kinds(source: Source, columns: Sequence[str]) -> dict[str, str]:
    """The kinds of those of the columns whose type is text; without an entry, nothing stands in the first lines.

    Only files of separated values are looked into. In a typed table a text is a text.
    """
    table = source.table
    texts = [name for name in columns if table.schema()[name].is_string()]
    if not texts or source.has_types:
        return dict.fromkeys(texts, "text")
    try:
        first = pa.Table.from_batches(source.engine.rows(table.select(*texts).limit(_FIRST_LINES)))
    except Exception as error:  # the words of the engine may be data
        failure = type(error).__name__
    else:
        values = {name: first.column(name).drop_null().to_pylist() for name in texts}
        return {name: _majority(present) for name, present in values.items() if present}
    raise EngineError(f"the first lines of the file cannot be read ({failure}). Check that it is a CSV file in UTF-8.")


def _majority(values: Sequence[str]) -> str:
    """The first kind that at least half of the values are of: all of them are texts."""
    return next((kind for kind, test in _TESTS.items() if 2 * sum(map(test, values)) >= len(values)), "text")


def _is_day(text: str) -> bool:
    try:
        return bool(re.fullmatch(f"{DAY}([ T].*)?", text, re.DOTALL) and date.fromisoformat(text[:10]))
    except ValueError:  # no day of the calendar
        return False


_TESTS: Final[dict[str, Callable[[str], bool]]] = {
    "number": lambda text: re.fullmatch(NUMBER, text) is not None,
    "date": _is_day,
    "truth": lambda text: text.strip().lower() in ("true", "false"),
}
KINDS: Final = (*_TESTS, "text")
