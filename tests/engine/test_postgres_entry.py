"""No row of PostgreSQL decides whether a question fails, and none counts as another than it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.tables import kinds_of, open_source
from dither.tables.database_engines.postgres_types import COLUMN_TYPES
from dither.tables.database_engines.sealed_entry import LONGEST_BYTES
from dither.tables.expression import LONGEST_TEXT
from tests.postgres import Database, fresh_database


@pytest.fixture(scope="module")
def database(postgres_url: str) -> Iterator[Database]:
    with fresh_database(postgres_url) as fresh:
        fresh.run("CREATE EXTENSION citext", "CREATE TYPE mood AS ENUM ('sad', 'glad')")
        yield fresh


@contextmanager
def _asked(
    database: Database, folder: Path, columns: str, *rows: str, unit: Any = None, budget: Any = None
) -> Iterator[dp.Dataset]:
    database.run("DROP TABLE IF EXISTS rows", f"CREATE TABLE rows ({columns})")
    for row in rows:
        database.run(f"INSERT INTO rows {row}")
    ledger = folder / f"{len(list(folder.iterdir()))}.ledger"
    with dp.Dataset(
        database.url,
        table="rows",
        unit=unit or dp.Person("who", max_groups=2, max_rows_per_group=2),
        budget=budget or dp.ApproxDP(10**9, "0.9"),
        ledger=ledger,
    ) as data:
        yield data


_NUMBERS = {
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "2147483647"],
    "int8": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "float4": ["'1e-45'", "'3.4e38'", "'NaN'", "'-Infinity'", "'-0'"],
    "float8": ["'4.9e-324'", "'1e-300'", "'-1.7e308'", "'1.7e308'", "'NaN'", "'Infinity'", "'-Infinity'", "'-0'"],
    "numeric": ["'NaN'", "'Infinity'", "'-Infinity'", "1e-400", "1e131000", "-1e309", "0." + "0" * 16382 + "1"],
    "numeric(310, 0)": ["1e309", "-1e309", "'NaN'"],
    "numeric(1000, 999)": ["1e-999", "-1e-999"],
    "money": ["'92233720368547758.07'", "'-92233720368547758.08'"],
}
_NUMBER_QUESTIONS: dict[str, Callable[[dp.Dataset], Any]] = {
    "sum": lambda data: data.sum("p", (0, "1e40"), epsilon=1),
    "small sum": lambda data: data.sum("p", ("-1e-99", "1e-99"), epsilon=1),
    "large sum": lambda data: data.sum("p", ("-1e100", "1e100"), epsilon=1),
    "mean": lambda data: data.mean("p", ("-1e40", "1e40"), epsilon=1),
    "variance": lambda data: data.agg(v=dp.variance("p", (0, "1e50"))).release(epsilon=1),
    "median": lambda data: data.median("p", (0, "1e40"), epsilon=1),
    "histogram": lambda data: data.agg(v=dp.histogram("p", [0, 1, "1e40"])).release(epsilon=1),
    "bins": lambda data: data.group_by(dp.bins("p", [0, 1, 100])).agg(n=dp.count()).release(epsilon=1),
    "distinct": lambda data: data.agg(n=dp.count_distinct("p")).release(epsilon=1),
    "filter": lambda data: data.where(dp.col("who") == 7, dp.col("p") >= 3).sum("p", (0, "1e40"), epsilon=1),
    "product": lambda data: data.with_columns(z=dp.col("p") * dp.col("p")).sum("z", (0, "1e100"), epsilon=1),
    "quotient": lambda data: data.with_columns(z=dp.col("p") / dp.col("p")).mean("z", (0, 2), epsilon=1),
    "rest": lambda data: data.where(abs(dp.col("p") - dp.col("p").floor()) > 0).count(epsilon=1),
    "per person": lambda data: (
        data.per_person(a=dp.sum("p", (0, "1e40")), b=dp.mean("p", (0, "1e40")), c=dp.max("p", ("-1e-99", "1e-99")))
        .with_columns(d=dp.col("a") * dp.col("c"), e=dp.col("b") / dp.col("c"))
        .agg(a=dp.sum("a", (0, "1e90")), b=dp.median("b", (0, "1e50")), d=dp.sum("d", (0, 1)), e=dp.sum("e", (0, 1)))
        .release(epsilon=1)
    ),
}


@pytest.mark.parametrize("of", _NUMBERS)
def test_e61_no_number_makes_a_question_fail(database: Database, tmp_path: Path, of: str) -> None:
    """One row with p = 1e-300 did: the server raises "underflow" where it is divided by the step of a lattice."""
    hostile = [f"VALUES (7, CAST({value} AS {of}))" for value in _NUMBERS[of]]
    with _asked(
        database, tmp_path, f"who int4, p {of}", "SELECT i, 1 FROM generate_series(1, 20) AS i", *hostile
    ) as data:
        for question in _NUMBER_QUESTIONS.values():
            question(data)


def test_e61_tiny_and_huge_values_are_counted_as_the_documentation_says(database: Database, tmp_path: Path) -> None:
    values = ["1e-300", "1e300", "-1e300", "'NaN'", "0.25"]
    rows = [f"VALUES ({value}, {value})" for value in values]
    with _asked(database, tmp_path, "p float8, n numeric", *rows, unit=dp.Rows()) as data:
        for name in ("p", "n"):
            assert data.where(dp.col(name).is_null()).count(epsilon=10**6).value == 1
            assert data.where(dp.col(name) == 0).count(epsilon=10**6).value == 1
            assert data.where(dp.col(name) == 1e100).count(epsilon=10**6).value == 1
            assert round(data.sum(name, (-8, 8), epsilon=10**6).value, 3) == 0.25


def test_money_and_object_numbers_are_numbers(database: Database, tmp_path: Path) -> None:
    """Such questions could never be answered, and were charged."""
    rows = ["VALUES (1, '12.34', 4000000000)", "VALUES (2, '-0.34', 1)"]
    with _asked(database, tmp_path, "who int4, m money, o oid", *rows) as data:
        assert round(data.sum("m", (-100, 100), epsilon=10**7).value, 2) == 12.0
        assert data.where(dp.col("o") > 3_999_999_999).count(epsilon=10**7).value == 1
        assert data.group_by("o", keys=[1, 2]).agg(n=dp.count()).release(epsilon=10**7).value["n"].to_pylist() == [1, 0]


_SPELLINGS = ("SELECT 0, 'PARIS'", "SELECT i, 'Paris' FROM generate_series(1, 1000) AS i")
"""The odd one is stored first."""


@pytest.mark.parametrize("of", ["citext", "any_case", "any_case_twice"])
def test_e62_a_type_that_compares_otherwise_than_its_text_does_not_enter(
    database: Database, tmp_path: Path, of: str
) -> None:
    if of != "citext" and database.value(f"SELECT to_regtype('{of}') IS NULL"):
        database.run(
            "DROP DOMAIN IF EXISTS any_case",
            "CREATE DOMAIN any_case AS citext",
            "CREATE DOMAIN any_case_twice AS any_case CHECK (VALUE <> '')",
        )
    with _asked(database, tmp_path, f"who int4, city {of}", *_SPELLINGS) as data:
        with pytest.raises(ParameterError, match=r"column 'city' has the type public\.citext"):
            data.group_by("city", keys=["Paris", "PARIS"])
        with pytest.raises(ParameterError, match=r"public\.citext"):
            data.group_by("city").agg(n=dp.count())
        with pytest.raises(ParameterError, match=r"public\.citext"):
            data.where(dp.col("city") == "Paris")
        with pytest.raises(ParameterError, match=r"public\.citext"):
            data.agg(n=dp.count_distinct("city"))
        assert data.spent["epsilon"] == 0
        assert data.count(epsilon=10**6).value == 1001


def test_e62_spellings_are_groups_of_their_own_in_a_view_that_casts(database: Database, tmp_path: Path) -> None:
    """What the refusal advises. Public keys and found groups: 1000 people are not renamed by one."""
    database.run("DROP TABLE IF EXISTS spelled CASCADE", "CREATE TABLE spelled (who int4, city citext)")
    database.run(*(f"INSERT INTO spelled {rows}" for rows in _SPELLINGS))
    database.run("CREATE VIEW as_text AS SELECT who, city::text AS city FROM spelled")
    with dp.Dataset(
        database.url,
        table="as_text",
        unit=dp.Person("who", 1, 1),
        budget=dp.ApproxDP(10**9, "0.9"),
        ledger=tmp_path / "l",
    ) as data:
        public = data.group_by("city", keys=["Paris", "PARIS"]).agg(n=dp.count()).release(epsilon=10**6).value
        assert public["n"].to_pylist() == [1000, 1]
        found = data.group_by("city").agg(n=dp.count()).release(epsilon=10, delta="1e-9").value
        assert found["city"].to_pylist() == ["Paris"]


@pytest.mark.parametrize("of", ["citext", "any_case"])
def test_e62_nor_in_a_table_of_ibis(database: Database, of: str) -> None:
    if of != "citext":
        database.run("DROP DOMAIN IF EXISTS any_case CASCADE", "CREATE DOMAIN any_case AS citext")
    database.run("DROP TABLE IF EXISTS rows", f"CREATE TABLE rows (who int4, city {of})")
    theirs = ibis.connect(database.url)
    table = theirs.table("rows")
    source = open_source(table.filter(table["who"] > 0).mutate(twice=table["who"] * 2), identity="rows")
    assert source.refused == {"city": "public.citext"}
    assert source.columns == ["who", "twice"]
    theirs.disconnect()


def test_enums_and_domains_enter_as_what_is_below_them(database: Database, tmp_path: Path) -> None:
    database.run(
        "CREATE DOMAIN word AS varchar(20) CHECK (VALUE <> 'x')",
        "CREATE DOMAIN short_word AS word",
        "CREATE DOMAIN price AS numeric(400, 2) CHECK (VALUE > 0)",
        "CREATE DOMAIN feeling AS mood",
    )
    rows = [
        "VALUES (1, 'sad', 'sad', 'A', 1e390)",
        "VALUES (2, 'glad', 'glad', 'a', 2)",
        "VALUES (3, NULL, NULL, 'a ', 2)",
    ]
    columns = "who int4, m mood, f feeling, w short_word, p price"
    with _asked(database, tmp_path, columns, *rows) as data:
        assert data.columns == {"who": "whole", "m": "text", "f": "text", "w": "text", "p": "real"}
        for name in ("m", "f"):
            keys = ["glad", "sad", "happy", None]
            answer = data.group_by(name, keys=keys).agg(n=dp.count()).release(epsilon=10**6).value
            assert answer["n"].to_pylist() == [1, 1, 0, 1]
            assert data.where(dp.col(name) == "happy").count(epsilon=10**6).value == 0
        answer = data.group_by("w", keys=["A", "a", "a "]).agg(n=dp.count()).release(epsilon=10**6).value
        assert answer["n"].to_pylist() == [1, 1, 1]
        assert round(data.sum("p", (0, 8), epsilon=10**6).value, 2) == 12


_TEXTS = {
    "text": [
        "repeat('x', 1000000)",
        "repeat('x', 16384)",
        "repeat('x', 16385)",
        "repeat('é', 20000)",
        "E'\\x01\\x7f'",
        "''",
        "U&'\\+01F600'",
    ],
    "varchar": ["repeat('x', 1000000)", "' '"],
    "char(10)": ["'a'", "''"],
    '"char"': ["'\\377'", "'\\001'", "''", "'é'"],
    "name": ["repeat('é', 40)"],
    "bytea": ["'\\xff00'", "''", "convert_to(repeat('x', 1000000), 'UTF8')"],
    "uuid": ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "mood": ["'glad'"],
    "bool": ["true", "NULL"],
    "date": ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'", "'0001-01-01'", "'9999-12-31'"],
    "timestamp": ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'"],
    "timestamptz": ["'infinity'", "'-infinity'", "'4713-01-01 00:00+00 BC'", "'294276-12-31 23:59:59.999999+00'"],
}
_PLAIN = {"uuid": "'00000000-0000-0000-0000-000000000000'", "mood": "'sad'", "bool": "false"}


@pytest.mark.parametrize("of", _TEXTS)
def test_no_text_day_or_truth_makes_a_question_fail(database: Database, tmp_path: Path, of: str) -> None:
    plain = _PLAIN.get(of, "'2024-02-29'")
    ordinary = f"SELECT i, CAST({plain} AS {of}) FROM generate_series(1, 20) AS i"
    hostile = [f"VALUES (7, CAST({value} AS {of}))" for value in _TEXTS[of]]
    with _asked(database, tmp_path, f"who int4, p {of}", ordinary, *hostile) as data:
        data.group_by("p").agg(n=dp.count(), people=dp.count_people()).release(epsilon=10, delta="0.1")
        data.agg(n=dp.count_distinct("p"), t=dp.top("p", 2)).release(epsilon=10, delta="0.1")
        data.where(dp.col("p").is_null()).count(epsilon=1)
        if data.columns["p"] == "date":
            parts = {verb: getattr(dp.col("p"), verb)() for verb in ("year", "month", "day", "weekday")}
            for name in parts:
                data.with_columns(**{name: parts[name]}).sum(name, (0, 10_000), epsilon=1)
            data.where(dp.col("p") >= date(2024, 1, 1)).count(epsilon=1)
            data.group_by("p", keys=[date(2024, 2, 29)]).agg(n=dp.count()).release(epsilon=1)
        elif data.columns["p"] == "text":
            data.join(pa.table({"p": ["2024-02-29", "x"], "q": [1, 2]}), on="p").sum("q", (0, 2), epsilon=1)
            data.group_by("p", keys=["x", ""]).agg(n=dp.count()).release(epsilon=1)


@pytest.mark.parametrize("ask", [dp.sum, dp.mean], ids=["sum", "mean"])
@pytest.mark.parametrize("bounds", [("1e-250", "1e100"), ("-1e100", "-1e-250"), ("-1e-250", "1e100")], ids=str)
def test_e61_no_bound_makes_an_estimate_of_what_is_left_out_fail(
    database: Database, tmp_path: Path, ask: Any, bounds: tuple[str, str]
) -> None:
    rows = "SELECT i, 5e99 FROM generate_series(1, 20) AS i", "VALUES (21, 0), (22, -5e99), (23, 1e-99)"
    with _asked(database, tmp_path, "who int4, p float8", *rows) as data:
        for who in (1, 21, 22, 23):
            asked = data.where(dp.col("who") == who).agg(v=ask("p", bounds=bounds))
            assert len(asked.release(epsilon=1, left_out=True).value) == 1


@pytest.mark.parametrize("of", [*_NUMBERS, *_TEXTS])
def test_no_value_of_a_person_makes_a_question_fail(database: Database, tmp_path: Path, of: str) -> None:
    """And where the entered value is coarser than the stored one, persons are still told apart."""
    values = {**_NUMBERS, **_TEXTS}[of]
    rows = [f"VALUES (CAST({value} AS {of}), 'a')" for value in values]
    if of.startswith("float"):
        with (
            pytest.raises(ParameterError, match="cannot tell persons apart"),
            _asked(database, tmp_path, f"who {of}, city text", *rows) as data,
        ):
            data.count(epsilon=1)
        return
    with _asked(database, tmp_path, f"who {of}, city text", *rows) as data:
        people = data.group_by("city", keys=["a"]).agg(n=dp.count_people()).release(epsilon=10**6).value
        different = database.value("SELECT count(DISTINCT who) FROM rows")
        too_long = {"text": 3, "varchar": 1, "bytea": 1, "numeric": 2}
        unreadable = {'"char"': 2, "date": 4, **too_long}.get(of, 0)
        assert people["n"].to_pylist() == [different - unreadable]


def test_texts_that_are_too_long_are_missing(database: Database, tmp_path: Path) -> None:
    rows = [
        f"VALUES ({at}, repeat('x', {LONGEST_TEXT + at}), convert_to(repeat('x', {LONGEST_BYTES + at}), 'UTF8'))"
        for at in range(2)
    ]
    with _asked(database, tmp_path, "who int4, p text, b bytea", *rows) as data:
        for name in ("p", "b"):
            assert data.where(dp.col(name).is_null()).count(epsilon=10**6).value == 1


def test_times_with_a_zone_are_days_in_utc_whatever_the_session_says(database: Database, tmp_path: Path) -> None:
    database.run("DROP TABLE IF EXISTS rows", "CREATE TABLE rows (t timestamptz)")
    database.run("INSERT INTO rows VALUES ('2024-02-29 23:30-05')")
    theirs = ibis.connect(database.url)
    theirs.con.execute("SET TIME ZONE 'America/New_York'")
    with dp.Dataset(
        theirs.table("rows"), unit=dp.Rows(), budget=dp.PureDP(10**9), ledger=tmp_path / "l", identity="rows"
    ) as data:
        assert data.where(dp.col("t") == date(2024, 3, 1)).count(epsilon=10**6).value == 1
    theirs.disconnect()


def test_every_type_of_the_server_is_listed_or_refused_by_name(database: Database, tmp_path: Path) -> None:
    """Nothing is guessed: a table of all types that columns can have opens, and its other columns can be asked."""
    database.run("CREATE TYPE pair AS (a int4, b text)", "CREATE EXTENSION hstore", "CREATE EXTENSION ltree")
    types = database.connection.execute(
        "SELECT format_type(type.oid, NULL), type.typname, namespace.nspname = 'pg_catalog', type.typtype "
        "FROM pg_type AS type JOIN pg_namespace AS namespace ON namespace.oid = type.typnamespace "
        "WHERE type.typtype IN ('b', 'c', 'e', 'r', 'm') AND type.typname NOT IN ('gtsvector', '_cstring') "
        "AND (type.typrelid = 0 OR type.typname = 'pair') AND namespace.nspname IN ('pg_catalog', 'public') "
        "AND NOT EXISTS (SELECT FROM pg_type AS item WHERE item.oid = type.typelem AND item.typrelid <> 0)"
    ).fetchall()
    kinds = [*types, ('"char"', "char", True, "b")]
    listed = ", ".join(f"c{at} {name}" for at, (name, *_) in enumerate(kinds))
    with _asked(database, tmp_path, f"who int4, {listed}") as data:
        for at, (_, name, is_own, kind) in enumerate(kinds):
            known = kind == "e" or (is_own and name in COLUMN_TYPES)
            entered = kinds_of(data._table)  # what stays outside is named by its type, and one is called time
            assert (entered.get(f"c{at}") in ("whole", "real", "text", "truth", "date", "time")) == known, name
            if not known:
                with pytest.raises(ParameterError, match=f"column 'c{at}' has the type"):
                    data.where(dp.col(f"c{at}").is_null())
        assert len(kinds) > 100
        assert {name for _, name, is_own, _ in kinds if is_own} >= COLUMN_TYPES.keys() - {"enum"}


def test_the_documentation_lists_the_types() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "engines.md").read_text()
    table = page.partition("| type in `pg_catalog` |")[2].partition("\n\n")[0]
    listed = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(listed) == sorted(COLUMN_TYPES)


def test_points_of_an_ibis_table_stay_outside(database: Database, tmp_path: Path) -> None:
    """Ibis would ask for them by functions of PostGIS, and the table could not be opened at all."""
    database.run("DROP TABLE IF EXISTS rows", "CREATE TABLE rows (x int4, p point, a polygon)")
    database.run("INSERT INTO rows VALUES (1, '(1,2)', NULL)")
    theirs = ibis.connect(database.url)
    with dp.Dataset(
        theirs.table("rows"), unit=dp.Rows(), budget=dp.PureDP(10**9), ledger=tmp_path / "l", identity="rows"
    ) as data:
        assert data.group_by("x", keys=[1]).agg(n=dp.count()).release(epsilon=10**6).value["n"].to_pylist() == [1]
        with pytest.raises(ParameterError, match="column 'p' has the type point"):
            data.where(dp.col("p").is_null())
    theirs.disconnect()
