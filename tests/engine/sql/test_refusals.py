"""What is not answered: one sentence with the name and the place, nothing charged, nothing of the text in an engine."""

import random
from collections.abc import Callable
from contextlib import suppress
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.engine.sql.parsing import parsed
from dither.errors import ParameterError
from tests.engine.sql.conftest import made_up

Opened = Callable[..., dp.Dataset]

REFUSED = {
    "SELECT * FROM visits": "rows are not shown",
    "SELECT city FROM visits": r"city \(line 1, column 8\): it is neither grouped",
    "SELECT age, COUNT(*) FROM visits": "neither grouped",
    "SELECT RANK() OVER (ORDER BY age) FROM visits": "windows look at other rows",
    "SELECT COUNT(*) FROM users": "there is no table 'users'. There are: data, visits",
    "SELECT COUNT(*) FROM a.visits": "bare name",
    "SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT)": "bare name|FROM takes",
    "SELECT COUNT(*) FROM visits, visits AS v": "mix people",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')": "FROM takes",
    "SELECT COUNT(*) FROM visits LIMIT age": r"LIMIT \(line 1, column 35\)",
    "SELECT COUNT(*) FROM visits WHERE citi = 'x'": "there is no column 'citi'",
    "SELECT COUNT(*) FROM visits WHERE COUNT(*) > 1": "an aggregate stands in the list of SELECT",
    "SELECT COUNT(*) FROM visits WHERE pg_sleep(10) IS NULL": "pg_sleep",
    "SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)": "Ask for it first",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 9 AND 1": "without SYMMETRIC",
    "SELECT COUNT(*) FROM visits WHERE city LIKE 'P_ris'": "there is no _",
    "SELECT COUNT(*) FROM visits WHERE city LIKE 'a!%' ESCAPE '!'": "Escape",
    "SELECT COUNT(*) FROM visits WHERE city ILIKE 'a%'": "ILike",
    "SELECT COUNT(*) FROM visits WHERE city LIKE ANY ('a', 'b')": "there is no _",
    "SELECT SUM(LOG(spend)) FROM visits": "Write LN",
    "SELECT SUM(ROUND(spend, age)) FROM visits": "number of digits",
    "SELECT COUNT(*) FROM visits WHERE TRIM(BOTH 'x' FROM city) = 'a'": "Trim",
    "SELECT COUNT(*) FROM visits WHERE SUBSTRING(city, 2, 3) = 'a'": "first characters",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(EPOCH FROM day) = 1": "EXTRACT takes",
    "SELECT DATE_TRUNC('century', day), COUNT(*) FROM visits GROUP BY 1": "DATE_TRUNC cuts off",
    "SELECT COUNT(*) FROM visits WHERE city SIMILAR TO 'P.*'": "SimilarTo|not answered",
    "SELECT COUNT(*) FROM visits WHERE REGEXP_LIKE(city, 'P.*')": "patterns are not matched",
    "SELECT COUNT(*) FROM visits WHERE age % 2 = 0": "FLOOR",
    "SELECT COUNT(*) FROM visits WHERE CAST(age AS INT) = 1": "FLOOR",
    "SELECT DISTINCT city FROM visits": "SELECT DISTINCT shows rows",
    "SELECT STRING_AGG(city) FROM visits": "this aggregate is not answered",
    "SELECT SUM(DISTINCT age) FROM visits": "DISTINCT stands in COUNT",
    "SELECT SUM(t) FROM (SELECT pid, SUM(pid) AS t FROM visits GROUP BY pid) AS p": "bounds are needed",
    "SELECT COUNT(*) FROM visits GROUP BY ALL": "ALL",
    "SELECT COUNT(*) FROM visits GROUP BY city, ROLLUP(city)": "twice",
    "SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((city), (city))": "twice",
    "SELECT COUNT(*) FROM visits GROUP BY CUBE(city, age, day, spend, pid, 1, 2)": "64 sets",
    "SELECT AVG(n) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY ROLLUP(pid)) AS t": "by person",
    "SELECT GROUPING(city), COUNT(*) FROM visits GROUP BY city": "ROLLUP",
    "SELECT COUNT(*) FROM visits GROUP BY 7": "none of the 1 columns",
    "SELECT city, COUNT(*) FROM visits GROUP BY city ORDER BY 9": "none of the 2 columns",
    "SELECT city, COUNT(*) FROM visits GROUP BY city, 1": "grouped by twice",
    "SELECT COUNT(*) AS n, SUM(age) AS n FROM visits": "two columns are called 'n'",
    "SELECT COUNT(*) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) AS t": "by person only",
    "SELECT COUNT(*) FROM (SELECT city FROM visits LIMIT 5) AS t": "LIMIT keeps depends on other rows",
    "SELECT COUNT(*) FROM (SELECT MAX(age) AS m FROM visits) AS t": "GROUP BY the privacy unit",
    "SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits": "one SELECT is answered",
    "WITH RECURSIVE t AS (SELECT 1) SELECT COUNT(*) FROM t": "RECURSIVE",
    "SELECT PERCENTILE_CONT(spend, age) FROM visits": "its part is a number",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits": "has 2 statements",
    "DELETE FROM visits": "begin with SELECT",
    "": "begin with SELECT",
    "SELECT COUNT(*) FROM visits WHERE city = 'Paris": "ends within a quote",
    "SELECT COUNT(*) FROM visits /* forever": "ends within a quote or a comment",
    "SELECT COUNT(* FROM visits": "cannot be read at line 1",
    "SELECT 1": "about the rows of a table",
    "SELECT 1 FROM visits": "rows are not shown",
    "SELECT COUNT(*) FROM visits WHERE age = 1e999999999": "1e100",
    "SELECT COUNT(*) FROM visits WHERE DATE '2024-13-01' = day": "DATE '2024-12-31'",
    "(SELECT city, COUNT(*) AS n FROM visits GROUP BY city) ORDER BY n": r"ORDER \(line 1, column 65\): .*parentheses",
    "(SELECT city, COUNT(*) FROM visits GROUP BY city) LIMIT 1": "within the parentheses",
    "SELECT COUNT(*) FROM ((SELECT pid FROM visits) LIMIT 5) AS t": "within the parentheses",
    "SELECT COUNT(*) FROM (SELECT pid FROM visits) AS t TABLESAMPLE (10 PERCENT)": "within the parentheses",
    "WITH t AS (SELECT pid FROM visits), T AS (SELECT pid FROM visits) SELECT COUNT(*) FROM t": "two tables",
    "SELECT MAX(spend, 2) FROM visits": "takes one value",
    "SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 1 BY city": "nothing besides",
    "SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 50 PERCENT": "nothing besides",
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n WITH FILL": "it takes a column",
    "SELECT city, COUNT(*) FROM visits GROUP BY city HAVING COUNT(*)": "take conditions",
    "SELECT city, COUNT(*) FROM visits GROUP BY city HAVING COUNT(*) > 9 AND SUM(spend)": "take conditions",
    "SELECT CASE WHEN COUNT(*) THEN 1 ELSE 2 END FROM visits": "take conditions",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT COUNT(*) FROM visits w WHERE w.pid = v.pid)": "asks for rows",
    "SELECT COUNT(*) AS n, SUM(spend) AS n_low FROM visits": "'n_low' is an end of the interval of 'n'",
    "SELECT city AS n_high, COUNT(*) + 1 AS n FROM visits GROUP BY city": "'n_high' is an end of the interval",
    "SELECT LOWER(city) AS city, COUNT(*) FROM visits GROUP BY city": "'city' is a column, and the name of another",
    'SELECT COUNT(*) AS n, SUM(age) AS N FROM visits HAVING "n" > 1 ORDER BY ñ': "there is no column",
    "SELECT SUM(age) AS aB, COUNT(*) AS Ab FROM visits ORDER BY ab": "may be several columns of SELECT",
    "SELECT SUM(CAST(age AS DECIMAL32(2))) FROM visits": r"DECIMAL\(10, 2\)",
    "SELECT COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY pid FROM visits) AS t": "outermost SELECT",
    "SELECT COUNT(*) AS a, '\ud800' AS b FROM visits": "must be Unicode",
    'SELECT COUNT(*) FROM visits AS "x\0y" JOIN visits AS z ON "x\0y".pid = z.pid': "hold no NUL",
    'SELECT "a\nb" FROM visits': r"'a\\nb' \(line 2, column 1\): there is no column",
    'SELECT "a\nb"(1) FROM visits': "not answered",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed='a\nb') COUNT(*) FROM visits": "Leave the option",
}


