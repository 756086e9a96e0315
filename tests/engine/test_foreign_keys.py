"""Parent keys that repeat, though they should stand once: rows multiply up to a limit, and nobody else's change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dp
from dither.errors import EngineError, ParameterError
from dither.tables.joins import MOST_PARTNERS

KIDS = pa.table({"pid": [1] * 10 + [2] * 5 + [3] * 4, "v": [1] * 19})


def clinic(times: int, kind: pa.DataType = pa.int64()) -> Any:  # noqa: B008 - a constant
    """The key 1 stands so often in the rows of one person, and the key 3 twice in those of another."""
    ids = pa.array([1] * times + [2, 3, 3], pa.int64()).cast(kind)
    parents = pa.table({"id": ids, "who": ["a"] * times + ["b", "c", "c"], "age": range(times + 3)})
    return dp.Dataset(
        tables={"parents": parents, "kids": KIDS.set_column(0, "pid", KIDS["pid"].cast(kind))},
        unit=dp.Person("who", 1, 10**6),
        foreign_keys={"kids.pid": "parents.id"},
        budget=dp.PureDP(100),
        ledger=":memory:",
        identity="clinic",
    )


def rows(query: Any) -> int:
    return sum(batch.num_rows for batch in query.origin._source.engine.rows(query._table))


def joins(data: Any) -> list[Any]:
    """Along the key from either side, before and after rows were filtered, and with the person named as well."""
    kids, parents = data.table("kids"), data.table("parents")
    some, older = kids.where(dp.col("v") == 1), parents.where(dp.col("age") >= 0)
    return [
        kids.join(parents, on={"pid": "id"}, how="inner"),
        parents.join(kids, on={"id": "pid"}, how="inner"),
        some.join(older, on={"pid": "id"}, how="inner"),
        older.join(some, on={"id": "pid"}, how="inner"),
        some.join(parents, on={"pid": "id", "who": "who"}, how="inner"),
    ]


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()], ids=str)
@pytest.mark.parametrize(
    ("times", "of_a"), [(0, 0), (1, 10), (MOST_PARTNERS, 10 * MOST_PARTNERS), (MOST_PARTNERS + 1, 0), (5000, 0)]
)
def test_rows_multiply_up_to_a_limit_and_those_of_others_stay(times: int, of_a: int, kind: pa.DataType) -> None:
    data = clinic(times, kind)
    for joined in joins(data):
        assert rows(joined) == of_a + 5 + 2 * 4, joined
    assert rows(data.table("kids")) == (10 if times else 0) + 5 + 4, "once for each person"


def test_whole_keys_that_share_a_bucket_are_told_apart() -> None:
    """Full buckets are looked at key by key: the person with 60 rows of each of two such keys keeps both."""
    ids = [5] * 60 + [5 + (1 << 16)] * 60 + [-5] * (MOST_PARTNERS + 1)
    data = dp.Dataset(
        tables={
            "parents": pa.table({"id": ids, "who": ["a"] * len(ids)}),
            "kids": pa.table({"pid": [5, 5 + (1 << 16), -5, None]}),
        },
        unit=dp.Person("who", 1, 10**6), foreign_keys={"kids.pid": "parents.id"}, budget=dp.PureDP(1),
        ledger=":memory:", identity="clinic",
    )  # fmt: skip
    assert rows(data.table("kids").join(data.table("parents"), on={"pid": "id"}, how="inner")) == 120


@pytest.mark.parametrize(("how", "found"), [("inner", 2 * 10 + 4), ("left", 2 * 10 + 5 + 4)])
def test_whose_rows_are_is_found_after_a_public_table_was_joined(how: str, found: int) -> None:
    """One of its keys stands twice, one is missing; conditions on its columns leave rows out before as well."""
    data = clinic(1)
    sides = pa.table({"pid": [1, 1, 3], "side": ["left", "right", "left"]})
    joined = data.table("kids").join(sides, on="pid", how=how)
    assert rows(joined) == found
    assert joined.lineage._unowned is not None
    assert {"who", "side", "v"} <= joined.columns.keys()
    some = joined.where(dp.col("side") == "right")
    assert rows(some) == 10
    assert "who" not in some.lineage._unowned.columns
    both = some.join(data.table("parents"), on={"pid": "id"}, how="inner")
    assert rows(both) == 10
    assert rows(data.table("kids").join(pa.table({"v": [1], "x": [2]}), on="v").where(dp.col("who") == "b")) == 5


@pytest.mark.parametrize("column", ["User", "USER"])
@pytest.mark.parametrize("key", ["orders.number", "orders.user"])
def test_a_column_that_engines_take_for_the_person_is_refused(column: str, key: str) -> None:
    """DuckDB and Spark tell names apart by their letters alone: such a column would say whose the rows are."""
    orders = pa.table({"number": [1, 2], "user": [7, 8]})
    lines = pa.table({"of": [1] * 50 + [2], column: range(51)})
    with pytest.raises(ParameterError, match="upper and lower case only"):
        dp.Dataset(
            tables={"orders": orders, "lines": lines}, unit=dp.Person("user", 1, 1), foreign_keys={"lines.of": key},
            budget=dp.PureDP(1), ledger=":memory:", identity="shop",
        )  # fmt: skip


def test_whose_rows_are_whose_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first question that needs it, and not by opening the tables or by a question about others."""
    data, worked_out = clinic(1), list[str]()
    engine = data.table("kids").origin._source.engine
    compiled = engine._compiled

    def seen(expression: Any) -> str:
        text: str = compiled(expression)
        worked_out.extend([text] if "DISTINCT" in text and "COUNT(" not in text else [])
        return text

    monkeypatch.setattr(engine, "_compiled", seen)
    assert rows(data.table("parents")) == 4
    assert not worked_out
    assert [rows(data.table("kids")) for _ in range(3)] == [19, 19, 19]
    assert len(worked_out) == 1


def test_what_cannot_be_worked_out_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    data = clinic(1)
    engine = data.table("kids").origin._source.engine

    def full(self: Any, expression: Any) -> None:
        raise OSError("row 17 of anna does not fit on the disk")

    monkeypatch.setattr(type(engine), "_fill", full)
    with pytest.raises(EngineError, match="nothing was charged") as refusal:
        data.table("kids").count(epsilon=1)
    assert "anna" not in f"{refusal.value}{refusal.value.__cause__}{refusal.value.__context__}"
    assert data.spent["epsilon"] == 0


def test_a_file_that_was_written_to_is_refused_though_its_keys_were_kept(tmp_path: Path) -> None:
    """What was worked out is of the file that was opened, and no question mixes it with another one."""
    parents, kids = tmp_path / "parents.parquet", tmp_path / "kids.parquet"
    pq.write_table(pa.table({"id": [1, 2], "who": ["a", "b"]}), parents)
    pq.write_table(KIDS, kids)
    data = dp.Dataset(
        tables={"parents": parents, "kids": kids}, unit=dp.Person("who", 1, 20),
        foreign_keys={"kids.pid": "parents.id"}, budget=dp.PureDP(100), ledger=":memory:",
    )  # fmt: skip
    data.table("kids").count(epsilon=1)
    assert rows(data.table("kids")) == 15
    pq.write_table(pa.table({"id": [1, 2, 3], "who": ["a", "b", "c"]}), parents)
    with pytest.raises(ParameterError, match="was written to"):
        data.table("kids").count(epsilon=1)
    assert data.spent["epsilon"] == 1
