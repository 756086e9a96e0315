"""Floats on the safe side of computable reals."""

import math
from fractions import Fraction

import pytest

from dither.exact import Ball, ball
from dither.exact.certified import above, at_most, below, exactly_above, exactly_below, named, read_above, refined

THIRD = Fraction(1, 3)
VALUES = [Fraction(n, 37) for n in range(-40, 41)] + [Fraction(10) ** n for n in (-320, -308, -300, 0, 300, 308)]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_both_sides_bind_the_float_and_its_decimal(value: Fraction) -> None:
    for high, low in (
        (exactly_above(value), exactly_below(value)),
        (above(lambda: ball(value)), below(lambda: ball(value))),
    ):
        assert Fraction(low) <= value <= Fraction(high)
        assert Fraction(repr(low)) <= value <= Fraction(repr(high))
        if abs(value) > Fraction(1, 10**300):
            assert Fraction(high) - Fraction(low) <= abs(value) * Fraction(1, 2**49)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_name_is_exact_or_above(value: Fraction) -> None:
    assert Fraction(repr(named(value))) == value or named(value) == exactly_above(value)
    assert read_above(named(value)) >= value
    for number in (0.1, 0.3, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308):
        assert named(Fraction(repr(number))) == number
    assert read_above(1e-6) == Fraction(1, 10**6) > Fraction(1e-6)
    assert read_above(0.1) == Fraction(0.1) > Fraction(1, 10)


def test_out_of_range() -> None:
    huge = Fraction(10) ** 400
    assert exactly_above(huge) == named(huge) == math.inf
    assert exactly_below(huge) == pytest.approx(1.7976931348623157e308)
    assert exactly_above(1 / huge) == 5e-324
    assert exactly_below(1 / huge) == 0.0
    assert above(lambda: ball(1 / huge)) == 5e-324
    assert above(lambda: Ball("inf")) == math.inf
    assert above(lambda: Ball("nan")) == math.inf
    assert below(lambda: Ball("nan")) == -math.inf


def test_at_most_is_true_only_if_certain() -> None:
    near = Fraction(1, 10**300)
    assert at_most(lambda: ball(THIRD), THIRD + near)
    assert not at_most(lambda: ball(THIRD), THIRD - near)
    assert not at_most(lambda: ball(THIRD), THIRD), "equal numbers cannot be told apart"
    assert not at_most(lambda: Ball("nan"), THIRD)


def test_cancellation_is_met_with_more_bits() -> None:
    tiny = Fraction(1, 10**200)
    value = refined(lambda: ball(THIRD + tiny) - ball(THIRD))
    assert value.rel_accuracy_bits() >= 64
    assert above(lambda: ball(THIRD + tiny) - ball(THIRD)) == pytest.approx(1e-200, rel=1e-15)
