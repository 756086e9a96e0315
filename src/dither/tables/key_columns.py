"""Public keys as columns of the kinds that enter (sealed_entry.py): whole numbers, texts, truth values, days.

Groups of an answer are found by comparing keys that leave an engine with public ones. So public keys have the types
that leave an engine, whatever the types were that they came in; and what an engine would see as something else, as
bytes that enter as digits, is refused by name before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dither.errors import ParameterError
from dither.tables.expression import LONGEST_TEXT

__all__ = ["entered_keys"]

_OF_KIND: Final = {"whole": pa.int64(), "text": pa.large_string(), "truth": pa.bool_(), "date": pa.date32()}


def entered_keys(name: str, values: Any, kinds: Mapping[str, str]) -> Any:
    """A column of public keys, of the one type of its kind; `kinds` are those of the columns, for keys without any."""
    of = values.type
    if pa.types.is_dictionary(of):
        return entered_keys(name, values.cast(of.value_type), kinds)
    if pa.types.is_null(of):
        return values.cast(_OF_KIND.get(kinds.get(name, "text"), pa.float64()))
    if pa.types.is_integer(of):
        return _whole(name, values)
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of):
        return _texts(name, values)
    if pa.types.is_date(of):
        return _days(name, values)
    if pa.types.is_boolean(of):
        return values
    if pa.types.is_floating(of):
        return values.cast(pa.float64())  # refused where it is known what the column holds
    if pa.types.is_timestamp(of):
        raise ParameterError(f"the keys {name!r} must be days, not times. Cast them to dates.")
    raise ParameterError(
        f"the keys {name!r} have the type {of} of Arrow: keys are whole numbers, texts, truth values or days. "
        "Bytes and UUIDs are grouped as texts, so give their keys as texts."
    )


def _whole(name: str, values: Any) -> Any:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} hold a whole number beyond 2^63 - 1, which no column has.") from None


def _texts(name: str, values: Any) -> Any:
    try:
        texts = values.cast(pa.large_string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} hold a text that is not UTF-8.") from None
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_TEXT:
        raise ParameterError(
            f"the keys {name!r} hold a text of more than {LONGEST_TEXT} bytes: in the data it is missing."
        )
    return texts


def _days(name: str, values: Any) -> Any:
    try:
        days = values.cast(pa.date32())
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} must be days, not times. Cast them to dates.") from None
    first, last = (pa.scalar(end, pa.date32()) for end in (date.min, date.max))
    inside = pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last))
    if not pc.all(inside, skip_nulls=True).as_py():
        raise ParameterError(f"the keys {name!r} hold a day outside of the years 1 to 9999: in the data it is missing.")
    return days
