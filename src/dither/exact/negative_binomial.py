"""The mean of a negative binomial law on 1, 2, …, and the parameter that gives a mean.

Of shape η > −1 and stopping probability γ it gives k a probability proportional to Γ(k + η)/(k! Γ(η))·(1 − γ)^k: the
geometric law for η = 1, the logarithmic one for η = 0.
"""

from __future__ import annotations

from fractions import Fraction

from dither.errors import ParameterError
from dither.exact import check
from dither.exact.balls import Ball, ball, lower, precision

__all__ = ["mean_repetitions", "stop_for"]

_HALVINGS = 160
_LEAST_STOP = Fraction(1, 10**18)


def mean_repetitions(shape: Fraction, stop: Fraction) -> Ball:
    """E[K] = η(1 − γ)/(γ(1 − γ^η)), and (1 − γ)/(γ·ln 1/γ) for η = 0."""
    if stop == 1:
        return Ball(1)
    gamma, eta = ball(stop), ball(shape)
    if not shape:
        return (1 - gamma) / (gamma * -gamma.log())
    return eta * (1 - gamma) / (gamma * -(eta * gamma.log()).expm1())


def stop_for(shape: Fraction, mean: Fraction) -> Fraction:
    """The stopping probability that gives a mean of `mean` or a little more: what is repeated more often costs more.

    E[K] falls from ∞ to 1 as the stopping probability rises.
    """
    check.at_least(1, mean=mean)
    if mean == 1:
        return Fraction(1)
    low, high = _LEAST_STOP, Fraction(1)
    if not _is_enough(shape, low, mean):
        raise ParameterError(f"mean must be smaller, got mean={float(mean):.3g}.")
    for _ in range(_HALVINGS):
        middle = Fraction(float((low + high) / 2)) if high - low > low / 2**40 else low
        if not low < middle < high:
            break
        if _is_enough(shape, middle, mean):
            low = middle
        else:
            high = middle
    return low


def _is_enough(shape: Fraction, stop: Fraction, mean: Fraction) -> bool:
    with precision(160):
        return lower(mean_repetitions(shape, stop) - ball(mean)) >= 0
