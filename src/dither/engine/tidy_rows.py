"""Answers as rows: a histogram has a row for each bin, and several quantiles one for each probability.

Released numbers in another shape, so it reveals nothing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import QuantilesOfGroups, Spread

__all__ = ["holds_lists", "tidied"]


def holds_lists(column: Any) -> bool:
    """Whether each row of an Arrow column is a list."""
    of = column.type
    return bool(pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of))


def tidied(table: pa.Table, aggregates: Mapping[str, Aggregate]) -> pa.Table:
    """The answer without lists: each number of a list stands in a row of its own, beside what it is about.

    Before the column `name` stand `name_from` and `name_to` (a bin), `name_probability` (a quantile) or `name_place`.
    What is one number for the group is repeated in its rows. Of several columns with lists the rows stand below each
    other, and are NULL in the columns of the others.
    """
    lists = [name for name in table.column_names if holds_lists(table.column(name))]
    lists = [name for name in lists if name not in {end for each in lists for end in _ends(table, each)}]
    if not lists:
        return table
    hidden = {column for name in lists for column in (name, *_ends(table, name))}
    order: list[str] = []
    blocks = []
    for column in table.column_names:
        if column in lists:
            unrolled = _Unrolled.of(table, column, aggregates.get(column))
            order += [*unrolled.about, column, *_ends(table, column)]
            plain = table.select([name for name in table.column_names if name not in hidden]).take(unrolled.rows)
            blocks.append(pa.table({**_columns(plain), **unrolled.about, **unrolled.numbers}))
        elif column not in hidden:
            order.append(column)
    return pa.concat_tables(blocks, promote_options="permissive").select(order).combine_chunks()


@dataclass(frozen=True, slots=True)
class _Unrolled:
    """A column of lists: the row that each number is from, what the number is about, and the numbers."""

    rows: pa.Array
    about: Mapping[str, pa.Array]
    numbers: Mapping[str, pa.Array]

    @classmethod
    def of(cls, table: pa.Table, name: str, aggregate: Aggregate | None) -> _Unrolled:
        lengths = [len(each or ()) for each in table.column(name).to_pylist()]
        rows = np.repeat(np.arange(table.num_rows), lengths)
        places = np.concatenate([np.arange(length) for length in lengths]) if lengths else np.arange(0)
        about = {_free(f"{name}_{of}", table): each.take(pa.array(places)) for of, each in _about(aggregate, lengths)}
        numbers = {each: table.column(each).combine_chunks().flatten() for each in (name, *_ends(table, name))}
        return cls(pa.array(rows), about, numbers)


def _about(aggregate: Aggregate | None, lengths: list[int]) -> list[tuple[str, pa.Array]]:
    """What the places of a list mean."""
    if isinstance(aggregate, Spread):
        edges = _plain(aggregate.bins.edges)
        return [("from", pa.array(edges[:-1])), ("to", pa.array(edges[1:]))]
    if isinstance(aggregate, QuantilesOfGroups):
        return [("probability", pa.array([float(each) for each in aggregate.probabilities]))]
    return [("place", pa.array(range(1, max(lengths, default=0) + 1)))]


def _plain(edges: Sequence[Any]) -> list[Any]:
    """Days as they are; numbers as integers if all of them are, else as doubles."""
    if not all(isinstance(each, Fraction | int) for each in edges):
        return list(edges)
    return [int(each) if all(other.denominator == 1 for other in edges) else float(each) for each in edges]


def _ends(table: pa.Table, name: str) -> list[str]:
    return [end for end in (f"{name}_low", f"{name}_high") if end in table.column_names]


def _columns(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _free(name: str, table: pa.Table) -> str:
    """A name that no column has: keys are called as they like."""
    while name in table.column_names:
        name += "_"
    return name
