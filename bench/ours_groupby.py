"""dither's private group-by, as a process of its own: `python -m bench.ours_groupby ENGINE ROWS`."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

import dither as dp
from bench import meter, spark
from bench.groupby_case import DELTA, EPSILON, GROUPS, HIGH, MAX_GROUPS, MAX_ROWS_PER_GROUP, REPETITIONS, visits


def main(case: str, rows: int) -> meter.Cost:
    with tempfile.TemporaryDirectory() as folder:
        return CASES[case](rows, Path(folder))


def duckdb(rows: int, folder: Path) -> meter.Cost:
    return _released(dataset(visits(rows), folder))


def on_spark(rows: int, folder: Path) -> meter.Cost:
    with spark.session() as session:
        return _released(dataset(session.read.parquet(str(visits(rows))), folder))


def dataset(source: Any, folder: Path) -> dp.Dataset:
    return dp.Dataset(
        source,
        unit=dp.Person("user_id", max_groups=MAX_GROUPS, max_rows_per_group=MAX_ROWS_PER_GROUP),
        budget=dp.ApproxDP(1000 * EPSILON, "1e-3"),
        ledger=folder / "bench.ledger",
        identity="visits",
    )


def _released(data: dp.Dataset) -> meter.Cost:
    grouped = data.group_by("g", keys=range(GROUPS))
    question = grouped.agg(visits=dp.count(), spend=dp.sum("spend", bounds=(0, HIGH)))
    released = []
    cost = meter.cost_of(lambda: released.append(question.release(epsilon=EPSILON)), repetitions=REPETITIONS)
    assert all(release.to_arrow().num_rows == GROUPS for release in released)
    return cost


def first_opening(rows: int, folder: Path) -> meter.Cost:
    """Nothing is remembered of the file, so all columns in which the reader can fail are looked at."""
    path, turns = visits(rows, texts=True), count()

    def opened() -> None:
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache {next(turns)}")
        dataset(path, folder).close()

    return meter.cost_of(opened, repetitions=1 + REPETITIONS)


def later_opening(rows: int, folder: Path) -> meter.Cost:
    path = visits(rows, texts=True)
    os.environ["XDG_CACHE_HOME"] = str(folder)

    def opened() -> None:
        dataset(path, folder).close()

    opened()
    return meter.cost_of(opened, repetitions=REPETITIONS, calls=10)


def found_groups(groups: int, folder: Path) -> meter.Cost:
    """Noise and intervals for groups that were found in the data, when the engine is done."""
    return _drawn(groups, folder, keys=None, delta=DELTA)


def public_groups(groups: int, folder: Path) -> meter.Cost:
    """The same for public groups, which are put in order and filled up with zeros as well."""
    return _drawn(groups, folder, keys=range(groups), delta=None)


def _drawn(groups: int, folder: Path, **asked: Any) -> meter.Cost:
    """A whole release whose engine has its exact answer ready."""
    data = dataset(pa.table({"user_id": [1], "g": [1], "spend": [1.0]}), folder)
    engine: Any = data.origin._source.engine
    engine.fetch = _ready(groups, engine.fetch)
    question = data.group_by("g", keys=asked["keys"]).agg(visits=dp.count(), spend=dp.sum("spend", bounds=(0, HIGH)))
    uploaded = engine.upload(pa.table({"g": [1]}))
    engine.upload = lambda table: uploaded

    def release() -> None:
        answer = question.release(epsilon=EPSILON, delta=asked["delta"]).to_arrow()
        assert answer.num_rows > groups / 2
        assert "spend_high" in answer.column_names

    release()
    return meter.cost_of(release, repetitions=REPETITIONS)


def _ready(groups: int, fetch: Callable[[Any], Iterator[pa.RecordBatch]]) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    """An engine's `fetch` that answers at once: the types are those of its real answer, the values are made up."""
    kept: list[pa.RecordBatch] = []

    def answer(expression: Any) -> Iterator[pa.RecordBatch]:
        if not kept:
            types = next(fetch(expression)).schema
            columns = [pa.array(range(groups)) if each.name == "g" else _made_up(groups) for each in types]
            arrays = [column.cast(each.type) for column, each in zip(columns, types, strict=True)]
            kept.extend(pa.table(arrays, schema=types).to_batches(max_chunksize=1 << 16))
        yield from kept

    return answer


def _made_up(groups: int) -> pa.Array:
    return pa.array([1000 + 7 * place % 100_000 for place in range(groups)])


CASES: dict[str, Callable[[int, Path], meter.Cost]] = {
    "duckdb": duckdb,
    "spark": on_spark,
    "first opening": first_opening,
    "later opening": later_opening,
    "found groups": found_groups,
    "public groups": public_groups,
}

if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2])).to_json())
