"""Guarantees against closed forms on many random points: never on the wrong side, and within 1e−9 of the truth."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb, ctx

from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, TVStable
from tests.oracle import closed_forms as oracle
from tests.oracle.finite import BITS, real
from tests.oracle.points import Points, stream

pytestmark = pytest.mark.property

COUNTS = [pytest.param(60, id="commit"), pytest.param(6_000, id="nightly", marks=pytest.mark.nightly)]
CLOSE = Fraction(1, 10**9)
NORMAL = 1e-300
"""Below this, floats lose digits and only the side is checked."""

Profile = Callable[[Fraction], arb]


def pure(points: Points) -> tuple[Guarantee, Profile]:
    size = points.size(-9, 2.5)
    return PureDP(size), lambda epsilon: oracle.response_delta(size, epsilon)


def approximate(points: Points) -> tuple[Guarantee, Profile]:
    size, leak = points.size(-9, 2.5), points.probability()
    return ApproxDP(size, leak), lambda epsilon: oracle.approximate_delta(size, leak, epsilon)


def stable(points: Points) -> tuple[Guarantee, Profile]:
    distance = points.probability()
    return TVStable(distance), lambda epsilon: real(distance)


def gaussian(points: Points) -> tuple[Guarantee, Profile]:
    square = points.size(-8, 3)
    return GaussianDP.from_square(square), lambda epsilon: oracle.gaussian_delta(square, epsilon)


EXACT = [pure, approximate, stable, gaussian]


def check_above(answer: float, truth: arb) -> None:
    """answer ≥ truth, and close to it."""
    assert arb(answer) >= truth, (answer, truth)
    if answer > NORMAL:
        assert arb(answer) <= truth * (1 + real(CLOSE)), (answer, truth)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", EXACT, ids=lambda kind: kind.__name__)
def test_delta(kind: Callable[[Points], tuple[Guarantee, Profile]], count: int) -> None:
    for points in stream(f"delta {kind.__name__}", count):
        guarantee, profile = kind(points)
        epsilon = points.choice([Fraction(0), points.size(-9, 2), points.size(-2, 1)])
        truth = profile(epsilon)
        answer = guarantee.delta(epsilon)
        if truth == 0:
            assert answer == 0.0
        elif Fraction(repr(answer)) == _stated(guarantee):  # the very δ that was stated, by its name
            assert truth.overlaps(real(_stated(guarantee)))
        else:
            check_above(answer, truth)


def _stated(guarantee: Guarantee) -> Fraction:
    return getattr(guarantee, "stated_delta", getattr(guarantee, "stated_tv", Fraction(0)))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", EXACT, ids=lambda kind: kind.__name__)
def test_epsilon(kind: Callable[[Points], tuple[Guarantee, Profile]], count: int) -> None:
    for points in stream(f"epsilon {kind.__name__}", count):
        guarantee, profile = kind(points)
        delta = points.probability(-15)
        answer = guarantee.epsilon(delta)
        with ctx.workprec(BITS):
            if answer == math.inf:
                assert profile(Fraction(10) ** 6) > real(delta)
                continue
            assert profile(Fraction(answer)) <= real(delta)
            if answer > 0:
                assert not profile(Fraction(answer) * (1 - CLOSE)) <= real(delta), (guarantee, delta, answer)


@pytest.mark.parametrize("count", COUNTS)
def test_beta_of_the_exact_ones(count: int) -> None:
    for points in stream("beta", count):
        size, leak, alpha = points.size(-6, 2), points.probability(), points.probability()
        for guarantee, truth in [
            (PureDP(size), oracle.approximate_beta(size, Fraction(0), alpha)),
            (ApproxDP(size, leak), oracle.approximate_beta(size, leak, alpha)),
            (TVStable(leak), oracle.approximate_beta(Fraction(0), leak, alpha)),
        ]:
            answer = guarantee.beta(alpha)
            assert arb(answer) <= truth
            if answer > NORMAL:
                assert arb(answer) >= truth * (1 - real(CLOSE))


@pytest.mark.parametrize("count", COUNTS)
def test_beta_of_gaussian(count: int) -> None:
    """A cut gives a point (α, β) of the curve; at a rational just above α the curve is just below β."""
    for points in stream("gaussian beta", count):
        square, cut = points.size(-4, 1.5), points.size(-2, 0.7)
        alarm, miss = oracle.gaussian_beta_at(square, cut)
        above, below = Fraction(float(alarm) * (1 + 1e-13)), Fraction(float(alarm) * (1 - 1e-13))
        guarantee = GaussianDP.from_square(square)
        assert arb(guarantee.beta(above)) <= miss
        assert arb(guarantee.beta(below)) >= miss * (1 - real(CLOSE)) - arb(10) ** -300


@pytest.mark.parametrize("count", COUNTS)
def test_zcdp_between_gaussian_and_the_textbook(count: int) -> None:
    """A Gaussian with μ² = 2ρ is ρ-zCDP, so no bound may be below it; Proposition 12 at any order is an upper one."""
    for points in stream("zcdp", count):
        rho, epsilon, alpha = points.size(-5, 1.5), points.size(-3, 1.5), points.probability(-9)
        guarantee, attained = ZCDP(rho), GaussianDP.from_square(2 * rho)
        answer = guarantee.delta(epsilon)
        assert arb(answer) >= oracle.gaussian_delta(2 * rho, epsilon)
        order = 1 + points.choice([epsilon / (2 * rho), points.size(-2, 3)])
        textbook = oracle.zcdp_delta_of_proposition_12(rho, epsilon, order)
        assert answer < NORMAL or arb(answer) <= textbook * (1 + arb(10) ** -6)
        delta = points.probability()
        assert guarantee.epsilon(delta) >= attained.epsilon(delta) * (1 - 1e-15)
        assert guarantee.beta(alpha) <= attained.beta(alpha) * (1 + 1e-15)
        assert guarantee.beta(alpha) >= 1 - answer - math.exp(min(epsilon, Fraction(600))) * alpha - 3e-5


@pytest.mark.parametrize("count", COUNTS)
def test_one_renyi_order_is_attained_by_two_points(count: int) -> None:
    """Coins with D_α(p‖q) = γ exist that come within 1e−5 of the bound, and none may exceed it.

    The best coin has likelihood ratios r and s; along the curve D_α = γ it is found by golden section.
    """
    for points in stream("one order", min(count, 1_000)):
        order, gamma, epsilon = 1 + points.size(-1, 1.3), points.size(-2, 0.5), points.size(-2, 0.5)
        best = best_coin(float(order), float(gamma), float(epsilon))
        answer = RenyiDP({order: gamma}).delta(epsilon)
        assert answer >= best * (1 - 1e-9)
        assert answer <= best * (1 + 1e-5) + 1e-12, (order, gamma, epsilon)


def test_the_edge_is_taken_where_it_is_valid() -> None:
    """A coin that always lands heads: δ = 1 − e^{ε−γ} at the high order; at the low one that would be false."""
    both, high = RenyiDP({"1.01": "0.5", "14.66": "0.6"}), RenyiDP({"14.66": "0.6"})
    assert both.delta("0.14") == high.delta("0.14") == pytest.approx(-math.expm1(0.14 - 0.6), rel=1e-12)
    assert RenyiDP({"1.01": "0.5"}).delta("0.14") > 0.4 > -math.expm1(0.14 - 0.5)


@pytest.mark.parametrize("count", COUNTS)
def test_more_orders_never_hurt(count: int) -> None:
    for points in stream("more orders", count):
        curve = {1 + points.size(-1, 1.3): points.size(-2, 0.5) for _ in range(4)}
        epsilon, delta = points.size(-2, 0.5), points.probability(-6)
        all_orders, single = RenyiDP(curve), [RenyiDP({order: value}) for order, value in curve.items()]
        assert all_orders.delta(epsilon) <= min(one.delta(epsilon) for one in single) * (1 + 1e-5)
        assert all_orders.epsilon(delta) <= min(one.epsilon(delta) for one in single) * (1 + 1e-5) + 1e-12


def best_coin(order: float, gamma: float, epsilon: float) -> float:
    """max p − e^ε q over coins with D_α(p‖q) ≤ γ, in floats: outer search over ln q, inner bisection for p."""

    def power(log_q: float) -> float:
        q = math.exp(log_q)
        low, high = q, 1.0
        for _ in range(60):
            p = (low + high) / 2
            total = math.exp(order * math.log(p) + (1 - order) * log_q)
            total += math.exp(order * math.log1p(-p) + (1 - order) * math.log1p(-q)) if p < 1 else 0.0
            low, high = (p, high) if total <= math.exp((order - 1) * gamma) else (low, p)
        return low - math.exp(epsilon) * q

    grid = [-30 + 0.1 * step for step in range(300)]
    centre = max(grid, key=power)
    low, high = centre - 0.1, min(centre + 0.1, -1e-12)
    for _ in range(60):
        first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, second) if power(first) > power(second) else (first, high)
    return max(power((low + high) / 2), 0.0)
