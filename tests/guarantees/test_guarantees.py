"""Guarantees at their borders: bad input, extremes, adjacency, and what they look like."""

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dither.accounting import of_pairs
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, person
from dither.errors import AdjacencyMismatch, NotANumberError, ParameterError
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, TVStable
from dither.pairs import ProfileOf
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.two_point import pure

ALL: list[Guarantee] = [
    PureDP(1),
    ApproxDP(1, "1e-6"),
    ZCDP("0.5"),
    RenyiDP({2: 1, 8: 4, 32: 16}),
    GaussianDP(1),
    TVStable("0.2"),
    ProfileOf(LaplacePair(Fraction(1))),
    of_pairs([(LaplacePair(Fraction(1)), 3), (GaussianPair(Fraction(1)), 1)]),
]
MAKERS: list[Callable[[Any], Guarantee]] = [
    PureDP,
    lambda value: ApproxDP(value, "0.1"),
    lambda value: ApproxDP(1, value),
    ZCDP,
    lambda value: RenyiDP({2: value}),
    lambda value: RenyiDP({value: 1}),
    GaussianDP,
    GaussianDP.from_square,
    TVStable,
]
NOT_NUMBERS = [math.nan, math.inf, -math.inf, True, None, "one", "1e999", [1], b"1"]
each = pytest.mark.parametrize("guarantee", ALL, ids=lambda guarantee: type(guarantee).__name__)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=repr)
def test_parameters_must_be_numbers(maker: Callable[[Any], Guarantee], bad: object) -> None:
    with pytest.raises((NotANumberError, ParameterError, TypeError)) as caught:
        maker(bad)
    if not isinstance(bad, list):
        assert isinstance(caught.value, NotANumberError)


@pytest.mark.parametrize("maker", MAKERS)
def test_parameters_must_not_be_negative(maker: Callable[[Any], Guarantee]) -> None:
    with pytest.raises(ParameterError):
        maker("-0.1")


def test_probabilities_must_not_exceed_one() -> None:
    for make in (lambda: ApproxDP(1, "1.0001"), lambda: TVStable("1.0001")):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            make()


@each
@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=repr)
def test_questions_must_be_numbers(guarantee: Guarantee, bad: Any) -> None:
    for ask in (guarantee.delta, guarantee.epsilon, guarantee.beta, guarantee.renyi):
        with pytest.raises(NotANumberError):
            ask(bad)


@each
def test_questions_have_borders(guarantee: Guarantee) -> None:
    questions: list[tuple[Callable[[Any], float], Any]] = [
        (guarantee.delta, "-1e-9"),
        (guarantee.epsilon, "-1e-9"),
        (guarantee.epsilon, "1.000001"),
        (guarantee.beta, "-1e-9"),
        (guarantee.beta, 2),
        (guarantee.true_positive_rate, 2),
        (guarantee.renyi, 1),
        (guarantee.renyi, 0),
    ]
    for ask, bad in questions:
        with pytest.raises(ParameterError):
            ask(bad)


@each
def test_answers_fall_and_fit_together(guarantee: Guarantee) -> None:
    deltas = [guarantee.delta(Fraction(n, 10)) for n in range(0, 60, 5)]
    assert all(0 <= value <= 1 for value in deltas)
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(deltas))
    assert guarantee.tv() == deltas[0]
    alphas = [Fraction(n, 20) for n in range(21)]
    betas = [guarantee.beta(alpha) for alpha in alphas]
    assert all(0 <= beta <= 1 - alpha for alpha, beta in zip(alphas, betas, strict=True))
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(betas))
    for alpha, beta in zip(alphas, betas, strict=True):
        # The curve is never below what one (ε, δ) alone implies; the profile is an upper bound.
        assert beta >= 1 - guarantee.tv() - alpha - 1e-4
    assert guarantee.epsilon(1) == 0.0


@each
def test_epsilon_of_delta_is_consistent(guarantee: Guarantee) -> None:
    for delta in ("1e-9", "1e-3", "0.15"):
        epsilon = guarantee.epsilon(delta)
        if 0 < epsilon < math.inf:
            assert guarantee.delta(epsilon) <= Fraction(delta) * Fraction(100001, 100000)


