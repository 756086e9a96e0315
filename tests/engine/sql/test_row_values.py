"""Row by row: what SQL says of numbers, texts, days and times is what DuckDB says, and ranges are never too narrow."""

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.engine.domains import Domain, range_of, values_of
from dither.engine.sql.text_and_time import like
from dither.errors import ParameterError
from dither.tables import Expression, col
from tests.engine.sql.conftest import EXACTLY

Opened = Callable[..., dp.Dataset]
WORDS = [
    "",
    "Paris",
    "paris",
    " Paris ",
    "special requests",
    "specialrequests",
    "requests special",
    "aa",
    "aaa",
    "é",
    "%",
]
CONDITIONS = [
    *(
        f"s LIKE '{p}'"
        for p in ("Paris", "Pa%", "%is", "%ar%", "%special%requests%", "%", "%%", "a%a", "aa%aa", "%a%a%a%")
    ),
    *("s NOT LIKE 'P%'", "s LIKE 'P%' OR s LIKE '%s'", "STARTS_WITH(s, 'P')", "CONTAINS(s, 'ar')", "ENDS_WITH(s, 's')"),
    *("LOWER(s) = 'paris'", "TRIM(s) = 'Paris'", "LOWER(TRIM(s)) LIKE 'p%'", "LEFT(s, 2) = 'Pa'", "LEFT(s, 1) = 'é'"),
    *("SUBSTRING(s FROM 1 FOR 3) = 'spe'", "SUBSTR(s, 1, 20) = 'Paris'"),
    *(
        "SQRT(x) > 3",
        "LN(x) BETWEEN 1 AND 2",
        "LOG(10, x) > 1",
        "x > 0 AND LOG10(x) < 1",
        "EXP(x / 50) > 2",
        "ROUND(x) = 3",
    ),
    *("ROUND(x, 1) = 2.5", "ROUND(x, -1) = 10", "x > 0.06 - 0.01", "x BETWEEN 1 + 1 AND 10 * 2"),
    *("EXTRACT(HOUR FROM t) = 8", "HOUR(t) < 12", "MINUTE(t) = 15", "EXTRACT(QUARTER FROM d) = 2", "QUARTER(t) = 1"),
    *("DATE_TRUNC('month', d) = DATE '2024-05-01'", "DATE_TRUNC('week', t) = DATE '2024-01-01'"),
    *("DATE_TRUNC('year', d) < DATE '2024-01-01'", "DATE_TRUNC('quarter', d) = DATE '2024-04-01'"),
]


