"""Whether two results are equal in everything that is shown: values, types, shapes, names and order."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np
import pyarrow as pa

from dither.errors import ParameterError
from dither.measures import Guarantee
from dither.mechanisms import Release

__all__ = ["is_kept", "kept", "same"]

_OF_THE_RUN = ("entry",)
"""Of a release: its place in the ledger, with the time."""


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit (−0 is not 0); releases by what they show, errors by all that a traceback prints."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, BaseException):
        return _same_errors(left, right)
    if isinstance(left, float):
        return bool(left.hex() == right.hex())
    if isinstance(left, np.ndarray | np.generic):
        return _same_arrays(left, right)
    if isinstance(left, dict):
        return same(list(left), list(right)) and same(list(left.values()), list(right.values()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return same(list(left), list(right))  # the order in which they are shown may depend on how they came in
    if isinstance(left, FunctionType):
        return _same_functions(left, right)
    if hasattr(left, "__arrow_c_stream__") or isinstance(left, pa.Array):
        return _same_columns(left, right)
    if is_dataclass(left):
        return _same_fields(left, right)
    return _equal(left, right)


def _equal(left: Any, right: Any) -> bool:
    """What reads alike too: equal decimals may have more digits. (Guarantees may have no equality of their own.)"""
    try:
        return bool(left == right or left != left or isinstance(left, Guarantee)) and repr(left) == repr(right)
    except (TypeError, ValueError):
        raise ParameterError(
            f"results of the type {type(left).__name__} cannot be compared. "
            "Let the pipeline return numbers, texts, lists, arrays, tables or releases."
        ) from None


def _same_errors(left: BaseException, right: BaseException) -> bool:
    told = [(str(each), each.args, vars(each), _before(each)) for each in (left, right)]
    return same(*told)


def _before(error: BaseException) -> BaseException | None:
    """The error that a traceback shows above this one."""
    return error.__cause__ if error.__suppress_context__ else error.__context__


def _same_arrays(left: Any, right: Any) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return left.tobytes() == right.tobytes() if left.dtype.kind in "biufc" else same(left.tolist(), right.tolist())


def _same_columns(left: Any, right: Any) -> bool:
    """Columns of Arrow, or of anything that gives itself as such (frames of pandas and polars)."""
    if isinstance(left, pa.Array | pa.ChunkedArray):
        left, right = pa.table({"": left}), pa.table({"": right})
    first, second = pa.table(left), pa.table(right)
    if not first.schema.equals(second.schema, check_metadata=True):
        return False
    return all(same(_shown(a), _shown(b)) for a, b in zip(first.columns, second.columns, strict=True))


def _shown(column: pa.ChunkedArray) -> list[Any]:
    """The values, and the names that a coded column has for them: it may know more than it uses."""
    coded = pa.types.is_dictionary(column.type)
    return [column.to_pylist(), [chunk.dictionary.to_pylist() for chunk in column.chunks] if coded else None]


def _same_fields(left: Any, right: Any) -> bool:
    names = [each.name for each in fields(left)]
    if isinstance(left, Release):
        names = [name for name in names if name not in _OF_THE_RUN]
    return all(same(getattr(left, name), getattr(right, name)) for name in names)


def _same_functions(left: FunctionType, right: FunctionType) -> bool:
    """The same code, around the same values: what an interval is computed from, say."""
    held = [
        ([cell.cell_contents for cell in each.__closure__ or ()], each.__defaults__, each.__kwdefaults__)
        for each in (left, right)
    ]
    return left.__code__ is right.__code__ and same(*held)


def kept(data: Any) -> Any:
    """Lists, dictionaries and arrays as they are now; all else as it is."""
    if isinstance(data, list):
        return [kept(each) for each in data]
    if isinstance(data, dict):
        return {name: kept(each) for name, each in data.items()}
    return data.copy() if isinstance(data, np.ndarray) else data


def is_kept(before: Any, data: Any) -> bool:
    """Whether nothing was put into the place of anything since `before = kept(data)`."""
    if isinstance(data, list):
        return len(before) == len(data) and all(map(is_kept, before, data))
    if isinstance(data, dict):
        return list(before) == list(data) and all(map(is_kept, before.values(), data.values()))
    if isinstance(data, np.ndarray):
        return bool(before.shape == data.shape and before.tobytes() == data.tobytes())
    return before is data
