"""The generated pairs hold what they should, and a failure is shown on a small one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from tests.replay import drawing
from tests.replay.case import PAIRS, Case, Run
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


@given(st.binary(max_size=8), st.sampled_from([0, 1, 2, 3, "0"]))
def test_unlike_is_another_and_else_what_was_drawn(drawn: bytes, value: Any) -> None:
    entries = drawing.sampled_from([0, 1, 2])
    usual, found = entries(Choices(drawn)), drawing.unlike(value, entries)(Choices(drawn))
    assert found in {0, 1, 2} - {value}
    assert found == usual or usual == value


@pytest.mark.parametrize(
    ("left", "right", "are"),
    [
        (math.nan, float("nan"), True), (0.0, -0.0, False), (0, False, False), ([1, None], [1, None], True),
        (np.zeros(3000), np.append(np.zeros(2999), 1), False), ({"a": 1}, {"a": 2}, False),
    ],
)  # fmt: skip
def test_what_is_one_input_and_what_are_two(left: Any, right: Any, are: bool) -> None:
    assert drawing.alike([left], [left])
    assert drawing.alike(left, right) == are


def test_two_equal_inputs_are_no_pair() -> None:
    """As in a case that may draw the entry it replaces."""
    bare = dp.Laplace(sensitivity=1, epsilon=1)

    @drawing.composite
    def careless(draw: Any) -> Run:
        return Run(lambda x: bare.release(x), draw(drawing.integers(0, 1)), draw(drawing.integers(0, 1)))

    with pytest.raises(AssertionError, match="no two inputs, but twice 0"):
        Case("careless", frozenset(), careless()).replay_all()


def test_too_few_pairs_are_noticed() -> None:
    """A case said to have three neighbours to a run, and with one."""
    bare = dp.Laplace(sensitivity=1, epsilon=1)
    case = Case("few", frozenset(), lambda choices: Run(lambda x: bare.release(x), 0, 1))
    with pytest.raises(AssertionError, match="pairs only"):
        case.replay_all(neighbours=3)


@pytest.mark.nightly
def test_a_failure_is_shown_on_a_small_pair() -> None:
    """A sum that is not clamped: it is wrong from the first value past the bound on."""
    bare = dp.Laplace(sensitivity=10, epsilon=1)

    @drawing.composite
    def wrong(draw: Any) -> Run:
        data = draw(drawing.lists(drawing.integers(0, 50), max_size=12))
        return Run(lambda x: bare.release(sum(x)), data, [*data, draw(drawing.integers(0, 50))])

    case = Case("wrong", frozenset(), wrong())

    with pytest.raises(AssertionError, match=r"seed 0: .* more than the sensitivity 10\. \[\] and \[11\]"):
        case.replay_all()


def test_there_are_enough_pairs() -> None:
    assert PAIRS >= 200
