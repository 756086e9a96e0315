"""Numbers with one meaning: every accepted spelling becomes one exact fraction, every value a built-in one.

A subclass of int may have its own `__add__`, and `value + noise` is then whatever that returns, perhaps without any
noise. So arithmetic is done on exact built-in types only (`plain`), read by the methods of the built-in type and not by
those of the class.
"""

from __future__ import annotations

import numbers
import operator
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from dither.errors import NotANumberError, ParameterError

__all__ = ["Number", "is_unicode", "listed", "plain", "plain_entries", "rational", "relative_rounding", "whole"]

Number: TypeAlias = int | float | str | Fraction | Decimal | np.integer[Any] | np.floating[Any] | SupportsIndex
"""What a parameter may be. Floats mean their shortest decimal: 0.1 is 1/10, not 0x1.999999999999ap-4."""

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RATIO = re.compile(r"[+-]?[0-9]+/[0-9]+")
_LONGEST_TEXT = 400
# Same range as an IEEE double, so that a bound rounded outwards is finite and a positive value stays positive.
_LARGEST_EXPONENT = 308
_LARGEST = 10**_LARGEST_EXPONENT
_SMALLEST = Fraction(1, _LARGEST)
_DTYPE: Any = np.generic.__dict__["dtype"]
_READY = frozenset({int, bool, float, Decimal})
# The slots themselves: a subclass may have properties of the names numerator and denominator.
_numerator_of, _denominator_of = (Fraction.__dict__[name].__get__ for name in ("_numerator", "_denominator"))
_ROUNDING = Fraction(1, 2**40)
_ROUNDINGS = 8  # of a narrow float, such as float32, from the numbers it was computed from
_EXPECTED = "an int, Fraction, Decimal, float or decimal text such as '0.1'"


def rational(value: object, name: str = "value") -> Fraction:
    """Return the one exact number that a value means.

    Parameters
    ----------
    value : object
        An int, Fraction, Decimal, decimal text such as "1e-6" or "1/3", or a float, which means its shortest decimal:
        0.1 is 1/10.
    name : str, default "value"
        The name of the parameter, for messages.

    Returns
    -------
    Fraction
        The number.

    Raises
    ------
    NotANumberError
        For NaN, infinities, booleans, other types, text that is not a decimal, and magnitudes above 1e308 or (unless
        zero) below 1e-308.

    Examples
    --------
    >>> rational(0.1), rational("1e-6"), rational(3)
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(3, 1))
    """
    number = _plain_fraction(value) if type(value) is Fraction else _parse(plain(value), name)
    if abs(number.numerator) <= _LARGEST and number.denominator <= _LARGEST:  # then so is the quotient, and its inverse
        return number
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise NotANumberError(
            f"{name} must be 0 or between 1e-308 and 1e308 in magnitude. Give a number in that range."
        )
    return number


def listed(values: Any, name: str) -> tuple[Any, ...]:
    """Return the values of a list, an array or anything else that is gone through.

    Parameters
    ----------
    values : Any
        The values.
    name : str
        The name of the parameter, for messages.

    Returns
    -------
    tuple
        The values in their order.

    Raises
    ------
    ParameterError
        If there is nothing to go through.

    Examples
    --------
    >>> listed(range(3), "answers")
    (0, 1, 2)
    """
    try:
        return tuple(values)
    except TypeError:
        raise ParameterError(f"{name} must be a list, got the type {type(values).__name__}.") from None


def relative_rounding(values: Iterable[object]) -> Fraction:
    """Bound what numbers that were computed in floats may be off by, as a part of the largest of them.

    Parameters
    ----------
    values : iterable
        The numbers.

    Returns
    -------
    Fraction
        0 if none is a float, 2^-40 for Python's, 8 roundings for a narrower float of NumPy.

    Examples
    --------
    >>> relative_rounding([1, Fraction(1, 3), "0.1"]), relative_rounding([1, 0.5]) == Fraction(1, 2**40)
    (Fraction(0, 1), True)
    """
    kinds = {type(value) for value in values if isinstance(value, float | np.floating)}
    narrow = (_ROUNDINGS * Fraction(float(np.finfo(kind).eps)) for kind in kinds if issubclass(kind, np.floating))
    return max(_ROUNDING, *narrow, _ROUNDING) if kinds else Fraction(0)


def whole(value: object, name: str = "value") -> int:
    """Return the Python integer that a value means.

    Parameters
    ----------
    value : object
        An int, or an integer of NumPy, which would wrap later.
    name : str, default "value"
        The name of the parameter, for messages.

    Returns
    -------
    int
        The integer.

    Raises
    ------
    NotANumberError
        For booleans, floats (even 7.0), text and arrays. The message names the type only, as the value may be data.

    Examples
    --------
    >>> whole(7), whole("7")
    Traceback (most recent call last):
    dither.errors.NotANumberError: value must be a whole number (an int), got the type str.
    """
    if type(value) is int:  # as nearly always, and the question below takes 20 µs
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool | np.bool_ | np.ndarray | np.timedelta64):
        return operator.index(value)
    raise NotANumberError(f"{name} must be a whole number (an int), got the type {type(value).__name__}.")


