"""What columns and frames show, of Arrow, pandas and polars, value by value: no library is asked if they are equal.

None of pandas and polars is loaded here: who returns a frame of theirs has loaded them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from dither.errors import ParameterError

__all__ = ["can_change", "frame_portrait", "is_frame"]

Paint = Callable[[Any], Any]


def is_frame(value: Any) -> bool:
    """Whether it is a column or a frame. (Classes have the methods of their objects, and are none.)"""
    known = (pa.Array, pa.ChunkedArray, pa.Scalar, *_classes("pandas", "DataFrame", "Series", "Index"), *_lazy())
    return isinstance(value, known) or (hasattr(value, "__arrow_c_stream__") and not isinstance(value, type))


def can_change(value: Any) -> bool:
    """Whether it is a frame whose values can be changed in place. Those of Arrow cannot, nor tables of an engine."""
    return isinstance(value, _classes("pandas", "DataFrame", "Series") + _classes("polars", "DataFrame", "Series"))


def frame_portrait(value: Any, paint: Paint, fully: Paint) -> Any:
    """All that it shows. Objects in it are painted by `paint`; values that are made when it is read, `fully`."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return _arrow_column(value, fully)
    if isinstance(value, pa.Scalar):
        return fully([value.type, value.as_py()])
    if isinstance(value, pa.Table | pa.RecordBatch):
        return fully(value.schema), tuple(_arrow_column(each, fully) for each in value.columns)
    if isinstance(value, _classes("pandas", "Index")):
        return _index(value, paint, fully)
    if isinstance(value, _classes("pandas", "DataFrame", "Series")):
        return _of_pandas(value, paint, fully)
    if isinstance(value, _classes("polars", "DataFrame")):
        return tuple(_polars_column(each, paint, fully) for each in value.get_columns())
    if isinstance(value, _classes("polars", "Series")):
        return _polars_column(value, paint, fully)
    if isinstance(value, _lazy()):
        raise ParameterError(
            f"results of the type {type(value).__name__} cannot be compared: they are not read yet. "
            "Let the pipeline return the table itself."
        )
    return frame_portrait(pa.table(value), paint, fully)


def _classes(library: str, *names: str) -> Any:
    """Of a library, if it is loaded."""
    module = sys.modules.get(library)
    return () if module is None else tuple(getattr(module, name) for name in names)


def _lazy() -> Any:
    return (pa.RecordBatchReader, *_classes("polars", "LazyFrame"))


# ------------------------------------------------------------------------- Arrow


def _arrow_column(column: Any, fully: Paint) -> Any:
    """The values, and the names that a coded column has for them: it may know more than it uses."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if pa.types.is_floating(column.type) and not column.null_count:  # their bits, with the sign of a zero
        return fully(column.type), b"".join(each.to_numpy(zero_copy_only=False).tobytes() for each in chunks)
    names = [each.dictionary.to_pylist() for each in chunks] if pa.types.is_dictionary(column.type) else None
    return fully([column.type, column.to_pylist(), names])


# ------------------------------------------------------------------------ pandas


def _of_pandas(value: Any, paint: Paint, fully: Paint) -> Any:
    beside = {name: each for name, each in vars(value).items() if not name.startswith("_")}
    said = paint(value.attrs), paint(beside), value.flags.allows_duplicate_labels, _index(value.index, paint, fully)
    if isinstance(value, _classes("pandas", "Series")):
        return *said, paint(value.name), _pandas_column(value, paint, fully)
    columns = tuple(_pandas_column(value.iloc[:, at], paint, fully) for at in range(value.shape[1]))  # names may repeat
    return *said, _index(value.columns, paint, fully), columns


def _index(index: Any, paint: Paint, fully: Paint) -> Any:
    """With levels that are not used, the ends of a range, and the step of days."""
    names = paint(list(index.names))
    if hasattr(index, "levels"):
        levels = tuple(_index(each, paint, fully) for each in index.levels)
        return names, levels, tuple(np.asarray(each).tobytes() for each in index.codes)
    steps = tuple(str(getattr(index, each, "")) for each in ("start", "stop", "step", "freq"))
    return type(index), names, steps, _pandas_column(index, paint, fully)


def _pandas_column(column: Any, paint: Paint, fully: Paint) -> Any:
    if isinstance(column.dtype, np.dtype):
        return paint(column.to_numpy())
    array = column.array
    if hasattr(array, "categories"):
        return repr(type(column.dtype)), array.ordered, _index(array.categories, paint, fully), array.codes.tobytes()
    return repr(column.dtype), fully(list(array))


# ------------------------------------------------------------------------ polars


def _polars_column(column: Any, paint: Paint, fully: Paint) -> Any:
    """Objects of Python one by one, as Arrow has no columns of them."""
    if column.dtype.is_(sys.modules["polars"].Object):
        return column.name, "objects", paint(column.to_list())
    return column.name, repr(column.dtype), _arrow_column(column.to_arrow(), fully)
