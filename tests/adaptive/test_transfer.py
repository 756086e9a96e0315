"""The transfer theorem in small worlds, where both sides can be added up; and its numbers beside naive ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.adaptive.routes import GaussianRoute
from dither.adaptive.transfer import by_total_variation, expected_shortfall, gap, gap_at, printed
from dither.guarantees import GaussianDP, PureDP
from tests.oracle.lattice_sums import gaussian_profile
from tests.oracle.transfers import World, best_attack, largest_noise, shortfall

pytestmark = pytest.mark.property

BETA = Fraction(1, 20)
POINTS, TRANSCRIPTS = 3, 4
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)


def sharp(world: World, epsilon: float, chance: float, *, rate: float = 0.25, leak: float = 1.0) -> float:
    """tanh(ε/4) t + 2δ(ε)/(1 + e^{ε/2})."""
    return math.tanh(rate * epsilon) * chance + leak * 2 / (1 + math.exp(epsilon / 2)) * world.profile(epsilon)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any population, any mechanism, and a query for each transcript; mechanisms of all degrees of privacy."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    steepness = draw(st.sampled_from([0.1, 1.0, 5.0, 30.0]))
    told = np.exp(steepness * generator.random((POINTS, POINTS, TRANSCRIPTS)))
    queries = generator.random((TRANSCRIPTS, POINTS))
    if draw(st.booleans()):
        queries = np.round(queries)
    return World(
        generator.dirichlet(np.full(POINTS, draw(st.sampled_from([0.3, 1.0, 10.0])))),
        told / told.sum(axis=2, keepdims=True),
        queries,
        generator.random(TRANSCRIPTS),
    )


@given(worlds(), st.lists(st.booleans(), min_size=TRANSCRIPTS, max_size=TRANSCRIPTS))
def test_the_posterior_moves_no_further_than_the_lemma_says(world: World, event: list[bool]) -> None:
    for epsilon in EPSILONS:
        assert world.moved(event) <= sharp(world, epsilon, world.chance(event)) + 1e-12


@given(worlds(), st.sampled_from([0.01, 0.05, 0.2, 0.5, 0.9]))
def test_the_whole_theorem_holds(world: World, beta: float) -> None:
    noise = shortfall(*world.sample_errors(), beta)
    for epsilon in EPSILONS:
        bound = noise + sharp(world, epsilon, beta) / beta
        assert world.missed(bound + 1e-12) <= beta + 1e-12


def response(epsilon: float) -> World:
    """Randomized response on the first of two rows; the second row repeats it, so that a query sees one row twice."""
    odds = math.exp(epsilon)
    right, wrong = odds / (1 + odds), 1 / (1 + odds)
    share = 1 / (1 + math.exp(epsilon / 2))
    told = np.zeros((2, 2, 2))
    told[1, :] = [wrong, right]
    told[0, :] = [right, wrong]
    return World(np.array([1 - share, share]), told, np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0]))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_rate_is_attained_and_a_smaller_one_would_be_seen(epsilon: float) -> None:
    """One of the two rows moves by tanh(ε/4), the other not at all: half of it on average."""
    world, event = response(epsilon), [False, True]
    moved, chance = 2 * world.moved(event), world.chance(event)
    assert moved == pytest.approx(sharp(world, epsilon, chance), rel=1e-9)
    assert moved > sharp(world, epsilon, chance, rate=0.2475)


def test_the_leak_is_attained_and_a_smaller_one_would_be_seen() -> None:
    """With probability δ the first of two rows is told; a million kinds of rows would make it exact."""
    kinds, delta = 40, 0.1
    told = np.zeros((kinds, kinds, kinds + 1))
    for row in range(kinds):
        told[row, :, row] = delta
    told[:, :, kinds] = 1 - delta
    queries = np.vstack([np.eye(kinds), np.zeros(kinds)])
    world = World(np.full(kinds, 1 / kinds), told, queries, np.ones(kinds + 1))
    event = [True] * kinds + [False]
    for epsilon in (0.0, 0.5, 1.0):
        odds = 2 / (1 + math.exp(epsilon / 2))
        bound = math.tanh(epsilon / 4) * world.chance(event) + odds * delta  # (ε, δ)-DP for every ε
        assert 0.97 * bound < 2 * world.moved(event) <= bound + 1e-12


@settings(max_examples=25)
@given(
    st.integers(0, 2**32), st.integers(2, 3), st.sampled_from(EPSILONS), st.sampled_from([0.0, 0.001, 0.1, 0.3]),
    st.sampled_from([0.02, 0.1, 0.5, 1.0]),
)  # fmt: skip
def test_no_mechanism_at_all_beats_the_lemma_on_one_row(
    seed: int, points: int, epsilon: float, delta: float, chance: float
) -> None:
    """The best of all mechanisms, queries and events, from a linear program."""
    population = np.random.default_rng(seed).dirichlet(np.ones(points))
    bound = math.tanh(epsilon / 4) * chance + 2 / (1 + math.exp(epsilon / 2)) * delta
    assert best_attack(population, epsilon, delta, chance) <= bound + 1e-9


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_best_mechanism_attains_the_lemma(epsilon: float) -> None:
    """The linear program finds randomized response, or something as good, where the population suits it."""
    share = 1 / (1 + math.exp(epsilon / 2))
    found = best_attack(np.array([1 - share, share]), epsilon, 0.0, 0.1)
    assert found == pytest.approx(math.tanh(epsilon / 4) * 0.1, rel=1e-7)


# ------------------------------------------------------------------------ numbers


@pytest.mark.parametrize("shape", ["gaussian", "laplace"])
@pytest.mark.parametrize("count", [1, 1000, 10**6])
@pytest.mark.parametrize("beta", ["0.001", "0.05", "0.9"])
def test_the_expected_shortfall_is_never_below_the_naive_one_and_close_to_it(shape: str, count: int, beta: str) -> None:
    """The midpoint rule is below the truth, as the quantile is convex near 0 where it grows; by 1e-4 at most."""
    naive = largest_noise(shape, count, float(beta))
    assert naive * (1 - 1e-9) <= expected_shortfall(shape, count, Fraction(beta)) <= naive * (1 + 2e-4)


@settings(max_examples=30)
@given(st.floats(1e-4, 3), st.sampled_from([Fraction(1, 1000), BETA, Fraction(1, 2)]))
def test_the_gap_is_a_point_of_the_curve_near_its_lowest(mu: float, beta: Fraction) -> None:
    found = gap(GaussianDP(mu), beta)
    exact = float(Fraction(repr(mu)))
    curve = [
        math.tanh(e / 4) + 2 / (1 + math.exp(e / 2)) * gaussian_profile(exact, e) / float(beta)
        for e in np.linspace(0, mu * (mu / 2 + 12), 2000)
    ]
    assert min(curve) * 0.9995 <= found <= min(curve) * 1.0005


@given(st.floats(1e-3, 20), st.sampled_from([Fraction(1, 1000), BETA]))
def test_pure_privacy_and_total_variation_are_special_cases(epsilon: float, beta: Fraction) -> None:
    guarantee = PureDP(epsilon)
    assert gap(guarantee, beta) == pytest.approx(math.tanh(epsilon / 4), rel=1e-12)
    assert gap_at(guarantee, beta, Fraction(0)) == pytest.approx(math.tanh(epsilon / 2) / float(beta), rel=1e-12)


@settings(max_examples=15)
@given(st.integers(100, 10**7), st.integers(1, 10**4), st.sampled_from([Fraction(1, 1000), BETA, Fraction(1, 3)]))
def test_the_printed_theorem_and_total_variation_never_promise_more(rows: int, queries: int, beta: Fraction) -> None:
    ours = GaussianRoute.best(rows, queries, beta).error(beta)
    assert ours <= printed(rows, queries, beta) * 1.0001 + 1e-8
    assert ours <= by_total_variation(rows, queries, beta) * 1.0001 + 1e-8
