"""Whether two results are equal in everything that is shown: values, types, shapes, names and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["is_kept", "kept", "same"]


def same(left: Any, right: Any) -> bool:
    """Equal, NaN to NaN; releases by what they show, errors by their type and message."""
    if type(left) is not type(right):
        return False
    if isinstance(left, BaseException):
        return str(left) == str(right)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and same(left.tolist(), right.tolist())
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if hasattr(left, "event") and hasattr(left, "guarantee") and hasattr(left, "value"):
        return _same_facts(left, right) and same(left.value, right.value)
    if isinstance(left, pa.Table):
        return bool(left.schema.equals(right.schema)) and same(left.to_pydict(), right.to_pydict())
    if isinstance(left, pa.Array):
        return bool(left.type == right.type) and same(left.to_pylist(), right.to_pylist())
    return bool(left == right or (left != left and right != right))


def _same_facts(left: Any, right: Any) -> bool:
    """What a release says of itself. (Guarantees without an equality of their own are equal if they read alike.)"""
    costs = [(getattr(left, name), getattr(right, name)) for name in ("event", "guarantee")]
    told = [(getattr(left, name, None), getattr(right, name, None)) for name in ("split", "found", "covers")]
    return all(a == b or repr(a) == repr(b) for a, b in costs) and all(same(a, b) for a, b in told)


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
