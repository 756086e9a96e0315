"""Names that a table and SELECT both have, casts and orders of NULL: what they mean is what DuckDB says."""

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dither as dp
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers
from tests.engine.sql.clinic import same

Opened = Callable[..., dp.Dataset]

TEXTS = [
    "SELECT COUNT(*) AS city, city AS c FROM visits GROUP BY 2 ORDER BY c",
    "SELECT COUNT(*) AS city, city AS c FROM visits GROUP BY city ORDER BY c",
    "SELECT city AS c, COUNT(*) AS city FROM visits GROUP BY c ORDER BY city",
    "SELECT city AS c, COUNT(*) AS city FROM visits GROUP BY c HAVING city = 'Paris'",
    "SELECT city, SUM(spend) AS spend FROM visits GROUP BY city HAVING spend > 4500 ORDER BY spend",
    "SELECT city AS C, COUNT(*) AS N FROM visits GROUP BY c HAVING n > 100 ORDER BY n DESC",
    "SELECT COUNT(*) AS a, SUM(age) AS A FROM visits HAVING a > 3",
    "SELECT COUNT(*) AS n FROM visits GROUP BY city HAVING city IN ('Paris', 'Nice') ORDER BY city = 'Nice' DESC",
    "SELECT EXTRACT(YEAR FROM day) + 1 AS y, COUNT(*) AS n FROM visits GROUP BY EXTRACT(YEAR FROM day) ORDER BY y",
    "SELECT CASE city WHEN 'Paris' THEN 'p' ELSE 'o' END AS y, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n",
    "SELECT CASE WHEN age < 65 THEN 'young' END AS g, COUNT(*) AS n FROM visits GROUP BY g ORDER BY g",
    "SELECT CASE WHEN age < 65 THEN 'young' END AS g, COUNT(*) AS n FROM visits GROUP BY g ORDER BY g DESC",
    "SELECT CASE WHEN age < 65 THEN 'young' END AS g, COUNT(*) AS n FROM visits GROUP BY g ORDER BY g NULLS FIRST",
    "SELECT COUNT(*) AS n FROM (SELECT age AS city, * FROM visits) AS t WHERE city = 30",
    "SELECT COUNT(*) AS n FROM ((SELECT pid, spend FROM visits) AS u) AS t",
    "SELECT COUNT(*) AS n FROM visits AS v WHERE pid IN (SELECT DISTINCT pid FROM visits WHERE age > 80)",
    "SELECT ROUND(2.5 + 0 * COUNT(*)) AS a, ROUND(0 * COUNT(*) - 2.5) AS b, ROUND(0.125 + 0 * COUNT(*), 2) AS c, "
    "ROUND(0 * COUNT(*) + 25, -1) AS d, ROUND(COUNT(*) * 0 + 0.4) AS e FROM visits",
    "SELECT ROUND(AVG(spend), 1) AS m, CAST(AVG(spend) AS DECIMAL(10, 1)) AS d FROM visits",
    "SELECT SUM(CAST(spend AS DECIMAL(10, 0))) AS s, SUM(spend::NUMERIC(5)) AS r FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE day > DATE '2024-03-31' - INTERVAL '40 days'",
]


@pytest.mark.parametrize("text", TEXTS)
def test_they_mean_what_duckdb_means(
    text: str, opened: Opened, visits: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    with exact_answers():
        mine = opened(visits).sql(text).release(epsilon=10**6).to_arrow().to_pylist()
    with duckdb.connect() as connection:
        connection.register("visits", visits)
        theirs: list[dict[str, Any]] = connection.sql(text).to_arrow_table().to_pylist()
    assert same(mine, theirs)


def test_the_ends_of_an_interval_may_have_their_own_names(opened: Opened, visits: pa.Table) -> None:
    text = "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS n_low, DP_INTERVAL_HIGH(n) AS n_high FROM visits"
    found = opened(visits).sql(text).release(epsilon=1).to_arrow()
    assert found.column_names == ["n", "n_low", "n_high"]
    assert found["n_low"][0].as_py() < found["n"][0].as_py() < found["n_high"][0].as_py()


def test_casts_of_bigquery_are_taken_as_written(opened: Opened, visits: pa.Table) -> None:
    data = opened(visits)
    mine = data.sql("SELECT SUM(SAFE_CAST(spend AS FLOAT64)) AS s FROM visits")
    assert mine.words == data.sql("SELECT SUM(CAST(spend AS DOUBLE)) AS s FROM visits").words


def test_a_table_is_not_named_by_letters_that_look_alike() -> None:
    table = pa.table({"pid": [1, 2], "x": [1, 2]})
    unit, budget = dp.Person("pid", max_rows_per_group=1), dp.PureDP(1)
    with dp.Dataset(table, unit=unit, budget=budget, ledger=":memory:", identity="kinds") as data:
        assert data.sql("SELECT COUNT(*) FROM KINDS").words
        with pytest.raises(dp.errors.ParameterError, match="there is no table"):
            data.sql('SELECT COUNT(*) FROM "\u212ainds"')


def test_a_column_that_was_added_is_not_mistaken_for_one_of_another_table() -> None:
    tables = {
        "visits": pa.table({"pid": [1, 2], "spend": [10, 20]}),
        "people": pa.table({"pid": [1, 2], "age": [30, 40]}),
    }
    unit, budget = dp.Person("pid", max_rows_per_group=1), dp.PureDP(1)
    with dp.Dataset(tables=tables, unit=unit, budget=budget, ledger=":memory:", identity="two") as data:
        both = data.with_columns(age=dp.col("spend") * 2)
        with pytest.raises(dp.errors.ParameterError, match="may be several columns"):
            both.sql("SELECT COUNT(age) FROM visits v JOIN people p ON v.pid = p.pid")
        assert both.sql("SELECT COUNT(v.age) FROM visits v JOIN people p ON v.pid = p.pid").words
