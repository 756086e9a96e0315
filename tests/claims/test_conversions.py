"""Conversions as theorems: what keeps the source keeps the result, and 1 % less would be false.

Each test has its negative control: the same check with a conversion that is 1 % better must fail.
"""

from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb, ctx

from dither.errors import ParameterError
from dither.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    TVStable,
    to_approx,
    to_gaussian,
    to_renyi,
    to_tv,
    to_zcdp,
)
from tests.oracle import closed_forms as oracle
from tests.oracle.finite import BITS, real
from tests.oracle.points import stream

ONE_PERCENT = Fraction(99, 100)
EPSILONS = [Fraction(n, 20) for n in range(0, 200, 3)]
ORDERS = [1 + Fraction(2) ** n for n in range(-6, 8)]


def dominates(guarantee: Guarantee, attained: Callable[[Fraction], arb]) -> bool:
    """Whether the guarantee's profile is nowhere below a profile that is attained."""
    return all(arb(guarantee.delta(epsilon)) >= attained(epsilon) for epsilon in EPSILONS)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(3), Fraction(20)])
def test_pure_to_zcdp_is_the_smallest(epsilon: Fraction) -> None:
    """ρ = ε·tanh(ε/2): above every D_α/α of randomized response, attained in the limit α → 1."""
    rho = to_zcdp(PureDP(epsilon)).rho
    orders = [1 + Fraction(1, 10**6), *ORDERS]
    slopes = [oracle.response_renyi(epsilon, order) / real(order) for order in orders]
    assert all(real(rho) >= slope for slope in slopes)
    assert not all(real(rho * ONE_PERCENT) >= slope for slope in slopes)
    assert rho <= epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_pure_to_zcdp_covers_response_and_laplace(epsilon: Fraction) -> None:
    converted = to_zcdp(PureDP(epsilon))
    assert dominates(converted, lambda at: oracle.response_delta(epsilon, at))
    assert dominates(converted, lambda at: oracle.laplace_delta(epsilon, at))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(30)])
def test_pure_to_gaussian_is_the_smallest(epsilon: Fraction) -> None:
    converted = to_gaussian(PureDP(epsilon))
    assert dominates(converted, lambda at: oracle.response_delta(epsilon, at))
    better = GaussianDP.from_square(converted.mu_squared * ONE_PERCENT**2)
    corner = 1 / (1 + real(epsilon).exp())
    below, above = Fraction(float(corner) * (1 - 1e-12)), Fraction(float(corner) * (1 + 1e-12))
    assert converted.beta(above) <= float(corner)
    assert better.beta(below) > float(corner) * (1 + 1e-9)


@pytest.mark.parametrize("square", [Fraction(1, 100), Fraction(1), Fraction(9)])
def test_gaussian_to_zcdp_is_exact(square: Fraction) -> None:
    converted = to_zcdp(GaussianDP.from_square(square))
    assert converted.rho == square / 2
    assert dominates(converted, lambda at: oracle.gaussian_delta(square, at))
    assert GaussianDP.from_square(square).implies(converted)
    assert not GaussianDP.from_square(square).implies(ZCDP(converted.rho * ONE_PERCENT))


def test_one_percent_less_rho_is_noticed() -> None:
    """Few mechanisms come near the zCDP bound on δ, so the control is on Rényi divergences, where Gaussians do."""
    assert all(ZCDP(Fraction(1, 2)).renyi(order) >= order / 2 for order in ORDERS)
    assert not all(ZCDP(Fraction(1, 2) * ONE_PERCENT).renyi(order) >= order / 2 for order in ORDERS)


