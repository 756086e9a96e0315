"""Texts that are not UTF-8: Arrow and DuckDB take them, and none decides whether a question fails or what it says.

DuckDB checks a text when it stores it only until a segment has seen a valid one beyond ASCII: "é" comes first here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc
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
    with opened(table, tmp_path, dp.Person("who", 1, 1)) as data:
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
        opened(table, tmp_path, dp.Person("who", 1, 1))


@pytest.mark.parametrize("unit", [dp.Rows(), dp.Person("who", 1, 1)], ids=["rows", "people"])
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


def on(engine: str, request: pytest.FixtureRequest, folder: Path) -> dp.Dataset:
    """The same few people on each engine."""
    table = pa.table({"who": range(4), "city": ["Nice", "Paris", "é", "a"], "age": [20.0, 21.0, 22.0, 25.0]})
    if engine == "duckdb":
        return opened(table, folder, dp.Person("who", 1, 1))
    if engine == "spark":
        return opened(request.getfixturevalue("spark").createDataFrame(table), folder, dp.Person("who", 1, 1))
    own = ibis.connect(request.getfixturevalue("postgres_url"))
    request.addfinalizer(own.disconnect)
    return opened(own.create_table("not_utf8", table, temp=True, overwrite=True), folder, dp.Person("who", 1, 1))


every_engine = pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.xdist_group("spark")]),
    ],
)
_RAW = texts("é".encode(), BAD)
_BROUGHT: dict[str, Any] = {
    "string": _RAW,
    "large_string": pa.array(["é".encode(), BAD], pa.large_binary()).view(pa.large_string()),
    "dictionary": _RAW.dictionary_encode(),
    "run ends": pc.run_end_encode(_RAW),
    "list": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _RAW),
    "struct": pa.StructArray.from_arrays([_RAW], ["a"]),
    "JSON": pa.ExtensionArray.from_storage(pa.json_(pa.string()), _RAW),
}


@every_engine
def test_e63_no_engine_takes_a_public_table_with_such_a_text(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In whatever type of Arrow, in the column that it is joined by or in another."""
    with on(engine, request, tmp_path) as data:
        for values in _BROUGHT.values():
            with pytest.raises(ParameterError):
                data.join(pa.table({"city": ["Nice", "Paris"], "river": values}), on="city")
            with pytest.raises(ParameterError):
                data.join(pa.table({"city": values, "river": [1, 2]}), on="city")
        assert data.join(pa.table({"city": ["Nice", "é"], "river": ["é", "Paillon"]}), on="city").columns["river"]
        assert data.spent["epsilon"] == 0


HALF = "\udcff"
"""Half of a surrogate pair, which Python has in texts and no encoding has."""
_SAID: dict[str, Callable[[dp.Dataset], Any]] = {
    "a condition": lambda data: data.where(dp.col("city") == HALF).agg(n=dp.count()),
    "a list": lambda data: data.where(dp.col("city").is_in(["a", HALF])).agg(n=dp.count()),
    "an expression": lambda data: data.agg(n=dp.count_distinct(dp.if_else(dp.col("age") > 3, HALF, "a"))),
    "a key": lambda data: data.group_by("city", keys=["a", HALF]).agg(n=dp.count()),
    "a candidate": lambda data: data.agg(n=dp.top("city", 1, candidates=["a", HALF])),
    "a column of the answer": lambda data: data.agg(**{HALF: dp.count()}),
    "a new column": lambda data: data.with_columns(**{HALF: dp.col("age")}).agg(n=dp.sum(HALF, (0, 1))),
    "a column of a person": lambda data: data.per_person(**{HALF: dp.count()}).agg(n=dp.sum(HALF, (0, 1))),
}


@every_engine
@pytest.mark.parametrize("said", _SAID)
def test_e63_a_question_with_half_of_a_character_is_refused_before_the_charge(
    engine: str, said: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The answer with such a name was charged and lost; elsewhere an error of a library came through, or a log."""
    with on(engine, request, tmp_path) as data:
        with pytest.raises(ParameterError, match=r"Unicode.*half of a surrogate pair"):
            _SAID[said](data).release(epsilon=1)
        assert data.spent["epsilon"] == 0
        assert data.failures.asked == 0


@pytest.mark.parametrize(("city", "optimizers"), [(b"Nice", set()), (BAD, {"unused_columns"})])
def test_all_columns_of_a_file_are_read_if_one_is_not_utf8(city: bytes, optimizers: set[str], tmp_path: Path) -> None:
    """Else a line would be left out of some questions and not of others; and planning is quick in either."""
    (tmp_path / "people.csv").write_bytes(b"who,city\n1," + city + b"\n")
    with opened(tmp_path / "people.csv", tmp_path, dp.Rows()) as data:
        connection = data.origin._source.engine.backend.con
        ((said,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    assert set(said.split(",")) == optimizers | {"partial_aggregate_pushdown"}
