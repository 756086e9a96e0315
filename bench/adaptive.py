"""The topic `adaptive`: workloads, plans, and answers to questions that depend on earlier answers."""

from collections.abc import Iterator

from bench import adaptive_oracle, plans, workloads
from bench.row import Row


def rows() -> Iterator[Row]:
    yield from workloads.rows()
    yield from plans.rows()
    yield from adaptive_oracle.rows()
