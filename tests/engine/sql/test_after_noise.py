"""What is done with answers: HAVING, ORDER BY, LIMIT, arithmetic, and the intervals that come out of it."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dither as dp
from dither.engine import TableRelease
from dither.engine.sql.after_noise import Combined, Known, Made, NoisyColumn, Presentation
from tests.engine.sql.conftest import EXACTLY

Opened = Callable[..., dp.Dataset]


def test_rows_are_kept_ordered_and_cut_after_the_noise(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    text = "SELECT city AS town, COUNT(*) AS n FROM visits GROUP BY city"
    whole = data.sql(f"{text} ORDER BY 2 DESC").release(epsilon=EXACTLY).to_arrow()
    towns, counts = whole["town"].to_pylist(), whole["n"].to_pylist()
    assert counts == sorted(counts, reverse=True)
    assert towns[0] == "Paris"
    least = data.sql(f"{text} HAVING COUNT(*) < {counts[0]} ORDER BY n LIMIT 1").release(epsilon=EXACTLY).to_arrow()
    assert least.column_names == ["town", "n", "n_low", "n_high"]
    assert least["town"].to_pylist() == [towns[-1]]
    second = data.sql(f"{text} ORDER BY n DESC LIMIT 1 OFFSET 1").release(epsilon=EXACTLY).to_arrow()
    assert second["town"].to_pylist() == [towns[1]]
    none = data.sql(f"{text} HAVING n < 0").release(epsilon=EXACTLY).to_arrow()
    assert none.num_rows == 0
    assert none.schema.field("town").type == whole.schema.field("town").type


def test_intervals_go_through_arithmetic_at_any_level(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits, unit=dp.Person("pid", max_groups=1, max_rows_per_group=1))
    release = data.sql("SELECT SUM(spend) / COUNT(*) AS m, DP_INTERVAL_LOW(m) AS least FROM visits").release(epsilon=2)
    row = release.to_arrow().to_pylist()[0]
    assert row["m_low"] < row["m"] < row["m_high"]
    assert row["least"] == row["m_low"]
    (low, high), (lower, higher) = release.interval(0.5), release.interval(0.999)
    assert lower["m"][0].as_py() < low["m"][0].as_py() < high["m"][0].as_py() < higher["m"][0].as_py()
    assert set(release.plan.aggregates) == {"sum_spend", "count"}
    each = TableRelease._table(release, Fraction("0.975")).to_pylist()[0]
    ends = [each[f"sum_spend_{a}"] / each[f"count_{b}"] for a in ("low", "high") for b in ("low", "high")]
    assert (row["m_low"], row["m_high"]) == pytest.approx((min(ends), max(ends)))


def test_a_quotient_by_what_may_be_nothing_may_be_anything(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits.slice(0, 3))
    row = data.sql("SELECT SUM(spend) / COUNT(*) AS m FROM visits").release(epsilon="0.01").to_arrow().to_pylist()[0]
    assert (row["m_low"], row["m_high"]) == (-math.inf, math.inf)


def test_answers_are_printed_and_drawn(opened: Opened, visits: pa.Table) -> None:
    release = opened(visits).sql("SELECT city, SUM(spend) / COUNT(*) AS m FROM visits GROUP BY city").release(epsilon=1)
    assert "m " in repr(release)
    assert "95 % interval" in repr(release)
    assert "Paris" in release._repr_html_()
    assert release.plot() is not None
    with pytest.raises(dp.errors.ParameterError, match="GREATEST"):
        release.non_negative()
    with pytest.raises(dp.errors.ParameterError, match="consistent"):
        release.consistent("m", release)


numbers = st.integers(-50, 50)
verbs = st.sampled_from(["+", "-", "*", "/", "least", "greatest"])
trees: st.SearchStrategy[Made] = st.recursive(
    st.sampled_from([NoisyColumn("a"), NoisyColumn("b")]) | st.builds(Known, numbers),
    lambda some: (
        st.builds(lambda verb, one, two: Combined(verb, (one, two)), verbs, some, some)
        | st.builds(
            lambda verb, one: Combined(verb, (one,)), st.sampled_from(["negative", "abs", "floor", "sqrt"]), some
        )
    ),
    max_leaves=5,
)


@pytest.mark.property
@given(trees, st.tuples(numbers, numbers), st.tuples(numbers, numbers), st.floats(0, 1), st.floats(0, 1))
def test_the_value_of_anything_inside_lies_inside(
    tree: Made, a: tuple[int, int], b: tuple[int, int], at: float, where: float
) -> None:
    """Whatever the exact numbers are within their intervals, what is made of them is within its own."""
    cells: dict[str, Any] = {}
    for name, ends, part in (("a", sorted(a), at), ("b", sorted(b), where)):
        inside = ends[0] + (ends[1] - ends[0]) * part
        cells[name] = (inside, *ends)
    value, low, high = tree.cell(cells)
    assume(value is not None and low is not None and high is not None)
    assert low - 1e-6 * abs(low) - 1e-9 <= value <= high + 1e-6 * abs(high) + 1e-9


def test_shapes_without_rows_have_no_columns_of_their_own() -> None:
    table = pa.table({"k": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    shown = Presentation({"n": NoisyColumn("n")}).applied(lambda level: table, Fraction(95, 100))
    assert shown.num_rows == 0
