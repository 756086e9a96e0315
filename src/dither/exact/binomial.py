"""Binomial laws: tails in balls, and whole laws in floats whose relative error is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import Ball, ball

__all__ = ["LAW_ERROR", "at_least", "law"]

LAW_ERROR = 2.0**-49
"""What each step of a law may add to its relative error: a quotient, a product and a sum, rounded."""

_LEAST = 1e-290
_BLOCK = 1024


def at_least(count: int, rate: Fraction, least: int) -> Ball:
    """P[X ≥ `least`] of a binomial X: the regularized incomplete beta function I_rate(least, count − least + 1)."""
    if least <= 0 or rate == 1:
        return Ball(1 if least <= count else 0)
    if least > count or not rate:
        return Ball(0)
    return ball(rate).beta_lower(least, count - least + 1, True)


def law(count: int, odds: float, least: float = _LEAST) -> tuple[int, NDArray[np.float64]]:
    """Where a binomial law with `odds` = p/(1 − p) begins to count, and its probabilities from there on.

    What is left out on either side is less than `least` in all. Each probability is off by `LAW_ERROR` times their
    number, relatively, and so is every sum of them, if `odds` is off by an ulp: they are products of quotients, from
    the mode outwards, divided by their sum.

    The quotients fall away from the mode, so what is left out is less than a geometric series.
    """
    mode = min(math.floor((count + 1) * odds / (1 + odds)), count)
    up = _products(lambda k: (count - k) / (k + 1) * odds, mode, count - mode, least)
    down = _products(lambda k: (mode * 2 - k) / (count - (mode * 2 - k) + 1) / odds, mode, mode, least)
    weights = np.concatenate([down[::-1], [1.0], up])
    return mode - len(down), weights / weights.sum()


def _products(
    ratio: Callable[[NDArray[np.float64]], NDArray[np.float64]], start: int, most: int, least: float
) -> NDArray[np.float64]:
    """1·r(start), that times r(start + 1), …: until what remains is less than `least`."""
    found: list[NDArray[np.float64]] = [np.empty(0)]
    last, done, end = 1.0, 0, least * 1e-3 / max(most, 1)
    while done < most and last > end:
        steps = np.arange(start + done, start + min(done + _BLOCK, most), dtype=np.float64)
        block = np.asarray(last * np.cumprod(ratio(steps)), dtype=np.float64)
        found.append(block[block > end])  # smaller floats have fewer digits
        last, done = float(block[-1]), done + len(steps)
    return np.concatenate(found)
