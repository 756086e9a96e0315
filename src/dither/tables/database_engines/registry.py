"""Which engine a table of Ibis or a database URL belongs to.

Three are built in. Others come from packages that offer them in the entry point group `dither.engines`: the name of the
entry point is that of the Ibis backend, or the scheme of the URL, and its value is a class derived from `Engine`. So a
new backend is one file, here or elsewhere. Whoever installs a package trusts it with the data, as with any other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Final

from dither.errors import ParameterError
from dither.tables.database_engines.engine import Engine

__all__ = ["BUILT_IN", "GROUP", "engine_class", "engine_names"]

GROUP: Final = "dither.engines"


def _duckdb() -> type[Engine]:
    from dither.tables.database_engines.duckdb import DuckDB

    return DuckDB


def _postgres() -> type[Engine]:
    from dither.tables.database_engines.postgres import PostgreSQL  # psycopg is an extra

    return PostgreSQL


def _spark() -> type[Engine]:
    from dither.tables.database_engines.spark import Spark  # PySpark is an extra

    return Spark


BUILT_IN: Final[Mapping[str, Callable[[], type[Engine]]]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "pyspark": _spark,
}


def engine_names() -> list[str]:
    """The names of all engines: those built in, then those of other packages."""
    return [*BUILT_IN, *sorted({each.name for each in entry_points(group=GROUP)} - BUILT_IN.keys())]


def engine_class(name: str) -> type[Engine] | None:
    """The engine of this name, None if there is none; a built-in one cannot be replaced."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    found = [each.load() for each in entry_points(group=GROUP, name=name)]
    if not found:
        return None
    if len(found) > 1 or not (isinstance(found[0], type) and issubclass(found[0], Engine)):
        raise ParameterError(
            f"the entry point {name!r} of the group {GROUP!r} must be one class derived from "
            "dither.tables.database_engines.Engine. Check which installed packages offer it."
        )
    return found[0]
