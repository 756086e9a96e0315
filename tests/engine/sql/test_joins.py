"""Several private tables: joins keep people apart, answer as DuckDB does, and have one budget."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import LedgerConflict, ParameterError
from tests.engine.sql.clinic import EXACTLY, KEYS, PUBLIC, clinic, files, opened, plainly, same

QUESTIONS = [
    "SELECT country, COUNT(*) AS n, SUM(spend) AS s FROM visits v JOIN people p ON v.pid = p.pid GROUP BY country "
    "ORDER BY country",
    "SELECT country, COUNT(*) AS n FROM visits, people WHERE visits.pid = people.pid AND age > 40 AND spend < age "
    "GROUP BY country ORDER BY country",
    "SELECT city, COUNT(*) AS n, COUNT(age) AS known FROM visits LEFT JOIN people ON people.pid = visits.pid "
    "GROUP BY city ORDER BY city",
    "SELECT COUNT(*) AS n FROM visits LEFT JOIN people p ON p.pid = visits.pid WHERE p.pid IS NULL",
    "SELECT status, COUNT(*) AS n, SUM(amount) AS s FROM orders JOIN lines ON lines.oid = orders.oid GROUP BY status "
    "ORDER BY status",
    "SELECT status, COUNT(*) AS n, SUM(amount) AS s FROM lines, orders WHERE orders.oid = lines.oid AND amount > 9 "
    "GROUP BY status ORDER BY status",
    "SELECT country, status, SUM(amount) AS s FROM lines l, orders o, people p WHERE l.oid = o.oid AND o.buyer = p.pid "
    "GROUP BY country, status ORDER BY country, status",
    "SELECT SUM(amount) AS s, COUNT(*) AS n FROM lines",
    "SELECT nation, COUNT(*) AS n FROM people, nations WHERE country = code AND age >= 30 GROUP BY nation "
    "HAVING COUNT(*) > 1 ORDER BY nation",
    "SELECT river, SUM(spend) AS s FROM visits JOIN places ON visits.city = places.city GROUP BY river ORDER BY river",
    "SELECT COUNT(*) AS n FROM visits LEFT JOIN places ON visits.city = places.city WHERE places.city IS NULL",
    "SELECT AVG(n) AS each FROM (SELECT people.pid, COUNT(status) AS n FROM people LEFT JOIN orders "
    "ON orders.buyer = people.pid GROUP BY people.pid) AS t WHERE n BETWEEN 0 AND 50",
    "SELECT city, COUNT(*) AS n FROM visits v JOIN (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid) t "
    "ON v.pid = t.pid WHERE k > 3 GROUP BY city ORDER BY city",
    "WITH old AS (SELECT pid, age / 10 AS decades FROM people WHERE age > 50) SELECT COUNT(*) AS n, "
    "SUM(LEAST(decades, 9)) AS d FROM visits JOIN old ON old.pid = visits.pid",
    "SELECT status, COUNT(*) AS n FROM orders WHERE EXISTS (SELECT * FROM lines WHERE lines.oid = orders.oid AND "
    "amount > 30) GROUP BY status ORDER BY status",
    "SELECT COUNT(*) AS n FROM people p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.buyer = p.pid) AND age > 30",
    "SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.city = 'Nice')",
    "SELECT SUM(amount) AS s FROM lines WHERE EXISTS (SELECT 1 FROM lines l WHERE l.oid = lines.oid AND l.amount > 45)",
    "SELECT COUNT(*) AS n FROM visits WHERE pid IN (SELECT pid FROM people WHERE country = 'FR') AND spend < 60",
    "SELECT COUNT(*) AS n FROM people, visits WHERE people.pid = visits.pid AND NOT EXISTS (SELECT 1 FROM orders, "
    "lines WHERE orders.oid = lines.oid AND orders.buyer = people.pid AND amount > 40)",
    "SELECT city, COUNT(*) AS n, SUM(x) AS s FROM (SELECT pid, city, spend AS x FROM visits WHERE city <> 'Nice' "
    "UNION ALL SELECT pid, city, spend / 2 FROM visits WHERE spend > 50) AS t GROUP BY city ORDER BY city",
    "WITH t (who, kind) AS (SELECT pid, 1 FROM visits UNION ALL SELECT pid, 2 FROM visits WHERE spend > 9 "
    "UNION ALL SELECT pid, 3 FROM people) SELECT COUNT(*) AS n, SUM(LEAST(GREATEST(kind, 0), 3)) AS s FROM t",
    "SELECT COUNT(*) AS n, COUNT(age) AS known FROM visits LEFT JOIN people ON visits.pid = people.pid AND age > 50 "
    "AND country = 'DE'",
    "SELECT COUNT(*) AS n FROM visits, places WHERE (visits.city = places.city AND river = 'Seine' AND spend < 40) OR "
    "(visits.city = places.city AND river = 'Marne')",
    "SELECT COUNT(*) AS n FROM visits v, people p, nations WHERE v.pid = p.pid AND country = code AND ((nation = "
    "'France' AND v.city = 'Nice' AND age > 30) OR (nation = 'Germany' AND (v.city = 'Paris' OR spend < 20)))",
    "SELECT COUNT(*) AS n FROM visits v JOIN people p ON v.pid = p.pid WHERE (v.city = 'Nice' AND age > 50) OR "
    "spend > 80 OR (country = 'FR' AND NOT spend > 10)",
    "SELECT n, COUNT(*) AS people FROM (SELECT people.pid, COUNT(oid) FROM people LEFT JOIN orders ON "
    "buyer = people.pid AND status = 'F' GROUP BY people.pid) AS t (who, n) WHERE n < 3 GROUP BY n ORDER BY n",
    "SELECT COUNT(*) AS n, COUNT(status) AS known FROM lines l LEFT JOIN orders o ON l.oid = o.oid AND "
    "l.amount = o.oid",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_f74_joins_answer_as_duckdb_does(text: str) -> None:
    tables = clinic()
    with opened(tables) as data:
        asked = text.replace("AVG(n)", "AVG(LEAST(n, 50))")
        question = data.sql(asked)
        finds_groups = bool(question.query.keys) and question.query.public_keys is None
        mine = question.release(epsilon=EXACTLY, delta="1e-9" if finds_groups else None).to_arrow().to_pylist()
    assert same(mine, plainly(text, tables))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_join_as_frames_do(tmp_path: Path, ending: str) -> None:
    text = QUESTIONS[6]
    with opened(files(tmp_path, ending), identity=None) as data:
        mine = data.sql(text).release(epsilon=EXACTLY).to_arrow().to_pylist()
    assert same(mine, plainly(text, clinic()))


@pytest.mark.parametrize("text", QUESTIONS[14:22])
def test_what_is_kept_and_put_below_is_the_same_in_python(text: str) -> None:
    with opened() as data:
        question = data.sql(text)
        twin = eval(question.code, {"dp": dp, "data": data})
        assert twin.words == question.words
        assert twin.plan(epsilon=1).cost == question.plan(epsilon=1).cost


def test_rows_without_persons_are_not_put_below_each_other() -> None:
    """Under `Rows` a record would count twice."""
    rows = pa.table({"x": [1, 2]})
    with dp.Dataset(rows, unit=dp.Rows(), budget=dp.PureDP(1), ledger=":memory:", identity="r") as data:
        with pytest.raises(ParameterError, match="by person"):
            data.union(data)
        with pytest.raises(ParameterError, match="by person"):
            data.join(data.where(dp.col("x") > 1), on="x", how="semi")
    with opened() as data:
        with pytest.raises(ParameterError, match="one row per person"):
            data.per_person(n=dp.count()).union(data)
        many = data.where()
        for _ in range(9):
            many = many.union(many)
        with pytest.raises(ParameterError, match="at most 1000 times"):
            many.union(many)


def test_a_person_with_rows_in_both_counts_no_more_than_the_limits_allow() -> None:
    with opened(unit=dp.Person("pid", max_groups=1, max_rows_per_group=1)) as data:
        both = data.union(data.union(data))
        assert both.count(epsilon=EXACTLY).value == data.count(epsilon=EXACTLY).value


def test_the_same_joins_in_python() -> None:
    tables = clinic()
    with opened(tables) as data:
        joined = data.join(data.table("people"), on="pid", how="inner").group_by("country", keys=["DE", "FR"])
        mine = joined.agg(n=dp.count(), s=dp.sum("spend", (0, 100))).release(epsilon=EXACTLY).to_arrow().to_pylist()
        code = data.sql(QUESTIONS[0]).code
        same_question = eval(code, {"dp": dp, "data": data})
        assert same_question.words == data.sql(QUESTIONS[0]).words
    assert same(mine, plainly(QUESTIONS[0], tables))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT COUNT(*) FROM visits a JOIN people b ON a.spend = b.age", "mix people"),
        ("SELECT COUNT(*) FROM visits, people", "mix people"),
        ("SELECT COUNT(*) FROM visits JOIN lines ON visits.pid = lines.amount", "mix people"),
        ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.pid = b.pid", "twice"),
        ("SELECT COUNT(*) FROM orders JOIN (SELECT oid + 0 AS oid FROM lines) t ON t.oid = orders.oid", "mix people"),
        ("SELECT COUNT(*) FROM visits JOIN people USING (pid)", "USING"),
        ("SELECT COUNT(*) FROM visits FULL JOIN people ON visits.pid = people.pid", "JOIN"),
        ("SELECT COUNT(*) FROM visits CROSS JOIN people", "JOIN"),
        (
            "SELECT COUNT(*) FROM visits LEFT JOIN people ON visits.pid = people.pid AND age > spend",
            "joined table alone",
        ),
        ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM people WHERE age = spend)", "mix people"),
        ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM people)", "needs an equality"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.pid < v.pid)", "equalities"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.pid + 0 = v.pid)", "equalities"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.city = v.city)", "mix people"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM places p WHERE p.city = v.city)", "public table"),
        ("SELECT COUNT(*) FROM visits WHERE pid NOT IN (SELECT pid FROM people)", "NOT EXISTS"),
        ("SELECT COUNT(*) FROM visits WHERE pid IN (SELECT pid, age FROM people)", "one column"),
        ("SELECT COUNT(*) FROM visits WHERE spend > 3 OR EXISTS (SELECT 1 FROM people)", "EXISTS stands alone"),
        ("SELECT COUNT(*) FROM (SELECT pid FROM visits UNION SELECT pid FROM people) t", "UNION ALL"),
        ("SELECT COUNT(*) FROM (SELECT pid, age FROM people UNION ALL SELECT pid FROM visits) t", "2 columns"),
        ("SELECT COUNT(*) FROM (SELECT pid, age FROM people UNION ALL SELECT pid, city FROM visits) t", "of one kind"),
        ("SELECT COUNT(*) FROM (SELECT pid, age FROM people UNION ALL SELECT age, pid FROM people) t", "identifies"),
        ("SELECT COUNT(*) FROM (SELECT pid FROM visits) AS t (a, b)", "other names for 2"),
        ("SELECT COUNT(*) FROM visits NATURAL JOIN people", "JOIN"),
        ("SELECT COUNT(*) FROM places", "public table"),
        ("SELECT COUNT(*) FROM places, nations", "no people"),
        ("SELECT COUNT(*) FROM visits, LATERAL (SELECT * FROM people) t", "FROM takes"),
        ("SELECT COUNT(*) FROM visits v JOIN people v ON v.pid = v.pid", "two tables are called"),
    ],
)
def test_f70_joins_that_mix_people_are_refused(text: str, why: str) -> None:
    with opened() as data, pytest.raises(ParameterError, match=why):
        data.sql(text)


def test_a_row_that_belongs_to_two_people_counts_for_each_and_stays_with_the_other() -> None:
    """The definition of neighbours in tables/joins.py: nobody else's rows change when one of the two goes."""
    tables = clinic()
    orders = tables["orders"].to_pylist()
    twice = [*orders, {**orders[0], "buyer": (orders[0]["buyer"] + 1) % 40}]
    shared, alone = ({**tables, "orders": pa.Table.from_pylist(rows)} for rows in (twice, twice[1:]))
    found = []
    for world in (shared, alone):
        with opened(world) as data:
            everybody = data.table("lines").group_by("pid", keys=list(range(40))).agg(n=dp.count())
            found.append(everybody.release(epsilon=EXACTLY).to_arrow().to_pydict())
    changed = [who for who in range(40) if found[0]["n"][who] != found[1]["n"][who]]
    assert changed in ([], [orders[0]["buyer"]])


