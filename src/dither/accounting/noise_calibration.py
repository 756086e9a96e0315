"""The smallest noise for a budget, the most repetitions within one, and the ε that an error needs.

Answers err to the safe side: a scale is returned only if the certified upper bound at that very scale is within
the budget, and a number of repetitions only if theirs is. Searching is done on rougher lattices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

from dither.accounting.composition import compose, of_pairs
from dither.accounting.dominate import Spending, parts_of_all
from dither.accounting.scale_search import WIDTHS, Budget, Uncalibrated, scale_for
from dither.events import Event, GaussianNoise, LaplaceNoise, PoissonSampled, Repeated
from dither.exact import Ball, Number, ball, check, rational
from dither.exact.certified import below, read_above
from dither.exact.search import first_integer

__all__ = [
    "ForError",
    "Uncalibrated",
    "epsilon_for_error",
    "gaussian_scale",
    "laplace_scale",
    "most_repetitions",
    "smallest_scale",
]

_MOST = 10**9


class ForError(NamedTuple):
    """A noise scale that meets a required error, and the ε that it costs.

    Parameters
    ----------
    scale : float
        b of Laplace noise or σ of Gaussian noise, rounded down, so that the error is met.
    epsilon : float
        What all releases cost, rounded up.
    """

    scale: float
    epsilon: float


def smallest_scale(
    events_at: Callable[[Fraction], Iterable[Spending]], *, epsilon: Number, delta: Number = 0, start: Number = 1
) -> float:
    """Find the smallest scale s for which everything in `events_at(s)` together is (ε, δ)-DP; never too small.

    Parameters
    ----------
    events_at : callable
        Takes a scale (a Fraction) and returns the list of what is done at that scale. The cost must fall as it grows.
    epsilon : Number
        The budget ε > 0 of everything together.
    delta : Number, default 0
        The budget δ, between 0 and 1.
    start : Number, default 1
        Where the search begins; scales within a factor of 1e12 of it are tried.

    Returns
    -------
    float
        The scale, certified at `rational(s)`, which is what other parts of dither take a float to mean. It is within
        about 1e-6 of the exact one, relatively, or better.

    Raises
    ------
    Uncalibrated
        If no scale keeps the budget, or every scale does.

    Notes
    -----
    A composition asked with the usual `relative_width` may return a little more than the budget; with
    ``relative_width=3e-6`` it does not.

    Examples
    --------
    >>> from dither.events import GaussianNoise
    >>> smallest_scale(lambda s: [GaussianNoise.of(s)] * 1000, epsilon=1, delta="1e-6")
    133.59607...
    """
    return scale_for(Budget.of(epsilon, delta), events_at, start)


def gaussian_scale(
    *,
    epsilon: Number,
    delta: Number,
    sensitivity: Number = 1,
    releases: int = 1,
    sampling_rate: Number = 1,
) -> float:
    """Find the smallest σ for several rounds of Gaussian noise, each on a Poisson sample if `sampling_rate` < 1.

    Parameters
    ----------
    epsilon : Number
        The budget ε > 0 of all rounds together.
    delta : Number
        The budget δ, between 0 and 1.
    sensitivity : Number, default 1
        The ℓ₂ sensitivity of one round.
    releases : int, default 1
        The number of rounds.
    sampling_rate : Number, default 1
        The probability with which a record takes part in a round.

    Returns
    -------
    float
        The standard deviation σ of the noise, never too small.

    Examples
    --------
    >>> gaussian_scale(epsilon=1, delta="1e-6", releases=100)
    42.246...
    """
    return _scale_of_rounds(GaussianNoise.of, epsilon, delta, sensitivity, releases, sampling_rate)


def laplace_scale(
    *, epsilon: Number, delta: Number = 0, sensitivity: Number = 1, releases: int = 1, sampling_rate: Number = 1
) -> float:
    """Find the smallest b for several rounds of Laplace noise, each on a Poisson sample if `sampling_rate` < 1.

    Parameters
    ----------
    epsilon : Number
        The budget ε > 0 of all rounds together.
    delta : Number, default 0
        The budget δ, between 0 and 1.
    sensitivity : Number, default 1
        The ℓ₁ sensitivity of one round.
    releases : int, default 1
        The number of rounds.
    sampling_rate : Number, default 1
        The probability with which a record takes part in a round.

    Returns
    -------
    float
        The scale b of the noise, never too small.

    Examples
    --------
    >>> round(laplace_scale(epsilon=1, releases=10), 6)
    10.0
    """
    return _scale_of_rounds(LaplaceNoise, epsilon, delta, sensitivity, releases, sampling_rate)


def _scale_of_rounds(
    noise: Callable[[Fraction, Fraction], Event],
    epsilon: Number,
    delta: Number,
    sensitivity: Number,
    releases: int,
    sampling_rate: Number,
) -> float:
    rate, distance = rational(sampling_rate, "sampling_rate"), rational(sensitivity, "sensitivity")
    check.probability(sampling_rate=rate)

    def events_at(scale: Fraction) -> list[Spending]:
        each = noise(scale, distance)
        return [Repeated(each if rate == 1 else PoissonSampled(each, rate), releases)]

    return smallest_scale(events_at, epsilon=epsilon, delta=delta, start=distance)


def most_repetitions(thing: Event | Spending, *, epsilon: Number, delta: Number = 0) -> int:
    """Find the largest number of times that a release can be made within (ε, δ); never too many.

    Parameters
    ----------
    thing : mechanism, release, event, guarantee or pair
        What is repeated.
    epsilon : Number
        The budget ε > 0.
    delta : Number, default 0
        The budget δ, between 0 and 1.

    Returns
    -------
    int
        The number of times; 0 if not even once.

    Examples
    --------
    >>> most_repetitions(LaplaceNoise(50), epsilon=1, delta="1e-6")
    144
    """
    budget = Budget.of(epsilon, delta)
    pairs, adjacency = parts_of_all([thing])

    def fits(times: int, width: float) -> bool:
        many = of_pairs([(pair, count * times) for pair, count in pairs], adjacency=adjacency, relative_width=width)
        upper = many.upper_epsilon(budget.delta)
        return math.isfinite(upper) and read_above(upper) <= budget.epsilon

    high = 1
    while fits(high, WIDTHS[0]):
        if high > _MOST:
            raise Uncalibrated(f"more than {_MOST} repetitions fit. Do they cost anything?")
        high *= 2
    return first_integer(lambda times: not fits(times, WIDTHS[1]), high // 2 + 1, high + high // 8 + 1) - 1


def epsilon_for_error(
    error: Number,
    *,
    confidence: Number = Fraction(95, 100),
    sensitivity: Number = 1,
    releases: int = 1,
    delta: Number = 0,
) -> ForError:
    """Find the noise that stays below an error, and what it costs.

    Laplace noise if δ = 0, Gaussian noise otherwise.

    Parameters
    ----------
    error : Number
        The error that one release may have, in the unit of the value.
    confidence : Number, default 0.95
        The probability with which one release stays below it.
    sensitivity : Number, default 1
        The sensitivity of one release: ℓ₁ for Laplace noise, ℓ₂ for Gaussian noise.
    releases : int, default 1
        The number of releases.
    delta : Number, default 0
        The budget δ, between 0 and 1, of all releases together.

    Returns
    -------
    ForError
        The scale, rounded down, so that the error is met; and the ε of all releases at this very scale, rounded up.

    Examples
    --------
    >>> found = epsilon_for_error(10)
    >>> round(found.scale, 3), round(found.epsilon, 3)
    (3.338, 0.3)
    """
    bound, level = rational(error, "error"), rational(confidence, "confidence")
    check.positive(error=bound)
    check.between(0, 1, confidence=level)
    leak, distance = rational(delta, "delta"), rational(sensitivity, "sensitivity")
    # P[|X| > t] is e^{−t/b} for Laplace noise and erfc(t/(σ√2)) for Gaussian noise.
    if not leak:
        scale = below(lambda: ball(bound) / -ball(1 - level).log())
    else:
        scale = below(lambda: ball(bound) / (Ball(2).sqrt() * ball(1 - level).erfcinv()))
    exact = rational(scale)
    event = GaussianNoise.of(exact, distance) if leak else LaplaceNoise(exact, distance)
    return ForError(scale, compose([Repeated(event, releases)]).epsilon(leak))
