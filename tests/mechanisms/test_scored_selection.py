"""A score function of your own, and metrics in floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.errors import ParameterError
from dither.guarantees import multiplicative_distance

DATA = [0, 1, 1, 2]


def count(y: int, data: list[int]) -> int:
    return data.count(y)


@pytest.mark.parametrize("noise", ["exponential", "laplace", "gumbel"])
def test_it_is_the_mechanism_on_its_scores(noise: Any) -> None:
    """Neighbours are ε apart at most and nearly so at worst; probabilities are those of the mechanism."""
    mine = dp.ScoredSelection(range(3), count, 1, epsilon=1, noise=noise)
    assert mine.scores(DATA) == [1, 2, 1]
    assert list(map(float, mine.probabilities(DATA).values())) == list(
        map(float, mine.mechanism.probabilities([1, 2, 1]))
    )
    assert mine.release(DATA).value in range(3)
    assert mine.release(DATA).event == mine.event
    laws = [list(mine.probabilities(data).values()) for data in (DATA, [*DATA, 0])]
    assert multiplicative_distance(*laws) <= 1
    half = dp.ScoredSelection(range(3), count, "1/2", epsilon=1, noise=noise)  # half of what is true
    worst = ([0] * 9, [0] * 8 + [1])
    assert multiplicative_distance(*(list(half.probabilities(data).values()) for data in worst)) > 1


def test_a_base_measure_tilts_the_exponential_mechanism() -> None:
    even = dp.ScoredSelection("ab", lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights=[1, 3])
    assert [float(chance) for chance in even.probabilities(None).values()] == [0.25, 0.75]
    assert even.release(None).value in "ab"
    as_function = dp.ScoredSelection(
        "ab", lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights=lambda y: {"a": 1, "b": 3}[y]
    )
    assert as_function.weights == even.weights
    monotone = dp.ScoredSelection(range(3), count, 1, epsilon=1, monotone=True, adjacency=ADD_REMOVE)
    assert monotone.guarantee.epsilon(0) == 1


def test_weights_by_candidate_are_read_by_candidate() -> None:
    """The keys are not taken for the weights."""
    mine = dp.ScoredSelection([1, 2], lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights={2: 3, 1: 1})
    assert [float(chance) for chance in mine.probabilities(None).values()] == [0.25, 0.75]


@pytest.mark.parametrize(("weights", "message"), [
    ({1: 1}, "as keys"),
    ({1: 1, 2: 1, 3: 1}, "as keys"),
    ({3, 4}, "a set has none"),
    ([1, 1, 1], "one for each of 2 candidates, got 3"),
    ([1, 0], "positive and finite"),
    ([1, -1], "positive and finite"),
    ([1, math.nan], "positive and finite"),
    ("ab", "the type str"),
    (lambda y: y - 1, "positive and finite"),
    (lambda y: None, "the type NoneType"),
    (lambda: 1, "a function of one value"),
])  # fmt: skip
def test_weights_are_checked_before_there_is_data(weights: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dp.ScoredSelection([1, 2], lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights=weights)


@pytest.mark.parametrize("build", [
    lambda: dp.ScoredSelection([], count, 1, epsilon=1),
    lambda: dp.ScoredSelection(range(3), None, 1, epsilon=1),  # type: ignore[arg-type]
    lambda: dp.ScoredSelection(range(3), count, 0, epsilon=1),
    lambda: dp.ScoredSelection(range(3), count, math.nan, epsilon=1),
    lambda: dp.ScoredSelection(range(3), count, 1, epsilon=0),
    lambda: dp.ScoredSelection(range(3), count, 1, epsilon=1, weights=[1, 1, 1]),
    lambda: dp.ScoredSelection(range(3), count, 1, epsilon=1, noise="gumbel", weights=[1, 1]),
    lambda: dp.ScoredSelection(range(3), lambda y, data: math.nan, 1, epsilon=1).release(DATA),
    lambda: dp.ScoredSelection(range(3), lambda y, data: math.inf, 1, epsilon=1).release(DATA),
])  # fmt: skip
def test_what_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        build()


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_candidates_are_hashable_and_all_different(noise: Any) -> None:
    """A candidate that stands twice would lose half of its probability in a dictionary."""
    for candidates, message in (("aab", "2 different ones of 3"), ([[1], [2]], "must be hashable")):
        with pytest.raises(ParameterError, match=message):
            dp.ScoredSelection(candidates, lambda y, data: 0, 1, epsilon=1, noise=noise)


PLANE = [(0.1 * x, 0.3 * y) for x in range(4) for y in range(4)]


@pytest.mark.parametrize(("points", "distance", "reach"), [
    ([0.0, 0.1, 0.2, 0.3, 0.7], lambda a, b: abs(a - b), "0.1"),
    (PLANE, math.dist, "0.3"),
])  # fmt: skip
def test_float_metrics_are_widened_and_paid_for(points: Any, distance: Any, reach: str) -> None:
    """The table is a metric, no distance shrank, neighbours by the float metric are ε apart at most."""
    mine = dp.MetricExponential(points=points, distance=distance, sensitivity=reach, epsilon=1)
    size, table = len(points), mine.distances
    assert all(table[i][j] <= table[i][k] + table[k][j] for i in range(size) for j in range(size) for k in range(size))
    assert all(table[i][j] == table[j][i] for i in range(size) for j in range(size))
    limit = Fraction(reach)
    assert limit <= mine.sensitivity < limit * (1 + Fraction(1, 10**9))
    assert mine.epsilon <= 1
    for i in range(size):
        for j in range(size):
            exact = Fraction(str(distance(points[i], points[j])))
            assert exact <= table[i][j]
            if exact <= limit:
                assert table[i][j] <= mine.sensitivity
                laws = [list(mine.probabilities(points[at]).values()) for at in (i, j)]
                assert multiplicative_distance(*laws) <= 1 + 1e-12


def test_points_that_nearly_coincide_stay_apart() -> None:
    """Distances in floats are kept as multiples of a step: one far below it is a step, and not 0."""
    mine = dp.MetricExponential(points=[0, 1e-30, 1.0], distance=lambda a, b: abs(a - b), sensitivity=1, epsilon=1)
    assert all(bool(mine.distances[i][j]) == (i != j) for i in range(3) for j in range(3))
    assert Fraction(1) < mine.sensitivity < 1 + Fraction(1, 10**9)


@pytest.mark.parametrize("table", [
    [[0, 1.0, 3.0], [1.0, 0, 1.0], [3.0, 1.0, 0]],
    [[0, 1.0], [1.001, 0]],
    [[0, 1, Fraction(2) + Fraction(1, 10**15)], [1, 0, 1], [Fraction(2) + Fraction(1, 10**15), 1, 0]],
    [[0, math.nan], [math.nan, 0]],
    [[0.0, 0.0], [0.0, 0.0]],
])  # fmt: skip
def test_what_is_no_metric_is_refused(table: Any) -> None:
    """More than rounding, or any amount in exact numbers."""
    with pytest.raises(ParameterError):
        dp.MetricExponential(points=range(len(table)), distance=table, sensitivity=1, epsilon=1)
