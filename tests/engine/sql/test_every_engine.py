"""The shapes of questions that analysts ask, in SQL and in Python, on every engine, without noise: number by number."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dither as dp
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers
from tests.engine.sql.clinic import clinic, opened, plainly, same
from tests.engine.sql.test_joins import QUESTIONS
from tests.postgres import fresh_database

CITIES = ["Lyon", "Nice", "Paris"]
SPEND: dict[str, Any] = {"of": "spend", "bounds": (0, 100)}
Rows = list[dict[str, Any]]


def asked(question: Any) -> Rows:
    """The exact answer, without intervals."""
    finds = bool(question.query.keys) and question.query.public_keys is None
    rows: Rows = question.release(epsilon=10**6, delta="1e-6" if finds else None).to_arrow().to_pylist()
    return [{name: of for name, of in row.items() if not name.endswith(("_low", "_high"))} for row in rows]


def by_city(data: Any, **aggregates: Any) -> Rows:
    """Grouped by the public cities, in their order."""
    return asked(data.group_by("city", keys=CITIES).agg(**aggregates))


def rolled_up(data: dp.Dataset) -> Rows:
    """One question for each level."""
    rows = data.table("lines").join(data.table("orders"), on="oid", how="inner")
    rows = rows.join(data.table("people"), on={"buyer": "pid"}, how="inner")
    asking: dict[str, Any] = {"n": dp.count(), "s": dp.sum("amount", (0, 50))}
    keys = {"status": ["F", "O"], "country": ["DE", "FR"]}
    levels = [rows.group_by(*keys, keys=keys), rows.group_by("status", keys=keys["status"]), rows]
    found = [{**dict.fromkeys(keys), **row} for each in levels for row in asked(each.agg(**asking))]
    return sorted(found, key=lambda row: (row["status"] or "z", row["country"] or "z"))


SHAPES: dict[str, tuple[str, Callable[[dp.Dataset], Rows]]] = {
    "plain groups": (
        "SELECT city, COUNT(*) AS n, SUM(spend) AS s, AVG(spend) AS m FROM visits GROUP BY city ORDER BY city",
        lambda data: by_city(data, n=dp.count(), s=dp.sum(**SPEND), m=dp.mean(**SPEND)),
    ),
    "count distinct": (
        "SELECT city, COUNT(DISTINCT pid) AS people FROM visits GROUP BY city ORDER BY city",
        lambda data: by_city(data, people=dp.count_people()),
    ),
    "having": (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 48 ORDER BY city",
        lambda data: [row for row in by_city(data, n=dp.count()) if row["n"] > 48],
    ),
    "case inside": (
        "SELECT SUM(CASE WHEN city = 'Paris' THEN spend ELSE 0 END) AS s FROM visits",
        lambda data: asked(data.agg(s=dp.sum(dp.if_else(dp.col("city") == "Paris", dp.col("spend"), 0), (0, 100)))),
    ),
    "subquery by person": (
        "SELECT SUM(LEAST(n, 10)) AS s FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS each",
        lambda data: asked(
            data.per_person(n=dp.count()).agg(s=dp.sum(dp.if_else(dp.col("n") <= 10, dp.col("n"), 10), (0, 10)))
        ),
    ),
    "common table": (
        "WITH large AS (SELECT pid, city, spend * 2 AS twice FROM visits WHERE spend >= 50) "
        "SELECT city, SUM(twice) AS s FROM large GROUP BY city ORDER BY city",
        lambda data: by_city(data.where(dp.col("spend") >= 50), s=dp.sum(dp.col("spend") * 2, (0, 200))),
    ),
    "median": (
        "SELECT MEDIAN(spend) AS m FROM visits",
        lambda data: asked(data.agg(m=dp.median(**SPEND))),
    ),
    "join on the person": (
        "SELECT country, SUM(spend) AS s FROM visits JOIN people ON visits.pid = people.pid GROUP BY country "
        "ORDER BY country",
        lambda data: asked(
            data.join(data.table("people"), on="pid", how="inner")
            .group_by("country", keys=["DE", "FR"])
            .agg(s=dp.sum(**SPEND))
        ),
    ),
    "order and limit": (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 1",
        lambda data: sorted(by_city(data, n=dp.count()), key=lambda row: -row["n"])[:1],
    ),
    "union all": (
        "SELECT city, COUNT(*) AS n FROM (SELECT pid, city FROM visits WHERE spend < 40 UNION ALL SELECT pid, city "
        "FROM visits WHERE city = 'Nice') AS t GROUP BY city ORDER BY city",
        lambda data: by_city(
            data.where(dp.col("spend") < 40).union(data.where(dp.col("city") == "Nice")), n=dp.count()
        ),
    ),
    "quotient": (
        "SELECT city, SUM(spend) / COUNT(*) AS m FROM visits GROUP BY city ORDER BY city",
        lambda data: [
            {"city": row["city"], "m": row["s"] / row["n"]} for row in by_city(data, s=dp.sum(**SPEND), n=dp.count())
        ],
    ),
    "extremes, deviations and quantiles": (
        "SELECT MIN(spend) AS a, MAX(spend) AS b, STDDEV(spend) AS d, VARIANCE(spend) AS v, "
        "PERCENTILE_CONT(spend, 0.9) AS q, APPROX_QUANTILES(spend, 4) AS four FROM visits",
        lambda data: asked(
            data.agg(
                a=dp.min(**SPEND), b=dp.max(**SPEND), d=dp.std(**SPEND), v=dp.variance(**SPEND),
                q=dp.quantile("spend", "0.9", (0, 100)), four=dp.quantile("spend", ["0.25", "0.5", "0.75"], (0, 100)),
            )
        ),
    ),
    "semi-join": (
        "SELECT COUNT(*) AS n FROM people WHERE NOT EXISTS (SELECT 1 FROM orders WHERE buyer = people.pid)",
        lambda data: asked(
            data.table("people").join(data.table("orders"), on={"pid": "buyer"}, how="anti").agg(n=dp.count())
        ),
    ),
    "rollup": (
        "SELECT status, country, COUNT(*) AS n, SUM(amount) AS s FROM lines JOIN orders ON lines.oid = orders.oid JOIN "
        "people ON orders.buyer = people.pid GROUP BY ROLLUP (status, country) "
        "ORDER BY status NULLS LAST, country NULLS LAST",
        lambda data: rolled_up(data),
    ),
    "several aggregates of one column": (
        "SELECT city, SUM(spend) AS s, COUNT(spend) AS n, AVG(spend) AS m, SUM(spend) / COUNT(spend) AS q FROM visits "
        "GROUP BY city ORDER BY city",
        lambda data: [
            {**s, **n, **m, "q": s["s"] / n["n"]}
            for s, n, m in zip(
                by_city(data, s=dp.sum(**SPEND)),
                by_city(data, n=dp.sum(dp.if_else(~dp.col("spend").is_null(), 1, 0), (0, 1))),
                by_city(data, m=dp.mean(**SPEND)),
                strict=True,
            )
        ],
    ),
    "functions of rows": (
        "SELECT COUNT(*) FILTER (WHERE LOWER(city) LIKE 'p%r%s' OR LEFT(city, 2) = 'Ly') AS n, "
        "SUM(ROUND(SQRT(spend), 1)) AS s FROM visits",
        lambda data: asked(
            data.agg(
                n=dp.sum(dp.if_else((dp.col("city") == "Paris") | (dp.col("city") == "Lyon"), 1, 0), (0, 1)),
                s=dp.sum(dp.col("spend").sqrt().round(1), (0, 10)),
            )
        ),
    ),
}  # fmt: skip
NOT_OF_DUCKDB = ("median", "extremes, deviations and quantiles")
"""Without noise a quantile is the middle of the place where it lies, and a deviation is that of the population."""
SOME_JOINS = [QUESTIONS[at] for at in (2, 6, 10, 14, 16, 20, 24)]
TYPES = {"int64": "bigint", "double": "double precision", "string": "text"}


def _in_postgres(database: Any) -> dict[str, Any]:
    for name, table in clinic().items():
        columns = ", ".join(f"{field.name} {TYPES[str(field.type)]}" for field in table.schema)
        database.run(f"CREATE TABLE {name} ({columns})")
        with database.connection.cursor() as cursor:
            marks = ", ".join(["%s"] * table.num_columns)
            cursor.executemany(
                f"INSERT INTO {name} VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()]
            )
    return {"source": database.url, "tables": {name: name for name in clinic()}}


@pytest.fixture(
    params=["duckdb", "postgres", pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.xdist_group("spark")])]
)
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[dp.Dataset]:
    """The tables in an engine, of which questions are answered without noise."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    unit = dp.Person("pid", max_groups=10, max_rows_per_group=200)
    if request.param == "duckdb":
        with opened(unit=unit) as found, exact_answers():
            yield found
    elif request.param == "postgres":
        with (
            fresh_database(request.getfixturevalue("postgres_url")) as database,
            opened(unit=unit, **_in_postgres(database)) as found,
            exact_answers(),
        ):
            yield found
    else:
        session = request.getfixturevalue("spark")
        for name, table in clinic().items():
            session.createDataFrame(table.to_pandas()).createOrReplaceTempView(f"shapes_{name}")
        tables = {name: f"shapes_{name}" for name in clinic()}
        with opened(unit=unit, source=session, tables=tables) as found, exact_answers():
            yield found


def test_f74_every_shape_is_the_same_in_python_and_on_every_engine(data: dp.Dataset) -> None:
    for name, (text, python) in SHAPES.items():
        mine = asked(data.sql(text))
        assert mine == python(data), name
        assert mine, name
        if name not in NOT_OF_DUCKDB:
            assert same(mine, plainly(text, clinic())), name


def test_f70_joins_are_those_of_duckdb_on_every_engine(data: dp.Dataset) -> None:
    for text in SOME_JOINS:
        mine = asked(data.sql(text))
        assert same(mine, plainly(text, clinic())), text


def test_another_number_would_be_noticed() -> None:
    """The control: one visit less."""
    tables = clinic()
    text, _ = SHAPES["plain groups"]
    fewer = {**tables, "visits": tables["visits"].slice(1)}
    assert not same(plainly(text, tables), plainly(text, fewer))
