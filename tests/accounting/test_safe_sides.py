"""Answers, filters and calibration at the last digit: each errs to the safe side."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dither import events
from dither.accounting import compose, composed_brackets, composition, of_pairs
from dither.accounting.bracket_search import Bracket
from dither.accounting.filters import BasicFilter, BasicOdometer, ZCDPFilter, pure_cost, zcdp_cost
from dither.accounting.noise_calibration import epsilon_for_error
from dither.errors import OverBudget
from dither.exact import Ball, ball, precision, rational
from dither.exact.certified import read_above
from dither.guarantees import ApproxDP, PureDP
from dither.guarantees.conversions import to_gaussian
from dither.pairs.bounded_range import BoundedRangePair
from dither.pairs.finite import finite
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.subsampled import poisson
from tests.oracle.points import stream

LAPLACE = events.LaplaceNoise(Fraction(50))


@pytest.mark.parametrize("loss", [Fraction(1, 3), 1 + Fraction(1, 2**52), Fraction(7, 10)], ids=str)
def test_sums_of_the_largest_losses_are_bracketed(loss: Fraction) -> None:
    for times in (2, 3, 5, 7):
        low, high = compose([PureDP(loss)] * times).bracket(0)
        assert Fraction(low) <= times * loss <= read_above(high), "1.4 as it is written is enough for 7/5"


def test_delta_is_positive_up_to_the_largest_loss() -> None:
    assert compose([PureDP(1)] * 2).delta(Fraction(19995, 10000)) > 0


def test_beta_without_type_one_errors_is_a_number() -> None:
    assert 0 <= compose([events.LaplaceNoise(Fraction(1, 1000))] * 2).beta(0) <= 1


def assert_beta_is_below_its_curve(
    monkeypatch: pytest.MonkeyPatch, epsilon: float, delta: float, level: Fraction
) -> None:
    """β from a curve of one point against the same differences in 200 bits."""
    monkeypatch.setattr(composition, "composed_curve", lambda *_: (np.array([epsilon]), np.array([delta])))
    found = compose([LAPLACE]).beta(level)
    with precision(200):
        rest, growth = 1 - Ball(delta), Ball(epsilon).exp()
        truth = (rest - growth * ball(level)).max((rest - ball(level)) / growth)
        assert 0 < ball(Fraction(found)) <= truth


def test_beta_where_one_and_the_grown_level_almost_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    for points in stream("steep beta", 200):
        epsilon = 32 + float(points.probability())
        with precision(200):
            edge = Fraction(float((-Ball(epsilon)).exp().mid()))
        assert_beta_is_below_its_curve(monkeypatch, epsilon, 0.0, edge * (1 - points.size(-13.5, -13)))


def test_beta_where_one_minus_delta_is_rounded_up_and_the_level_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 − δ = ½ + (j + ½)·2^-53 is rounded to even, upwards for odd j; the level to ½ − 2^-54, downwards."""
    level = Fraction(1, 2) - Fraction(1, 2**54) + Fraction(999, 1000 * 2**55)
    for j in (33, 35, 63):
        assert_beta_is_below_its_curve(monkeypatch, 1.0, 0.5 - (2 * j + 1) * 2.0**-54, level)


def test_the_worse_direction_counts() -> None:
    for points in stream("worse direction", 4):
        group = (poisson(LaplacePair(points.size(-0.5, 0.5)), points.probability(-1)), 3)
        whole = of_pairs([group], relative_width=1e-3)
        assert whole.upper_epsilon("1e-4") >= whole.bracket("1e-4").lower
        for pair in (group[0], group[0].swapped()):
            assert whole.upper_epsilon("1e-4") >= pair.bracket(Fraction(1, 10**4))[0]


@pytest.mark.parametrize("second", [Bracket(1.4, 1.5), Bracket(0.9, 1.2)])
def test_a_direction_is_left_out_only_if_it_is_certainly_cheaper(
    second: Bracket, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Bracket(1.0, 1.1)
    plans = iter([SimpleNamespace(saddle=SimpleNamespace(epsilon=e)) for e in (1.0, 0.9)])
    answers = iter([first, second])
    monkeypatch.setattr(composed_brackets, "plan_for_delta", lambda *_: next(plans))
    monkeypatch.setattr(composed_brackets, "epsilon_bracket", lambda *_: next(answers))
    monkeypatch.setattr(composed_brackets, "upper_epsilon", lambda *_: second.upper)
    groups: Any = of_pairs([(poisson(LaplacePair(Fraction(1)), Fraction(1, 2)), 2)]).groups
    found = composed_brackets._worst_direction(groups, Fraction(1, 100), 1e-4)
    assert found == (max(first.lower, second.lower), max(first.upper, second.upper))


def test_a_filter_watches_delta_too() -> None:
    with pytest.raises(OverBudget, match="delta"):
        BasicFilter(10, "1e-6").charge(ApproxDP("0.1", "1e-5"))


def test_repetitions_are_charged_each() -> None:
    stated = events.Stated("ApproxDP", (Fraction(1, 10), Fraction(1, 100)))
    assert pure_cost(events.Repeated(stated, 3)) == (Fraction(3, 10), Fraction(3, 100))
    assert zcdp_cost(events.Repeated(events.GaussianNoise(variance=Fraction(1)), 3)) == Fraction(3, 2)
    assert BasicOdometer().charge(events.Repeated(LAPLACE, 5)).epsilon == Fraction(1, 10)


def test_both_directions_of_a_pair_are_charged() -> None:
    for pair in (leaking := finite(["0.5", "0.5", "0"], ["0.2", "0.7", "0.1"]), leaking.swapped()):
        epsilon, delta = pure_cost(pair)
        assert delta == Fraction(1, 10)
        with precision(128):
            assert ball(epsilon) >= ball(Fraction(5, 2)).log()


def test_concentrated_costs() -> None:
    assert zcdp_cost(GaussianPair(Fraction(3))) == Fraction(3, 2)
    assert zcdp_cost(BoundedRangePair(Fraction(4))) == 2
    for points in stream("concentrated", 20):
        size = points.size(-2, 1)
        used = ZCDPFilter(10**3).charge(PureDP(size)).used
        with precision(200):
            assert ball(used) >= ball(size) * (ball(size) / 2).tanh()


def test_the_scale_for_an_error_is_rounded_down() -> None:
    """So is the decimal that names it, which is what is accounted for."""
    for points in stream("scale for an error", 40):
        error, level = points.size(-2, 3), 1 - points.probability(-3)
        laplace, gauss = (rational(epsilon_for_error(error, confidence=level, delta=d).scale) for d in (0, "1e-6"))
        with precision(200):
            assert (-ball(error / laplace)).exp() <= ball(1 - level)
            assert (ball(error / gauss) / Ball(2).sqrt()).erfc() <= ball(1 - level)


def test_the_gaussian_of_a_huge_epsilon_is_not_too_small() -> None:
    """−2Φ⁻¹(1/(1 + e^ε)) is √(8ε) up to a share that vanishes."""
    epsilon = Fraction(10) ** 300
    assert to_gaussian(PureDP(epsilon)).mu_squared >= Fraction(99, 100) * 8 * epsilon
