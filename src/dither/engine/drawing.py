"""Exact groups in, noisy groups out, batch by batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dither.engine.plan import FOUND, Plan
from dither.errors import ParameterError
from dither.tables import arrow_table

__all__ = ["aligned", "key_table", "noisy_batches"]


def noisy_batches(plan: Plan, names: Mapping[str, str], keys: Sequence[str], exact: Iterable[Any]) -> Iterator[Any]:
    """Each batch with noise; of groups that were found, only those with enough people.

    `names` tells the column of each part. Every group of a batch gets noise before any is left out.
    """
    for batch in exact:
        wholes = {part: np.array(batch.column(name).to_pylist(), dtype=object) for part, name in names.items()}
        noised = {part: plan.parts[part].draw(np.where(whole == None, 0, whole)) for part, whole in wholes.items()}  # noqa: E711
        columns = {key: batch.column(key) for key in keys}
        for name, aggregate in plan.aggregates.items():
            miss = plan.miss(aggregate)
            answer = aggregate.answer({part: plan.parts[part].bounded(noised[part], miss) for part in aggregate.parts})
            columns |= {name: answer.value, f"{name}_low": answer.low, f"{name}_high": answer.high}
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        if plan.discovery is not None:
            table = table.filter(pa.array(noised[FOUND] >= plan.discovery.threshold))
        yield table


def aligned(public: pa.Table, exact: Iterable[Any], names: Sequence[str]) -> pa.RecordBatch:
    """The public groups in their order, with the exact numbers that were found and 0 for the others."""
    place = {key: index for index, key in enumerate(_tuples(public))}
    columns = {name: np.zeros(public.num_rows, dtype=object) for name in names}
    for batch in exact:
        at = [place[key] for key in _tuples(batch.select(public.column_names))]
        for name in names:
            columns[name][at] = batch.column(name).to_pylist()
    arrays = [pa.array([int(value) for value in columns[name]], type=pa.decimal128(38, 0)) for name in names]
    merged = pa.table([*public.columns, *arrays], names=[*public.column_names, *names])
    return merged.combine_chunks().to_batches()[0]


def key_table(columns: Sequence[str], keys: Any) -> pa.Table:
    """Public keys as a table with one column for each key; duplicates are refused."""
    if isinstance(keys, Mapping):
        if set(keys) != set(columns):
            raise ParameterError(f"keys must have a list for each of {', '.join(columns)}.")
        rows: list[Any] = list(itertools.product(*(list(keys[name]) for name in columns)))
    elif isinstance(keys, list | tuple | range | np.ndarray):
        listed = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        rows = [(key,) for key in listed] if len(columns) == 1 else listed
        if any(not isinstance(row, tuple | list) or len(row) != len(columns) for row in rows):
            raise ParameterError(f"keys must be tuples of {len(columns)} values, one for each of {', '.join(columns)}.")
    else:
        table = arrow_table(keys)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise ParameterError(
                f"the table of keys has no column {missing[0]!r}. It has {', '.join(table.column_names)}."
            )
        rows = list(_tuples(table.select(list(columns))))
    if not rows:
        raise ParameterError("keys must not be empty.")
    if len({tuple(row) for row in rows}) != len(rows):
        raise ParameterError("keys must be different from each other.")
    try:
        return pa.table({name: pa.array([row[index] for row in rows]) for index, name in enumerate(columns)})
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ParameterError("all keys of one column must be of one type.") from None


def _tuples(table: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
