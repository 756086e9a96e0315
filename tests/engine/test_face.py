"""The public face: what a question gives back, in which shape, and what a plan says before anything is asked."""

from __future__ import annotations

import inspect
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dp
from dither.engine.aggregate import AGGREGATES
from dither.engine.question import Question
from dither.errors import EngineError, LedgerError, OverBudget, ParameterError
from tests.engine.conftest import Open

BOUNDS = (0, 200)
MANY = 10_000  # a price at which noise is next to nothing


def test_a_grouped_release_is_a_release(visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    question = data.group_by("city", keys=["Paris", "Rome"]).agg(n=dp.count(), spend=dp.mean("spend", bounds=BOUNDS))
    release = question.release(epsilon=1)
    assert isinstance(release, dp.Release)
    assert release.value.column_names == ["city", "n", "n_low", "n_high", "spend", "spend_low", "spend_high"]
    assert release.to_arrow()["city"].to_pylist() == ["Paris", "Rome"]
    assert list(release.to_pandas().columns) == release.to_polars().columns == release.value.column_names
    assert release.guarantee == question.plan(epsilon=1).cost
    low, high = release.interval(0.5)
    wide = release.interval(0.99)
    assert low.column_names == high.column_names == ["city", "n", "spend"]
    for at in range(2):
        assert wide[0]["n"][at].as_py() <= low["n"][at].as_py() <= release.value["n"][at].as_py()
    assert dp.compose([release.event]).epsilon(0) <= 1 + 1e-12  # a sum of floats, rounded up


def test_a_certificate_tells_the_cost_and_no_data(visits: pa.Table, opened: Open) -> None:
    release = opened(visits).group_by("city", keys=["Paris", "Rome"]).agg(n=dp.count()).release(epsilon="0.5")
    told = release.certificate()
    assert told["ledger_entry"]["number"] == release.entry.number
    assert "by city for 2 public keys" in told["question"]
    assert told["unit"].startswith("add or remove one person (by user), of whom at most 2 rows in each of at most 2")
    assert str(release.value["n"][0].as_py()) not in str(told["event"])


def test_all_rows_have_shortcuts(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Person("user", max_rows_per_group=3), dp.ApproxDP(10**6, "1e-3"))
    assert isinstance(data.count(epsilon=MANY), dp.Release)
    assert data.count(epsilon=MANY).value == 180
    assert data.count(epsilon=MANY).interval(0.5) == (180, 180)
    assert data.count_people(epsilon=MANY).value == 60
    assert data.count_distinct("city", epsilon=MANY).value == 3
    spend = visits["spend"].to_pylist()
    assert data.sum("spend", BOUNDS, epsilon=MANY).value == pytest.approx(sum(spend), abs=2)  # 33 scales
    assert data.mean("spend", BOUNDS, epsilon=MANY).value == pytest.approx(sum(spend) / 180, abs=0.1)
    variance = sum(x * x for x in spend) / 180 - (sum(spend) / 180) ** 2
    assert data.variance("spend", BOUNDS, epsilon=MANY).value == pytest.approx(variance, rel=0.01)
    assert data.std("spend", BOUNDS, epsilon=MANY).value == pytest.approx(variance**0.5, rel=0.01)
    assert data.median("spend", BOUNDS, epsilon=MANY).value == pytest.approx(sorted(spend)[90], abs=5)
    places = data.quantile("spend", ["0.1", "0.9"], BOUNDS, interval_level=0.9, epsilon=MANY)
    assert [round(place) for place in places.value] == pytest.approx([sorted(spend)[18], sorted(spend)[162]], abs=6)
    low, high = places.interval(0.9)
    assert all(a <= b <= c for a, b, c in zip(low, places.value, high, strict=True))
    assert data.min("spend", BOUNDS, epsilon=MANY).value == pytest.approx(0, abs=6)
    assert data.max("spend", BOUNDS, epsilon=MANY).value == pytest.approx(180, abs=6)
    assert sum(data.histogram("spend", [0, 50, 200], epsilon=MANY).value) == 180
    assert data.top("city", 1, ["Paris", "Lyon", "Nice"], epsilon=MANY).value == ["Paris"]
    assert data.top("city", 2, epsilon=MANY, delta="1e-6").value == ["Paris", "Lyon"]


def test_signatures_are_explicit_and_the_same(visits: pa.Table, opened: Open) -> None:
    """Every way to release takes the same price by the same names, so that editors complete them."""
    release = inspect.signature(Question.release).parameters
    price = {name: release[name] for name in release if name != "self"}
    assert list(price) == ["epsilon", "delta", "rho", "noise", "weights", "level", "population", "left_out", "key"]
    plan = inspect.signature(Question.plan).parameters
    assert {name: plan[name] for name in plan if name != "self"} == {name: price[name] for name in list(price)[:-1]}
    for name in AGGREGATES:
        own = inspect.signature(AGGREGATES[name]).parameters
        shortcut = dict(inspect.signature(getattr(dp.Dataset, name)).parameters)
        assert list(shortcut) == ["self", *own, *price]
        assert {key: shortcut[key] for key in price} == price
        assert [shortcut[key].default for key in own] == [own[key].default for key in own]
    with pytest.raises(TypeError, match="eps"):
        opened(visits).count(eps=1)  # type: ignore[call-arg]


def test_one_answer_is_a_table_of_one_row(visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    count = data.count(epsilon=1)
    assert count.to_arrow().to_pylist() == [
        dict(zip(("value", "value_low", "value_high"), (count.value, *count.interval()), strict=True))
    ]
    assert count.to_pandas().to_dict("records") == count.to_polars().to_dicts() == count.to_arrow().to_pylist()
    bins = data.histogram("spend", [0, 50, 200], epsilon=1)
    assert bins.to_pandas()["value"].tolist() == bins.value
    assert data.median("spend", BOUNDS, epsilon=1).to_arrow().column_names == ["value"]
    raised = data.where(dp.col("age") < 0).count(epsilon="0.001", level="0.9999999999").non_negative()
    assert raised.to_arrow()["value_low"].to_pylist() == [0]  # misses with probability 1e-10
    assert raised.to_arrow()["value"].to_pylist() == [raised.value]
    with pytest.raises(ParameterError, match="this is one number"):
        count.consistent("value", count)


def test_an_answer_shows_its_intervals_and_its_cost(visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    count = data.count(epsilon=1)
    low, high = count.interval()
    cost = "costs PureDP(epsilon=1, adjacency='add or remove one person (by user)')"
    assert str(count).splitlines() == [
        "rows  95 % interval",
        f"{count.value:<4}  {low} to {high}".replace("-", "−"),
        count.plan.left_out,
        cost,
    ]
    keys = ["Paris", "<b>"]
    table = data.group_by("city", keys=keys).agg(n=dp.count(), m=dp.median("spend", BOUNDS)).release(epsilon=1)
    head, *rows, _doubt, _, last = repr(table).splitlines()  # the count of '<b>' is noise, and may be called so
    rows += [] if _doubt.startswith("Perhaps nothing is there") else [_doubt]
    assert head.split("  ")[0] == "city"
    assert "95 % interval" in head
    assert [row.split()[0] for row in rows] == keys
    assert last == cost
    for release in (count, table):
        assert release._repr_html_().endswith(f"<p>{escape(cost)}</p>\n")
    assert "<b>" not in table._repr_html_()
    many = data.group_by("age", keys=list(range(50))).agg(n=dp.count()).release(epsilon=1)
    assert "The first 20 of 50 rows." in str(many)


def test_no_group_with_enough_people_is_said(visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    few = data.group_by("user").agg(n=dp.count()).release(epsilon=1, delta="1e-12")
    assert few.value.num_rows == 0  # 60 groups of one person each: misses with probability 6e-11
    least = few.plan.discovery.threshold  # type: ignore[union-attr]
    for said in (str(few), few._repr_html_()):
        assert f"No group had enough people: one is shown from {least} people on, noise included." in said
    public = data.group_by("city", keys=["Paris"]).agg(n=dp.count()).release(epsilon=1)
    assert "enough people" not in str(public)


@pytest.mark.parametrize("made", [list, tuple, np.array, pd.Series, pd.Index, pl.Series, pa.array])
def test_keys_are_any_list_of_values(made: Any, visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    for name, keys in (("city", ["Paris", "Rome"]), ("age", [1, 2])):
        assert data.group_by(name, keys=made(keys)).public_keys == pa.table({name: keys})
        assert data.group_by(name, keys={name: made(keys)}).public_keys == pa.table({name: keys})


def test_keys_of_pandas_have_one_null(visits: pa.Table, opened: Open) -> None:
    keys = pd.Series([1, None], dtype="Int64")
    assert opened(visits).group_by("age", keys=keys).public_keys == pa.table({"age": [1, None]})


def test_columns_are_grouped_by_as_a_list_too(visits: pa.Table, opened: Open) -> None:
    data = opened(visits)
    listed, named = data.group_by(["city", "age"]), data.group_by("city", "age")
    assert listed.words == named.words == ("by city, age",)


def test_a_dataset_says_what_is_public_of_it(visits: pa.Table, opened: Open) -> None:
    data = opened(visits.append_column("list", pa.array([[1]] * 180)), dp.Rows(), dp.PureDP(1))
    assert data.columns == {"user": "whole", "city": "text", "age": "whole", "spend": "real", "list": "BIGINT[]"}
    assert data.with_columns(old=dp.col("age") > 60).columns["old"] == "truth"
    assert data.budget.epsilon(0) == 1
    data.count(epsilon="0.25")
    said = (
        "Dataset('data', unit=Rows(change='add or remove'), budget=PureDP(epsilon=1), remaining: epsilon 0.75, delta 0)"
    )
    assert repr(data) == said
    assert repr(data.where(dp.col("age") > 18).group_by("city")) == "Query('data'; where (age > 18); by city)"


def test_between_is_two_comparisons(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows(), dp.PureDP(10**6))
    inside = data.where(dp.col("age").between(7, 21))
    assert inside.words == ("where ((age >= 7) and (age <= 21))",)
    assert inside.count(epsilon=MANY).value == sum(7 <= age <= 21 for age in visits["age"].to_pylist())


def test_the_ledger_knows_the_budget(visits: pa.Table, tmp_path: Path) -> None:
    """It is given once; a new dataset, a new ledger and another unit cannot do without or with another."""
    ledger = tmp_path / "visits.ledger"

    def opened(name: str = "visits", unit: Any = None, **budget: Any) -> dp.Dataset:
        return dp.Dataset(visits, unit=unit or dp.Rows(), ledger=ledger, identity=name, **budget)

    with pytest.raises(LedgerError, match=r"there is no ledger .* budget=dp\.PureDP"):
        opened()
    with opened(budget=dp.PureDP(1)) as data:
        data.count(epsilon="0.25")
    with opened() as data:
        assert data.remaining["epsilon"] == Fraction(3, 4)
        with pytest.raises(OverBudget):
            data.count(epsilon=1)
    with pytest.raises(LedgerError, match=r"no budget in this ledger. Open it with budget="):
        opened("others")
    with pytest.raises(LedgerError, match="has the budget"):
        opened(unit=dp.Person("user", 1, 1))


def test_found_values_are_counted_in_people(opened: Open) -> None:
    """One person with many rows of a value does not show it; many people do."""
    alone = [{"user": 0, "word": "secret"}] * 500
    many = [{"user": user, "word": "hello"} for user in range(1, 300)]
    data = opened(pa.Table.from_pylist(alone + many), dp.Person("user", max_rows_per_group=10))
    assert data.top("word", 5, epsilon=5, delta="1e-9").value == ["hello"]


def test_a_plan_needs_no_data(visits: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(visits, path)
    data = dp.Dataset(path, unit=dp.Person("user", 1, 1), budget=dp.PureDP(1), ledger=tmp_path / "ledger")
    path.unlink()
    question = data.group_by("city", keys=["Paris"]).agg(n=dp.count(), spend=dp.mean("spend", bounds=BOUNDS))
    said = str(question.plan(epsilon=1))
    assert said.splitlines()[0].split() == ["column", "noise", "share", "error", "(95", "%)"]
    assert "of 1,000 rows" in said
    assert "costs PureDP(epsilon=1" in said
    with pytest.raises(ParameterError, match="nothing was charged"):
        question.release(epsilon=1)
    assert data.spent["epsilon"] == 0
    engine: Any = data.origin._source.engine
    engine.ready = lambda: None  # as if the file had gone after that look
    with pytest.raises(EngineError, match="stays charged"):
        question.release(epsilon=1)
    assert data.spent["epsilon"] == 1  # D52: no refund once data was touched


def test_a_plan_predicts_the_width_of_the_intervals(visits: pa.Table, opened: Open) -> None:
    question = opened(visits).agg(n=dp.count(), s=dp.sum("spend", BOUNDS), m=dp.mean("spend", BOUNDS))
    plan = question.plan(epsilon=1)
    table = question.release(epsilon=1).value
    for name in ("n", "s"):
        width = table[f"{name}_high"][0].as_py() - table[f"{name}_low"][0].as_py()
        assert plan.error(name) == plan.error(name, 10) == plan.error(name, 10**6) == pytest.approx(width / 2)
    small, large = plan.error("m", 1000), plan.error("m", 10**6)
    assert small is not None
    assert large is not None
    assert large < small < 200
    with pytest.raises(ParameterError, match="rows=1000"):
        plan.error("m")
    with pytest.raises(ParameterError, match=r"no column 'k'\. Its columns: n, s, m"):
        plan.error("k")
    assert question.query.agg(p=dp.median("spend", BOUNDS)).plan(epsilon=1).error("p") is None


def test_the_price_is_split_by_weights_and_shared_parts_are_paid_once(visits: pa.Table, opened: Open) -> None:
    question = opened(visits).agg(m=dp.mean("spend", BOUNDS), v=dp.variance("spend", BOUNDS), n=dp.count())
    shares = [part.share for part in question.plan(epsilon=1).parts.values()]
    # Both ends at the finer lattice, squares at the coarser one, rows.
    assert shares == [Fraction(1, 3)] * 3
    weighted = question.plan(epsilon=1, weights={"n": 3}).parts
    assert weighted["rows"].share == Fraction(3, 5)
    assert sum(part.share for part in weighted.values()) == 1


def test_counts_need_not_be_negative(opened: Open) -> None:
    empty = pa.table({"user": pa.array([], pa.int64()), "city": pa.array([], pa.string())})
    keys = [str(key) for key in range(200)]
    release = opened(empty).group_by("city", keys=keys).agg(n=dp.count()).release(epsilon="0.01")
    assert min(release.value["n"].to_pylist()) < 0  # misses with probability 2^-200
    raised = release.non_negative()
    assert [max(x, 0) for x in release.value["n"].to_pylist()] == raised.value["n"].to_pylist()
    assert min(raised.value["n_low"].to_pylist()) == 0
    assert release.parts == raised.parts


def test_counts_can_be_made_to_add_up(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows())
    release = data.group_by("city", keys=["Paris", "Lyon", "Nice"]).agg(n=dp.count()).release(epsilon="0.1")
    total = data.count(epsilon=MANY // 100)
    fitted = release.consistent("n", total)
    assert sum(fitted.value["n"].to_pylist()) == total.value
    assert fitted.value["n_low"] == release.value["n_low"]
    apart = data.count(epsilon="0.01")
    kept = release.consistent("n", apart).value["n"].to_pylist()
    assert abs(sum(kept) - sum(release.value["n"].to_pylist())) <= abs(apart.value - sum(kept)) + 3
    for wrong in (dp.Laplace(sensitivity=1, epsilon=1).release(3), data.mean("age", (0, 9), epsilon=1)):
        with pytest.raises(ParameterError, match=r"total must be the count|only counts"):
            release.consistent("n", wrong)
    with pytest.raises(ParameterError, match="only counts"):
        release.consistent("city", total)


def test_population_intervals_are_wider_and_about_means(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows())
    asked: Any = data.agg(m=dp.mean("spend", BOUNDS))
    own, whole = asked.plan(epsilon=1), asked.plan(epsilon=1, population=True)
    assert own.error("m", 1000) + 5 < whole.error("m", 1000) < own.error("m", 1000) + 20
    low, high = (
        asked.release(epsilon=MANY // 100, population=True).interval(0.95)[end]["m"][0].as_py() for end in (0, 1)
    )
    # Half of the level is for the noise, and a tenth of the other half for the number of rows: z = 2.281 for 0.0225.
    place = np.mean(np.clip(visits["spend"].to_numpy(zero_copy_only=False), *BOUNDS)) / 200
    binomial = 200 * 2.281 * (place * (1 - place) / 180) ** 0.5
    assert binomial < (high - low) / 2 < 1.1 * binomial
    with pytest.raises(ParameterError, match="about means"):
        data.agg(n=dp.count()).plan(epsilon=1, population=True)
    persons = opened(visits, name="persons").agg(m=dp.mean("spend", BOUNDS))
    with pytest.raises(ParameterError, match="max_rows_per_group must be 1"):
        persons.plan(epsilon=1, population=True)


def test_no_public_name_leads_past_the_door(tmp_path: Path) -> None:
    """From a dataset, a query, a question or a release: nothing of Ibis, and so neither rows nor a connection."""
    pq.write_table(pa.table({"city": ["a"], "x": [1]}), tmp_path / "visits.parquet")
    unit = dp.Person("city", max_groups=2, max_rows_per_group=1)
    with dp.Dataset(
        tmp_path / "visits.parquet", unit=unit, budget=dp.PureDP(9), ledger=tmp_path / "visits.ledger"
    ) as data:
        query = data.where(dp.col("x") > 0).group_by("x", keys=[1, 2])
        question = query.agg(n=dp.count())
        for start in (data, query, question, question.plan(epsilon=1), question.release(epsilon=1)):
            assert _led_to(start, set()) == []


def _led_to(thing: Any, seen: set[int]) -> list[str]:
    """The kinds of foreign objects that public attributes lead to, attribute after attribute."""
    module = type(thing).__module__.partition(".")[0]
    if module in ("ibis", "duckdb", "psycopg", "pyspark"):
        return [type(thing).__name__]
    if id(thing) in seen or module != "dither":
        return []
    seen.add(id(thing))
    names = [name for name in dir(type(thing)) if not name.startswith("_")]
    names += [name for name in getattr(thing, "__dict__", {}) if not name.startswith("_")]
    found = [getattr(thing, name) for name in names]
    return [kind for value in found if not callable(value) for kind in _led_to(value, seen)]