def _rows() -> pa.Table:
    days = [date(2023, 12, 25) + timedelta(days=17 * n) for n in range(22)]
    return pa.table(
        {
            "pid": list(range(22)),
            "s": [*WORDS, *[None] * 11],
            "x": [None, 0.0, 0.05, 2.44, 2.45, 2.5, 3.4, 9.5, 10.0, 14.9, 15.0, *(1.7**n for n in range(11))],
            "d": days,
            "t": pa.array([datetime(each.year, each.month, each.day, 8 + n % 9, 15 * (n % 4)) for n, each in
                           enumerate(days)], pa.timestamp("us")),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    """All conditions in one question: COUNT(*) FILTER (WHERE ...) of each."""
    with duckdb.connect() as connection:
        connection.register("data", _rows())
        return {each: connection.sql(f"SELECT COUNT(*) FROM data WHERE {each}").fetchall()[0][0] for each in CONDITIONS}


@pytest.mark.parametrize("part", range(4))
def test_functions_of_rows_mean_what_duckdb_means(part: int, counted: dict[str, int], opened: Opened) -> None:
    asked = CONDITIONS[part::4]
    text = ", ".join(f"COUNT(*) FILTER (WHERE {each}) AS c{at}" for at, each in enumerate(asked))
    row = opened(_rows(), columns={}).sql(f"SELECT {text} FROM data").release(epsilon=EXACTLY).to_arrow().to_pylist()[0]
    assert {each: round(row[f"c{at}"]) for at, each in enumerate(asked)} == {each: counted[each] for each in asked}


def test_the_conditions_tell_rows_apart(counted: dict[str, int]) -> None:
    """The control: few of them hold for all rows, or for none."""
    assert sum(0 < count < 22 for count in counted.values()) > 30


def _holds(expression: Expression, text: str) -> Any:
    """What an expression of texts says, by Python."""
    verb, parts = getattr(expression, "verb", None), getattr(expression, "parts", ())
    if verb is None:
        return getattr(expression, "value", text)
    values: list[Any] = [_holds(each, text) for each in parts]
    made: dict[str, Callable[..., Any]] = {
        "==": lambda a, b: a == b,
        "starts_with": lambda a, b: None if a is None else a.startswith(b),
        "ends_with": lambda a, b: None if a is None else a.endswith(b),
        "contains": lambda a, b: None if a is None else b in a,
        "after": lambda a, b: None if a is None or b not in a else a.partition(b)[2],
        "and": lambda a, b: False if a is False or b is False else None if a is None or b is None else True,
        "coalesce": lambda a, b: b if a is None else a,
        "where": lambda a, b: a if b else None,
        "not": lambda a: not a,
        "is_null": lambda a: a is None,
    }
    return made[verb](*values)


@pytest.mark.property
@given(st.text("ab%", max_size=7), st.text("ab", max_size=9))
def test_like_is_that_of_the_standard(pattern: str, text: str) -> None:
    made = like(col("s"), pattern)
    assert made is not None

    def matches(rest: str, left: str) -> bool:
        if not rest:
            return not left
        if rest[0] == "%":
            return any(matches(rest[1:], left[at:]) for at in range(len(left) + 1))
        return left[:1] == rest[0] and matches(rest[1:], left[1:])

    assert _holds(made, text) is matches(pattern, text)


@pytest.mark.property
@given(st.fractions(-200, 200), st.fractions(-200, 200), st.fractions(0, 1))
def test_ranges_hold_all_values(one: Fraction, other: Fraction, at: Fraction) -> None:
    low, high = sorted((one, other))
    value = low + (high - low) * at
    functions: dict[str, tuple[Expression, Callable[[float], float]]] = {
        "sqrt": (col("x").sqrt(), math.sqrt),
        "exp": (col("x").exp(), math.exp),
        "log": (col("x").log(), math.log),
        "round": (col("x").round(), lambda x: math.copysign(math.floor(abs(x) + 0.5), x)),
    }
    for name, (expression, function) in functions.items():
        found = range_of(expression, {"x": Domain(bounds=(low, high))})
        if name in ("sqrt", "log") and not (value > 0 and abs(value) > Fraction(1, 10**90)):
            continue
        assert found is not None, name
        assert found[0] <= Fraction(function(float(value))) <= found[1], name


@pytest.mark.parametrize(("unit", "count"), [("day", 1096), ("week", 158), ("month", 36), ("quarter", 12), ("year", 3)])
def test_the_keys_of_cut_off_days_are_known(unit: str, count: int) -> None:
    known = {"day": Domain(bounds=(date(2022, 1, 1), date(2024, 12, 31)))}
    keys = values_of(col("day").date_trunc(unit), known)
    assert keys is not None
    assert len(keys) == len(set(keys)) == count
    with duckdb.connect() as connection:
        days = "SELECT DATE '2022-01-01' + n::INT AS day FROM range(1096) t(n)"
        text = f"SELECT DISTINCT DATE_TRUNC('{unit}', day)::DATE FROM ({days}) ORDER BY 1"
        assert list(keys) == [row[0] for row in connection.sql(text).fetchall()]


def test_groups_of_months_are_public(opened: Opened, visits: pa.Table) -> None:
    question = opened(visits).sql("SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits GROUP BY month")
    assert question.query.public_keys is not None
    assert question.query.public_keys.num_rows == 36
    found = question.release(epsilon=EXACTLY).to_arrow().to_pydict()
    assert sum(found["n"]) == visits.num_rows


@pytest.mark.parametrize("length", [0, -1, 2**20, True, 1.5, "a"])
def test_left_takes_a_number_of_characters(length: Any) -> None:
    with pytest.raises(ParameterError, match="left keeps"):
        col("s").left(length)


def test_after_takes_a_text() -> None:
    for text in ("", 3):
        with pytest.raises(ParameterError, match="after takes"):
            col("s").after(text)  # type: ignore[arg-type]
