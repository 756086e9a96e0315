"""dither's private group-by, as a process of its own: `python -m bench.ours_groupby ENGINE ROWS`."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

import dither as dp
from bench import meter, spark
from bench.groupby_case import (
    DELTA,
    EPSILON,
    FEW_GROUPS,
    GROUPS,
    HIGH,
    MANY_GROUPS,
    MAX_GROUPS,
    MAX_ROWS_PER_GROUP,
    REPETITIONS,
    limited,
    visits,
)


def main(case: str, rows: int) -> meter.Cost:
    with tempfile.TemporaryDirectory() as folder:
        return CASES[case](rows, Path(folder))


def duckdb(rows: int, folder: Path) -> meter.Cost:
    return _released(dataset(visits(rows), folder))


def on_spark(rows: int, folder: Path) -> meter.Cost:
    with spark.session() as session:
        return _released(dataset(session.read.parquet(str(visits(rows))), folder))


def dataset(source: Any, folder: Path, **more: Any) -> dp.Dataset:
    return dp.Dataset(
        source,
        **more,
        unit=dp.Person("user_id", max_groups=MAX_GROUPS, max_rows_per_group=MAX_ROWS_PER_GROUP),
        budget=dp.ApproxDP(1000 * EPSILON, "1e-3"),
        ledger=folder / "bench.ledger",
        identity="visits",
    )


def within_memory(rows: int, folder: Path) -> meter.Cost:
    """A table of a database file, on a connection of which the user has limited the memory."""
    with limited(rows) as connection:
        return _released(dataset(ibis.duckdb.from_connection(connection).table("visits"), folder))


def distribution(rows: int, folder: Path) -> meter.Cost:
    """A mean, a median and a 0.9 quantile of few groups."""
    grouped = dataset(visits(rows, groups=FEW_GROUPS), folder).group_by("g", keys=range(FEW_GROUPS))
    bounds = (0, HIGH)
    question = grouped.agg(mean=dp.mean("spend", bounds), ends=dp.quantile("spend", ["0.5", "0.9"], bounds))
    return meter.cost_of(lambda: question.release(epsilon=EPSILON), repetitions=REPETITIONS)


def found_keys(rows: int, folder: Path) -> meter.Cost:
    """Groups that the data names, of which those of many people are found."""
    grouped = dataset(visits(rows, groups=MANY_GROUPS), folder).group_by("g")
    question = grouped.agg(visits=dp.count(), spend=dp.sum("spend", bounds=(0, HIGH)))
    return meter.cost_of(lambda: question.release(epsilon=EPSILON, delta=DELTA), repetitions=REPETITIONS)


def _released(data: dp.Dataset) -> meter.Cost:
    return meter.cost_of(counts_and_sums(data), repetitions=REPETITIONS)


def counts_and_sums(data: dp.Dataset) -> Callable[[], None]:
    """The question of all engines: asks it, charges it and releases it."""
    grouped = data.group_by("g", keys=range(GROUPS))
    question = grouped.agg(visits=dp.count(), spend=dp.sum("spend", bounds=(0, HIGH)))

    def release() -> None:
        assert question.release(epsilon=EPSILON).to_arrow().num_rows == GROUPS

    return release


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
    "distribution": distribution,
    "found keys": found_keys,
    "within memory": within_memory,
    "first opening": first_opening,
    "later opening": later_opening,
    "found groups": found_groups,
    "public groups": public_groups,
}

if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2])).to_json())
