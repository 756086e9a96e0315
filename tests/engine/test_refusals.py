"""What cannot be asked is refused before anything is charged, in words that name the rule and never data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dp
from dither.errors import LedgerError, OverBudget, ParameterError
from tests.engine.conftest import Open

BOUNDS = (0, 200)
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "missing column": (
        lambda data: data.sum("spent", BOUNDS, epsilon=1),
        "Column 'spent' is not found. Existing columns: user, city, age, spend",
    ),
    "missing key": (lambda data: data.group_by("town"), "Column 'town' is not found. Existing columns"),
    "missing in where": (lambda data: data.where(dp.col("town") == "x"), "Column 'town' is not found"),
    "a sum of texts": (lambda data: data.sum("day", BOUNDS, epsilon=1), "a number is needed"),
    "a median of days": (lambda data: data.median("day", BOUNDS, epsilon=1), "a number is needed"),
    "numbers of a text": (lambda data: data.sum("city", BOUNDS, epsilon=1), "column 'city' holds texts, and a number"),
    "a median of a text": (lambda data: data.median("city", BOUNDS, epsilon=1), "column 'city' holds texts"),
    "bins of a text": (lambda data: data.group_by(dp.bins("city", [0, 5, 9])), "column 'city' holds texts"),
    "a histogram of a text": (lambda data: data.histogram("city", [0, 5, 9], epsilon=1), "'city' holds texts"),
    "arithmetic with a text": (lambda data: data.with_columns(n=dp.col("city") * 2), "column 'city' holds texts"),
    "the year of a text": (lambda data: data.with_columns(n=dp.col("city").year()), "texts, and a date is needed"),
    "a text per person": (lambda data: data.per_person(n=dp.sum("city", BOUNDS)), "column 'city' holds texts"),
    "a chosen text": (
        lambda data: data.mean(dp.if_else(dp.col("age") > 1, dp.col("city"), "b"), BOUNDS, epsilon=1),
        "the expression gives a text, and a number is needed",
    ),
    "numbers as keys of texts": (
        lambda data: data.group_by("city", keys=[1, 2]).agg(n=dp.count()),
        "column 'city' holds texts, and a number is needed",
    ),
    "days as keys of texts": (
        lambda data: data.group_by("city", keys=[date(2024, 1, 1)]).agg(n=dp.count()),
        "column 'city' holds texts, and a date is needed",
    ),
    "numbers as candidates of texts": (lambda data: data.top("city", 1, [1, 2], epsilon=1), "'city' holds texts"),
    "a join of a text by numbers": (
        lambda data: data.join(pa.table({"city": [1], "size": [2]}), on="city"),
        "column 'city' holds texts",
    ),
    "a number that is a text": (lambda data: data.where(dp.col("age") == "x"), "'x' is a text. Write it without"),
    "a number that is not a text": (lambda data: data.where(dp.col("city") == 1), "column 'city' holds texts"),
    "a day of days that is none": (lambda data: data.where(dp.col("day") > "x"), "'x' is none. Write it as datetime"),
    "where without a condition": (lambda data: data.where(dp.col("age") + 1), "where takes conditions"),
    "where of a truth": (lambda data: data.where(True), "where takes conditions"),
    "groups of reals": (lambda data: data.group_by("spend").agg(n=dp.count()), "Group by public bins"),
    "distinct columns": (lambda data: data.group_by("city", "city"), "different column names"),
    "keys of another kind": (lambda data: data.group_by("age", keys=["x"]).agg(n=dp.count()), "kind"),
    "bounds reversed": (lambda data: data.mean("spend", (200, 0), epsilon=1), "low < high"),
    "bounds equal": (lambda data: data.max("spend", (1, 1), epsilon=1), "low < high"),
    "bounds NaN": (lambda data: data.sum("spend", (0, float("nan")), epsilon=1), "bounds"),
    "bounds next to zero": (lambda data: data.median("spend", (0, 1e-300), epsilon=1), "between 1e-100 and 1e100"),
    "persons counted as persons": (lambda data: data.per_person(user=dp.count()), "identifies persons"),
    "no bounds of a person's sum": (lambda data: data.per_person(all=dp.sum("spend")), "bounds are needed"),
    "no bounds of a person's extreme": (
        lambda data: data.per_person(most=dp.max("spend")),
        "bounds are needed",
    ),
    "lists of lists": (lambda data: data.group_by([["city"], "age"]), "different column names"),
    "one text as keys": (lambda data: data.group_by("city", keys="Lyon"), r"Write keys=\['Lyon'\]"),
    "one text for a column": (lambda data: data.group_by("city", keys={"city": "Lyon"}), "must be a list of values"),
    "a set of keys": (lambda data: data.group_by("city", keys={"Lyon"}), "must be a list of values, got the type set"),
    "a series to join": (lambda data: data.join(pl.Series(["a"]), on="city"), "Arrow is needed, got the type Series"),
    "a list to join": (lambda data: data.join([1], on="city"), "a table of pandas, Polars or Arrow is needed"),
    "bounds missing": (lambda data: data.sum("spend", 3, epsilon=1), "pair"),
    "a quantile of 1": (lambda data: data.quantile("spend", 1, BOUNDS, epsilon=1), "Use min or max"),
    "no quantile": (lambda data: data.quantile("spend", [], BOUNDS, epsilon=1), "empty list"),
    "an interval for sure": (lambda data: data.median("spend", BOUNDS, interval_level=1, epsilon=1), "interval_level"),
    "candidates of two types": (lambda data: data.top("city", 1, ["a", 1], epsilon=1), "all of one type"),
    "fewer candidates": (lambda data: data.top("city", 2, ["a"], epsilon=1), "2 to 900 candidates"),
    "candidates of another kind": (lambda data: data.top("age", 1, ["a"], epsilon=1), "'a' is a text"),
    "values found without delta": (lambda data: data.top("city", 1, epsilon=1), "need delta"),
    "groups found without delta": (
        lambda data: data.group_by("city").agg(n=dp.count()).release(epsilon=1),
        "need delta",
    ),
    "two groupings": (lambda data: data.group_by("city").group_by("age"), "has groups already"),
    "a filter of groups": (lambda data: data.group_by("city").where(dp.col("age") > 1), "Call it before group_by"),
    "a shortcut of groups": (lambda data: data.group_by("city").count(epsilon=1), "there are groups"),
    "nothing to ask": (lambda data: data.agg(), "one or more aggregates"),
    "no aggregate": (lambda data: data.agg(n=3), "n must be an aggregate"),
    "one name twice": (lambda data: data.agg(n=dp.count(), n_low=dp.count()), "called 'n_low'"),
    "a reserved name": (lambda data: data.agg(**{"dither n": dp.count()}), "starts with 'dither '"),
    "a reserved bin": (
        lambda data: data.group_by(dp.bins("age", [0, 5, 9], name="dither person")),
        "starts with 'dither ' or 'dither_'",
    ),
    "another reserved bin": (lambda data: data.group_by(dp.bins("age", [0, 5, 9], name="Dither_value")), "'dither_'"),
    "bins by case": (lambda data: data.group_by("city", dp.bins("age", [0, 5, 9], name="CITY")), "upper and lower"),
    "the person replaced": (lambda data: data.with_columns(user=dp.col("age")), "identifies persons"),
    "the person replaced by case": (lambda data: data.with_columns(USER=dp.col("age")), "upper and lower case"),
    "no expression": (lambda data: data.with_columns(x=3), "takes expressions"),
    "keys for bins": (lambda data: data.group_by(dp.bins("age", [0, 5, 9]), keys=["a"]), "public already"),
    "an unknown weight": (lambda data: data.agg(n=dp.count()).release(epsilon=1, weights={"m": 1}), "columns of the"),
    "no weight": (lambda data: data.agg(n=dp.count()).release(epsilon=1, weights={"n": 0}), "weight of n"),
    "a level of 1": (lambda data: data.agg(n=dp.count()).release(epsilon=1, level=1), "level"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_and_nothing_is_spent(what: str, visits: pa.Table, opened: Open) -> None:
    data = opened(visits.append_column("day", pa.array(["x"] * 180).cast("string")).drop_columns(["day"]))
    if "days" in what or "texts" in what:
        data = opened(visits.append_column("day", pa.array([0] * 180, pa.int32()).cast(pa.date32())), name="days")
    ask, rule = REFUSED[what]
    with pytest.raises(ParameterError, match=rule):
        ask(data)
    assert data.spent == {"epsilon": 0, "delta": 0}
    assert len(list(data.origin.release_path.ledger.entries())) == 1  # the budget itself


def test_texts_of_a_csv_file_are_read_and_those_of_parquet_are_texts(tmp_path: Path) -> None:
    """A CSV file has no types. Whole numbers count every way of writing them, by where and by keys alike."""
    texts = ["1", "01", "+1", "1.0", " 1", "1e0", "x", "2024-01-31"]
    pq.write_table(pa.table({"k": texts}), tmp_path / "k.parquet")
    (tmp_path / "k.csv").write_text("k\n" + "\n".join(texts) + "\n")
    price: Any = {"epsilon": 10_000}

    def opened(ending: str) -> dp.Dataset:
        path = tmp_path / f"k.{ending}"
        return dp.Dataset(path, unit=dp.Rows(), budget=dp.PureDP(10**6), ledger=tmp_path / "k.ledger")

    with opened("csv") as data:
        assert data.where(dp.col("k") == 1).count(**price).value == 6
        assert data.sum("k", (0, 9), **price).value == pytest.approx(6, abs=0.03)  # 33 scales of the noise
        for keys, found in (([1], [6]), (["1", "01"], [1, 1]), ([date(2024, 1, 31)], [1])):
            answer = data.group_by("k", keys=keys).agg(n=dp.count()).release(**price)
            assert answer.value["n"].to_pylist() == found
        spent = data.spent
        with pytest.raises(ParameterError, match="a number is needed in this place, and '12' is a text"):
            data.where(dp.col("k") + 0 == "12")
        assert data.spent == spent
    with opened("parquet") as data:
        for keys in ([1], [date(2024, 1, 31)]):
            with pytest.raises(ParameterError, match="column 'k' holds texts"):
                data.group_by("k", keys=keys).agg(n=dp.count())
        assert data.group_by("k", keys=["01"]).agg(n=dp.count()).release(**price).value["n"].to_pylist() == [1]
        assert data.spent["epsilon"] == 10_000


def test_a_day_may_be_said_as_a_text(visits: pa.Table, opened: Open) -> None:
    days = pa.array([date(2024, 1, 1 + row % 2) for row in range(180)])
    data = opened(visits.append_column("day", days), dp.Rows(), dp.PureDP(10**6))
    for second in (date(2024, 1, 2), "2024-01-02"):
        assert data.where(dp.col("day") >= second).count(epsilon=10_000).value == 90


def test_a_spent_budget_says_both_figures(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, budget=dp.PureDP("0.3"))
    for _ in range(3):
        data.count(epsilon="0.1")  # D48: three times 0.1 is 0.3, exactly
    with pytest.raises(OverBudget, match=r"0\.1|1/10") as refused:
        data.count(epsilon="0.1")
    assert "0" in str(refused.value)
    assert data.remaining["epsilon"] == 0


def test_a_pure_budget_cannot_pay_delta(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, budget=dp.PureDP(1))
    with pytest.raises(OverBudget):
        data.group_by("city").agg(n=dp.count()).release(epsilon="0.5", delta="1e-6")
    assert data.spent["epsilon"] == 0


def test_a_key_is_charged_once_and_says_the_same(visits: pa.Table, opened: Open) -> None:
    """D53, D54."""
    data = opened(visits)
    question = data.group_by("city", keys=["Paris", "Lyon"]).agg(n=dp.count(), p=dp.median("spend", BOUNDS))
    first = question.release(epsilon="0.001", key="monday")
    again = question.release(epsilon="0.001", key="monday")
    assert first.value == again.value
    assert first.entry == again.entry
    assert data.spent["epsilon"] == first.guarantee.epsilon(0) or data.spent["epsilon"] * 1000 == 1
    other = data.group_by("city", keys=["Paris", "Nice"]).agg(n=dp.count(), p=dp.median("spend", BOUNDS))
    with pytest.raises(LedgerError, match="another question"):
        other.release(epsilon="0.001", key="monday")
    fresh = question.release(epsilon="0.001")
    assert fresh.value != first.value  # equal with probability below 1e-5 per group, for three numbers each
    assert data.spent["epsilon"] * 1000 == 2


def test_d53_an_interval_of_another_level_is_another_question(visits: pa.Table, opened: Open) -> None:
    """It costs the same, and is drawn in another way."""
    data = opened(visits)
    data.median("spend", BOUNDS, interval_level="0.5", epsilon="0.001", key="monday")
    with pytest.raises(LedgerError, match="another question"):
        data.median("spend", BOUNDS, interval_level="0.9", epsilon="0.001", key="monday")


def test_what_one_question_may_ask_tells_nothing_of_one_that_looks_like_it(visits: pa.Table, opened: Open) -> None:
    """Checks of names and types are remembered by form, which has the types: the words alone are the same."""
    data = opened(visits)
    asked = {"n": dp.count(), "mean": dp.mean("city", BOUNDS)}
    for _ in range(2):
        with pytest.raises(ParameterError, match="column 'city' holds texts"):
            data.agg(**asked)
    assert data.with_columns(city=dp.col("age")).agg(**asked).plan(epsilon=1).aggregates
    with pytest.raises(ParameterError, match="column 'city' holds texts"):
        data.where(dp.col("age") > 3).agg(**asked)
    by_city = data.with_columns(age=dp.col("city"))
    assert data.group_by("age", keys=[1, 2]).agg(n=dp.count()).aggregates
    with pytest.raises(ParameterError, match="holds texts"):
        by_city.group_by("age", keys=[1, 2]).agg(n=dp.count())
