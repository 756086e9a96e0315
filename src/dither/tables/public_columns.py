"""A look at values, for tables that are public: the only one that asks nobody and costs nothing.

Whoever calls this says that everybody may know the rows. `dither init --public` does, for suggestions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dither.errors import EngineError
from dither.tables.expression_compiler import kind_of, number, shown
from dither.tables.source import Source

__all__ = ["PublicColumn", "public_columns"]

_MOST_KEYS = 20


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """What is in a public column: the ends of its numbers, or its few different values; None if it is neither."""

    bounds: tuple[float, float] | None = None
    keys: tuple[str | int | bool, ...] | None = None


def public_columns(source: Source) -> dict[str, PublicColumn]:
    """The columns of a public table. Texts are numbers if all of them are, as aggregates would read them."""
    try:
        return {name: _column(source.table[name]) for name in shown(source.table)}
    except Exception as error:  # the words of the engine may be long and about its own affairs
        kind = type(error).__name__
    raise EngineError(f"the values of the table cannot be read ({kind}). Check the file, or leave --public out.")


def _column(column: Any) -> PublicColumn:
    kind, value = kind_of(column), column
    if kind in ("whole", "real", "text"):
        double = number(value)
        asked = (value.count(), double.min(), double.max(), double.count())
        found, low, high, numbers = (each.to_pyarrow().as_py() for each in asked)
        if found and found == numbers and low < high:
            return PublicColumn(bounds=(_rounded(low, math.floor), _rounded(high, math.ceil)))
    if kind in ("date", "time") or value.nunique().to_pyarrow().as_py() > _MOST_KEYS:
        return PublicColumn()
    values = value.as_table().distinct().to_pyarrow().column(0).to_pylist()
    return PublicColumn(keys=tuple(sorted(each for each in values if each is not None)))


def _rounded(end: float, outwards: Any) -> float:
    """Two digits, rounded outwards: 187.3 becomes 190."""
    if not end:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(end))) - 1)
    return float(outwards(end / step) * step)
