"""Bins by the first digits of a double: the same from every engine, from NumPy and by the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.estimators.axes import Doubles
from dither.tables import BoundedTable, Column, FloatBins
from dither.unit import Rows
from tests.oracle.tables import float_bin

BINS = [
    FloatBins(0.0, 1e6, -21, 16),
    FloatBins(-8.0, 8.0, -2, 1),
    FloatBins(-1e100, 1e100, 292, 16),
    FloatBins(5.0, 6.0, -40, 30),
    FloatBins(-1000.0, -1.0, -31, 11),
    FloatBins(0.0, 1e-90, -340, 16),
    FloatBins(-7.0, 2.0**40, 20, 20),
]
NUMBERS = st.one_of(
    st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) >= 1e-100), st.floats(-10, 10), st.integers(-9, 9)
)


@pytest.mark.parametrize("bins", BINS, ids=str)
@given(values=st.lists(NUMBERS.map(float), min_size=1))
def test_numbers_are_those_of_the_definition(bins: FloatBins, values: list[float]) -> None:
    kept = [x for x in values if x == 0 or abs(x) >= 1e-100]
    found = bins.numbers(np.array(kept, dtype=np.float64))
    assert found.tolist() == [float_bin(x, (bins.low, bins.high), bins.flat, bins.digits) for x in kept]
    inside = np.abs(np.clip(kept, bins.low, bins.high))
    assert (bins.sizes(np.abs(found)) <= inside).all()
    assert (inside < bins.sizes(np.abs(found) + 1)).all()


@pytest.mark.parametrize("bins", BINS, ids=str)
def test_engines_count_the_same_bins(engine: Any, bins: FloatBins) -> None:
    powers = [2.0**k for k in (-300, -31, -5, -1, 0, 1, 2, 3, 19, 20, 30, 300)]
    near = [y for x in powers for y in (math.nextafter(x, 0), x, math.nextafter(x, math.inf))]
    values = [0.0, 5.5, 0.1, 1e6, 999_999.9, 1e100, 1e-100, *near]
    both = [*values, *(-x for x in values)]
    rows = engine.upload(pa.table({"x": pa.array([*both, None])}))
    question = BoundedTable(engine, rows, Rows(), {}).bins(Column("x"), bins, 7)
    found = {row["dither_bin"]: int(row["dither_rows"]) for batch in question._open() for row in batch.to_pylist()}
    numbers, counts = np.unique(bins.numbers(np.array(both)), return_counts=True)
    assert found == dict(zip(numbers.tolist(), counts.tolist(), strict=True))


@given(st.floats(0, 1e6))
def test_bins_are_stretches_of_doubles(value: float) -> None:
    """With 16 digits, of 2^36 places each: the first place of a bin is a multiple of that."""
    bins, axis = FloatBins(0.0, 1e6, -21, 16), Doubles(-21)
    number = bins.numbers(np.array([value]))
    assert axis.places(bins.sizes(number)).tolist() == [int(number[0]) << 36]
    assert int(number[0]) == axis.place(value) >> 36
