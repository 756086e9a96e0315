"""The engines' own group-by, with nothing private: `python -m bench.plain_groupby ENGINE ROWS`."""

import sys
from pathlib import Path
from typing import Any

from bench import meter, spark
from bench.groupby_case import REPETITIONS, visits

QUERY = "SELECT g, COUNT(*), SUM(spend), COUNT(DISTINCT user_id) FROM {table} GROUP BY g"


def duckdb(path: Path) -> meter.Cost:
    import duckdb as engine

    connection: Any = engine.connect()
    query = QUERY.format(table=f"'{path}'")
    return meter.cost_of(lambda: connection.sql(query).to_arrow_table(), repetitions=REPETITIONS)


def on_spark(path: Path) -> meter.Cost:
    with spark.session() as session:
        session.read.parquet(str(path)).createOrReplaceTempView("visits")
        return meter.cost_of(lambda: session.sql(QUERY.format(table="visits")).toArrow(), repetitions=REPETITIONS)


ENGINES = {"duckdb": duckdb, "spark": on_spark}

if __name__ == "__main__":
    print(ENGINES[sys.argv[1]](visits(int(sys.argv[2]))).to_json())