@pytest.mark.parametrize("square", [Fraction(1, 4), Fraction(1), Fraction(4)])
def test_gaussian_to_approx_is_exact(square: Fraction) -> None:
    for delta in (Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)):
        epsilon = to_approx(GaussianDP.from_square(square), delta).stated_epsilon
        if epsilon:
            assert oracle.gaussian_delta(square, epsilon) <= real(delta)
            assert oracle.gaussian_delta(square, epsilon * ONE_PERCENT) > real(delta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_pure_and_approximate_to_tv(epsilon: Fraction) -> None:
    """C23: tanh(ε/2), attained by randomized response; with δ, (e^ε − 1 + 2δ)/(e^ε + 1)."""
    exact = oracle.response_delta(epsilon, Fraction(0))
    stated = to_tv(PureDP(epsilon)).stated_tv
    with ctx.workprec(BITS):
        assert real(stated) >= exact
        assert not real(stated * ONE_PERCENT) >= exact
    assert arb(PureDP(epsilon).tv()) <= (real(epsilon).exp() - 1) / 2
    delta = Fraction(1, 1000)
    odds = real(epsilon).exp()
    printed = (odds - 1 + 2 * real(delta)) / (odds + 1)
    assert abs(arb(ApproxDP(epsilon, delta).tv()) - printed) < 1e-15


def test_renyi_of_response_and_gaussian() -> None:
    for order in ORDERS:
        exact = oracle.response_renyi(Fraction(2), order)
        assert exact <= arb(PureDP(2).renyi(order)) <= exact * (1 + arb(10) ** -12)
        assert GaussianDP(2).renyi(order) == pytest.approx(2 * float(order), rel=1e-15)
    curve = to_renyi(PureDP(2), ORDERS)
    assert dominates(curve, lambda at: oracle.response_delta(Fraction(2), at))
    assert PureDP(2).implies(curve)
    assert not PureDP(2).implies(RenyiDP({order: value * ONE_PERCENT for order, value in curve.points}))


def test_gaussian_noise_of_the_third_lecture() -> None:
    """C7: N(0, Δ²/ρ) is (ρ/2 + √(2ρ ln 1/δ), δ)-DP; it is √ρ-GDP, and the true δ is far below the claim."""
    for rho in (Fraction(1, 10), Fraction(1), Fraction(4)):
        for exponent in (2, 6, 10):
            delta = Fraction(1, 10**exponent)
            claimed = real(rho) / 2 + (2 * real(rho) * (1 / real(delta)).log()).sqrt()
            truth = GaussianDP.from_square(rho).delta(Fraction(float(claimed)))
            assert truth < delta / 4


def test_gaussian_is_never_pure() -> None:
    """C8: the loss is unbounded, so δ(ε) > 0 for every ε; also where it underflows."""
    for epsilon in (0, 1, 100, 10**4, 10**9, 10**300):
        assert GaussianDP(1).delta(epsilon) > 0
    assert GaussianDP(1).epsilon(0) == float("inf")
    assert not GaussianDP(Fraction(1, 100)).implies(PureDP(1000))


def test_randomized_response_keeps_p_else_flips_a_coin() -> None:
    """C9: ln(1 + 2p/(1−p)) is what two finite distributions give, and no less."""
    from dither.guarantees import multiplicative_distance

    for keep in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        true = keep + (1 - keep) / 2
        found = multiplicative_distance([true, 1 - true], [1 - true, true])
        with ctx.workprec(BITS):
            stated = (1 + 2 * real(keep) / (1 - real(keep))).log()
            assert stated <= arb(found) <= stated * (1 + arb(10) ** -12)


def test_name_and_shame_is_one_over_n() -> None:
    """C26: publishing one record of n at random is (0, 1/n)-DP and no better, whatever ε is."""
    from dither.guarantees import hockey_stick

    n = 50
    first = {f"record {index}": Fraction(1, n) for index in range(n)}
    second = {**{f"record {index}": Fraction(1, n) for index in range(n - 1)}, "other": Fraction(1, n)}
    for epsilon in (0, 1, 10):
        assert hockey_stick(first, second, epsilon) == pytest.approx(1 / n, rel=1e-15)
    assert TVStable(Fraction(1, n)).delta(10) == pytest.approx(1 / n, rel=1e-15)


def test_membership_inference() -> None:
    """C27: TPR ≤ e^ε FPR + δ, and the whole curve is at least as good."""
    for points in stream("membership", 100):
        epsilon, delta, rate = points.size(-2, 1), points.probability(), points.probability()
        bound = real(epsilon).exp() * real(rate) + real(delta)
        answer = ApproxDP(epsilon, delta).true_positive_rate(rate)
        assert arb(answer) <= bound + arb(10) ** -15
        assert answer <= 1


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (PureDP(1), ApproxDP(1, 0)),
        (PureDP(1), ApproxDP("0.5", "0.2877")),
        (PureDP(1), ZCDP("0.4622")),
        (PureDP(1), GaussianDP("1.2321")),
        (PureDP(1), TVStable("0.4622")),
        (PureDP(1), RenyiDP({2: "0.84"})),
        (ApproxDP(1, 0), PureDP(1)),
        (ApproxDP(1, "1e-6"), ApproxDP(2, "1e-6")),
        (ApproxDP(1, "1e-6"), TVStable("0.4622")),
        (TVStable("0.1"), ApproxDP(0, "0.1")),
        (TVStable("0.1"), TVStable("0.1")),
        (GaussianDP(1), ApproxDP("4.8866", "1e-6")),
        (GaussianDP(1), ZCDP("0.5")),
        (GaussianDP(1), RenyiDP({2: 1, 10: 5})),
        (GaussianDP(1), TVStable("0.383")),
        (ZCDP("0.5"), ApproxDP("5.2216", "1e-6")),
        (ZCDP("0.5"), RenyiDP({2: 1})),
        (RenyiDP({4: 1}), RenyiDP({2: 1})),
        (RenyiDP({2: 0}), PureDP(0)),
        (ZCDP(0), GaussianDP(0)),
    ],
    ids=str,
)
def test_implies(strong: Guarantee, weak: Guarantee) -> None:
    assert strong.implies(weak)
    assert strong.implies(strong)
    assert weak.implies(weak)