def test_perfect_privacy() -> None:
    perfect: list[Guarantee] = [PureDP(0), ApproxDP(0, 0), ZCDP(0), RenyiDP({3: 0}), GaussianDP(0), TVStable(0)]
    for guarantee in perfect:
        assert guarantee.is_perfect()
        assert guarantee.delta(0) == guarantee.tv() == guarantee.epsilon(0) == 0.0
        assert guarantee.beta("0.25") == 0.75
        assert all(guarantee.implies(other) for other in [*perfect, *ALL])


def test_no_privacy() -> None:
    assert ApproxDP(0, 1).delta(100) == TVStable(1).delta(100) == 1.0
    assert ApproxDP(0, 1).beta(0) == 0.0
    assert all(guarantee.implies(TVStable(1)) for guarantee in ALL)


@pytest.mark.parametrize("huge", ["1e300", "1e308", 10**5])
def test_huge_parameters_give_valid_bounds(huge: Any) -> None:
    for guarantee in (PureDP(huge), ApproxDP(huge, "1e-300"), ZCDP(huge), RenyiDP({2: huge}), GaussianDP(huge)):
        assert guarantee.tv() == 1.0
        assert guarantee.beta("0.5") >= 0.0
        assert guarantee.beta("0.5") < 1e-300
        assert guarantee.epsilon("1e-3") > 9e4
        assert guarantee.delta("1e-300") == 1.0


@pytest.mark.parametrize("tiny", ["1e-300", "1e-308", "1e-30"])
def test_tiny_parameters_are_not_lost(tiny: Any) -> None:
    for guarantee in (
        PureDP(tiny),
        ApproxDP(0, tiny),
        ZCDP(tiny),
        RenyiDP({2: tiny}),
        GaussianDP(tiny),
        TVStable(tiny),
    ):
        assert not guarantee.is_perfect()
        assert 0 < guarantee.tv() < 1e-14
        assert 0 <= guarantee.beta("0.5") <= 0.5
        assert guarantee.beta("0.5") > 0.499999


def test_underflow_is_never_zero() -> None:
    for guarantee in (ZCDP("1e-9"), GaussianDP("1e-9"), ZCDP("0.5"), GaussianDP(1), RenyiDP({2: 1, 1024: 700})):
        for epsilon in (10, 10**6, "1e300"):
            assert guarantee.delta(epsilon) > 0
    for guarantee in (GaussianDP(1), ZCDP("0.5"), RenyiDP({2: 1, 50: 25})):
        assert 10 < guarantee.epsilon("1e-300") < math.inf
    assert ApproxDP(1, "1e-300").delta(2) == 1e-300
    assert PureDP(1).delta(1) == 0.0, "exactly zero, not by accident"
    assert PureDP(1).delta("0.9999999999999999999999") > 0


def test_values_are_safe_when_fed_back() -> None:
    """A float means its shortest decimal; that decimal, too, must not be below the truth."""
    for numerator in range(1, 60):
        exact = Fraction(numerator, 37)
        answer = PureDP(exact).epsilon(0)
        assert Fraction(answer) >= exact
        assert Fraction(repr(answer)) >= exact
        assert PureDP(exact).implies(PureDP(answer))


def test_renyi_curves() -> None:
    assert RenyiDP({4: 1}).renyi(2) == 1.0
    assert RenyiDP({4: 1}).renyi(5) == math.inf
    assert RenyiDP({4: 3, 8: 2}).renyi(3) == 2.0, "a divergence at a higher order bounds the lower ones"
    assert RenyiDP(lambda order: order, orders=(2, 3)) == RenyiDP({2: 2, 3: 3})
    assert RenyiDP(lambda order: math.inf if order > 2 else 1, orders=(2, 3)) == RenyiDP({2: 1})
    with pytest.raises(ParameterError, match="at least one order"):
        RenyiDP({})
    with pytest.raises(ParameterError, match="at least one order"):
        RenyiDP(lambda order: math.inf)
    with pytest.raises(ParameterError, match="greater than 1"):
        RenyiDP({1: 1})
    with pytest.raises(ParameterError, match="a mapping has its own"):
        RenyiDP({2: 1}, orders=(2,))
    with pytest.raises(NotANumberError):
        RenyiDP(lambda order: math.nan)


