"""The generated pairs hold what they should, and a failure is shown on a small one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from tests.replay import drawing
from tests.replay.case import PAIRS, Case, Run, on_pairs
from tests.replay.drawing import Choices
from tests.replay.stats_cases import columns


def drawn_columns() -> list[list[Any]]:
    runs = columns(dp.stats.count)
    return [runs(Choices(random.Random(number).randbytes(128))).first for number in range(200)]


KINDS: dict[str, Callable[[list[Any]], bool]] = {
    "nothing": lambda column: not column,
    "a null": lambda column: None in column,
    "NaN": lambda column: any(x != x for x in column),
    "minus zero": lambda column: any(x == 0 and math.copysign(1, x) < 0 for x in column if isinstance(x, float)),
    "zero": lambda column: any(x == 0 and math.copysign(1, x) > 0 for x in column if isinstance(x, float)),
    "huge": lambda column: any(isinstance(x, float) and abs(x) > 1e308 for x in column),
    "infinite": lambda column: math.inf in column,
    "tiny": lambda column: 5e-324 in column,
    "a tie": lambda column: len(column) < 30 and any(column.count(x) > 1 for x in column),
    "one who is there very often": lambda column: len(column) > 100,
    "text": lambda column: any(isinstance(x, str) for x in column),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_hold_anything(kind: str) -> None:
    assert sum(map(KINDS[kind], drawn_columns())) >= 5


@given(st.binary(max_size=8), st.integers(1, 2**30))
def test_smaller_bytes_are_smaller_choices(drawn: bytes, count: int) -> None:
    least, most, here = (Choices(each).below(count) for each in (b"", b"\xff" * 8, drawn))
    assert least == 0 <= here <= most == count - 1


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 255), (-3, 4), (-300, 200), (5, 6), (-9, -2)])
def test_every_integer_is_reached_and_zero_is_the_simplest(low: int, high: int) -> None:
    found = {drawing.integers(low, high)(Choices(number.to_bytes(2, "big"))) for number in range(1 << 16)}
    assert found == set(range(low, high + 1))
    assert drawing.integers(low, high)(Choices(b"")) == (0 if low <= 0 <= high else low)


@pytest.mark.nightly
def test_a_failure_is_shown_on_a_small_pair() -> None:
    """A sum that is not clamped: it is wrong from the first value past the bound on."""
    bare = dp.Laplace(sensitivity=10, epsilon=1)

    @drawing.composite
    def wrong(draw: Any) -> Run:
        data = draw(drawing.lists(drawing.integers(0, 50), max_size=12))
        return Run(lambda x: bare.release(sum(x)), data, [*data, draw(drawing.integers(0, 50))])

    case = Case("wrong", frozenset(), wrong())

    @on_pairs()
    def search(drawn: bytes) -> None:
        case.check(drawn)

    with pytest.raises(AssertionError, match=r"seed 0: .* more than the sensitivity 10\. \[\] and \[11\]"):
        search()


def test_there_are_enough_pairs() -> None:
    assert PAIRS >= 200
