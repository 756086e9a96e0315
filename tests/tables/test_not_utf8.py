"""Texts that are not UTF-8: Arrow and DuckDB take them, and none decides whether a question fails or what it says.

DuckDB checks a text when it stores it only until a segment has seen a valid one beyond ASCII: "é" comes first here.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError

BAD = b"\xff\xfe"


def texts(*rows: bytes) -> pa.Array:
    return pa.array(rows).view(pa.string())


def opened(source: Any, folder: Path, unit: Any) -> dp.Dataset:
    return dp.Dataset(source, unit=unit, budget=dp.ApproxDP(100, 1e-3), ledger=folder / "ledger", identity="people")


def test_e63_a_public_table_with_a_text_that_is_not_utf8_is_refused_before_the_charge(tmp_path: Path) -> None:
    """Joined, the row that it met made a histogram fail and a median warn: exact bits, for any ε."""
    table = pa.table({"who": range(60), "city": ["Nice"] * 59 + ["Paris"], "age": [30.0] * 60})
    rivers = pa.table({"city": ["Nice", "Paris"], "river": texts("é".encode(), BAD)})
    with opened(table, tmp_path, dp.Person("who")) as data:
        with pytest.raises(ParameterError, match="'river' of the table holds a text that is not UTF-8"):
            data.join(rivers, on="city")
        with pytest.raises(ParameterError, match="not UTF-8"):
            data.join(rivers.set_column(1, "river", rivers["river"].dictionary_encode()), on="city")
        assert data.spent["epsilon"] == 0


@pytest.mark.parametrize("column", ["who", "city"])
def test_e63_a_frame_with_a_text_that_is_not_utf8_is_refused_when_it_is_opened(column: str, tmp_path: Path) -> None:
    good, bad = texts(b"\xc3\xa9", b"a", b"b"), texts(b"\xc3\xa9", b"a", BAD)
    table = pa.table({name: bad if name == column else good for name in ("who", "city")})
    with pytest.raises(ParameterError, match=f"'{column}' of the table holds a text that is not UTF-8"):
        opened(table, tmp_path, dp.Person("who"))


@pytest.mark.parametrize("unit", [dp.Rows(), dp.Person("who")], ids=["rows", "people"])
def test_e63_in_a_table_of_ones_own_connection_such_a_text_is_missing(unit: Any, tmp_path: Path) -> None:
    """Its row decided whether the question failed, and so told its age."""
    own = ibis.duckdb.connect()
    rows = {"who": texts(b"\xc3\xa9", b"a", b"b", BAD), "city": texts(b"\xc3\xa9", b"a", b"b", BAD)}
    own.con.register("brought", pa.table({**rows, "age": [20.0, 21.0, 22.0, 25.0]}))
    own.con.execute("CREATE TABLE people AS SELECT * FROM brought")
    with opened(own.table("people"), tmp_path, unit) as data, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for age in (22, 25):
            here = data.where(dp.col("age") == age).where(dp.col("city") != "x")
            here.count(epsilon=1)
            here.median("age", bounds=(0, 100), epsilon=1)
            common = dp.top("city", 1, candidates=["a", "b"])
            here.group_by("city", keys=["a", "b"]).agg(common=common, ages=dp.histogram("age", [0, 50, 100])).release(
                epsilon=1
            )
        assert data.failures.failed == 0
