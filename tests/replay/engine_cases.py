"""Every verb of a query and every aggregate, each world of a table a pair of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import dither as dp
from tests.replay.tables import CITIES

__all__ = ["CASES", "EngineCase", "keys_of"]

AGGREGATES: Mapping[str, Any] = {
    "count": dp.count(),
    "count_people": dp.count_people(),
    "count_distinct": dp.count_distinct("k"),
    "sum": dp.sum("x", (-10, 90)),
    "mean": dp.mean("x", (0, 100)),
    "variance": dp.variance("x", (0, 100)),
    "std": dp.std("x", (-5, 5)),
    "histogram": dp.histogram("x", [0, 10, 50, 100]),
    "median": dp.median("x", (0, 100), "0.9"),
    "quantile": dp.quantile("x", ["0.25", "0.9"], (0, 100)),
    "min": dp.min("x", (0, 100)),
    "max": dp.max("x", (0, 100)),
    "top": dp.top("k", 2, candidates=[0, 1, 2]),
}
PLACES = pa.table({"city": CITIES, "country": ["FR", "CH", "JP"]})


def keys_of(worlds: int) -> pa.Table:
    return pa.table({"world": [w for w in range(worlds) for _ in CITIES], "city": CITIES * worlds})


def _known(query: Any, worlds: int) -> Any:
    return query.group_by("world", "city", keys=keys_of(worlds))


def _of_world(query: Any, worlds: int) -> Any:
    return query.group_by("world", keys=list(range(worlds)))


def _binned(query: Any, worlds: int) -> Any:
    return query.group_by("world", dp.bins("x", [0, 50, 100]), keys=list(range(worlds)))


def _found(query: Any, worlds: int) -> Any:
    return query.group_by("world", "city")


def _joined(query: Any, worlds: int) -> Any:
    countries = pa.table({"world": [w for w in range(worlds) for _ in "FCJ"], "country": ["FR", "CH", "JP"] * worlds})
    return query.join(PLACES, on="city").group_by("world", "country", keys=countries)


def _per_person(query: Any, worlds: int) -> Any:
    asked = query.per_person(home=dp.min("world", (0, worlds)), visits=dp.count(), spend=dp.sum("x", (0, 100)))
    return asked.group_by(dp.bins("home", list(range(worlds + 1))))


@dataclass(frozen=True)
class EngineCase:
    """A question, what it covers, and how many groups a world has."""

    name: str
    covers: frozenset[str]
    group: Callable[[Any, int], Any]
    ask: Mapping[str, Any]
    price: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    groups: int = 3
    units: tuple[str, ...] = ("rows", "replaced rows", "persons")
    worlds: int = 200

    def __str__(self) -> str:
        return self.name


def _aggregate(name: str) -> EngineCase:
    if name in ("median", "quantile", "min", "max"):
        return EngineCase(name, frozenset({name}), _of_world, {"asked": AGGREGATES[name]}, groups=1)
    return EngineCase(name, frozenset({name}), _known, {"asked": AGGREGATES[name]})


WHOLES = {name: AGGREGATES[name] for name in ("count", "sum", "mean")}
DELTA = {"epsilon": 1, "delta": "1e-5"}

CASES = [
    *(_aggregate(name) for name in AGGREGATES),
    EngineCase("all at once", frozenset({"Query.agg"}), _known, AGGREGATES),
    EngineCase(
        "by rho", frozenset({"Query.agg"}), _known,
        {name: AGGREGATES[name] for name in ("count", "sum", "histogram", "count_distinct")}, {"rho": 1},
    ),
    EngineCase("of a whole world", frozenset({"Query.group_by"}), _of_world, WHOLES, groups=1),
    EngineCase("in bins", frozenset({"Query.group_by", "bins"}), _binned, WHOLES, groups=2),
    EngineCase(
        "where", frozenset({"Query.where", "col"}),
        lambda q, w: _known(q.where(dp.col("x") > 10, dp.col("day").is_null()), w), WHOLES,
    ),
    EngineCase(
        "with_columns", frozenset({"Query.with_columns", "if_else"}),
        lambda q, w: _known(q.with_columns(y=dp.if_else(dp.col("x") > 10, dp.col("k"), 7)), w),
        {"sum": dp.sum("y", (0, 9)), "top": dp.top("y", 1, candidates=[0, 7])},
    ),
    EngineCase("join", frozenset({"Query.join"}), _joined, WHOLES),
    EngineCase(
        "per_person", frozenset({"Query.per_person"}), _per_person,
        {"sum": dp.sum("spend", (0, 50)), "median": dp.median("visits", (0, 10))},
        groups=1, units=("persons",), worlds=25,
    ),
    EngineCase("found groups", frozenset({"Query.group_by"}), _found, WHOLES, DELTA),
    EngineCase("found values", frozenset({"top"}), _known, {"top": dp.top("k", 2)}, DELTA),
]  # fmt: skip
