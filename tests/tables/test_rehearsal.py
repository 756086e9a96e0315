"""A question that cannot run on a table without rows is refused before it is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.tables import BoundedTable, Column, FloatBins, RowCount, Sum, col
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.engine import builtin
from dither.tables.lattice import Lattice
from dither.unit import Person
from tests.tables.asking import opened


def _data(folder: Path) -> dp.Dataset:
    table = pa.table({"user": [1, 1, 2], "city": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    unit = dp.Person("user", max_groups=2, max_rows_per_group=1)
    return dp.Dataset(table, unit=unit, budget=dp.PureDP(10**6), ledger=folder / "x.ledger", identity="x")


def _chained(data: Any, times: int) -> Any:
    for _ in range(times):
        data = data.with_columns(x=dp.col("x") * 2 + 1)
    return data


@pytest.mark.parametrize("times", [20, 60])
def test_sixty_chained_columns_are_refused_free_of_charge(times: int, tmp_path: Path) -> None:
    with _data(tmp_path) as data:
        with pytest.raises(ParameterError, match="at most 60 steps"):
            _chained(data, times).sum("x", bounds=(0, 10), epsilon=1)
        assert data.spent["epsilon"] == 0


def test_the_deepest_question_is_answered(tmp_path: Path) -> None:
    """As many steps as are allowed, then what bounding adds: groups that are found, and few rows of each person."""
    with _data(tmp_path) as data:
        deep = _chained(data, 19)
        assert deep.group_by("city", keys=["a"]).agg(m=dp.median("x", bounds=(0, 10))).release(epsilon=1)
        assert _chained(data, 18).where(dp.col("x") > 1).count(epsilon=1)


def test_a_rehearsal_sees_no_row_and_asks_nothing_of_the_source(tmp_path: Path) -> None:
    """It runs when the file is gone, and a value on which the engine fails does not make it fail."""
    (tmp_path / "x.csv").write_text("user,x\n1,2\n")
    data = dp.Dataset(tmp_path / "x.csv", unit=dp.Rows(), budget=dp.PureDP(1), ledger=tmp_path / "x.ledger")
    (tmp_path / "x.csv").unlink()
    engine = data.origin._source.engine
    rows = data.origin._source.table
    engine.rehearse(rows.aggregate(n=rows.count()))
    failing = rows.mutate(x=rows["x"].cast("int64") / 0)
    engine.rehearse(failing.aggregate(s=failing["x"].sum()))
    assert all(row.to_expr().count().to_pyarrow().as_py() == 0 for row in engine._twins.values())


def test_what_an_engine_cannot_run_is_told_without_its_words(engine: Engine) -> None:
    rows = engine.upload(pa.table({"secret column": [1.0]}))
    failing = rows.mutate(y=_unknown(rows))
    with pytest.raises(ParameterError, match=f"{engine.name} cannot run this question, not even on a table") as caught:
        engine.rehearse(failing.aggregate(n=failing["y"].count()))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    engine.rehearse(rows.aggregate(n=rows.count()))  # and the connection still works


def _unknown(rows: Any) -> Any:
    return builtin("no_function_of_this_engine", "int64", rows["secret column"])


def test_a_release_that_cannot_run_is_refused_before_its_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDB, "hash", lambda engine, values, salt: builtin("no_function", "uint64", *values))
    with _data(tmp_path) as data:
        with pytest.raises(ParameterError, match="DuckDB cannot run this question, not even on a table without rows"):
            data.group_by("city", keys=["a"]).agg(n=dp.count()).release(epsilon=1)
        assert data.spent["epsilon"] == 0
        assert data.failures.asked == 0


def test_questions_that_differ_in_the_salt_alone_are_rehearsed_once() -> None:
    engine = DuckDB()
    ran: list[str] = []
    batches = engine._batches

    def counted(query: str, schema: pa.Schema) -> Any:
        ran.append(query)
        return batches(query, schema)

    engine._batches = counted  # type: ignore[method-assign]
    rows = engine.upload(pa.table({"who": [1], "k": ["a"], "x": [1.0]}))
    bounded = BoundedTable(engine, rows, Person("who", 1, 1), {"k": Column("k")})
    first, again = (bounded.totals({"n": RowCount()}, salt) for salt in (1, 2))
    first._rehearse()
    again._rehearse()
    assert len(ran) == 1
    others = [
        bounded.totals({"n": RowCount(), "s": Sum(Column("x"), Lattice.within((0, 1), from_zero=True))}, 1),
        bounded.totals({"n": Sum(Column("x"), Lattice.within((0, 1), from_zero=True))}, 1),
        bounded.totals({"n": Sum(Column("x"), Lattice.within((0, 2), from_zero=True))}, 1),
        bounded.totals({"n": Sum(col("x") * 2, Lattice.within((0, 1), from_zero=True))}, 1),
        bounded.distinct(Column("x"), 1),
        bounded.distinct(Column("k"), 1),
        bounded.bins(Column("x"), FloatBins(0.0, 1.0, -4, 2), 1),
        bounded.tally(Column("k"), pa.array(["a"]), 1),
        BoundedTable(engine, rows, Person("who", 2, 1), {"k": Column("k")}).totals({"n": RowCount()}, 1),
        BoundedTable(engine, rows, Person("who", 1, 1), {}).totals({"n": RowCount()}, 1),
        BoundedTable(engine, rows.filter(rows["x"] > 0), Person("who", 1, 1), {"k": Column("k")}).totals(
            {"n": RowCount()}, 1
        ),
    ]
    for index, other in enumerate(others):
        other._rehearse()
        assert len(ran) == 2 + index, other
    assert opened(first) == [{"k": "a", "n": 1}]
