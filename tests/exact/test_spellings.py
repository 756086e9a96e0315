"""Spellings of a number, whatever the number is, read back as that number."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import NotANumberError
from dither.exact import in_words, rational

pytestmark = pytest.mark.property

_IN_RANGE = st.floats(min_value=1e-307, max_value=1e307)
_DOUBLES = st.one_of(st.just(0.0), _IN_RANGE, _IN_RANGE.map(lambda x: -x))
_SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(_DOUBLES)
def test_a_float_means_its_shortest_decimal(x: float) -> None:
    assert rational(x) == Fraction(repr(x)) == rational(np.float64(x)) == rational(Decimal(repr(x)))


@given(_DOUBLES)
def test_a_float_is_the_double_nearest_to_its_meaning(x: float) -> None:
    number = rational(x)
    assert number.numerator / number.denominator == x


@given(_SINGLES)
def test_a_single_precision_float_is_the_one_nearest_to_its_meaning(x: float) -> None:
    number = rational(np.float32(x))
    assert np.float32(float(number)) == np.float32(x)
    assert number == Fraction(np.format_float_scientific(np.float32(x)))


@given(st.fractions(min_value=-(10**100), max_value=10**100, max_denominator=10**100))
def test_a_fraction_reads_back_from_its_ratio(number: Fraction) -> None:
    ratio = f"{number.numerator}/{number.denominator}"
    assert rational(number) == rational(ratio) == rational(in_words(number)) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20))
def test_a_decimal_keeps_every_digit(x: Decimal) -> None:
    assert rational(x) == rational(str(x)) == Fraction(x)


@given(st.integers(min_value=-(10**308), max_value=10**308))
def test_an_integer_means_itself(n: int) -> None:
    assert rational(n) == rational(str(n)) == n


@given(st.integers(min_value=1, max_value=10**6), st.integers(min_value=-300, max_value=300))
def test_sums_of_decimals_do_not_drift(count: int, exponent: int) -> None:
    """As 3 × 0.1 ≤ 0.3: a budget of `count` equal parts is used up by them exactly."""
    assert count * rational(float(f"1e{exponent}")) == rational(f"{count}e{exponent}")


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        number = rational(text)
    except NotANumberError:
        return
    assert math.isfinite(number)
    assert text.strip().isascii()
