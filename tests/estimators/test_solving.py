"""Plans: each missing number from the others, against simulations, the textbook, and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

from dither.adjacency import EDGE
from dither.errors import ParameterError
from dither.estimators.solving import Solution, solve
from dither.mechanisms import Gaussian, MatrixMechanism
from dither.noise import DiscreteLaplace
from dither.workloads import Workload
from tests.noise.fit import ALARM


def drawn_law(noise: str, queries: int, epsilon: Fraction, delta: Fraction) -> Any:
    """The noise on one of k answers."""
    if noise == "laplace":
        return DiscreteLaplace(Fraction(queries) / epsilon)
    made = Gaussian(sensitivity_squared=queries, epsilon=epsilon, delta=delta, dimension=queries)
    assert made.for_integers is not None
    return made.for_integers.law


def chance(noise: str, queries: int, epsilon: Fraction, delta: Fraction, within: float) -> float:
    """P[all k errors are at most `within`], from the tail of the law alone."""
    tail = float(drawn_law(noise, queries, epsilon, delta).tail(math.floor(within)))
    return math.exp(queries * math.log1p(-2 * tail))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("queries", "times"), [(1, 50_000), (30, 20_000), (10_000, 1500)])
def test_the_largest_error_is_that_of_simulations(noise: str, queries: int, times: int) -> None:
    """Beyond the bound once in 20 times, by an exact binomial test at 1e-11; a bound 10 % smaller must fail it."""
    law = drawn_law(noise, queries, Fraction(1, 100), Fraction(1, 10**6))
    found = solve(queries, n=10**5, epsilon="0.01", delta=1e-6)
    bound = next(each for each in found.options if each.noise == noise).value * 10**5
    largest = np.abs(law.sample((times, queries))).max(axis=1)
    assert bdtrc(int((largest > bound).sum()) - 1, times, 0.05) > ALARM
    assert bdtrc(int((largest > 0.9 * bound).sum()) - 1, times, 0.05) < ALARM


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_each_number_is_found_from_the_others(noise: str) -> None:
    """n, ε, confidence and k are at the edge: one step further and the promise would not be kept."""
    delta = Fraction(1, 10**6) if noise == "gaussian" else None
    share = delta or Fraction(0)

    def keeps(found: Solution) -> bool:
        reached = chance(found.noise, found.queries, found.epsilon, share, found.accuracy * found.n)
        return reached >= found.confidence - 1e-9

    known: dict[str, Any] = {"n": 2000, "epsilon": "0.5", "accuracy": "0.03", "confidence": "0.9"}
    for missing in ("n", "epsilon", "accuracy", "confidence"):
        found = solve(5, **{**known, missing: None}, delta=delta)
        assert found.solved_for == missing
        assert keeps(found)
    fewest = solve(5, **{**known, "n": None}, delta=delta)
    assert chance(fewest.noise, 5, fewest.epsilon, share, 0.03 * (fewest.n - 35)) < 0.9
    least = solve(5, **{**known, "epsilon": None}, delta=delta)
    assert chance(least.noise, 5, least.epsilon * Fraction(97, 100), share, 60) < 0.9
    most = solve(None, **known, delta=delta)
    assert keeps(most)
    assert chance(most.noise, most.queries + 1, most.epsilon, share, 60) < 0.9
    surest = solve(5, **{**known, "confidence": None}, delta=delta)
    assert chance(surest.noise, 5, surest.epsilon, share, 60) < surest.confidence + 0.02


def test_the_textbook_asks_for_more() -> None:
    found = solve(100, accuracy=0.01, epsilon=0.5, delta=1e-7)
    assert found.noise == "gaussian"
    for each in found.options:
        assert each.textbook is not None
        assert each.value < each.textbook
    laplace = next(each for each in found.options if each.noise == "laplace")
    assert laplace.textbook == math.ceil(100 * math.log(2000) / 0.5 / 0.01)
    assert solve(100, accuracy=0.01, epsilon=2, delta=1e-7).options[0].textbook is None, "proved for ε < 1 only"


def test_a_workload_is_planned_with_its_best_strategy() -> None:
    workload = Workload.prefix(50)
    found = solve(workload, n=10_000, epsilon=1)
    assert found.strategy.startswith("tree")
    assert found.value < solve(50, n=10_000, epsilon=1).value / 2
    made = MatrixMechanism(workload, epsilon=1)
    assert found.accuracy * 10_000 == pytest.approx(made.max_error(0.05))


def test_errors_of_a_workload_stay_within_the_plan() -> None:
    """300 releases; the bound fails with probability 5 % at most, so more than 50 times once in 10^13 runs."""
    workload = Workload.prefix(20)
    found = solve(workload, n=1000, epsilon=1, delta=1e-6)
    counts = np.full(20, 50)
    option = next(each for each in found.options if each.noise == "gaussian")
    bound, missed = option.value * 1000, 0
    for _ in range(300):
        release = MatrixMechanism(workload, epsilon=1, delta=1e-6, strategy=option.strategy, noise="gaussian").release(
            counts
        )
        missed += bool(np.abs(release.value - np.cumsum(counts)).max() > bound)
    assert missed <= 50


def test_it_shows_a_table_and_a_picture() -> None:
    found = solve(10, n=1000, epsilon=1)
    text = str(found)
    assert "10 queries, 1000 records, ε = 1" in text
    assert "Solved for accuracy." in text
    assert "textbook" in text
    assert len(found.trade_off()) == 5
    assert str(found.plot().get_label()).startswith("The largest error of 10 queries")


@pytest.mark.parametrize(
    "wrong",
    [
        {"accuracy": 0}, {"accuracy": 1}, {"accuracy": float("nan")}, {"accuracy": -0.1}, {"confidence": 0},
        {"confidence": 1}, {"confidence": 1.5}, {"confidence": float("nan")}, {"n": 0}, {"n": 1.5}, {"n": True},
        {"queries": 0}, {"queries": 2.5}, {"queries": "ten"}, {"delta": 0}, {"delta": 0.5}, {"delta": float("nan")},
        {"accuracy": None}, {"epsilon": 1}, {"n": None},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    """Also two missing numbers, none missing, and a δ above 1/n."""
    good: dict[str, Any] = {"queries": 10, "accuracy": 0.1, "n": 1000, "delta": 1e-6}
    asked = {**good, **wrong}
    with pytest.raises(ParameterError):
        solve(asked.pop("queries"), **asked)


def test_a_number_of_records_that_makes_delta_too_large_is_refused() -> None:
    """Claim C26, for the n that is found as for one that is given."""
    with pytest.raises(ParameterError, match="delta must be far below 1/n"):
        solve(100, epsilon=1, accuracy=0.1, delta="0.01")
    assert solve(100, epsilon=1, accuracy=0.1, delta="1e-6").n * 1e-6 < 1


@pytest.mark.parametrize("known", [{"n": 1000}, {"accuracy": "0.1"}], ids=str)
def test_the_error_about_delta_names_no_option_that_there_is_not(known: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"Give a smaller delta\.$"):
        solve(10, epsilon=1, delta="0.1", **known)


@pytest.mark.parametrize("power", [5, 16, 20, 100])
def test_a_confidence_near_1_is_kept_exactly(power: int) -> None:
    """As a float it may be 1; what follows from it is computed from the fraction."""
    found = solve(10, n=1000, epsilon=1, confidence=1 - Fraction(1, 10**power))
    assert found.confidence < 1
    assert found.miss == Fraction(1, 10**power)
    assert found.accuracies(1)["laplace"] == found.accuracy
    assert f"with probability 1 − 1e-{power:02}" in str(found)
    assert f"probability {found.chance}." in str(found.plot().get_label())


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(ParameterError, match="ask too much"):
        solve(10**6, n=10, epsilon=1e-6, accuracy=0.01, confidence=None)
    with pytest.raises(ParameterError, match="ask too much"):
        solve(None, n=10, epsilon=1e-6, accuracy=0.01)
    with pytest.raises(ParameterError, match="one record"):
        solve(Workload.prefix(4), n=10, epsilon=1, adjacency=EDGE)
    for epsilon in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ParameterError):
            solve(10, n=10, epsilon=epsilon)
