"""Every kind of source opens to the same rows, has one name however it is spelled, and fails in one sentence."""

from __future__ import annotations

import io
import logging
import os
import re
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import EngineError, ParameterError
from dither.tables import (
    BoundedTable,
    Column,
    FloatBins,
    Lattice,
    RowCount,
    Source,
    Sum,
    Values,
    col,
    joined,
    open_source,
    with_values,
)
from dither.tables.database_engines import csv_files
from dither.unit import Person, Rows
from tests.tables.asking import opened

_ROWS = pa.table(
    {
        "who": pa.array([1, 1, 2, None], pa.int64()),
        "city": ["Paris", None, "Paris", "Lyon"],
        "x": pa.array([1.0, 2.0, None, 8.0], pa.float64()),
        "day": [date(2024, 1, 1), date(2024, 2, 29), None, date(1999, 12, 31)],
    }
)
_EXPECTED = {"Paris": (1, 1), None: (1, 2)}
"""Values and sum of `x` by city, of known persons."""


def _found(source: Source) -> dict[Any, Any]:
    bounded = BoundedTable(source.engine, source.table, Person("who", 5, 5), {"city": Column("city")})
    lattice = Lattice.within((0, 1 << 20), from_zero=True)
    measures = {"v": Values(Column("x")), "s": Sum(Column("x"), lattice)}
    return {row["city"]: (int(row["v"]), int(row["s"])) for row in opened(bounded.totals(measures, 7))}


def _parquet(folder: Path) -> Path:
    pq.write_table(_ROWS, folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(lambda: _ROWS, id="arrow"),
        pytest.param(lambda: _ROWS.to_batches()[0], id="arrow batch"),
        pytest.param(_ROWS.to_pandas, id="pandas"),
        pytest.param(lambda: _ROWS.to_pandas().astype({"city": "category"}), id="pandas categories"),
        pytest.param(lambda: pl.from_arrow(_ROWS), id="polars"),
        pytest.param(lambda: pl.from_arrow(_ROWS).lazy(), id="lazy polars"),  # type: ignore[union-attr]
    ],
)
def test_frames(frame: Any) -> None:
    made = frame()
    if isinstance(made, pd.DataFrame):
        made["who"] = made["who"].astype("Int64")  # pandas makes floats of integers with a gap
    source = open_source(made, identity="rows")
    assert source.identity == "rows"
    assert _found(source) == _EXPECTED
    with pytest.raises(ParameterError, match="identity="):
        open_source(made)


