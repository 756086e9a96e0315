"""Attacks on mechanisms that add noise: order of sums, overflow, no sensitivity, budgets that are no numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from inspect import signature
from itertools import permutations
from operator import add
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.adaptive.mean import QueryMean
from dither.errors import ParameterError
from dither.events import from_json, to_json
from dither.mechanisms import (
    FiniteMechanism,
    Gaussian,
    Histogram,
    Laplace,
    MatrixMechanism,
    Mechanism,
    RandomizedResponse,
    SmoothSensitivity,
    Staircase,
)
from dither.noise import entropy
from tests.mechanisms.additive_cases import BAD_NUMBERS
from tests.mechanisms.entropy_use import nothing_drawn
from tests.mechanisms.mechanism_case import Case
from tests.mechanisms.mechanism_cases import CASES

MAKERS: dict[str, Callable[[Any], Mechanism]] = {
    "Laplace, epsilon": lambda sensitivity: Laplace(sensitivity=sensitivity, epsilon=1),
    "Laplace, scale": lambda sensitivity: Laplace(sensitivity=sensitivity, scale=1),
    "Gaussian, epsilon and delta": lambda sensitivity: Gaussian(sensitivity=sensitivity, epsilon=1, delta="1e-6"),
    "Gaussian, rho": lambda sensitivity: Gaussian(sensitivity=sensitivity, rho=1),
    "Gaussian, sigma": lambda sensitivity: Gaussian(sensitivity=sensitivity, sigma=1),
    "Gaussian, squared": lambda sensitivity: Gaussian(sensitivity_squared=sensitivity, sigma=1),
    "staircase": lambda sensitivity: Staircase(sensitivity=sensitivity, epsilon=1),
}


class Repeating:
    """A source that always hands out the same bits, so that the same value must give the same release."""

    word_bits = 64

    def __init__(self) -> None:
        self._state = 12345

    def bits(self, count: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state * 0x9E3779B97F4A7C15 % 2**128) >> (128 - count) if count <= 128 else 0

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.bits(64) for _ in range(count)], dtype=np.uint64)


def released(mechanism: Mechanism, value: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(entropy, "_stand_in", Repeating())
        return mechanism.release(value).value


@pytest.mark.parametrize("mechanism", [Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, rho=1)], ids=type)
def test_a06_sum_order(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact sums of 1e16, 1, −1e16 are 1 in any order, and so is what is released; sums of floats may be 0."""
    terms = [10**16, 1, -(10**16)]
    exact = {released(mechanism, sum(map(Fraction, order), Fraction(0)), monkeypatch) for order in permutations(terms)}
    assert len(exact) == 1
    floats = {reduce(add, map(float, order)) for order in permutations(terms)}  # from Python 3.12 on, sum() compensates
    assert floats == {0.0, 1.0}, "the control: in floats the order shows"
    within = [released(mechanism, total, monkeypatch) for total in floats]
    assert abs(within[0] - within[1]) == pytest.approx(1), "a move by the declared sensitivity moves the release by it"


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("bound", [10**308 * 10, 1e308 * 10, Fraction(10) ** 309, "1e999"], ids=str)
def test_a12_a_product_that_overflows_is_refused(name: str, bound: Any) -> None:
    """max_groups × bound beyond the range of a double: no infinite noise, no wrapped sensitivity."""
    with nothing_drawn(), pytest.raises(ParameterError):
        MAKERS[name](bound)


def test_a12_large_products_are_exact() -> None:
    """2^40 groups times a bound of 2^40 is 2^80, which no machine integer holds."""
    m = Laplace(sensitivity=2**40 * 2**40, epsilon=1)
    assert m.scale == 2**80
    value = m.release(np.array([2**62, -(2**62)])).value
    assert value.dtype == object
    assert all(abs(int(x)) < 2**80 * 60 for x in value)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("sensitivity", BAD_NUMBERS, ids=str)
def test_a13_no_sensitivity_is_refused_and_never_means_no_noise(name: str, sensitivity: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError):
        MAKERS[name](sensitivity)


@pytest.mark.parametrize("make", [Laplace, Gaussian, Staircase])
def test_a13_a_sensitivity_that_is_left_out_is_refused(make: Any) -> None:
    with nothing_drawn(), pytest.raises((TypeError, ParameterError), match="sensitivity"):
        make(epsilon=1)


@pytest.mark.parametrize("name", MAKERS)
def test_a13_integers_that_cannot_move_are_refused(name: str) -> None:
    """A sensitivity of 1/2 on integers would mean no noise at all."""
    mechanism = MAKERS[name]("0.5")
    with nothing_drawn(), pytest.raises(ParameterError, match="integers cannot change by less than 1"):
        mechanism.release(3)


