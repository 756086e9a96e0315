"""A PostgreSQL database of its own for a test, dropped when the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from psycopg import sql

__all__ = ["Database", "fresh_database"]

_NUMBERS = count()


@dataclass(frozen=True)
class Database:
    """Where it is, and a connection of its owner."""

    url: str
    connection: Any

    def run(self, *statements: str) -> None:
        """As the owner would."""
        for statement in statements:
            self.connection.execute(statement)

    def value(self, query: str) -> Any:
        """The one value of a query."""
        return self.connection.execute(query).fetchone()[0]


@contextmanager
def fresh_database(server_url: str, options: str = "") -> Iterator[Database]:
    """A new database on the server."""
    name = f"fresh_{next(_NUMBERS)}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {} " + options).format(sql.Identifier(name)))
        try:
            url = server_url.rpartition("/")[0] + f"/{name}"
            with psycopg.connect(url, autocommit=True) as connection:
                yield Database(url, connection)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
