"""PostgreSQL computes long chains step by step: a plan grows with its question, and not exponentially in its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from sqlglot import parse_one

import dither as dp
from dither.errors import ParameterError
from dither.tables.database_engines.postgres import PostgreSQL
from dither.tables.database_engines.postgres_steps import fence
from tests.postgres import Database, fresh_database

_X = dp.col("x")
CHAINS: dict[str, Callable[[Any], Any]] = {
    "if_else": lambda q: q.with_columns(x=dp.if_else(_X > 0, _X, 1.0)),
    "both ways": lambda q: q.with_columns(x=dp.if_else(dp.col("k") > 3, _X, _X)),
    "arithmetic": lambda q: q.with_columns(x=_X * _X),
    "conditions": lambda q: q.with_columns(x=dp.if_else((_X > 0) & (_X < 9), 1.0, _X)).where(_X >= 0),
}
"""Each link names what the one before it gave at least twice."""


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with fresh_database(postgres_url) as fresh:
        fresh.run("CREATE TABLE visits (who bigint, x float8, k int)", "INSERT INTO visits VALUES (1, 2, 3), (2, 3, 4)")
        yield fresh


@pytest.fixture
def data(database: Database, tmp_path: Path) -> Iterator[dp.Dataset]:
    unit, budget = dp.Person("who", 1, 1), dp.PureDP(10**9)
    with dp.Dataset(database.url, table="visits", unit=unit, budget=budget, ledger=tmp_path / "l") as opened:
        yield opened


@pytest.fixture
def planned(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], int]]:
    """The size of the plan that the server makes of a question, as the server writes it out."""
    asked: list[str] = []
    batches = PostgreSQL._batches

    def noted(engine: PostgreSQL, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        asked.append(query)
        return batches(engine, query, schema)

    monkeypatch.setattr(PostgreSQL, "_batches", noted)
    with psycopg.connect(database.url, autocommit=True) as connection:
        for setting in ("client_min_messages = log", "debug_pretty_print = off", "debug_print_plan = on"):
            connection.execute(f"SET {setting}".encode())

        def size(query: Any) -> int:
            query.sum("x", bounds=(0, 10), epsilon=1)
            plans: list[int] = []
            connection.add_notice_handler(lambda said: plans.append(len(said.message_detail or "")))
            connection.execute(f"EXPLAIN {asked[-1]}".encode())
            return max(plans)

        yield size


def chain(data: dp.Dataset, name: str, links: int) -> Any:
    query: Any = data
    for _ in range(links):
        query = CHAINS[name](query)
    return query


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_that_is_twice_as_long_has_a_plan_twice_as_large(
    data: dp.Dataset, planned: Callable[[Any], int], name: str
) -> None:
    """It doubled with each link: twenty of them took all memory there is, before the charge and before any row."""
    short, long = (planned(chain(data, name, links)) for links in (4, 8))
    assert long < 3 * short


def test_a_chain_of_all_steps_that_are_allowed_is_rehearsed_and_answered(
    data: dp.Dataset, planned: Callable[[Any], int]
) -> None:
    """Sixty steps, two for each link; the size of the plan per link stays what it is for few of them."""
    assert planned(chain(data, "if_else", 29)) < 6 * planned(chain(data, "if_else", 7))
    with pytest.raises(ParameterError, match="at most 60 steps"):
        chain(data, "if_else", 30)


def fenced(query: str) -> str:
    parsed: Any = parse_one(query, dialect="postgres")
    fence(parsed)
    return str(parsed.sql(dialect="postgres"))


@pytest.mark.parametrize(
    "below",
    [
        "(SELECT {many} AS x FROM t AS t0) AS t1",
        "(SELECT t2.x FROM (SELECT {many} AS x FROM t AS t0) AS t2) AS t1",
        "(SELECT * FROM (SELECT {many} AS x FROM t AS t0) AS t2 WHERE t2.x > 0) AS t1",
        "(SELECT t2.* FROM (SELECT {many} AS x FROM t AS t0) AS t2) AS t1",
        "u AS t3 INNER JOIN (SELECT {many} AS x FROM t AS t0) AS t1 ON t1.x = t3.x",
    ],
)
def test_what_would_grow_too_large_is_set_apart(below: str) -> None:
    many = " + ".join(["t0.x"] * 100)
    query = f"SELECT t1.x * t1.x * t1.x AS y FROM {below}"
    assert "OFFSET" not in fenced(query.format(many="t0.x + 1"))
    assert fenced(query.format(many=many)).count("OFFSET 0") == 1


def test_what_is_behind_a_name_is_set_apart_too() -> None:
    many = " + ".join(["t0.x"] * 300)
    query = f"WITH t1 AS (SELECT {many} AS x FROM t AS t0) SELECT 1 AS one FROM t1 AS t2 WHERE t2.x > t2.x"
    assert "FROM t AS t0 OFFSET 0)" in fenced(query)


@pytest.mark.parametrize("apart", ["SELECT DISTINCT {many} AS x FROM t AS t0", "SELECT SUM({many}) AS x FROM t AS t0"])
def test_what_is_a_step_of_its_own_needs_no_offset(apart: str) -> None:
    many = " + ".join(["t0.x"] * 300)
    assert "OFFSET" not in fenced(f"SELECT t1.x * t1.x AS y FROM ({apart.format(many=many)}) AS t1")
