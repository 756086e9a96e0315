"""Halving ends on the side that was asked for, whatever the condition."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from dither.exact.search import farthest, first_integer

integers = st.integers(-60, 60)


@given(integers, integers, integers)
def test_the_first_integer_is_found_by_looking_at_all(start: int, low: int, high: int) -> None:
    naive = next((n for n in range(low, high) if n >= start), max(low, high))
    assert first_integer(lambda n: n >= start, low, max(low, high)) == naive


@given(st.sets(integers), integers, integers)
def test_any_condition_holds_at_the_first_integer_and_not_before(true: set[int], low: int, high: int) -> None:
    high = max(low, high)
    found = first_integer(true.__contains__, low, high)
    assert found == high or found in true
    assert found == low or found - 1 not in true


@given(st.floats(0, 1), st.integers(0, 60), st.booleans())
def test_the_farthest_place_is_within_the_last_half(end: float, halvings: int, is_upwards: bool) -> None:
    limit = Fraction(end)
    if is_upwards:
        found = farthest(lambda x: x <= limit, Fraction(0), Fraction(1), halvings)
        assert found <= limit <= found + Fraction(1, 1 << halvings)
    else:
        found = farthest(lambda x: x >= limit, Fraction(1), Fraction(0), halvings)
        assert found >= limit >= found - Fraction(1, 1 << halvings)


@given(st.randoms(use_true_random=False), st.integers(0, 30))
def test_any_condition_was_seen_to_hold_at_the_farthest_place(chance: Random, halvings: int) -> None:
    held = {2.0}

    def holds(place: float) -> bool:
        answer = chance.random() < 0.5
        held.update([place] if answer else [])
        return answer

    assert farthest(holds, 2.0, -1.0, halvings) in held


def test_a_condition_that_nan_fails_is_never_left() -> None:
    nan = float("nan")
    assert farthest(lambda _: nan <= 1, 0.5, 1.0, 10) == 0.5
    assert first_integer(lambda _: nan <= 1, 0, 10) == 10
