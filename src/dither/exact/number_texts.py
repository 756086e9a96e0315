"""Exact numbers as people read them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Final

__all__ = ["in_percent", "in_words", "rounded"]

_UNREADABLE: Final = 1e15


def in_words(number: Fraction) -> str:
    """Write an exact number as people read it.

    Parameters
    ----------
    number : Fraction
        The number.

    Returns
    -------
    str
        A short decimal if it is one, else a ratio; `rational` reads either back if it is short enough.

    Examples
    --------
    >>> in_words(Fraction(1, 8)), in_words(Fraction(1, 3)), in_words(Fraction(1, 10**6))
    ('0.125', '1/3', '1e-06')
    """
    try:
        shortest = repr(float(number)).removesuffix(".0")
    except OverflowError:
        return str(number)
    return shortest if Fraction(shortest) == number else str(number)


def rounded(number: float, digits: int) -> str:
    """Write a float as people read it.

    Parameters
    ----------
    number : float
        The number.
    digits : int
        How many significant digits.

    Returns
    -------
    str
        So many digits, and all those before the point unless they are too many to read.

    Examples
    --------
    >>> rounded(0.123456, 4), rounded(1234567.8, 4), rounded(1e20, 4)
    ('0.1235', '1,234,568', '1e+20')
    """
    is_long = 10**digits <= abs(number) < _UNREADABLE
    return f"{number:,.0f}" if is_long else f"{number:,.{digits}g}"


def in_percent(part: float) -> str:
    """Write a bound on a share in percent: four digits, rounded up, so that what is shown is never below the bound.

    Parameters
    ----------
    part : float
        The share, 0 to 1.

    Returns
    -------
    str
        The share in percent.

    Examples
    --------
    >>> in_percent(0.5), in_percent(0.73105857863)
    ('50 %', '73.11 %')
    """
    digits = Context(prec=4, rounding=ROUND_CEILING)
    return f"{digits.multiply(Decimal(repr(part)), Decimal(100)).normalize():f} %"
