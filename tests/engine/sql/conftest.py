"""Visits with days, declared ranges and keys, as datasets that answer next to exactly."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp

Ask = Callable[[str], list[dict[str, Any]]]
EXACTLY = 10**7
"""An ε at which noise is next to nothing."""
DOMAINS = {
    "city": ["Lyon", "Nice", "Paris"],
    "spend": (0, 100),
    "age": (0, 90),
    "day": (date(2022, 1, 1), date(2024, 12, 31)),
}


def made_up(rows: int = 400, seed: int = 5) -> pa.Table:
    """Visits of 90 people; spend and age are missing now and then. Values are whole or halves: sums are exact."""
    draw = random.Random(seed)
    return pa.table(
        {
            "pid": [draw.randrange(90) for _ in range(rows)],
            "city": [draw.choice(["Lyon", "Nice", "Paris", "Paris"]) for _ in range(rows)],
            "spend": [None if draw.random() < 0.1 else draw.randrange(200) / 2 for _ in range(rows)],
            "age": [None if draw.random() < 0.1 else draw.randrange(90) for _ in range(rows)],
            "day": [date(2022, 1, 1) + timedelta(days=draw.randrange(1090)) for _ in range(rows)],
        }
    )


@pytest.fixture
def visits() -> pa.Table:
    return made_up()


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., dp.Dataset]:
    """Open a table as a dataset with a large budget; of each person everything counts, unless a unit is given."""

    def opened(table: Any, unit: Any = None, **more: Any) -> dp.Dataset:
        return dp.Dataset(
            table,
            unit=unit or dp.Person("pid", max_groups=100, max_rows_per_group=100),
            budget=dp.ApproxDP(10**12, "1e-2"),
            ledger=":memory:",
            identity="visits",
            columns=more.pop("columns", DOMAINS),
            **more,
        )

    return opened
