"""The engines' own group-by, with nothing private: `python -m bench.plain_groupby ENGINE ROWS`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import meter, spark
from bench.groupby_case import FEW_GROUPS, MANY_GROUPS, REPETITIONS, limited, visits

SELECT = "SELECT g, COUNT(*), SUM(spend), COUNT(DISTINCT user_id)"
QUERY = SELECT + " FROM {table} GROUP BY g"


def duckdb(path: Path, select: str = SELECT) -> meter.Cost:
    import duckdb as engine

    connection: Any = engine.connect()
    query = f"{select} FROM '{path}' GROUP BY g"
    return meter.cost_of(lambda: connection.sql(query).to_arrow_table(), repetitions=REPETITIONS)


def distribution(rows: int) -> meter.Cost:
    return duckdb(visits(rows, groups=FEW_GROUPS), "SELECT g, AVG(spend), MEDIAN(spend), QUANTILE_CONT(spend, 0.9)")


def within_memory(rows: int) -> meter.Cost:
    with limited(rows) as connection:
        query = QUERY.format(table="visits")
        return meter.cost_of(lambda: connection.sql(query).to_arrow_table(), repetitions=REPETITIONS)


def on_spark(rows: int) -> meter.Cost:
    with spark.session() as session:
        session.read.parquet(str(visits(rows))).createOrReplaceTempView("visits")
        return meter.cost_of(lambda: session.sql(QUERY.format(table="visits")).toArrow(), repetitions=REPETITIONS)


CASES: dict[str, Callable[[int], meter.Cost]] = {
    "duckdb": lambda rows: duckdb(visits(rows)),
    "distribution": distribution,
    "found keys": lambda rows: duckdb(visits(rows, groups=MANY_GROUPS)),
    "within memory": within_memory,
    "spark": on_spark,
}

if __name__ == "__main__":
    print(CASES[sys.argv[1]](int(sys.argv[2])).to_json())
