"""Tables with anything in them, many small worlds in one, and a neighbour of each world in another."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date, datetime
from itertools import count
from typing import Any

import pyarrow as pa

import dither as dp

__all__ = ["CITIES", "SCHEMA", "UNITS", "has_strays", "is_heavy", "neighbours"]

CITIES = ["Paris", "Zürich", "東京"]
SCHEMA = pa.schema(
    {
        "world": pa.int64(),
        "user": pa.string(),
        "city": pa.string(),
        "x": pa.float64(),
        "k": pa.int64(),
        "day": pa.date32(),
        "time": pa.timestamp("us"),
    }
)
_NUMBERS = [None, float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 50.0, 100.0, 1.7e308, -1.7e308, 5e-324]
_HEAVY, _MANY = 1000, 12

UNITS: Mapping[str, Any] = {
    "rows": dp.Rows(),
    "replaced rows": dp.Rows("replace"),
    "persons": dp.Person("user", max_groups=2, max_rows_per_group=2),
}

Rows = list[dict[str, Any]]


def _row(world: int, choose: random.Random) -> dict[str, Any]:
    return {
        "world": world,
        "user": None if choose.random() < 0.03 else f"{world} {choose.randrange(3)}",
        "city": choose.choice([*CITIES, *CITIES, "elsewhere", "", None]),
        "x": choose.choice(_NUMBERS) if choose.random() < 0.3 else choose.uniform(-20, 120),
        "k": choose.choice([None, 0, 1, 2, 3, -(2**63)]),
        "day": choose.choice([None, date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
        "time": choose.choice([None, datetime(1970, 1, 1, 23), datetime(2024, 2, 29, 0, 59, 59, 999999), datetime.max]),
    }


def is_heavy(world: int) -> bool:
    """Whether somebody there has a thousand rows, and is who a neighbour does not have."""
    return world % 50 == 7


def has_strays(world: int) -> bool:
    """Whether rows of nobody come and go with the person: they are left out, so a neighbour may have any."""
    return world % 10 == 3


def _world(world: int, least: int, choose: random.Random) -> Rows:
    rows = [_row(world, choose) for _ in range(choose.randint(least, 9))]
    if is_heavy(world):
        rows += [{**_row(world, choose), "user": f"{world} heavy"} for _ in range(_HEAVY)]
    if has_strays(world):
        rows += [{**_row(world, choose), "user": who} for who in (None, f"{world} 0") for _ in range(_MANY)]
    return rows


def neighbours(kind: str, worlds: int, seed: Any) -> tuple[pa.Table, pa.Table]:
    """Two tables: in each world one row more on a side, or a row replaced, or a person more."""
    choose = random.Random(f"{kind} {seed}")
    sides: tuple[Rows, Rows] = ([], [])
    for world in range(worlds):
        rows = _world(world, 1 if kind == "replaced rows" else 0, choose)
        pair = [rows, _other(kind, world, rows, choose)]
        if choose.random() < 0.5:
            pair.reverse()
        for side, part in zip(sides, pair, strict=True):
            side += part
    first, second = (pa.Table.from_pylist(side, schema=SCHEMA) for side in sides)
    return first, second


def _other(kind: str, world: int, rows: Rows, choose: random.Random) -> Rows:
    if kind == "persons":
        who = f"{world} heavy" if is_heavy(world) else f"{world} 0"
        if any(row["user"] == who for row in rows):
            return [row for row in rows if row["user"] not in ((who, None) if has_strays(world) else (who,))]
        return rows + [{**_row(world, choose), "user": who} for _ in range(choose.randint(1, 5))]
    if kind == "replaced rows":
        others = (_row(world, choose) for _ in count())
        return [next(row for row in others if repr(row) != repr(rows[0])), *rows[1:]]  # repr: NaN is as NaN
    return rows[1:] if rows else [_row(world, choose)]
