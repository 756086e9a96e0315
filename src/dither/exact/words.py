"""Exact numbers as people read them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

__all__ = ["in_words", "rounded"]

_UNREADABLE: Final = 1e15


def in_words(number: Fraction) -> str:
    """The number as a short decimal if it is one, else as a ratio; `rational` reads either back if it is short enough.

    >>> in_words(Fraction(1, 8)), in_words(Fraction(1, 3)), in_words(Fraction(1, 10**6))
    ('0.125', '1/3', '1e-06')
    """
    try:
        shortest = repr(float(number)).removesuffix(".0")
    except OverflowError:
        return str(number)
    return shortest if Fraction(shortest) == number else str(number)


def rounded(number: float, digits: int) -> str:
    """A number for people: so many digits, and all those before the point unless they are too many to read.

    >>> rounded(0.123456, 4), rounded(1234567.8, 4), rounded(1e20, 4)
    ('0.1235', '1,234,568', '1e+20')
    """
    is_long = 10**digits <= abs(number) < _UNREADABLE
    return f"{number:,.0f}" if is_long else f"{number:,.{digits}g}"
