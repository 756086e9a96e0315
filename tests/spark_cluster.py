"""A Spark cluster on this machine: a master and its workers, processes of their own, from PySpark's own files.

Each process works in a folder of the cluster, and so do all that it starts (executors, and Python under these). By that
folder they are found, so that none is left when the cluster is stopped. Where the process that started a cluster is
killed, the system kills its master and workers; executors end by themselves when their worker is gone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers import missing, needs_java

__all__ = ["EXECUTORS", "ON_A_CLUSTER", "SparkCluster", "SparkDaemon", "processes_in", "spark_cluster", "until"]

ON_A_CLUSTER = "DITHER_TEST_SPARK_CLUSTER"
"""The variable of the environment that makes tests ask a cluster of so many workers, not Spark inside the process."""

_PROCESSES = Path("/proc")
_MEMORY_MB = 512  # of an executor; a worker has room for one, with what Spark adds
_PATIENCE = 300
"""Seconds to wait for what takes a few on an idle machine."""
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LOG = "log"
_STARTED = r"Starting Spark master at spark://127\.0\.0\.1:\d+"

EXECUTORS = {
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": _QUICK_START,
    "spark.executor.memory": f"{_MEMORY_MB}m",
}
"""Settings of a session: an executor of one core on each worker."""


@dataclass(frozen=True)
class SparkDaemon:
    """A master, or a worker that starts executors when a session asks for them."""

    folder: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it and all that it started at once, as if its machine had lost power."""
        _end(self.folder)
        self.process.wait()

    def kill_executors(self) -> None:
        """End its executors at once; it lives, and may start others."""
        for process in self.executors:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    @property
    def executors(self) -> list[int]:
        """The processes of its executors."""
        return [process for process in processes_in(self.folder) if "CoarseGrainedExecutorBackend" in _command(process)]

    def said(self, words: str) -> str | None:
        """What it wrote that these words, a regular expression, describe."""
        log = (self.folder / _LOG).read_text(errors="replace")
        if self.process.poll() is not None:
            raise RuntimeError(f"a process of the Spark cluster has ended: {log[-2000:]}")
        found = re.search(words, log)
        return found and found[0]


@dataclass
class SparkCluster:
    """A master at `url`, and the workers that were not killed."""

    folder: Path
    url: str
    workers: list[SparkDaemon] = field(default_factory=list)
    started: int = 0

    def lose(self, worker: SparkDaemon) -> None:
        """Kill a worker with its executors."""
        self.workers.remove(worker)
        worker.kill()

    def resize(self, workers: int) -> None:
        """Start or kill workers until there are so many."""
        while len(self.workers) > workers:
            self.lose(self.workers[-1])
        while len(self.workers) < workers:
            self._start_worker()

    def _start_worker(self) -> None:
        """Another one, of one core, registered with the master."""
        self.started += 1
        folder = self.folder / f"worker-{self.started}"
        options = ["--cores", "1", "--memory", f"{2 * _MEMORY_MB}m", "--work-dir", str(folder), self.url]
        worker = _started("worker.Worker", folder, options)
        self.workers.append(worker)
        until(lambda: worker.said("Successfully registered with master"), "a worker of Spark")


@contextmanager
def spark_cluster(workers: int) -> Iterator[SparkCluster]:
    """A cluster in a folder of its own, on ports that the system gives. Nothing of it is left afterwards."""
    needs_java()
    if not _PROCESSES.exists():
        missing("There is no /proc, by which the processes of a Spark cluster are found.")
    folder = Path(tempfile.mkdtemp(prefix="dither-spark-"))
    master = _started("master.Master", folder / "master", [])
    cluster = SparkCluster(folder, "")
    try:
        until(lambda: master.said(_STARTED), "the master of Spark")
        cluster.url = (master.said(_STARTED) or "").rpartition(" ")[2]
        cluster.resize(workers)
        yield cluster
    finally:
        _end(folder)
        for daemon in (master, *cluster.workers):
            daemon.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def until(holds: Callable[[], object], what: str, seconds: float = _PATIENCE) -> None:
    """Wait until it holds: often a moment, on a busy machine much longer."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)


def _started(role: str, folder: Path, options: list[str]) -> SparkDaemon:
    import pyspark

    folder.mkdir()
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK_START} -Djava.io.tmpdir={folder}",
    }
    # The kernel ends it with the thread that started it; where there is no such program, `spark_cluster` alone does.
    tied = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
    address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    command = [*tied, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *address, *options]
    with (folder / _LOG).open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,  # an interrupt ends the tests, and they end the cluster
        )  # fmt: skip
    return SparkDaemon(folder, process)


def _end(folder: Path) -> None:
    """Kill all processes that work in the folder or below, also those that one of them starts meanwhile."""

    def gone() -> bool:
        processes = processes_in(folder)
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not processes

    until(gone, "the end of a Spark cluster")


def processes_in(folder: Path) -> list[int]:
    """The processes whose working folder it is, or one below; those that have ended have none."""
    found = []
    for process in _PROCESSES.iterdir():
        with suppress(OSError):
            if process.name.isdigit() and Path(os.readlink(process / "cwd")).is_relative_to(folder):
                found.append(int(process.name))
    return found


def _command(process: int) -> str:
    try:
        return (_PROCESSES / str(process) / "cmdline").read_text()
    except OSError:
        return ""
