"""Streams, each world of a table a pair of neighbours: a person who is there on some days more, and a row more."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

import dither as dp
from dither.engine.stream import StreamQuestion

__all__ = ["CASES", "PERIODS", "StreamCase", "asked", "neighbours"]

START, PERIODS = date(2026, 1, 1), 6
CITIES = ["Paris", "Zürich"]
_NUMBERS = [None, float("nan"), float("inf"), -1e300, -0.0, 50.0, 100.0]
_HEAVY = 7
_OTHER_DAYS = [None, START - timedelta(1), START + timedelta(PERIODS), date(9999, 12, 31)]


@dataclass(frozen=True)
class StreamCase:
    """What is asked of each period, of whom, and how many numbers each group has."""

    name: str
    unit: Any
    ask: Mapping[str, Any]
    limits: Mapping[str, int]
    show: tuple[str | int, ...] = ("total",)
    width: int = 1
    price: Mapping[str, Any] = field(default_factory=lambda: {"rho": 1})
    finds_groups: bool = False
    covers: frozenset[str] = frozenset({"Query.over"})

    def __str__(self) -> str:
        return self.name


_PERSON = dp.Person("user", max_groups=2, max_rows_per_group=2)
_ONE_GROUP = dp.Person("user", max_groups=1, max_rows_per_group=3)
_WHOLES = {"count": dp.count(), "sum": dp.sum("x", (-10, 90))}
CASES = [
    StreamCase("rows", dp.Rows(), _WHOLES, {}),
    StreamCase("a person once", _PERSON, _WHOLES, {"max_periods": 1}, ("total", "last", 3)),
    StreamCase("a person three times", _PERSON, {**_WHOLES, "people": dp.count_people()}, {"max_periods": 3}),
    StreamCase("a person with pauses", _ONE_GROUP, _WHOLES, {"max_periods": 4, "min_separation": 2}, (2, "month")),
    StreamCase("a person every day", _ONE_GROUP, {"count": dp.count()}, {"max_periods": PERIODS}, ("last",)),
    StreamCase(
        "groups that are found", _PERSON, _WHOLES, {"max_periods": 5}, ("total", 2),
        price={"epsilon": 24, "delta": "0.15"}, finds_groups=True,
    ),
    StreamCase(
        "groups of rows that are found", dp.Rows(), {"count": dp.count(), "shape": dp.histogram("x", [0, 50, 100])}, {},
        price={"epsilon": 12, "delta": "0.2"}, finds_groups=True,
    ),
    StreamCase("histograms", _PERSON, {"shape": dp.histogram("x", [0, 10, 50, 100])}, {"max_periods": 2}, width=3),
]  # fmt: skip


def asked(case: StreamCase, data: dp.Dataset, worlds: int) -> StreamQuestion:
    """The question of a case, of each city in each world; the world is a key of groups that are found, too."""
    stream = data.over("day", start=START, periods=PERIODS, **case.limits)  # type: ignore[arg-type]
    if case.finds_groups:
        return stream.group_by("world", "city").agg(**case.ask)
    keys = pa.table({"world": [w for w in range(worlds) for _ in CITIES], "city": CITIES * worlds})
    return stream.group_by("world", "city", keys=keys).agg(**case.ask)


def _rows(world: int, user: str | None, days: list[date | None], choose: random.Random) -> list[dict[str, Any]]:
    """Some rows on each of these days."""
    return [
        {
            "world": world,
            "user": user,
            "day": day,
            "city": choose.choice([*CITIES, *CITIES, "elsewhere", None]),
            "x": choose.choice(_NUMBERS) if choose.random() < 0.3 else choose.uniform(-20, 120),
        }
        for day in days
        for _ in range(choose.choice([1, 1, 2, 7]))
    ]


def neighbours(case: StreamCase, worlds: int, seed: Any) -> tuple[pa.Table, pa.Table]:
    """Two tables: on one side of each world there is one row more, or a person on k days, up to all of them."""
    choose = random.Random(f"{case.name} {seed}")
    days: list[date | None] = [START + timedelta(day) for day in range(PERIODS)]
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for world in range(worlds):
        own = [f"{world} {place}" for place in range(choose.randrange(3) + (4 if case.finds_groups else 0))]
        rows = [row for user in [*own, None] for row in _rows(world, user, choose.sample(days, 3), choose)]
        rows += _rows(world, f"{world} outside", [choose.choice(_OTHER_DAYS)], choose)
        if isinstance(case.unit, dp.Rows):
            more = _rows(world, None, [choose.choice(days)], choose)[:1]
        else:
            more = _rows(world, f"{world} more", choose.sample(days, choose.randint(1, PERIODS)), choose)
        if world % 10 == _HEAVY and not isinstance(case.unit, dp.Rows):  # as much as one person can, on every day
            row = {"world": world, "user": f"{world} more", "city": CITIES[0], "x": 1e300}
            more = [{**row, "day": day} for day in days for _ in range(9)]
            if case.finds_groups:  # in groups that nobody else has
                more = [{**each, "city": f"own {place}"} for place, each in enumerate(more)]
        pair = [rows, rows + more]
        if choose.random() < 0.5:
            pair.reverse()
        for side, part in zip(sides, pair, strict=True):
            side += part
    columns = {"world": pa.int64(), "user": pa.string(), "day": pa.date32(), "city": pa.string(), "x": pa.float64()}
    first, second = (pa.Table.from_pylist(side, schema=pa.schema(columns)) for side in sides)
    return first, second
