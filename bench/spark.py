"""A Spark session on this machine, the same for ours and for the plain query."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.log.level": "OFF",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def session() -> Iterator[Any]:
    """On two cores."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("dither bench")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    running = builder.getOrCreate()
    try:
        yield running
    finally:
        running.stop()
