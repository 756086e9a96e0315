"""Spark on more than one machine: a standalone cluster whose master, workers and driver are processes of their own.

A process has one Spark at a time, so these tests run others in a process of their own, with a session on the cluster in
place of the one inside the process: the core of what holds on every engine, and questions in the middle of which
executors are lost. At night, everything that is asked of Spark.
"""

from __future__ import annotations

import faulthandler
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import missing, needs_java
from tests.spark_cluster import ON_A_CLUSTER, processes_in, spark_cluster, until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

_ROOT = Path(__file__).parents[2]
_LOST = "tests/tables/lost_workers.py"
_CORE = [
    f"tests/tables/test_every_engine.py::{name}[spark]"
    for name in (
        "test_a06_sum_order",
        "test_a10_a11_infinities_nan_and_null_through_a_clamp",
        "test_c32_keys_are_told_apart_alike",
        "test_c38_one_person_with_many_rows",
        "test_c46_order_of_rows_and_size_of_parts",
        "test_c39_errors_of_the_engine_are_not_repeated",
    )
]
_ALL = [
    "tests/tables/test_every_engine.py",
    "tests/tables/test_spark_values.py",
    "tests/tables/test_sources.py",
    "tests/tables/test_entry.py",
    "tests/engine/test_three_engines.py",
    "tests/engine/test_closing.py",
    "tests/engine/sql/test_every_engine.py",
    "tests/replay/test_engines.py",
]
_LONGEST = 3600
"""Seconds: far more than a busy machine takes."""


def run_on_a_cluster(*arguments: str) -> str:
    """Run tests with a session on a cluster of two workers; the last line that they print."""
    needs_java()
    faulthandler.cancel_dump_traceback_later()  # on a busy machine it takes longer than a test that hangs
    environment = {**os.environ, ON_A_CLUSTER: "2", "PYSPARK_PYTHON": sys.executable}
    options = ["-q", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=0"]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *arguments], cwd=_ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=_LONGEST)
        except BaseException:
            _interrupt(process)
            raise
    assert process.returncode == 0, said[-20_000:]
    return said.splitlines()[-1]


def _interrupt(process: subprocess.Popen[str]) -> None:
    """So that it stops its cluster; if it does not listen, the kernel stops the cluster with it."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def test_the_core_of_the_suite_and_lost_executors() -> None:
    last = run_on_a_cluster(*_CORE, _LOST)
    assert re.match(rf"{len(_CORE) + 2} passed\b(?!.*skipped)", last), last


@pytest.mark.nightly
def test_everything_that_is_asked_of_spark() -> None:
    last = run_on_a_cluster("-k", "spark or three_engines", *_ALL)
    assert int(re.findall(r"(\d+) passed", last)[0]) > 50, last
    assert "skipped" not in last, last


def test_nothing_is_left_of_a_cluster() -> None:
    with pytest.raises(ZeroDivisionError), spark_cluster(1) as cluster:
        raise ZeroDivisionError
    assert cluster.workers[0].process.returncode == -signal.SIGKILL
    assert not processes_in(cluster.folder)
    assert not cluster.folder.exists()


@pytest.mark.nightly
def test_nothing_runs_on_where_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    """Also the worker's executors end, which nobody kills."""
    needs_java()
    if shutil.which("setpriv") is None:
        missing("There is no setpriv, by which a cluster ends with the process that started it: it is in util-linux.")
    script = (
        "import os, sys\n"
        "from tests.servers import spark_session\n"
        "from tests.spark_cluster import EXECUTORS, spark_cluster\n"
        "with spark_cluster(1) as cluster, spark_session(cluster.url, EXECUTORS) as spark:\n"
        "    assert spark.range(10).count() == 10\n"
        "    assert cluster.workers[0].executors\n"
        "    print(cluster.folder, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -signal.SIGKILL
    folder = Path(killed.stdout.strip())
    until(lambda: not processes_in(folder), "the end of a cluster that nobody stops")
    shutil.rmtree(folder)
