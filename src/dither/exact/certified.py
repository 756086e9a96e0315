"""From a computable real to a float on the safe side."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache

from dither.exact import Ball, Real, ball, precision, upper

__all__ = [
    "above",
    "at_most",
    "below",
    "exactly_above",
    "exactly_below",
    "fraction_above",
    "named",
    "normal_cdf",
    "read_above",
    "refined",
    "sqrt",
]

_FIRST_PRECISION = 128
_LARGEST_PRECISION = 4096
# Enough that outward rounding to a float costs one unit in the last place and no more.
_WANTED_BITS = 64
# Below every positive float: more bits would not change the answer.
_UNDERFLOW = Ball(2) ** -1100


def refined(real: Real) -> Ball:
    """A ball for `real` that is small against its own size, or the best that 4096 bits give."""
    bits = _FIRST_PRECISION
    while True:
        with precision(bits):
            value = real()
            small_enough = value.rel_accuracy_bits() >= _WANTED_BITS or abs(value) < _UNDERFLOW
        if small_enough or bits >= _LARGEST_PRECISION:
            return value
        bits *= 2


def above(real: Real) -> float:
    """A float that is not below `real`, and neither is the shortest decimal that names it.

    The second half matters because a float given as a parameter means its shortest decimal: an answer fed
    back as a parameter must not be smaller than the truth.
    """
    value = refined(real)
    with precision(_FIRST_PRECISION):
        number = upper(value)
        while math.isfinite(number) and not ball(Fraction(repr(number))) >= value:
            number = math.nextafter(number, math.inf)
    return number


def below(real: Real) -> float:
    """A float that is not above `real`, and neither is the shortest decimal that names it."""
    return -above(lambda: -real())


@lru_cache(maxsize=1 << 12)  # searches ask at the same few hundred losses again and again
def exactly_above(value: Fraction) -> float:
    """The smallest float that is not below `value` and whose shortest decimal is not either."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    while math.isfinite(number) and min(Fraction(number), Fraction(repr(number))) < value:
        number = math.nextafter(number, math.inf)
    return number


def exactly_below(value: Fraction) -> float:
    """The largest float that is not above `value` and whose shortest decimal is not either."""
    return -exactly_above(-value)


def named(value: Fraction) -> float:
    """The float that means `value`, its shortest decimal being `value`; if there is none, `exactly_above`.

    For parameters that someone stated: asked back, 1e-6 is 1e-6. That errs by nothing for who reads the float as it
    was written; its binary value may lie below `value` by half a unit in the last place, so what computes with it
    must take it by `rational` or by `read_above`.
    """
    try:
        number = float(value)
    except OverflowError:
        return exactly_above(value)
    return number if Fraction(repr(number)) == value else exactly_above(value)


def read_above(number: float) -> Fraction:
    """What an upper bound bounds is at most this: the larger of what a float is and of what it means."""
    return max(Fraction(number), Fraction(repr(number)))


def fraction_above(real: Real) -> Fraction:
    """A rational of at most 17 digits that is not below `real`."""
    return Fraction(repr(above(real)))


def at_most(real: Real, bound: Fraction) -> bool:
    """Whether `real` ≤ `bound` is certain; False also when it cannot be decided."""
    bits = _FIRST_PRECISION
    while bits <= _LARGEST_PRECISION:
        with precision(bits):
            difference = real() - ball(bound)
            if difference <= 0:
                return True
            if difference > 0:
                return False
        bits *= 2
    return False


def sqrt(square: Fraction) -> Ball:
    """The root of an exact square."""
    return ball(square).sqrt()


def normal_cdf(x: Ball) -> Ball:
    """Φ(x), small far to the left without cancellation."""
    return (-x / Ball(2).sqrt()).erfc() / 2
