"""Whatever a mechanism answers, as rows of numbers.

The rows are post-processing: the same function of the answer for both inputs, fixed before the answers that are counted
are drawn, whatever the other answers of a batch are. So nothing here can make a private mechanism look broken; it can
only lose what would have shown that one is.

An answer becomes its numbers in order; a list is preceded by its length, and what is no number (a text, a date, None,
no answer) becomes the number of its name. Tables, series and what can be gone through once are read as lists, objects
that say nothing of themselves as their attributes. Missing entries are NaN.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from numbers import Complex, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "as_rows", "fitted", "is_name", "lowest_bits", "said"]

Rows = NDArray[np.float64]
"""One row for each answer."""

_MOST_ENTRIES = 256
_DEEPEST = 16
"""Of lists in lists. What is below is not looked at."""
_AS_LISTS = ("to_pylist", "tolist", "to_list", "to_dict")
"""How arrays, series and tables of Arrow, NumPy, pandas and Polars give their values."""
_MOST_NAMES, _MOST_LETTERS = 10_000, 40
_NAMES: dict[float, str] = {}
"""What numbers stand for, for the words of a witness alone."""


def as_rows(answers: Any) -> Rows:
    """One row for each answer: an array of numbers as it is, anything else entry by entry.

    Whether an array holds numbers or objects depends on all of its answers; so a row of it is a record in both cases.
    """
    if isinstance(answers, np.ma.MaskedArray):
        answers = np.ma.filled(answers.astype(object), None)
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "biuf":
        flat: Rows = answers.reshape(len(answers), -1)[:, :_MOST_ENTRIES].astype(np.float64)
        return fitted(flat, max(flat.shape[1], 1))
    if isinstance(answers, np.ndarray) and answers.ndim > 1:
        answers = [tuple(row.ravel()[:_MOST_ENTRIES].tolist()) for row in answers]
    rows = [_numbers(answer)[:_MOST_ENTRIES] for answer in answers]
    width = max((len(row) for row in rows), default=1) or 1
    found = np.full((len(rows), width), np.nan)
    for row, numbers in zip(found, rows, strict=True):
        row[: len(numbers)] = numbers
    return found


def fitted(rows: Rows, width: int) -> Rows:
    """The rows with exactly this many entries."""
    if rows.shape[1] >= width:
        return rows[:, :width]
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.nan)


def _numbers(answer: Any, depth: int = 0) -> list[float]:
    if isinstance(answer, np.datetime64 | np.timedelta64):  # the latter is a number to Python
        return [_code(repr(answer))]
    if isinstance(answer, bool | np.bool_ | Real | Decimal | Fraction):
        return [_float(answer)]
    if isinstance(answer, Complex):
        return [_float(part) for part in ((answer.real, answer.imag) if answer.imag != 0 else (answer.real,))]
    if isinstance(answer, str | bytes):
        return [_code(repr(str(answer) if isinstance(answer, str) else bytes(answer)))]  # np.str_("a") is "a"
    if depth == _DEEPEST:
        return []
    parts = _parts(answer)
    if parts is None:
        return [_code(repr(answer))]
    numbers = [number for part in islice(parts, _MOST_ENTRIES) for number in _numbers(part, depth + 1)]
    # A tuple is a record of so many parts; the length of a list may tell something.
    return numbers if isinstance(parts, tuple) else [float(len(parts)), *numbers]


def _parts(answer: Any) -> Sequence[Any] | None:
    """What an answer is made of, in an order that depends on it alone; None if its own words say it."""
    if isinstance(answer, Mapping):
        return sorted(answer.items(), key=_order)
    if isinstance(answer, set | frozenset):
        return sorted(answer, key=_order)
    for method in _AS_LISTS:
        if not isinstance(answer, type) and callable(getattr(answer, method, None)):
            listed = getattr(answer, method)()
            return listed if isinstance(listed, list) else (listed,)
    if isinstance(answer, Iterator):
        return list(islice(answer, _MOST_ENTRIES))
    if isinstance(answer, Sequence):
        return answer
    if is_dataclass(answer) and not isinstance(answer, type):
        return (type(answer).__name__, *(getattr(answer, field.name) for field in fields(answer)))
    if " at 0x" not in repr(answer):
        return None
    return (type(answer).__name__, *getattr(answer, "__dict__", {}).items())  # never the place in memory


def _order(part: Any) -> list[tuple[bool, float]]:
    """Parts in one order whatever they are: that of their numbers. Those with the same numbers are the same here."""
    return [(number != number, number) for number in _numbers(part)]


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float(np.inf if number > 0 else -np.inf)
    except (TypeError, ValueError):  # such as a NaN that signals
        return float(np.nan)


def _code(name: str) -> float:
    """The same number for the same name in every process, and one that no count comes near."""
    code = -1e9 - zlib.crc32(name.encode())
    if code not in _NAMES:
        if len(_NAMES) == _MOST_NAMES:
            del _NAMES[next(iter(_NAMES))]  # the oldest, perhaps of another audit
        _NAMES[code] = name if len(name) <= _MOST_LETTERS else f"{name[:_MOST_LETTERS]}…"
    return code


def is_name(number: float) -> bool:
    """Whether a number stands for a name: then its order says nothing."""
    return number in _NAMES


def said(number: float) -> str:
    """A number of a row in words: the name that it stands for, or itself.

    >>> said(_code("'yes'")), said(0.5)
    ("'yes'", '0.5')
    """
    return _NAMES.get(number, f"{number:g}")


def lowest_bits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponent k of the finest grid 2^k ℤ that holds each number; NaN for 0 and for what is not finite.

    >>> lowest_bits(np.array([1.0, 0.75, 12.0, 0.0]))
    array([ 0., -2.,  2., nan])
    """
    is_real = np.isfinite(numbers) & (numbers != 0)
    fraction, exponent = np.frexp(np.where(is_real, numbers, 1.0))
    digits = np.abs(fraction * 2.0**53).astype(np.int64)
    trailing = np.log2((digits & -digits).astype(np.float64))
    return np.where(is_real, exponent - 53 + trailing, np.nan)