@pytest.mark.parametrize("person", [0, 7, 39])
def test_one_person_changes_only_that_persons_rows(person: int) -> None:
    """Of every join, the rows of all others are the same with and without one person."""
    worlds = [clinic(), without(clinic(), person)]
    for text in (*QUESTIONS[:8], *QUESTIONS[14:23]):
        rows = []
        for world in worlds:
            with opened(world) as data:
                query = data.sql(text).query
                table = query._table
                others = table.filter(table["pid"] != person)
                found = [row for batch in query.origin._source.engine.rows(others) for row in batch.to_pylist()]
                rows.append(sorted(found, key=repr))
        assert rows[0] == rows[1], text


def without(tables: dict[str, pa.Table], person: int) -> dict[str, pa.Table]:
    """The tables without a person: the rows that name them, and those that belong to them by their key."""
    orders = [row for row in tables["orders"].to_pylist() if row["buyer"] == person]
    gone = {row["oid"] for row in orders}
    keep: dict[str, Callable[[dict[str, Any]], bool]] = {
        "visits": lambda row: row["pid"] != person,
        "people": lambda row: row["pid"] != person,
        "orders": lambda row: row["buyer"] != person,
        "lines": lambda row: row["oid"] not in gone,
    }
    return {
        name: pa.Table.from_pylist([row for row in table.to_pylist() if keep[name](row)], schema=table.schema)
        for name, table in tables.items()
    }


