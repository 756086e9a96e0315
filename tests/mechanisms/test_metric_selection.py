"""The exponential mechanism of a metric, and the special cases of claim C11."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from dither.errors import ParameterError
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