@pytest.mark.parametrize(
    ("strong", "claimed"),
    [
        (PureDP(1), PureDP("0.999")),
        (PureDP(1), ApproxDP("0.5", "0.2876")),
        (PureDP(1), ZCDP("0.4621")),
        (PureDP(1), GaussianDP("1.2320")),
        (PureDP(1), TVStable("0.4621")),
        (PureDP(1), RenyiDP({2: "0.70"})),
        (ApproxDP(1, "1e-6"), PureDP(100)),
        (ApproxDP(1, "1e-6"), ZCDP(100)),
        (ApproxDP(1, "1e-6"), GaussianDP(100)),
        (ApproxDP(1, "1e-6"), RenyiDP({2: 100})),
        (TVStable("0.1"), ApproxDP(10, "0.0999")),
        (GaussianDP(1), PureDP(100)),
        (GaussianDP(1), ApproxDP("4.8865", "1e-6")),
        (GaussianDP(1), ZCDP("0.4999")),
        (ZCDP("0.5"), GaussianDP(1)),
        (RenyiDP({2: 1}), RenyiDP({4: 1})),
        (RenyiDP({2: 1}), ZCDP(100)),
    ],
    ids=str,
)
def test_does_not_imply(strong: Guarantee, claimed: Guarantee) -> None:
    assert not strong.implies(claimed)


@pytest.mark.parametrize("source", [TVStable("0.1"), ApproxDP(1, "1e-6"), RenyiDP({2: 1})], ids=str)
def test_what_is_not_implied_is_refused(source: Guarantee) -> None:
    with pytest.raises(ParameterError, match="implies no zCDP"):
        to_zcdp(source)
    with pytest.raises(ParameterError, match="implies no Gaussian DP"):
        to_gaussian(source)


def test_no_epsilon_is_refused() -> None:
    with pytest.raises(ParameterError, match="larger delta"):
        to_approx(ApproxDP(1, "1e-3"), "1e-6")
    with pytest.raises(ParameterError, match="no Rényi divergence"):
        to_renyi(TVStable("0.1"))
