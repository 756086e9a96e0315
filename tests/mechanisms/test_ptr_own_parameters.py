"""Propose-test-release with a_δ and b_δ of one's own: taken exactly where test and answer together keep (ε, δ)."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import dither as dp
from dither.accounting import compose
from dither.errors import ParameterError
from dither.sensitivity import Median
from tests.mechanisms.ptr_cases import joint_profile, passing
from tests.oracle.lattice_sums import masses

EPSILON, DELTA = 1, 1e-6


def _made(**given: Any) -> dp.ProposeTestRelease:
    return dp.ProposeTestRelease(Median((0, 1000)), limit=2, epsilon=EPSILON, delta=DELTA, **given)


def _is_taken(noise: str, a: str, threshold: int) -> bool:
    try:
        made = _made(noise=noise, a=a, b=Fraction(threshold - 1, 2))  # T = 1 + b/ε′ with ε′ = 1/2
    except ParameterError as refusal:
        said = str(refusal)
    else:
        assert made.split.threshold == threshold
        return True
    assert all(words in said for words in ("cost delta=", f"a={a}", "Give a larger a or b"))
    return False


def _naive(noise: str, a: float) -> Callable[[int], float]:
    """δ(1) for each threshold, over all distances one by one."""
    scale = a / (EPSILON / 2)
    if noise == "laplace":
        law = masses(lambda x: np.exp(-x / scale), 900)
        answer = lambda e: max(0.0, -math.expm1((e - 1 / scale) / 2), -math.expm1(e))  # noqa: E731
    else:
        law, mu = masses(lambda x: np.exp(-x * x / (2 * scale**2)), 500), 1 / scale
        answer = lambda e: float(ndtr(mu / 2 - e / mu) - math.exp(e) * ndtr(-mu / 2 - e / mu))  # noqa: E731
    return lambda threshold: joint_profile(passing(law, threshold)[:300], answer)(EPSILON)


@pytest.mark.parametrize(
    ("noise", "a", "around"),
    [("laplace", "1", 26), ("laplace", "1.6", 42), ("gaussian", "5.6", 53), ("gaussian", "9", 86)],
)
def test_parameters_are_taken_exactly_where_they_keep_the_budget(noise: str, a: str, around: int) -> None:
    cost = _naive(noise, float(a))
    thresholds = range(around - 4, around + 5)
    expected = [cost(threshold) <= DELTA for threshold in thresholds]
    assert True in expected
    assert False in expected
    assert [_is_taken(noise, a, threshold) for threshold in thresholds] == expected


def test_too_little_noise_is_refused_whatever_the_threshold() -> None:
    assert not any(_is_taken("laplace", "0.95", threshold) for threshold in (30, 300))
    assert not any(_is_taken("gaussian", "2", threshold) for threshold in (30, 300))


def test_a_refusal_says_what_it_would_cost() -> None:
    with pytest.raises(ParameterError, match=r"a=1 and b=10 cost delta=1.04e-05 at epsilon=1, .* Give a larger a or b"):
        _made(a=1, b=10)


def test_the_parameters_of_the_theorem_are_its_threshold() -> None:
    printed = _made(threshold="textbook")
    own = _made(a=1, b=math.log(2 / DELTA))
    assert own.split == printed.split
    assert own.event == printed.event
    assert "a=1, b=14.5" in repr(own)
    assert compose([own.event]).delta(EPSILON) <= DELTA


@pytest.mark.parametrize(
    "given",
    [
        {"a": 1},
        {"b": 20},
        {"a": 1, "b": 20, "threshold": "textbook"},
        *({"a": bad, "b": 20} for bad in (0, -1, math.nan, math.inf, True, "many")),
        *({"a": 1, "b": bad} for bad in (math.nan, -math.inf, True, "many", -5)),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        _made(**given)


def test_an_answer_has_the_noise_that_was_asked_for() -> None:
    """E|X₂| = ηa/ε′ = 2·1.6/0.5 for Laplace noise, ηa/ε′·√(2/π) for Gaussian."""
    assert _made(a="1.6", b=25).expected_error == pytest.approx(6.4)
    assert _made(noise="gaussian", a=9, b=50).expected_error == pytest.approx(36 * math.sqrt(2 / math.pi))
