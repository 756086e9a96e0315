"""How a budget (ε, δ) is split between a test and the answer behind it (claim C20). Proofs: propose_test_release.md.

Each rule gives a threshold T and two noises. What it gives is checked in balls by whoever uses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from dither.errors import ParameterError, PrecisionError
from dither.exact import Real, ball
from dither.exact.certified import above, at_most, below
from dither.exact.search import farthest
from dither.mechanisms.gaussian_calibration import largest_mu_squared, rounded_up
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.tested import TestedPair

__all__ = ["Split", "gaussian_textbook", "gaussian_tight", "given", "keeps", "laplace_textbook", "laplace_tight"]

_LARGEST_THRESHOLD = 10**9
_HALVINGS = 40
_GOLDEN = (math.sqrt(5) - 1) / 2
_USUAL_MISS = 1.6448536269514722  # Φ⁻¹(0.95): the test is to pass with probability 95 %
_SHORTER = Fraction(10**12 - 1, 10**12)


@dataclass(frozen=True)
class Split:
    """Answer if distance + noise > `threshold`.

    `test` and `answer` are ε₁ and ε₂ of Laplace noise, or σ and η/σ, squared, of Gaussian noise.
    """

    threshold: int
    test: Fraction
    answer: Fraction


def laplace_textbook(epsilon: Fraction, delta: Fraction) -> Split:
    """ε₁ = ε₂ = ε/2 and T = 1 + ln(2/δ)/ε₁, for whole distances rounded down."""
    half = epsilon / 2
    return Split(_floor(lambda: 1 + ball(2 / delta).log() / ball(half)), half, half)


def given(noise: str, epsilon: Fraction, a: Fraction, b: Fraction) -> Split:
    """Z₁ and Z₂ times a/ε′ and ηa/ε′, and T = 1 + b/ε′, rounded down, with ε′ = ε/2: the box of the lecture.

    Whether this keeps (ε, δ) is for the caller to check.
    """
    half = epsilon / 2
    threshold = _checked(max(math.floor(1 + b / half), 0))
    if noise == "laplace":
        return Split(threshold, half / a, half / a)
    return Split(threshold, (a / half) ** 2, (half / a) ** 2)


@lru_cache(maxsize=256)
def laplace_tight(epsilon: Fraction, delta: Fraction) -> Split:
    """The smallest T that ε₁ = ε/2 allows, the smallest ε₁ that this T allows, and ε₂ = ε − ε₁.

    P[X > T] = a^{T+1}/(1 + a) ≤ δ with a = e^{−ε₁}.
    """
    half = epsilon / 2
    steps = above(lambda: -(ball(delta) * (1 + ball(-half).exp())).log() / ball(half))
    threshold = _checked(max(math.ceil(steps) - 1, 0))
    high, low = half, half * Fraction(threshold, threshold + 2)  # T + 1 falls by more than 1 below the lower end
    if not _leaks_at_most(DiscreteLaplacePair(1 / high), threshold, delta):
        threshold += 1  # steps was rounded

    def is_enough(part: Fraction) -> bool:
        return part > 0 and _leaks_at_most(DiscreteLaplacePair(1 / part), threshold, delta)

    first = rounded_up(farthest(is_enough, high, low, _HALVINGS))
    return Split(threshold, first, epsilon - first)


def gaussian_textbook(epsilon: Fraction, delta: Fraction) -> Split:
    """a = √(2 ln(1.25/δ′)), T = 1 + a²/ε′, σ = a/ε′ and η/σ = ε′/a, with ε′ = ε/2 and 2e^{ε′}δ′ + δ′² = δ."""
    half = epsilon / 2
    if not half < 1:
        raise ParameterError(
            f"the textbook threshold of Gaussian noise is proved only for epsilon below 2, got epsilon={epsilon}. "
            'Use threshold="tight", which holds everywhere.'
        )
    # The positive root, without cancellation; a smaller δ′ only adds noise.
    share = Fraction(below(lambda: ball(delta) / (ball(half).exp() + (ball(epsilon).exp() + ball(delta)).sqrt())))
    square = rounded_up(Fraction(above(lambda: 2 * ball(Fraction(5, 4) / share).log())))
    threshold = _floor(lambda: 1 + ball(square) / ball(half))
    return Split(threshold, square / half**2, half**2 / square)


@lru_cache(maxsize=256)
def gaussian_tight(epsilon: Fraction, delta: Fraction) -> Split:
    """The T that makes (distance at which the test passes with probability 95 %) × (noise of the answer) smallest.

    To each T belongs the widest noise on the distance with P[X > T] ≤ δ, and to both the least noise on the answer for
    which the joint profile keeps (ε, δ). The search is in floats; the last step is certified.
    """
    best = largest_mu_squared(epsilon, delta)  # what the answer would cost alone

    def cost(threshold: int) -> float:
        sigma = _widest(threshold, delta)
        return (threshold + 1 + _USUAL_MISS * sigma) / math.sqrt(_answer(epsilon, delta, threshold, sigma, best))

    threshold = _smallest(cost, max(1, round(-scipy.special.ndtri(float(delta)) / math.sqrt(best))))
    variance = _widest_variance(threshold, delta)
    guess = _answer(epsilon, delta, threshold, math.sqrt(variance), best)
    test, back = DiscreteGaussianPair(variance), 2.0**-30
    while back < 1:
        answer = rounded_up(Fraction(guess * (1 - back)) * _SHORTER)
        if keeps(TestedPair(test, threshold, GaussianPair(answer)), epsilon, delta):
            return Split(threshold, variance, answer * _SHORTER)
        back *= 4
    raise PrecisionError("no test could be certified for this budget. Ask for a larger delta or epsilon.")


def _answer(epsilon: Fraction, delta: Fraction, threshold: int, sigma: float, best: Fraction) -> float:
    """The largest (η/σ)² for which the joint profile keeps (ε, δ), in floats."""
    test, goal = DiscreteGaussianPair(rounded_up(Fraction(sigma) ** 2)), float(delta)
    low, high = math.log(float(best)) - 12, math.log(float(best))

    def keeps_goal(log: float) -> bool:
        return TestedPair(test, threshold, GaussianPair(Fraction(math.exp(log)))).estimate(float(epsilon)) <= goal

    return math.exp(farthest(keeps_goal, low, high, _HALVINGS))


def _widest(threshold: int, delta: Fraction) -> float:
    """σ with P[X > T] near δ: about that of a normal law beyond T + ½."""
    return (threshold + 0.5) / -float(scipy.special.ndtri(float(delta)))


def _widest_variance(threshold: int, delta: Fraction) -> Fraction:
    """The largest σ² with P[X > T] ≤ δ, from below: found in floats, then moved until it is certain."""
    place, goal = np.array([float(threshold)]), math.log(delta)
    low, high = (2 * math.log(_widest(threshold, delta)) + side for side in (-1.5, 1.5))

    def is_enough(log: float) -> bool:
        return bool(DiscreteGaussianPair(Fraction(math.exp(log))).log_tail(place)[0] <= goal)

    widest, back = farthest(is_enough, low, high, _HALVINGS), 2.0**-40
    while not _leaks_at_most(
        DiscreteGaussianPair(found := rounded_up(Fraction(math.exp(widest - back)))), threshold, delta
    ):
        back *= 2
    return found


def _smallest(cost: Callable[[int], float], start: int) -> int:
    """The T near which a cost with one valley is smallest: golden section on ln T, then the best of what was seen."""
    seen: dict[int, float] = {}

    def at(place: float) -> float:
        threshold = _checked(max(1, round(math.exp(place))))
        if threshold not in seen:
            seen[threshold] = cost(threshold)
        return seen[threshold]

    low, high = math.log(start) - 2, math.log(start) + 2
    while high - low > 0.02 and round(math.exp(high)) - round(math.exp(low)) > 1:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    at((low + high) / 2)
    return min(seen, key=lambda threshold: (seen[threshold], threshold))


@lru_cache(maxsize=256)
def keeps(pair: TestedPair, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether test and answer together are (ε, δ)-DP, certified."""
    return at_most(lambda: pair.profile(ball(epsilon)), delta)


def _leaks_at_most(test: DiscreteLaplacePair | DiscreteGaussianPair, threshold: int, delta: Fraction) -> bool:
    return at_most(lambda: test.tail(threshold), delta)


def _floor(real: Real) -> int:
    """⌊real⌋, or one more where a float cannot tell: a larger threshold is as private."""
    return _checked(math.floor(above(real)))


def _checked(threshold: int) -> int:
    if threshold > _LARGEST_THRESHOLD:
        raise ParameterError(
            f"the test would need a distance of more than {_LARGEST_THRESHOLD} records. Give a larger epsilon."
        )
    return threshold
