"""Costs that were once too small, or answers that were no bounds: each of these must stay on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from flint import arb, ctx

from dither.accounting import WideBracket, compose, composition, of_pairs
from dither.accounting.loss_law import span
from dither.accounting.noise_calibration import gaussian_scale, most_repetitions
from dither.errors import ParameterError
from dither.events import (
    Event,
    FixedSizeSampled,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    Repeated,
    Stated,
    TestAndRelease,
)
from dither.guarantees import ZCDP, ApproxDP
from dither.pairs import ProfileOf
from dither.pairs.finite import FinitePair, finite
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import ConcentratedPair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import fixed_size
from dither.pairs.two_point import TwoPointPair
from tests.oracle import compositions as oracle
from tests.oracle.points import stream

HALF = Fraction(1, 2)


def upper(event: Event, times: int, delta: float = 1e-6) -> float:
    return compose([Repeated(event, times)], relative_width=0.1).upper_epsilon(delta)


def lower(event: Event, times: int, delta: float = 1e-6) -> float:
    return compose([Repeated(event, times)], relative_width=0.1).bracket(delta).lower


def sampled(event: Event, sampling: str) -> Event:
    return PoissonSampled(event, HALF) if sampling == "Poisson" else FixedSizeSampled(event, 1, 2)


@pytest.mark.parametrize("sampling", ["Poisson", "fixed size"])
@pytest.mark.parametrize("times", [1, 2, 30])
def test_sampled_moments_cost_what_the_worst_mechanism_with_them_costs(sampling: str, times: int) -> None:
    """ε-DP has D_α ≤ αε²/2, and so has Gaussian noise: neither may cost more than the stated moments."""
    rho = Fraction(1, 8)
    orders = [Fraction(3, 2), Fraction(4), Fraction(20)]
    stated: list[Event] = [
        Stated("ZCDP", (rho,)),
        Stated("RenyiDP", tuple(number for order in orders for number in (order, order * rho))),
    ]
    kept: list[Event] = [Stated("PureDP", (HALF,)), GaussianNoise(variance=1 / (2 * rho))]
    for bound in stated:
        for mechanism in kept:
            assert upper(sampled(bound, sampling), times) >= lower(sampled(mechanism, sampling), times)


def test_one_stated_order_is_not_free_on_a_sample() -> None:
    """D₂ ≤ 10 allows an event of probability 10⁻⁵ with an infinite loss nearby: ε is far from 0."""
    event = PoissonSampled(Stated("RenyiDP", (Fraction(2), Fraction(10))), HALF)
    assert upper(event, 2) >= upper(event, 1) > 10


@pytest.mark.parametrize("sampling", ["Poisson", "fixed size"])
def test_more_dimensions_on_a_lattice_never_cost_less(sampling: str) -> None:
    line, plane = (
        sampled(GaussianNoise(variance=Fraction(4), step=Fraction(1), dimension=dimension), sampling)
        for dimension in (1, 2)
    )
    for times in (1, 2, 20):
        assert upper(plane, times) >= lower(line, times)


def check_all_orders(pair: FinitePair, times: int, epsilon: Fraction) -> tuple[float, arb]:
    """δ of several releases, each of which may have its worst neighbours in its own order."""
    found = compose([ProfileOf(pair)] * times, relative_width=0.1).delta(epsilon)
    worst = arb(0)
    with ctx.workprec(oracle.BITS):
        for orders in combinations_with_replacement([(pair.p, pair.q), (pair.q, pair.p)], times):
            profile = oracle.finite_product([(list(p), list(q), 1) for p, q in orders])
            worst = worst.max(profile(oracle.real(epsilon)))
        assert not worst > arb(found), (pair, times, epsilon, found)
    return found, worst


def test_a_profile_holds_in_either_order_for_each_release() -> None:
    """Mixed orders cost more than all forwards or all backwards here."""
    pair = finite(["0.142", "0.835", "0.023"], ["0.356", "0.638", "0.006"])
    found, worst = check_all_orders(pair, 2, Fraction(2))
    assert found > 1.41e-3
    assert float(worst) > 1.4e-3
    for oriented in (pair, pair.swapped()):
        assert compose([oriented] * 2).delta(2) < 1.41e-3


def test_mixed_orders_of_random_pairs() -> None:
    for points in stream("mixed orders", 25):
        pair = FinitePair(tuple(points.masses(3)), tuple(points.masses(3)))
        for times in (1, 2, 3):
            check_all_orders(pair, times, points.size(-1.5, 0.7))


def test_a_delta_below_all_floats_is_not_zero() -> None:
    """All 2000 losses at their largest have the probability 2^-2000: positive, and below every float."""
    low, high = compose([Repeated(LaplaceNoise(Fraction(1)), 2000)]).delta_bracket(1900)
    assert low == 0 < high < 1e-300
    assert compose([Repeated(LaplaceNoise(Fraction(1)), 2000)]).delta(2000) == 0


@pytest.mark.parametrize("times", [2300, 2430, 2500, 2590, 3500])
def test_deltas_at_the_end_of_the_floats_are_bracketed(times: int) -> None:
    """Of `times` answers at most one was false: δ(ε) lies between e^-1010 and e^-650."""
    odds = Fraction(3)
    epsilon = Fraction((times - 2.5) * math.log(odds))
    with ctx.workprec(oracle.BITS):
        truth = oracle.responses(odds, times)(oracle.real(epsilon))
    low, high = of_pairs([(TwoPointPair(odds=odds), times)], relative_width=0.1).delta_bracket(epsilon)
    with ctx.workprec(oracle.BITS):
        assert arb(low) <= truth <= arb(high), (low, truth, high)
    assert high > 0


@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
@pytest.mark.parametrize("rate", ["1e-3", "1e-9", "1e-15", "1e-18", "1e-30"])
def test_the_largest_loss_of_rare_samples_is_bracketed(rate: str) -> None:
    """ln(1 + γ(e − 1)) is far below 1 here, and so is the room for rounding."""
    share = Fraction(rate)
    event = PoissonSampled(LaplaceNoise(Fraction(1)), share)
    low, high = compose([Repeated(event, 3)]).bracket(0)
    with ctx.workprec(oracle.BITS):
        truth = 3 * (1 + oracle.real(share) * (arb(1).exp() - 1)).log()
        assert arb(low) <= truth <= arb(high)


def test_nothing_is_claimed_from_below_where_only_bounds_are_known() -> None:
    event = PoissonSampled(Stated("RenyiDP", (Fraction(2), Fraction(10))), HALF)
    assert compose([Repeated(event, 3)]).bracket(0) == (0, math.inf)


HUGE = Fraction(10) ** 300


@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
@pytest.mark.parametrize("times", [1, 2, 10**18])
@pytest.mark.parametrize(
    "event",
    [
        GaussianNoise(variance=1 / HUGE, sensitivity_squared=HUGE),
        GaussianNoise(variance=HUGE, sensitivity_squared=1 / HUGE),
        LaplaceNoise(1 / HUGE, HUGE),
        LaplaceNoise(HUGE, 1 / HUGE),
        LaplaceNoise(Fraction(10**9)),
    ],
    ids=str,
)
def test_extreme_sizes_get_a_valid_bound(event: Event, times: int) -> None:
    """Perhaps a trivial one; basic composition where it says something."""
    whole = compose([Repeated(event, times)])
    low, high = whole.bracket(1e-6)
    assert 0 <= low <= high
    least, most = whole.delta_bracket(1)
    assert 0 <= least <= most <= 1
    assert whole.upper_epsilon(1e-6) >= low
    if isinstance(event, LaplaceNoise):
        assert whole.bracket(0).upper > 0


def test_a_level_next_to_one_has_a_type_two_error() -> None:
    for level in ("0.99999999999999999999999", "0." + "9" * 390):
        assert 0 <= ZCDP(1).beta(level) <= 1 - Fraction(level)


def test_a_type_two_error_is_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Close to where a supporting line crosses 0, the rounding of its two terms is many ulp of their difference."""
    whole = compose([LaplaceNoise(Fraction(1))])
    for points in stream("type two errors", 400):
        epsilon, delta = float(points.size(-3, 1)), float(points.probability(-6))
        monkeypatch.setattr(
            composition, "composed_curve", lambda *_, e=epsilon, d=delta: (np.array([e]), np.array([d]))
        )
        level = (1 - Fraction(delta)) / Fraction(math.exp(epsilon)) * (1 - points.size(-15, -12))
        found = whole.beta(level)
        with ctx.workprec(oracle.BITS):
            odds, rest = arb(epsilon).exp(), 1 - arb(delta)
            truth = (rest - odds * oracle.real(level)).max((rest - oracle.real(level)) / odds).max(arb(0))
            assert not arb(found) > truth, (epsilon, delta, level)


