"""Exact numbers as people read them."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["in_words"]


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
