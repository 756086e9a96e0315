"""Parts of octaves of real columns: the same from every engine, and a person in one of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.tables import BoundedTable, Column, OctaveBins
from dither.unit import Person, Rows

BINS = [
    OctaveBins(0.0, 1e6, -10, 12),
    OctaveBins(-8.0, 8.0, -2, 0),
    OctaveBins(-1e100, 1e100, -130, 12),
    OctaveBins(-1000.0, 0.0, -21, 3),
    OctaveBins(0.0, 1e-90, -330, 12),
]
NUMBERS = st.one_of(st.floats(-1e100, 1e100), st.floats(-10, 10), st.integers(-9, 9).map(float))


@pytest.mark.parametrize("bins", BINS, ids=str)
@given(values=st.lists(NUMBERS, min_size=1))
def test_numbers_are_those_of_the_definition(bins: OctaveBins, values: list[float]) -> None:
    found = bins.numbers(np.array(values))
    inside = np.abs(np.clip(values, bins.low, bins.high))
    assert (bins.sizes(np.abs(found)) <= inside * (1 + 2.0**-36)).all()
    assert (inside < bins.sizes(np.abs(found) + 1)).all()
    assert (np.sign(found) * np.sign(np.clip(values, bins.low, bins.high)) >= 0).all()


def counted(engine: Any, table: pa.Table, bins: OctaveBins, unit: Any = None, anchor: float = 0.0) -> dict[int, int]:
    """What the engine says, by bin."""
    bounded = BoundedTable(engine, engine.upload(table), unit or Rows(), {})
    batches = bounded.cells(Column("x"), bins, anchor, 7)._open()
    return {row["dither_bin"]: int(row["dither_rows"]) for batch in batches for row in batch.to_pylist()}


@pytest.mark.parametrize("bins", BINS, ids=str)
def test_engines_count_the_same_bins(engine: Any, bins: OctaveBins) -> None:
    """At the edges themselves, and at either side of them, as near as is promised."""
    edges = [times * 2.0**k for k in (-300, -31, -5, -1, 0, 1, 2, 3, 19, 20, 99, 300) for times in (1, 1.5)]
    near = [y for x in edges for y in (x * (1 - 2.0**-34), x, math.nextafter(x, math.inf))]
    values = [0.0, 5.5, 0.1, 1e6, 999_999.9, 1e100, 1e-100, *near]
    both = [*values, *(-x for x in values)]
    expected = Counter(bins.numbers(np.array(both)).tolist())
    assert counted(engine, pa.table({"x": pa.array([*both, None])}), bins) == expected


def test_one_person_moves_one_count_by_one(engine: Any) -> None:
    """Whoever leaves, and however many rows they take along: by brute force."""
    random = np.random.default_rng(11)
    x = np.where(random.random(80) < 0.2, np.nan, random.lognormal(0, 6, 80) * random.choice([-1, 1], 80))
    table = pa.table({"x": pa.array(x, from_pandas=True), "who": random.integers(9, size=80)})
    unit, bins = Person("who", max_groups=2, max_rows_per_group=2), OctaveBins(-1e9, 1e9, -20, 12)
    whole = Counter(counted(engine, table, bins, unit, anchor=0.25))
    assert whole.total() == 9
    for one in range(0, 9, 2):
        fewer = table.filter(pa.array([who != one for who in table["who"].to_pylist()]))
        less = Counter(counted(engine, fewer, bins, unit, anchor=0.25))
        assert (whole - less).total() == 1
        assert not less - whole