def _parse(value: object, name: str) -> Fraction:
    if type(value) is Fraction:
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, bool | np.bool_):
        raise NotANumberError(f"{name} must be a number, got the boolean {value}. Expected {_EXPECTED}.")
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, Decimal):
        return _from_text(str(value), name)
    if isinstance(value, float):  # the shortest decimal that reads back as the same float
        return _from_text(float.__repr__(value), name)
    if isinstance(value, np.floating):  # of the same width: float32(0.1) is 1/10 too
        return _from_text(np.format_float_scientific(value, unique=True, trim="-"), name)
    if isinstance(value, np.timedelta64):  # NumPy counts it among the integers
        raise NotANumberError(f"{name} must be {_EXPECTED}, got the type timedelta64.")
    if isinstance(value, numbers.Rational):  # int, Fraction and NumPy integers
        return Fraction(int(value.numerator), int(value.denominator))
    if hasattr(value, "__index__") and not isinstance(value, np.ndarray):
        return Fraction(operator.index(value))
    raise NotANumberError(f"{name} must be {_EXPECTED}, got the type {type(value).__name__}.")


@lru_cache(maxsize=256)
def _from_text(text: str, name: str) -> Fraction:
    text = text.strip()
    if len(text) > _LONGEST_TEXT:
        raise NotANumberError(f"{name} has more than {_LONGEST_TEXT} characters. Give a shorter decimal.")
    if _RATIO.fullmatch(text):
        numerator, denominator = text.split("/")
        if int(denominator) == 0:
            raise NotANumberError(f"{name} must not divide by zero, got {text!r}.")
        return Fraction(int(numerator), int(denominator))
    if not _DECIMAL.fullmatch(text):
        raise NotANumberError(f"{name} must be one finite number, got {text!r}. Expected {_EXPECTED}.")
    # Look at the exponent before building the number: "1e999999999" must cost nothing.
    exponent = text.lower().partition("e")[2] or "0"
    if len(exponent) > 8 or abs(int(exponent)) > _LARGEST_EXPONENT + _LONGEST_TEXT:
        raise NotANumberError(
            f"{name} must be 0 or between 1e-308 and 1e308 in magnitude, got {text!r}. Give a number in that range."
        )
    return Fraction(text)


def plain(value: Any) -> Any:
    """Convert a number or text of a subclass to Python's own type.

    Parameters
    ----------
    value : Any
        The value.

    Returns
    -------
    Any
        The same value as an int, float, Fraction, Decimal or str; all else as it is.

    Examples
    --------
    >>> class Quiet(int):
    ...     def __add__(self, other):
    ...         return int(self)
    >>> Quiet(3) + 5, plain(Quiet(3)) + 5, type(plain(Quiet(3)))
    (3, 8, <class 'int'>)
    """
    if type(value) in _READY:
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Fraction):
        return _plain_fraction(value)
    if isinstance(value, Decimal):
        return Decimal(value)
    if isinstance(value, np.generic) and type(value) is not _DTYPE.__get__(value).type:
        return np.asarray(value)[()]
    return str.__str__(value) if isinstance(value, str) else value


def is_unicode(text: str) -> bool:
    """Test whether a text can be written in UTF-8.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    bool
        False if it holds half of a surrogate pair, which is in no encoding.

    Examples
    --------
    >>> is_unicode("Besançon"), is_unicode("Besan" + chr(0xDCE7) + "on")
    (True, False)
    """
    return not any("\ud800" <= character <= "\udfff" for character in text)


def plain_entries(values: Any) -> Any:
    """Convert the entries of a list, and of lists inside it, to Python's own types.

    NumPy asks each entry of a list which number it is, and an entry may answer with another one than it holds.

    Parameters
    ----------
    values : Any
        A list, or one value.

    Returns
    -------
    Any
        A list with plain entries; of anything else `plain`.
    """
    return [plain_entries(each) for each in values] if isinstance(values, list | tuple) else plain(values)


def _plain_fraction(value: Fraction) -> Fraction:
    parts = _numerator_of(value), _denominator_of(value)
    if type(value) is Fraction and type(parts[0]) is type(parts[1]) is int:
        return value
    if not all(isinstance(part, int) for part in parts):
        raise NotANumberError("a Fraction must be made of two whole numbers. Build it as Fraction(1, 3).")
    numerator, denominator = map(int.__int__, parts)
    return Fraction(numerator, denominator)
