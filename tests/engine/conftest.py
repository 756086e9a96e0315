"""A small table of visits, and datasets made of tables, each with a ledger of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp

Open = Callable[..., dp.Dataset]


@pytest.fixture
def visits() -> pa.Table:
    """60 people, three visits each, in three cities."""
    rows = range(180)
    return pa.table(
        {
            "user": [row % 60 for row in rows],
            "city": [("Paris", "Paris", "Paris", "Lyon", "Lyon", "Nice")[row // 7 % 6] for row in rows],
            "age": [(7 * row) % 60 % 90 for row in rows],
            "spend": [float(row % 37) * 5 for row in rows],
        }
    )


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a table as a dataset with a large budget."""

    def opened(table: Any, unit: Any = None, budget: Any = None, name: str = "data") -> dp.Dataset:
        return dp.Dataset(
            table,
            unit=unit or dp.Person("user", max_groups=2, max_rows_per_group=2),
            budget=budget or dp.ApproxDP(1000, "1e-3"),
            ledger=tmp_path / f"{name}.ledger",
            identity=name,
        )

    return opened