def test_a_lazy_frame_that_fails_says_no_value() -> None:
    lazy = pl.DataFrame({"x": ["1", "SECRET"]}).lazy().with_columns(pl.col("x").cast(pl.Int64))
    with pytest.raises(EngineError, match="the lazy frame cannot be computed") as caught:
        open_source(lazy, identity="rows")
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_texts_of_an_ibis_table_are_equal_by_their_bytes_alone() -> None:
    """Under a collation a row would find two partners in a public table, and a group have a private spelling."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TYPE size AS ENUM ('s', 'S')")
    connection.raw_sql("CREATE TABLE visits (city VARCHAR COLLATE nocase, size size)")
    connection.raw_sql("INSERT INTO visits VALUES ('a', 's'), ('A', 'S'), (NULL, NULL)")
    source = open_source(connection.table("visits"), identity="visits")
    known = pa.table({"city": ["a", "A"], "number": [1, 2]})
    for rows in (
        source.table,
        joined(source.engine, source.table, known, {"city": "city"}, {"number": "number"}, how="left"),
    ):
        for key in ("city", "size"):
            bounded = BoundedTable(source.engine, rows, Rows(), {key: Column(key)})
            assert [int(row["n"]) for row in opened(bounded.totals({"n": RowCount()}, 7))] == [1, 1, 1]
    connection.raw_sql("SET default_collation='nocase'")
    with pytest.raises(ParameterError, match="default_collation='nocase'"):
        open_source(connection.table("visits"), identity="visits")
    with pytest.raises(EngineError, match="could not answer"):
        list(source.engine.fetch(source.table))


def test_an_ibis_table() -> None:
    connection = ibis.duckdb.connect()
    assert _found(open_source(connection.create_table("rows", _ROWS), identity="rows")) == _EXPECTED
    with pytest.raises(ParameterError, match="'sqlite' are not supported"):
        open_source(ibis.sqlite.connect().create_table("rows", schema={"x": "int64"}), identity="rows")


def test_parquet_by_path_and_by_pattern(tmp_path: Path) -> None:
    assert _found(open_source(_parquet(tmp_path))) == _EXPECTED
    for part in range(4):
        pq.write_table(_ROWS.slice(part, 1), tmp_path / f"part{part}.parquet")
    assert _found(open_source(str(tmp_path / "part*.parquet"))) == _EXPECTED


@pytest.mark.parametrize("other", [pa.array([5]), pa.array(["7"]), pa.array([1.5]), None])
def test_c39_files_of_one_pattern_have_the_same_types(other: pa.Array | None, tmp_path: Path) -> None:
    """DuckDB casts to the types of the first file: one value that does not fit would make every question fail."""
    pq.write_table(pa.table({"who": [1], "x": pa.array([1], pa.int32())}), tmp_path / "a1.parquet")
    pq.write_table(pa.table({"who": [1], "y" if other is None else "x": other or [1]}), tmp_path / "a2.parquet")
    with pytest.raises(ParameterError, match="do not have the same columns of the same types"):
        open_source(str(tmp_path / "a*.parquet"))
    pq.write_table(pa.table({"x": pa.array([2], pa.int32()), "who": [2]}), tmp_path / "a2.parquet")
    assert open_source(str(tmp_path / "a*.parquet")).table.columns == ("who", "x")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("ticks", [2**62, -(2**62), 2**63 - 1, 1 - 2**63, 9_223_372_036_854_776])
def test_c41_a_garbled_time_of_a_frame_is_no_day(unit: str, zone: str | None, ticks: int) -> None:
    """DuckDB keeps microseconds, and fails on seconds that are too many of them, when it is opened or asked."""
    times = pa.array([0, ticks, None]).cast(pa.timestamp(unit, zone))
    spans = times.cast(pa.int64()).cast(pa.duration("us" if unit == "ns" else unit))
    source = open_source(pa.table({"day": times, "span": spans}), identity="rows")
    table = BoundedTable(source.engine, source.table, Rows(), {"day": Column("day")})
    found = {row["day"]: int(row["n"]) for row in opened(table.totals({"n": RowCount()}, 7))}
    assert found[date(1970, 1, 1)] == 1
    assert sum(found.values()) == 3
    if unit in ("s", "ms"):
        assert found == {date(1970, 1, 1): 1, None: 2}


def test_one_file_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _parquet(tmp_path)
    name = open_source(path).identity
    (tmp_path / "other name.parquet").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    spellings = [
        "rows.parquet",
        "./rows.parquet",
        f"../{tmp_path.name}/rows.parquet",
        "other name.parquet",
        "row[s].parquet",
    ]
    assert {open_source(spelling).identity for spelling in spellings} == {name}
    path.write_bytes(path.read_bytes() * 1)
    assert open_source(path).identity == name  # also when rows were added
    os.link(path, tmp_path / "hard link.parquet")
    for link in ("rows.parquet", "hard link.parquet"):
        with pytest.raises(ParameterError, match="several names"):
            open_source(link)
    assert open_source("hard link.parquet", identity="rows").identity == "rows"


def test_csv_rows_do_not_decide_how_they_are_read(tmp_path: Path) -> None:
    """A column is text until a number or a day is needed, so a garbled field is a missing value and nothing more."""
    path = tmp_path / "rows.csv"
    path.write_text('who,city,x,day\n1,Paris,1,2024-01-01\n1,"Paris",x,\n2,,2.5,2024-02-30\n,Lyon,3,1999-12-31\n')
    source = open_source(path)
    assert {str(of) for of in source.table.schema().types} == {"string"}
    assert _found(source) == {"Paris": (1, 1), None: (1, 3)}
    late = with_values(source.table, {"late": (col("day") >= date(2024, 1, 1)) & (col("x") < 2)})
    bounded = BoundedTable(source.engine, late, Rows(), {"late": Column("late")})
    assert {row["late"]: int(row["v"]) for row in opened(bounded.totals({"v": Values(Column("x"))}, 7))} == {
        True: 1,
        None: 0,
        False: 2,
    }


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_csv_separators_and_quotes(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    lines = [
        ["who", "city", '"x"'],
        ["1", f'"two{separator}\nlines ""x"""', "4"],
        ["1", "more", "8", "fields"],
        ["2"],
    ]
    path.write_text("\n".join(separator.join(line) for line in lines) + "\n", encoding="utf-8-sig")
    assert _found(open_source(path)) == {f'two{separator}\nlines "x"': (1, 4), "more": (1, 8)}