def test_beta_of_noise_beyond_the_floats_is_a_valid_bound() -> None:
    for event in (
        GaussianNoise(variance=HUGE, sensitivity_squared=1 / HUGE),
        GaussianNoise(variance=HUGE),
        GaussianNoise(variance=1 / HUGE),
    ):
        assert 0 <= compose([event]).beta("0.3") <= 0.7
    assert (
        compose([GaussianNoise(variance=HUGE, sensitivity_squared=1 / HUGE), LaplaceNoise(Fraction(1))])
        .bracket(1e-6)
        .upper
        >= 1
    )


def test_a_wide_bracket_on_delta_is_not_silent() -> None:
    odd = finite(["0.5", "0.3", "0.2"], ["0.3", "0.35", "0.35"])
    with pytest.warns(WideBracket, match="delta at epsilon=1"):
        low, high = of_pairs([(odd, 30)], relative_width=1e-13).delta_bracket(1)
    assert low < high


@pytest.mark.parametrize("times", [10**5, 10**6])
@pytest.mark.parametrize(
    "pair", [LaplacePair(Fraction(1)), GaussianPair(Fraction(1))], ids=lambda pair: type(pair).__name__
)
def test_small_samples_many_times_have_a_narrow_bracket(pair: Pair, times: int) -> None:
    """Most of the loss is an atom at 0: the lattice must meet it, and the sketch must see what lies around it."""
    low, high = of_pairs([(fixed_size(pair, Fraction(1, 1000)), times)], relative_width=1e-3).bracket("1e-6")
    assert 0 < high - low <= 1e-3 * high


