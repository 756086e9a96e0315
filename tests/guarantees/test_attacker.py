"""What an attacker can become: the bounds against every event of small worlds, and against the normal law."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import ParameterError
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, TVStable, best_guess, largest_posterior

pytestmark = pytest.mark.property

PRIORS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(999, 1000)]


def worst_pair(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    """The two output distributions of the worst (ε, δ)-DP mechanism: four outcomes."""
    likely = (1 - delta) / (1 + math.exp(-epsilon))
    rare = (1 - delta) / (1 + math.exp(epsilon))
    return [delta, likely, rare, 0.0], [0.0, rare, likely, delta]


def guesses(prior: float, p: list[float], q: list[float]) -> float:
    """The best of all events: every test that says P on some outcomes and Q on the others."""
    return max(
        sum(prior * p[i] if says else (1 - prior) * q[i] for i, says in enumerate(event))
        for event in product((True, False), repeat=len(p))
    )


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (0.1, 0.0), (1.0, 0.0), (1.0, 1e-3), (8.0, 0.25)])
def test_the_best_guess_is_the_best_event_of_the_worst_pair(epsilon: float, delta: float, prior: Fraction) -> None:
    bound = best_guess(ApproxDP(epsilon, delta), prior)
    assert bound == pytest.approx(guesses(float(prior), *worst_pair(epsilon, delta)), rel=1e-12)


@given(st.floats(1e-9, 20), st.floats(1e-6, 1 - 1e-6))
def test_how_sure_under_pure_privacy_is_the_formula_of_bayes(epsilon: float, prior: float) -> None:
    true = prior * math.exp(epsilon) / (prior * math.exp(epsilon) + 1 - prior)
    bound = largest_posterior(PureDP(epsilon), prior)
    assert true * (1 - 1e-12) <= bound <= min(1, true * (1 + 1e-12))
    assert bound <= largest_posterior(PureDP(epsilon), prior, chance=0) * (1 + 1e-15)


@given(st.floats(0.01, 5), st.sampled_from([1e-9, 1e-6, 1e-3, 0.1]), st.sampled_from(PRIORS))
def test_how_sure_under_gaussian_privacy_is_exceeded_rarely(mu: float, chance: float, prior: Fraction) -> None:
    """The loss is normal with mean μ²/2 and variance μ², so the chance to exceed a posterior is known."""
    bound = largest_posterior(GaussianDP(mu), prior, chance)
    if bound == 1.0:
        return
    odds = bound / (1 - bound) * float((1 - prior) / prior)
    exceeded = math.erfc((math.log(odds) - mu * mu / 2) / mu / math.sqrt(2)) / 2
    assert exceeded <= chance * (1 + 1e-6)


def test_a_loss_that_is_a_tenth_too_small_would_be_seen() -> None:
    """The bound is not so loose that it would hide a mistake: a tenth less of the loss passes the chance."""
    mu, chance = 1.0, 1e-3
    bound = largest_posterior(GaussianDP(mu), chance=chance)
    loss = math.log(bound / (1 - bound)) * 0.9
    assert math.erfc((loss - mu * mu / 2) / mu / math.sqrt(2)) / 2 > chance


@pytest.mark.parametrize("guarantee", [PureDP(1), ApproxDP(1, 1e-6), ZCDP(0.5), GaussianDP(1), TVStable(0.25)])
def test_more_aside_is_less_sure_and_both_stay_probabilities(guarantee: PureDP) -> None:
    bounds = [largest_posterior(guarantee, 0.5, chance) for chance in (0, 1e-9, 1e-5, 1e-2)]
    assert bounds == sorted(bounds, reverse=True)
    for prior in PRIORS:
        assert max(prior, 1 - prior) <= Fraction(best_guess(guarantee, prior)) <= 1


def test_half_sure_becomes_half_plus_half_the_distance() -> None:
    for guarantee in (PureDP(2), GaussianDP(1), TVStable(0.3)):
        assert best_guess(guarantee) == pytest.approx((1 + guarantee.tv()) / 2, rel=1e-14)


def test_where_anything_may_happen_one_may_be_certain() -> None:
    assert largest_posterior(ApproxDP(1, 0.01), 0.5) == 1
    assert largest_posterior(ApproxDP(1, 0.01), 0.5, chance=0.001) == 1


@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.5, math.nan, math.inf, True, "a"])
def test_a_prior_is_strictly_between_0_and_1(prior: object) -> None:
    for question in (best_guess, largest_posterior):
        with pytest.raises(ParameterError, match="prior"):
            question(PureDP(1), prior)  # type: ignore[arg-type]


@pytest.mark.parametrize("chance", [-0.1, 1.5, math.nan, True])
def test_a_chance_is_a_probability(chance: float) -> None:
    with pytest.raises(ParameterError, match="chance"):
        largest_posterior(PureDP(1), 0.5, chance)


def test_a_prior_that_is_almost_one_half_is_taken() -> None:
    assert best_guess(PureDP(1), "0." + "4" + "9" * 320) == pytest.approx(0.7310585786)
