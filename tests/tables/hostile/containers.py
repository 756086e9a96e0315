"""Containers: where columns of every type lie, and a table of small worlds in each of them.

A world has five people with ordinary values. In the other table of a pair somebody else came to each world and brought
one hostile value of each type. Worlds share nobody and no group, so that each is a pair of neighbours of its own, and
one question answers for all of them.
"""

from __future__ import annotations

import csv
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from tests.tables.hostile import arrow_types, sql_types
from tests.tables.hostile.operators import world_name
from tests.tables.hostile.values import Sql, Typed

__all__ = ["CONTAINERS", "ORDINARY", "Container", "Row", "engine_of", "people"]

ORDINARY = 3
"""How many ordinary values a type has: values are known by their number, and hostile ones come after these."""
_HOME = [
    ("p0", "aab", (0, 1, 2)),
    ("p1", "ab", (1, 0)),
    ("p2", "bc", (1, 2)),
    ("p3", "c", (0,)),
    ("p4", "abca", (2, 2, 2, 0)),
]
"""People of every world: the cities of their rows, and the numbers of the values there."""
_BROUGHT = "aaabcd"
_NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Row:
    """A row by the number of its values, which it has in all columns."""

    world: int
    who: str
    city: str
    value: int


def people(worlds: Sequence[int], *, hostile: bool, one_row: bool = False) -> list[Row]:
    """The rows of each world; with the `hostile` person who has rows in four groups, or `one_row` only."""
    rows = [
        Row(world, f"{world_name(world)} {who}", city, value)
        for world in worlds
        for who, cities, values in _HOME
        for city, value in zip(cities, values, strict=True)
    ]
    brought = [
        Row(world, f"{world_name(world)} new", city, ORDINARY + world)
        for world in worlds
        for city in ("b" if one_row else _BROUGHT)
    ]
    return rows + brought if hostile else rows


class Container(ABC):
    """Makes tables of given types and rows; a dataset is opened by what `source` gives."""

    name: str

    def __init__(self, folder: Path, server: Any = None) -> None:
        """In a folder for files; `server` is a URL or a session, where the engine is a server."""
        self.folder, self.server = folder, server

    @classmethod
    @abstractmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        """The types of columns that it can hold, with `extra` random values where these are numbers."""

    @abstractmethod
    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        """A table with the columns world, w, who, city, c0, c1, …, as a dataset is given it."""

    def close(self) -> None:  # noqa: B027  # most have none
        """Close its connections."""

    def may_refuse(self, typed: Typed, value: Any) -> bool:
        """Whether a table with this value is refused when it is opened, before there is a budget."""
        return False

    def fresh(self) -> str:
        """A name that no other table has."""
        return f"hostile_{next(_NUMBERS)}"


def _values(typed: Typed, rows: Sequence[Row]) -> dict[int, Any]:
    """The value of each number that rows have; an ordinary one where the type has no more hostile ones."""
    hostile = list(typed.hostile.values())
    found = {}
    for number in {row.value for row in rows}:
        at = number - ORDINARY
        found[number] = hostile[at] if 0 <= at < len(hostile) else typed.ordinary[max(number, 0) % len(typed.ordinary)]
    return found


def _said(value: Any, of: str) -> str:
    if value is None:
        return f"CAST(NULL AS {of})"
    if isinstance(value, Sql):
        return f"CAST({value.text} AS {of})"
    quoted = value.replace("'", "''")
    return f"CAST('{quoted}' AS {of})"


class _InSql(Container):
    """Tables that are made by SQL."""

    text = "VARCHAR"
    kind = "TABLE"

    def run(self, statement: str) -> None:
        """Execute a statement."""
        raise NotImplementedError

    def said(self, value: Any, of: str) -> str:
        """A value as an expression."""
        return _said(value, of)

    def known(self, name: str, values: Sequence[Mapping[int, Any]]) -> str:
        """The table of values of each number, as it is joined to the rows that have them."""
        return name

    def made(self, types: Sequence[Typed], rows: Sequence[Row]) -> str:
        """The name of a new table: the values of each number, joined to the rows that have them."""
        name = self.fresh()
        values = [_values(typed, rows) for typed in types]
        columns = ", ".join(f"c{at} {typed.type}" for at, typed in enumerate(types))
        self.run(f"CREATE TABLE {name}_values (number INT{', ' if columns else ''}{columns})")
        lines = []
        for number in sorted({row.value for row in rows}):
            pairs = zip(values, types, strict=True)
            lines.append(f"({', '.join([str(number), *(self.said(of[number], typed.type) for of, typed in pairs)])})")
        if lines:
            self.run(f"INSERT INTO {name}_values VALUES {', '.join(lines)}")
        self.run(
            f"CREATE TABLE {name}_people (world {self.text}, w INT, who {self.text}, city {self.text}, number INT)"
        )
        said = [f"('{world_name(row.world)}', {row.world}, '{row.who}', '{row.city}', {row.value})" for row in rows]
        if said:
            self.run(f"INSERT INTO {name}_people VALUES {', '.join(said)}")
        listed = "".join(f", v.c{at}" for at in range(len(types)))
        both = f"{name}_people p JOIN {self.known(f'{name}_values', values)} v ON p.number = v.number"
        self.run(f"CREATE {self.kind} {name} AS SELECT p.world, p.w, p.who, p.city{listed} FROM {both}")
        return name


