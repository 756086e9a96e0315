"""Textbook laws on the integers, summed the slow way: what `dither.noise` is compared with."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

from dither.exact import Ball, ball, precision
from dither.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Geometric,
    Gumbel,
    Law,
    PowerLaw,
    Steepest,
    StudentT,
)

BITS = 256


def weight(law: Law, x: int) -> Ball:
    """P[X = x] up to a constant, straight from the definition."""
    with precision(BITS):
        match law:
            case Geometric():
                return ball(-x / law.scale).exp() if x >= 0 else ball(0)
            case DiscreteLaplace():
                return ball(-abs(x) / law.scale).exp()
            case DiscreteGaussian():
                return ball(Fraction(-x * x) / (2 * law.variance)).exp()
            case PowerLaw():
                return 1 / (1 + ball(abs(x) / law.scale) ** ball(law.gamma)) if x else ball(1)
            case StudentT():
                return ball(1 + (x / law.scale) ** 2 / law.degrees) ** ball(-(law.degrees + 1) / 2)
            case Steepest():
                return _steep(abs(x) / law.scale, law.index)
            case Gumbel():
                with precision(BITS + int(4 * abs(x) / law.scale)):  # as much as cancels
                    return _gumbel_below(law, x + 1) - _gumbel_below(law, x)
            case DiscreteStaircase():
                return ball(-law.epsilon * _stair(law, abs(x))).exp()
    raise NotImplementedError(law)


def _gumbel_below(law: Gumbel, x: int) -> Ball:
    return (-(ball(-x / law.scale).exp())).exp()


def _steep(w: Fraction, a: int) -> Ball:
    """Rational to the last step, as a is whole."""
    if w <= Fraction(1, a):
        return ball((1 - w) ** (a - 1))
    meet = Fraction(1, a)
    return ball((1 - meet) ** (a - 1) * ((1 + meet) / (1 + w)) ** (a + 1))


def _stair(law: DiscreteStaircase, distance: int) -> int:
    """One stair down in each period Δ, at `step` inside it."""
    periods, place = divmod(distance, law.sensitivity)
    return periods + (place >= law.step)


def tail(law: Law, first: int) -> Ball:
    """Σ weight(x) over x ≥ first > 0: term by term, and for powers the rest from Hurwitz's zeta function."""
    with precision(BITS):
        match law:
            case PowerLaw():
                return _power_tail(law, first, ball(law.scale), law.gamma, Fraction(1))
            case StudentT():
                core = ball(law.scale) * ball(law.degrees).sqrt()
                return _power_tail(law, first, core, Fraction(2), (law.degrees + 1) / 2)
            case Steepest():
                far = ball(_meeting(law.index))
                return _power_tail(law, first, ball(law.scale), Fraction(1), Fraction(law.index + 1), far)
        total = ball(0)
        for x in count(first):
            term = weight(law, x)
            total += term
            # These laws fall faster than a geometric series once two terms have the ratio that is seen here.
            if x > first + 4 and term < total * ball(2) ** -160:
                return total
    raise AssertionError


def _meeting(a: int) -> Fraction:
    """What (1 + w)^{−a−1} is multiplied by, to meet (1 − w)^{a−1} at w = 1/a."""
    return (1 - Fraction(1, a)) ** (a - 1) * (1 + Fraction(1, a)) ** (a + 1)


def _power_tail(law: Law, first: int, core: Ball, alpha: Fraction, beta: Fraction, factor: Ball | None = None) -> Ball:
    """Beyond 2c, (1 + w)^{−β} = Σ_k binom(−β, k) w^{−β−k} with w = (x/c)^α > 2, summed over x term by term in k."""
    start = first
    total = ball(0)
    while not start > 2 * core:
        total += weight(law, start)
        start += 1
    factor = ball(1) if factor is None else factor
    for k in count():
        exponent = ball(alpha * (beta + k))
        term = factor * core**exponent * exponent.zeta(start)
        if k > 4 * beta and abs(term) < total * ball(2) ** -200:
            return total + Ball(0, abs(term).upper() * 4)
        total += term
        factor *= ball((-beta - k) / (k + 1))
    raise AssertionError
