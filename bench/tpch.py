"""TPC-H at scale 1 with the customer protected: the tables, the 22 queries, and the one change that some need."""

import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from bench.groupby_case import FOLDER

SCALE = 1
PRIVATE = ("lineitem", "orders", "customer")
PUBLIC = ("part", "partsupp", "supplier", "nation", "region")
SCHEMA = {
    "customer": "c_custkey INTEGER, c_name TEXT, c_address TEXT, c_nationkey INTEGER, c_phone TEXT, c_acctbal FLOAT, "
    "c_mktsegment TEXT, c_comment TEXT",
    "orders": "o_orderkey INTEGER, o_custkey INTEGER, o_orderstatus TEXT, o_totalprice FLOAT, o_orderdate DATE, "
    "o_orderpriority TEXT, o_clerk TEXT, o_shippriority INTEGER, o_comment TEXT",
    "lineitem": "l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, l_quantity FLOAT, "
    "l_extendedprice FLOAT, l_discount FLOAT, l_tax FLOAT, l_returnflag TEXT, l_linestatus TEXT, l_shipdate DATE, "
    "l_commitdate DATE, l_receiptdate DATE, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT",
    "part": "p_partkey INTEGER, p_name TEXT, p_mfgr TEXT, p_brand TEXT, p_type TEXT, p_size INTEGER, p_container TEXT, "
    "p_retailprice FLOAT, p_comment TEXT",
    "partsupp": "ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER, ps_supplycost FLOAT, ps_comment TEXT",
    "supplier": "s_suppkey INTEGER, s_name TEXT, s_address TEXT, s_nationkey INTEGER, s_phone TEXT, s_acctbal FLOAT, "
    "s_comment TEXT",
    "nation": "n_nationkey INTEGER, n_name TEXT, n_regionkey INTEGER, n_comment TEXT",
    "region": "r_regionkey INTEGER, r_name TEXT, r_comment TEXT",
}
FOREIGN_KEYS = {"lineitem.l_orderkey": "orders.o_orderkey", "orders.o_custkey": "customer.c_custkey"}
MAX_GROUPS, MAX_ROWS_PER_GROUP = 4, 200
DELTA = "1e-7"
_DAYS = (date(1992, 1, 1), date(1998, 12, 31))
COLUMNS: dict[str, Any] = {
    "l_returnflag": ["A", "N", "R"],
    "l_linestatus": ["F", "O"],
    "l_shipmode": ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"],
    "o_orderpriority": ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"],
    "l_quantity": (1, 50),
    "l_extendedprice": (0, 105_000),
    "l_discount": (0, "0.1"),
    "l_tax": (0, "0.08"),
    "c_acctbal": (-1_000, 10_000),
    "l_shipdate": _DAYS,
    "o_orderdate": _DAYS,
}
"""What the specification says of columns: public, whatever the rows are."""

_AVERAGE = """(
        SELECT AVG(c_acctbal) FROM customer
        WHERE c_acctbal > 0.00 AND SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17'))"""
_PROFIT = "SUM(amount) AS sum_profit"
CHANGES: dict[int, tuple[str, str, str]] = {
    9: (_PROFIT, "SUM(LEAST(GREATEST(amount, -50000), 105000)) AS sum_profit", "bounds"),
    22: (_AVERAGE, "5000", "the mean is asked for first, and written as a number"),
}
"""The change that a query needs to be answered: what is replaced, by what, and why. Others are asked as they are."""


def tables(folder: Path = FOLDER) -> dict[str, Path]:
    """The Parquet files of all tables; made by tpchgen-cli when they are first asked for."""
    place = folder / f"tpch-{SCALE}"
    found = {name: place / f"{name}.parquet" for name in (*PRIVATE, *PUBLIC)}
    if not all(path.exists() for path in found.values()):
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        unfinished = folder / f"tpch-{SCALE}.{os.getpid()}"
        tool = Path(sys.executable).with_name("tpchgen-cli")
        if not tool.exists():
            raise SystemExit("tpchgen-cli is not installed: pip install tpchgen-cli -c constraints.txt.")
        command = [str(tool), "parquet", "--scale-factor", str(SCALE), "--output-dir", str(unfinished)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        unfinished.rename(place)
    return found


def queries() -> dict[int, str]:
    """The text of each query by its number."""
    parts = re.split(r"^-- (?=\d)", Path(__file__).with_name("tpch.sql").read_text(), flags=re.MULTILINE)[1:]
    return {int(part.split()[0]): part.partition("\n")[2].strip().rstrip(";") for part in parts}


def as_asked(number: int) -> str:
    """The text of a query with the change that it needs."""
    text = queries()[number]
    if number in CHANGES:
        was, now, _ = CHANGES[number]
        assert text.count(was) == 1, f"query {number} no longer has what is replaced."
        text = text.replace(was, now)
    return text


def with_days_as_texts(text: str) -> str:
    """For peers that do not read days as the standard writes them: `DATE '1994-01-01' + INTERVAL '1' YEAR`."""
    return re.sub(r"DATE '([\d-]+)'(?: ([+-]) INTERVAL '(\d+)' (DAY|MONTH|YEAR))?", _moved, text)


def _moved(found: "re.Match[str]") -> str:
    """A day and an interval, as a text of the day."""
    day = date.fromisoformat(found[1])
    if found[2] is not None:
        number = int(found[3]) * (1 if found[2] == "+" else -1)
        months = {"DAY": 0, "MONTH": 1, "YEAR": 12}[found[4]] * number
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        day = day + timedelta(days=number) if not months else date(year, month + 1, day.day)
    return f"'{day.isoformat()}'"


if __name__ == "__main__":
    print(tables()["lineitem"].parent)
