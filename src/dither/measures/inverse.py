"""The smallest ε with δ(ε) ≤ δ, for a decreasing profile that is known as a ball."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dither.exact import Ball, ball

__all__ = ["root_bracket"]

_LARGEST_EPSILON = 2.0**1000
_TRIES = 60


def root_bracket(profile: Callable[[Ball], Ball], delta: Fraction, top: float) -> tuple[float, float]:
    """Floats lo ≤ ε* ≤ hi around ε* = min {ε ≥ 0 : δ(ε) ≤ delta}, at the caller's working precision.

    δ(ε) must not increase, and be 0 from `top` on (which may be infinite). The root of ln δ(ε) − ln δ is found by
    the Illinois method, which only guesses; then both ends move outwards until a ball certifies them.
    """
    goal = ball(delta)

    def is_enough(epsilon: float) -> bool:
        return epsilon >= top or bool(profile(Ball(epsilon)) <= goal)

    def is_too_small(epsilon: float) -> bool:
        return bool(profile(Ball(epsilon)) > goal)

    if is_enough(0.0):
        return 0.0, 0.0
    guess = top if not delta else _guess(profile, goal, top)
    return _outwards(guess, -1, is_too_small), _outwards(guess, +1, is_enough)


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


def _guess(profile: Callable[[Ball], Ball], goal: Ball, top: float) -> float:
    def excess(epsilon: float) -> float:
        value = profile(Ball(epsilon))
        return float((value / goal).log().mid()) if value > 0 else -math.inf

    low, high = 0.0, min(1.0, top)
    at_low, at_high = excess(low), excess(high)
    while at_high > 0:
        if high >= min(top, _LARGEST_EPSILON):
            return high
        low, at_low = high, at_high
        high = min(2 * high, top)
        at_high = excess(high)
    return _illinois(excess, low, high, at_low, at_high)


def _illinois(function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float) -> float:
    """A root of a decreasing function between low (positive value) and high (negative, perhaps −∞)."""
    for _ in range(100):
        if high - low <= 2.0**-51 * high:
            break
        middle = (low + high) / 2
        if math.isfinite(at_high):
            middle = low + (high - low) * at_low / (at_low - at_high)
        if not low < middle < high:
            break
        value = function(middle)
        if abs(value) < 2.0**-49:
            return middle
        if value > 0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return (low + high) / 2
