"""One engine after the other."""

from collections.abc import Iterator
from typing import Any

import pytest

from dither.tables.database_engines import Engine
from tests.tables.engines import ENGINES, engine_named


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    return engine_named(request.param, request)


@pytest.fixture(scope="session")
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    """One connection for all tests."""
    from dither.tables.database_engines.postgres import PostgreSQL

    engine = PostgreSQL.at(postgres_url)
    yield engine
    engine.backend.disconnect()


@pytest.fixture(scope="session")
def spark_engine(spark: Any) -> Engine:
    """One session for all tests."""
    from dither.tables.database_engines.spark import Spark

    return Spark(spark)
