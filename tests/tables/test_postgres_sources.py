"""What PostgreSQL tells of a table before any budget exists: what it reads, where it is, and nothing of the URL."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither as dp
from dither.errors import DitherError, ParameterError
from dither.tables import open_source
from tests.postgres import Database, fresh_database

_VISITS = "CREATE TABLE visits (who bigint, city text, x float8)"
_ROWS = "INSERT INTO visits SELECT i % 10, 'Paris', i FROM generate_series(1, 100) AS i"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with fresh_database(postgres_url) as fresh:
        fresh.run(_VISITS, _ROWS)
        yield fresh


def _with_foreign_table(database: Database) -> None:
    """The table once more, through the network."""
    port = database.url.rpartition(":")[2].partition("/")[0]
    name = database.url.rpartition("/")[2]
    database.run(
        "CREATE EXTENSION postgres_fdw",
        "CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw "
        f"OPTIONS (host '127.0.0.1', port '{port}', dbname '{name}')",
        "CREATE USER MAPPING FOR CURRENT_USER SERVER itself OPTIONS (user 'dither', password_required 'false')",
        "CREATE FOREIGN TABLE far (who bigint, city text, x float8) SERVER itself OPTIONS (table_name 'visits')",
    )


def test_e65_a_foreign_table_has_no_budget_of_its_own(database: Database, tmp_path: Path) -> None:
    """Neither itself, nor below a view, a partition or a policy: it may be a table that has spent already."""
    _with_foreign_table(database)
    database.run(
        "CREATE VIEW through AS SELECT who, x FROM (SELECT * FROM far) AS inner_one",
        "CREATE TABLE all_years (who bigint, city text, x float8) PARTITION BY LIST (who)",
        "CREATE TABLE near PARTITION OF all_years FOR VALUES IN (1)",
        "CREATE FOREIGN TABLE away PARTITION OF all_years FOR VALUES IN (2) SERVER itself",
        "CREATE TABLE guarded (who bigint)",
        "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY known ON guarded USING (EXISTS (SELECT FROM far WHERE far.who = guarded.who))",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM far",
    )
    for name in ("far", "through", "all_years", "guarded", "kept"):
        with pytest.raises(ParameterError, match=r"reads the foreign table .* identity='visits 2024'"):
            dp.Dataset(database.url, table=name, unit=dp.Rows(), budget=dp.PureDP(1), ledger=tmp_path / "l")
    for name in ("visits", "near"):
        open_source(database.url, name).engine.backend.disconnect()
    source = open_source(database.url, "far", "visits")
    assert source.identity == "visits"
    source.engine.backend.disconnect()


@pytest.mark.parametrize("kind", ["VOLATILE", "STABLE"])
def test_e65_a_view_through_a_function_needs_an_identity(database: Database, kind: str) -> None:
    """What a function reads stands in no catalogue, unless it is declared to read nothing."""
    database.run(
        f"CREATE FUNCTION all_visits() RETURNS SETOF visits {kind} LANGUAGE sql AS 'SELECT * FROM visits'",
        "CREATE FUNCTION half(float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT $1 / 2'",
        f"CREATE FUNCTION is_in(bigint, bigint) RETURNS bool {kind} LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR <? (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = is_in)",
        "CREATE VIEW by_function AS SELECT * FROM all_visits()",
        "CREATE VIEW by_operator AS SELECT who <? 7 AS x FROM visits",
        "CREATE VIEW halves AS SELECT who, half(x) AS x, upper(city) AS city FROM visits",
    )
    for name in ("by_function", "by_operator"):
        with pytest.raises(ParameterError, match="through the function"):
            open_source(database.url, name)
        open_source(database.url, name, "visits").engine.backend.disconnect()
    open_source(database.url, "halves").engine.backend.disconnect()


def test_e65_policies_belong_to_the_parts(database: Database) -> None:
    database.run(
        "CREATE TABLE members (who bigint)",
        "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY known ON visits USING (EXISTS (SELECT FROM members WHERE members.who = visits.who))",
    )
    members, visits = (open_source(database.url, name) for name in ("members", "visits"))
    assert members.parts < visits.parts
    for each in (members, visits):
        each.engine.backend.disconnect()


_CHANGES = {
    "a partition is attached": (
        "CREATE TABLE source (who bigint, x float8) PARTITION BY LIST (who)",
        "CREATE TABLE one PARTITION OF source FOR VALUES IN (1)",
        "CREATE TABLE two (who bigint, x float8)",
        "ALTER TABLE source ATTACH PARTITION two FOR VALUES IN (2)",
    ),
    "a partition is detached": (
        "CREATE TABLE source (who bigint, x float8) PARTITION BY LIST (who)",
        "CREATE TABLE one PARTITION OF source FOR VALUES IN (1)",
        "ALTER TABLE source DETACH PARTITION one",
    ),
    "a view is redefined": (
        "CREATE TABLE other (who bigint, x float8)",
        "CREATE VIEW source AS SELECT who, x FROM visits",
        "CREATE OR REPLACE VIEW source AS SELECT who, x FROM visits UNION ALL SELECT who, x FROM other",
    ),
    "a view gets a function": (
        "CREATE FUNCTION read() RETURNS float8 LANGUAGE sql AS 'SELECT 1.0'",
        "CREATE VIEW source AS SELECT who, x FROM visits",
        "CREATE OR REPLACE VIEW source AS SELECT who, read() AS x FROM visits",
    ),
    "the table is made again": (
        "CREATE TABLE source (who bigint, x float8)",
        "DROP TABLE source; CREATE TABLE source (who bigint, x float8)",
    ),
    "the table is gone": ("CREATE TABLE source (who bigint, x float8)", "DROP TABLE source"),
    "names are exchanged": (
        "CREATE TABLE source (who bigint, x float8)",
        "ALTER TABLE source RENAME TO before; ALTER TABLE visits RENAME TO source",
    ),
    "a column has another type": (
        "CREATE TABLE source (who bigint, x float8)",
        "ALTER TABLE source ALTER x TYPE text",
    ),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_e65_a_source_that_changes_while_it_is_open_is_refused_before_the_charge(
    database: Database, tmp_path: Path, change: str
) -> None:
    *before, then = _CHANGES[change]
    database.run(*before)
    with dp.Dataset(
        database.url, table="source", unit=dp.Rows(), budget=dp.PureDP(3), ledger=tmp_path / "visits.ledger"
    ) as data:
        question = data.agg(total=dp.sum("x", (0, 10)))
        question.release(epsilon=1)
        database.run(then)
        with pytest.raises(DitherError, match=r"[Nn]othing was charged") as caught:
            question.release(epsilon=1)
        assert isinstance(caught.value, ParameterError)
        assert data.spent["epsilon"] == 1


def test_rows_and_columns_may_be_added_while_it_is_open(database: Database, tmp_path: Path) -> None:
    with dp.Dataset(
        database.url, table="visits", unit=dp.Rows(), budget=dp.PureDP(10**7), ledger=tmp_path / "visits.ledger"
    ) as data:
        database.run(_ROWS, "ALTER TABLE visits ADD COLUMN more text")
        assert data.count(epsilon=10**6).value == 200


def test_e65_no_other_table_takes_the_place_of_a_name(database: Database, tmp_path: Path) -> None:
    """A schema that comes first in the search path gets a table of that name while the dataset is open."""
    with dp.Dataset(
        database.url, table="visits", unit=dp.Rows(), budget=dp.PureDP(10**7), ledger=tmp_path / "visits.ledger"
    ) as data:
        database.run("CREATE SCHEMA dither", "CREATE TABLE dither.visits (LIKE public.visits)")
        assert data.count(epsilon=10**6).value == 100


def test_functions_of_other_schemas_are_not_called(database: Database, tmp_path: Path) -> None:
    name = database.url.rpartition("/")[2]
    database.run(
        "CREATE SCHEMA traps",
        "CREATE FUNCTION traps.abs(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1/0.0::float8'",
        "CREATE FUNCTION traps.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1/0.0::float8'",
        f"ALTER DATABASE {name} SET search_path = traps, public, pg_catalog",
    )
    with dp.Dataset(
        database.url, table="visits", unit=dp.Rows(), budget=dp.PureDP(10**7), ledger=tmp_path / "visits.ledger"
    ) as data:
        assert round(data.sum("x", (0, 100), epsilon=10**6).value) == 5050


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://dither:hunter2@127.0.0.1:1/postgres",
        "postgresql://dither:hunter2@no-such-host.invalid/postgres",
        "postgresql://dither:hunter2/x@127.0.0.1/postgres",
        "postgresql://dither:hunter2@[::1/postgres",
        "postgresql://dither:hunter2@h\u2100st/postgres",
        "postgresql://dither:hunter2@127.0.0.1:port/postgres",
        "postgresql://dither@127.0.0.1:1/postgres?password=hunter2&no_such_option=hunter2",
        "postgresql://dither@127.0.0.1:1/postgres?options=hunter2",
        "mysql://dither:hunter2@127.0.0.1/postgres",
        "https+hunter://dither:hunter2@127.0.0.1/postgres",
    ],
)
def test_d59_no_error_quotes_the_url(url: str) -> None:
    with pytest.raises(DitherError) as caught:
        open_source(url, "visits")
    assert "hunter2" not in "".join(traceback.format_exception(caught.value, chain=True))


def test_a_database_without_an_encoding_is_refused(postgres_url: str) -> None:
    """Texts there are any bytes: reading one that is no UTF-8 would fail, after the charge."""
    options = "TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    with fresh_database(postgres_url, options) as database:
        database.run("CREATE TABLE visits (city text)", "INSERT INTO visits VALUES (E'\\xff')")
        with pytest.raises(ParameterError, match="encoding 'SQL_ASCII'"):
            open_source(database.url, "visits")
