"""The same cases on PostgreSQL and on Spark: a few on every commit, all of them at night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from tests.replay.case import PAIRS
from tests.replay.engine_cases import CASES, EngineCase
from tests.replay.test_engine import chosen, compared

WORLDS = 200
"""So many pairs are in one table."""
ROUNDS = 1 if PAIRS == WORLDS else 5
USUAL = ("each need", "join", "found groups", "per_person")


def usual(case: EngineCase) -> bool:
    return case.name in USUAL


@pytest.fixture(scope="module")
def to_postgres(postgres_url: str) -> Iterator[Callable[[pa.Table], Any]]:
    """A table on the server."""
    from dither.tables.engines.postgres import PostgreSQL

    engine = PostgreSQL.at(postgres_url)
    yield engine.upload
    engine.backend.disconnect()


@pytest.mark.parametrize(("case", "kind"), chosen(CASES, usual))
def test_on_postgresql(
    case: EngineCase,
    kind: str,
    opened: Callable[..., dp.Dataset],
    to_postgres: Callable[[pa.Table], Any],
    record_property: Any,
) -> None:
    for round_ in range(ROUNDS):
        verdict = compared(case, kind, WORLDS, round_, opened, to_postgres)
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", ROUNDS * WORLDS)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("case", "kind"), chosen(CASES, usual))
def test_on_spark(
    case: EngineCase, kind: str, opened: Callable[..., dp.Dataset], spark: Any, record_property: Any
) -> None:
    for round_ in range(ROUNDS):
        verdict = compared(case, kind, WORLDS, round_, opened, spark.createDataFrame)
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", ROUNDS * WORLDS)
