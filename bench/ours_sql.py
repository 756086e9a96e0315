"""TPC-H by dither and by DuckDB itself, as a process of its own: `python -m bench.ours_sql`.

It prints one JSON object: by query what both cost in CPU seconds, or the sentence by which it is refused.
"""

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

import dither as dp
from bench import tpch
from bench.progress import say
from bench.timing import cpu_seconds
from dither.errors import ParameterError

REPETITIONS = 3
THREADS = 2


def main() -> dict[int, dict[str, Any]]:
    files = tpch.tables()
    plain = duckdb.connect()
    plain.execute(f"SET threads = {THREADS}")
    for name, path in files.items():
        plain.execute(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")
    with opened(files) as data:
        return {number: _measured(number, data, plain) for number in tpch.queries()}


def opened(files: dict[str, Path]) -> dp.Dataset:
    return dp.Dataset(
        tables={name: files[name] for name in tpch.PRIVATE},
        public={name: pq.read_table(files[name]) for name in tpch.PUBLIC},
        unit=dp.Person("c_custkey", max_groups=tpch.MAX_GROUPS, max_rows_per_group=tpch.MAX_ROWS_PER_GROUP),
        budget=dp.ApproxDP(10_000, "1e-3"),
        ledger=":memory:",
        foreign_keys=tpch.FOREIGN_KEYS,
        columns=tpch.COLUMNS,
    )


def _measured(number: int, data: dp.Dataset, plain: Any) -> dict[str, Any]:
    say(f"query {number} ...")
    try:
        question = data.sql(tpch.as_asked(number))
    except ParameterError as refusal:
        return {"refused": str(refusal)}
    delta = tpch.DELTA if question.query.keys and question.query.public_keys is None else None
    rows = question.release(epsilon=1, delta=delta).to_arrow().num_rows
    if not rows:
        return {"refused": "no group has enough people to be shown"}
    works = {
        "ours": lambda: question.release(epsilon=1, delta=delta),
        "plain": lambda: plain.sql(tpch.queries()[number]).to_arrow_table(),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(REPETITIONS):
        for who, work in works.items():
            best[who] = min(best[who], cpu_seconds(work))
    return {**best, "rows": rows, "change": tpch.CHANGES.get(number, ("", "", ""))[2]}


if __name__ == "__main__":
    print(json.dumps(main()))
    sys.exit(0)
