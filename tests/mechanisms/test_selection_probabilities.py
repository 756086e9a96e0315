"""The exact probability of each candidate."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.errors import DitherError
from dither.exact import Ball, ball, precision
from dither.mechanisms.selection import NoiseName

NOISES: tuple[NoiseName, ...] = ("exponential", "laplace", "gumbel")


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scores", [[0], [3, 1], [5, 5, 1], [Fraction(1, 3), 0.25, 0, 0, -7], [1, -math.inf, 0]])
def test_they_sum_to_one_and_follow_the_scores(noise: NoiseName, scores: list[Any]) -> None:
    chances = dp.NoisyMax(sensitivity=1, epsilon=1, noise=noise).probabilities(scores)
    assert len(chances) == len(scores)
    with precision(128):
        assert sum(chances, Ball(0)).contains(Ball(1))
        for (q, chance), (other, its) in combinations(zip(scores, chances, strict=True), 2):
            assert q > -math.inf or chance == 0
            assert q <= other or chance > its


def test_exercise_2_the_ratio_can_be_read_off() -> None:
    """P(a)/P(b) = e^{ε(q(a) − q(b))/(2Δ)}, also with base weights."""
    mechanism = dp.Exponential(sensitivity=2, epsilon=3)
    a, b, _ = mechanism.probabilities([7, 4, 0])
    with precision(128):
        assert (a / b - ball(Fraction(9, 4)).exp()).contains(Ball(0))
    a, b, _ = mechanism.probabilities([7, 4, 0], weights=[1, 3, 5])
    with precision(128):
        assert (3 * a / b - ball(Fraction(9, 4)).exp()).contains(Ball(0))


@pytest.mark.statistical
@pytest.mark.parametrize("noise", NOISES)
def test_draws_have_these_probabilities(noise: NoiseName) -> None:
    """10,000 draws; each count is within 6 deviations: a false alarm once in 10⁸ candidates. Wrong scales fail."""
    scores, draws = [2, 1, 0], 10_000
    mechanism = dp.NoisyMax(sensitivity=1, epsilon=1, noise=noise)
    seen = np.bincount([mechanism.release(scores).value for _ in range(draws)], minlength=3)

    def fits(scale: float) -> bool:
        law = np.array([float(x) for x in dp.NoisyMax(sensitivity=1, scale=scale, noise=noise).probabilities(scores)])
        return bool((np.abs(seen - draws * law) < 6 * np.sqrt(draws * law * (1 - law))).all())

    assert fits(2)
    assert not fits(1.4)
    assert not fits(3)


@pytest.mark.parametrize("scores", [[], [math.nan], [math.inf, 1], [-math.inf], "ab"])
def test_what_are_no_scores_is_refused(scores: Any) -> None:
    with pytest.raises(DitherError):
        dp.NoisyMax(sensitivity=1, epsilon=1).probabilities(scores)
    with pytest.raises(DitherError):
        dp.Exponential(sensitivity=1, epsilon=1, candidates=7).probabilities([1, 2])
