"""The score and the base measure of private ranks, against their definition; sums against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators.base_measure import Base, bounded, stepped, unbounded
from dither.estimators.order_statistic import EXTREME_DIGITS, RankedRows, Target, extreme_target, quantile_aim, scored
from dither.estimators.ranks import quantile_sensitivity
from dither.estimators.sums import ExactSum
from dither.mechanisms import Exponential

VALUES = st.lists(st.one_of(st.floats(-8, 8), st.sampled_from([0.0, 1.0, 2.0, -8.0, 8.0])), max_size=12)
WHOLE = unbounded(is_whole=True)
BASES = st.sampled_from([bounded((-8.0, 8.0)), bounded((2.0, 8.0)), stepped(Fraction(1), -8, 8), unbounded(), WHOLE])
DIGITS = st.sampled_from([EXTREME_DIGITS, 2])


def test_whole_numbers_without_bounds_are_places_in_order() -> None:
    """Each of them up to 2^52, and from there on the doubles; round ones have more mass."""
    values = np.array([-(2.0**100), -(2.0**52) - 1, -7.0, -1.0, 0.0, 1.0, 2.0, 12345.0, 2.0**52 - 1, 2.0**52, 2.0**63])
    places = WHOLE.axis.places(values)
    assert (np.diff(places) > 0).all()
    assert (WHOLE.axis.values(places) == values).all()
    assert places[2:8].tolist() == [-7, -1, 0, 1, 2, 12345]
    assert WHOLE.axis.value(WHOLE.first) == -(2.0**120)
    every = np.arange(-1000, 1001)
    masses = np.array([WHOLE.measure.weight(at, at + 1) for at in every.tolist()], dtype=np.float64)
    assert (masses > 0).all()
    assert (masses == masses[::-1]).all()
    assert masses[1000] == masses.max()
    assert masses[1000 + 40] > masses[1000 + 41] > masses[1000 + 999]


def naive_loss(rows: RankedRows, base: Base, target: Target, cut: int, place: int) -> int:
    above = sum(int(start) > place for start in rows.starts)
    below = sum(int(end) <= place for end in rows.ends)
    over = target.above_weight * (target.units * above - target.above)
    under = target.below_weight * (target.units * below - target.below)
    if (fence := target.fence) is not None:
        n, p = len(rows.at), fence.slope
        if fence.is_above:
            over, under = min(over, p * above - fence.loss), max(under, p * below - p * n + fence.loss)
            far = sum(twice > place for twice in base.twice_as_far(rows.ends).tolist())
        else:
            over, under = max(over, p * above - p * n + fence.loss), min(under, p * below - fence.loss)
            far = sum(twice <= place for twice in base.twice_as_far(rows.starts).tolist())
        over = max(over, fence.half_loss - p * far)
    return min(max(over, under, 0), cut) + target.shift


@given(
    values=st.lists(st.integers(0, 40), max_size=30),
    more=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    probability=st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1, 50), Fraction(99, 100)]),
    epsilon=st.sampled_from([Fraction(1, 10), Fraction(2), Fraction(50)]),
    base=st.sampled_from([stepped(Fraction(1), 0, 40), stepped(Fraction(1), 0, 40).around(7)]),
    extreme=st.sampled_from([None, True, False]),
    adjacency=st.sampled_from([ADD_REMOVE, REPLACE_ONE]),
)
def test_rows_of_a_table_lose_no_more_than_epsilon(
    values: list[int], more: list[int], probability: Fraction, epsilon: Fraction, base: Base, extreme: bool | None,
    adjacency: Adjacency,
) -> None:  # fmt: skip
    """Several rows of a person come, or one where rows are replaced in place: as a NULL, or by a condition.

    All places are looked at, with the fence of tails and the place of no answer.
    """
    more = more[:1] if adjacency == REPLACE_ONE else more
    found = []
    for column in (values, values + more):
        bins, counts = np.unique(np.array(column, dtype=np.int64) // 4 * 4, return_counts=True)
        rows = RankedRows.of_bins(bins, np.minimum(bins + 4, base.end), counts.astype(np.int64))
        if extreme is None:
            slope = quantile_sensitivity(probability, adjacency)
            mechanism = Exponential(sensitivity=slope * len(more), epsilon=epsilon, adjacency=adjacency)
            target = quantile_aim(probability, rows.total, base, mechanism)
        else:
            mechanism = Exponential(sensitivity=4 * len(more), epsilon=epsilon, adjacency=adjacency)
            target = extreme_target(rows.total, mechanism, adjacency, largest=extreme, refuses=True)
        starts, scores = scored(rows, base, (base.first, base.end), target, mechanism)
        found.append(scores[np.searchsorted(starts, np.arange(base.first, base.end + 1), side="right") - 1])
    moved = found[0] - found[1]
    assert Fraction(moved.max() - moved.min()) <= epsilon * mechanism.scale


def test_no_number_of_rows_is_too_large() -> None:
    """A table of ten thousand million rows is answered as any other, whatever the probability: no row decides that."""
    base, q = stepped(Fraction(1), 0, 100), Fraction(123_457, 10**6)
    mechanism = Exponential(sensitivity=10**6, epsilon=1, adjacency=ADD_REMOVE)
    firsts = np.array([3, 20, 50])
    for rows in (10**9, 10**10, 10**12):
        many = RankedRows.of_bins(firsts, firsts + 1, np.array([rows // 10, rows // 20, rows // 2]))
        target = quantile_aim(q, many.total, base, mechanism)
        starts, scores = scored(many, base, (base.first, base.end), target, mechanism)
        best = int(np.argmax(scores))
        assert (starts[best], starts[best + 1], scores[best]) == (3, 4, 0.0)
        assert sorted(scores.tolist())[-2] == -float(min(math.ceil(64 * mechanism.scale), 2**53))


@given(
    values=VALUES,
    base=BASES,
    digits=DIGITS,
    probability=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    scale=st.sampled_from([Fraction(1, 50), Fraction(1), Fraction(10**6)]),
    places=st.lists(st.floats(-8, 8), min_size=1, max_size=8),
    extreme=st.sampled_from([None, True, False]),
    adjacency=st.sampled_from([ADD_REMOVE, REPLACE_ONE]),
)
def test_the_score_is_that_of_the_definition(
    values: list[float], base: Base, digits: int, probability: Fraction, scale: Fraction, places: list[float],
    extreme: bool | None, adjacency: Adjacency,
) -> None:  # fmt: skip
    mechanism = Exponential(sensitivity=4, scale=scale, adjacency=adjacency)
    rows = RankedRows.of_values(np.sort(np.array(values, dtype=np.float64) + 0.0), base, digits)
    if extreme is None:
        target = quantile_aim(probability, len(values), base, mechanism)
    else:
        target = extreme_target(len(values), mechanism, adjacency, largest=extreme, refuses=not base.is_bounded)
    starts, scores = scored(rows, base, (base.first, base.end), target, mechanism)
    assert (int(starts[0]), int(starts[-1])) == (base.first, base.end + (target.refusal is not None))
    assert (np.diff(starts) > 0).all()
    cut = math.ceil(64 * scale)
    tried = {
        base.first,
        base.end - 1,
        *starts[:-1].tolist(),
        *(starts[1:-1] - 1).tolist(),
        *map(base.axis.place, places),
    }
    for place in tried:
        if base.first <= place < base.end:
            piece = int(np.searchsorted(starts, place, side="right")) - 1
            assert scores[piece] == -naive_loss(rows, base, target, cut, place)
    assert (target.refusal is not None) == (extreme is None or not base.is_bounded)
    if target.refusal is not None:
        assert scores[-1] == -(min(target.refusal, cut) + target.shift)


@given(values=VALUES, cut=st.floats(-8, 8), counts=st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_rows_are_parted_and_counted_in_bins_as_they_are_alone(
    values: list[float], cut: float, counts: list[int]
) -> None:
    base = bounded((-8.0, 8.0))
    kept = np.sort(np.array(values, dtype=np.float64) + 0.0)
    numbers = np.array(counts[: len(kept)], dtype=np.int64)
    alone = RankedRows.of_values(np.repeat(kept, numbers), base)
    places = base.axis.places(kept)
    binned = RankedRows.of_bins(places, places + 1, numbers)
    where = base.axis.place(cut)
    assert alone.total == binned.total
    for one, other in zip(alone.parted(where), binned.parted(where), strict=True):
        assert one.total == other.total
        assert one.below(np.array([where - 5])).tolist() == other.below(np.array([where - 5])).tolist()


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
