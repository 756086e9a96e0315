"""Streams that die: a fault server (tests/ledger/fault_server.py) whose children step a stream instead of releasing.

There is no engine, which would bring threads of its own: the exact numbers of a period are new ones each time it is
read, as if the data had changed in between.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import pyarrow as pa

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.continual.encoders import Encoder
from dither.continual.encrypted_file import EncryptedFile
from dither.continual.participation import ONCE
from dither.continual.periods import Horizon
from dither.engine.group_sensitivity import Need
from dither.engine.moment_aggregates import Count
from dither.engine.over_time import OverTime
from dither.engine.plan import Plan, planned
from dither.engine.price import Terms
from dither.engine.running_stream import RunningStream
from dither.engine.stream_definition import Header, StreamDefinition
from dither.errors import DitherError
from dither.ledger import Ledger
from dither.release import ReleasePath
from dither.unit import Neighbour
from tests.ledger.fault_server import SHIM, serve

KEY, PERIODS, WORDS = b"k" * 32, 12, "visits; add or remove one record"
TERMS = Terms(None, None, "1/2", "gaussian", None, "0.95", population=False)


class Rows:
    """What stands for the rows of one period."""

    def asking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def totals(self, measures: Mapping[str, Any], salt: int) -> Rows:
        self.names = list(measures)
        return self

    def _rehearse(self) -> None: ...

    def _without_rows(self) -> pa.RecordBatch:
        return pa.record_batch({name: pa.array([], pa.int64()) for name in self.names})

    def _open(self) -> Iterator[pa.RecordBatch]:
        number = int.from_bytes(os.urandom(3), "big")
        yield pa.record_batch({name: [number] for name in self.names})


def opened(folder: str, create: bool) -> RunningStream:
    """The stream in this folder, started or resumed."""
    ledger = Ledger(f"{folder}/test.ledger")
    ledger.open_account("visits", dp.ZCDP(1, adjacency=ADD_REMOVE), failures_allowed=1000)

    def planned_with(kept: Mapping[int, Encoder]) -> Plan:
        def over(needs: Mapping[str, Need]) -> dict[str, Need]:
            return {key: OverTime(need, PERIODS, (None,), ONCE, kept) for key, need in needs.items()}

        return planned({"visits": Count(people=False)}, Neighbour(1, 1, ADD_REMOVE), False, TERMS, (), over)

    rows = Rows()
    origin = SimpleNamespace(_source=SimpleNamespace(engine=rows), release_path=ReleasePath(ledger, "visits"))
    question = SimpleNamespace(query=SimpleNamespace(origin=origin, public_keys=None), _bounded=rows)
    path = f"{folder}/test.stream"
    file = EncryptedFile(path, KEY, create=create)
    try:
        if create:
            file.append(Header.new(WORDS, planned_with({}), ("total",)).written())
        header = Header.read(next(file.records(), b""))
        plan = planned_with(header.encoders)
        horizon, asked = Horizon(date(2026, 1, 1), PERIODS), ("total",)
        definition = StreamDefinition(header, WORDS, plan, asked, horizon, None, lambda period: question)  # type: ignore[arg-type, return-value]
        return RunningStream(definition, file)
    except BaseException:
        file.close()
        raise


def child(order: dict[str, Any], say: int) -> None:
    """Start or resume the stream; give each period that was released again, then `size` more."""
    folder = order["folder"]
    if not os.path.exists(f"{folder}/test.stream"):
        opened(folder, create=True).close()
    SHIM.faults_arm(folder.encode(), order["at"], order["fault"], int(order["goes_on"]))
    try:
        running = opened(folder, create=False)
        for period in range(running.released + order["size"]):
            release = running.step(period)
            told = release.to_arrow().column("visits_total")[0].as_py()
            os.write(say, f"key{period} {told}\n".encode())
        running.close()
    except DitherError as error:
        os.write(say, f"error {type(error).__name__} {error}\n".encode())


if __name__ == "__main__":
    serve(child)
