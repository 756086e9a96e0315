"""Random questions, against DuckDB's own answers to the same text: a naive oracle for what SQL means.

Everything of everybody counts, and the price makes noise next to nothing; what is compared are counts, sums and means.
"""

import math
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from tests.engine.sql.conftest import DOMAINS, EXACTLY, made_up

TABLE = made_up()

_COMPARED = st.sampled_from(["<", "<=", ">", ">=", "=", "<>"])
conditions = st.recursive(
    st.builds("{} {} {}".format, st.sampled_from(["age", "spend"]), _COMPARED, st.integers(0, 90).map(str))
    | st.builds("city {} '{}'".format, st.sampled_from(["=", "<>"]), st.sampled_from(["Paris", "Nice", "Oslo"]))
    | st.sampled_from(
        ["city IN ('Lyon', 'Paris')", "age IS NULL", "spend IS NOT NULL", "age BETWEEN 20 AND 40", "age NOT IN (1, 2)",
         "EXTRACT(MONTH FROM day) = 3", "day >= DATE '2023-05-01'", "EXTRACT(DOW FROM day) = 0"]
    ),
    lambda some: st.builds("({} AND {})".format, some, some)
    | st.builds("({} OR {})".format, some, some)
    | st.builds("NOT ({})".format, some),
    max_leaves=3,
)  # fmt: skip
numbers = st.recursive(
    st.sampled_from(["spend", "age", "1", "2.5", "(spend + age)", "(age - 10)", "ABS(age - 50)"]),
    lambda some: (
        st.builds("({} {} {})".format, some, st.sampled_from(["+", "-", "*"]), some)
        | st.builds("CASE WHEN {} THEN {} ELSE {} END".format, conditions, some, some)
        | st.builds("CASE WHEN {} THEN {} END".format, conditions, some)
        | st.builds("COALESCE({}, 7)".format, some)
        | st.builds("LEAST({}, {})".format, some, st.sampled_from(["40", "age"]))
        | st.builds("GREATEST({}, 20)".format, some)
        | st.builds("NULLIF({}, 30)".format, some)
    ),
    max_leaves=3,
)
aggregates = st.one_of(
    st.just("COUNT(*)"),
    st.just("COUNT(DISTINCT pid)"),
    st.builds("COUNT({})".format, numbers),
    st.builds("COUNT(*) FILTER (WHERE {})".format, conditions),
    st.builds("SUM({})".format, numbers),
    st.builds("AVG({})".format, numbers),
)
groups = st.sampled_from(
    [None, "city", "EXTRACT(YEAR FROM day)", "CASE WHEN age < 30 THEN 'a' WHEN age < 60 THEN 'b' END"]
)


@cache
def open_once() -> dp.Dataset:
    everything = dp.Person("pid", max_groups=9, max_rows_per_group=99)
    budget = dp.PureDP(10**12)
    return dp.Dataset(TABLE, unit=everything, budget=budget, ledger=":memory:", identity="visits", columns=DOMAINS)


def exact(text: str) -> list[dict[str, Any]]:
    with duckdb.connect() as own:
        own.register("visits", TABLE)
        found: list[dict[str, Any]] = own.sql(text).to_arrow_table().to_pylist()
        return found


@pytest.mark.property
@settings(deadline=None, max_examples=25)
@given(aggregates, aggregates, groups, st.none() | conditions)
def test_counts_sums_and_means_are_those_of_duckdb(
    first: str, second: str, group: str | None, where: str | None
) -> None:
    by = f"{group} AS g, " if group else ""
    text = f"SELECT {by}{first} AS a, {second} AS b FROM visits" + (f" WHERE {where}" if where else "")
    text += " GROUP BY 1" if group else ""
    ours = open_once().sql(text).release(epsilon=EXACTLY).to_arrow().to_pylist()
    theirs = {row.get("g"): row for row in exact(text)}
    assert len(ours) >= len(theirs)
    for row in ours:
        other = theirs.get(row.get("g"), {})
        for name, asked in (("a", first), ("b", second)):
            expected = other.get(name)
            if expected is None:
                is_mean = asked.startswith("AVG")
                assert is_mean or row[name] == pytest.approx(0, abs=0.2), text
            else:
                assert math.isclose(row[name], expected, rel_tol=1e-3, abs_tol=0.2), text
