"""The same cases on PostgreSQL and on Spark: a few on every commit, all of them at night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp
from tests.replay.case import PAIRS
from tests.replay.engine_cases import APART, CASES, ApartCase, EngineCase
from tests.replay.test_engine import chosen, compare_apart, compared

WORLDS_ON_POSTGRESQL, WORLDS_ON_SPARK = min(PAIRS, 2_000), 200
"""So many pairs are in one table; a question costs a second on Spark."""


def is_usual(case: EngineCase) -> bool:
    return case.name in ("each need", "join", "found groups", "per_person")


@pytest.fixture(scope="module")
def to_postgresql(postgres_url: str) -> Iterator[Callable[[pa.Table], Any]]:
    """A table on the server."""
    from dither.tables.database_engines.postgres import PostgreSQL

    engine = PostgreSQL.at(postgres_url)
    yield lambda table: engine.backend.create_table(ibis.util.gen_name("replayed"), table)
    engine.backend.disconnect()


@pytest.mark.parametrize(("case", "kind"), chosen(CASES, is_usual))
def test_on_postgresql(
    case: EngineCase,
    kind: str,
    opened: Callable[..., dp.Dataset],
    to_postgresql: Callable[[pa.Table], Any],
    record_property: Any,
) -> None:
    verdict = compared(case, kind, WORLDS_ON_POSTGRESQL, 0, opened, to_postgresql)
    assert verdict.passed, verdict.difference
    assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", WORLDS_ON_POSTGRESQL)


@pytest.mark.parametrize(("case", "kind"), chosen(APART, lambda case: case.name in ("data.mean", "data.median")))
def test_questions_about_all_rows_on_postgresql(
    case: ApartCase,
    kind: str,
    opened: Callable[..., dp.Dataset],
    to_postgresql: Callable[[pa.Table], Any],
    record_property: Any,
) -> None:
    compare_apart(case, kind, WORLDS_ON_POSTGRESQL, 0, opened, to_postgresql)
    record_property("replayed pairs", WORLDS_ON_POSTGRESQL)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("case", "kind"), chosen(CASES, is_usual))
def test_on_spark(
    case: EngineCase, kind: str, opened: Callable[..., dp.Dataset], spark: Any, record_property: Any
) -> None:
    verdict = compared(case, kind, WORLDS_ON_SPARK, 0, opened, spark.createDataFrame)
    assert verdict.passed, verdict.difference
    assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", WORLDS_ON_SPARK)