def test_few_rows_of_a_person_are_joined_with_each_row() -> None:
    many = pa.table({"pid": [1] * 500, "x": list(range(500))})
    with dp.Dataset(
        tables={"a": many, "b": many.rename_columns(["pid", "y"])},
        unit=dp.Person("pid", max_rows_per_group=10**6), budget=dp.PureDP(10**9), ledger=":memory:", identity="ab",
    ) as data:  # fmt: skip
        joined = data.join(data.table("b"), on="pid", how="inner")
        assert joined.count(epsilon=EXACTLY).value == 500 * 100


def test_public_tables_multiply_rows_up_to_a_limit() -> None:
    with opened() as data:
        lines = pa.table({"city": ["Paris"] * 1001, "x": list(range(1001))})
        with pytest.raises(ParameterError, match="would become 1001 rows"):
            data.join(lines, on="city")
        once = data.join(lines.slice(0, 100), on="city")
        with pytest.raises(ParameterError, match="would become 10000 rows"):
            once.join(lines.slice(0, 100).rename_columns(["city", "y"]), on="city")
    rows = pa.table({"city": ["Paris"]})
    alone = dp.Dataset(rows, unit=dp.Rows(), budget=dp.PureDP(1), ledger=":memory:", identity="r")
    with alone, pytest.raises(ParameterError, match="must hold different values"):
        alone.join(lines.slice(0, 2), on="city")


