"""The smallest scale that reaches a target: by secant steps on rougher, then on finer lattices.

A scale is returned only if the certified upper bound at that very scale reaches the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from dither.accounting.composition import Composition, compose
from dither.accounting.dominate import Spending
from dither.errors import DitherError
from dither.exact import Number, check, rational
from dither.exact.certified import read_above

__all__ = ["WIDTHS", "Budget", "ProfilePoint", "Uncalibrated", "scale_for"]

WIDTHS = (3e-3, 3e-5, 3e-6)
"""Lattices to search on, from rough to fine: at the last one the upper bound is within about 5e-7 of the truth."""

_OVERSHOOT = 0.18  # of a width: what the upper bound on ε exceeds the truth by, about
_TOLERANCES = (0.03, 0.02, 0.15)  # of a width: how far below the budget a search may end
_EXACT = 1e-11
_STEPS = 60
_LARGEST_SCALE = 1e12


class Uncalibrated(DitherError, ArithmeticError):
    """No scale keeps the budget, or none could be certified."""


class _Target(Protocol):
    """What the noise is to reach."""

    def excess(self, things: Iterable[Spending], width: float) -> float:
        """ln of what is certain over what is allowed: at most 0 if it is certainly reached."""

    def is_closed(self, whole: Composition) -> bool:
        """Whether it is known without a lattice."""


@dataclass(frozen=True)
class Budget:
    """ε at δ is at most `epsilon`."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Number, delta: Number) -> Budget:
        budget = cls(rational(epsilon, "epsilon"), rational(delta, "delta"))
        check.positive(epsilon=budget.epsilon)
        check.probability(delta=budget.delta)
        return budget

    def excess(self, things: Iterable[Spending], width: float) -> float:
        return _excess(compose(things, relative_width=width).upper_epsilon(self.delta), self.epsilon)

    def is_closed(self, whole: Composition) -> bool:
        return whole.is_closed(self.delta)

    def __str__(self) -> str:
        return f"epsilon={float(self.epsilon)} at delta={float(self.delta)}"


@dataclass(frozen=True)
class ProfilePoint:
    """δ at ε is at most `delta`."""

    epsilon: Fraction
    delta: Fraction

    def excess(self, things: Iterable[Spending], width: float) -> float:
        return _excess(compose(things, relative_width=width).upper_delta(self.epsilon), self.delta)

    def is_closed(self, whole: Composition) -> bool:
        return whole.is_closed(Fraction(1, 2))

    def __str__(self) -> str:
        return f"delta={float(self.delta)} at epsilon={float(self.epsilon)}"


def _excess(upper: float, allowed: Fraction) -> float:
    """ln of the upper bound over what is allowed: at most 0 if that is certainly kept."""
    if math.isfinite(upper) and read_above(upper) <= allowed:
        return min(math.log(upper / float(allowed)), 0.0) if upper > 0 else -math.inf
    return max(math.log(upper / float(allowed)), 1e-16)


def scale_for(target: _Target, events_at: Callable[[Fraction], Iterable[Spending]], start: Number = 1) -> float:
    """The smallest scale that reaches the target; never too small."""
    first = rational(start, "start")
    check.positive(start=first)

    def excess(log_scale: float, width: float) -> float:
        if not abs(log_scale - math.log(first)) < math.log(_LARGEST_SCALE):
            raise Uncalibrated(
                f"no scale within a factor of {_LARGEST_SCALE} of start={float(first)} reaches {target}, or every one "
                "does. Allow more, or check that the cost falls with the scale."
            )
        return target.excess(events_at(rational(math.exp(log_scale))), width)

    low, high = _bracket(lambda x: excess(x, WIDTHS[0]), math.log(first))
    slope, at = _slope(low, high), high
    if target.is_closed(compose(events_at(first))):
        return math.exp(_descend(lambda x: excess(x, WIDTHS[0]), at, slope, _EXACT)[0].place)
    for width, finer, tolerance in zip(WIDTHS, (*WIDTHS[1:], WIDTHS[-1]), _TOLERANCES, strict=True):
        at, slope = _descend(lambda x, width=width: excess(x, width), at, slope, tolerance * width)  # type: ignore[misc]
        if finer < width:
            place = at.place + _OVERSHOOT * (width - finer) / slope
            at = _Point(place, excess(place, finer))
    return math.exp(at.place)


class _Point(NamedTuple):
    place: float
    value: float


def _bracket(function: Callable[[float], float], start: float) -> tuple[_Point, _Point]:
    """Two places, a little apart, where a falling function is positive and where it is not."""
    at = _Point(start, function(start))
    stride = 0.5 if at.value > 0 else -0.5
    while True:
        after = _Point(at.place + stride, function(at.place + stride))
        if (after.value > 0) != (at.value > 0):
            return (at, after) if at.value > 0 else (after, at)
        at, stride = after, 1.5 * stride


def _slope(low: _Point, high: _Point) -> float:
    if not (math.isfinite(low.value) and math.isfinite(high.value)):
        return -1.0
    return min((high.value - low.value) / (high.place - low.place), -1e-3)


def _descend(function: Callable[[float], float], at: _Point, slope: float, tolerance: float) -> tuple[_Point, float]:
    """A place where the function is between −tolerance and 0, by secant steps that aim at −tolerance/2.

    Where it jumps there is no such place: then the last one found, next to the jump, at which it is not positive.
    """
    left, right = -math.inf, math.inf  # it is positive at `left`, and not at `right`
    for _ in range(_STEPS):
        if -tolerance <= at.value <= 0:
            return at, slope
        left, right = (max(left, at.place), right) if at.value > 0 else (left, min(right, at.place))
        if right - left <= tolerance / 100:
            break
        stride = (-tolerance / 2 - at.value) / slope if math.isfinite(at.value) else math.copysign(0.5, at.value)
        place = at.place + max(min(stride, 1.0), -1.0)
        if not left < place < right and right - left < math.inf:
            place = (left + right) / 2
        after = _Point(place, function(place))
        if after.place == at.place:
            break
        if math.isfinite(at.value) and math.isfinite(after.value) and abs(after.value - at.value) > tolerance / 100:
            slope = min(max(_slope(at, after), 4 * slope), slope / 4)
        at = after
    if at.value > 0 and right < math.inf:
        at = _Point(right, function(right))
    while at.value > 0:  # what is left is rounding: give up precision, not safety
        at = _Point(at.place + tolerance, function(at.place + tolerance))
    return at, slope