@pytest.mark.parametrize("epsilon", [float("nan"), -5, "1e999", 0, float("inf"), True, None, "nan"], ids=str)
def test_d47_a_budget_that_is_no_budget_is_refused(epsilon: Any) -> None:
    makers: list[Callable[[], object]] = [
        lambda: Laplace(sensitivity=1, epsilon=epsilon),
        lambda: Gaussian(sensitivity=1, epsilon=epsilon, delta="1e-6"),
        lambda: Gaussian(sensitivity=1, rho=epsilon),
        lambda: Staircase(sensitivity=1, epsilon=epsilon),
        lambda: Histogram(bins=3, epsilon=epsilon),
        lambda: Histogram(epsilon=epsilon, delta="1e-6"),
    ]
    for make in makers:
        with nothing_drawn(), pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize("delta", [0, 1, -1, 2, float("nan"), "1e999", True], ids=str)
def test_d47_a_delta_that_is_no_probability_is_refused(delta: Any) -> None:
    makers: list[Callable[[], object]] = [
        lambda: Gaussian(sensitivity=1, epsilon=1, delta=delta),
        lambda: Histogram(epsilon=1, delta=delta),
        lambda: Histogram(bins=3, epsilon=1, delta=delta, noise="gaussian"),
    ]
    for make in makers:
        with nothing_drawn(), pytest.raises(ParameterError):
            make()


# ------------------------------------------------------------------ every mechanism of the contract

SENSITIVITIES = ("sensitivity", "sensitivity_squared", "limit")
BUDGETS = ("epsilon", "delta", "rho", "sigma", "scale", "keep", "answer_epsilon")
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def call_of(case: Case) -> tuple[type[Mechanism], dict[str, Any]]:
    """The class of the mechanism, and the arguments with which the case builds it."""
    kind, calls = type(case.make()), []
    build = kind.__init__

    def recording(self: Mechanism, *placed: Any, **named: Any) -> None:
        calls.append({name: value for name, value in bound(self, *placed, **named).items() if name != "self"})
        build(self, *placed, **named)

    def bound(*placed: Any, **named: Any) -> dict[str, Any]:
        return signature(build).bind(*placed, **named).arguments

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "__init__", recording)
        case.make()
    return kind, calls[0]


def refused(case: Case, names: Sequence[str], values: Sequence[Any]) -> int:
    """How many of these arguments the case gives; each of the values in its place must be refused, nothing drawn."""
    kind, given = call_of(case)
    assert type(kind(**given)) is kind, "the control: what was given is accepted"
    found = [name for name in names if given.get(name) is not None]
    for name in found:
        for value in values:
            with nothing_drawn(), pytest.raises(ParameterError):
                kind(**{**given, name: value})
    return len(found)


@every_case
def test_a12_every_mechanism_refuses_a_product_that_overflows(case: Case) -> None:
    assert refused(case, SENSITIVITIES, [10**309, 1e308 * 10, Fraction(10) ** 309, "1e999"]) == has_one(case)


@every_case
def test_a13_every_mechanism_refuses_a_sensitivity_that_is_none(case: Case) -> None:
    assert refused(case, SENSITIVITIES, BAD_NUMBERS) == has_one(case)


def has_one(case: Case) -> int:
    """Whether the case says a sensitivity: counts, answers of one person, statistics and queries have theirs by
    definition, workloads and tables of probabilities by computation."""
    kind, given = call_of(case)
    if any(name in given for name in SENSITIVITIES):
        return 1
    parameters = signature(kind).parameters
    if "sensitivity" in parameters:  # it has a default: then that is put to the test
        for value in BAD_NUMBERS:
            with nothing_drawn(), pytest.raises(ParameterError):
                kind(**{**given, "sensitivity": value})
    else:
        assert kind in (
            FiniteMechanism, Histogram, MatrixMechanism, QueryMean, RandomizedResponse, SmoothSensitivity
        )  # fmt: skip
    return 0


@every_case
def test_d47_every_mechanism_refuses_a_budget_that_is_none(case: Case) -> None:
    values: list[Any] = [float("nan"), -5, "1e999", 1e999, -float("inf"), True, "nan", "", 10**400]
    made = case.make()
    if isinstance(made, FiniteMechanism):  # its table is its price: there is no budget to state
        assert not set(signature(FiniteMechanism).parameters) & set(BUDGETS)
        return
    if not isinstance(made, QueryMean):
        assert refused(case, BUDGETS, values) >= 1
        return
    for build in (QueryMean.gaussian, QueryMean.laplace):  # its noise is made for it
        for value in values:
            with nothing_drawn(), pytest.raises(ParameterError):
                build(made.rows, value)


@every_case
def test_d47_the_event_of_every_mechanism_is_refused_with_a_key_twice(case: Case) -> None:
    text = to_json(case.make().event)
    for name, value in json.loads(text).items():
        with pytest.raises(ParameterError, match="appears twice"):
            from_json(f"{text[:-1]},{json.dumps(name)}:{json.dumps(value)}}}")
