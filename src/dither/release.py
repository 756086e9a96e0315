"""The one door: charge, then open, then draw.

There is no other way from a bounded table to a number. An `ExactAggregate` of `dither.tables` is a question that has
not been asked; only `Door.release` asks it, and only after the ledger has the charge on disk (a test keeps it so).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from dither.errors import EngineError
from dither.events import Event
from dither.ledger import Entry, Ledger
from dither.ledger.budget import Budget
from dither.noise import UniformBelow
from dither.noise.tape import answered
from dither.tables import ExactAggregate

__all__ = ["Door", "fresh_salt"]

Batches = Iterator[pa.RecordBatch]


def fresh_salt() -> int:
    """A secret for one release: it decides which groups and rows a person keeps, and is never stored."""
    return answered(UniformBelow(1 << 62).sample, "salt", None)


@dataclass(frozen=True, slots=True)
class Door:
    """The way out for one dataset: its ledger, and its account there."""

    ledger: Ledger
    account: str

    def release(
        self,
        event: Event,
        cost: Budget,
        question: str,
        exact: Sequence[ExactAggregate],
        draw: Callable[[Sequence[Batches]], pa.Table],
        *,
        key: str | None = None,
        by: str = "",
    ) -> tuple[pa.Table, Entry]:
        """Charge `cost` for `event`, durably; then ask for the `exact` numbers and let `draw` add the noise.

        If anything fails after the charge, the charge stays: data was touched. The error says the same whatever
        happened, as what happened may depend on the data. With a `key`, the answer is kept before it is given, and
        the same question under the same key gives the same bytes at no further cost.
        """
        for each in exact:
            each._rehearse()
        charge = self.ledger.charge(self.account, event, cost, question, key=key, by=by)
        if charge.answer is not None:
            return _read(charge.answer), charge.entry
        answer = _drawn(exact, draw)
        if answer is None:
            raise EngineError(
                "the question was charged and could not be answered; what was charged stays charged. "
                "Check that the source is still there and that the engine has memory and disk, then ask again."
            )
        if key is None:
            return answer, charge.entry
        return _read(self.ledger.keep(charge, _written(answer))), charge.entry


def _drawn(exact: Sequence[ExactAggregate], draw: Callable[[Sequence[Batches]], pa.Table]) -> pa.Table | None:
    """The answer, or None if there is none. What went wrong is forgotten here: it would travel with an error."""
    try:
        return draw([each._open() for each in exact])
    except Exception:
        return None


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read(answer: bytes) -> pa.Table:
    return pa.ipc.open_stream(answer).read_all()
