"""What is charged covers what is drawn: events, costs and ledger agree, for random questions and prices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.engine import plan as plan_mod
from dither.engine.aggregate import PEOPLE
from dither.engine.group_sensitivity import Added, selection_epsilon
from dither.engine.most_common import BestNoise, LargestNoise
from dither.engine.plan import Plan, planned
from dither.engine.price import Price, Terms
from dither.engine.quantiles import Ranks
from dither.errors import ParameterError
from dither.ledger.budget import check_cost
from dither.noise import DiscreteLaplace
from dither.tables import Column
from dither.unit import Neighbour

BOUNDS = (0, 200)
ASKED: dict[str, Any] = {
    "n": dp.count(),
    "people": dp.count_people(),
    "distinct": dp.count_distinct("x"),
    "s": dp.sum("x", BOUNDS),
    "m": dp.mean("x", BOUNDS),
    "v": dp.variance("x", BOUNDS),
    "h": dp.histogram("x", [0, 1, 2]),
    "q": dp.quantile("x", ["0.1", "0.5", "0.9"], BOUNDS, interval_level="0.9"),
    "top": dp.max("x", BOUNDS),
    "best": dp.top("k", 2, candidates=["a", "b", "c"]),
}
UNITS = [dp.Rows(), dp.Rows("replace"), dp.Person("u", 3, 2), dp.Person("u", 1, 1)]


def plan_of(names: list[str], unit: Any, price: Price, *, found: bool = False, noise: Any = None, **more: Any) -> Plan:
    asked = {name: ASKED[name] if name in ASKED else more[name] for name in names}
    terms = Terms(price.epsilon, price.delta, price.rho, noise, None, 0.95, False)
    return planned(asked, Neighbour.of(unit, grouped=True), found, terms)


NAMES = st.lists(st.sampled_from(sorted(ASKED)), min_size=1, max_size=4, unique=True)
EPSILONS = st.sampled_from(["0.01", "0.3", "1", "4"])


@settings(max_examples=10, deadline=None)
@given(names=NAMES, unit=st.sampled_from(UNITS), epsilon=EPSILONS)
def test_pure_plans_cost_epsilon(names: list[str], unit: Any, epsilon: str) -> None:
    plan = plan_of(names, unit, Price.of(epsilon, None, None))
    assert plan.cost == dp.PureDP(epsilon, adjacency=unit.adjacency)
    assert sum(part.share for part in plan.parts.values()) == 1
    assert dp.compose([plan.event]).epsilon(0) <= float(epsilon) * (1 + 1e-12)


@settings(max_examples=4, deadline=None)
@given(
    names=NAMES, unit=st.sampled_from(UNITS), epsilon=EPSILONS, delta=st.sampled_from(["1e-4", "1e-9"]),
    noise=st.sampled_from([None, "gaussian"]),
)  # fmt: skip
def test_gaussian_plans_keep_epsilon_and_delta(
    names: list[str], unit: Any, epsilon: str, delta: str, noise: str | None
) -> None:
    price = Price.of(epsilon, delta, None)
    plan = plan_of(names, unit, price, noise=noise)
    assert isinstance(plan.cost, dp.ApproxDP | dp.PureDP)
    assert dp.compose([plan.event]).delta(Fraction(epsilon)) <= Fraction(delta)


@settings(max_examples=5, deadline=None)
@given(names=NAMES, unit=st.sampled_from(UNITS), rho=st.sampled_from(["0.001", "0.5"]))
def test_rho_plans_keep_rho(names: list[str], unit: Any, rho: str) -> None:
    plan = plan_of(names, unit, Price.of(None, None, rho))
    assert plan.cost == dp.ZCDP(rho, adjacency=unit.adjacency)
    # By the rule of the ledger: δ as computed may be above that of ρ, as the profile of two dimensions is a bound.
    check_cost(plan.event, plan.cost)
    with pytest.raises(ParameterError):
        check_cost(plan.event, dp.ZCDP(Fraction(rho) * 9 / 10, adjacency=unit.adjacency))


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "replaced rows", "persons", "one row each"])
def test_discovery_is_the_histogram_with_its_exact_delta(unit: Any) -> None:
    """C30: what is drawn for the number of people is what the threshold was computed for, and δ is shared exactly."""
    plan = plan_of(["n", "values"], unit, Price.of(1, "1e-6", None), found=True, values=dp.top("k", 2))
    assert plan.discovery is not None
    noise = plan.parts[PEOPLE].noise
    assert isinstance(noise, Added)
    assert noise.event == plan.discovery.mechanism.event_for(1)
    assert plan.discovery.delta == Fraction(1, 2 * 10**6)  # the other half finds the values
    assert plan.cost == dp.ApproxDP(1, "1e-6", adjacency=unit.adjacency)
    # Basic composition: ε and δ of the parts add up to what is charged (claim C3).
    event: Any = plan.event
    stated = [each.values for each in event.events if isinstance(each, dp.events.Stated)]
    assert sum(delta for _, delta in stated) == Fraction(1, 10**6)
    rest: Any = plan.parts["rows"].noise.event
    assert sum(epsilon for epsilon, _ in stated) + rest.sensitivity / rest.scale == 1


def test_a_selection_for_rho_is_never_worth_more() -> None:
    for rho in (Fraction(1, 8), Fraction(1, 3), Fraction(7, 10**9)):
        epsilon = selection_epsilon(rho)
        assert epsilon**2 / 8 <= rho < (epsilon + Fraction(1, 10**15)) ** 2 / 8
    assert selection_epsilon(Fraction(1, 8)) == 1


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "replaced rows", "persons", "one row each"])
def test_several_winners_are_the_largest_of_one_histogram(unit: Any) -> None:
    """So the noise does not grow with their number. One winner is selected where that has less noise: of rows that are
    replaced it has not, as scores then move both ways in two groups."""
    noises: dict[int, Any] = {}
    for number in (1, 2, 5):
        plan = plan_of(["t"], unit, Price.of(1, None, None), t=dp.top("k", number, candidates=list("abcdef")))
        (part,) = plan.parts.values()
        noises[number] = part.noise
    assert isinstance(noises[1], LargestNoise if unit == dp.Rows("replace") else BestNoise)
    assert isinstance(noises[2], LargestNoise)
    assert noises[2].event == noises[5].event
    assert noises[1].size <= noises[2].size < 2 * noises[1].size
    assert noises[5].draw(np.array([[0, 9, 8, 7, 6, 5]]) * 10**6).to_pylist() == [list("bcdef")]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7, 8, 20])
def test_each_level_of_several_quantiles_is_paid(number: int) -> None:
    """The deepest chain of parts is as long as the event says: a row is in one part of each level."""
    probabilities = tuple(Fraction(at + 1, number + 1) for at in range(number))
    need = Ranks(Column("x"), (0.0, 100.0), probabilities)
    event: Any = need.pure(Neighbour(1, 1, dp.Rows().adjacency), Fraction(1)).event

    def depth(size: int) -> int:
        return 1 + max(depth(size // 2), depth(size - 1 - size // 2)) if size else 0

    paid = event.times if isinstance(event, dp.events.Repeated) else 1
    assert paid == depth(number)
    assert dp.compose([event]).epsilon(0) <= 1 + 1e-12


def test_noise_is_said_in_the_unit_of_the_column() -> None:
    """A person has 2 rows in 3 groups: 6 rows, in a sum up to 200 each, from both ends 200 too, their squares 200².

    Here are 5 needs, so that each costs ε = 1. Squares of averages are rounded: that adds 1 in 800 at most.
    """
    plan = plan_of(["n", "s", "m", "v", "h"], dp.Person("u", 3, 2), Price.of("5", None, None))
    assert {name: noise for name, noise, _, _ in plan.lines()} == {
        "n": "Laplace, scale 6",
        "s": "Laplace, scale 1,200",
        "m": "Laplace, scale 1,200",
        "v": "Laplace, scale 240,300",
        "h": "Laplace, scale 6",
    }
    gaussian = plan_of(["s"], dp.Person("u", 3, 2), Price.of(None, None, "0.5"))
    assert gaussian.lines()[0][1] == f"Gaussian, sigma {3**0.5 * 400:,.4g}"


def test_many_columns_make_gaussian_noise_the_better_one() -> None:
    names = ["n", "people", "s", "m", "v"]
    many = plan_of(names, dp.Person("u", 50, 1), Price.of(1, "1e-6", None))
    assert isinstance(many.cost, dp.ApproxDP)
    one = plan_of(["n"], dp.Rows(), Price.of(1, "1e-6", None))
    assert one.cost == dp.PureDP(1, adjacency=dp.Rows().adjacency)  # Laplace noise, and no δ is charged


def test_laplace_noise_that_is_smaller_anyway_is_chosen_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a small epsilon the search for the Gaussian noise that a price pays takes seconds."""
    few = ["n"], dp.Person("u", 3, 1), Price.of("0.0002", "1e-9", None)
    found = plan_of(*few)
    sizes = [plan_mod._size(plan_of(*few, noise=noise).parts) for noise in ("laplace", "gaussian")]
    assert sizes[0] < sizes[1]

    def searched(self: Any) -> Any:
        raise AssertionError("nothing is to be searched for")

    monkeypatch.setattr(plan_mod._Split, "_calibrated", searched)
    assert plan_of(*few).lines() == found.lines() == plan_of(*few, noise="laplace").lines()
    with pytest.raises(AssertionError):  # the control
        plan_of(["n", "people", "s", "m", "v"], dp.Person("u", 50, 1), Price.of(1, "1e-6", None))


