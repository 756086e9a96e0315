"""The table of the comparison of private group-bys, and the question that everyone is asked.

Visits: who (`user_id`), where (`g`, one of the public groups, the first of them the most popular) and what they spent.
Everyone gives a noisy count and a noisy sum for each group, at one ε, with the same bounds on what one person adds.

A second table has a text and a time as well (`place`, `at`): columns in which DuckDB's reader can fail.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent / ".cache"
PEOPLE_PER_ROW = 0.1
GROUPS = 1000
FEW_GROUPS, MANY_GROUPS = 100, 10**6
MEMORY_PER_ROW = 20
"""Bytes of the limit: 2 GB at 10⁸ rows."""
MAX_GROUPS = 5
MAX_ROWS_PER_GROUP = 3
HIGH = 200
EPSILON = 1
DELTA = 1e-8
REPETITIONS = 3

_CHUNK = 10**6


def visits(rows: int, folder: Path = FOLDER, *, groups: int = GROUPS, texts: bool = False) -> Path:
    """A Parquet file of so many visits, the same in every run; written when it is first asked for."""
    import pyarrow.parquet as pq  # not in the peers' environment, where the file is only read

    named = f"{rows}{'' if groups == GROUPS else f'-{groups}'}{'-texts' if texts else ''}"
    path = folder / f"visits-{named}.parquet"
    drawn = partial(_with_texts if texts else _drawn, groups=groups)
    if not path.exists():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        unfinished = path.with_suffix(f".{os.getpid()}")
        chunks = [min(_CHUNK, rows - start) for start in range(0, rows, _CHUNK)]
        with pq.ParquetWriter(unfinished, drawn(0, 0, 1).schema) as writer:
            for index, size in enumerate(chunks):
                writer.write_table(drawn(index, size, max(1, round(rows * PEOPLE_PER_ROW))))
        unfinished.rename(path)
    return path


@contextmanager
def limited(rows: int) -> Iterator[Any]:
    """A connection to a DuckDB file with the table `visits`, with little memory: what is more is spilled."""
    import duckdb

    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        file = f"{folder}/visits.duckdb"
        with duckdb.connect(file) as connection:
            connection.execute(f"CREATE TABLE visits AS FROM '{visits(rows)}'")
        limit = f"{MEMORY_PER_ROW * rows // 10**6}MB"
        with duckdb.connect(file, config={"memory_limit": limit, "temp_directory": f"{folder}/spilled"}) as connection:
            yield connection


def _drawn(chunk: int, size: int, people: int, groups: int):  # type: ignore[no-untyped-def]  # an Arrow table
    import pyarrow as pa

    random = np.random.default_rng([20, chunk])
    return pa.table(
        {
            "user_id": random.integers(people, size=size),
            "g": (random.random(size) ** 2 * groups).astype(np.int32),
            "spend": random.integers(100 * HIGH, size=size) / 100,
        }
    )


def _with_texts(chunk: int, size: int, people: int, groups: int):  # type: ignore[no-untyped-def]  # an Arrow table
    import pyarrow as pa

    table = _drawn(chunk, size, people, groups)
    names = pa.array([f"place {group}" for group in range(groups)])
    at = np.random.default_rng([21, chunk]).integers(1_600_000_000_000, 1_700_000_000_000, size=size)
    return table.append_column("place", names.take(table["g"])).append_column("at", pa.array(at, pa.timestamp("ms")))


if __name__ == "__main__":
    print(visits(int(sys.argv[1])))
