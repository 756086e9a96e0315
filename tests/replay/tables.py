"""Tables with anything in them, many small worlds in one, and a neighbour of each world in another."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date
from typing import Any

import pyarrow as pa

import dither as dp

__all__ = ["CITIES", "SCHEMA", "UNITS", "neighbours"]

CITIES = ["Paris", "Zürich", "東京"]
SCHEMA = pa.schema(
    {
        "world": pa.int64(),
        "user": pa.string(),
        "city": pa.string(),
        "x": pa.float64(),
        "k": pa.int64(),
        "day": pa.date32(),
    }
)
_NUMBERS = [None, float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 50.0, 100.0, 1.7e308, -1.7e308, 5e-324]
_HEAVY = 1000

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
    }


def _world(world: int, choose: random.Random) -> Rows:
    """A few rows, or none; one world in fifty has a person with a thousand."""
    rows = [_row(world, choose) for _ in range(choose.randint(0, 9))]
    if world % 50 == 7:
        rows += [{**_row(world, choose), "user": f"{world} heavy"} for _ in range(_HEAVY)]
    return rows


def neighbours(kind: str, worlds: int, seed: Any) -> tuple[pa.Table, pa.Table]:
    """Two tables: in each world one row more on a side, or a row replaced, or a person more."""
    choose = random.Random(f"{kind} {seed}")
    sides: tuple[Rows, Rows] = ([], [])
    for world in range(worlds):
        rows = _world(world, choose)
        pair = [rows, _other(kind, world, rows, choose)]
        if choose.random() < 0.5:
            pair.reverse()
        for side, part in zip(sides, pair, strict=True):
            side += part
    first, second = (pa.Table.from_pylist(side, schema=SCHEMA) for side in sides)
    return first, second


def _other(kind: str, world: int, rows: Rows, choose: random.Random) -> Rows:
    if kind == "persons":
        user = f"{world} heavy" if world % 50 == 7 else f"{world} 0"
        return [row for row in rows if row["user"] != user]
    if kind == "replaced rows":
        return [_row(world, choose), *rows[1:]] if rows else rows
    return rows[1:] if rows else [_row(world, choose)]
