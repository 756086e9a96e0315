"""Tumult Analytics on local Spark, as a process of its own: `python -m bench.peers.tumult_groupby PATH`."""

import os
import sys

from pyspark.sql import DataFrame, SparkSession
from tmlt.analytics import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

from bench import meter
from bench.groupby_case import DELTA, EPSILON, GROUPS, HIGH, MAX_GROUPS, MAX_ROWS_PER_GROUP
from bench.spark import SETTINGS


def release(visits: DataFrame) -> None:
    """A count and a sum, each for half of ε: one query of Tumult gives one number per group."""
    session = Session.from_dataframe(ApproxDPBudget(EPSILON, DELTA), "visits", visits, AddRowsWithID("user_id"))
    keys = KeySet.from_dict({"g": list(range(GROUPS))})
    bounded = (
        QueryBuilder("visits")
        .enforce(MaxGroupsPerID("g", MAX_GROUPS))
        .enforce(MaxRowsPerGroupPerID("g", MAX_ROWS_PER_GROUP))
    )
    for query in (bounded.groupby(keys).count(), bounded.groupby(keys).sum("spend", 0, HIGH)):
        answer = session.evaluate(query, ApproxDPBudget(EPSILON / 2, DELTA / 2)).toPandas()
        assert len(answer) == GROUPS


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers need Tumult as well
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        if name != "spark.sql.ansi.enabled":  # Tumult is made for the other mode
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.read.parquet(sys.argv[1])
    print(meter.cost_of(lambda: release(frame), repetitions=1).to_json())
    spark.stop()
