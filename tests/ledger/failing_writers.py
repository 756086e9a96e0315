"""Eight threads or processes whose every question fails. Run by test_failures.py: the place of the ledger, and which.

Prints one line for each: how many of its questions it saw fail, and the name of the error that ended it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pyarrow as pa

import dither as dp
from dither.errors import DitherError, EngineError
from dither.ledger import Ledger
from dither.release import ReleasePath

EVENT, COST = dp.events.LaplaceNoise(Fraction(1000)), dp.PureDP("0.001")


class Exact:
    def _rehearse(self) -> None: ...

    def _open(self) -> Iterator[pa.RecordBatch]:
        raise ValueError("a row that no engine can read")


def draw(batches: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
    return pa.Table.from_batches(list(batches[0]))


def run(release_path: ReleasePath) -> str:
    """Ask until refused."""
    seen = 0
    while True:
        try:
            release_path.release(EVENT, COST, "how many?", [Exact()], draw)  # type: ignore[list-item]
        except EngineError:
            seen += 1
        except DitherError as error:
            return f"{seen} {type(error).__name__}"


def main(location: str, how: str) -> None:
    """Start all at once, and wait for them."""
    if how == "threads":
        release_path = ReleasePath(Ledger(location), "visits")
        started = [threading.Thread(target=lambda: os.write(1, f"{run(release_path)}\n".encode())) for _ in range(8)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        release_path.ledger.close()
        return
    children = []
    for _ in range(8):
        child = os.fork()
        if not child:
            try:
                os.write(1, f"{run(ReleasePath(Ledger(location), 'visits'))}\n".encode())
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
