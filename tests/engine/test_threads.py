"""One dataset, many threads and tasks: every charge has its answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp

_ROWS = 400
_THREADS = 8


def _table() -> pa.Table:
    return pa.table(
        {
            "user": [row % 40 for row in range(_ROWS)],
            "city": [("Paris", "Lyon", "Nice")[row % 3] for row in range(_ROWS)],
            "x": [float(row % 11) for row in range(_ROWS)],
        }
    )


def _open(source: Any, folder: Path) -> dp.Dataset:
    unit, budget = dp.Person("user", max_groups=2, max_rows_per_group=1), dp.ApproxDP(10**6, "0.1")
    return dp.Dataset(source, unit=unit, budget=budget, ledger=folder / "x.ledger", identity="x")


def _asked(data: dp.Dataset, number: int) -> Any:
    """A question about all rows, one with an upload, or one whose groups are found; each at ε = 1."""
    if number % 3 == 0:
        return data.where(dp.col("x") > number % 5).count(epsilon=1)
    public: dict[str, Any] = {"keys": ["Paris", "Lyon"]} if number % 3 == 1 else {}
    price = {"epsilon": 1} if public else {"epsilon": 1, "delta": "1e-6"}
    return data.group_by("city", **public).agg(n=dp.count(), s=dp.sum("x", bounds=(0, 10))).release(**price)


def _every_charge_is_answered(data: dp.Dataset, times: int) -> None:
    with ThreadPoolExecutor(_THREADS) as threads:
        answers = list(threads.map(lambda number: _asked(data, number), range(_THREADS * times)))
    assert len(answers) == data.spent["epsilon"] == _THREADS * times
    assert all(answer is not None for answer in answers)


def test_one_dataset_in_eight_threads(tmp_path: Path) -> None:
    with _open(_table(), tmp_path) as data:
        _every_charge_is_answered(data, 25)


@pytest.mark.nightly
def test_one_dataset_in_eight_threads_for_long(tmp_path: Path) -> None:
    with _open(_table(), tmp_path) as data:
        _every_charge_is_answered(data, 200)


def test_two_datasets_on_one_connection(tmp_path: Path) -> None:
    """The connection is what threads must not share, however many engines are made of it."""
    own: Any = ibis.duckdb.connect()
    own.create_table("visits", _table())
    both = [_open(own.table("visits"), _made(tmp_path / name)) for name in ("a", "b")]
    with ThreadPoolExecutor(_THREADS) as threads:
        answers = list(threads.map(lambda number: _asked(both[number % 2], number), range(40)))
    assert len(answers) == sum(data.spent["epsilon"] for data in both) == 40


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_one_dataset_in_many_tasks(tmp_path: Path) -> None:
    async def asks(data: dp.Dataset) -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(_asked, data, number) for number in range(24)))

    with _open(_table(), tmp_path) as data:
        assert len(asyncio.run(asks(data))) == data.spent["epsilon"] == 24


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_one_dataset_in_eight_threads_on_spark(tmp_path: Path, spark: Any) -> None:
    with _open(spark.createDataFrame(_table()), tmp_path) as data:
        _every_charge_is_answered(data, 1)


@pytest.mark.nightly
@pytest.mark.xdist_group("spark")
def test_one_dataset_in_eight_threads_on_spark_for_long(tmp_path: Path, spark: Any) -> None:
    with _open(spark.createDataFrame(_table()), tmp_path) as data:
        _every_charge_is_answered(data, 200)
