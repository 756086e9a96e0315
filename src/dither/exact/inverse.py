"""The smallest ε with δ(ε) ≤ δ, for a decreasing profile that is known as a ball."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dither.exact import Ball, ball, precision

__all__ = ["root_bracket"]

_LARGEST_EPSILON = 2.0**1000
_TRIES = 60
_GUESSING = 72
_CLOSE = 2.0**-40
_NEAR = 2.0**-34


def root_bracket(
    profile: Callable[[Ball], Ball], delta: Fraction, top: float, near: float | None = None
) -> tuple[float, float]:
    """Floats lo ≤ ε* ≤ hi around ε* = min {ε ≥ 0 : δ(ε) ≤ delta}, at the caller's working precision.

    δ(ε) must not increase, and be 0 from `top` on (which may be infinite). The root of ln δ(ε) − ln δ is found by
    the secant method, which only guesses; then both ends move outwards until a ball certifies them. A good guess,
    `near`, makes it quick; a bad one does no harm.
    """
    goal = ball(delta)

    def is_enough(epsilon: float) -> bool:
        return epsilon >= top or bool(profile(Ball(epsilon)) <= goal)

    def is_too_small(epsilon: float) -> bool:
        return bool(profile(Ball(epsilon)) > goal)

    if is_enough(0.0):
        return 0.0, 0.0
    with precision(_GUESSING):
        guess = top if not delta else _guess(profile, ball(delta), top, near)
    low, high = _outwards(guess, -1, is_too_small), _outwards(guess, +1, is_enough)
    # At a sharp bend of the profile the guess may be poor: close the gap by halving.
    while high - low > _CLOSE * high and math.isfinite(high):
        middle = (low + high) / 2
        if not low < middle < high:  # neighbours, at the very end of the floats
            break
        if is_enough(middle):
            high = middle
        elif is_too_small(middle):
            low = middle
        else:
            break
    return low, high


def _outwards(guess: float, direction: int, holds: Callable[[float], bool]) -> float:
    step = abs(guess) * 2.0**-52
    for _ in range(_TRIES):
        if holds(guess):
            return guess
        guess += direction * step
        if guess <= 0:
            return 0.0
        step *= 2
    return math.inf if direction > 0 else 0.0


def _guess(profile: Callable[[Ball], Ball], goal: Ball, top: float, near: float | None) -> float:
    def excess(epsilon: float) -> float:
        value = profile(Ball(epsilon))
        return float((value / goal).log().mid()) if value > 0 else -math.inf

    if near is not None and 0 < near < min(top, _LARGEST_EPSILON):
        low, high = near * (1 - _NEAR), near * (1 + _NEAR)
        at_low, at_high = excess(low), excess(high)
        if at_low > 0 >= at_high > -math.inf:
            return low + (high - low) * at_low / (at_low - at_high)
    low, high = 0.0, min(1.0, top)
    at_low, at_high = excess(low), excess(high)
    while at_high > 0:
        if high >= min(top, _LARGEST_EPSILON):
            return high
        low, at_low = high, at_high
        high = min(4 * high, top)
        at_high = excess(high)
    return _secant(excess, low, high, at_low, at_high)


def _secant(function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float) -> float:
    """A root of a decreasing function between low (positive value) and high (negative, perhaps −∞).

    Secant steps, replaced by halving where they leave the bracket. The last step is not checked again: its error
    is about the product of the last two.
    """
    before, at_before, last, at_last = low, at_low, high, at_high
    for _ in range(200):
        middle = (low + high) / 2
        if math.isfinite(at_before) and math.isfinite(at_last) and at_before != at_last:
            middle = last - at_last * (last - before) / (at_last - at_before)
            if abs(middle - last) <= 2.0**-36 * abs(middle):
                return min(max(middle, low), high)
        if not low < middle < high:
            middle = (low + high) / 2
        if high - low <= 2.0**-36 * high or not low < middle < high:
            return middle
        before, at_before, last, at_last = last, at_last, middle, function(middle)
        if at_last > 0:
            low = middle
        else:
            high = middle
    return high
