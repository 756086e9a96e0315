"""An Ibis table of somebody's own DuckDB connection: base tables only, by DuckDB's own catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.tables import open_source


def _parquet(folder: Path) -> str:
    """A file with a text that is not UTF-8, which pyarrow writes without complaint."""
    path = folder / "visits.parquet"
    texts = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"who": [1, 2], "city": texts}), path)
    return str(path)


def _of_csv(own: Any, folder: Path) -> Any:
    (folder / "visits.csv").write_text("who,city\n1,a\n")
    return own.read_csv(str(folder / "visits.csv"))


def _query(own: Any, text: str) -> Any:
    """As `own.sql` makes it."""
    return ops.SQLQueryResult(text, ibis.schema({"who": "int64"}), own).to_expr()


def _attached(own: Any, folder: Path) -> Any:
    """A view inside of another file of DuckDB."""
    own.raw_sql(f"ATTACH '{folder / 'other.duckdb'}' AS other")
    own.raw_sql("CREATE VIEW other.main.seen AS SELECT 1 AS who")
    return own.table("seen", database=("other", "main"))


def _generated(own: Any, folder: Path) -> Any:
    own.raw_sql("CREATE TABLE made (city VARCHAR, who INTEGER GENERATED ALWAYS AS (CAST(city AS INTEGER)))")
    return own.table("made")


def _shadowed(own: Any, folder: Path) -> Any:
    """A view of the session stands before a table of the same name."""
    own.raw_sql("CREATE TABLE visits (who INTEGER)")
    found = own.table("visits")
    own.raw_sql(f"CREATE TEMP VIEW visits AS SELECT who FROM read_parquet('{_parquet(folder)}')")
    return found


def _of_python(own: Any, folder: Path) -> Any:
    """A name that is no relation of the catalogue: DuckDB takes it for a variable of Python."""
    return ops.DatabaseTable("_VARIABLE", ibis.schema({"who": "int64"}), own).to_expr()


_VARIABLE = pa.table({"who": [1]})


def _not_stored(own: Any, folder: Path) -> Any:
    """A table of a database that another program stores, as the catalogue says: no extension is here to attach one."""
    own.raw_sql("CREATE TABLE visits (who INTEGER)")
    found = own.table("visits")
    own.raw_sql("CREATE MACRO duckdb_databases() AS TABLE SELECT 'memory' AS database_name, 'sqlite' AS type")
    return found


_REFUSED: dict[str, Callable[[Any, Path], Any]] = {
    "a view of a Parquet file": lambda own, folder: own.read_parquet(_parquet(folder)),
    "a view of a CSV file": _of_csv,
    "a query": lambda own, folder: _query(own, f"SELECT who FROM read_parquet('{_parquet(folder)}')"),
    "a frame": lambda own, folder: ibis.memtable(pa.table({"who": [1]})),
    "a view of another file": _attached,
    "a variable of Python": _of_python,
    "a table of another program": _not_stored,
    "a generated column": _generated,
    "a table behind a view": _shadowed,
    "a join with a view": lambda own, folder: own.create_table("own", pa.table({"who": [1]})).join(
        own.read_parquet(_parquet(folder)), "who"
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_e63_only_base_tables_of_an_own_connection_are_taken(name: str, tmp_path: Path) -> None:
    """A text that is not UTF-8 in a file behind a view decided whether a question failed after its charge."""
    table = _REFUSED[name](ibis.duckdb.connect(), tmp_path)
    with pytest.raises(ParameterError, match="only base tables are taken"):
        open_source(table, identity="visits")


def test_tables_of_every_schema_are_taken(tmp_path: Path) -> None:
    own: Any = ibis.duckdb.connect()
    own.raw_sql("CREATE SCHEMA place; CREATE TABLE place.Visits AS SELECT 1 AS who")
    own.raw_sql("CREATE TEMP TABLE passing AS SELECT 1 AS who")
    own.raw_sql(f"ATTACH '{tmp_path / 'other.duckdb'}' AS other; CREATE TABLE other.main.far AS SELECT 1 AS who")
    own.raw_sql("CREATE VIEW far AS SELECT 2 AS who")  # in another schema: it is not the one that is meant
    places = {"Visits": "place", "passing": None, "far": ("other", "main")}
    for name, place in places.items():
        table = own.table(name, database=place)
        assert open_source(table.filter(table["who"] > 0), identity=name).columns == ["who"]


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE TABLE visits AS SELECT 1 AS who, 'a' AS city",
        "ALTER TABLE visits ALTER who TYPE VARCHAR",
        "CREATE TEMP VIEW visits AS SELECT 1 AS who, 'a' AS city",
        "DROP TABLE visits",
    ],
)
def test_e63_a_table_that_was_replaced_is_refused_free_of_charge(change: str, tmp_path: Path) -> None:
    own: Any = ibis.duckdb.connect()
    own.create_table("visits", pa.table({"who": [1, 2], "city": ["a", "b"]}))
    with dp.Dataset(
        own.table("visits"), unit=dp.Rows(), budget=dp.PureDP(10), ledger=tmp_path / "visits.ledger", identity="visits"
    ) as data:
        data.count(epsilon=1)
        own.raw_sql("INSERT INTO visits VALUES (3, 'c')")  # rows may come
        data.count(epsilon=1)
        own.raw_sql(change)
        with pytest.raises(ParameterError, match=r"replaced or altered|only base tables"):
            data.count(epsilon=1)
        assert data.spent["epsilon"] == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_e63_a_time_beyond_the_last_date_in_an_own_table_is_missing(unit: str, tmp_path: Path) -> None:
    """DuckDB stores it if Arrow brings it, and fails where it is made a day."""
    far = [1 << 62, -(1 << 62), (1 << 63) - 1, 1 - (1 << 63), -(1 << 63), 10**14, -(10**14)]
    times = pa.array([0, *far], pa.timestamp(unit))
    own: Any = ibis.duckdb.connect()
    own.con.register("brought", pa.table({"who": range(len(times)), "at": times}))
    own.con.execute("CREATE TABLE visits AS SELECT * FROM brought")
    budget = dp.ApproxDP(10**9, "1e-3")
    persons = dp.Person("who", max_groups=1, max_rows_per_group=1)
    with dp.Dataset(own.table("visits"), unit=persons, budget=budget, ledger=tmp_path / "x", identity="x") as data:
        assert data.where(dp.col("at").year() == 1970).count(epsilon=10**6).value >= 1
        assert data.count(epsilon=10**6).value == len(times)
        data.group_by("at").agg(n=dp.count()).release(epsilon=10**6, delta="1e-6")
        assert data.failures.failed == 0


def test_e62_spellings_are_groups_of_their_own_whatever_the_collation_of_a_column_is(tmp_path: Path) -> None:
    """Under NOCASE the group of all spellings shows that of its first row, and a row has two partners in a join."""
    own: Any = ibis.duckdb.connect()
    own.raw_sql("CREATE TABLE visits (who INTEGER, city VARCHAR COLLATE NOCASE)")
    own.raw_sql("INSERT INTO visits VALUES (0, 'PARIS'), (1, 'Paris'), (2, 'Paris'), (3, 'paris')")
    budget = dp.PureDP(10**9)
    with dp.Dataset(own.table("visits"), unit=dp.Rows(), budget=budget, ledger=tmp_path / "x", identity="x") as data:
        asked = data.group_by("city", keys=["Paris", "PARIS"]).agg(n=dp.count())
        assert asked.release(epsilon=10**6).to_arrow()["n"].to_pylist() == [2, 1]
        assert data.where(dp.col("city") == "Paris").count(epsilon=10**6).value == 2
        joined = data.join(pa.table({"city": ["Paris", "PARIS"], "one": [1, 1]}), on="city")
        assert joined.sum("one", bounds=(0, 1), epsilon=10**6).value == pytest.approx(3, abs=0.01)
