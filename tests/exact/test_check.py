"""Border checks: what passes, what fails, and what the message says."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact import check

_CHECKS: dict[str, Callable[..., None]] = {
    "positive": check.positive,
    "nonnegative": check.nonnegative,
    "probability": check.probability,
    "at_least": partial(check.at_least, 2),
    "between": partial(check.between, 0, 1),
    "count": check.count,
}
_NAN = [math.nan, np.float64("nan"), np.float32("nan")]
_TINY = Fraction(1, 10**400)


@pytest.mark.parametrize("name", _CHECKS)
def test_every_check_is_tested(name: str) -> None:
    assert sorted([*_CHECKS, "distinct", "takes"]) == sorted(check.__all__)
    assert getattr(check, name).__doc__


def test_values_are_distinct_and_can_be_compared() -> None:
    check.distinct(answers=["a", ("b", 1), 2.5])
    with pytest.raises(ParameterError, match="answers must be all different, got 2 different ones of 3"):
        check.distinct(answers=["a", "b", "a"])
    with pytest.raises(ParameterError, match="answers must be hashable"):
        check.distinct(answers=[["a"], ["b"]])


@pytest.mark.parametrize("nan", _NAN, ids=lambda nan: type(nan).__name__)
@pytest.mark.parametrize("rule", _CHECKS.values(), ids=_CHECKS)
def test_nan_fails(rule: Callable[..., None], nan: object) -> None:
    with pytest.raises(ParameterError, match=r"scale must .*(nan|float)"):
        rule(scale=nan)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("positive", 1),
        ("positive", _TINY),
        ("positive", math.inf),
        ("nonnegative", 0),
        ("nonnegative", -0.0),
        ("probability", 0),
        ("probability", 1),
        ("probability", Fraction(1, 3)),
        ("at_least", 2),
        ("between", _TINY),
        ("between", 1 - _TINY),
        ("count", 1),
        ("count", np.uint8(3)),
        ("count", 10**400),
    ],
)
def test_good_values_pass(rule: str, value: object) -> None:
    _CHECKS[rule](scale=value)


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        ("positive", 0, "scale must be greater than 0, got scale=0. Give a positive number."),
        ("positive", -_TINY, "scale must be greater than 0"),
        ("positive", -math.inf, "scale must be greater than 0, got scale=-inf"),
        ("nonnegative", -1, "scale must not be negative, got scale=-1. Give 0 or more."),
        ("nonnegative", -_TINY, "scale must not be negative"),
        ("probability", -_TINY, "scale must lie between 0 and 1"),
        ("probability", Fraction(4, 3), "scale must lie between 0 and 1, got scale=4/3."),
        ("probability", math.inf, "scale must lie between 0 and 1, got scale=inf."),
        ("at_least", 1, "scale must be at least 2, got scale=1."),
        ("between", 0, "scale must lie strictly between 0 and 1, got scale=0."),
        ("between", 1, "scale must lie strictly between 0 and 1, got scale=1."),
        ("count", 0, "scale must be at least 1, got scale=0."),
        ("count", True, "scale must be a whole number (an int), got the type bool."),
        ("count", np.True_, "scale must be a whole number"),
        ("count", 2.0, "scale must be a whole number (an int), got the type float."),
        ("count", "2", "scale must be a whole number (an int), got the type str."),
        ("count", None, "scale must be a whole number (an int), got the type NoneType."),
    ],
)
def test_the_message_gives_the_rule_the_name_and_the_value(rule: str, value: object, message: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        _CHECKS[rule](scale=value)
    assert str(refusal.value).startswith(message)


def test_count_from_a_stated_least() -> None:
    check.count(least=0, size=0)
    with pytest.raises(ParameterError, match="size must be at least 0, got size=-1"):
        check.count(least=0, size=-1)


def test_the_first_broken_rule_is_named() -> None:
    with pytest.raises(ParameterError, match=r"^rate must"):
        check.positive(scale=1, rate=0, other=-1)


def test_functions_are_asked_what_they_take() -> None:
    check.takes(1, f=len, g=lambda x: x, h=lambda *all_of_them: 0, i=int)
    check.takes(2, f=max, g=lambda x, y=0: x)
    for wrong in (3, None, "len"):
        with pytest.raises(ParameterError, match="f must be a function of one value, got the type"):
            check.takes(1, f=wrong)
    for unfit in (lambda: 0, lambda x, y: 0, lambda x, *, y: 0):
        with pytest.raises(ParameterError, match="f must be a function of one value, got one that cannot be called so"):
            check.takes(1, f=unfit)
    with pytest.raises(ParameterError, match="two values"):
        check.takes(2, f=lambda x: 0)
