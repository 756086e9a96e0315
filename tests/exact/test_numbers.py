"""A parameter means one exact number, or is refused with the name and the rule."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import DitherError, NotANumberError, ParameterError
from dither.exact import in_words, rational

_TENTH = Fraction(1, 10)


class _Index:
    """Anything that is a whole number says so through ``__index__``."""

    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (0, Fraction(0)),
        (-3, Fraction(-3)),
        (10**308, Fraction(10**308)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.10"), _TENTH),
        (Decimal("-1E-6"), Fraction(-1, 10**6)),
        (Decimal("-0"), Fraction(0)),
        (0.1, _TENTH),
        (-0.0, Fraction(0)),
        (1e308, Fraction(10**308)),
        (1e-308, Fraction(1, 10**308)),
        (np.float64(0.1), _TENTH),
        (np.float32(0.1), _TENTH),
        (np.float16(0.1), _TENTH),
        (np.longdouble("0.1"), _TENTH),
        (np.int8(-128), Fraction(-128)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (_Index(), Fraction(7)),
        ("0.1", _TENTH),
        (np.str_("0.1"), _TENTH),
        (" 0.1\n", _TENTH),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-0", Fraction(0)),
        ("1e-6", Fraction(1, 10**6)),
        ("1E+3", Fraction(1000)),
        ("00012", Fraction(12)),
        ("1/3", Fraction(1, 3)),
        ("-2/6", Fraction(-1, 3)),
        ("1e308", Fraction(10**308)),
        ("0." + "0" * 307 + "1", Fraction(1, 10**308)),
    ],
)
def test_an_accepted_spelling_has_one_meaning(value: object, meaning: Fraction) -> None:
    number = rational(value)
    assert type(number) is Fraction
    assert (type(number.numerator), type(number.denominator)) == (int, int)
    assert number == meaning


NOT_ONE_FINITE_NUMBER = [
    float("nan"),
    float("inf"),
    float("-inf"),
    np.float64("nan"),
    np.float32("inf"),
    np.longdouble("-inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    "nan",
    "inf",
    "-Infinity",
]
BOOLEANS = [True, False, np.True_, np.False_]
NOT_A_DECIMAL = [
    "",
    " ",
    ".",
    "e5",
    "1e",
    "1e5.0",
    "1_0",
    "1 0",
    "1,5",
    "0x10",
    "--1",
    "\u22121",  # a minus sign that is not a hyphen
    "\u0663",  # an Arabic digit
    "\uff11",  # a full-width digit
    "1\u0000",
    "1/2/3",
    "1/-2",
    "1.0/3",
    "/3",
    "1/0",
]
OUT_OF_RANGE = [
    "1e999",
    "-1e999",
    "1e-999",
    "1e9999999999",
    "1e-9999999999",
    "1e" + "9" * 300,
    "9" * 309,
    "1" + "0" * 380 + "/3",
    10**309,
    Fraction(1, 10**309),
    Decimal("1e400"),
    Decimal("1E+999999"),
    1.7e308,
    5e-324,
    np.longdouble("1e4000"),
]
HUGE_TEXT = ["1" * 401, "0." + "3" * 100_000, "1/" + "3" * 100_000]
NOT_A_NUMBER_TYPE = [
    None,
    [1],
    (1,),
    {},
    object(),
    b"1",
    1j,
    np.complex128(1),
    np.array(1),
    np.array(1.0),
    np.array([1]),
    np.array([1.0, 2.0]),
    np.datetime64("2020-01-01"),
    np.timedelta64(1, "D"),
    np.timedelta64("NaT"),
]


@pytest.mark.parametrize(
    "value",
    [*NOT_ONE_FINITE_NUMBER, *BOOLEANS, *NOT_A_DECIMAL, *OUT_OF_RANGE, *HUGE_TEXT, *NOT_A_NUMBER_TYPE],
    ids=lambda value: f"{type(value).__name__} {str(value)[:16]!r}",
)
def test_everything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(NotANumberError, match=r"^epsilon (must|has)"):
        rational(value, "epsilon")


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (float("nan"), "must be one finite number, got 'nan'"),
        (True, "must be a number, got the boolean True"),
        ("1_0", "must be one finite number, got '1_0'"),
        ("1/0", "must not divide by zero"),
        ("1e999", "between 1e-308 and 1e308"),
        (10**309, "between 1e-308 and 1e308"),
        ("1" * 401, "more than 400 characters"),
        ([1], "got the type list"),
    ],
)
def test_a_refusal_says_the_rule(value: object, rule: str) -> None:
    with pytest.raises(NotANumberError) as refusal:
        rational(value, "epsilon")
    assert rule in str(refusal.value)


def test_a_refusal_is_short_however_long_the_text_was() -> None:
    with pytest.raises(NotANumberError) as refusal:
        rational("9" * 10**6, "epsilon")
    assert len(str(refusal.value)) < 200


def test_a_refusal_can_be_caught_as_a_value_error() -> None:
    assert issubclass(NotANumberError, ParameterError)
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, DitherError)


def test_three_tenths_are_three_times_a_tenth() -> None:
    assert 3 * rational(0.1) == rational(0.3)
    assert not 3 * 0.1 <= 0.3, "which floats cannot do"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (Fraction(0), "0"),
        (Fraction(3), "3"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(2**53 + 1), str(2**53 + 1)),
        (Fraction(1, 10**6), "1e-06"),
    ],
)
def test_numbers_in_words(number: Fraction, words: str) -> None:
    assert in_words(number) == words
    assert rational(words) == number
