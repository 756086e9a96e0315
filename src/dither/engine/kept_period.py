"""What the state of a stream keeps of one period: a record of its sealed file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dither.continual.encoders import Wide
from dither.continual.track import Step
from dither.tables import PERSON

__all__ = ["KeptPeriod"]


@dataclass(frozen=True)
class KeptPeriod:
    """The numbers of one period, who took part, and the groups that were found in it."""

    number: int
    steps: Mapping[str, Step]
    totals: Mapping[str, Wide]
    """Sums of what was decoded, up to this period."""
    people: pa.Array | None
    found: pa.Table | None = None
    """The keys that are known from this period on; None where there are none, or groups are public."""
    saved: Mapping[str, Any] = field(default_factory=dict)
    """The memories of the encoders, in some periods."""

    def written(self) -> bytes:
        """As the file holds it: JSON, then who took part and the keys, each as an Arrow stream."""
        tracks = {
            key: {"exact": step.exact.tolist(), "decoded": step.decoded.tolist(), "total": self.totals[key].tolist()}
            for key, step in self.steps.items()
        }
        keys = b"" if self.found is None else _arrow(self.found)
        held = {"period": self.number, "tracks": tracks, "saved": self.saved, "found": len(keys)}
        head = json.dumps(held).encode()
        people = b"" if self.people is None else _arrow(pa.table({PERSON: self.people}))
        return len(head).to_bytes(4, "big") + head + people + keys

    @classmethod
    def read(cls, record: bytes) -> KeptPeriod:
        """What `written` gave."""
        size = 4 + int.from_bytes(record[:4], "big")
        held = json.loads(record[4:size])
        steps = {key: Step(_wide(each["exact"]), _wide(each["decoded"])) for key, each in held["tracks"].items()}
        totals = {key: _wide(each["total"]) for key, each in held["tracks"].items()}
        end = len(record) - held.get("found", 0)
        people = _table(record[size:end]).column(0).combine_chunks() if end > size else None
        found = _table(record[end:]) if end < len(record) else None
        return cls(held["period"], steps, totals, people, found, held["saved"])


def _wide(numbers: Sequence[int]) -> Wide:
    return np.array(numbers, dtype=object)


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table(written: bytes) -> pa.Table:
    return pa.ipc.open_stream(written).read_all()
