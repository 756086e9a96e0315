"""From Rényi divergences to the trade-off curve: which tests a bounded divergence still allows.

A test with type I error a = P(reject) and type II error b = Q(accept) maps (P, Q) to two coins, and no Rényi
divergence grows by that (data processing). So for each order α, with m = α − 1, both

    (1 − b)^α a^{−m} + b^α (1 − a)^{−m} ≤ e^{m·D_α},        a^α (1 − b)^{−m} + (1 − a)^α b^{−m} ≤ e^{m·D_α}

hold for every test. The left sides fall as b grows towards 1 − a. A b that breaks one of them, and every
smaller one, is out of reach: β(a) > b. Floats look for the largest such b and for the inequality that it
breaks; a ball confirms it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dither.exact import Ball, Real, ball
from dither.exact.certified import above, below
from dither.guarantees.renyi_to_delta import Curve, FloatArray

__all__ = ["certified_beta", "out_of_reach"]

_SMALLEST = -744.0
_ZOOMS = (np.exp(np.linspace(-0.7, 0.7, 15)), np.exp(np.linspace(-0.08, 0.08, 9)))
# The first round spreads over all sizes of 1 − a − b or, after a zoom, of the rise of b; later ones are uniform.
_FIRST_SHARES = np.append(np.geomspace(1.0, 1e-14, 31), 0.0)
_NEXT_SHARES = np.concatenate([[1.0], 1.0 - np.geomspace(1e-12, 1.0, 23)])
_SHARES = np.linspace(1.0, 0.0, 24)
_MOST_ORDERS = 8
"""How many orders stay in the search after the first rounds."""


def certified_beta(alpha: Fraction, guess: float, m: Fraction, swapped: bool, log_moment: Real) -> float:
    """A float near `guess` that β(α) certainly exceeds; 0 if none is found."""
    shrink = 2.0**-44
    b = guess
    while 0 < b and shrink < 1:
        b *= 1 - shrink
        if above(lambda b=b: log_moment() - _log_moment(alpha, Fraction(b), m, swapped)) < 0:  # type: ignore[misc]
            return below(lambda b=b: Ball(b))  # type: ignore[misc]
        shrink *= 4
    return 0.0


def _log_moment(a: Fraction, b: Fraction, m: Fraction, swapped: bool) -> Ball:
    """The logarithm of the left side of the first inequality, or of the second if `swapped`."""
    rejects, accepts = (ball(1 - b), ball(b)), (ball(a), ball(1 - a))
    above_, under = (accepts, rejects) if swapped else (rejects, accepts)
    terms = [p * (ball(m) * (p / q).log()).exp() for p, q in zip(above_, under, strict=True)]
    return (terms[0] + terms[1]).log()


def out_of_reach(alpha: Fraction, m: FloatArray, curve: Curve, free_m: bool) -> tuple[float, float, bool]:
    """About the largest b out of reach, the m whose inequality it breaks, and whether that is the second one."""
    log_a, log_rest = (math.log(size.numerator) - math.log(size.denominator) for size in (alpha, 1 - alpha))
    if not log_rest > _SMALLEST:
        return 0.0, float(m[0]), False
    with np.errstate(all="ignore"):
        rounds = 4 if free_m else 7
        log_b, best_m, swapped = _largest_broken(m, curve(m), log_a, log_rest, _SMALLEST, rounds)
        for factors in _ZOOMS if free_m else ():
            near = best_m * factors
            log_b, best_m, swapped = _largest_broken(near, curve(near), log_a, log_rest, log_b, rounds)
    return math.exp(log_b), best_m, swapped


def _largest_broken(
    m: FloatArray, log_c: FloatArray, log_a: float, log_rest: float, least: float, rounds: int
) -> tuple[float, float, bool]:
    """About the largest ln b at which some inequality is broken, its m and its side; at b = 1 − a none is.

    Each round looks at many b at once, keeps the cell in which the last broken one lies, and the best orders.
    """
    low, high, shares = least, log_rest, _FIRST_SHARES if least == _SMALLEST else _NEXT_SHARES
    for done in range(rounds):
        log_b = high - (high - low) * shares
        excess = _excess(m, log_c, log_a, log_rest, log_b).max(axis=0)
        broken = np.flatnonzero(excess.max(axis=1) > 0)
        last = int(broken[-1]) if len(broken) else 0
        low, high, shares = float(log_b[last]), float(log_b[min(last + 1, len(log_b) - 1)]), _SHARES
        if done == 1:
            promising = np.argsort(excess[last])[-_MOST_ORDERS:]
            m, log_c = m[promising], log_c[promising]
    most = int(_excess(m, log_c, log_a, log_rest, np.array([low])).argmax())
    return low, float(m[most % len(m)]), most >= len(m)


def _excess(m: FloatArray, log_c: FloatArray, log_a: float, log_rest: float, log_b: FloatArray) -> FloatArray:
    """By how much each inequality is broken: [first or second, b, order]; positive is broken."""
    log_b = log_b[:, None]
    log_power = np.log(-np.expm1(log_b))
    first = np.logaddexp((1 + m) * log_power - m * log_a, (1 + m) * log_b - m * log_rest)
    second = np.logaddexp((1 + m) * log_a - m * log_power, (1 + m) * log_rest - m * log_b)
    both = np.stack([first, second]) - log_c
    both[np.isnan(both)] = -math.inf
    return both