def _rows_of(path: Path) -> int:
    source = open_source(path)
    (row,) = opened(BoundedTable(source.engine, source.table, Rows(), {}).totals({"n": RowCount()}, 7))
    return int(row["n"])


@pytest.mark.parametrize(
    "bad", ['7,"a"\n', '7,"a\nb"\n', "7,a\r", "7,a\r\n", "7\n", "7,a,b\n", "\n", "7,\0\n", "7,\\\n"]
)
def test_one_bad_line_of_a_csv_file_hides_no_other(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{number},b\n" for number in range(5000)]
    path.write_bytes("".join(["who,city\n", *lines[:2500], bad, *lines[2500:]]).encode())
    assert _rows_of(path) - 5000 in (0, 1)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("bad", ["7,a\r", "7,a\r\r", "7,a\r\r\r", "\r\r", '7,"a"\r\r', '7,"\r\r"'])
def test_returns_change_no_field_of_another_line(bad: str, end: str, tmp_path: Path) -> None:
    """The next line would begin with what is left of them, and belong to somebody who does not exist."""
    path = tmp_path / "rows.csv"
    lines = [f"{number},b" for number in range(100, 200)]
    path.write_bytes(end.join(["who,city", *lines[:50], bad, *lines[50:], ""]).encode())
    source = open_source(path)
    table = BoundedTable(source.engine, source.table, Rows(), {"who": Column("who"), "city": Column("city")})
    found = {(row["who"], row["city"]) for row in opened(table.totals({"n": RowCount()}, 7))}
    assert {(str(number), "b") for number in range(100, 200)} <= found
    assert len(found) <= 101


@pytest.mark.parametrize("bad", ['7,"a\n', '"7,a\n', '7,a"\n', '7,"a"b\n', '7,"a""\n', '7,""a"\n'])
def test_c39_c46_a_quote_that_is_not_closed_hides_no_line(bad: str, tmp_path: Path) -> None:
    """It would take all lines up to the next quote, or to the end, for one field: refused, wherever it stands."""
    path = tmp_path / "rows.csv"
    for place in (1, 2500, 5000):
        lines = ["who,city\n", *(f'{number},"b"\n' if number % 2 else f"{number},b\n" for number in range(5000))]
        path.write_text("".join([*lines[:place], bad, *lines[place:]]))
        with pytest.raises(ParameterError, match=r"a quote in the file 'rows\.csv' is not closed, or"):
            open_source(path)


_FIELD = '("([^"]|"")*"|[^",\n]*)'
_WELL_FORMED = re.compile(f"{_FIELD}([,\n]{_FIELD})*")
"""The grammar of RFC 4180, as the reference."""


@given(st.text('a,"\n', max_size=12), st.integers(1, 4))
@settings(max_examples=200)
def test_quotes_are_read_as_the_grammar_says(content: str, chunk: int) -> None:
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_CHUNK", chunk)
        Path(file.name).write_text(content + "\n")
        if _WELL_FORMED.fullmatch(content + "\n"):
            assert csv_files.is_one_line_each(Path(file.name), ",") == ('"' not in content)
        else:
            with pytest.raises(ParameterError, match="not closed"):
                csv_files.is_one_line_each(Path(file.name), ",")


def test_lines_without_quotes_are_read_in_parallel_with_the_same_result(tmp_path: Path) -> None:
    """Larger than one reader takes, with lines that have too few or too many fields."""
    path = tmp_path / "rows.csv"
    block = "1,a\n2\n3,b,c\n\n4,\n" + 20 * "5,ddddddddddddddddddddddd\n"
    path.write_text("who,city\n" + 40_000 * block)
    assert csv_files.is_one_line_each(path, ",")
    in_one = path.with_name("quoted.csv")
    in_one.write_text('who,"city"\n' + 40_000 * block)
    assert not csv_files.is_one_line_each(in_one, ",")
    assert _rows_of(path) == _rows_of(in_one) == 40_000 * 23


def test_lines_of_a_quoted_field_are_no_rows(tmp_path: Path) -> None:
    """Wherever in a large file they stand: readers in parallel start in the midst of a field."""
    path = tmp_path / "rows.csv"
    path.write_text("who,note\n" + 10 * ('1,"' + 130_000 * "\n2,forged" + '"\n') + "3,last\n")
    assert _rows_of(path) == 11


def test_csv_keys_may_be_whole_numbers_or_days(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "k,day\n1e60,9999-99-99\n9007199254740993,\n1,2024-01-01\n01,2024-01-01T10:00\n1.5,no day\n2,\nx,x\n"
    )
    source = open_source(path)
    for name, keys, expected in [
        ("k", pa.array([1, 2, 3]), {1: 2, 2: 1}),
        ("day", pa.array([date(2024, 1, 1)]), {date(2024, 1, 1): 2}),
        ("k", pa.array(["01", "x"]), {"01": 1, "x": 1}),
    ]:
        public = source.engine.upload(pa.table({name: keys}))
        bounded = BoundedTable(source.engine, source.table, Rows(), {name: Column(name)}, public)
        found = {row[name]: int(row["dither_distinct"]) for row in opened(bounded.distinct(Column("k"), 7))}
        assert found == expected
    public = source.engine.upload(pa.table({"k": [True]}))
    with pytest.raises(ParameterError, match="keys are of the kind of their column"):
        BoundedTable(source.engine, source.table, Rows(), {"k": Column("k")}, public)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("unnamed.csv", b"a,,c\n1,secret,3\n"),
        ("twice.csv", b"a,a\n1,secret\n"),
        ("latin.csv", "größe\nsecret\n".encode("latin-1")),
        ("rows.parquet", b"secret"),
        ("rows.json", b'{"x": "secret"}'),
    ],
)
def test_files_that_are_no_tables(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ParameterError, EngineError)) as caught:
        open_source(tmp_path / name)
    message = str(caught.value)
    assert "secret" not in message
    assert "\n" not in message
    assert "duckdb" not in message.lower()
    assert caught.value.__context__ is None


