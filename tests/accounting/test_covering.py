"""A cost is accepted if it is true, and refused if it is a lie: releases that are known by bounds only."""

from __future__ import annotations

import warnings
from fractions import Fraction

import pytest

import dither as dp
from dither.accounting.composition import WideBracket, compose
from dither.accounting.covering import keeps_pair
from dither.errors import ParameterError
from dither.events import Composed, Event, LaplaceNoise, TestAndRelease
from dither.ledger.budget import check_cost

DELTA = Fraction("1e-6")


def behind_a_test(threshold: int = 30) -> Event:
    return TestAndRelease(LaplaceNoise(Fraction(2), step=Fraction(1)), Fraction(threshold), LaplaceNoise(Fraction(2)))


def cost_of(event: Event, delta: Fraction) -> tuple[Fraction, Fraction]:
    """ε(δ) from both sides, as everybody can compute it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)
        low, high = compose([event]).bracket(delta)
    return Fraction(low), Fraction(high)


@pytest.mark.parametrize("times", [2, 3, 5])
def test_the_cost_of_repeated_tested_releases_is_accepted_as_it_is_computed(times: int) -> None:
    """δ at that ε is found in another way, and was a hundredth too large for five of them."""
    event = Composed((behind_a_test(),) * times)
    epsilon = cost_of(event, DELTA)[1]
    assert keeps_pair(event, epsilon, DELTA)
    check_cost(event, dp.ApproxDP(epsilon, DELTA))


def test_a_lie_about_repeated_tested_releases_is_refused() -> None:
    """Less than the cost that is certain, or less than the mass of the answers that may give everything away."""
    eight, delta = Composed((behind_a_test(),) * 8), Fraction("1e-5")
    low, high = cost_of(eight, delta)
    assert 0 < low < high
    assert keeps_pair(eight, high, delta)
    assert not keeps_pair(eight, low * Fraction(999, 1000), delta)
    assert not keeps_pair(eight, Fraction(100), Fraction("1e-7")), "one of them alone has a mass of 1.15e-7"
    with pytest.raises(ParameterError, match="costs more than"):
        check_cost(eight, dp.ApproxDP(low * Fraction(999, 1000), delta))


def test_too_many_different_tested_releases_are_told_by_their_number() -> None:
    """It said that 256 are composed at most and that there are 6; the sum of their costs is accepted."""
    event = Composed((*(behind_a_test(30 + at) for at in range(6)), LaplaceNoise(Fraction(3)), behind_a_test(30)))
    with pytest.raises(
        ParameterError, match=r"4 different releases that are known by bounds only .* this event has 6;"
    ):
        keeps_pair(event, Fraction(5), Fraction("1e-3"))
    assert keeps_pair(event, 7 + Fraction(1, 3), Fraction("1e-6"))
