"""Spark: every type it has enters by a total expression or is refused by name, whatever a row holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.errors import ParameterError
from dither.tables import BoundedTable, Column, Lattice, RowCount, Sum, Values, open_source
from dither.unit import Person, Rows
from tests.tables.asking import opened

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

_ROOT = Path(__file__).parents[2]
_ENTER = {
    "byte": ["1Y", "-128Y", "127Y"],
    "short": ["1S", "-32768S", "32767S"],
    "integer": ["1", "-2147483648", "2147483647"],
    "long": ["1L", "-9223372036854775807L - 1L", "9223372036854775807L"],
    "float": ["1F", "float('nan')", "float('-infinity')", "float('1e-45')", "float('3.4028235e38')", "-0.0F"],
    "double": ["1D", "double('nan')", "double('infinity')", "4.9e-324D", "1.7976931348623157e308D", "-0.0D"],
    "decimal": [f"cast('{digits}' as decimal(38, 0))" for digits in ("1", "9" * 38, "-" + "9" * 38)],
    "string": [
        "'a'",
        *(f"cast({of} as string)" for of in ("X'636166E9'", "X'FF'", "X'00'", "''")),
        *(f"repeat('x', {length})" for length in (16_384, 16_385, 10**6)),
    ],
    "binary": [
        "X'61'",
        "X'FF'",
        "X''",
        *(f"cast(repeat('x', {length}) as binary)" for length in (8_192, 8_193, 10**6)),
    ],
    "boolean": ["true", "false"],
    "date": [f"date_add(date'1970-01-01', {days})" for days in (1, 2147483647, -2147483648, -800_000, 3_000_000)],
    "timestamp": [f"timestamp_micros({of})" for of in ("1L", "9223372036854775807L", "-9223372036854775807L - 1L")],
    "timestamp_ntz": [
        f"cast(timestamp_micros({of}) as timestamp_ntz)"
        for of in ("1L", "9223372036854775807L", "-9223372036854775807L")
    ],
}
"""Of each type that enters, a plain value and hostile ones."""
_REFUSED = {
    "interval": "make_interval(1, 1, 1)",
    "daytimeinterval": "interval 1 day",
    "yearmonthinterval": "interval 1 year",
    "array": "array(1)",
    "map": "map(1, 2)",
    "struct": "struct(1)",
    "variant": "parse_json('1')",
    "void": "null",
    "time": "time'12:00:00'",
    "geometry": "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')",
}


def _source(spark: Any, *values: str) -> Any:
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values))
    return open_source(spark.sql(f"SELECT * FROM VALUES {rows} AS rows (n, c)"), identity="rows")


def test_each_type_is_listed_or_refused(spark: Any) -> None:
    from dither.tables.database_engines.spark import Spark

    assert set(Spark.column_types) == set(_ENTER)
    for name, value in _REFUSED.items():
        source = _source(spark, value)  # also where Ibis has no word for the type
        assert source.columns == ["n"]
        with pytest.raises(ParameterError, match=f"column 'c' has the type {name}, which does not enter"):
            source.check("c")


@pytest.mark.parametrize("of", _ENTER)
def test_e63_no_value_makes_spark_fail(of: str, spark: Any) -> None:
    plain, *hostile = _ENTER[of]
    source = _source(spark, plain, plain, *hostile)
    size = 2 + len(hostile)

    def total(rows: list[dict[str, Any]]) -> int:
        return sum(int(row["n"]) for row in rows)

    everybody = BoundedTable(source.engine, source.table, Rows(), {})
    assert total(opened(everybody.totals({"n": RowCount()}, 7))) == size
    if source.table["c"].type().is_floating():
        values: Any = {"n": Values(Column("c")), "s": Sum(Column("c"), Lattice.within((0, 1 << 20), from_zero=True))}
        assert 2 <= total(opened(everybody.totals(values, 7))) <= size
    else:
        groups = BoundedTable(source.engine, source.table, Rows(), {"c": Column("c")})
        assert total(opened(groups.totals({"n": RowCount()}, 7))) == size
    if of not in ("float", "double"):  # which tell no persons apart
        persons = BoundedTable(source.engine, source.table, Person("c", 1, 1), {})
        (row,) = opened(persons.totals({"n": RowCount()}, 7))
        # Of other years, too long or, of texts, not UTF-8: nobody.
        outside = {"date": len(hostile), "string": 4, "binary": 2}.get(of, 0)
        assert int(row["n"]) == 1 + len(hostile) - outside  # the plain value is one person with two rows


def test_e63_a_text_that_is_not_utf8_is_no_key(spark: Any) -> None:
    source = _source(spark, "'a'", "cast(X'636166E9' as string)", "cast(X'636166E8' as string)")
    table = BoundedTable(source.engine, source.table, Rows(), {"c": Column("c")})
    found = {row["c"]: int(row["n"]) for row in opened(table.totals({"n": RowCount()}, 7))}
    assert found == {"a": 1, None: 2}


@pytest.fixture
def rebasing(spark: Any) -> Iterator[Any]:
    """What sets how dates of the old calendar are read."""
    name = "spark.sql.parquet.datetimeRebaseModeInRead"
    before = spark.conf.get(name)
    yield lambda mode: spark.conf.set(name, mode)
    spark.conf.set(name, before)


def test_e63_what_the_reader_of_a_file_fails_on_is_refused_when_the_table_is_opened(
    spark: Any, rebasing: Any, tmp_path: Path
) -> None:
    """It failed after the charge, wherever filters let Spark read the part of the file in which such a row lies."""
    columns = {"beyond": pa.array([0, 1 << 62], pa.timestamp("ms")), "old": pa.array([0, -800_000], pa.date32())}
    for name, column in columns.items():
        pq.write_table(pa.table({"n": [0, 1], "c": column}), tmp_path / name)
    frames = {name: spark.read.parquet(str(tmp_path / name)) for name in columns}
    frames["old"].createOrReplaceTempView("old")
    with pytest.raises(ParameterError, match="Spark cannot read all rows of the table"):
        open_source(frames["beyond"], identity="rows")
    assert open_source(frames["beyond"].select("n"), identity="rows").columns == ["n"]
    assert open_source(spark, "old").columns == ["n", "c"]
    rebasing("EXCEPTION")
    for source in ((frames["old"], None, "rows"), (spark, "old", None)):
        with pytest.raises(ParameterError, match="Spark cannot read all rows of the table"):
            open_source(*source)


@pytest.fixture
def limited(spark: Any) -> Iterator[Any]:
    """What sets how much the driver may collect from one job: each job asks for it anew."""
    conf, name = spark.sparkContext._jsc.sc().conf(), "spark.driver.maxResultSize"
    before = conf.get(name, "1g")
    yield lambda size: conf.set(name, size)
    conf.set(name, before)


def test_e63_groups_beyond_what_the_driver_collects_at_once_come_in_pieces(spark: Any, limited: Any) -> None:
    """The number of groups, and how long their names are, made Spark fail after the charge."""
    long = "concat(lpad(cast(id as string), 8, '0'), repeat('x', 16376))"
    frame = spark.sql(f"SELECT {long} AS c FROM range(2500) UNION ALL SELECT {long} AS c FROM range(7)")
    source = open_source(frame, identity="rows")
    limited("16m")
    table = BoundedTable(source.engine, source.table, Rows(), {"c": Column("c")})
    found = [(row["c"][:8], int(row["n"])) for row in opened(table.totals({"n": RowCount()}, 7))]
    assert sorted(found) == [(f"{at:08}", 2 if at < 7 else 1) for at in range(2500)]
    limited("0")
    assert len(opened(table.totals({"n": RowCount()}, 7))) == 2500


def test_a_session_that_collects_hardly_anything_is_refused(spark: Any, limited: Any) -> None:
    source = _source(spark, "'a'")
    limited("15m")
    with pytest.raises(ParameterError, match="maxResultSize=15m, so nothing was charged"):
        source.engine.ready()
    with pytest.raises(ParameterError, match="maxResultSize=15m"):
        _source(spark, "'a'")


def test_two_times_of_one_text_are_two_persons(spark: Any) -> None:
    """In the hour that the end of summer time repeats, two instants have one text."""
    moments = [1730611800, 1730611800 + 3600]  # 3 November 2024 in New York, 01:30, twice
    source = _source(spark, *(f"timestamp_seconds({moment})" for moment in moments))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # Ibis has set it to UTC
    try:
        table = BoundedTable(source.engine, source.table, Person("c", 1, 1), {})
        (row,) = opened(table.totals({"n": RowCount()}, 7))
        assert int(row["n"]) == 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


_AS_A_USER = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tests.docs import pages

page = Path(sys.argv[1])
assert pages.run(page.read_text(), page) == 2
session = SparkSession.builder.getOrCreate()
assert session.conf.get("spark.sql.ansi.enabled") == "true"
assert session.conf.get("spark.sql.ansi.enabled", "false") == "false"  # nobody has set it
"""


def test_the_page_about_spark_as_a_user_runs_it(tmp_path: Path) -> None:
    """A session of Spark's own defaults, in a process of its own: ANSI mode is on there without being set."""
    page = _ROOT / "docs" / "howto" / "spark.md"
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", _AS_A_USER, str(page)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
