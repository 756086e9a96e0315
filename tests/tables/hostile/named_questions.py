"""Where a name may stand: in a table, beside others, or in a question; and the same question with a plain name there.

Each place is a small table, or several of one dataset, and a question in which one name is left open. Everything else
has the same names and values whatever stands there, so the exact numbers must not depend on it. A column that nobody
mentions holds one value for all: if an engine took it for that of the persons, one person would have all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dither as dp
from dither.ledger import Ledger
from tests.tables.hostile.containers import (
    ArrowFrame,
    Container,
    CsvFile,
    DuckDBTable,
    ParquetFile,
    PostgresTable,
    SparkTable,
)

__all__ = ["PLACES", "STRUCTS", "NotStored", "Place", "World"]

_ROWS = [
    ("ann", "a", 1.0, 1), ("ann", "b", 2.0, 1), ("ann", "b", 3.0, 1), ("bob", "a", 4.0, 2), ("bob", "b", 0.5, 2),
    ("cid", "b", 8.0, 3), ("cid", "c", 7.0, 3), ("dan", "c", 6.0, 4), ("eve", "a", 5.0, 5), ("eve", "d", 9.0, 5),
]  # fmt: skip
_BROUGHT = [
    ("new", city, amount, 6)
    for city, amount in zip("aaabcd", (1e300, float("nan"), -1.7e308, 5e-324, 1e100, float("inf")), strict=True)
]
CITIES = list("abcd")
_UNIT: Any = {"max_groups": 2, "max_rows_per_group": 2}
_DAY = date(2026, 1, 1)


class NotStored(Exception):
    """A table cannot have this name, so that there is no case."""


def _frame(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    try:
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    except UnicodeError:
        raise NotStored from None


@dataclass(frozen=True)
class World:
    """Where tables are made, with the hostile person or without."""

    container: Any
    book: Ledger
    is_hostile: bool
    _opened: list[dp.Dataset] = field(default_factory=list)

    def close(self) -> None:
        """Close the datasets that were opened, also those of questions that were refused."""
        while self._opened:
            self._opened.pop().close()

    @property
    def rows(self) -> list[tuple[str, str, float, int]]:
        """Who, where, how much, and a number of the person."""
        return _ROWS + (_BROUGHT if self.is_hostile else [])

    def table(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        """A table with these columns, as a dataset is given it."""
        made = _frame(columns)
        try:
            return _STORED[type(self.container)](self.container, made)
        except Exception:
            raise NotStored from None

    def dataset(self, tables: Mapping[str, Any], person: str, **said: Any) -> dp.Dataset:
        """Of one table, or of several by their names."""
        listed = list(tables.values())
        own: dict[str, Any] = {}
        if isinstance(self.container, PostgresTable | SparkTable):
            own["source"] = self.container.server
            own |= {"table": listed[0]} if len(listed) == 1 and not said else {"tables": dict(tables)}
        elif len(listed) == 1 and not said:
            own |= {"source": listed[0], "identity": self.container.fresh()}
        else:
            own |= {"tables": dict(tables), "identity": self.container.fresh()}
        unit, budget = dp.Person(person, **_UNIT), dp.ApproxDP(10**18, "0.9")
        self._opened.append(dp.Dataset(**own, **said, unit=unit, budget=budget, ledger=self.book))
        return self._opened[-1]

    def visits(
        self, names: Mapping[str, str] | None = None, said: Mapping[str, Any] | None = None
    ) -> tuple[dp.Dataset, dict[str, str]]:
        """The usual table with some of its columns under other names, and what all are called."""
        called = {name: (names or {}).get(name, name) for name in ("beside", "who", "city", "amount", "number")}
        who, city, amount, number = (list(each) for each in zip(*self.rows, strict=True))
        values = {"beside": ["same"] * len(who), "who": who, "city": city, "amount": amount, "number": number}
        made = self.table({called[role]: values[role] for role in called})
        return self.dataset({"visits": made}, called["who"], **(said or {})), called


def _in_arrow(container: Container, made: pa.Table) -> Any:
    return made


def _in_parquet(container: Container, made: pa.Table) -> Any:
    path = container.folder / f"{container.fresh()}.parquet"
    pq.write_table(made, path)
    return path


def _in_csv(container: Container, made: pa.Table) -> Any:
    import csv

    path = container.folder / f"{container.fresh()}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(made.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in made.columns), strict=True))
    return path


_TYPES = {"string": "text", "double": "double precision", "int64": "bigint", "date32[day]": "date"}


def _in_sql(container: Any, made: pa.Table) -> str:
    name = str(container.fresh())
    columns = ", ".join(f"{_quoted(field.name)} {_type(field.type)}" for field in made.schema)
    container.run(f"CREATE TABLE {name} ({columns})")
    rows = [
        f"({', '.join(map(_value, row))})" for row in zip(*(each.to_pylist() for each in made.columns), strict=True)
    ]
    container.run(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    return name


def _type(of: pa.DataType) -> str:
    if pa.types.is_struct(of):
        return f"STRUCT({', '.join(f'{_quoted(field.name)} {_type(field.type)}' for field in of)})"
    return _TYPES[str(of)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(name)}: {_value(part)}' for name, part in value.items())}}}"
    if isinstance(value, float):
        return f"CAST('{value}' AS double precision)"
    return f"'{value}'" if isinstance(value, str | date) else str(value)


def _in_duckdb(container: Any, made: pa.Table) -> Any:
    return container.server.table(_in_sql(container, made))


def _in_spark(container: Any, made: pa.Table) -> str:
    name = str(container.fresh())
    container.server.createDataFrame(made).createOrReplaceTempView(name)
    return name


_STORED: Mapping[type, Callable[[Any, pa.Table], Any]] = {
    ArrowFrame: _in_arrow,
    ParquetFile: _in_parquet,
    CsvFile: _in_csv,
    DuckDBTable: _in_duckdb,
    PostgresTable: _in_sql,
    SparkTable: _in_spark,
}


@dataclass(frozen=True)
class Place:
    """A question in which one name is open."""

    asked: Callable[[World, str], tuple[dp.Dataset, Any]]
    """The dataset and the question, with this name in it."""
    plain: str
    beside: tuple[str, ...]
    """The names that it may be taken for."""
    methods: tuple[str, ...] = ()
    """The methods of a query that are given the name, for the registry."""


def _all_kinds(amount: str) -> dict[str, Any]:
    """An aggregate of each kind of question to the engine."""
    return {
        "n": dp.count(),
        "people": dp.count_people(),
        "s": dp.sum(amount, (0, 10)),
        "m": dp.mean(amount, (0, 100)),
        "d": dp.count_distinct(amount),
        "t": dp.top("city", 1, CITIES),
        "found": dp.sum(amount, (0, "1e40"), clip=True),
    }


def _few(amount: str) -> dict[str, Any]:
    return {"n": dp.count(), "people": dp.count_people(), "s": dp.sum(amount, (0, 10))}


def _role(role: str) -> Callable[[World, str], tuple[dp.Dataset, Any]]:
    """A column of the table."""

    def asked(world: World, name: str) -> tuple[dp.Dataset, Any]:
        data, called = world.visits({role: name})
        kinds = _all_kinds(called["amount"]) if role == "beside" else _few(called["amount"])
        kinds["t"] = dp.top(called["city"], 1, CITIES)
        return data, data.group_by(called["city"], keys=CITIES).agg(**kinds)

    return asked


def _found(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, called = world.visits({"city": name})
    return data, data.where(dp.col(name) != "z").group_by(name, "number").agg(**_few(called["amount"]))


def _filtered(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits({"amount": name})
    return data, data.where(dp.col(name) > 1, dp.col("city").is_in(["a", "b"])).agg(**_few(name))


def _computed(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    query = data.with_columns(**{name: dp.col("amount") * 2 + dp.col("number")})
    return data, query.group_by("city", keys=CITIES).agg(**_few(name), d=dp.count_distinct(name))


def _two_computed(world: World, name: str) -> tuple[dp.Dataset, Any]:
    """Names that differ in their last sign alone."""
    data, _ = world.visits()
    query = data.with_columns(**{f"{name}1": dp.col("amount") * 2, f"{name}2": dp.col("number") * 3})
    two = {"x": dp.sum(f"{name}1", (0, 50)), "y": dp.sum(f"{name}2", (0, 50))}
    return data, query.group_by("city", keys=CITIES).agg(**two)


def _two_keys(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    query = data.with_columns(**{f"{name}1": dp.col("city").lower(), f"{name}2": dp.col("beside").lower()})
    keys = {f"{name}1": CITIES, f"{name}2": ["same"]}
    return data, query.group_by(f"{name}1", f"{name}2", keys=keys).agg(**_few("amount"))


def _answered(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    asked: dict[str, Any] = {name: dp.sum("amount", (0, 10)), "mean": dp.mean("amount", (0, 10)), "n": dp.count()}
    return data, data.group_by("city", keys=CITIES).agg(**asked)


def _binned(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    return data, data.group_by(dp.bins("amount", [0, 3, 6, 10], name=name), "city", keys=CITIES).agg(**_few("number"))


def _each_person(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    each = data.per_person(**{name: dp.sum("amount", (0, 10)), "rows": dp.count()})
    return data, each.where(dp.col("rows") < 9).agg(x=dp.sum(name, (0, 20)), r=dp.sum("rows", (0, 9)), n=dp.count())


def _two_of_each_person(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    each = data.per_person(**{f"{name}1": dp.sum("amount", (0, 10)), f"{name}2": dp.max("number", (0, 10))})
    return data, each.agg(x=dp.sum(f"{name}1", (0, 20)), y=dp.sum(f"{name}2", (0, 9)))


def _levelled(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    known = {"city": CITIES, "number": [1, 2, 3, 4, 5, 6]}
    return data, data.grouping_sets(["city", "number"], ["city"], [], keys=known, level=name).agg(**_few("amount"))


def _beside_levels(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits({"beside": name})
    return data, data.grouping_sets(["city"], ["number"], []).agg(**_few("amount"))


def _brought(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    public = _frame({"city": CITIES, name: [1, 2, 3, 4]})
    return data, data.join(public, on="city").group_by("city", keys=CITIES).agg(v=dp.sum(name, (0, 5)), n=dp.count())


def _joined_on(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits({"city": name})
    public = _frame({name: CITIES, "extra": [1, 2, 3, 4]})
    return data, data.join(public, on=name, how="inner").agg(v=dp.sum("extra", (0, 5)), n=dp.count())


def _joined_to(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    public = _frame({name: CITIES, "extra": [1, 2, 3, 4]})
    return data, data.join(public, on={"city": name}).agg(v=dp.sum("extra", (0, 5)), n=dp.count())


def _put_below(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data, _ = world.visits()
    both = data.with_columns(**{name: dp.col("number") + 1}).union(data.with_columns(**{name: dp.col("amount")}))
    return data, both.group_by("city", keys=CITIES).agg(v=dp.sum(name, (0, 10)), people=dp.count_people())


def _below_alone(world: World, name: str) -> tuple[dp.Dataset, Any]:
    """A column of one side only."""
    data, _ = world.visits()
    both = data.with_columns(**{name: dp.col("beside").lower()}).union(data.where(dp.col("number") > 1))
    return data, both.group_by("city", keys=CITIES).agg(**_few("amount"))


def _several(world: World, names: Mapping[str, str], tables: tuple[str, str] = ("visits", "people")) -> dp.Dataset:
    """People, and visits that are theirs by a foreign key; roles of columns as ROLE of TABLE."""

    def called(name: str) -> str:
        return names.get(name, name.partition(" ")[0])

    who, city, amount, number = (list(each) for each in zip(*world.rows, strict=True))
    visits = {"beside of visits": ["same"] * len(who), "visitor of visits": number, "amount": amount, "place": city}
    every = sorted(set(zip(number, who, strict=True)))
    people = {
        "beside of people": ["same"] * len(every),
        "id of people": [each for each, _ in every],
        "who of people": [each for _, each in every],
        "town of people": [CITIES[each % 4] for each, _ in every],
    }
    made = [world.table({called(name): values for name, values in each.items()}) for each in (visits, people)]
    keys = {f"{tables[0]}.{called('visitor of visits')}": f"{tables[1]}.{called('id of people')}"}
    return world.dataset(dict(zip(tables, made, strict=True)), called("who of people"), foreign_keys=keys)


def _of_several(role: str) -> Callable[[World, str], tuple[dp.Dataset, Any]]:
    """A column of one of two tables, joined along their foreign key."""

    def asked(world: World, name: str) -> tuple[dp.Dataset, Any]:
        data = _several(world, {role: name})
        visitor, key, town = (
            name if role == each else each.partition(" ")[0]
            for each in ("visitor of visits", "id of people", "town of people")
        )
        both = data.table("visits").join(data.table("people"), on={visitor: key}, how="inner")
        return data, both.group_by(town, keys=CITIES).agg(**_few("amount"))

    return asked


def _kept_by_key(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data = _several(world, {"beside of visits": name})
    kept = data.table("people").join(data.table("visits").where(dp.col("amount") > 1), on={"id": "visitor"}, how="semi")
    return data, kept.group_by("town", keys=CITIES).agg(n=dp.count(), people=dp.count_people())


def _table_called(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data = _several(world, {"beside of people": "amount"}, ("visits", name))
    both = data.table("visits").join(data.table(name), on="who", how="inner")
    return data, both.group_by("town", keys=CITIES).agg(**_few("amount"))


def _table_in_sql(world: World, name: str) -> tuple[dp.Dataset, Any]:
    data = _several(world, {}, (name, "people"))
    tables = f"{_quoted(name)} AS v JOIN people ON v.visitor = people.id"
    return data, data.sql(f"SELECT COUNT(*) AS n, COUNT(DISTINCT people.who) AS p FROM {tables}")


def _sql(text: str, role: str) -> Callable[[World, str], tuple[dp.Dataset, Any]]:
    def asked(world: World, name: str) -> tuple[dp.Dataset, Any]:
        domains = {name if role == "city" else "city": CITIES, name if role == "amount" else "amount": (0, 10)}
        said = {"columns": domains | {"number": [1, 2, 3, 4, 5, 6]}}
        data, _ = world.visits({role: name} if role else {}, said)
        return data, data.sql(text.replace("NAME", _quoted(name)))

    return asked


def _followed(role: str) -> Callable[[World, str], tuple[dp.Dataset, Any]]:
    """A stream of three days: who was there is kept from one to the next."""

    def asked(world: World, name: str) -> tuple[dp.Dataset, Any]:
        who, city, amount, _ = (list(each) for each in zip(*world.rows, strict=True))
        days = [date(2026, 1, 1 + at % 3) for at in range(len(who))]
        values = {"beside": ["same"] * len(who), "who": who, "day": days, "amount": amount, "city": city}
        called = {each: name if each == role else each for each in values}
        made = world.table({called[each]: listed for each, listed in values.items()})
        data = world.dataset({"visits": made}, called["who"])
        stream = data.over(called["day"], start=_DAY, periods=3, max_periods=2)
        return data, stream.agg(n=dp.count(), s=dp.sum(called["amount"], (0, 10)))

    return asked


PLACES: Mapping[str, Place] = {
    "a column that nobody mentions": Place(_role("beside"), "beside", ("who", "city", "amount"), ("group_by", "agg")),
    "the column of persons": Place(_role("who"), "who", ("city", "amount", "beside")),
    "the column that is measured": Place(_role("amount"), "amount", ("who", "city")),
    "the column of groups": Place(_role("city"), "city", ("who", "amount")),
    "groups that are found": Place(_found, "city", ("who", "number")),
    "a filter": Place(_filtered, "amount", ("who", "city"), ("where",)),
    "a computed column": Place(_computed, "computed", ("who", "city", "amount"), ("with_columns",)),
    "two computed columns": Place(_two_computed, "computed", ("who",)),
    "two computed groups": Place(_two_keys, "group", ("who",)),
    "a column of the answer": Place(_answered, "total", ("who", "city", "amount", "mean", "n")),
    "bins": Place(_binned, "bin", ("who", "city", "amount")),
    "a number of each person": Place(_each_person, "total", ("who", "rows"), ("per_person",)),
    "two numbers of each person": Place(_two_of_each_person, "total", ("who",)),
    "the level of sets": Place(_levelled, "level", ("who", "city", "number"), ("grouping_sets",)),
    "a column beside sets": Place(_beside_levels, "beside", ("who", "city", "level")),
    "a column of a public table": Place(_brought, "extra", ("who", "city", "amount"), ("join",)),
    "the key of a public table, in both": Place(_joined_on, "city", ("who", "extra")),
    "the key of a public table": Place(_joined_to, "place", ("who", "city", "extra")),
    "a column of both sides of a union": Place(_put_below, "computed", ("who", "city", "amount"), ("union",)),
    "a column of one side of a union": Place(_below_alone, "computed", ("who", "city", "amount")),
    "a column of a child table": Place(_of_several("beside of visits"), "beside", ("who", "visitor", "id", "town")),
    "a column of a parent table": Place(_of_several("beside of people"), "beside_2", ("who", "visitor", "amount")),
    "the group of a parent table": Place(_of_several("town of people"), "town", ("who", "visitor", "amount", "place")),
    "a foreign key": Place(_of_several("visitor of visits"), "visitor", ("who", "id", "amount", "place")),
    "the key of a parent table": Place(_of_several("id of people"), "id", ("who", "visitor", "amount")),
    "a column of rows that only decide": Place(_kept_by_key, "beside", ("who", "id", "visitor", "town")),
    "a table": Place(_table_called, "people", ("visits", "data", "who", "amount"), ("table",)),
    "a table in SQL": Place(_table_in_sql, "visits", ("people", "data", "who"), ("sql",)),
    "a group in SQL": Place(
        _sql("SELECT NAME, COUNT(*) AS n, SUM(amount) AS s FROM data GROUP BY NAME", "city"), "city", ("who", "n")
    ),
    "a number in SQL": Place(
        _sql("SELECT city, SUM(NAME) AS s, AVG(NAME) AS m FROM data WHERE NAME > 1 GROUP BY city", "amount"),
        "amount", ("who", "city", "s"),
    ),
    "an alias in SQL": Place(
        _sql("SELECT city, SUM(amount) AS NAME, COUNT(*) AS n FROM data GROUP BY city HAVING NAME > -1 ORDER BY n", ""),
        "total", ("who", "city", "amount", "n"),
    ),
    "a column beside ROLLUP": Place(
        _sql("SELECT city, number, COUNT(*) AS n FROM data GROUP BY ROLLUP (city, number)", "beside"),
        "beside", ("who", "city", "level"),
    ),
    "a column beside a stream": Place(_followed("beside"), "beside", ("who", "day"), ("over",)),
    "the days of a stream": Place(_followed("day"), "day", ("who", "amount")),
    "the persons of a stream": Place(_followed("who"), "who", ("day", "amount")),
}  # fmt: skip
"""Every place in which a name may stand."""


def _struct(world: World, name: str) -> tuple[dp.Dataset, Any]:
    """A column of parts, each of which is called as a column is: it does not enter, and may be taken for a table."""
    who, city, amount, number = (list(each) for each in zip(*world.rows, strict=True))
    parts = [{"who": "same", "city": "a", "amount": 1.0, "number": 7}] * len(who)
    made = world.table({name: parts, "who": who, "city": city, "amount": amount, "number": number})
    data = world.dataset({"visits": made}, "who")
    return data, data.where(dp.col("number") < 9).group_by("city", keys=CITIES).agg(**_all_kinds("amount"))


STRUCTS: Mapping[str, Place] = {"a column of parts": Place(_struct, "parts", ("who", "city", "amount"))}
"""Places for engines with such columns."""
