"""Outward rounding brackets the truth, as closely as floats allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.exact import Ball, ball, lower, precision, upper

pytestmark = pytest.mark.property

_RATIONALS = st.fractions(min_value=-(10**30), max_value=10**30, max_denominator=10**30)
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_BITS = st.integers(min_value=2, max_value=300)


@given(_RATIONALS, _BITS)
def test_rationals_are_bracketed_at_any_precision(x: Fraction, bits: int) -> None:
    with precision(bits):
        number = ball(x)
    assert Fraction(lower(number)) <= x <= Fraction(upper(number))


@given(_RATIONALS, st.integers(min_value=-1100, max_value=900))
def test_dyadic_rationals_lie_between_neighbours(x: Fraction, exponent: int) -> None:
    """Subnormal results included: the two floats are equal or next to each other."""
    exact = Fraction(math.floor(x)) * Fraction(2) ** exponent
    with precision(200):
        number = ball(exact)
    assert number.is_exact()
    below, above = lower(number), upper(number)
    assert Fraction(below) <= exact <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))


@given(_FINITE)
def test_a_float_is_its_own_bound(x: float) -> None:
    number = ball(Fraction(x))
    assert lower(number) == upper(number) == x


_FUNCTIONS: dict[str, Callable[[Ball], Ball]] = {
    "exp": lambda x: x.exp(),
    "exp(-x)": lambda x: (-x).exp(),
    "tanh": lambda x: x.tanh(),
    "log(1+x²)": lambda x: (x * x).log1p(),
    "erfc": lambda x: x.erfc(),
}


@pytest.mark.parametrize("name", _FUNCTIONS)
@given(x=st.fractions(min_value=-40, max_value=40, max_denominator=10**6))
def test_functions_are_bracketed(name: str, x: Fraction) -> None:
    function = _FUNCTIONS[name]
    with precision(64):
        number = function(ball(x))
    below, above = lower(number), upper(number)
    with precision(400):
        truth = function(ball(x))
        assert ball(Fraction(below)) <= truth
        assert truth <= ball(Fraction(above))
    assert above - below <= 1e-9 * abs(above) + 4 * math.ulp(0.0), "and closely"
