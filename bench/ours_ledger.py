"""dither's ledger, as a process of its own: `python -m bench.ours_ledger sqlite|postgresql WRITERS CHARGES`.

The cap of the account is CHARGES charges. Every writer is a process that charges until it is refused.
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
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


def written(database: str, writers: int, charges: int) -> Writing:
    with _folder() as folder, _location(database, folder) as location:
        ledger = Ledger(location)
        ledger.open_account("visits", dp.PureDP(1))
        cost = Fraction(1, charges)
        seconds = _together(location, writers, cost)
        granted = ledger.account("visits").charges
        assert ledger.verify(ledger.anchor()) == granted + 1
        return Writing(writers, granted, seconds, _sync_seconds(folder), abs(granted - charges))


def _together(location: str, writers: int, cost: Fraction) -> float:
    """The wall time from the moment when all writers have the ledger open until the last one is refused."""
    context: Any = multiprocessing.get_context("fork")
    ready = context.Barrier(writers + 1)
    processes = [context.Process(target=_spend, args=(location, cost, ready)) for _ in range(writers)]
    for process in processes:
        process.start()
    ready.wait()
    start = time.perf_counter()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - start
    assert all(process.exitcode == 0 for process in processes)
    return seconds


def _spend(location: str, cost: Fraction, ready: Any) -> None:
    ledger = Ledger(location)
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
    print(written(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])).to_json())
