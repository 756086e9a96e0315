"""Columns of Arrow from texts and whole numbers, and back to NumPy, straight from their memory.

pyarrow loads pandas whenever it converts an object of Python or NumPy, which takes longer than to plan a question. What
is made and read here has the same types and values, without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["column_of", "column_of_wholes"]

_MOST_BYTES = (1 << 31) - 1
"""Texts of Arrow have offsets of 32 bits."""


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


def column_of_wholes(values: NDArray[np.int64]) -> pa.Array:
    """`pa.array(values)` of 64-bit integers, which share their memory.

    >>> column_of_wholes(np.array([3, 1])).to_pylist()
    [3, 1]
    """
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
