"""Quantiles and extremes of tables: whole columns, bounds that are too wide, no bounds at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from tests.engine.conftest import Open


@pytest.fixture
def data(opened: Open) -> dp.Dataset:
    rng = np.random.default_rng(5)
    incomes = rng.lognormal(np.log(40_000), 0.8, 4_000)
    table = {"city": ["a", "b"] * 1999 + ["c"] * 2, "income": incomes, "visits": rng.poisson(30, 4_000)}
    return opened(pa.table(table), dp.Rows(), dp.PureDP(10**6))


def test_whole_columns_have_whole_answers(data: dp.Dataset) -> None:
    for bounds in ((0, 1000), ("-0.5", "10.25"), (0, 10**9), None):
        assert data.median("visits", bounds, epsilon=1).value % 1 == 0
        # Without bounds one in 7000 is no answer: three of three once in 10¹¹.
        tries = [data.max("visits", bounds, epsilon=1).value for _ in range(3)]
        answers = [value for value in tries if not isinstance(value, dp.NoAnswer)]
        assert answers
        assert all(value % 1 == 0 for value in answers)
    assert data.median(dp.col("visits") > 30, (0, 1), epsilon=10).value in (0.0, 1.0)
    assert data.median(dp.col("visits") * 1.5, (0, 1000), epsilon=1).value > 0
    release = data.quantile("visits", [0.1, 0.9], (0, 1000), interval_level=0.9, epsilon=5)
    assert release.value == pytest.approx([23, 37], abs=1.5)


def test_bounds_that_are_far_too_wide_cost_little(data: dp.Dataset) -> None:
    """About 1/ε = 1 rank of 4000 is off, which is 20; bins of equal width would be 4000 wide."""
    found = [data.median("income", (0, 10**9), epsilon=1).value for _ in range(20)]
    assert np.ptp(found) < 2_000
    assert np.median(found) == pytest.approx(40_000, rel=0.1)


def test_without_bounds_few_rows_get_no_answer(data: dp.Dataset) -> None:
    """Two rows get one with a probability of 2^-13, so that one of four numbers of two rows has one once in 2000 times.

    Three of three have one once in 10^10 runs.
    """
    asked: dict[str, Any] = {
        "middle": dp.median("income", interval_level=0.9),
        "some": dp.quantile("income", [0.4, 0.6]),
        "most": dp.max("income"),
    }
    question = data.group_by("city", keys=["a", "b", "c"]).agg(**asked)
    releases = (question.release(epsilon=6) for _ in range(3))
    release, table = next(
        (each, rows)
        for each in releases
        if [(rows := each.to_arrow().to_pydict())[name][2] for name in asked] == [None, [None, None], None]
    )
    assert table["middle"][:2] == pytest.approx([40_000] * 2, rel=0.2)
    assert (table["middle_low"][2], table["middle_high"][2]) == (-np.inf, np.inf)
    assert "no answer" in str(release)
    of_nobody = data.where(dp.col("income") < 0)
    values = [of_nobody.median("income", epsilon=1).value for _ in range(3)]
    refused = [value for value in values if isinstance(value, dp.NoAnswer)]
    assert refused
    assert all("State bounds" in str(value) for value in refused)
    assert "bounds" not in data.agg(m=dp.median("income")).words


def test_intervals_of_groups_hold_and_fit(data: dp.Dataset) -> None:
    """Of 186 one was too wide and one was beside its value: of 30, more than 10 are with probability 10⁻¹⁴.

    If it were one in 25, with 2·10⁻⁸.
    """
    question = data.group_by("city", keys=["a", "b"]).agg(m=dp.median("income", (0, 10**9), interval_level=0.95))
    good = 0
    for _ in range(15):
        table = question.release(epsilon=2).to_arrow().to_pydict()
        answers = zip(table["m_low"], table["m"], table["m_high"], strict=True)
        good += sum(low <= value <= high and high - low < 20_000 for low, value, high in answers)
    assert good >= 20
