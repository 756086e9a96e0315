"""A composition is a guarantee like any other: divergences, conversions, groups, curves, and what it says of itself."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import dither as dp
from dither.accounting import Composition
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import AdjacencyMismatch, ParameterError
from dither.events import FixedSizeSampled, GaussianNoise, LaplaceNoise, PoissonSampled, Repeated
from dither.guarantees import best_guess, largest_posterior, to_gaussian, to_renyi, to_tv, to_zcdp


def training(rate: str = "0.01", sigma: str = "1", rounds: int = 1) -> Composition:
    return dp.compose([Repeated(PoissonSampled(GaussianNoise.of(Fraction(sigma)), Fraction(rate)), rounds)])


def sampled_gaussian(order: int, rate: float, sigma: float) -> float:
    """D_α((1−γ)Q + γP ‖ Q) for a whole order, by the binomial theorem (Mironov, Talwar and Zhang 2019)."""
    terms = [
        math.comb(order, k) * (1 - rate) ** (order - k) * rate**k * math.exp((k * k - k) / (2 * sigma**2))
        for k in range(order + 1)
    ]
    return math.log(math.fsum(terms)) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 8, 20])
@pytest.mark.parametrize(("rate", "sigma"), [("0.01", "1"), ("0.5", "2"), ("0.9", "0.8"), ("0.2", "30")])
def test_divergences_of_a_sampled_gaussian_are_just_above_the_binomial_sum(order: int, rate: str, sigma: str) -> None:
    exact = sampled_gaussian(order, float(rate), float(sigma))
    found = training(rate, sigma).renyi(order)
    assert exact <= found <= exact * (1 + 1e-3) + 1e-9
    assert training(rate, sigma, 50).renyi(order) == pytest.approx(50 * found, rel=1e-12)


@pytest.mark.parametrize("order", ["1.5", "2", "7", "30.5"])
def test_divergences_of_laplace_noise_are_just_above_the_closed_form(order: str) -> None:
    a, e = float(order), 0.5
    exact = math.log(a / (2 * a - 1) * math.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * math.exp(-a * e)) / (a - 1)
    found = dp.compose([LaplaceNoise(2)] * 3).renyi(order)
    assert 3 * exact <= found <= 3 * exact * (1 + 1e-5)


def test_divergences_of_a_lattice_by_brute_force() -> None:
    x = np.arange(-25, 26)
    weights = np.exp(-(x**2) / (2 * 2.25))
    p, q = weights / weights.sum(), np.roll(weights, 1) / weights.sum()
    for order in (2, 5):
        mixed = 0.7 * q + 0.3 * p
        inside = q > 0
        exact = math.log(float(np.sum(mixed[inside] ** order * q[inside] ** (1.0 - order)))) / (order - 1)
        event = PoissonSampled(GaussianNoise.of(Fraction(3, 2), step=Fraction(1)), Fraction(3, 10))
        found = dp.compose([event]).renyi(order)
        assert exact <= found <= exact * (1 + 1e-3)


def test_what_reveals_everything_has_no_divergence() -> None:
    assert dp.compose([dp.ApproxDP(1, "1e-9"), LaplaceNoise(2)]).renyi(2) == math.inf


def test_the_divergence_implies_no_less_than_the_profile() -> None:
    whole = training("0.02", "1.2", 500)
    rounds = [1 + Fraction(k, 4) for k in range(1, 60)]
    assert whole.epsilon("1e-5") <= to_renyi(whole, rounds).epsilon("1e-5") <= 2 * whole.epsilon("1e-5")


def test_conversions_are_sums_over_the_releases() -> None:
    both = dp.compose([Repeated(GaussianNoise.of(2), 8), LaplaceNoise(1)])
    single = to_zcdp(dp.PureDP(1)).rho
    assert to_zcdp(both).rho == 1 + single
    assert to_gaussian(both).mu_squared == 2 + to_gaussian(dp.PureDP(1)).mu_squared
    assert float(to_tv(both).stated_tv) == both.tv()
    assert both.epsilon("1e-6") <= to_gaussian(both).epsilon("1e-6")
    assert both.epsilon("1e-6") <= to_zcdp(both).epsilon("1e-6")


def test_a_sample_keeps_what_all_data_keep() -> None:
    run = training("0.1", "2", 3)
    assert (to_gaussian(run).mu_squared, to_zcdp(run).rho) == (Fraction(3, 4), Fraction(3, 8))
    assert to_gaussian(run).adjacency == to_zcdp(run).adjacency == ADD_REMOVE
    one = dp.compose([FixedSizeSampled(GaussianNoise.of(2), sample=10, population=100)])
    assert to_gaussian(one).mu_squared == Fraction(1, 4)


def test_what_follows_from_no_part_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="implies no zCDP"):
        to_zcdp(dp.compose([dp.ApproxDP(1, "1e-9"), LaplaceNoise(1)]))
    with pytest.raises(ParameterError, match="implies no Gaussian DP"):
        to_gaussian(dp.compose([dp.Gaussian(sensitivity=1, sigma=2)] * 2))


def test_groups_attackers_and_composing_again() -> None:
    run = training(rounds=20)
    assert run.group(3).epsilon("1e-6") >= run.epsilon("1e-6")
    assert dp.compose([LaplaceNoise(2)] * 3).group(2).epsilon(0) == 3.0
    assert run.true_positive_rate("0.01") == pytest.approx(1 - run.beta("0.01"))
    assert best_guess(run) == pytest.approx((1 + run.tv()) / 2)
    assert largest_posterior(run, "0.01", "1e-6") < 1
    assert dp.compose([run, run]).epsilon("1e-6") == training(rounds=40).epsilon("1e-6")


def test_it_says_what_it_is_in_one_line() -> None:
    assert repr(training(rounds=10_000)) == (
        "Composition(releases=10000, kinds=1, adjacency='add or remove one record')"
    )


def test_curves_are_upper_bounds_close_to_the_brackets_and_warn_of_nothing() -> None:
    run = training(rounds=2000)
    points = [0.0, 0.1, 0.5, 1.0, 2.0, 3.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run.deltas(points)
        for kind in ("profile", "tradeoff", "loss"):
            assert run.plot(kind).axes
    for epsilon, delta in zip(points, found, strict=True):
        lower, upper = run.delta_bracket(epsilon)
        assert lower <= delta <= upper * 1.02
    assert dp.compose([LaplaceNoise(1)] * 2).deltas([2, 3]) == [0.0, 0.0]


def test_a_number_without_a_name_is_neither_a_variance_nor_a_deviation() -> None:
    with pytest.raises(TypeError, match="positional"):
        GaussianNoise(1.1)  # type: ignore[call-arg]
    assert GaussianNoise.of(2) == GaussianNoise(variance=4)


def test_what_a_mechanism_guarantees_costs_what_it_does() -> None:
    """From (ε, δ), too: the promise is only the worst case of one release."""
    mechanism = dp.Gaussian(sensitivity=1, epsilon=1, delta="1e-6")
    assert mechanism.guarantee == dp.ApproxDP(1, "1e-6")
    assert hash(mechanism.guarantee) == hash(dp.ApproxDP(1, "1e-6"))
    promised, done = (dp.compose([each] * 10) for each in (mechanism.guarantee, mechanism))
    assert promised.bracket("1e-5") == done.bracket("1e-5")
    assert promised.epsilon("1e-5") < 4 < dp.compose([dp.ApproxDP(1, "1e-6")] * 10).epsilon("1e-5")


def test_what_keeps_a_promise_must_be_an_event_about_the_same_neighbours() -> None:
    noise = dp.events.GaussianNoise.of(10)
    for wrong in (3, dp.PureDP(1)):
        with pytest.raises(ParameterError, match="done must be the event or the mechanism"):
            dp.ApproxDP(1, "1e-6", done=wrong)
    with pytest.raises(AdjacencyMismatch, match="replace one record"):
        dp.ApproxDP(1, "1e-6", adjacency=ADD_REMOVE, done=dp.events.GaussianNoise.of(10, adjacency=REPLACE_ONE))
    stated = dp.ApproxDP(1, "1e-6", done=noise).under(ADD_REMOVE)
    assert stated.done is noise
    assert dp.compose([stated] * 10).epsilon("1e-6") == dp.compose([noise] * 10).epsilon("1e-6")


def test_what_does_not_keep_a_promise_is_not_composed_in_its_place() -> None:
    promise = dp.ApproxDP(1, "1e-6")
    little = dp.ApproxDP(1, "1e-6", done=dp.events.GaussianNoise.of(Fraction(1, 10)))
    assert dp.compose([little] * 3).epsilon("1e-5") == dp.compose([promise] * 3).epsilon("1e-5")


def test_groups_of_a_promise_are_those_of_what_keeps_it() -> None:
    noise = dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6)
    found = dp.compose([noise.guarantee] * 10).group(3).epsilon("1e-5")
    assert found == pytest.approx(dp.compose([noise.event] * 10).group(3).epsilon("1e-5"))
    assert found < 12
