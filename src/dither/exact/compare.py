"""Exact comparison: the tie-breaker of all samplers."""

from __future__ import annotations

from collections.abc import Callable

from dither.errors import PrecisionError
from dither.exact.balls import Real, precision

__all__ = ["is_below", "uniform_is_below"]

_FIRST_PRECISION = 64
_LARGEST_PRECISION = 1 << 16


def is_below(left: Real, right: Real) -> bool:
    """Decide whether left < right, for two computable reals that differ.

    The precision doubles until the balls part. Equal numbers never part, so compare only numbers that cannot be equal.

    Parameters
    ----------
    left : Real
        A function that returns a ball around the number, smaller as the working precision grows.
    right : Real
        The other number, in the same form.

    Returns
    -------
    bool
        Whether the first is smaller.

    Raises
    ------
    PrecisionError
        If they cannot be distinguished at 65,536 bits.
    """
    bits = _FIRST_PRECISION
    while bits <= _LARGEST_PRECISION:
        with precision(bits):
            a, b = left(), right()
            if a < b:
                return True
            if a > b:
                return False
        bits *= 2
    raise PrecisionError("two numbers are equal or differ by less than 2^-65536; compare numbers that differ")


def uniform_is_below(real: Real, prefix: int, prefix_bits: int, next_bit: Callable[[], int]) -> bool:
    """Decide whether U < real, for a uniform U of which the first binary digits are known.

    If the interval of U is on one side of `real`, the answer is known; otherwise one more digit is drawn and `real` is
    computed to more bits. Each further digit is needed with probability at most one half.

    Parameters
    ----------
    real : Real
        A computable real number.
    prefix : int
        The digits of U that are known, as an integer.
    prefix_bits : int
        Their number: U lies in [prefix, prefix + 1) / 2^prefix_bits.
    next_bit : callable
        Draws the next digit of U.

    Returns
    -------
    bool
        True with probability exactly `real` (0 below 0, 1 above 1), as the event U = real has probability 0.
    """
    while True:
        with precision(prefix_bits + _FIRST_PRECISION):
            scaled = real() * (1 << prefix_bits)
            if scaled >= prefix + 1:
                return True
            if scaled <= prefix:
                return False
        prefix = 2 * prefix + next_bit()
        prefix_bits += 1
