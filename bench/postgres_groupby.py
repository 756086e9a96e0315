"""Ours and the plain query on PostgreSQL: `python -m bench.postgres_groupby ROWS`.

Both ask one server, which starts with this process, and whose processes are counted. Prints both costs.
"""

import ctypes
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial, reduce
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from bench import meter
from bench.groupby_case import FOLDER, REPETITIONS, visits
from bench.ours_groupby import counts_and_sums, dataset
from bench.plain_groupby import QUERY
from tests.servers import postgres_server

_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER: a server that leaves its parent becomes a child of this process, as which it is measured."""


def main(rows: int) -> dict[str, meter.Cost]:
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres_server() as url,
        psycopg.connect(url, autocommit=True) as own,
    ):
        _fill(own, visits(rows))
        question = counts_and_sums(dataset(url, Path(folder), table="visits"))
        asked: dict[str, Callable[[], object]] = {"ours": question, "plain": partial(_plain, own)}
        costs: dict[str, list[meter.Cost]] = {name: [] for name in asked}
        for _ in range(REPETITIONS):  # in turn
            for name, ask in asked.items():
                costs[name].append(meter.cost_of(ask, repetitions=1))
        return {name: reduce(meter.Cost.best, each) for name, each in costs.items()}


def _plain(connection: Any) -> None:
    connection.execute(QUERY.format(table="visits")).fetchall()


def _fill(connection: Any, path: Path) -> None:
    """The rows of the file, and what the server notes of a table that has been there for a while."""
    connection.execute("CREATE TABLE visits (user_id bigint, g integer, spend double precision)")
    with _written(path) as text:
        connection.execute(f"COPY visits FROM '{text}' (FORMAT csv)")
    connection.execute("VACUUM (ANALYZE, FREEZE) visits")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    text = FOLDER / f"{path.stem}.csv"
    duckdb.sql(f"COPY (SELECT user_id, g, spend FROM '{path}') TO '{text}' (FORMAT csv, HEADER false)")
    try:
        yield text
    finally:
        text.unlink()


if __name__ == "__main__":
    print(json.dumps({name: asdict(cost) for name, cost in main(int(sys.argv[1])).items()}))