def test_no_table_gets_a_second_budget(tmp_path: Path) -> None:
    places, ledger = files(tmp_path, "parquet"), tmp_path / "l.ledger"
    unit, budget = dp.Person("pid"), dp.PureDP(1)
    with opened(places, identity=None, ledger=ledger, budget=budget) as data:
        data.sql("SELECT COUNT(*) FROM visits").release(epsilon="0.5")
    with pytest.raises(LedgerConflict):
        dp.Dataset(places["visits"], unit=unit, budget=budget, ledger=ledger)
    with pytest.raises(LedgerConflict):
        dp.Dataset(places["visits"], unit=unit, budget=budget, ledger=ledger, identity="fresh")
    two = {name: places[name] for name in ("visits", "people")}
    with pytest.raises(LedgerConflict):
        dp.Dataset(tables=two, unit=unit, budget=budget, ledger=ledger)
    turned = dict(reversed(places.items()))
    with opened(turned, identity=None, ledger=ledger, budget=budget) as data:  # the same files: the same budget
        assert data.remaining["epsilon"] * 2 == 1
    alone = tmp_path / "other.ledger"
    dp.Dataset(places["people"], unit=unit, budget=budget, ledger=alone).close()
    with pytest.raises(LedgerConflict):
        dp.Dataset(tables=two, unit=unit, budget=budget, ledger=alone)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"foreign_keys": {}}, "no foreign key leads from it"),
        ({"foreign_keys": {"orders.buyer": "people.pid", "lines.oid": "lines.oid"}}, "no foreign key leads"),
        ({"foreign_keys": {**KEYS, "lines.nothing": "orders.oid"}}, "not found"),
        ({"foreign_keys": {**KEYS, "oid": "orders.oid"}}, "write the table"),
        ({"unit": dp.Rows()}, "belong together by their people"),
        ({"table": "visits"}, "leave table"),
        ({"tables": {}}, "dictionary"),
        ({"identity": None}, "Give it one"),
        ({"columns": {"pid": (0, 1)}}, "in several tables"),
        ({"columns": {"nothing": (0, 1)}}, "in none of the tables"),
        ({"public": {"visits": PUBLIC["places"]}}, "private and public"),
    ],
)
def test_datasets_that_make_no_sense_are_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        opened(**changes)  # type: ignore[arg-type]


def test_people_are_told_apart_by_values_of_one_kind() -> None:
    tables = {"a": pa.table({"pid": [1]}), "b": pa.table({"pid": ["1"]})}
    with pytest.raises(ParameterError, match="of different kinds"):
        dp.Dataset(tables=tables, unit=dp.Person("pid"), budget=dp.PureDP(1), ledger=":memory:", identity="ab")


def test_tables_of_two_datasets_are_not_joined() -> None:
    with opened() as data, opened(identity="other") as other, pytest.raises(ParameterError, match="two budgets"):
        data.join(other.table("people"), on="pid")


def test_domains_are_those_of_the_table() -> None:
    both = {"visits": pa.table({"pid": [1], "x": [1]}), "people": pa.table({"pid": [1], "x": [1]})}
    columns = {"visits.x": (0, 10), "people.x": (0, 100)}
    with opened(both, foreign_keys=None, columns=columns, public=None) as data:
        text = "SELECT SUM(visits.x) AS a, SUM(people.x) AS b FROM visits JOIN people ON visits.pid = people.pid"
        said = data.sql(text).words
    assert "a = sum(x, bounds=(0, 10)), b = sum(col('people.x'), bounds=(0, 100))" in said
