"""One point of the topic `growth`, as a process of its own: `python -m bench.growth_case ours|plain ROWS GROUPS`.

Or, with a third number, the same on a Spark cluster of so many executors, each of one core in a process of its own.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import dither as dp
from bench import meter, spark
from bench.groupby_case import EPSILON, HIGH, REPETITIONS, visits
from bench.ours_groupby import dataset
from bench.plain_groupby import QUERY
from tests.spark_cluster import spark_cluster

_ONCE = 10**8
"""From so many rows on, one run is enough."""
_ONE_CORE = {"spark.executor.cores": "1", "spark.executor.memory": "512m"}


def ours(source: Any, groups: int, **runs: int) -> meter.Cost:
    with tempfile.TemporaryDirectory() as folder:
        grouped = dataset(source, Path(folder)).group_by("g", keys=range(groups))
        question = grouped.agg(visits=dp.count(), spend=dp.sum("spend", bounds=(0, HIGH)))
        return meter.cost_of(lambda: question.release(epsilon=EPSILON), **runs)


def plain(source: Any, groups: int, **runs: int) -> meter.Cost:
    """DuckDB's own query of a file, or Spark's of a table."""
    connection: Any = duckdb.connect()

    def asked() -> None:
        if isinstance(source, Path):
            answer = connection.sql(QUERY.format(table=f"'{source}'")).to_arrow_table()
        else:
            answer = source.sparkSession.sql(QUERY, table=source).toArrow()
        assert answer.num_rows <= groups

    return meter.cost_of(asked, **runs)


CASES: dict[str, Callable[..., meter.Cost]] = {"ours": ours, "plain": plain}


def main(who: str, rows: int, groups: int, executors: int = 0) -> meter.Cost:
    path = visits(rows, groups=groups)
    runs = {"repetitions": 1 if rows >= _ONCE else REPETITIONS, "calls": max(1, 10**6 // rows)}
    if not executors:
        return CASES[who](path, groups, **runs)
    with spark_cluster(executors) as cluster, spark.session(cluster.url, _ONE_CORE) as session:
        return CASES[who](session.read.parquet(str(path)), groups, **runs)


if __name__ == "__main__":
    print(main(sys.argv[1], *map(int, sys.argv[2:])).to_json())
