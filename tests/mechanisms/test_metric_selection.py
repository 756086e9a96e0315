"""The exponential mechanism of a metric, and the special cases of claim C11."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.events import Selection
from dither.exact import Ball, ball, precision
from dither.guarantees import PureDP
from dither.mechanisms import MetricExponential
from dither.noise import DiscreteLaplace


def test_claim_c11_the_factor_two_case() -> None:
    line = MetricExponential(points=range(6), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=1)
    assert (line.factor, line.scale) == (2, Fraction(2))
    assert _largest_metric_loss(line) <= 1


def test_claim_c11_the_factor_one_case_is_tight() -> None:
    circle = MetricExponential(
        points=range(9), distance=lambda x, y: min((x - y) % 9, (y - x) % 9), sensitivity=1, epsilon=1
    )
    assert (circle.factor, circle.scale) == (1, Fraction(1))
    assert _largest_metric_loss(circle) == pytest.approx(1, rel=1e-12)
    squeezed = MetricExponential(points=range(9), distance=lambda x, y: abs(x - y), sensitivity=1, scale=1)
    assert _largest_metric_loss(squeezed) > 1.1, "with a normaliser that moves, α = Δ/ε is too small"
    assert squeezed.guarantee == PureDP(2)


def _largest_metric_loss(mechanism: MetricExponential) -> float:
    laws = [mechanism.probabilities(x) for x in mechanism.points]
    losses = [
        abs(math.log(float(here[y]) / float(there[y])))
        for here, there in itertools.pairwise(laws)
        for y in mechanism.points
    ]
    return max(losses)


@pytest.mark.parametrize("centre", [-3, 0, 4])
def test_claim_c11_the_geometric_mechanism_is_an_instance(centre: int) -> None:
    """On any window of the integers, the metric mechanism is the discrete Laplace law given the window: to 100 bits."""
    scale = Fraction(5, 2)
    window = range(-20, 21)
    metric = MetricExponential(points=window, distance=lambda x, y: abs(x - y), sensitivity=1, scale=scale)
    law = DiscreteLaplace(scale)
    with precision(128):
        inside = sum((law.pmf(y - centre) for y in window), Ball(0))
        for y, chance in metric.probabilities(centre).items():
            assert abs(chance - law.pmf(y - centre) / inside) < ball(Fraction(1, 2**100))


def test_claim_c11_the_laplace_mechanism_is_the_limit() -> None:
    """On ever finer lattices the law tends to the density e^{−|x|/α}/2α: here it is within 2 % at steps of 1/32."""
    step, alpha = Fraction(1, 32), Fraction(1)
    metric = MetricExponential(
        points=range(-150, 151), distance=lambda x, y: abs(x - y) * step, sensitivity=1, scale=alpha
    )
    law = metric.probabilities(0)
    window = 1 - math.exp(-150 / 32)
    for x in (0, 5, -64, 100):
        density = math.exp(-abs(x) / 32) / 2 / window
        assert float(law[x]) * 32 == pytest.approx(density, rel=2e-2)


def test_metric_errors_are_exact() -> None:
    mechanism = MetricExponential(points="abc", distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], sensitivity=1, scale=1)
    a, b = math.exp(-1), math.exp(-2)
    assert mechanism.expected_error == pytest.approx((a + 2 * b) / (1 + a + b))
    assert mechanism.error(0.05) == 2.0
    assert mechanism.error(0.2) == 1.0
    assert mechanism.error(0.5) == 0.0
    with pytest.raises(ParameterError, match="radius"):
        mechanism.release("a").interval()


# ------------------------------------------------------------ large spaces, row by row

NORMS: dict[str, Any] = {
    "l1": lambda x, y: sum(abs(a - b) for a, b in zip(x, y, strict=True)),
    "l2": math.dist,
    "linf": lambda x, y: max(abs(a - b) for a, b in zip(x, y, strict=True)),
}
PLACES = [(x / 10, y / 7, x * y / 3) for x in range(5) for y in range(4)]


@pytest.mark.parametrize("norm", NORMS)
def test_a_norm_and_a_function_are_the_same_law(norm: str) -> None:
    """Up to rounding, by which the sensitivity grows: the table and both kinds of rows."""
    table = MetricExponential(points=PLACES, distance=NORMS[norm], sensitivity=1, scale=3)
    by_norm = MetricExponential(points=np.array(PLACES), distance=norm, sensitivity=1, scale=3)
    by_rows = MetricExponential(
        points=PLACES,
        distance=lambda x, points: [NORMS[norm](x, y) for y in points],
        vectorised=True,
        sensitivity=1,
        scale=3,
    )
    assert table.points == by_norm.points
    for place in (PLACES[0], PLACES[7]):
        laws = [[float(p) for p in each.probabilities(place).values()] for each in (table, by_norm, by_rows)]
        assert laws[0] == pytest.approx(laws[1], rel=1e-9)
        assert laws[0] == pytest.approx(laws[2], rel=1e-9)
    for rows in (by_norm, by_rows):
        assert 1 < rows.sensitivity < 1 + Fraction(1, 10**9)
        assert rows.factor == 2
        assert rows.error(0.05) >= table.error(0.05)
        assert rows.expected_error >= table.expected_error


@pytest.mark.parametrize("norm", NORMS)
def test_rows_keep_their_epsilon_over_all_neighbours(norm: str) -> None:
    """Every two points within Δ, by distances of exact arithmetic."""
    rng = np.random.default_rng(3)
    places = np.round(rng.normal(size=(40, 2)), 3)
    made = MetricExponential(points=places, distance=norm, sensitivity=1, epsilon=1)
    laws = [made.probabilities(point) for point in made.points]
    losses = [
        abs(math.log(float(laws[i][y] / laws[j][y])))
        for i, j in itertools.combinations(range(40), 2)
        if NORMS[norm](made.points[i], made.points[j]) <= 1
        for y in made.points
    ]
    assert 0.5 < max(losses) <= 1


def _far(x: Any, every: Any) -> Any:
    moves = np.array(every, np.float32).reshape(len(every), -1) - np.array(x, np.float32).reshape(1, -1)
    return np.sqrt((moves**2).sum(axis=1, dtype=np.float32))


@pytest.mark.parametrize("points", ["array", "numbers"])
@pytest.mark.parametrize(
    "options",
    [
        {"distance": "l1"},
        {"distance": "l2"},
        {"distance": lambda x, y: abs(float(x) - float(y))},
        {"distance": _far, "vectorised": True},
    ],
)
def test_short_floats_are_paid_for_by_their_own_rounding(points: str, options: dict[str, Any]) -> None:
    """0, 0.1, 0.2, … in float32: neighbours on that line are more than 0.1 apart, by more than 2^-40 of its length."""
    line = np.arange(0, 3, 0.1).astype(np.float32)
    given: Any = line if points == "array" else list(line)
    mechanism = MetricExponential(points=given, sensitivity="0.1", epsilon=1, **options)
    farthest = max(abs(Fraction(float(x)) - Fraction(float(y))) for x, y in itertools.pairwise(line))
    assert farthest > Fraction(1, 10) + Fraction(3, 2**40)
    assert farthest <= mechanism.sensitivity < Fraction("0.1001")
    assert _largest_metric_loss(mechanism) <= 1


def test_short_floats_of_many_coordinates() -> None:
    """Two points that are 100 apart in ℓ₁, in decimals; each of 1,000 coordinates is rounded to float32, all alike."""
    points = np.array([[0.1] * 1000, [0.2] * 1000], np.float32)
    mechanism = MetricExponential(points=points, distance="l1", sensitivity=100, epsilon=1)
    assert mechanism.sensitivity >= sum(abs(Fraction(float(x)) - Fraction(float(y))) for x, y in points.T) > 100


def test_short_floats_of_many_points_are_a_metric() -> None:
    points = np.random.default_rng(3).random((600, 2)).astype(np.float32)
    mechanism = MetricExponential(points=points, distance=_far, vectorised=True, sensitivity="0.1", epsilon=1)
    assert Fraction("0.1") < mechanism.sensitivity < Fraction("0.1001")
    assert mechanism.release(points[5]).value in mechanism.points


def test_a_hundred_thousand_points() -> None:
    side = np.arange(316)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    made = MetricExponential(points=places, distance="linf", sensitivity=1, epsilon=200)
    assert isinstance(made.event, Selection)
    assert made.event.candidates == len(places) == 99_856
    # P[farther than 2] is below Σ_k 8k e^{−100 k}: never.
    assert max(abs(a - b) for a, b in zip(made.release((70, 300)).value, (70, 300), strict=True)) <= 2
    line = MetricExponential(points=range(100_000), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=200)
    assert abs(line.release(99_998).value - 99_998) <= 2


@pytest.mark.parametrize(
    ("points", "distance", "other"),
    [
        (range(100_001), "l1", {}),
        (PLACES, "l3", {}),
        ([0, 1, (2, 3)], "l2", {}),
        (["a", "b"], "l2", {}),
        ([0, 10**400], "l2", {}),
        ([0, 2**60 + 1], "l2", {}),
        ([0, Fraction(1, 3)], "l2", {}),
        ([0.0, 1e-200], "l2", {}),
        ([1.0, math.inf], "l1", {}),
        (range(600), lambda x, y: x - y, {}),
        (range(600), lambda x, y: (x - y) ** 2, {}),
        (range(600), lambda x, y: abs(x - y) * (1 + (x < y)), {}),
        (range(600), lambda x, y: math.nan, {}),
        (range(5), lambda x, points: [0.0], {"vectorised": True}),
        (range(2), [[0, 1], [1, 0]], {"vectorised": True}),
    ],
)
def test_what_is_no_metric_on_these_points_is_refused(points: Any, distance: Any, other: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        MetricExponential(points=points, distance=distance, sensitivity=1, epsilon=1, **other)


def _hub(x: int, y: int) -> int:
    """A line of 600 points, and one that is near to all: the way by it is shorter than the direct one."""
    return int(x != y) if 301 in (x, y) else abs(x - y)


def _far_pair(x: int, y: int) -> int:
    """A line of 600 points, on which two are said to be far apart."""
    return 500 if {x, y} == {300, 305} else abs(x - y)


def test_a_short_cut_among_many_points_is_refused() -> None:
    with pytest.raises(ParameterError, match="triangle"):
        MetricExponential(points=range(600), distance=_hub, sensitivity=1, epsilon=1)
    with pytest.raises(ParameterError, match="positive otherwise"):
        MetricExponential(points=range(600), distance=lambda x, y: abs(x // 2 - y // 2), sensitivity=1, epsilon=1)


def test_what_is_no_metric_and_not_noticed_keeps_its_promise_by_the_sensitivity_of_its_scores() -> None:
    """The proof asks for |d(y, x) − d(y, x′)| ≤ Δ and for nothing else: with the largest d(x, x′) it breaks."""
    points = range(600)
    trusted = MetricExponential(points=points, distance=_far_pair, sensitivity=1, epsilon=1)
    assert _loss(trusted, 305, 304) > 50
    largest = max(abs(_far_pair(y, x) - _far_pair(y, x + 1)) for x in range(599) for y in points)
    safe = MetricExponential(points=points, distance=_far_pair, sensitivity=largest, epsilon=1)
    assert _loss(safe, 305, 304) <= 1


def _loss(mechanism: MetricExponential, one: int, other: int) -> float:
    here, there = mechanism.probabilities(one), mechanism.probabilities(other)
    return max(abs(float((here[y] / there[y]).log())) for y in mechanism.points)


@pytest.mark.parametrize("distance", [lambda x: x, lambda x, y, z: x])
def test_a_distance_is_a_function_of_two_points(distance: Any) -> None:
    for size in (3, 600):
        with pytest.raises(ParameterError, match="distance must be a function of two values"):
            MetricExponential(points=range(size), distance=distance, sensitivity=1, epsilon=1)
