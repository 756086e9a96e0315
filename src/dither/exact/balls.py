"""Real numbers as balls: midpoint ± radius, certain to contain the number (python-flint's `arb`).

A ball is right at any working precision; more bits only make it smaller. A number leaves this package as a float
in one of two directions: `lower` never above the truth, `upper` never below it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from types import TracebackType
from typing import TypeAlias

from flint import arb, ctx, fmpq

__all__ = ["Ball", "Real", "ball", "lower", "precision", "upper"]

Ball = arb
"""A real number known to lie in midpoint ± radius."""

Real: TypeAlias = Callable[[], Ball]
"""A computable real: each call gives a ball that contains it, smaller as the working precision grows."""

_flint_precision = threading.RLock()
_USUAL_PRECISION = 53


class precision:  # noqa: N801  (used like a function: with precision(128): ...)
    """Work with at least so many bits of precision inside a ``with`` block.

    Flint keeps one precision per process, so the block holds a lock: a second thread cannot lower it meanwhile.

    Parameters
    ----------
    bits : int
        The precision. A block inside another never lowers it.
    """

    __slots__ = ("_before", "_bits", "_lock")

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._before = 0

    def __enter__(self) -> None:
        self._lock = _flint_precision
        self._lock.acquire()
        self._before = ctx.prec
        ctx.prec = max(self._before, self._bits)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ctx.prec = self._before
        self._lock.release()


def ball(value: Fraction | int) -> Ball:
    """Convert an exact number to a ball that contains it.

    Parameters
    ----------
    value : Fraction or int
        The number.

    Returns
    -------
    Ball
        The number rounded to the working precision, with that rounding as radius.
    """
    if isinstance(value, int):
        return arb(value)
    return arb(fmpq(value.numerator, value.denominator))


def lower(number: Ball) -> float:
    """Round a ball down to a float.

    Parameters
    ----------
    number : Ball
        A ball around a real number.

    Returns
    -------
    float
        A float that is not above the number: the largest such float, given an exact number; −inf if unknown.
    """
    if not number.is_finite():
        return -math.inf
    end = number.lower()
    nearest = float(end)
    # A float becomes a ball without rounding, and two exact balls are compared without rounding.
    while nearest == math.inf or (nearest != -math.inf and not arb(nearest) <= end):
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


def upper(number: Ball) -> float:
    """Round a ball up to a float.

    Parameters
    ----------
    number : Ball
        A ball around a real number.

    Returns
    -------
    float
        A float that is not below the number: the smallest such float, given an exact number; +inf if unknown.
    """
    if not number.is_finite():
        return math.inf
    end = number.upper()
    nearest = float(end)
    while nearest == -math.inf or (nearest != math.inf and not arb(nearest) >= end):
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def _unlock_after_fork() -> None:
    """In a forked child: a lock that another thread held at the fork would never be released, so it is replaced."""
    global _flint_precision
    if _flint_precision.acquire(blocking=False):
        _flint_precision.release()
    else:
        _flint_precision = threading.RLock()
        ctx.prec = _USUAL_PRECISION


os.register_at_fork(after_in_child=_unlock_after_fork)
