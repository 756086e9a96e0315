"""Adaptive attacks on pure noise: the intervals of the oracle hold, those of naive reuse do not.

False alarms: intervals that hold with probability 0.95 fail in more than `most_failures` of the runs with probability
`ALARM` = 1e-11 at most, for each of four methods and three attacks. Naive reuse, the negative control, misses in all
but one run of a million.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import bdtrc

import dither as dp
from bench.adaptive_attacks import ATTACKS, Naive, pure_noise
from bench.adaptive_oracle import Size, covers
from dither.adaptive.routes import GaussianRoute, Rounding, Splitting, UnionBound, rows_needed
from tests.noise.fit import ALARM

RUNS = 24


def most_failures() -> int:
    return next(count for count in range(RUNS) if bdtrc(count, RUNS, 0.05) <= ALARM)


def rows_for(size: Size) -> int:
    return dp.Oracle.needed(queries=size.queries, accuracy=size.accuracy, method=size.method)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("method", ["gaussian", "laplace", "splitting", "rounding"])
def test_all_intervals_hold_as_often_as_is_promised(method: str, attack: str) -> None:
    size = Size(method, 8, "0.15")
    rows, generator = rows_for(size), np.random.default_rng()
    failed = sum(not covers(pure_noise(rows, 8, generator), ATTACKS[attack], size) for _ in range(RUNS))
    assert failed <= most_failures()


def test_naive_reuse_fails_where_the_oracle_does_not() -> None:
    """199 features of 2,000 rows: their vote is off by 0.1 on average, 5 standard errors more than naive intervals."""
    rows, queries, generator = 2000, 200, np.random.default_rng()
    reach = dp.Oracle(np.zeros(rows), queries=queries, adaptive=False, method="union").promise.accuracy
    samples = [pure_noise(rows, queries, generator) for _ in range(RUNS)]
    failed = sum(not Naive(sample, reach).covers(ATTACKS["overfitting"], queries) for sample in samples)
    assert failed > most_failures()
    accuracy = dp.Oracle(samples[0], queries=queries).promise.accuracy
    size = Size("gaussian", queries, str(accuracy + 0.001))
    assert sum(not covers(sample, ATTACKS["overfitting"], size) for sample in samples[:6]) == 0


@pytest.mark.parametrize("route", [GaussianRoute, Splitting, Rounding, UnionBound])
@pytest.mark.parametrize("queries", [1, 20])
def test_the_rows_that_suffice_do_and_fewer_do_not(route: type[GaussianRoute], queries: int) -> None:
    beta, asked = Fraction(1, 20), Fraction(1, 10)
    rows = rows_needed(route, asked, beta, queries)
    assert rows is not None
    assert route.best(rows, queries, beta).error(beta) <= asked
    assert route.best(rows * 99 // 100 - queries, queries, beta).error(beta) > asked


def hoeffding(rows: int, events: float, beta: float) -> float:
    """2e^{−2nα²} for each of so many events, β in all."""
    return math.sqrt(math.log(2 * events / beta) / (2 * rows))


def test_the_bounds_of_exact_answers_are_those_of_hoeffding() -> None:
    """Conversations of rounded answers: m^j of them before question j + 1."""
    beta, exact = 0.05, Fraction(1, 20)
    rounding = Rounding.best(5000, 4, exact)
    conversations = sum(rounding.levels**before for before in range(4))
    naive = {
        Rounding: hoeffding(5000, conversations, beta) + 1 / (2 * rounding.levels),
        UnionBound: hoeffding(5000, 4, beta),
        Splitting: hoeffding(1250, 1, 1 - (1 - beta) ** (1 / 4)),
    }
    for route, bound in naive.items():
        assert bound <= route.best(5000, 4, exact).error(exact) <= bound * 1.002  # type: ignore[attr-defined]


def test_bounds_grow_with_queries_and_shrink_with_rows_and_beta() -> None:
    for route in (GaussianRoute, Splitting, Rounding, UnionBound):
        by_queries = [route.best(10**5, k, Fraction(1, 20)).error(Fraction(1, 20)) for k in (1, 3, 10, 100)]
        by_rows = [route.best(n, 10, Fraction(1, 20)).error(Fraction(1, 20)) for n in (10**6, 10**5, 10**4)]
        fixed = route.best(10**5, 10, Fraction(1, 20))
        by_beta = [fixed.error(Fraction(1, beta)) for beta in (2, 20, 1000, 10**9)]
        assert by_queries == sorted(by_queries)
        assert by_rows == sorted(by_rows)
        assert by_beta == sorted(by_beta)
