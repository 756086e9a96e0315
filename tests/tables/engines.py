"""The three engines under one name each, and a hash that they share with the reference.

In production each engine hashes by a function of its own. Tests that compare engines put MD5 in its place: an
attribute of one engine object, which no public name leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import pytest

from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.engine import builtin

__all__ = ["ENGINES", "engine_named", "speaking"]

ENGINES = [
    "duckdb",
    "postgres",
    pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.xdist_group("spark")]),
]


def engine_named(name: str, request: pytest.FixtureRequest) -> Engine:
    """An engine, with its server started."""
    if name == "duckdb":
        return DuckDB()
    engine: Engine = request.getfixturevalue(f"{name}_engine")
    vars(engine).pop("hash", None)  # another test may have left it speaking
    return engine


def speaking(engine: Engine) -> Engine:
    """The engine with MD5 for a hash (tests/oracle/tables.py, `spoken`)."""
    engine.hash = _spoken  # type: ignore[method-assign]
    return engine


def _spoken(values: Sequence[Any], salt: int) -> Any:
    words = ibis.literal("|").join([*map(_word, values), ibis.literal(str(salt))])
    return builtin("md5", "string", words)


def _word(value: Any) -> Any:
    text = value.ifelse("true", "false") if value.type().is_boolean() else value.cast("string")
    return value.isnull().ifelse("NULL", text)
