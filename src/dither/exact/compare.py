"""Exact comparison: the tie-breaker of all samplers."""

from __future__ import annotations

from collections.abc import Callable

from dither.errors import PrecisionError
from dither.exact.balls import Real, precision

__all__ = ["is_below", "uniform_is_below"]

_FIRST_PRECISION = 64
_LARGEST_PRECISION = 1 << 16


def is_below(left: Real, right: Real) -> bool:
    """Whether left < right, for two computable reals that differ.

    The precision doubles until the balls part. Equal numbers never part: at 65536 bits this gives up with
    `PrecisionError`, so callers compare only numbers that cannot be equal, or say what they do on a tie.
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
    """Whether U < real, for U uniform in [0, 1) of which the first `prefix_bits` binary digits are known.

    U lies in [prefix, prefix + 1) / 2^prefix_bits. If that interval is on one side of `real`, the answer is known;
    otherwise one more digit of U is drawn and `real` is computed to more bits. The answer is True with probability
    exactly `real` (0 below 0, 1 above 1), as the event U = real has probability 0. Each further digit is needed
    with probability at most one half.
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
