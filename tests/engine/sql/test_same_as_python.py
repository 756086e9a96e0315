"""A question in SQL is the question in Python that it means: the same words in the ledger, and the same price."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import dither as dp

Opened = Callable[..., dp.Dataset]
CITIES = ["Lyon", "Nice", "Paris"]
SPEND: dict[str, Any] = {"of": "spend", "bounds": (0, 100)}
AT_MOST_TEN = dp.if_else(dp.col("n") <= 10, dp.col("n"), 10)
AGES = dp.if_else(dp.col("age") < 18, "minor", "adult")

SAME: dict[str, tuple[str, Callable[[dp.Dataset], Any]]] = {
    "plain groups": (
        "SELECT city, COUNT(*) AS n, AVG(spend) AS m FROM visits GROUP BY city",
        lambda data: data.group_by("city", keys=CITIES).agg(n=dp.count(), m=dp.mean(**SPEND)),
    ),
    "people": (
        "SELECT COUNT(DISTINCT pid) AS people FROM visits WHERE city = 'Paris'",
        lambda data: data.where(dp.col("city") == "Paris").agg(people=dp.count_people()),
    ),
    "different values": (
        "SELECT COUNT(DISTINCT city) AS n FROM visits",
        lambda data: data.agg(n=dp.count_distinct("city")),
    ),
    "having": (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 50",
        lambda data: data.group_by("city", keys=CITIES).agg(n=dp.count()),
    ),
    "case inside": (
        "SELECT SUM(CASE WHEN city = 'Paris' THEN spend ELSE 0 END) AS s FROM visits",
        lambda data: data.agg(s=dp.sum(dp.if_else(dp.col("city") == "Paris", dp.col("spend"), 0), (0, 100))),
    ),
    "by person": (
        "SELECT AVG(LEAST(n, 10)) AS m FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS each",
        lambda data: data.per_person(n=dp.count()).agg(m=dp.mean(AT_MOST_TEN, (0, 10))),
    ),
    "common table": (
        "WITH grown AS (SELECT pid, city, spend * 2 AS twice FROM visits WHERE age >= 18) "
        "SELECT city, SUM(twice) AS s FROM grown GROUP BY city",
        lambda data: data.where(dp.col("age") >= 18)
        .group_by("city", keys=CITIES)
        .agg(s=dp.sum(dp.col("spend") * 2, (0, 200))),
    ),
    "median": (
        "SELECT MEDIAN(spend) AS m FROM visits",
        lambda data: data.agg(m=dp.median("spend", (0, 100))),
    ),
    "order and limit": (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 1",
        lambda data: data.group_by("city", keys=CITIES).agg(n=dp.count()),
    ),
    "quotient": (
        "SELECT SUM(spend) / COUNT(*) AS m FROM visits",
        lambda data: data.agg(sum_spend=dp.sum(**SPEND), count=dp.count()),
    ),
    "the rest": (
        "SELECT MIN(age) AS a, MAX(age) AS b, STDDEV(spend) AS s, VARIANCE(spend) AS v, "
        "PERCENTILE_CONT(spend, 0.9) AS q, "
        "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY spend DESC) AS r, APPROX_QUANTILES(spend, 4) AS four FROM visits",
        lambda data: data.agg(
            a=dp.min("age", (0, 90)), b=dp.max("age", (0, 90)), s=dp.std(**SPEND), v=dp.variance(**SPEND),
            q=dp.quantile("spend", "0.9", (0, 100)), four=dp.quantile("spend", ["0.25", "0.5", "0.75"], (0, 100)),
        ),
    ),
    "groups of expressions": (
        "SELECT CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END AS who, EXTRACT(YEAR FROM day) AS year, COUNT(*) AS n "
        "FROM data GROUP BY who, 2",
        lambda data: data.with_columns(who=AGES, year=dp.col("day").year())
        .group_by("who", "year", keys={"who": ["minor", "adult"], "year": [2022, 2023, 2024]})
        .agg(n=dp.count()),
    ),
    "keys that nobody knows": (
        "SELECT age, COUNT(*) AS n FROM visits GROUP BY age",
        lambda data: data.group_by("age").agg(n=dp.count()),
    ),
    "conditions": (
        "SELECT COUNT(*) AS n FROM visits WHERE NOT (age BETWEEN 10 AND 20) AND city IN ('Nice', 'Lyon') "
        "AND spend IS NOT NULL AND day < DATE '2024-03-31' - INTERVAL '1' MONTH",
        lambda data: data.where(
            (~dp.col("age").between(10, 20))
            & dp.col("city").is_in(["Nice", "Lyon"])
            & ~dp.col("spend").is_null()
            & (dp.col("day") < date(2024, 2, 29))
        ).agg(n=dp.count()),
    ),
    "filter": (
        "SELECT COUNT(*) FILTER (WHERE age > 50) AS n, AVG(spend) FILTER (WHERE age > 50) AS m FROM visits",
        lambda data: data.agg(
            n=dp.sum(dp.if_else(dp.col("age") > 50, 1, 0), (0, 1)),
            m=dp.mean(dp.col("spend").where(dp.col("age") > 50), (0, 100)),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_f74_the_text_is_the_question(name: str, opened: Opened, visits: pa.Table) -> None:
    text, python = SAME[name]
    data = opened(visits)
    sql, same = data.sql(text), python(data)
    assert sql.words == same.words
    price: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    assert sql.plan(**price).event == same.plan(**price).event
    assert sql.plan(**price).cost == same.plan(**price).cost


def test_the_price_may_stand_in_the_text(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits, unit=dp.Person("pid", max_groups=3, max_rows_per_group=1))
    said = data.sql(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, max_groups_contributed=3, privacy_unit_column=v.Pid) "
        "city, SUM(spend, contribution_bounds_per_group => (0, 50)) AS s FROM visits GROUP BY city"
    )
    same = data.group_by("city", keys=CITIES).agg(s=dp.sum("spend", (0, 50)))
    assert said.words == same.words
    assert said.release().guarantee == same.plan(epsilon="0.5").cost
    assert said.release(epsilon=0.5).guarantee == same.plan(epsilon="0.5").cost
    with pytest.raises(dp.errors.ParameterError, match="another price"):
        said.plan(epsilon=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("privacy_unit_column=city", "privacy_unit_column says 'city'"),
        ("max_groups_contributed=4", "max_groups_contributed says 4"),
        ("epsilon=-1", "epsilon must be a positive number"),
        ("epsilon=x", "epsilon must be a positive number"),
        ("noise=1", "'noise' is none of these"),
        ("epsilon=1, epsilon=2", "each option once"),
    ],
)
def test_f73_options_that_contradict_are_refused(opened: Opened, visits: pa.Table, options: str, message: str) -> None:
    data = opened(visits, unit=dp.Person("pid", max_groups=3, max_rows_per_group=1))
    with pytest.raises(dp.errors.ParameterError, match=message):
        data.sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) COUNT(*) FROM visits")


def test_bounds_of_the_text_narrow_the_domain_and_never_widen_it(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    narrow = data.sql("SELECT AVG(spend, contribution_bounds_per_row => (10, 20)) AS m FROM visits")
    assert narrow.words == data.agg(m=dp.mean("spend", (10, 20))).words
    tenths = data.sql("SELECT AVG(spend / 10, contribution_bounds_per_row => (0.1, 9.9)) AS m FROM visits")
    assert tenths.words == data.agg(m=dp.mean(dp.col("spend") / 10, ("0.1", "9.9"))).words
    with pytest.raises(dp.errors.ParameterError, match=r"beyond the privacy domain \(0, 100\)"):
        data.sql("SELECT AVG(spend, contribution_bounds_per_row => (0, 101)) FROM visits")
    with pytest.raises(dp.errors.ParameterError, match="contribution_bounds_per_row"):
        data.sql("SELECT SUM(spend, contribution_bounds_per_group => (0, 50)) FROM visits")
