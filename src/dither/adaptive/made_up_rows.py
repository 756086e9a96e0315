"""Rows that nobody is behind, of the kind of a sample: made up from its columns, its types and the shape of a row.

What a query does on them may be shown, and refused, and reveals nothing about the sample.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError

__all__ = ["made_up"]

_ROWS: Final = 32


def made_up(data: Any) -> Any:
    """Rows as in an array, a frame or an Arrow table: numbers from 0 to 1, their texts, the first days and seconds.

    >>> made_up(np.array([[20, 1], [31, 0]]))[:3].tolist()
    [[0, 1], [1, 0], [0, 0]]
    """
    if isinstance(data, np.ndarray):
        rows = np.zeros((_ROWS, *data.shape[1:]), data.dtype)
        _fill(rows)
        return rows
    return _table(data)


def _numbers(*shape: int) -> NDArray[np.int64]:
    """From 0 to 6, other ones from row to row and from column to column."""
    columns = np.arange(math.prod(shape[1:]))
    found: NDArray[np.int64] = (np.arange(shape[0])[:, None] ** 2 + 3 * columns).reshape(shape) % 7
    return found


def _fill(rows: NDArray[Any]) -> None:
    """In place; structured rows field by field. What is of no kind here stays as it is."""
    for name in rows.dtype.names or ():
        _fill(rows[name])
    numbers, kind = _numbers(*rows.shape), rows.dtype.kind
    if kind == "f":
        rows[...] = numbers / 6
    elif kind in "biu":
        rows[...] = numbers % 2
    elif kind in "OTUS":
        rows[...] = (numbers % 2).astype(str)
    elif kind in "mM":
        rows[...] = (numbers % 2).astype(rows.dtype)


def _table(data: Any) -> Any:
    """An Arrow table, or a frame made of one, which brings the types of its own library along."""
    import pyarrow as arrow  # an array of NumPy needs none

    try:
        if hasattr(data, "to_frame"):  # one column alone
            return _table(data.to_frame()).iloc[:, 0]
        if hasattr(data, "iloc"):
            found = arrow.Schema.from_pandas(data.iloc[:0], preserve_index=False)
            objects = [field.name for field in found if field.type == arrow.null()]
            texts = [field.with_type(arrow.string()) if field.name in objects else field for field in found]
            return _of(arrow, arrow.schema(texts, found.metadata)).to_pandas().astype(dict.fromkeys(objects, object))
        if hasattr(data, "num_rows"):
            return _of(arrow, data.schema)
        return type(data)(_of(arrow, data.head(0).to_arrow().schema))
    except (arrow.ArrowException, TypeError, ValueError):
        pass
    raise ParameterError("no rows can be made up for columns of these types. Give some as examples.")


def _of(arrow: Any, schema: Any) -> Any:
    return arrow.table([_column(arrow, field.type) for field in schema], schema=schema)


def _column(arrow: Any, kind: Any) -> Any:
    """Numbers, or what the library makes of them; nothing but missing values where it makes nothing of them."""
    numbers = _numbers(_ROWS)
    values = arrow.array(numbers / 6 if arrow.types.is_floating(kind) else numbers % 2)
    for step in (arrow.int64(), arrow.int32(), arrow.string()):  # each is the way to some types
        try:
            return (values if arrow.types.is_floating(kind) else values.cast(step)).cast(kind)
        except arrow.ArrowException:
            continue
    return arrow.nulls(_ROWS, kind)
