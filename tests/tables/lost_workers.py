"""A Spark cluster loses a worker, or its only executor, while a question runs. Run by test_spark_cluster.py."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import dither as dp
from dither.ledger import Ledger
from tests.spark_cluster import SparkCluster, until

PERSONS, GROUPS, KEPT = 60, 6, 2


class Begun(NamedTuple):
    """A task that has come to the gate: which part of the table it reads, at which attempt, and where."""

    part: int
    attempt: int
    place: str


class Gate:
    """Where it is shut, tasks that come to it say so in a folder that all see, and wait until it is open."""

    def __init__(self, folder: Path) -> None:
        self.bar, self.seen = folder / "shut", folder / "seen"
        self.seen.mkdir()

    def before(self, frame: Any) -> Any:
        """The same rows, behind the gate."""
        bar, seen = str(self.bar), str(self.seen)

        def passed(batches: Any) -> Any:
            """Runs on the executors, which know nothing of this module."""
            import os
            import time

            from pyspark import TaskContext

            if os.path.exists(bar):
                task: Any = TaskContext.get()
                with open(os.path.join(seen, f"{task.partitionId()} {task.taskAttemptId()}"), "w") as note:
                    note.write(os.getcwd())
                while os.path.exists(bar):
                    time.sleep(0.05)
            yield from batches

        return frame.mapInArrow(passed, frame.schema)

    @property
    def begun(self) -> list[Begun]:
        """The tasks that came while it was shut."""
        found = []
        for note in self.seen.iterdir():
            part, attempt = note.name.split()
            if place := note.read_text():  # otherwise it is being written
                found.append(Begun(int(part), int(attempt), place))
        return found


def visits(folder: Path) -> Path:
    """Two files: each person has been in each of the groups, with a row in each file."""
    folder.mkdir()
    for part in range(2):
        rows = [(who, group, 100.0) for who in range(PERSONS) for group in range(GROUPS)]
        columns = dict(zip(("who", "g", "spend"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), folder / f"{part}.parquet")
    return folder


def executors(spark: Any) -> int:
    """How many the driver knows."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def resized(cluster: SparkCluster, spark: Any, workers: int) -> None:
    cluster.resize(workers)
    until(lambda: executors(spark) == workers, f"{workers} executors")


def asked_while(spark: Any, folder: Path, fails: Callable[[Gate], None]) -> Gate:
    """Ask a question on the cluster; when its tasks have begun, act out the failure, then let them go on.

    The gate stands behind a shuffle. What lies on a lost executor is then not only its task, but also what it had
    brought for all others.
    """
    gate = Gate(folder)
    rows = spark.read.parquet(str(visits(folder / "visits"))).repartition(2, "who")
    unit = dp.Person("who", max_groups=KEPT, max_rows_per_group=1)
    ledger = folder / "visits.ledger"
    with dp.Dataset(gate.before(rows), unit=unit, budget=dp.PureDP(10**8), ledger=ledger, identity="visits") as data:
        grouped = data.group_by("g", keys=range(GROUPS))
        question = grouped.agg(people=dp.count_people(), visits=dp.count(), spend=dp.sum("spend", bounds=(0, 100)))
        gate.bar.touch()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(question.release, epsilon=10**7)
            try:
                fails(gate)
            except BaseException:
                spark.sparkContext.cancelAllJobs()  # which might wait for executors that never come
                raise
            finally:
                gate.bar.unlink()
            answer = asked.result().to_arrow()
    # Noise of a scale below 10^-5 rounds to 0 but for a chance below e^(-10^4). Whatever the salt, all keep two groups.
    for name, each in (("people", 1), ("visits", 1), ("spend", 100)):
        assert round(sum(answer[name].to_pylist())) == KEPT * PERSONS * each, name
    assert answer["g"].to_pylist() == list(range(GROUPS))
    found = Ledger(ledger)
    account = found.account("visits")
    assert account.charges == 1
    assert account.spent == {"epsilon": 10**7, "delta": 0}
    assert (account.failures.asked, account.failures.answered) == (1, 1)
    found.verify()
    return gate


def test_a_worker_is_lost_while_a_question_runs(cluster: SparkCluster, spark: Any, tmp_path: Path) -> None:
    """The other one does its work again, from the files on."""
    resized(cluster, spark, 2)
    lost = cluster.workers[0]

    def fails(gate: Gate) -> None:
        until(lambda: len({task.part for task in gate.begun}) == 2, "a task on each of two executors")
        cluster.lose(lost)
        until(lambda: executors(spark) == 1, "an executor that is missed")

    gate = asked_while(spark, tmp_path, fails)
    assert sum(Path(task.place).is_relative_to(lost.folder) for task in gate.begun) == 1
    assert executors(spark) == 1


def test_the_only_executor_is_lost_while_a_question_runs(cluster: SparkCluster, spark: Any, tmp_path: Path) -> None:
    """Its worker starts another one, which does all of the work again."""
    resized(cluster, spark, 1)

    def fails(gate: Gate) -> None:
        until(lambda: gate.begun, "a task on the only executor")
        before = {task.place for task in gate.begun}
        cluster.workers[0].kill_executors()
        until(lambda: {task.place for task in gate.begun} - before, "a task on another executor")

    asked_while(spark, tmp_path, fails)
