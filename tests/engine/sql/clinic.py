"""Several private tables and public ones, and the same questions asked of DuckDB itself."""

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import dither as dp

EXACTLY = 10**7
KEYS = {"lines.oid": "orders.oid", "orders.buyer": "people.pid"}
COLUMNS = {
    "city": ["Lyon", "Nice", "Paris"],
    "spend": (0, 100),
    "age": (0, 90),
    "country": ["DE", "FR"],
    "amount": (0, 50),
    "status": ["F", "O"],
}


def clinic(seed: int = 3) -> dict[str, pa.Table]:
    """Visits and people have the person, orders a foreign key to it, lines one to orders; some lead nowhere."""
    draw = random.Random(seed)
    pids = list(range(40))
    orders = [{"oid": 100 + n, "buyer": draw.choice(pids), "status": draw.choice("FO")} for n in range(80)]
    return {
        "visits": pa.Table.from_pylist(
            [{"pid": draw.choice(pids), "city": draw.choice(COLUMNS["city"]), "spend": draw.randrange(200) / 2}
             for _ in range(150)]
        ),
        "people": pa.Table.from_pylist(
            [{"pid": pid, "age": draw.randrange(18, 90), "country": draw.choice(["DE", "FR"])} for pid in pids[:36]]
        ),
        "orders": pa.Table.from_pylist(orders),
        "lines": pa.Table.from_pylist(
            [{"oid": draw.choice(orders)["oid"], "amount": draw.randrange(50)} for _ in range(200)]
        ),
    }  # fmt: skip


PUBLIC = {
    "places": pa.table({"city": ["Lyon", "Paris", "Paris"], "river": ["Rhône", "Seine", "Marne"]}),
    "nations": pa.table({"code": ["DE", "FR"], "nation": ["Germany", "France"]}),
}


def opened(tables: dict[str, Any] | None = None, source: Any = None, **more: Any) -> dp.Dataset:
    """A dataset of all four, of whose people everything counts."""
    given: dict[str, Any] = {
        "tables": clinic() if tables is None else tables,
        "unit": dp.Person("pid", max_groups=10, max_rows_per_group=200),
        "budget": dp.ApproxDP(10**12, "1e-2"),
        "ledger": ":memory:",
        "identity": "clinic",
        "foreign_keys": KEYS,
        "columns": COLUMNS,
        "public": PUBLIC,
    }
    return dp.Dataset(source, **{**given, **more})


def plainly(text: str, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """What DuckDB answers."""
    with duckdb.connect() as connection:
        for name, table in {**tables, **PUBLIC}.items():
            connection.register(name, table)
        found: list[dict[str, Any]] = connection.sql(text).to_arrow_table().to_pylist()
        return found


def same(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> bool:
    """Row by row, numbers up to the grid on which sums are made."""
    return len(mine) == len(theirs) and all(
        (a[name] is None and b[name] is None)
        or (isinstance(b[name], str) and a[name] == b[name])
        or (not isinstance(b[name], str) and abs(float(a[name]) - float(b[name])) <= 1e-3 * max(1, abs(float(b[name]))))
        for a, b in zip(mine, theirs, strict=True)
        for name in b
    )


def files(folder: Path, ending: str) -> dict[str, Path]:
    """The same tables as files."""

    places = {}
    for name, table in clinic().items():
        places[name] = folder / f"{name}.{ending}"
        (pa.csv.write_csv if ending == "csv" else pa.parquet.write_table)(table, places[name])
    return places