_BAD = [b"\xff", b"Z\xfcrich", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf"]


@pytest.mark.parametrize("quote", [b"", b'"'], ids=["bare", "quoted"])
@pytest.mark.parametrize("bad", _BAD)
def test_c39_rows_of_another_encoding_are_in_no_question(bad: bytes, quote: bytes, tmp_path: Path) -> None:
    """Whichever columns a question reads, and the other rows are as they were."""
    path = tmp_path / "rows.csv"
    rows = [b"1,Paris,1", b"1," + quote + bad + quote + b",2", "2,Zürich,3".encode(), b"3,Paris," + bad, b"4,Paris,7"]
    path.write_bytes(b"who,city,x\n" + b"\n".join(rows) + b"\n")
    source = open_source(path)
    for name, expected in (("who", ["1", "2", "4"]), ("city", ["Paris", "Zürich", "Paris"]), ("x", ["1", "3", "7"])):
        table = BoundedTable(source.engine, source.table, Rows(), {name: Column(name)})
        found = {row[name]: int(row["n"]) for row in opened(table.totals({"n": RowCount()}, 7))}
        assert found == {value: expected.count(value) for value in expected}
    assert _rows_of(path) == 3


@given(st.binary(max_size=8), st.integers(1, 4))
def test_a_file_is_utf8_if_python_can_decode_it(content: bytes, chunk: int) -> None:
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_CHUNK", chunk)
        Path(file.name).write_bytes(content)
        assert csv_files.is_utf8(Path(file.name)) == (content.decode(errors="ignore").encode() == content)


def test_wrong_sources() -> None:
    for source, words in [
        ("no such file.csv", "no file is found"),
        ("mysql://host/database", "databases are PostgreSQL"),
        (object(), "a source is a path"),
        (pd.Series([1]), "a source is a path"),
        (pd.DataFrame({0: [1]}), "texts as names"),
        (pa.table({}), "one or more columns"),
        (pa.table({"x": [1], "X": [1]}), "upper and lower case"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "each with a name of its own"),
        ([1], "a source is a path or a list of paths"),
        ([], "a source is a path or a list of paths"),
    ]:
        with pytest.raises(ParameterError, match=words):
            open_source(source, "rows" if isinstance(source, str) and "://" in source else None, identity="rows")
    with pytest.raises(ParameterError, match="needs table="):
        open_source("postgresql://host/database")
    with pytest.raises(ParameterError, match=r"table=\.\.\. goes with"):
        open_source(_ROWS, table="rows", identity="rows")
    with pytest.raises(ParameterError, match="values of different types") as caught:
        open_source(pd.DataFrame({"x": [1, "secret"]}), identity="rows")
    assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match="or too large for it"):
        open_source(pd.DataFrame({"x": [1, 2**70]}), identity="rows")
    with pytest.raises(ParameterError, match=r"no column of the table enters\. column 'x' has the type halffloat"):
        open_source(pa.table({"x": pa.array([1.0], pa.float16())}), identity="rows")


