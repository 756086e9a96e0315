"""Mechanisms find neighbours of their own: none that is farther away than they promise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.audit import attack
from dither.audit.attack.controls import CONTROLS, Control
from dither.audit.attack.own_neighbours import neighbours_of
from dither.errors import ParameterError
from dither.sensitivity import Triangles
from tests.noise.fit import ALARM

SENSITIVITIES = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)


def _apart(pair: Any) -> list[Fraction]:
    """How far each coordinate moves, exactly."""
    one, other = (np.atleast_1d(np.array(side, dtype=object)) for side in pair)
    assert one.shape == other.shape
    return [Fraction(b) - Fraction(a) for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("each", CONTROLS, ids=str)
def test_every_mechanism_answers_on_its_neighbours(each: Control) -> None:
    mechanism = each.make(1, "1e-3")
    pairs = neighbours_of(mechanism)
    assert pairs
    for pair in pairs:
        assert pair[0] != pair[1]
        for side in pair:
            mechanism.release(side)


@given(SENSITIVITIES, st.integers(1, 4))
def test_values_move_by_no_more_than_the_sensitivity(sensitivity: Fraction, dimension: int) -> None:
    laplace = dp.Laplace(sensitivity=sensitivity, scale=1, dimension=dimension)
    gaussian = dp.Gaussian(sensitivity=sensitivity, sigma=1, dimension=dimension)
    for mechanism, order in ((laplace, 1), (gaussian, 2), (dp.Staircase(sensitivity=sensitivity, epsilon=1), 1)):
        reached = [sum(abs(move) ** order for move in _apart(pair)) for pair in neighbours_of(mechanism)]
        assert max(reached) <= sensitivity**order
        assert max(reached) > sensitivity**order * Fraction(99, 100)


@given(SENSITIVITIES, st.booleans(), st.fractions(-50, 50, max_denominator=99))
def test_scores_move_by_no_more_than_the_sensitivity(sensitivity: Fraction, monotone: bool, level: Fraction) -> None:
    shared: dict[str, Any] = {"sensitivity": sensitivity, "epsilon": 1, "monotone": monotone}
    if monotone:
        shared["adjacency"] = ADD_REMOVE
    for mechanism in (
        dp.Exponential(**shared),
        dp.NoisyMax(candidates=4, **shared),
        dp.TopK(count=3, **shared),
        dp.SparseVector(threshold=level, max_above=1, **shared),
    ):
        moves = [_apart(pair) for pair in neighbours_of(mechanism)]
        assert all(abs(move) <= sensitivity for each in moves for move in each)
        assert any(abs(move) > sensitivity * Fraction(99, 100) for each in moves for move in each)
        both_ways = [any(m > 0 for m in each) and any(m < 0 for m in each) for each in moves]
        assert any(both_ways) is not monotone


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("max_bins", [1, 2])
def test_counts_move_as_one_record_moves_them(adjacency: Any, max_bins: int) -> None:
    found = dp.Histogram(epsilon=1, delta="1e-3", max_bins=max_bins, adjacency=adjacency)
    fixed = dp.Histogram(bins=4, epsilon=1, max_bins=max_bins, adjacency=adjacency)
    cells = dp.MatrixMechanism(dp.Workload.prefix(4), epsilon=1, adjacency=adjacency)
    replaces = adjacency is REPLACE_ONE
    for mechanism, most in ((found, max_bins), (fixed, max_bins), (cells, 1)):
        for one, other in neighbours_of(mechanism):
            if isinstance(one, dict):
                names = sorted({*one, *other})
                one, other = ([side.get(name, 0) for name in names] for side in (one, other))
            moves = _apart((one, other))
            gained, lost = sum(m for m in moves if m > 0), -sum(m for m in moves if m < 0)
            assert all(abs(move) <= 1 for move in moves)
            assert 0 < gained <= most
            assert lost == (gained if replaces else 0)
            mechanism.release(dict(zip("abcd", one, strict=False)) if mechanism is found else one)


def test_points_are_as_near_as_the_sensitivity() -> None:
    mechanism = dp.MetricExponential(points=[0, 1, 3, 9], distance=lambda x, y: abs(x - y), sensitivity=2, epsilon=1)
    assert neighbours_of(mechanism)[0] in [(1, 3), (3, 1)]
    assert all(0 < abs(one - other) <= 2 for one, other in neighbours_of(mechanism))


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.Laplace(sensitivity="1/10", epsilon=1),
        dp.Gaussian(sensitivity="1/3", epsilon=1, delta="1e-2"),
        dp.Exponential(sensitivity="1/7", epsilon=1),
    ],
    ids=repr,
)
def test_a_right_mechanism_is_not_accused_whatever_its_sensitivity(mechanism: Any) -> None:
    assert not attack(mechanism, samples=5_000, alpha=ALARM).violated


def test_graphs_ask_for_neighbours() -> None:
    mechanism = dp.SmoothSensitivity(Triangles(5), epsilon=1)
    with pytest.raises(ParameterError, match="neighbours="):
        neighbours_of(mechanism)


def test_points_that_are_all_too_far_apart_have_no_neighbours() -> None:
    far = dp.MetricExponential(points=[0, 10], distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=1)
    with pytest.raises(ParameterError, match="no two of its points are within the sensitivity 1 of each other"):
        attack(far)
    near = dp.MetricExponential(points=[0, 1, 10], distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=1)
    assert set(neighbours_of(near)) == {(0, 1), (1, 0)}
