"""A Spark session on this machine, or on a cluster of it, the same for ours and for the plain query."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
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
def session(master: str = "local[2]", settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Any]:
    """On two cores of this process, or at the master of a cluster."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("dither bench")
    for name, value in (SETTINGS | dict(settings)).items():
        builder = builder.config(name, value)
    running = builder.getOrCreate()
    try:
        yield running
    finally:
        running.stop()
