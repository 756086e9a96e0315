"""Winners follow the exact probabilities, and a scale a little off would be noticed. False alarms: see fit.py."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import Exponential, MetricExponential, NoisyMax, SparseVector, TopK
from dither.noise import DiscreteLaplace
from dither.noise.race import Race, Scores
from tests.mechanisms.batches import sparse_batch
from tests.noise.fit import ALARM, p_value_of_counts
from tests.oracle.selections import answers_of, sparse_vector

pytestmark = pytest.mark.statistical

NOISES: list[Any] = ["gumbel", "exponential", "laplace"]
SCORES = [0.0, -1.0, -2.5, 0.5, -0.25, -4.0]
_FEW, _SOME, _MANY = 20_000, 5_000, 10**6


def _law(noise: Any, scale: str, factor: str = "1") -> list[float]:
    """The chance of each candidate, best first."""
    law = NoisyMax(sensitivity=1, scale=Fraction(scale) * Fraction(factor), noise=noise).error_distribution(SCORES)
    return [float(p) for p in law.probabilities]


def _counts(noise: Any, scale: str, draws: int) -> list[int]:
    race, scores = Race(noise, Fraction(scale)), Scores.of(SCORES)
    found = np.bincount([race.winner(scores) for _ in range(draws)], minlength=len(SCORES))
    return [int(n) for n in found[np.argsort(SCORES)[::-1]]]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", ["1/2", "2"])
def test_winners_follow_the_law(noise: Any, scale: str) -> None:
    found = _counts(noise, scale, _FEW)
    assert p_value_of_counts(found, _law(noise, scale)) > ALARM
    for factor in ("0.75", "1.35"):  # a wrong law escapes with a chance below 1e-12
        assert p_value_of_counts(found, _law(noise, scale, factor)) < ALARM, factor


@pytest.mark.nightly
@pytest.mark.parametrize("noise", NOISES)
def test_winners_follow_the_law_closely(noise: Any) -> None:
    found = _counts(noise, "2", _MANY)
    assert p_value_of_counts(found, _law(noise, "2")) > ALARM
    for factor in ("0.95", "1.05"):
        assert p_value_of_counts(found, _law(noise, "2", factor)) < ALARM, factor


@pytest.mark.parametrize("noise", NOISES)
def test_many_candidates_win_alike(noise: Any) -> None:
    """2^16 equal scores in two chunks, 800 races: each eighth of them wins as often."""
    race, scores = Race(noise, Fraction(1)), Scores.of(np.zeros(1 << 16))
    found = np.bincount([race.winner(scores) >> 13 for _ in range(800)], minlength=8)
    assert p_value_of_counts(found.tolist(), [1 / 8] * 8) > ALARM
    assert p_value_of_counts([int(found[:4].sum()), int(found[4:].sum())], [0.25, 0.75]) < ALARM


def test_weighted_winners() -> None:
    mechanism = Exponential(sensitivity=1, scale=1)
    found = np.bincount([mechanism.release([0, 1, 1], weights=[3, 1, 0.5]).value for _ in range(_SOME)], minlength=3)
    shares = np.array([3, np.e, np.e / 2])
    assert p_value_of_counts(found.tolist(), (shares / shares.sum()).tolist()) > ALARM
    assert p_value_of_counts(found.tolist(), [1 / 3] * 3) < ALARM


def test_points_of_an_interval() -> None:
    """Width times e^{score}: the law of the piece, and uniform within it."""
    mechanism = Exponential(sensitivity=1, scale=1)
    points = np.array([mechanism.release_interval([0, 1, 3, 3.5], [0, 0.5, 1.5]).value for _ in range(_SOME)])
    found = np.histogram(points, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.25, 3.5])[0].tolist()
    shares = np.array([0.5] * 2 + [0.5 * np.exp(0.5)] * 4 + [0.25 * np.exp(1.5)] * 2)
    assert p_value_of_counts(found, (shares / shares.sum()).tolist()) > ALARM
    assert p_value_of_counts(found, [1 / 8] * 8) < ALARM


def test_points_of_a_metric_space() -> None:
    mechanism = MetricExponential(points=range(6), distance=lambda x, y: abs(x - y), sensitivity=1, scale=2)
    found = np.bincount([mechanism.release(1).value for _ in range(_SOME)], minlength=6).tolist()
    law = [float(p) for p in mechanism.probabilities(1).values()]
    assert p_value_of_counts(found, law) > ALARM
    assert p_value_of_counts(found, law[::-1]) < ALARM


def test_the_best_two_follow_peeling() -> None:
    """The ordered pair (i, j) has probability pᵢ pⱼ/(1 − pᵢ)."""
    mechanism = TopK(count=2, sensitivity=1, epsilon=4)
    pairs = [mechanism.release([0.0, 1.0, 0.5]).value for _ in range(_SOME)]
    weight = np.exp([0.0, 1.0, 0.5])  # each round has ε = 2, so the scale is 1
    p = weight / weight.sum()
    law = [p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if i != j]
    found = [pairs.count([i, j]) for i in range(3) for j in range(3) if i != j]
    assert p_value_of_counts(found, law) > ALARM
    assert p_value_of_counts(found, [1 / 6] * 6) < ALARM


@pytest.mark.parametrize("cap", [1, 2])
def test_answers_of_a_sparse_vector_follow_the_law(cap: int) -> None:
    """All sequences of answers to three questions, a million times; with ρ or ν five percent off, it would be seen."""
    values = tuple(Fraction(x) for x in (-1, 2, 1))
    mechanism = SparseVector(threshold=0, epsilon=1, max_above=cap)
    patterns = answers_of(3, cap)
    codes = sparse_batch(lambda: values, lambda _, above, __: above @ [4.0, 2.0, 1.0], lambda _: 0.0)(mechanism, _MANY)
    wanted = [sum(4 >> i for i, is_above in enumerate(pattern) if is_above) for pattern in patterns]
    found = np.bincount(codes.astype(int), minlength=8)
    assert found[wanted].sum() == _MANY
    first, second = (Fraction(law.scale) * mechanism.grid.step for law in _comparing(mechanism))
    for rho, nu, is_right in (("1", "1", True), ("0.95", "1", False), ("1", "1.05", False)):
        law = [float(p) for p in sparse_vector(first * Fraction(rho), second * Fraction(nu), cap)(values)]
        assert (p_value_of_counts(found[wanted].tolist(), law) > ALARM) == is_right, (rho, nu)


def _comparing(mechanism: SparseVector) -> tuple[DiscreteLaplace, DiscreteLaplace]:
    return mechanism._threshold_noise, mechanism._query_noise
