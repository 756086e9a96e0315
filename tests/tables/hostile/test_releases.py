"""The same through the whole release: somebody with a hostile value changes neither the outcome nor the charge."""

from __future__ import annotations

from typing import Any

import pytest

import dither as dp
from dither.errors import DitherError, EngineError
from dither.ledger import Ledger
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, Container
from tests.tables.hostile.runner import Worlds
from tests.tables.hostile.search import types_of

_PRICE: dict[str, Any] = {"epsilon": "1e-5", "delta": "1e-9"}


def _questions(data: dp.Dataset) -> list[tuple[str, Any]]:
    """A few questions without groups, with groups that are found, and with a filter that picks the hostile row."""
    number: dict[str, Any] = {"bounds": (0, "1e40")}
    return [
        ("sum", lambda: data.agg(v=dp.sum("c0", **number)).release(epsilon="1e-5")),
        ("median", lambda: data.agg(v=dp.median("c0", **number)).release(epsilon="1e-5")),
        ("filter", lambda: data.where(dp.col("who") == "w000 new").agg(v=dp.mean("c0", **number)).release(epsilon=1)),
        ("found", lambda: data.group_by("c0").agg(v=dp.count()).release(**_PRICE)),
        ("top", lambda: data.agg(v=dp.top("c0", 1)).release(**_PRICE)),
        ("distinct", lambda: data.agg(v=dp.count_distinct("c0")).release(epsilon=1)),
        ("per person", lambda: data.per_person(v=dp.sum("c0", **number)).sum("v", (0, 9), epsilon=1)),
    ]


def _outcome(ask: Any, data: dp.Dataset) -> tuple[str, bool]:
    """What becomes of a question, and whether it was charged."""
    before = data.spent
    try:
        ask()
        said = "answered"
    except EngineError:
        said = "failed"
    except DitherError:
        said = "refused"
    return said, data.spent != before


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(CONTAINERS["duckdb"][0], name, id=f"DuckDB - {name}")
        for name in ("DOUBLE", "DECIMAL(38,38)", "VARCHAR", "TIMESTAMP", "UHUGEINT", "JSON")
    ]
    + [pytest.param(CONTAINERS["duckdb"][2], name, id=f"Parquet - {name}") for name in ("string", "timestamp[ms]")]
    + [
        pytest.param(
            CONTAINERS["postgres"][0], name, id=f"PostgreSQL - {name}", marks=pytest.mark.xdist_group("postgres")
        )
        for name in ("double precision", "numeric", "numeric(310,0)", "citext", "date", "domain over a domain", "money")
    ],
)
def test_a_release_has_the_same_outcome(kind: type[Container], name: str, container: Open, book: Ledger) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    readable = [name for name, value in typed.hostile.items() if not container(kind).may_refuse(typed, value)]
    for value in readable[:: max(1, len(readable) // 5)]:
        worlds = Worlds(container(kind), [typed], book).alone(typed, list(typed.hostile).index(value))
        pairs = zip(_questions(worlds.before), _questions(worlds.after), strict=True)
        for (asked, first), (_, second) in pairs:
            outcomes = _outcome(first, worlds.before), _outcome(second, worlds.after)
            assert outcomes[0] == outcomes[1], f"{name}, {value}: {asked}"
            assert outcomes[0] in (("answered", True), ("refused", False)), f"{name}, {value}: {asked}"
        worlds.close()