@pytest.mark.parametrize("text", REFUSED)
def test_f68_it_is_refused_in_a_sentence_and_costs_nothing(text: str, opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    with pytest.raises(ParameterError, match=REFUSED[text]) as refusal:
        data.sql(text)
    assert "\n" not in str(refusal.value)
    assert data.spent["epsilon"] == 0


HOSTILE = {
    "comments hide nothing": "SELECT COUNT(*) /* FROM users */ FROM visits -- WHERE 1 = 0",
    "a quoted name": "SELECT COUNT(*) FROM \"visits\" WHERE \"city\" = 'x''; DROP TABLE visits; --'",
    "backticks": "SELECT COUNT(*) FROM `visits`",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_f69_what_looks_like_injection_is_a_value_or_a_comment(name: str, opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    assert data.sql(HOSTILE[name]).release(epsilon=10**6).to_arrow()["count"][0].as_py() in (0, 400)
    assert data.count(epsilon=10**6).value == 400


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE сity = 'Paris'",  # a Cyrillic letter
        "SELECT COUNT(*) FROM visits WHERE ſpend > 1",  # a long s, which folds to s
        "SELECT COUNT(*) AS k FROM visits ORDER BY \u212a",  # the sign of Kelvin, which folds to k
        "SELECT COUNT(*) FROM visits WHERE \"CITY\" = 'Paris'",
        f"SELECT COUNT(*) FROM visits WHERE {'a' * 10_000} = 1",
    ],
)
def test_f69_names_that_look_like_others_are_not_they(text: str, opened: Opened, visits: pa.Table) -> None:
    with pytest.raises(ParameterError, match="there is no column") as refusal:
        opened(visits).sql(text)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {'(' * 1000}1{')' * 1000} FROM visits",
        f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * 1000}TRUE",
        f"SELECT SUM({'-' * 1}{'(age + ' * 300}1{')' * 300}) FROM visits",
        f"SELECT {'CASE WHEN TRUE THEN ' * 500}1{' END' * 500} FROM visits",
        f"SELECT COUNT(*) FROM {'(SELECT * FROM ' * 300}visits{')' * 300}",
        "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(["age = 1"] * 700),
        "SELECT " + ", ".join(["COUNT(*)"] * 1000) + " FROM visits",
        "x" * 100_000,
    ],
)
def test_f69_texts_without_end_are_refused_at_once(text: str, opened: Opened, visits: pa.Table) -> None:
    with pytest.raises(ParameterError):
        opened(visits).sql(text)