class DuckDBTable(_InSql):
    """A table of somebody's own DuckDB connection, as an Ibis table."""

    name = "DuckDB table"

    def __init__(self, folder: Path, server: Any = None) -> None:
        super().__init__(folder, ibis.duckdb.connect())

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return sql_types.duckdb_types(choose, extra)

    def run(self, statement: str) -> None:
        self.server.raw_sql(statement)

    def said(self, value: Any, of: str) -> str:
        return super().said(None if isinstance(value, bytes) else value, of)

    def known(self, name: str, values: Sequence[Mapping[int, Any]]) -> str:
        """With texts that are not UTF-8, which no expression of DuckDB makes, but a table of Arrow may hold."""
        found = name
        for at, each in enumerate(values):
            raw = {number: value for number, value in each.items() if isinstance(value, bytes)}
            if raw:
                texts = pa.array(list(raw.values())).view(pa.string())
                self.server.con.register(f"{name}_{at}", pa.table({"number": list(raw), "text": texts}))
                both = f"coalesce(v.c{at}, r.text) AS c{at}"
                found = f"(SELECT v.* REPLACE ({both}) FROM {found} v LEFT JOIN {name}_{at} r USING (number))"
        return found

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        name = self.made(types, rows)
        return {"source": self.server.table(name), "identity": name}


class _InArrow(Container):
    """Tables that are made of Arrow columns."""

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return arrow_types.arrow_types(choose, extra)

    def made(self, types: Sequence[Typed], rows: Sequence[Row]) -> pa.Table:
        """The table in memory."""
        columns: dict[str, Any] = {
            "world": pa.array([world_name(row.world) for row in rows], type=pa.string()),
            "w": pa.array([row.world for row in rows], type=pa.int64()),
            "who": pa.array([row.who for row in rows], type=pa.string()),
            "city": pa.array([row.city for row in rows], type=pa.string()),
        }
        for at, typed in enumerate(types):
            values = _values(typed, rows)
            columns[f"c{at}"] = arrow_types.column(typed, [values[row.value] for row in rows])
        return pa.table(columns)


def _is_writable(typed: Typed) -> bool:
    values = arrow_types.column(typed, [*typed.ordinary, *typed.hostile.values()])
    try:
        pq.write_table(pa.table({"x": values}), pa.BufferOutputStream())
    except pa.ArrowException:
        return False
    return True


class ArrowFrame(_InArrow):
    """A table of Arrow."""

    name = "Arrow frame"

    def may_refuse(self, typed: Typed, value: Any) -> bool:
        return arrow_types.is_no_text(typed, value)

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        return {"source": self.made(types, rows), "identity": self.fresh()}


class PolarsFrame(_InArrow):
    """A frame of Polars; decimals of 256 bits and texts that are not UTF-8 it does not know."""

    name = "Polars frame"

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return [
            Typed(
                each.name,
                each.type,
                each.ordinary,
                {name: value for name, value in each.hostile.items() if not arrow_types.is_no_text(each, value)},
            )
            for each in super().types(choose, extra)
            if not pa.types.is_decimal256(each.type)
        ]

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        return {"source": pl.from_arrow(self.made(types, rows)), "identity": self.fresh()}


class ParquetFile(_InArrow):
    """A file as pyarrow writes it; types that it cannot write are left out."""

    name = "Parquet file"

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return [typed for typed in super().types(choose, extra) if _is_writable(typed)]

    def may_refuse(self, typed: Typed, value: Any) -> bool:
        """Texts that are not UTF-8, and times whose microseconds have more than 64 bits: its reader fails on them."""
        if pa.types.is_timestamp(typed.type) and value is not None:
            ticks = {"s": 10**6, "ms": 10**3}.get(typed.type.unit, 1)
            return not -(2**63) < value * ticks < 2**63
        return arrow_types.is_no_text(typed, value)

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        path = self.folder / f"{self.fresh()}.parquet"
        pq.write_table(self.made(types, rows), path)
        return {"source": path}


class CsvFile(_InArrow):
    """A file of separated values."""

    name = "CSV file"

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return arrow_types.text_types()

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        path = self.folder / f"{self.fresh()}.csv"
        values = [_values(typed, rows) for typed in types]
        with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["world", "w", "who", "city", *(f"c{at}" for at in range(len(types)))])
            for row in rows:
                own = [world_name(row.world), row.world, row.who, row.city]
                writer.writerow([*own, *(value[row.value] for value in values)])
        return {"source": path}


