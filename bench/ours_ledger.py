"""dither's ledger, as a process of its own: `python -m bench.ours_ledger DATABASE KIND WRITERS CHARGES`.

DATABASE is sqlite or postgresql, and the writers are of one KIND: threads or processes. The cap of the account is
CHARGES charges, and every writer charges until it is refused.
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import dither as dp
from bench.groupby_case import FOLDER
from bench.ledger_case import Writing
from dither.errors import OverBudget
from dither.events import LaplaceNoise
from dither.ledger import Ledger
from tests.servers import postgres_server

SYNCS = 100
PAGE = 4096


def written(database: str, kind: str, writers: int, charges: int) -> Writing:
    with _folder() as folder, _location(database, folder) as location:
        ledger = Ledger(location)
        ledger.open_account("visits", dp.PureDP(1))
        cost = Fraction(1, charges)
        if kind == "threads":
            seconds, cpu = _threads(ledger, writers, cost)
        else:
            seconds, cpu = _processes(location, writers, cost)
        granted = ledger.account("visits").charges
        assert ledger.verify(ledger.anchor()) == granted + 1
        return Writing(writers, granted, seconds, cpu, _sync_seconds(folder), abs(granted - charges))


def _threads(ledger: Ledger, writers: int, cost: Fraction) -> tuple[float, float]:
    """Wall and CPU time from the moment when all threads are there until the last one is refused."""
    ready = threading.Barrier(writers + 1)
    threads = [threading.Thread(target=_spend, args=(ledger, cost, ready)) for _ in range(writers)]
    for thread in threads:
        thread.start()
    ready.wait()
    start, used = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, time.process_time() - used


def _processes(location: str, writers: int, cost: Fraction) -> tuple[float, float]:
    """Wall time from the moment when all have the ledger open until the last one is refused; CPU time of all."""
    context: Any = multiprocessing.get_context("fork")
    ready, used = context.Barrier(writers + 1), context.SimpleQueue()
    processes = [context.Process(target=_process, args=(location, cost, ready, used)) for _ in range(writers)]
    for process in processes:
        process.start()
    ready.wait()
    start = time.perf_counter()
    cpu = sum(used.get() for _ in processes)
    seconds = time.perf_counter() - start
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    return seconds, cpu


def _process(location: str, cost: Fraction, ready: Any, used: Any) -> None:
    ledger = Ledger(location)
    start = time.process_time()
    _spend(ledger, cost, ready)
    used.put(time.process_time() - start)


def _spend(ledger: Ledger, cost: Fraction, ready: Any) -> None:
    ledger.account("visits")  # opens its connection
    ready.wait()
    try:
        while True:
            ledger.charge("visits", LaplaceNoise(1 / cost), dp.PureDP(cost), "how many?")
    except OverBudget:
        pass


@contextmanager
def _folder() -> Iterator[Path]:
    """On the disk of the repository: a folder of temporary files may lie in memory."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        yield Path(name)


@contextmanager
def _location(database: str, folder: Path) -> Iterator[str]:
    if database == "sqlite":
        yield str(folder / "bench.ledger")
    else:
        with postgres_server() as url:
            yield url


def _sync_seconds(folder: Path) -> float:
    """The median time of an fsync after a page was appended."""
    times = []
    with (folder / "page").open("wb", buffering=0) as page:
        for _ in range(SYNCS):
            page.write(bytes(PAGE))
            start = time.perf_counter()
            os.fsync(page.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    print(written(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).to_json())
