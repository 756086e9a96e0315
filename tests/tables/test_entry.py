"""The sealed entry: what each type of DuckDB enters as, that other types stay outside, and that no two persons merge.

What PostgreSQL and Spark hold is tried beside these engines' own tests; here stands what all of them share.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.tables import BoundedTable, Column, FloatBins, Lattice, People, Source, Sum, col, open_source
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.unit import Person
from tests.tables.asking import asked, opened

_ENGINES = Path(__file__).parents[2] / "docs" / "engines.md"
_BIG, _SMALL = 1e100, 1e-100

DUCKDB: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "TINYINT": ("int32", [("-128", -128), ("127", 127)]),
    "SMALLINT": ("int32", [("-32768", -32768), ("32767", 32767)]),
    "INTEGER": ("int32", [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    "BIGINT": ("int64", [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)]),
    "UTINYINT": ("int32", [("0", 0), ("255", 255)]),
    "USMALLINT": ("int32", [("0", 0), ("65535", 65535)]),
    "UINTEGER": ("int64", [("0", 0), ("4294967295", 2**32 - 1)]),
    "UBIGINT": ("float64", [("0", 0.0), ("18446744073709551615", 2.0**64)]),
    "HUGEINT": ("float64", [("-170141183460469231731687303715884105728", -(2.0**127)), ("1", 1.0)]),
    "UHUGEINT": ("float64", [("0", 0.0), ("340282366920938463463374607431768211455", 2.0**128)]),
    "DECIMAL(38,38)": ("float64", [("0.00000000000000000000000000000000000001", 1e-38), ("-0.5", -0.5)]),
    "DECIMAL(38,0)": ("float64", [("99999999999999999999999999999999999999", 1e38), ("-1", -1.0)]),
    "FLOAT": (
        "float64",
        [("'nan'", None), ("'inf'", _BIG), ("'-inf'", -_BIG), ("'1e-45'", 1.401298464324817e-45), ("'-0'", 0.0)],
    ),
    "DOUBLE": (
        "float64",
        [
            ("'nan'", None),
            ("'-nan'", None),
            ("'inf'", _BIG),
            ("'-inf'", -_BIG),
            ("1.7976931348623157e308", _BIG),
            ("-1.7976931348623157e308", -_BIG),
            ("1.0000000000000002e100", _BIG),
            ("1e100", _BIG),
            ("9.9e99", 9.9e99),
            ("5e-324", 0.0),
            ("-1e-300", 0.0),
            ("9.9e-101", 0.0),
            ("1e-100", _SMALL),
            ("-1e-100", -_SMALL),
            ("-0.0", 0.0),
            ("-2.5", -2.5),
        ],
    ),
    "VARCHAR": (
        "string",
        [
            ("''", ""),
            ("'ä'", "ä"),
            ("chr(0)", "\x00"),
            ("repeat('x', 16384)", "x" * 16_384),
            ("repeat('x', 16385)", None),
            ("repeat('ä', 8192)", "ä" * 8_192),
            ("repeat('ä', 8193)", None),
            ("repeat('x', 1000000)", None),
        ],
    ),
    "ENUM('a', 'B')": ("string", [("'a'", "a"), ("'B'", "B")]),
    "UUID": ("string", [("'00000000-0000-0000-0000-000000000000'", "00000000-0000-0000-0000-000000000000")]),
    "BLOB": (
        "string",
        [
            ("'\\xFF\\x00'", "FF00"),
            ("''", ""),
            ("encode(repeat('x', 8192))", "78" * 8_192),
            ("encode(repeat('x', 8193))", None),
            ("encode(repeat('x', 1000000))", None),
        ],
    ),
    "BOOLEAN": ("boolean", [("true", True), ("false", False)]),
    "DATE": (
        "date",
        [
            ("'0001-01-01'", date(1, 1, 1)),
            ("'9999-12-31'", date(9999, 12, 31)),
            ("'10000-01-01'", None),
            ("'0001-12-31 (BC)'", None),
            ("'5877642-06-25 (BC)'", None),
            ("'5881580-07-10'", None),
            ("'infinity'", None),
            ("'-infinity'", None),
        ],
    ),
    "TIMESTAMP": (
        "timestamp",
        [
            ("'2024-02-29 23:59:59.999999'", datetime(2024, 2, 29, 23, 59, 59, 999999)),
            ("'1969-12-31 00:00:00.000001'", datetime(1969, 12, 31, 0, 0, 0, 1)),
            ("'294247-01-10 04:00:54.775806'", None),
            ("'290309-12-22 (BC) 00:00:00'", None),
            ("'infinity'", None),
            ("'-infinity'", None),
        ],
    ),
    "TIMESTAMP_S": (
        "timestamp",
        [("'2024-02-29 23:59:59'", datetime(2024, 2, 29, 23, 59, 59)), ("'infinity'", None)],
    ),
    "TIMESTAMP_MS": (
        "timestamp",
        [("'2024-02-29 23:59:59.999'", datetime(2024, 2, 29, 23, 59, 59, 999000)), ("'-infinity'", None)],
    ),
    "TIMESTAMP_NS": (
        "timestamp",
        [("'2024-02-29 23:59:59.999999'", datetime(2024, 2, 29, 23, 59, 59, 999999)), ("'infinity'", None)],
    ),
    "TIMESTAMP WITH TIME ZONE": (
        "timestamp",
        [
            ("'2024-02-29 23:59:59+00'", datetime(2024, 2, 29, 23, 59, 59)),
            ("'294247-01-10 04:00:54.775806+00'", None),
            ("'290309-12-22 (BC) 00:00:00+00'", None),
            ("'infinity'", None),
            ("'-infinity'", None),
        ],
    ),
}
"""What is stored, and what must enter: the ends of each type, and what lies beyond those of its kind."""

OUTSIDE = {
    "INTEGER[]": "[1]",
    "INTEGER[2]": "[1, 2]",
    "ENUM('a')[]": "['a']",
    "STRUCT(a INTEGER)": "{'a': 1}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "UNION(n INTEGER)": "1",
    "INTERVAL": "INTERVAL 1 DAY",
    "TIME": "'12:00'",
    "TIME WITH TIME ZONE": "'12:00:00+00'",
    "BIT": "'101'",
    "BIGNUM": "'1'",
    "JSON": "'{}'",
}
"""Types of DuckDB without an expression."""


def _duckdb(of: str, stored: list[str]) -> Source:
    own: Any = ibis.duckdb.connect()
    own.raw_sql("SET TimeZone='UTC'")
    own.raw_sql(f"CREATE TABLE held (n INTEGER, v {of})")
    for index, value in enumerate(stored):
        own.raw_sql(f"INSERT INTO held VALUES ({index}, CAST({value} AS {of}))")
    return open_source(own.table("held"), identity="held")


@pytest.mark.parametrize("of", DUCKDB)
def test_what_each_type_of_duckdb_enters_as(of: str) -> None:
    """Each on its own and all together: of one canonical type, whatever is stored."""
    canonical, cases = DUCKDB[of]
    source = _duckdb(of, [*(stored for stored, _ in cases), "NULL"])
    rows = [row for batch in source.engine.fetch(source.table.select("n", "v")) for row in batch.to_pylist()]
    assert str(source.table["v"].type()) == canonical
    assert {row["n"]: row["v"] for row in rows} == dict(enumerate([*(enters for _, enters in cases), None]))
    assert not any(str(row["v"]) == "-0.0" for row in rows)


def test_every_listed_type_of_duckdb_has_a_case() -> None:
    assert {of.partition("(")[0] for of in DUCKDB} == set(DuckDB.column_types)


def test_every_type_that_duckdb_knows_is_listed_or_stays_outside() -> None:
    """A new version of DuckDB with a new type has to be thought of here, though it is refused all the same."""
    known = {
        name for (name,) in DuckDB().backend.con.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    }
    not_columns = {"NULL", "TUPLE", "TYPE", "VARIANT", "GEOMETRY", "TIME_NS", "TIMESTAMPTZ_NS", "LIST", "ARRAY"}
    assert known - set(DuckDB.column_types) - not_columns <= {of.partition("(")[0] for of in OUTSIDE}


@pytest.mark.parametrize("of", OUTSIDE)
def test_a_type_that_is_not_listed_does_not_enter(of: str, tmp_path: Path) -> None:
    """By the name of the column and of the type, free of charge; the rest of the table can be asked."""
    source = _duckdb(of, [OUTSIDE[of]])
    assert source.columns == ["n"]
    assert list(source.refused) == ["v"]
    own: Any = source.engine.backend
    with dp.Dataset(
        own.table("held"), unit=dp.Rows(), budget=dp.PureDP(1), ledger=tmp_path / "held.ledger", identity="held"
    ) as data:
        assert data.columns["v"] == source.refused["v"]
        v, name = dp.col("v"), re.escape(f"column 'v' has the type {source.refused['v']}, which does not enter")
        mentions: list[Callable[[], Any]] = [
            lambda: data.where(v == 1),
            lambda: data.where((dp.col("n") > 0) | v.is_null()),
            lambda: data.with_columns(w=v),
            lambda: data.with_columns(w=dp.if_else(dp.col("n") > 0, v, 1)),
            lambda: data.group_by("v"),
            lambda: data.group_by(dp.bins("v", [0, 1, 2])),
            lambda: data.sum("v", bounds=(0, 1), epsilon=1),
            lambda: data.median("v", bounds=(0, 1), epsilon=1),
            lambda: data.top("v", 1, ["a"], epsilon=1),
            lambda: data.join(pa.table({"v": ["a"], "w": [1]}), on="v"),
        ]
        for mention in mentions:
            with pytest.raises(ParameterError, match=name):
                mention()
        assert data.with_columns(v=dp.col("n")).columns == {"n": "whole", "v": "whole"}
        assert data.spent["epsilon"] == 0
        data.count(epsilon=1)
    with pytest.raises(ParameterError, match=name):
        dp.Dataset(
            own.table("held"),
            unit=dp.Person("v", 1, 1),
            budget=dp.PureDP(1),
            ledger=tmp_path / "held.ledger",
            identity="held",
        )


def test_a_table_of_which_nothing_enters_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"no column of the table enters. column 'v' has the type INTEGER\[\]"):
        open_source(_duckdb("INTEGER[]", []).engine.backend.table("held").select("v"), identity="held")


_CLOSE = {
    "TIMESTAMP": ["'2024-01-01 10:00'", "'2024-01-01 10:00:00.000001'"],
    "TIMESTAMP WITH TIME ZONE": ["'2024-01-01 10:00+00'", "'2024-01-01 11:00+00'"],
    "TIMESTAMP_S": ["'2024-01-01 10:00:00'", "'2024-01-01 10:00:01'"],
    "TIMESTAMP_MS": ["'2024-01-01 10:00:00.001'", "'2024-01-01 10:00:00.002'"],
    "TIMESTAMP_NS": ["'2024-01-01 10:00:00.000000001'", "'2024-01-01 10:00:00.000000002'"],
    "DECIMAL(38,0)": ["9007199254740992", "9007199254740993"],
    "UBIGINT": ["18446744073709551615", "18446744073709551614"],
    "HUGEINT": ["170141183460469231731687303715884105727", "170141183460469231731687303715884105726"],
    "UHUGEINT": ["340282366920938463463374607431768211455", "340282366920938463463374607431768211454"],
    "BIGINT": ["9007199254740992", "9007199254740993"],
    "VARCHAR": ["'a'", "'A'", "'a '", "''"],
    "BLOB": ["'\\x0A'", "'\\xA0'", "''"],
    "DATE": ["'0001-01-01'", "'9999-12-31'"],
}


@pytest.mark.parametrize("of", _CLOSE)
def test_persons_that_enter_as_one_value_stay_apart(of: str) -> None:
    """Two persons who became one would share limits that are meant for each: one of them could move twice as much."""
    source = _duckdb(of, _CLOSE[of])
    unit = Person("v", max_groups=1, max_rows_per_group=1)
    (row,) = opened(BoundedTable(source.engine, source.table, unit, {}).totals({"p": People()}, 7))
    assert row["p"] == len(_CLOSE[of])


def test_persons_stay_apart_through_every_step(tmp_path: Path) -> None:
    """Also behind filters, new columns, joins and `per_person`, where the column is carried along."""
    source = _duckdb("UBIGINT", ["18446744073709551615", "18446744073709551614", "18446744073709551614"])
    with dp.Dataset(
        source.engine.backend.table("held"),
        unit=dp.Person("v", 1, 1),
        budget=dp.PureDP(10**9),
        ledger=tmp_path / "held.ledger",
        identity="held",
    ) as data:
        asked = data.where(dp.col("n") >= 0).with_columns(m=dp.col("n") * 2)
        asked = asked.join(pa.table({"n": [0, 1, 2], "w": [1.0, 2.0, 3.0]}), on="n")
        assert "v" in asked.columns
        assert asked.count_people(epsilon=10**6).value == 2
        each = asked.per_person(rows=dp.count())
        assert each.columns == {"v": "real", "rows": "whole"}
        assert each.count(epsilon=10**6).value == 2
        assert each.where(dp.col("rows") == 2).count(epsilon=10**6).value == 1


def test_e61_a_number_too_small_to_divide_enters_as_zero(engine: Engine) -> None:
    """PostgreSQL fails on a quotient that underflows: whether it failed told whether the row was among the matching."""
    tiny = [5e-324, 1e-310, 1e-300, -1e-200, 9.9e-101, 0.0]
    table = pa.table({"who": range(len(tiny)), "x": tiny})
    wide = Lattice.within((0, "1e40"), from_zero=True)
    widest = FloatBins(-1e100, 1e100, 292, 16)
    rows = engine.upload(table)
    bounded = BoundedTable(engine, rows, Person("who", 1, 1), {})
    assert opened(bounded.totals({"s": Sum(Column("x"), wide)}, 7)) == [{"s": 0}]
    assert opened(bounded.bins(Column("x"), widest, 7)) == [{"dither_bin": 0, "dither_rows": len(tiny)}]
    new = {"d": col("x") / 1e100, "p": col("x") * 1e-100, "q": 1e100 / col("x")}
    measures = {name: Sum(Column(name), wide) for name in new}
    assert asked(engine, table, measures, new=new) == {(): (0, 0, 0)}


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_the_page_about_engines_lists_the_types(name: str) -> None:
    """The same table in the code and in the documentation; that of PostgreSQL has a test of its own."""
    engine: Any = DuckDB
    if name == "spark":
        engine = pytest.importorskip("dither.tables.database_engines.spark").Spark
    lines = [
        line.split("|")[1:-1] for line in _ENGINES.read_text().splitlines() if line.startswith(f"| {engine.name} |")
    ]
    documented = {of: cells[2].strip() for cells in lines for of in re.findall("`([^`]+)`", cells[1])}
    assert documented == {of: entering.kind for of, entering in engine.column_types.items()}
    exact = {of: cells[4].strip() != cells[3].strip() for cells in lines for of in re.findall("`([^`]+)`", cells[1])}
    assert all(exact[of] for of, entering in engine.column_types.items() if entering.identify is not None)
