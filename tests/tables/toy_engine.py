"""An engine as another package would have it: one file. Tests install it under an entry point."""

from __future__ import annotations

from typing import Self

from ibis.backends.duckdb import Backend
from sqlglot.dialects.duckdb import DuckDB as Dialect

from dither.tables.database_engines.duckdb import DuckDB

type("Toy", (Dialect,), {})  # sqlglot knows dialects by the names of their classes


class ToyBackend(Backend):  # type: ignore[misc]
    name = "toy"


class Toy(DuckDB):
    """DuckDB under another name, as Ibis would have another backend."""

    name = "Toy"

    @classmethod
    def at(cls, url: str) -> Self:
        backend = ToyBackend()
        backend.do_connect(url.removeprefix("toy://"))
        return cls(backend)
