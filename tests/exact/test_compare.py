"""A uniform real is below a computable real with exactly that probability: every stream of digits is tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pytest

from dither.errors import PrecisionError
from dither.exact import Ball, Real, ball, is_below, precision, uniform_is_below
from dither.noise.entropy import BitSource
from tests.every_stream import Outcomes, RecordedBits, every_stream

_DEPTH = 40

Comparison = Callable[[Real, int, int, Callable[[], int]], bool]


def _answers(compare: Comparison, real: Real, prefix: int = 0, prefix_bits: int = 0) -> Outcomes:
    """The exact probability of each answer, when `prefix` is known and the next 40 digits are all tried."""

    def draw(source: BitSource) -> bool:
        return compare(real, prefix, prefix_bits, lambda: source.bits(1))

    return every_stream(draw, _DEPTH, word_bits=64)


def _are_right(answers: Outcomes, real: Real) -> bool:
    """Whether True has probability `real`, up to the streams that were too short to tell."""
    yes = answers.mass.get(True, Fraction(0))
    with precision(4 * _DEPTH):
        return bool(ball(yes) <= real()) and bool(real() <= ball(yes + answers.undecided))


_REALS: dict[str, Real] = {
    "1/3": lambda: ball(Fraction(1, 3)),
    "2/3": lambda: ball(Fraction(2, 3)),
    "e^-1": lambda: ball(-1).exp(),
    "e^-20": lambda: ball(-20).exp(),
    "1 - e^-20": lambda: 1 - ball(-20).exp(),
    "e^-1000": lambda: ball(-1000).exp(),
    "2^-30 + 2^-39": lambda: ball(Fraction(513, 1 << 39)),
}
_DYADIC: dict[str, Real] = {
    "0": lambda: ball(0),
    "1": lambda: ball(1),
    "5/8": lambda: ball(Fraction(5, 8)),
    "2^-30": lambda: ball(Fraction(1, 1 << 30)),
}


@pytest.mark.parametrize("name", _REALS)
def test_the_answer_has_the_probability_of_the_real(name: str) -> None:
    answers = _answers(uniform_is_below, _REALS[name])
    assert answers.undecided <= Fraction(1, 1 << _DEPTH)
    assert _are_right(answers, _REALS[name])


@pytest.mark.parametrize("name", _DYADIC)
def test_a_dyadic_real_is_decided_by_its_own_digits(name: str) -> None:
    answers = _answers(uniform_is_below, _DYADIC[name])
    assert answers.undecided == 0
    assert _are_right(answers, _DYADIC[name])


@pytest.mark.parametrize(("value", "answer"), [(-1, False), (0, False), (1, True), (2, True)])
def test_nothing_is_drawn_where_nothing_is_open(value: int, answer: bool) -> None:
    def no_digit() -> int:
        raise AssertionError("a digit was drawn")

    assert uniform_is_below(lambda: ball(value), 0, 0, no_digit) is answer


def test_the_next_digits_decide_once_a_thousand_are_known() -> None:
    """e^-1000 is 2^-1442.7: after 1440 zeros, U is below it with probability e^-1000 · 2^1440."""
    answers = _answers(uniform_is_below, _REALS["e^-1000"], prefix=0, prefix_bits=1440)
    assert answers.undecided <= Fraction(1, 1 << _DEPTH)
    with precision(2000):
        assert _are_right(answers, lambda: _REALS["e^-1000"]() * (1 << 1440))


@pytest.mark.parametrize("agreeing", [60, 200, 1000])
def test_a_uniform_number_is_told_from_the_real_by_the_first_digit_that_differs(agreeing: int) -> None:
    """U agrees with e^-1 in many more digits than a double has, and then differs."""
    with precision(2 * agreeing):
        digits = math.floor(_as_fraction(ball(-1).exp()) * (1 << agreeing))
    for nudge in (-1, 1):
        stream = RecordedBits(digits + nudge, agreeing)
        assert uniform_is_below(_REALS["e^-1"], 0, 0, partial(stream.bits, 1)) is (nudge < 0)


def _as_fraction(number: Ball) -> Fraction:
    """The midpoint, exactly."""
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("prefix", range(8))
def test_known_digits_are_used(prefix: int) -> None:
    """With the first three digits known, the rest is uniform on an eighth of the line."""
    answers = _answers(uniform_is_below, _REALS["1/3"], prefix, prefix_bits=3)
    share = min(max(8 * Fraction(1, 3) - prefix, Fraction(0)), Fraction(1))
    assert _are_right(answers, lambda: ball(share))


def _by_the_prefix_alone(real: Real, prefix: int, prefix_bits: int, next_bit: Callable[[], int]) -> bool:
    """A tie is never broken: U is taken for its first eight digits."""
    for _ in range(8):
        prefix, prefix_bits = 2 * prefix + next_bit(), prefix_bits + 1
    with precision(64):
        return bool(real() * (1 << prefix_bits) > prefix)


def _by_one_more_digit(real: Real, prefix: int, prefix_bits: int, next_bit: Callable[[], int]) -> bool:
    """A tie is broken by a coin."""
    for _ in range(8):
        prefix, prefix_bits = 2 * prefix + next_bit(), prefix_bits + 1
    with precision(64):
        scaled = real() * (1 << prefix_bits)
        return bool(scaled >= prefix + 1) or (bool(scaled > prefix) and next_bit() == 1)


@pytest.mark.parametrize("broken", [_by_the_prefix_alone, _by_one_more_digit])
@pytest.mark.parametrize("name", _REALS)
def test_a_wrong_tie_break_would_be_seen(broken: Comparison, name: str) -> None:
    assert not _are_right(_answers(broken, _REALS[name]), _REALS[name])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 1 << 5000)),
        (Fraction(-1, 1 << 5000), Fraction(0)),
    ],
)
def test_is_below_parts_close_numbers(left: Fraction, right: Fraction) -> None:
    assert is_below(lambda: ball(left), lambda: ball(right))
    assert not is_below(lambda: ball(right), lambda: ball(left))


def test_is_below_parts_an_exponential_from_its_rounding() -> None:
    with precision(300):
        near = _as_fraction(ball(-1).exp())
    assert is_below(lambda: ball(-1).exp(), lambda: ball(near)) != is_below(lambda: ball(near), lambda: ball(-1).exp())


def test_is_below_gives_up_on_equal_numbers() -> None:
    third: Real = lambda: ball(Fraction(1, 3))  # noqa: E731
    with pytest.raises(PrecisionError, match=r"equal or differ by less than 2\^-65536"):
        is_below(third, third)


def test_giving_up_is_an_arithmetic_error() -> None:
    assert issubclass(PrecisionError, ArithmeticError)