class PandasFrame(Container):
    """A frame of pandas."""

    name = "pandas frame"

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return arrow_types.pandas_types()

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "world": pd.Series([world_name(row.world) for row in rows], dtype="str"),
            "w": pd.Series([row.world for row in rows], dtype="int64"),
            "who": pd.Series([row.who for row in rows], dtype="str"),
            "city": pd.Series([row.city for row in rows], dtype="str"),
        }
        for at, typed in enumerate(types):
            values = _values(typed, rows)
            columns[f"c{at}"] = pd.Series([values[row.value] for row in rows], dtype=typed.type)
        return {"source": pd.DataFrame(columns), "identity": self.fresh()}


class PostgresTable(_InSql):
    """A table of a PostgreSQL server, by its URL; `server` is the URL."""

    name = "PostgreSQL table"
    text = "text"

    def __init__(self, folder: Path, server: Any = None) -> None:
        super().__init__(folder, server)
        self._connection = psycopg.connect(server, autocommit=True)
        if not self._connection.execute("SELECT to_regtype('hostile_mood')").fetchone()[0]:  # type: ignore[index]
            for statement in sql_types.postgres_setup():
                self.run(statement)

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return sql_types.postgres_types(choose, extra)

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def close(self) -> None:
        self._connection.close()

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        return {"source": self.server, "table": self.made(types, rows)}


class PostgresView(PostgresTable):
    """A view of a PostgreSQL server."""

    name = "PostgreSQL view"
    kind = "VIEW"


class PostgresIbis(PostgresTable):
    """A table of somebody's own PostgreSQL connection, as an Ibis table."""

    name = "PostgreSQL Ibis table"

    def __init__(self, folder: Path, server: Any = None) -> None:
        super().__init__(folder, server)
        self._backend = ibis.connect(server)

    def close(self) -> None:
        self._backend.disconnect()
        super().close()

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        name = self.made(types, rows)
        return {"source": self._backend.table(name), "identity": name}


class SparkTable(_InSql):
    """A view of a Spark session; `server` is the session."""

    name = "Spark table"

    def __init__(self, folder: Path, server: Any = None) -> None:
        """In a session of its own that keeps texts with a longest length as types."""
        super().__init__(folder, server.newSession())
        self.server.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")

    @classmethod
    def types(cls, choose: random.Random, extra: int = 0) -> list[Typed]:
        return sql_types.spark_types(choose, extra)

    def said(self, value: Any, of: str) -> str:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'") if isinstance(value, str) else value
        return f"CAST('{escaped}' AS {of})" if isinstance(value, str) else _said(value, of)

    def run(self, statement: str) -> None:
        self.server.sql(statement)

    def made(self, types: Sequence[Typed], rows: Sequence[Row]) -> str:
        """Of values in the query itself: a temporary view holds no rows."""
        name = self.fresh()
        values = [_values(typed, rows) for typed in types]
        lines = []
        for number in sorted({row.value for row in rows}) or [0]:
            known = [value.get(number) for value in values]
            said = [self.said(value, typed.type) for value, typed in zip(known, types, strict=True)]
            lines.append(
                f"SELECT {', '.join([f'{number} AS number', *(f'{each} AS c{at}' for at, each in enumerate(said))])}"
            )
        pairs = ", ".join(
            f"('{world_name(row.world)}', {row.world}, '{row.who}', '{row.city}', {row.value})" for row in rows
        )
        persons = pairs or "('', 0, '', '', -1)"
        listed = "".join(f", v.c{at}" for at in range(len(types)))
        self.run(
            f"CREATE TEMPORARY VIEW {name} AS SELECT p.world, p.w, p.who, p.city{listed} "
            f"FROM (VALUES {persons}) p(world, w, who, city, number) JOIN ({' UNION ALL '.join(lines)}) v "
            "ON p.number = v.number"
        )
        return name

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        return {"source": self.server, "table": self.made(types, rows)}


class SparkFrame(SparkTable):
    """A DataFrame of Spark."""

    name = "Spark frame"

    def source(self, types: Sequence[Typed], rows: Sequence[Row]) -> dict[str, Any]:
        return {"source": self.server.table(self.made(types, rows)), "identity": self.fresh()}


CONTAINERS: dict[str, list[type[Container]]] = {
    "duckdb": [DuckDBTable, ArrowFrame, ParquetFile, CsvFile, PandasFrame, PolarsFrame],
    "postgres": [PostgresTable, PostgresView, PostgresIbis],
    "spark": [SparkTable, SparkFrame],
}


def engine_of(kind: type[Container]) -> str:
    """The name of the engine in which a container is."""
    return next(engine for engine, listed in CONTAINERS.items() if kind in listed)
