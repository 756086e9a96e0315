"""Two finite distributions against brute force over every event."""

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx

from dither.errors import NotANumberError, ParameterError, PrecisionError
from dither.exact import ball, precision
from dither.guarantees import (
    ApproxDP,
    hockey_stick,
    indistinguishable,
    multiplicative_distance,
    privacy_loss,
    pure_three_ways,
    tail_condition,
    total_variation,
)
from dither.pairs import ProfileOf
from dither.pairs.finite import finite
from tests.oracle import finite as oracle
from tests.oracle.finite import real
from tests.oracle.points import stream

COUNTS = [pytest.param(150, id="commit"), pytest.param(5_000, id="nightly", marks=pytest.mark.nightly)]
TINY = arb(10) ** -14
ORACLE_ERROR = arb(10) ** -150


@pytest.mark.parametrize("count", COUNTS)
def test_against_every_event(count: int) -> None:
    for points in stream("finite", count):
        outcomes = int(points.choice([Fraction(2), Fraction(3), Fraction(5), Fraction(6)]))
        p, q = points.masses(outcomes), points.masses(outcomes)
        epsilon, delta = points.choice([Fraction(0), points.size(-3, 1)]), points.probability(-4)
        exact = oracle.delta(p, q, epsilon)
        answer = hockey_stick(p, q, epsilon)
        by_loss = privacy_loss(p, q).delta(epsilon)
        with ctx.workprec(oracle.BITS):
            assert exact - ORACLE_ERROR <= arb(answer) <= exact + TINY
            assert exact - TINY <= arb(by_loss) <= exact + TINY
        worst = oracle.worst_delta(p, q, epsilon)
        assert indistinguishable(p, q, epsilon, delta) == bool(worst <= real(delta))
        if tail_condition(p, q, epsilon, delta):
            assert indistinguishable(p, q, epsilon, delta), "C1: the tail condition is sufficient"
        assert privacy_loss(p, q).tail(epsilon) >= Fraction(float(exact)) - Fraction(1, 10**12)


@pytest.mark.parametrize("count", COUNTS)
def test_three_forms_of_pure_dp_agree(count: int) -> None:
    """D1: true together or false together, and decided by the multiplicative distance."""
    seen = set()
    for points in stream("three forms", count):
        p, q = points.masses(4), points.masses(4)
        distance = multiplicative_distance(p, q)
        near = Fraction(distance) if distance < 100 else Fraction(5)
        for epsilon in (near * Fraction(999, 1000), near * Fraction(1001, 1000)):
            forms = pure_three_ways(p, q, epsilon)
            assert len(set(forms)) == 1, (p, q, epsilon)
            assert forms.events == indistinguishable(p, q, epsilon)
            seen.add(forms.events)
    assert seen == {True, False}


def test_the_tail_condition_is_not_necessary() -> None:
    p, q = ["3/4", "1/4"], ["1/4", "3/4"]
    assert indistinguishable(p, q, 1, "0.08")
    assert not tail_condition(p, q, 1, "0.08")


def test_distance_is_a_metric() -> None:
    """D4: symmetric, zero only between equals, and triangular up to rounding."""
    for points in stream("metric", 100):
        p, q, r = (points.masses(3) for _ in range(3))
        direct = multiplicative_distance(p, r)
        detour = multiplicative_distance(p, q) + multiplicative_distance(q, r)
        assert direct <= detour * (1 + 1e-15)
        assert multiplicative_distance(p, q) == multiplicative_distance(q, p)
        assert (multiplicative_distance(p, q) == 0) == (p == q)
        assert total_variation(p, r) <= (total_variation(p, q) + total_variation(q, r)) * (1 + 1e-15)


