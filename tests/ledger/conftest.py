"""Places for ledgers, and a disk that fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from dither.ledger import Ledger
from tests.ledger.faults import Server, fault_server, quick_folder


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Tests that use it carry `xdist_group("ledger faults")`, so that one is started."""
    with fault_server() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """A fresh folder where syncing costs nothing."""
    with quick_folder() as fresh:
        yield fresh


@pytest.fixture
def database(postgres_url: str) -> str:
    """The URL of a fresh PostgreSQL database."""
    engine = sql.create_engine(
        postgres_url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS ledger WITH (FORCE)")
        connection.exec_driver_sql("CREATE DATABASE ledger")
    engine.dispose()
    return postgres_url.rpartition("/")[0] + "/ledger"


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest) -> str:
    """Each kind of durable place for a ledger in turn."""
    return location_of(request)


def location_of(request: pytest.FixtureRequest) -> str:
    """Where the test's own database or file is."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("folder") / "test.ledger")
    return str(request.getfixturevalue("database"))


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """A fresh ledger in each kind of place."""
    ledger = Ledger(":memory:" if request.param == "memory" else location_of(request))
    yield ledger
    ledger.close()
