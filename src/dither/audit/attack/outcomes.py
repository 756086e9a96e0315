"""Whatever a mechanism answers, as rows of numbers.

The rows are post-processing: the same function of the answer for both inputs, fixed before the answers that are counted
are drawn, whatever the other answers of a batch are. So nothing here can make a private mechanism look broken; it can
only lose what would have shown that one is.

An answer becomes its numbers in order; a list is preceded by its length, and what is no number (a text, a date, None,
no answer) becomes the number of its name. Tables, series and what can be gone through once are read as lists, objects
that say nothing of themselves as their attributes. Missing entries are NaN.

What this would lose is added. A whole number beyond 2^53 is followed by its binary digits, 48 at a time, whether it
comes as an integer or as a float: in an array it is a float if any other answer is one. A longer text is followed by
its length, its letters and its words (`texts`). At the end stands a name for how the numbers would be printed, 3 or 3.0
or True, and for the order of keys, unless all of it follows from the numbers. (A type of NumPy is that of Python which
is printed alike; for an array nothing is known, as its type depends on all answers in it.)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from numbers import Complex, Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.text_readings import parts_of

__all__ = ["Rows", "are_names", "as_rows", "fitted", "is_name", "lowest_bits", "said"]

Rows = NDArray[np.float64]
"""One row for each answer."""

_MOST_ENTRIES = 256
_EXACT, _LIMB, _MOST_LIMBS = 2**53, 48, 6
_DEEPEST = 16
"""Of lists in lists. What is below is not looked at."""
_AS_LISTS = ("to_pylist", "tolist", "to_list", "to_dict")
"""How arrays, series and tables of Arrow, NumPy, pandas and Polars give their values."""
_FIRST_NAME = -1e9
_MOST_NAMES, _MOST_LETTERS = 10_000, 40
_NAMES: dict[float, str] = {}
"""What numbers stand for, for the words of a witness alone."""


def as_rows(answers: Any) -> Rows:
    """One row for each answer: an array of numbers as it is, anything else entry by entry.

    Whether an array holds numbers or objects depends on all of its answers; so a row of it is a record in both cases.
    """
    if isinstance(answers, np.ma.MaskedArray):
        answers = np.ma.filled(answers.astype(object), None)
    is_array = isinstance(answers, np.ndarray)
    if is_array and answers.dtype.kind in "biuf" and not _are_long(answers):
        flat: Rows = answers.reshape(len(answers), -1)[:, :_MOST_ENTRIES].astype(np.float64)
        return fitted(flat, max(flat.shape[1], 1))
    if is_array and (answers.ndim > 1 or answers.dtype.kind in "iuf"):
        answers = [tuple(row.ravel()[:_MOST_ENTRIES].tolist()) for row in answers.reshape(len(answers), -1)]
    rows = [_numbers(answer)[:_MOST_ENTRIES] if is_array else _row(answer) for answer in answers]
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


def _are_long(numbers: NDArray[Any]) -> bool:
    """Whether some numbers of an array are whole ones beyond 2^53; all floats of that magnitude are whole."""
    if numbers.dtype.kind == "b" or not numbers.size:
        return False
    if numbers.dtype.kind == "f":
        return bool((np.isfinite(numbers) & (np.abs(numbers) > _EXACT)).any())
    return max(-int(numbers.min()), int(numbers.max())) > _EXACT


def _row(answer: Any) -> list[float]:
    """The numbers of an answer, and a name for what they leave out."""
    left_out: list[str] = []
    numbers = _numbers(answer, left_out)[: _MOST_ENTRIES - 1]
    return [*numbers, _code(f"written as {' '.join(left_out)}")] if any(left_out) else numbers


def _numbers(answer: Any, left_out: list[str] | None = None, depth: int = 0) -> list[float]:
    """What is read off an answer. Of each number, `left_out` gets how it is printed: nothing, where that is usual."""
    left_out = [] if left_out is None else left_out
    if isinstance(answer, np.datetime64 | np.timedelta64):  # the latter is a number to Python
        return [_code(repr(answer))]
    if isinstance(answer, bool | np.bool_ | Real | Decimal | Fraction):
        number = _float(answer)
        left_out.append(_printed(answer, number))
        return [number, *_digits(answer)]
    if isinstance(answer, Complex):
        shown = (answer.real, answer.imag) if answer.imag != 0 else (answer.real,)
        return [number for part in shown for number in (_float(part), *_digits(part))]
    if isinstance(answer, str | bytes):
        # np.str_("a") is "a".
        text = str(answer) if isinstance(answer, str) else bytes(answer)
        return [
            _code(repr(text)),
            *(each if isinstance(each, float) else _code(each) for each in parts_of(text, depth)),
        ]
    if depth == _DEEPEST:
        return []
    if isinstance(answer, Mapping):
        return _items(answer, left_out, depth)
    parts = _parts(answer)
    if parts is None:
        return [_code(repr(answer))]
    numbers = [number for part in islice(parts, _MOST_ENTRIES) for number in _numbers(part, left_out, depth + 1)]
    # A tuple is a record of so many parts; the length of a list may tell something.
    return numbers if isinstance(parts, tuple) else [float(len(parts)), *numbers]


def _items(answer: Mapping[Any, Any], left_out: list[str], depth: int) -> list[float]:
    """Keys and values in an order that depends on them alone; the order that they came in is left out."""
    items = list(islice(answer.items(), _MOST_ENTRIES))
    order = sorted(range(len(items)), key=lambda place: _order(items[place]))
    if order != sorted(order):
        left_out.append(f"keys in the order {order}")
    numbers = [float(len(answer))]
    for place in order:
        key, value = items[place]
        numbers += [_code(repr(key))] if isinstance(key, str | bytes) else _numbers(key, left_out, depth + 1)
        numbers += _numbers(value, left_out, depth + 1)
    return numbers


def _printed(answer: Any, number: float) -> str:
    """The type of a number as its print shows it; nothing for 3 and 2.5, which are what they look like."""
    if isinstance(answer, bool | np.bool_):
        return "bool"
    if isinstance(answer, Integral):
        return ""
    if isinstance(answer, float | np.floating):
        return "float" if number.is_integer() else ""
    if isinstance(answer, Decimal):
        return f"Decimal with {answer.as_tuple().exponent}"
    return type(answer).__name__


def _digits(answer: Any) -> list[float]:
    """The binary digits of a whole number beyond 2^53, the lowest 48 first. They depend on its value alone."""
    is_whole = isinstance(answer, Integral) or (isinstance(answer, float | np.floating) and np.isfinite(answer))
    if not is_whole or not abs(answer) > _EXACT:
        return []
    whole = int(answer)
    limbs = min(-(-whole.bit_length() // _LIMB), _MOST_LIMBS)
    return [float(whole >> _LIMB * limb & (1 << _LIMB) - 1) for limb in range(limbs)]


def _parts(answer: Any) -> Sequence[Any] | None:
    """What an answer is made of, in an order that depends on it alone; None if its own words say it."""
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
    code = _FIRST_NAME - zlib.crc32(name.encode())
    if code not in _NAMES:
        if len(_NAMES) == _MOST_NAMES:
            del _NAMES[next(iter(_NAMES))]  # the oldest, perhaps of another audit
        _NAMES[code] = name if len(name) <= _MOST_LETTERS else f"{name[:_MOST_LETTERS]}…"
    return code


def is_name(number: float) -> bool:
    """Whether a number stands for a name: then its order says nothing."""
    return number in _NAMES


def are_names(numbers: NDArray[np.float64]) -> bool:
    """Whether all numbers that there are may stand for names."""
    known = numbers[~np.isnan(numbers)]
    return bool(len(known)) and bool(((known <= _FIRST_NAME) & (known >= _FIRST_NAME - 2.0**32)).all())


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
