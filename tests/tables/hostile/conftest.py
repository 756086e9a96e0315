"""Containers, opened once for all tests, and a ledger for all their datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dither.ledger import Ledger
from tests.tables.hostile.containers import Container, engine_of

Open = Callable[[type[Container]], Container]


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Each container by its class."""
    opened: dict[type[Container], Container] = {}

    def found(kind: type[Container]) -> Container:
        if kind not in opened:
            server = {"duckdb": None, "postgres": "postgres_url", "spark": "spark"}[engine_of(kind)]
            started: Any = server and request.getfixturevalue(server)
            opened[kind] = kind(tmp_path_factory.mktemp("hostile"), started)
        return opened[kind]

    yield found
    for each in opened.values():
        each.close()


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger of large budgets."""
    book = Ledger(tmp_path_factory.mktemp("ledger") / "hostile.ledger")
    yield book
    book.close()