def test_a_header_of_names_that_differ_by_case_is_refused_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("amount,Amount\n1,2\n")
    with pytest.raises(ParameterError, match="'Amount' and 'amount' differ in upper and lower case only"):
        open_source(tmp_path / "rows.csv")


def test_a_folder_is_named_by_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "pq").mkdir()
    with pytest.raises(ParameterError, match=r"is a folder\. Name its files by a pattern, such as .*/pq/\*\.parquet'"):
        open_source(tmp_path / "pq")


def test_a_list_of_files_is_the_source_that_a_pattern_is(tmp_path: Path) -> None:
    paths = [tmp_path / f"part{part}.parquet" for part in range(4)]
    for part, path in enumerate(paths):
        pq.write_table(_ROWS.slice(part, 1), path)
    whole = open_source(tmp_path / "part*.parquet")
    for listed in (paths, tuple(reversed(paths)), [str(tmp_path / "part[01]*"), *paths]):
        source = open_source(listed)
        assert (source.identity, source.parts) == (whole.identity, whole.parts)
        assert _found(source) == _EXPECTED
    with pytest.raises(ParameterError, match="no file is found at 'nowhere"):
        open_source([*paths, "nowhere.parquet"])


def test_a_database_by_any_spelling(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (who bigint, city char(7), x numeric, day timestamptz)")
        connection.execute(
            "INSERT INTO visits VALUES (1, 'Paris', 1, 'infinity'), (1, NULL, 2, '2024-02-29 23:00-05'), "
            "(2, 'Paris', 'NaN', NULL), (NULL, 'Lyon', '1e400', NULL)"
        )
        connection.execute("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        connection.execute('CREATE TABLE loose_texts (city text COLLATE "loose")')
    source = open_source(postgres_url, "visits")
    assert _found(source) == _EXPECTED
    others = [
        open_source(postgres_url.replace("127.0.0.1", "localhost"), "public.visits"),
        open_source(postgres_url.replace("postgresql:", "postgres:"), "visits"),
    ]
    assert {other.identity for other in others} == {source.identity}
    assert source.identity.endswith("/postgres/public.visits")
    days = BoundedTable(source.engine, source.table, Rows(), {"day": Column("day")})
    assert {row["day"]: int(row["v"]) for row in opened(days.totals({"v": Values(Column("x"))}, 7))} == {
        None: 2,  # an infinite time is no day; NaN is no value
        date(2024, 3, 1): 1,
    }
    with pytest.raises(ParameterError, match="different texts are equal"):
        open_source(postgres_url, "loose_texts")
    theirs = ibis.connect(postgres_url)
    with pytest.raises(ParameterError, match="an Ibis table does not tell"):
        open_source(theirs.table("loose_texts"), identity="visits")
    theirs.disconnect()
    with pytest.raises(EngineError, match="cannot be opened"):
        open_source(postgres_url, "no_such_table")
    with pytest.raises(EngineError, match="cannot be opened") as caught:
        open_source("postgresql://dither:hunter2@127.0.0.1:1/postgres", "visits")
    assert "hunter2" not in str(caught.value)
    for each in (source, *others):
        each.engine.backend.disconnect()
    with pytest.raises(EngineError, match="PostgreSQL could not answer"):
        _found(source)


def test_persons_of_a_database_may_be_uuids(postgres_engine: Any) -> None:
    connection = postgres_engine.backend.con
    connection.execute("CREATE TABLE badges (who uuid, k date, x real)")
    connection.execute(
        "INSERT INTO badges SELECT md5((i % 3)::text)::uuid, CASE WHEN i % 2 = 0 THEN date '2024-01-01' END, i "
        "FROM generate_series(1, 60) AS i"
    )
    table, _ = postgres_engine.table("badges")
    entered = postgres_engine.sealed(table).table
    bounded = BoundedTable(postgres_engine, entered, Person("who", 1, 2), {"k": Column("k")})
    rows = opened(bounded.bins(Column("x"), FloatBins(0.0, 60.0, 4, 1), 7))
    assert sum(row["dither_rows"] for row in rows) == 3 * 2
    assert sum(int(row["n"]) for row in opened(bounded.totals({"n": RowCount()}, 7))) == 3 * 2


def test_a_database_is_only_read(postgres_engine: Any) -> None:
    connection = postgres_engine.backend.con
    connection.execute("CREATE TABLE written (x bigint)")
    connection.execute(
        "CREATE FUNCTION write_one() RETURNS bigint LANGUAGE sql AS 'INSERT INTO written VALUES (1) RETURNING x'"
    )
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        list(postgres_engine._batches("SELECT write_one() AS x", pa.schema({"x": pa.int64()})))
    assert connection.execute("SELECT count(*) FROM written").fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_c39_spark_logs_no_value(spark: Any) -> None:
    """PySpark's own loggers would repeat the message of a failed query; they do for others, and again after ours."""
    from pyspark.logger import PySparkLogger

    source = open_source(spark.createDataFrame(pa.table({"x": ["a secret"]})), identity="rows")
    failing = source.table.mutate(x=source.table["x"].cast("int64"))
    logger, said = PySparkLogger.getLogger("SQLQueryContextLogger"), io.StringIO()
    handler = logging.StreamHandler(said)
    logger.addHandler(handler)
    try:
        with pytest.raises(EngineError):
            list(source.engine.fetch(failing))
        assert said.getvalue() == ""
        with pytest.raises(Exception, match="a secret"):
            spark.sql("SELECT CAST('a secret' AS BIGINT)").toArrow()
        assert "a secret" in said.getvalue()
    finally:
        logger.removeHandler(handler)


@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_spark_by_session_and_by_frame(spark: Any) -> None:
    frame = spark.createDataFrame(_ROWS)
    assert _found(open_source(frame, identity="rows")) == _EXPECTED
    frame.createOrReplaceTempView("visits")
    source = open_source(spark, "visits")
    assert source.identity == "spark:visits"
    assert open_source(spark, "VISITS").identity == source.identity
    assert _found(source) == _EXPECTED
    with pytest.raises(EngineError, match="cannot be opened"):
        open_source(spark, "no_such_table")
    loose = spark.sql("SELECT 'a' COLLATE UTF8_LCASE AS city")
    loose.createOrReplaceTempView("loose_texts")
    for name, data in ((None, loose), ("loose_texts", spark)):
        with pytest.raises(ParameterError, match="different texts are equal"):
            open_source(data, name, identity="visits")
    with pytest.raises(ParameterError, match="needs table="):
        open_source(spark)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(ParameterError, match="wrap around"):
            open_source(spark, "visits")
        with pytest.raises(EngineError, match="Spark could not answer"):
            _found(source)  # also when it is switched off later
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
