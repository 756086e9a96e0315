"""How far a selection is off: exact distributions of the error, its bounds, and when they are reached."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact import Ball, precision
from dither.mechanisms import Exponential, NoisyMax
from dither.mechanisms.selection_error import _loses, worst_quantile
from dither.noise.race import NOISES
from tests.oracle.selections import exponential, laplace_max, permute_and_flip

every_noise = pytest.mark.parametrize("noise", sorted(NOISES))


@every_noise
def test_the_probabilities_add_up_to_one(noise: Any) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise)
    for scores in ([3.0], [0.0, 0.0, 5.0], [1e300, -1e300, 7.0], [0.0, -math.inf, 2.0], np.arange(12) % 5):
        law = mechanism.error_distribution(scores)
        with precision(128):
            total = sum(law.probabilities, Ball(0))
        assert total.contains(1)
        assert total.rad() < 1e-25


@pytest.mark.parametrize("scores", [[0, 0], [0, 1], [0, 3, 3, 3, 5], [0, 1, 2, 3, 4, 5, 6], [0] * 50 + [4], [0, 9, 10]])
def test_exponential_noise_is_never_worse_than_gumbel(scores: list[int]) -> None:
    usual = Exponential(sensitivity=1, epsilon=1).error_distribution(scores)
    better = NoisyMax(sensitivity=1, epsilon=1).error_distribution(scores)
    assert better.expected <= usual.expected
    assert all(better.beyond(gap) <= usual.beyond(gap) for gap in usual.errors)


@every_noise
def test_the_error_bound_is_the_worst_case(noise: Any) -> None:
    """All others at the bound: the best one loses with probability β, and with more at 1 % less."""
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise, candidates=6)
    bound = mechanism.error(0.1)
    for factor, is_above in ((1.0, False), (0.99, True)):
        law = mechanism.error_distribution([0.0] + [-factor * bound] * 5)
        assert (float(law.probabilities[1]) > 0.1 + 1e-9) == is_above
    for scores in (
        [0, -3, -bound, -bound, -bound, -20],
        [0, -bound, -bound, -1.5 * bound, -30, -31],
        [0, 0, 0, 0, 0, 0],
    ):
        law = mechanism.error_distribution(scores)
        assert law.beyond(bound - 1e-9) <= 0.1
        assert law.expected <= mechanism.expected_error


@every_noise
@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_chance_that_the_best_loses(noise: Any, count: int) -> None:
    """Its closed form against the integral, to 25 digits."""
    for gap in (Fraction(1, 2), Fraction(3)):
        law = NoisyMax(sensitivity=1, scale=1, noise=noise).error_distribution([Fraction(0)] + [-gap] * (count - 1))
        with precision(128):
            assert abs(law.probabilities[1] - _loses(noise, count, gap)) < 1e-25


def test_the_utility_theorem() -> None:
    """C16 with 2Δ, not the 4Δ of the notes; the exact bound is below it."""
    for count, beta in itertools.product((2, 10, 10**6), ("0.5", "0.05", "1e-9")):
        for mechanism in (
            Exponential(sensitivity=3, epsilon="0.5", candidates=count),
            NoisyMax(sensitivity=3, epsilon="0.5", candidates=count),
        ):
            textbook = 2 * 3 / 0.5 * (math.log(count) + math.log(1 / float(beta)))
            assert mechanism.utility(beta) == pytest.approx(textbook)
            assert mechanism.error(beta) < mechanism.utility(beta)
    with pytest.raises(ParameterError, match="gumbel"):
        NoisyMax(sensitivity=1, epsilon=1, noise="laplace", candidates=3).utility()


def test_the_worst_expected_error_of_the_exponential_mechanism_is_reached() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=8)
    worst = mechanism.expected_error
    found = mechanism.error_distribution([0.0] + [-(worst + 2)] * 7).expected  # g = 1 + λ scales of 2
    assert found == pytest.approx(worst, rel=1e-9)
    for gap in (1.0, 2.0, 4.0, 8.0):
        assert mechanism.error_distribution([0.0] + [-gap] * 7).expected <= worst


@pytest.mark.parametrize("count", [2, 3, 10, 50])
def test_the_worst_expected_error_of_permute_and_flip_is_reached(count: int) -> None:
    """The largest x times the chance that all others, x scales below the best, beat it; and no scores do worse."""
    mechanism = NoisyMax(sensitivity=1, scale=1, candidates=count)
    worst = mechanism.expected_error
    gaps = np.linspace(0.5, 8, 16)
    for _ in range(6):  # zoom
        means = [mechanism.error_distribution([0.0] + [-gap] * (count - 1)).expected for gap in gaps]
        at = int(np.argmax(means))
        gaps = np.linspace(gaps[max(at - 1, 0)], gaps[min(at + 1, len(gaps) - 1)], 9)
    assert max(means) <= worst <= max(means) * (1 + 1e-6)
    assert worst < Exponential(sensitivity=1, scale=1, candidates=count).expected_error
    random = np.random.default_rng(count)
    for _ in range(20 if count <= 10 else 2):
        others = -gaps[0] * random.exponential(1, count - 1).round(2)
        assert mechanism.error_distribution([0.0, *others]).expected <= worst


def test_the_worst_expected_errors_of_ten_candidates() -> None:
    """McKenna and Sheldon 2020: permute-and-flip 1.786, the exponential mechanism 2.202 at ε = 1."""
    assert NoisyMax(sensitivity=1, epsilon=1, candidates=10).expected_error == pytest.approx(1.786455763, rel=2e-9)
    assert Exponential(sensitivity=1, epsilon=1, candidates=10).expected_error == pytest.approx(2.202005995, rel=1e-9)
    assert NoisyMax(sensitivity=1, epsilon=1, candidates=10**15).expected_error == pytest.approx(60.204021, rel=1e-7)


@every_noise
def test_a_single_candidate_is_never_wrong(noise: Any) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise, candidates=1)
    assert mechanism.error(0.05) == mechanism.expected_error == 0.0
    assert mechanism.release([5.0]).value == 0
    assert worst_quantile(noise, Fraction(1), 3, Fraction(9, 10)) == 0.0


def test_error_needs_the_number_of_candidates() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    asks: list[Callable[[], float]] = [mechanism.error, mechanism.utility, lambda: mechanism.expected_error]
    for ask in asks:
        with pytest.raises(ParameterError, match="candidates"):
            ask()
    with pytest.raises(ParameterError, match="interval"):
        mechanism.release([1, 2]).interval()


def test_the_error_with_weights() -> None:
    """The best has a weight of one in a million: the law knows it, and the bound for equal weights does not hold."""
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=2)
    scores, weights = [mechanism.error(0.05) + 1, 0.0], [1, 10**6]
    law = mechanism.error_distribution(scores, weights=weights)
    best = math.exp(scores[0] / 2) / (math.exp(scores[0] / 2) + 10**6)
    assert float(law.probabilities[0]) == pytest.approx(best, rel=1e-12)
    assert law.beyond(mechanism.error(0.05)) > 0.99
    assert mechanism.error_distribution(scores).beyond(mechanism.error(0.05)) < 0.05
    assert "equal weights" in str(Exponential.__doc__)
    with pytest.raises(ParameterError):
        mechanism.error_distribution(scores, weights=[1])


@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 3), (2, 2, 5, 0), (0, 900)], ids=str)
@every_noise
def test_the_error_distribution_is_that_of_the_definition(noise: Any, scores: tuple[int, ...]) -> None:
    """Balls of both overlap, and are narrow."""
    oracle = {"gumbel": exponential, "exponential": permute_and_flip, "laplace": laplace_max}[noise](Fraction(3))
    found = NoisyMax(sensitivity=1, scale=3, noise=noise).error_distribution(scores)
    chances = oracle(tuple(map(Fraction, scores)))
    for error, chance in zip(found.errors, found.probabilities, strict=True):
        with precision(600):
            true = sum((p for q, p in zip(scores, chances, strict=True) if max(scores) - q == error), Ball(0))
            assert chance.overlaps(true)
            assert abs(chance - true) < 1e-20


def test_the_error_distribution_with_weights_is_that_of_the_definition() -> None:
    scores, weights = (Fraction(0), Fraction(1), Fraction(3)), (Fraction(3), Fraction(1), Fraction(1, 2))
    found = Exponential(sensitivity=1, scale=2).error_distribution(scores, weights=weights)
    assert found.errors == (Fraction(0), Fraction(2), Fraction(3))
    with precision(600):
        for chance, true in zip(found.probabilities, exponential(Fraction(2), weights)(scores)[::-1], strict=True):
            assert abs(chance - true) < 1e-20
