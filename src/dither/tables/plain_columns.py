"""Columns of Arrow from texts and numbers, and back to NumPy, straight from their memory.

pyarrow loads pandas whenever it converts an object of Python or NumPy, which takes longer than to answer a question
about a small file. What is made and read here has the same types and values, without that. So are frames of pandas told
from others: by the names of their types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = [
    "batch_without_rows", "column_of", "column_of_numbers", "in_order", "is_frame", "library_of", "numbers_of",
    "with_plain_names",
]  # fmt: skip

_MOST_BYTES = (1 << 31) - 1
"""Texts of Arrow have offsets of 32 bits."""
_INTEGERS, _FLOATS = np.dtype(np.int64), np.dtype(np.float64)
_TYPES = {_INTEGERS: pa.int64(), _FLOATS: pa.float64()}
_DTYPES = {pa.int64(): _INTEGERS, pa.float64(): _FLOATS}


def column_of(values: Sequence[Any]) -> Any:
    """`pa.array(values)`; texts are put together here.

    >>> column_of(["Paris", "Lyon"]).to_pylist()
    ['Paris', 'Lyon']
    """
    if not values or any(type(value) is not str for value in values):
        return pa.array(values)
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] > _MOST_BYTES:
        return pa.array(values)
    texts = pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends.astype(np.int32)), texts)


def column_of_numbers(values: NDArray[Any], *, nan_is_null: bool = False) -> pa.Array:
    """`pa.array(values)` of 64-bit integers or floats, which share their memory; NaN may become NULL.

    >>> column_of_numbers(np.array([3, 1])).to_pylist()
    [3, 1]
    >>> column_of_numbers(np.array([0.5, np.nan]), nan_is_null=True).to_pylist()
    [0.5, None]
    """
    missing = np.isnan(values) if nan_is_null else np.zeros(0, dtype=bool)
    present = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    memory = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_TYPES[values.dtype], len(values), [present, memory])


def numbers_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """`column.to_numpy()`; 64-bit integers or floats without NULL share their memory.

    >>> numbers_of(column_of_numbers(np.array([3, 1])))
    array([3, 1])
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count or whole.type not in _DTYPES:
        found: NDArray[Any] = whole.to_numpy()
        return found
    memory = whole.buffers()[1] if len(whole) else b""
    return np.frombuffer(memory, dtype=_DTYPES[whole.type])[whole.offset :][: len(whole)]


def batch_without_rows(schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a schema, without rows.

    >>> batch_without_rows(pa.schema({"n": pa.int64()})).num_rows
    0
    """
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def with_plain_names(table: pa.Table) -> pa.Table:
    """The columns under their numbers: Arrow reads names such as ".x" and "[1]" as paths to other columns.

    >>> with_plain_names(pa.table({".x": [1], "[1]": [2]})).column_names
    ['0', '1']
    """
    return table.rename_columns([str(at) for at in range(table.num_columns)])


def in_order(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows in the order of some columns, the first of them first, whatever these are called.

    >>> in_order(pa.table({".x": [3, 1], "[0]": [5, 6]}), [".x"]).column("[0]").to_pylist()
    [6, 5]
    """
    keys = with_plain_names(table.select(list(names)))
    return table.take(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))


def is_frame(source: Any) -> bool:
    """Whether this is a table in memory: a series has no columns. Asked of its type, as a lazy frame would compute."""
    is_arrow = isinstance(source, pa.Table | pa.RecordBatch)
    return is_arrow or (library_of(source) in ("pandas", "polars") and hasattr(type(source), "columns"))


def library_of(frame: Any) -> str:
    """The name of the library that a frame is from, without importing it."""
    return type(frame).__module__.partition(".")[0]
