"""The score and the base measure of private ranks, against their definition; sums against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.estimators.ranks import Base, Target, _scored, quantile_target
from dither.estimators.sums import ExactSum

VALUES = st.lists(st.one_of(st.floats(-8, 8), st.sampled_from([0.0, 1.0, 2.0, -8.0, 8.0])), max_size=12)
BASES = st.sampled_from(
    [
        Base((-8.0, 8.0), 0.0),
        Base((-8.0, 8.0), 1.0, decay=3, spread_bits=3),
        Base((-8.0, 8.0), -8.0, decay=2, spread_bits=2),
        Base.in_a_tail((-8.0, 8.0), 7.5),
        Base.in_a_tail((-8.0, 8.0), -8.0).pulling_at_most(11.0),
    ]
)


def naive_loss(values: list[float], base: Base, target: Target, cut: int, place: float) -> int:
    above = below = 0
    flat = 2.0 ** (3 - 40 + 1 + base.spread_bits + 2)  # [−8, 8] is 2^4 wide: steps of 2^-36
    for x in values:
        width = max(abs(x - base.origin), flat) / 2**base.spread_bits
        above += min(max(x - width, -8.0), 8.0) > place
        below += min(max(x + width, -8.0), 8.0) <= place
    return min(max(target.units * above - target.above, target.units * below - target.below, 0), cut)


@given(
    values=VALUES,
    base=BASES,
    probability=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    cut=st.sampled_from([1, 5, 40, 10**6, 2**53]),
    places=st.lists(st.floats(-8, 8), min_size=1, max_size=8),
    shift=st.sampled_from([0, 3, -30, 10**18]),
)
def test_the_score_is_that_of_the_definition(
    values: list[float], base: Base, probability: Fraction, cut: int, places: list[float], shift: int
) -> None:
    target = quantile_target(probability, len(values))
    target = Target(target.units, target.above + shift, target.below - shift)
    ordered = np.sort(np.array(values, dtype=np.float64) + 0.0)
    edges, scores, density = _scored(ordered, base, target, cut)
    assert (edges[0], edges[-1]) == (-8.0, 8.0)
    assert (np.diff(edges) >= 0).all()
    for place in [*places, *ordered.tolist()]:
        piece = min(int(np.searchsorted(edges, place, side="right")) - 1, len(scores) - 1)
        assert scores[piece] == -naive_loss(ordered.tolist(), base, target, cut, place)
        assert density[piece] == naive_density(base, place)


def naive_density(base: Base, place: float) -> int:
    flat = 3 - 40 + 1 + base.spread_bits + 2
    place = min(place, math.nextafter(8.0, 0.0))  # the upper bound belongs to the last piece
    for octave in range(flat, 6):
        # The edges are doubles: the side of an edge is decided as they are.
        if base.origin - 2.0**octave <= place < base.origin + 2.0**octave:
            return -math.floor(base.decay * max(octave - 1 - flat, 0))
    raise AssertionError


@given(most=st.one_of(st.floats(-10, 60), st.just(0.0)), bounds=st.sampled_from([(0.0, 8.0), (0.0, 1e9), (0.0, 5e-9)]))
def test_no_octave_outweighs_another_by_more_than_the_pull(most: float, bounds: tuple[float, float]) -> None:
    base = Base.in_a_tail(bounds, 0.0).pulling_at_most(most)
    edges, density = base.pieces
    logs = np.log(np.diff(edges[1:-1])) + density[1:-1] * math.log(2)  # whole octaves
    assert np.ptp(logs) <= max(most, 0.0) + math.log(2) + 1e-9  # and the rounding of one density
    assert 1 <= base.decay <= 3


def test_ends_that_rounding_puts_out_of_order_still_count_once_each() -> None:
    # Two records next to 0 whose distances from the origin round apart: the larger one has the smaller upper end, which
    # is a grid point, so that a search in these ends as they come would miscount there by as many as there are.
    base = Base.in_a_tail((0.0, 2.0**20), 2.0**19 + 1000)
    near = 1.0 + (134_209_535 + 0.5) * 2.0**-33
    below, above = near - 1e-15, near + 1e-15
    place = float((above + base.spread(np.array([above])))[0])
    assert place < float((below + base.spread(np.array([below])))[0])
    assert place % 2.0**-20 == 0

    def score(data: list[float]) -> float:
        edges, scores, _ = _scored(np.sort(data), base, quantile_target(Fraction(1, 2), len(data)), 10**6)
        return float(scores[int(np.searchsorted(edges[:-1], place, side="right")) - 1])

    for count in range(60, 70):
        data = [below] * count + [above] * (count - 61) + [1000.0] * 60
        assert abs(score(data) - score([*data, above])) <= 1  # Δ of a median under add/remove


@pytest.mark.parametrize("base", [Base((-8.0, 8.0), 0.0), Base((0.0, 1e6), 3e5, spread_bits=6), Base((5.0, 6.0), 5.0)])
def test_a_record_has_its_least_weight_wherever_it_is(base: Base) -> None:
    """The weight of the places of a record, relative to all, is at least e^{−R}."""
    edges, density = base.pieces
    total = float(np.sum(np.diff(edges) * np.ldexp(1.0, density)))
    low, high = base.bounds
    for record in np.concatenate([np.linspace(low, high, 101), base.origin + np.geomspace(1e-9, 1, 20)]):
        if not low <= record <= high:
            continue
        width = float(base.spread(np.array([record]))[0])
        cuts = np.clip(edges, max(record - width, low), min(record + width, high))
        weight = float(np.sum(np.diff(cuts) * np.ldexp(1.0, density)))
        assert math.log(total / weight) <= base.log_weight_ratio - math.log(2) + 1e-9  # the rest is for the grid


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20),
    limits=st.sampled_from([(-1.0, 1.0), (0.0, 1e6), (-3.5, 0.0), (-1e100, 1e-3), (-1e-100, 2e-100)]),
)
def test_a06_sums_are_exact_in_any_order(values: list[float], limits: tuple[float, float]) -> None:
    low, high = (Fraction(end) for end in limits)
    first = ExactSum.of(np.array(values, dtype=np.float64), limits, ADD_REMOVE)
    assert first == ExactSum.of(np.array(values[::-1], dtype=np.float64), limits, ADD_REMOVE)
    steps = [math.floor(min(max(Fraction(x), low), high) / first.grid.step + Fraction(1, 2)) for x in values]
    assert first.total == sum(steps)
    assert all(abs(step) <= first.sensitivity for step in steps)
    replaced = ExactSum.of(np.array(values, dtype=np.float64), limits, REPLACE_ONE)
    ends = [math.floor(end / first.grid.step + Fraction(1, 2)) for end in (low, high)]
    assert replaced.sensitivity == ends[1] - ends[0]
    assert abs(sum(steps) * first.grid.step - sum(min(max(Fraction(x), low), high) for x in values)) <= (
        len(values) * first.grid.step / 2
    )


def test_a06_sum_order() -> None:
    values = [1e16, 1.0, -1e16]
    totals = {
        ExactSum.of(np.array(order), (-1e16, 1e16), ADD_REMOVE).total
        for order in (values, values[::-1], [1e16, -1e16, 1.0])
    }
    assert len(totals) == 1


def test_a07_a08_many_small_values_on_a_large_total() -> None:
    values = np.concatenate([np.full(1, 1e9), np.full(10**5, 2.0**-3)])
    exact = ExactSum.of(values, (0.0, 1e9), ADD_REMOVE)
    assert exact.total == round(Fraction(10**9) / exact.grid.step) + 10**5 * round(Fraction(1, 8) / exact.grid.step)
    wide = ExactSum.of(np.full(10**6, 2.0**300), (0.0, 2.0**300), ADD_REMOVE)
    assert wide.total == 10**6 * wide.sensitivity