def test_calibration_looks_around_the_sensitivity() -> None:
    small, large = (gaussian_scale(epsilon=1, delta="1e-6", sensitivity=size) for size in (1, 10**13))
    assert large == pytest.approx(small * 1e13, rel=1e-9)


def test_an_infinite_cost_fits_no_budget() -> None:
    assert most_repetitions(ApproxDP(1, HALF), epsilon=Fraction(10) ** 301, delta=0) == 0


@pytest.mark.parametrize(
    "test", [LaplaceNoise(Fraction(1), HALF), GaussianNoise(variance=Fraction(1), sensitivity_squared=HALF)], ids=str
)
def test_a_tested_distance_has_a_sensitivity_of_one(test: Event) -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        TestAndRelease(test, Fraction(3), LaplaceNoise(Fraction(1)))


@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**3), Fraction(1)])
def test_losses_of_which_only_bounds_are_known_reach_as_far_on_either_side(rho: Fraction) -> None:
    """Below, ln of what may be lost, 30 for any ρ, would make lattices long and their steps wide."""
    low, high = span(ConcentratedPair(rho), 1e-13, 1e-13)
    scale = math.sqrt(2 * rho)
    assert -10 * scale - rho < low < -5 * scale
    assert 5 * scale < high < 10 * scale + rho
    both = of_pairs([(ConcentratedPair(rho), 1), (GaussianPair(2 * rho), 1)])
    found = both.delta_bracket(Fraction(4 * scale))
    exact = GaussianPair(4 * rho).delta_bracket(Fraction(4 * scale))
    assert found[0] <= exact[1]
    assert exact[0] <= found[1] <= 2 * ZCDP(2 * rho).delta(Fraction(4 * scale))