@pytest.mark.parametrize("count", COUNTS)
def test_trade_off_curves_against_every_test(count: int) -> None:
    """β(α) of a pair is never above the best test in either order, and meets it where the pair is symmetric."""
    for points in stream("trade-off", min(count, 1_000)):
        p, alpha = points.masses(4), points.probability(-3)
        for q, symmetric in ((p[::-1], True), (points.masses(4), False)):
            truth = min(oracle.tradeoff(p, q, alpha), oracle.tradeoff(q, p, alpha))
            answer = ProfileOf(finite(p, q)).beta(alpha)
            assert Fraction(answer) <= truth
            if symmetric:
                assert answer >= float(truth) - 1e-6


def test_the_worst_pair_of_approximate_dp_by_brute_force() -> None:
    for points in stream("worst pair", 60):
        epsilon, delta, alpha = points.size(-2, 1), points.probability(-6), points.probability(-3)
        odds = Fraction(float(real(epsilon).exp()))
        rest = (1 - delta) / (1 + odds)
        p = [delta, rest * odds, rest, Fraction(0)]
        assert ApproxDP(epsilon, delta).beta(alpha) == pytest.approx(
            float(oracle.tradeoff(p, p[::-1], alpha)), rel=1e-9, abs=1e-14
        )
        assert ApproxDP(epsilon, delta).tv() == pytest.approx(total_variation(p, p[::-1]), rel=1e-12)


def test_ties_are_decided() -> None:
    assert indistinguishable([1, 0], [0, 1], 3, 1)
    assert not indistinguishable([1, 0], [0, 1], 3, "0.999999")
    assert indistinguishable(["1/2", "1/2"], ["1/2", "1/2"], 0)
    assert indistinguishable(["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], 0, "1/4")
    assert not indistinguishable(["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], 0, "0.2499999")


def test_a_float_means_its_shortest_decimal() -> None:
    assert total_variation([0.1, 0.9], [0.3, 0.7]) == total_variation(["1/10", "9/10"], ["3/10", "7/10"])
    assert hockey_stick([0.1] * 10, [0.1] * 10, 0) == 0.0


def test_labelled_outcomes_and_missing_ones() -> None:
    assert total_variation({"a": 1}, {"a": "1/2", "b": "1/2"}) == 0.5
    assert multiplicative_distance({"a": 1}, {"a": "1/2", "b": "1/2"}) == float("inf")


def test_balls() -> None:
    with precision(128):
        true = 1 / (1 + ball(-1).exp())
        p, q = [true, 1 - true], [1 - true, true]
        assert multiplicative_distance(p, q) == pytest.approx(1, rel=1e-15)
        assert multiplicative_distance(p, q) >= 1
        assert indistinguishable(p, q, "1.0001")
        assert not indistinguishable(p, q, "0.9999")
        with pytest.raises(PrecisionError, match="too wide"):
            indistinguishable(p, q, 1)
        with pytest.raises(ParameterError, match="exact probabilities"):
            privacy_loss(p, q)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "must not be empty"),
        (["1/2", "1/3"], "sum to 1"),
        ([-1, 2], "0 or more"),
        ([float("nan"), 1], "one finite number"),
        ([True, 0], "boolean"),
        ("ab", "mapping or a list"),
        (3, "mapping or a list"),
    ],
)
def test_bad_distributions(bad: Any, message: str) -> None:
    for both in ((bad, [1, 0]), ([1, 0], bad)):
        with pytest.raises(ParameterError, match=message):
            total_variation(*both)


def test_bad_parameters() -> None:
    coin: list[int | float | str] = ["1/2", "1/2"]
    with pytest.raises(ParameterError, match="epsilon must not be negative"):
        hockey_stick(coin, coin, -1)
    with pytest.raises(ParameterError, match="delta must lie between"):
        indistinguishable(coin, coin, 1, 2)
    with pytest.raises(NotANumberError):
        indistinguishable(coin, coin, float("inf"))
    with pytest.raises(ParameterError, match="at most 16 outcomes"):
        pure_three_ways([Fraction(1, 17)] * 17, [Fraction(1, 17)] * 17, 1)
