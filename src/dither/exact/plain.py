"""Built-in numbers and texts: what a user gives becomes one of them before noise is added to it.

A subclass of int may have its own `__add__`, and `value + noise` is then whatever that returns, perhaps without any
noise. So arithmetic is done on exact built-in types only, read by the methods of the built-in type and not by those of
the class.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import NotANumberError

__all__ = ["is_unicode", "plain", "plain_entries"]

_DTYPE: Any = np.generic.__dict__["dtype"]
_READY = frozenset({int, bool, float, Decimal})


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
    # The slots themselves: a subclass may have properties of the names numerator and denominator.
    parts = [Fraction.__dict__[name].__get__(value) for name in ("_numerator", "_denominator")]
    if type(value) is Fraction and type(parts[0]) is type(parts[1]) is int:
        return value
    if not all(isinstance(part, int) for part in parts):
        raise NotANumberError("a Fraction must be made of two whole numbers. Build it as Fraction(1, 3).")
    numerator, denominator = map(int.__int__, parts)
    return Fraction(numerator, denominator)
