"""What the service keeps beside the ledger: keys, sessions and questions. What was spent stands in the ledger alone.

A SQLite file for one machine, PostgreSQL for several. Every change is one transaction that is on disk when it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from dither.errors import LedgerError, ParameterError
from dither.ledger.sqlite import made_for_its_owner

__all__ = ["KEYS", "QUESTIONS", "SESSIONS", "ServiceStore"]

_tables = sql.MetaData()


def _text(name: str, **settings: Any) -> sql.Column[str]:
    return sql.Column(name, sql.Text, **{"nullable": False, **settings})


KEYS: Final = sql.Table(
    "dither_keys",
    _tables,
    _text("id", primary_key=True),
    _text("name"),
    _text("salt"),
    _text("hash"),
    _text("rights"),
    sql.Column("is_owner", sql.Boolean, nullable=False),
    sql.Column("is_revoked", sql.Boolean, nullable=False),
    _text("expires", nullable=True),
    _text("at"),
)
SESSIONS: Final = sql.Table(
    "dither_sessions", _tables, _text("digest", primary_key=True), _text("key"), _text("expires")
)
QUESTIONS: Final = sql.Table(
    "dither_questions",
    _tables,
    _text("id", primary_key=True),
    _text("dataset"),
    _text("analyst"),
    _text("key"),
    _text("asked"),
    _text("state"),
    _text("at"),
    _text("began"),
    _text("told"),
    sql.UniqueConstraint("dataset", "analyst", "key"),
)


class ServiceStore:
    """The tables at a path, or at a URL that starts with postgresql://."""

    def __init__(self, location: str) -> None:
        self._engine = _engine(location)
        try:
            with self._words(), self._engine.begin() as connection:
                _tables.create_all(connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give back all connections."""
        self._engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction; it is on disk when this ends without an error."""
        with self._words(), self._engine.begin() as connection:
            yield connection

    def rows(self, question: sql.Select[Any]) -> list[Mapping[str, Any]]:
        """What a SELECT finds."""
        with self._words(), self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(question).mappings()]

    @contextmanager
    def _words(self) -> Iterator[None]:
        """Errors of the database in our words: theirs hold values."""
        try:
            yield
        except SQLAlchemyError as error:
            name = type(error).__name__
        else:
            return
        raise LedgerError(f"the store of the service could not be used ({name}). Check its place and its disk.")


def _engine(location: str) -> Engine:
    if "://" not in location:
        path = Path(location).resolve()
        made_for_its_owner(path)
        engine = sql.create_engine(sql.URL.create("sqlite", database=str(path)), connect_args={"timeout": 30})
        sql.event.listen(engine, "connect", _durable)
        return engine
    try:
        url = sql.make_url(location)
    except SQLAlchemyError:
        url = None
    if url is None or url.get_backend_name() not in ("postgresql", "postgres"):
        raise ParameterError(
            "the store of the service is the path of a file, or a URL postgresql://user@host/database."
        )
    return sql.create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True)


def _durable(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
