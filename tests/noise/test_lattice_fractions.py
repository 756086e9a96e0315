"""Rounding to a grid agrees with exact fractions, and the promised sensitivity holds for every pair of values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dither.errors import NotANumberError
from dither.noise import Grid
from tests.noise.test_lattice import nearest

pytestmark = pytest.mark.property

_GRIDS = st.integers(min_value=-80, max_value=80).map(Grid)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_MODEST = st.floats(min_value=-(2.0**70), max_value=2.0**70)


@given(_GRIDS, st.lists(_FLOATS, max_size=8))
def test_floats(grid: Grid, values: list[float]) -> None:
    assert grid.round(np.array(values)).tolist() == [nearest(x, grid) for x in values]


@given(_GRIDS, st.lists(_MODEST, max_size=8))
def test_floats_of_a_modest_size(grid: Grid, values: list[float]) -> None:
    assert grid.round(np.array(values)).tolist() == [nearest(x, grid) for x in values]


@given(_GRIDS, st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=8))
def test_single_precision(grid: Grid, values: list[float]) -> None:
    assert grid.round(np.array(values, dtype=np.float32)).tolist() == [nearest(x, grid) for x in values]


@given(_GRIDS, st.lists(st.integers(min_value=-(2**63), max_value=2**63 - 1), max_size=8))
def test_integers(grid: Grid, values: list[int]) -> None:
    assert grid.round(np.array(values, dtype=np.int64)).tolist() == [nearest(x, grid) for x in values]


@given(_GRIDS, st.lists(st.fractions(), max_size=8))
def test_fractions(grid: Grid, values: list[Fraction]) -> None:
    assert grid.round(np.array(values, dtype=object)).tolist() == [nearest(x, grid) for x in values]


@st.composite
def near_ties(draw: st.DrawFn, grid: Grid) -> Fraction:
    """A number at or just beside the middle between two grid points, where roundings go wrong."""
    middle = (draw(st.integers(min_value=-(2**20), max_value=2**20)) + Fraction(1, 2)) * grid.step
    beside = grid.step / (1 << draw(st.integers(min_value=1, max_value=60)))
    return middle + draw(st.sampled_from([-1, 0, 1])) * beside


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Grid, list[Fraction], list[Fraction]]:
    """Two vectors of one length, of ordinary and adversarial numbers."""
    grid = draw(_GRIDS)
    numbers = near_ties(grid) | _MODEST.map(Fraction) | st.fractions(min_value=-100, max_value=100)
    size = draw(st.integers(min_value=1, max_value=5))
    vectors = st.lists(numbers, min_size=size, max_size=size)
    return grid, draw(vectors), draw(vectors)


@given(neighbours())
def test_the_l1_sensitivity_in_steps(pair: tuple[Grid, list[Fraction], list[Fraction]]) -> None:
    """With Δ the exact distance of the two vectors, so that nothing is left over."""
    grid, left, right = pair
    distance = sum((abs(a - b) for a, b in zip(left, right, strict=True)), Fraction(0))
    assume(distance > 0)
    assert sum(map(abs, _moves(grid, left, right))) <= grid.l1_steps(distance, len(left))


@given(neighbours())
def test_the_l2_sensitivity_in_steps(pair: tuple[Grid, list[Fraction], list[Fraction]]) -> None:
    """With Δ at most a part in 2^100 above the exact distance."""
    grid, left, right = pair
    square = sum(((a - b) ** 2 for a, b in zip(left, right, strict=True)), Fraction(0))
    assume(square > 0)
    distance = Fraction(math.isqrt(math.ceil(square * 4**200)) + 1, 2**200)
    assert sum(move**2 for move in _moves(grid, left, right)) <= grid.l2_steps(distance, len(left)) ** 2


def _moves(grid: Grid, left: list[Fraction], right: list[Fraction]) -> list[int]:
    """How many steps each coordinate moves by."""
    rounded = [grid.round(np.array(vector, dtype=object)).tolist() for vector in (left, right)]
    return [int(a - b) for a, b in zip(*rounded, strict=True)]


@given(_GRIDS, _MODEST, _MODEST)
def test_the_sensitivity_holds_for_machine_floats(grid: Grid, a: float, b: float) -> None:
    distance = abs(Fraction(a) - Fraction(b))
    assume(distance >= Fraction("1e-308"))  # a smaller sensitivity is refused
    moved = abs(int(grid.round(a)) - int(grid.round(b)))
    assert moved <= grid.l1_steps(distance)


def test_a_sensitivity_below_all_normal_floats_is_refused() -> None:
    with pytest.raises(NotANumberError, match="sensitivity must be 0 or between 1e-308 and 1e308"):
        Grid(-20).l1_steps(abs(Fraction(5e-324)))


@given(_GRIDS, _MODEST)
def test_a_whole_step_more_is_one_point_further(grid: Grid, x: float) -> None:
    assert int(grid.round(Fraction(x) + grid.step)) == int(grid.round(x)) + 1
