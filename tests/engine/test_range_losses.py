"""The looks of tables lose no more than they are charged, whatever they answer: the contract of `dp.stats`.

Values may be missing, and a value may be replaced by none: how many there are is not public, as it is in an array.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.engine.found_ranges import PeopleByValue, Ranged, RangeNoise
from dither.estimators.answer import Spent
from dither.estimators.sums import STEPS, Placed, released_places
from dither.unit import Neighbour
from tests.estimators.test_neighbours import PARTS, Script, fewer, followed, loss, neighbour

VALUES = st.one_of(st.none(), st.floats(-50, 50), st.sampled_from([0.0, 1.0, 7.0, 1e6, 1e6 + 5, 1e6 + 9, -1e300]))
BOUNDS: list[Any] = [None, (0, 40), (0, 2 * 10**6), (-(10**9), 10**9)]


def looked(need: Ranged, adjacency: Adjacency, epsilon: Fraction, values: list[Any]) -> Any:
    """What is found of a table of these values."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    numbers = need.bins.numbers(known - need.cells.anchor)
    unit = dp.Rows() if adjacency == ADD_REMOVE else dp.Rows("replace")
    noise = RangeNoise(need, Neighbour.of(unit, grouped=False), epsilon, is_concentrated=False)
    return noise.found(PeopleByValue(need.cells, need.bins, numbers, np.ones_like(numbers)))


@pytest.mark.property
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("verb", [dp.sum, dp.mean, dp.variance])
@fewer
@given(
    values=st.lists(VALUES, min_size=1, max_size=9), entry=VALUES, at=st.integers(0, 8), parts=PARTS,
    bounds=st.sampled_from(BOUNDS), epsilon=st.sampled_from([Fraction(1, 2), Fraction(100)]),
)  # fmt: skip
def test_looks_lose_no_more_than_what_the_answer_does_not_get(
    verb: Any, adjacency: Adjacency, values: list[Any], entry: Any, at: int, parts: list[float], bounds: Any,
    epsilon: Fraction,
) -> None:  # fmt: skip
    need = next(iter(verb("x", bounds, clip=True).needs.values()))
    scripts = Script(parts), Script(parts)
    others = neighbour(values, entry, at, adjacency)
    first, second = (
        followed(script, partial(looked, need, adjacency, epsilon, each))
        for script, each in zip(scripts, (values, others), strict=True)
    )
    assert first == second
    assert len(scripts[0].seen) == len(scripts[1].seen)
    total = sum((loss(a, b) for a, b in zip(scripts[0].seen, scripts[1].seen, strict=True)), Fraction(0))
    assert total <= epsilon - first.left


def test_places_of_which_the_number_is_not_public_lose_all_that_is_stated_and_no_more() -> None:
    """By brute force over two records, values or none, of which one is replaced."""

    def placed(values: list[Fraction | None]) -> Placed:
        known = [value for value in values if value is not None]
        return Placed(len(known), sum(known, Fraction(0)), Fraction(0))

    records = [None, Fraction(0), Fraction(1, 3), Fraction(1)]
    worst = Fraction(0)
    for kept in records:
        for one in records:
            for other in records:
                scripts = Script([0.5]), Script([0.5])
                for script, each in zip(scripts, (one, other), strict=True):
                    ask = partial(
                        released_places, placed([kept, each]), REPLACE_ONE, Fraction(1), Spent(REPLACE_ONE),
                        is_count_public=False,
                    )  # fmt: skip
                    noisy = followed(script, ask)
                    assert noisy.released.mechanism.sensitivity == 2 * STEPS
                worst = max(worst, loss(scripts[0].seen[0], scripts[1].seen[0]))
    assert worst == 1