@pytest.mark.parametrize(
    "value",
    ["spend / (age - age)", "age / 0", "CAST(spend AS DOUBLE) / NULLIF(age, age)", "1 / (spend - spend) * 1e99 * 1e99"],
)
def test_f72_no_row_decides_whether_a_question_fails(value: str, opened: Opened, visits: pa.Table) -> None:
    """What has no value is NULL, and counts as nothing; casts that could fail are refused before the charge."""
    data = opened(visits)
    text = f"SELECT COUNT({value}) AS n, SUM(LEAST(GREATEST({value}, 0), 9)) AS s FROM visits"
    found = data.sql(text).release(epsilon=10**6).to_arrow().to_pylist()[0]
    assert (round(found["n"]), round(found["s"])) == (0, 0)
    with pytest.raises(ParameterError, match="CAST to DOUBLE"):
        data.sql("SELECT COUNT(*) FROM visits WHERE CAST('x' AS INT) = 1")


def test_f70_groups_of_one_person_are_not_shown(opened: Opened, visits: pa.Table) -> None:
    """SQL refuses to be paid for nothing. In Python partition selection decides, as for any column: a group of one
    person is shown with probability δ at most."""
    data = opened(visits)
    with pytest.raises(ParameterError, match="one person each"):
        data.sql("SELECT pid, COUNT(*) FROM visits GROUP BY pid")
    found = data.group_by("pid").agg(n=dp.count()).release(epsilon=1, delta="1e-9").to_arrow()
    assert found.num_rows == 0


WORDS = [
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "visits", "data", "city", "age", "spend",
    "pid", "day", "COUNT(*)", "SUM(", "AVG(", ")", "(", ",", "*", "+", "-", "/", "=", "<", "AND", "NOT", "1", "0.5",
    "'Paris'", "CASE WHEN", "THEN", "ELSE", "END", "AS", "n", "OVER", "UNION ALL", "JOIN", "ON", "WITH", "t",
    "DISTINCT", "NULL", "IS", "IN", "BETWEEN", "EXTRACT(YEAR FROM day)", "MEDIAN(spend)", "DATE '2024-01-01'",
    "INTERVAL '1' DAY", ";", ".", "PER_ROW(", "contribution_bounds_per_row =>", "OPTIONS(", "DIFFERENTIAL_PRIVACY",
    "::", "`", '"', "--", "LATERAL", "UNNEST(", "VALUES", "PIVOT", "CAST(", "DP_INTERVAL_LOW(", "FILTER (WHERE",
    "WITHIN GROUP (", "ROLLUP", "[", "]", "{",
]  # fmt: skip
nearly = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)
around = st.builds("SELECT {} FROM visits WHERE {} GROUP BY {}".format, nearly, nearly, nearly)


@cache
def open_once() -> dp.Dataset:
    """One dataset for all texts: opening it takes longer than reading them."""
    unit = dp.Person("pid", max_groups=3, max_rows_per_group=2)
    known = {"spend": (0, 100), "city": ["Paris", "Lyon"]}
    return dp.Dataset(made_up(40), unit=unit, budget=dp.PureDP(1), ledger=":memory:", identity="visits", columns=known)


@pytest.mark.property
@settings(deadline=None, max_examples=500)
@given(nearly | around | st.text(max_size=80))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    try:
        question = open_once().sql(text)
    except ParameterError:  # any other exception fails the test
        return
    assert question.words


@pytest.mark.property
@settings(deadline=None, max_examples=300)
@given(st.text() | nearly, st.randoms(use_true_random=False))
def test_a_text_is_parsed_or_refused(text: str, draw: random.Random) -> None:
    cut = text[: draw.randrange(len(text) + 1)]
    with suppress(ParameterError):
        parsed(cut)