def test_adjacency_travels() -> None:
    stated = PureDP(1, adjacency=ADD_REMOVE)
    assert PureDP(1).under(ADD_REMOVE) == stated != PureDP(1)
    assert stated.under(ADD_REMOVE) == stated
    for guarantee in ALL:
        assert guarantee.under(EDGE).adjacency == EDGE
        assert guarantee.under(EDGE).delta(1) == guarantee.delta(1)


@pytest.mark.parametrize("other", [None, REPLACE_ONE, EDGE, person("user_id"), person("user_id", 3)], ids=str)
def test_different_adjacencies_are_refused_with_both_named(other: Any) -> None:
    with pytest.raises(AdjacencyMismatch, match="add or remove one record") as caught:
        PureDP(1, adjacency=ADD_REMOVE).implies(PureDP(2, adjacency=other))
    assert (str(other) if other else "unsaid") in str(caught.value)
    with pytest.raises(AdjacencyMismatch):
        PureDP(1, adjacency=ADD_REMOVE).under(other)


def test_adjacency_is_a_noun_not_a_word() -> None:
    for make in (PureDP, ZCDP, GaussianDP, TVStable):
        with pytest.raises(ParameterError, match=r"adjacency must come from dither\.adjacency"):
            make(1, adjacency="record")  # type: ignore[arg-type]


@each
def test_guarantees_can_be_copied(guarantee: Guarantee) -> None:
    assert copy.deepcopy(guarantee) == guarantee
    assert copy.copy(guarantee).delta(1) == guarantee.delta(1)


def test_guarantees_are_frozen_values() -> None:
    for guarantee in ALL:
        assert hash(guarantee) == hash(guarantee.under(None))
        with pytest.raises(AttributeError):
            guarantee.adjacency = EDGE  # type: ignore[misc]
    assert GaussianDP(2) == GaussianDP.from_square(4)
    assert len({PureDP(0.1), PureDP("1/10"), PureDP(Fraction(1, 10))}) == 1


def test_how_they_look() -> None:
    assert repr(ApproxDP(1, 1e-6)) == "ApproxDP(epsilon=1, delta=1e-06)"
    assert repr(GaussianDP.from_square(2)) == "GaussianDP(mu=√(2))"
    assert repr(RenyiDP({2: 1, 3: "1/3"})) == "RenyiDP(curve={2: 1, 3: 1/3})"
    assert len(repr(RenyiDP(lambda order: order))) < 100


def test_profiles_of_pairs() -> None:
    assert ProfileOf(GaussianPair(Fraction(1))).delta(1) == pytest.approx(GaussianDP(1).delta(1), rel=1e-12)
    assert ProfileOf(pure(Fraction(1))).beta("0.1") == pytest.approx(PureDP(1).beta("0.1"), rel=1e-9)
    assert ProfileOf(LaplacePair(Fraction(1))).implies(PureDP(1))
    assert not ProfileOf(LaplacePair(Fraction(1))).implies(PureDP("0.99"))
    assert ProfileOf(LaplacePair(Fraction(1))).tv() == pytest.approx(-math.expm1(-0.5), rel=1e-12)
    assert ProfileOf(LaplacePair(Fraction(1))).renyi(2) == math.inf
    with pytest.raises(ParameterError, match="pair"):
        ProfileOf(PureDP(1))  # type: ignore[arg-type]


def test_implies_wants_a_guarantee() -> None:
    with pytest.raises(ParameterError, match="other must be a guarantee"):
        PureDP(1).implies(2)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1, 2.3, "1e-9"])
@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-7, 0.3, 0.7, "1e-300"])
def test_what_was_stated_comes_back_as_it_was_stated(epsilon: Any, delta: Any) -> None:
    """Neither exceeds itself by rounding, and both still mean what was stated."""
    promise = ApproxDP(epsilon, delta)
    assert promise.delta(epsilon) == promise.delta(50) == TVStable(delta).tv() == float(delta)
    assert promise.epsilon(delta) == PureDP(epsilon).epsilon(0) == float(epsilon)
    assert ApproxDP(promise.epsilon(delta), promise.delta(epsilon)) == promise


def test_a_ratio_that_no_decimal_names_is_rounded_up() -> None:
    promise = ApproxDP("1/3", "2/3")
    assert Fraction(promise.delta(1)) > Fraction(2, 3) < Fraction(repr(promise.delta(1)))
    assert Fraction(promise.epsilon("2/3")) > Fraction(1, 3) < Fraction(repr(promise.epsilon("2/3")))
