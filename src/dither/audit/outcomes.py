"""Whatever a mechanism answers, as rows of numbers.

The rows are post-processing: the same function of the answer for both inputs, fixed before the answers that are counted
are drawn. So nothing here can make a private mechanism look broken; it can only lose what would have shown that one is.

An answer becomes its numbers in order; a list is preceded by its length, and what is no number (a text, a date, None,
no answer) becomes the number of its name. Missing entries are NaN.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "as_rows", "fitted", "is_name", "lowest_bits", "said"]

Rows = NDArray[np.float64]
"""One row for each answer."""

_MOST_ENTRIES = 256
_MOST_NAMES, _MOST_LETTERS = 10_000, 40
_NAMES: dict[float, str] = {}
"""What numbers stand for, for the words of a witness alone."""


def as_rows(answers: Any) -> Rows:
    """One row for each answer: an array of numbers as it is, anything else entry by entry."""
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "biuf":
        flat: Rows = answers.reshape(len(answers), -1)[:, :_MOST_ENTRIES].astype(np.float64)
        return fitted(flat, max(flat.shape[1], 1))
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


def _numbers(answer: Any) -> list[float]:
    if isinstance(answer, bool | np.bool_ | Real | Decimal | Fraction):
        return [_float(answer)]
    if isinstance(answer, str | bytes):
        return [_code(repr(str(answer) if isinstance(answer, str) else bytes(answer)))]  # np.str_("a") is "a"
    if isinstance(answer, Mapping):
        answer = sorted(answer.items(), key=repr)
    if isinstance(answer, set | frozenset):
        answer = sorted(answer, key=repr)
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
        if not isinstance(answer, list):
            return _numbers(answer)
    if isinstance(answer, Sequence):
        parts = [number for part in answer[:_MOST_ENTRIES] for number in _numbers(part)]
        # A tuple is a record of so many parts; the length of a list may tell something.
        return parts if isinstance(answer, tuple) else [float(len(answer)), *parts]
    if is_dataclass(answer) and not isinstance(answer, type):
        return _numbers((type(answer).__name__, *(getattr(answer, field.name) for field in fields(answer))))
    name = repr(answer)
    return [_code(type(answer).__name__ if " at 0x" in name else name)]  # never the place in memory


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float(np.inf if number > 0 else -np.inf)


def _code(name: str) -> float:
    """The same number for the same name in every process, and one that no count comes near."""
    code = -1e9 - zlib.crc32(name.encode())
    if len(_NAMES) < _MOST_NAMES:
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
