"""Records added up by cell: every range of cells gives the sums of the clamped records, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.estimators.binned import BinSide, HalfOctaves, apart
from dither.estimators.sums import STEPS, Placed

pytestmark = pytest.mark.property

BOUNDS = st.sampled_from(
    [(0.0, 10.0), (-7.0, 0.3), (-3.0, 900.0), (5.0, 6.0), (-9.0, -2.5), (0.0, 1e300**0.3), (-1e-100, 1e-90), (0.1, 0.3)]
)
ENTRIES = st.one_of(st.floats(-12, 12), st.floats(-1e20, 1e20), st.sampled_from([0.0, 0.3, 1.0, 1.5, 6.0, 5.0, 1e-300]))


def naive(x: float, bins: HalfOctaves) -> tuple[bool, int, Fraction]:
    """The side, the cell and the distance of one record, by the definition."""
    distance = x - bins.anchor
    is_above = distance >= 0 if bins.above.cells else False
    side = bins.above if is_above else bins.below
    size = min(abs(distance), side.edges[-1])
    cell = next(at for at in range(side.cells) if size < side.edges[at + 1] or at == side.cells - 1)
    low, high = Fraction(side.edges[cell]), Fraction(side.edges[cell + 1])
    step = Fraction(2) ** int(side.exponents[cell])
    return is_above, cell, min(max(round(Fraction(size) / step) * step, low), high)


@given(bounds=st.one_of(BOUNDS, st.none()), entries=st.lists(ENTRIES, max_size=12))
def test_joined_cells_hold_the_same_records_once(bounds: tuple[float, float] | None, entries: list[float]) -> None:
    """One record is in one joined cell, whose edges are edges of the half-octaves; zeros keep a cell of their own."""
    bins = HalfOctaves.everywhere() if bounds is None else HalfOctaves.within(bounds)
    values = np.array(entries, dtype=np.float64) if bounds is None else np.clip(np.array(entries), *bounds)
    binned, fine = bins.binned(values).coarse(), bins.binned(values)
    assert sum(binned.counts) == sum(fine.counts) == len(entries)
    for side, cells in ((binned.bins.below, bins.below), (binned.bins.above, bins.above)):
        assert set(side.edges) <= set(cells.edges)
        assert side.edges[:2] == cells.edges[:2]
        assert side.edges[-1] == cells.edges[-1]
        assert side.cells < cells.cells or cells.cells < 8
    reach = binned.bins.whole
    assert binned.totals(reach) == fine.totals(bins.whole)
    half = reach[0] // 2, reach[1] // 2
    same = tuple(
        cells.edges.index(side.edges[at])
        for side, cells, at in zip((binned.bins.below, binned.bins.above), (bins.below, bins.above), half, strict=True)
    )
    assert binned.totals(half) == fine.totals((same[0], same[1]))


@given(bounds=BOUNDS, entries=st.lists(ENTRIES, max_size=12), down=st.integers(0, 60), up=st.integers(0, 60))
def test_the_sums_of_a_range_are_those_of_the_clamped_records(
    bounds: tuple[float, float], entries: list[float], down: int, up: int
) -> None:
    bins = HalfOctaves.within(bounds)
    values = np.clip(np.array(entries, dtype=np.float64), *bounds)
    binned = bins.binned(values)
    reach = min(down, bins.below.cells), min(up, bins.above.cells)
    low, high = bins.ends(reach)
    records = [naive(x, bins) for x in values.tolist()]
    clamped = [min(max(size if above else -size, low), high) for above, _, size in records]
    totals = binned.totals(reach)
    assert (totals.count, totals.first) == (len(clamped), sum(clamped, Fraction(0)))
    assert totals.second == sum((x**2 for x in clamped), Fraction(0))
    counts = np.array(binned.counts, dtype=np.float64)
    centre, below, above = apart(counts, bins)
    assert centre == sum(cell == 0 for _, cell, _ in records)
    for is_above, cells in ((False, below), (True, above)):
        assert cells.tolist() == [
            sum(side == is_above and cell == at + 1 for side, cell, _ in records) for at in range(len(cells))
        ]


@given(bounds=BOUNDS, x=ENTRIES)
def test_a_record_is_rounded_to_32_digits(bounds: tuple[float, float], x: float) -> None:
    bins = HalfOctaves.within(bounds)
    value = min(max(x, bounds[0]), bounds[1])
    is_above, _, size = naive(value, bins)
    distance = Fraction(value) - Fraction(bins.anchor)
    assert (
        abs((size if is_above else -size) - distance)
        <= abs(distance) * Fraction(1, 2**31) + Fraction(bins.farthest) * Fraction(2) ** -60
    )


@given(
    bounds=BOUNDS,
    entries=st.lists(ENTRIES, max_size=6),
    entry=ENTRIES,
    down=st.integers(0, 60),
    up=st.integers(1, 60),
)
def test_one_record_moves_the_exact_sums_by_no_more_than_they_say(
    bounds: tuple[float, float], entries: list[float], entry: float, down: int, up: int
) -> None:
    """U and V, and A, B and C, after rounding: the two sensitivities of `sums`, over all neighbours."""
    bins = HalfOctaves.within(bounds)
    reach = max(min(down, bins.below.cells), int(not bins.above.cells)), min(up, bins.above.cells)

    def placed(data: list[float]) -> Placed:
        return Placed.of(bins.binned(np.clip(np.array(data), *bounds)).totals(reach), *bins.ends(reach))

    one, other = placed(entries), placed([*entries, entry])
    steps = []
    for each in (one, other):
        upper, square = each.first * STEPS // 1, each.second * STEPS // 1
        middle = 2 * (each.first - each.second) * STEPS // 1
        whole = each.count * STEPS
        steps.append(((upper, whole - upper), (square, middle, whole - square - middle)))
    assert sum(abs(a - b) for a, b in zip(steps[0][0], steps[1][0], strict=True)) == STEPS
    assert sum(abs(a - b) for a, b in zip(steps[0][1], steps[1][1], strict=True)) <= STEPS + 2
    assert min(b - a for a, b in zip(steps[0][0], steps[1][0], strict=True)) >= 0


@given(
    places=st.lists(st.fractions(0, 1, max_denominator=50), min_size=1, max_size=6),
    place=st.fractions(0, 1, max_denominator=50),
)
def test_a_replaced_record_moves_the_variance_by_no_more_than_it_says(places: list[Fraction], place: Fraction) -> None:
    def variance(data: list[Fraction]) -> Fraction:
        mean = sum(data, Fraction(0)) / len(data)
        return sum(((x - mean) ** 2 for x in data), Fraction(0)) / len(data)

    count = len(places)
    assert abs(variance(places) - variance([place, *places[1:]])) <= Fraction(count - 1, count**2)


@pytest.mark.parametrize("reach", [1.0, 1.5, 0.3, 2.0**-300, 1e100, 1 + 2.0**-20])
def test_edges_are_half_octaves_up_to_the_end(reach: float) -> None:
    side = BinSide.reaching(reach)
    edges = np.array(side.edges)
    assert side.cells == 60
    assert edges[0] == 0
    assert edges[-1] == pytest.approx(reach, rel=2.0**-32)
    ratios = edges[2:-1] / edges[1:-2]
    assert set(np.round(ratios, 6)) == {1.333333, 1.5}
    assert BinSide.reaching(0.0).cells == 0
