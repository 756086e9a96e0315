"""What is done with answers: HAVING, ORDER BY, LIMIT, arithmetic, and the intervals that come out of it."""

import math
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dither as dp
from dither.engine import TableRelease
from dither.engine.sql.after_noise import Combined, End, Known, Made, NoisyColumn, Ordering, Presentation
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers
from tests.engine.sql.conftest import EXACTLY

Opened = Callable[..., dp.Dataset]


def test_f71_rows_are_kept_ordered_and_cut_after_the_noise(opened: Opened, visits: pa.Table) -> None:
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


def test_a_quotient_by_what_may_be_nothing_may_be_anything(
    opened: Opened, visits: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count has no noise here: now and then a noisy one would be far from 0."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    question = opened(visits.slice(0, 3)).sql("SELECT SUM(spend) / COUNT(*) AS m FROM visits")
    with exact_answers():
        row = question.release(epsilon="0.01").to_arrow().to_pylist()[0]
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


any_number = st.sampled_from([0, 1, -1, 2**62, -(2**63), 10**400, 0.5, -1e308, 5e-324]) | numbers
any_trees: st.SearchStrategy[Made] = st.recursive(
    st.sampled_from([NoisyColumn("a"), NoisyColumn("b"), End(NoisyColumn("a"), is_high=False)])
    | st.builds(Known, any_number),
    lambda some: (
        st.builds(lambda verb, one, two: Combined(verb, (one, two)), verbs, some, some)
        | st.builds(lambda one, digits: Combined("round", (one, Known(digits))), some, any_number)
        | st.builds(
            lambda verb, one: Combined(verb, (one,)), st.sampled_from(["negative", "abs", "floor", "sqrt"]), some
        )
    ),
    max_leaves=12,
)
wholes = st.sampled_from([0, 1, -(2**62), 2**62])
reals = st.sampled_from([0.0, 1.5, -1e100, 1.7e308, -math.inf, math.inf])


@pytest.mark.property
@given(
    st.lists(any_trees, min_size=1, max_size=2),
    any_trees,
    st.tuples(*[wholes | st.none()] * 3),
    st.tuples(*[reals] * 3),
)
def test_no_noisy_number_loses_an_answer_that_was_paid_for(
    made: list[Made], kept: Made, a: tuple[int | None, ...], b: tuple[float, ...]
) -> None:
    """FLOOR of a quotient by what may be 0, and products beyond 64 bits, ended in errors of Python and Arrow."""
    ends = ("", "_low", "_high")
    noisy = {f"a{end}": pa.array([value], pa.int64()) for end, value in zip(ends, a, strict=True)}
    noisy |= {f"b{end}": pa.array([value], pa.float64()) for end, value in zip(ends, b, strict=True)}
    columns = {f"x{at}": each for at, each in enumerate(made)}
    shown = Presentation(columns, Combined("is_null", (kept,)), tuple(map(Ordering, made)))
    Presentation(columns, Combined("is_null", (kept,))).rehearse({"a": 1, "b": 1.0})
    table = Presentation(columns, order=shown.order).applied(lambda level: pa.table(noisy), Fraction(95, 100))
    assert {field.type for field in table.schema} <= {pa.int64(), pa.float64()}
    assert shown.applied(lambda level: pa.table(noisy), Fraction(95, 100)).num_rows <= 1


@pytest.mark.parametrize(
    "said",
    [
        "HAVING city > 3",
        "HAVING city = 3",
        "HAVING NOT city <> 3",
        "HAVING COUNT(*) = city",
        "HAVING COUNT(*) < city",
        "HAVING COUNT(*) + city > 0",
        "HAVING ABS(city) = COUNT(*)",
        "HAVING GREATEST(COUNT(*), city) = 3",
        "HAVING APPROX_QUANTILES(age, 4) > COUNT(*)",
        "HAVING APPROX_QUANTILES(age, 4) + APPROX_QUANTILES(age, 4) = COUNT(*)",
        "ORDER BY APPROX_QUANTILES(age, 4)",
        "ORDER BY COUNT(*) - city",
    ],
)
def test_what_does_not_go_together_is_refused_before_the_charge(said: str, opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    with pytest.raises(dp.errors.ParameterError, match="Nothing was charged"):
        data.sql(f"SELECT city, COUNT(*) AS n FROM visits GROUP BY city {said}")
    assert data.spent["epsilon"] == 0


@pytest.mark.parametrize(
    "values",
    [[1, 2], ["a", "b"], [True, False], [date(2024, 1, 1), None], [datetime(2024, 1, 1, 8), datetime(2024, 1, 2, 9)]],
    ids=["whole", "text", "truth", "date", "time"],
)
def test_keys_of_every_kind_are_tried_and_answered(opened: Opened, values: list[Any]) -> None:
    data = opened(pa.table({"pid": range(200), "k": values * 100, "spend": [1.0] * 200}), columns={})
    text = "SELECT k, COUNT(*) / 2 AS n FROM visits GROUP BY k ORDER BY k DESC"
    found = data.sql(text).release(epsilon=100, delta="1e-6").to_arrow()
    assert found.num_rows == 2
    with pytest.raises(dp.errors.ParameterError, match="Nothing was charged"):
        data.sql(text.replace("ORDER", "HAVING k > DATE '2024-01-01' OR k > 3 OR k > 'a' ORDER"))


def test_what_may_be_anything_is_printed_and_drawn(opened: Opened, visits: pa.Table) -> None:
    """Of three rows at this price, counts are often 0 or less: quotients are missing, their intervals infinite."""
    release = (
        opened(visits.slice(0, 3))
        .sql(
            "SELECT city, FLOOR(SUM(spend) / COUNT(*)) AS m, SQRT(FLOOR(SUM(spend) / (COUNT(*) - COUNT(*)))) AS none, "
            "DP_INTERVAL_LOW(m) AS least FROM visits GROUP BY city"
        )
        .release(epsilon="0.01")
    )
    assert release.to_arrow()["none"].null_count == release.to_arrow().num_rows
    assert "no answer" in repr(release)
    assert "∞" in release._repr_html_()
    assert release.plot() is not None
    assert len(release.to_pandas()) == len(release.to_polars()) == release.to_arrow().num_rows


def test_shapes_without_rows_have_no_columns_of_their_own() -> None:
    table = pa.table({"k": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    shown = Presentation({"n": NoisyColumn("n")}).applied(lambda level: table, Fraction(95, 100))
    assert shown.num_rows == 0
