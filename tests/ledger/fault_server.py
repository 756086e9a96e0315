"""Releases that die: a process that forks one child for each line it reads. Run by tests/ledger/faults.py.

A child performs releases on a ledger as a program would, with the faults of faults.c, and says each answer after it was
released. The parent says how it ended. Importing takes seconds and forking milliseconds, hence the server.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pyarrow as pa

import dither as dp
from dither.errors import DitherError
from dither.ledger import Ledger, failures, sqlite
from dither.ledger.group import Decision
from dither.release import ReleasePath

SHIM = ctypes.CDLL(None)
EVENT, COST = dp.events.LaplaceNoise(Fraction(10)), dp.PureDP("0.1")


class Steps:
    """The exact side of a release, which dies at one step of it."""

    def __init__(self, dies: str, size: int, fails: bool = False) -> None:
        self.dies, self.size, self.fails = dies, size, fails

    def reach(self, step: str) -> None:
        if self.dies == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def _rehearse(self) -> None: ...

    def _open(self) -> Iterator[pa.RecordBatch]:
        self.reach("charged")
        yield pa.record_batch({"n": [7]})

    def draw(self, batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        (exact,) = batches
        tables = pa.Table.from_batches(list(exact))
        self.reach("opened")
        if self.fails:
            raise ValueError("a row that no engine can read")
        noise = int.from_bytes(os.urandom(8), "big") >> 1
        drawn = tables.append_column("noisy", pa.array([noise])).append_column("filler", pa.array(["x" * self.size]))
        self.reach("drawn")
        return drawn


def child(order: dict[str, Any], say: int) -> None:
    """Open the ledger, release under each key, close it."""
    if order.get("unsynced"):
        sqlite._sync_file = lambda descriptor: None
    if order.get("forgets_the_folder"):
        sqlite._sync_folder = lambda folder: None
    if order.get("trace"):
        SHIM.faults_trace(os.open(order["trace"], os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    if order.get("overtaken"):
        overtake(order, say)
    SHIM.faults_arm(order["folder"].encode(), order["at"], order["fault"], int(order["goes_on"]))
    steps = Steps(order["dies"], order["size"], order.get("fails", False))
    if order["dies"] == "failed":
        setattr(Ledger, "failed", lambda ledger, charge: steps.reach("failed"))  # noqa: B010
    if order.get("impatient"):
        failures.WAIT_SECONDS = -1  # type: ignore[misc]
    release_path = None
    if order.get("at_once"):
        with errors_said("all", say):
            release_path = opened(order["folder"])
            at_once(release_path, order["keys"], steps, say)
    for key in () if order.get("at_once") else order["keys"]:
        with errors_said(key, say):
            release_path = release_path or opened(order["folder"])
            steps.reach("opened the ledger")
            release(release_path, key, steps, say)
    if release_path is not None:
        release_path.ledger.close()  # copies the log back, and deletes it


@contextmanager
def errors_said(key: str, say: int) -> Iterator[None]:
    """Errors of dither are said, and not raised."""
    try:
        yield
    except DitherError as error:
        SHIM.faults_note(f"{key} failed".encode())
        os.write(say, f"error {type(error).__name__} {error}\n".encode())


def at_once(release_path: ReleasePath, keys: Sequence[str], steps: Steps, say: int) -> None:
    """A thread for each key: all but the first wait for it, so that their charges are committed together."""

    def asked(key: str) -> None:
        with errors_said(key, say):
            release(release_path, key, steps, say)

    threads = [threading.Thread(target=asked, args=(key,)) for key in keys]
    group = release_path.ledger._store._group
    commit = group._commit

    def when_all_wait(decisions: Sequence[Decision]) -> None:
        group._commit = commit
        for thread in threads[1:]:
            thread.start()
        while len(group._waiting) < len(threads) - 1:
            time.sleep(0.001)
        commit(decisions)

    group._commit = when_all_wait
    threads[0].start()
    for thread in threads:
        thread.join()


def overtake(order: dict[str, Any], say: int) -> None:
    """Let somebody else release, and say the answer, where the n-th sync of the log would begin."""
    syncs, sync = iter(range(1, 1_000_000)), sqlite._sync_file
    steps = Steps(order["dies"], 1)

    def overtaken(descriptor: int) -> None:
        if next(syncs) == order["overtaken"]:
            release(opened(order["folder"]), "key-other", steps, say)
            steps.reach("overtaken")
        sync(descriptor)

    sqlite._sync_file = overtaken


def release(release_path: ReleasePath, key: str, steps: Steps, say: int) -> None:
    """Ask under the key, and say the answer."""
    own = None if key.startswith("plain") else key
    table, _ = release_path.release(EVENT, COST, "how many?", [steps], steps.draw, key=own)  # type: ignore[list-item]
    steps.reach("kept")
    said = f"{key} {table['noisy'][0].as_py()}"
    SHIM.faults_note(said.encode())
    os.write(say, f"{said}\n".encode())


def opened(folder: str) -> ReleasePath:
    release_path = ReleasePath(Ledger(folder + "/test.ledger"), "visits")
    release_path.ledger.open_account("visits", dp.PureDP(1000))
    return release_path


def warm_up(child: Callable[[dict[str, Any], int], None]) -> None:
    """Do everything once, so that no child has to import or compile anything."""
    hear, say = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        child({"folder": folder, "at": 0, "fault": 0, "goes_on": False, "dies": "", "size": 1, "keys": ["key"]}, say)
    os.close(hear)
    os.close(say)
    gc.collect()
    gc.freeze()  # pages that nobody touches are shared with the children


def serve(child: Callable[[dict[str, Any], int], None]) -> None:
    """One child for each line; one line for each child."""
    warm_up(child)
    for line in sys.stdin:
        order = json.loads(line)
        hear, say = os.pipe()
        process = os.fork()
        if not process:
            os.close(hear)
            try:
                child(order, say)
            except BaseException as error:
                os.write(say, f"broken {error!r}\n".encode())
            os.write(say, f"calls {SHIM.faults_count()}\n".encode())
            os._exit(0)
        os.close(say)
        with os.fdopen(hear) as heard:
            lines = heard.read().splitlines()
        _, status = os.waitpid(process, 0)
        print(json.dumps({"lines": lines, "killed": os.WIFSIGNALED(status)}), flush=True)


if __name__ == "__main__":
    serve(child)
