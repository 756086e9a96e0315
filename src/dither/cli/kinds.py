"""Whether the columns of which numbers are asked hold numbers, as far as that is public."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Final

from dither.cli.draft import toml_key
from dither.engine import Bins
from dither.engine.aggregate import Aggregate, OfColumn
from dither.engine.distribution_aggregates import Spread
from dither.errors import ParameterError
from dither.tables import Column, Expression
from dither.tables.expression import ARITHMETIC, Operation

__all__ = ["check_kinds", "columns_of_numbers"]

_HOLDS: Final = {"date": "dates", "truth": "truth values", "text": "texts"}


def columns_of_numbers(
    aggregates: Mapping[str, Aggregate], groups: Iterable[str | Bins], made: Mapping[str, Expression]
) -> dict[str, str]:
    """The columns of the source that are read as numbers, and what does so; `made` are new columns."""
    readers = [
        (f"{name} = {aggregate}", _value(part)) for name, aggregate in aggregates.items() for part in aggregate.made_of
    ]
    readers += [(str(each), _binned(each)) for each in groups if isinstance(each, Bins)]
    found: dict[str, str] = {}
    for reader, value in readers:
        for column in () if value is None else _numbers(value, made):
            found.setdefault(column, reader)
    return found


def check_kinds(read_as_numbers: Mapping[str, str], kinds: Mapping[str, str]) -> None:
    """Refuse numbers of a column that holds something else: most of its values would count as missing."""
    for column, asked in read_as_numbers.items():
        if kinds.get(column, "number") != "number":
            raise ParameterError(
                f"{asked}: column {column!r} holds {_HOLDS[kinds[column]]}, and numbers are needed here. Choose a "
                f"column of numbers, or say --number {shlex.quote(column)} (in a description: "
                f'{toml_key(column)} = "number" in [columns]) '
                "if what is no number may count as missing."
            )


def _value(aggregate: Aggregate) -> Expression | None:
    """What an aggregate reads as numbers."""
    if isinstance(aggregate, Spread):
        return _binned(aggregate.bins)
    return aggregate.of if isinstance(aggregate, OfColumn) else None


def _binned(bins: Bins) -> Expression | None:
    return None if isinstance(bins.edges[0], date) else bins.of


def _numbers(value: Expression, made: Mapping[str, Expression]) -> Iterator[str]:
    """The columns whose values become the number: not those that a condition asks, nor days whose year is taken."""
    if isinstance(value, Column) and value.name in made:
        yield from _numbers(made[value.name], {})  # a new column is made of the columns of the source
    elif isinstance(value, Column):
        yield value.name
    elif isinstance(value, Operation) and value.verb in (*ARITHMETIC, "coalesce"):
        for part in value.parts:
            yield from _numbers(part, made)
    elif isinstance(value, Operation) and value.verb == "if_else":
        for part in value.parts[1:]:
            yield from _numbers(part, made)