def test_what_is_drawn_is_what_the_event_says() -> None:
    noise = plan_of(["n"], dp.Person("u", 3, 2), Price.of("0.5", None, None)).parts["rows"].noise
    assert isinstance(noise, Added)
    assert noise.noising.law == DiscreteLaplace(Fraction(12))
    assert noise.event == dp.Laplace(sensitivity=6, epsilon="0.5", adjacency=dp.Person("u").adjacency).event_for(1)


@pytest.mark.parametrize(
    ("price", "more", "rule"),
    [
        ((None, None, None), {}, "give the price"),
        ((1, None, 1), {}, "give the price"),
        ((None, "1e-6", 1), {}, "give the price"),
        ((0, None, None), {}, "epsilon must be greater than 0"),
        ((-5, None, None), {}, "epsilon must be greater than 0"),
        ((float("nan"), None, None), {}, "epsilon"),
        (("1e999", None, None), {}, "epsilon"),
        ((1, 1, None), {}, "delta"),
        ((1, None, None), {"noise": "gaussian"}, "Gaussian noise needs delta"),
        ((1, None, None), {"noise": "uniform"}, "laplace or gaussian"),
        ((None, None, 1), {"noise": "laplace"}, "rho pays Gaussian noise"),
        ((1, None, None), {"found": True}, "need delta"),
        ((None, None, 1), {"found": True}, "rho pays Gaussian noise on public groups"),
        (("1e-30", None, None), {}, "would pass 2\\^62"),
    ],
)
def test_prices_that_cannot_be_kept_are_refused(price: Any, more: dict[str, Any], rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        plan_of(["n"], dp.Rows(), Price.of(*price), **more)
