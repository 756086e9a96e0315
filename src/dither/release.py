"""The one door: charge, then open, then draw, then write down what came of it.

There is no other way from a bounded table to a number. An `ExactAggregate` of `dither.tables` is a question that has
not been asked; only `Door.release` asks it, and only after the ledger has the charge on disk (a test keeps it so).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from dither.errors import EngineError, LedgerError
from dither.events import Event
from dither.ledger import Charge, Entry, Ledger
from dither.ledger.budget import Budget
from dither.noise import entropy
from dither.noise.tape import answered, noise_is_removed
from dither.tables import ExactAggregate

__all__ = ["Door", "fresh_salt"]

_log = logging.getLogger(__name__)
"""Entries, costs and the names of engines: nothing that was computed from data."""

Batches = Iterator[pa.RecordBatch]

_SALT_BITS: Final = 62


def fresh_salt() -> int:
    """A secret for one release: it decides which groups and rows a person keeps, and is never stored."""
    return answered(lambda: entropy.current().bits(_SALT_BITS), "salt", None)


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
        happened, as what happened may depend on the data. That it failed is written down, and counts: after
        `failures_allowed` of them no question is taken until the owner resumes. With a `key`, the answer is kept before
        it is given, and the same question under the same key gives the same bytes at no further cost.
        """
        for each in exact:
            each._rehearse()
        charge = self.ledger.charge(self.account, event, cost, question, key=key, by=by, awaits_outcome=True)
        if charge.answer is not None:
            _log.info("the answer of entry %d is repeated; nothing was charged", charge.entry.number)
            return _read(charge.answer), charge.entry
        _log.info("charged %s as entry %d", cost, charge.entry.number)
        try:
            answer = _drawn(exact, draw)
            # A test that takes the noise away meanwhile, in another thread, must not get an answer that looks private.
            if answer is not None and noise_is_removed() == charge.entry.noise_removed:
                shown = self._answered(charge, answer, key)
                _log.info("released the answer of entry %d", charge.entry.number)
                return shown, charge.entry
        except BaseException:  # cancelled, or the answer cannot be kept: seen by who asked, as any failure is
            self._failed(charge)
            raise
        self._failed(charge)
        raise EngineError(
            "the question was charged and could not be answered; what was charged stays charged. "
            "Check that the source is still there and that the engine has memory and disk, then ask again."
        )

    def _answered(self, charge: Charge, answer: pa.Table, key: str | None) -> pa.Table:
        """What may be said, after the ledger knows that there is an answer.

        Without a key it is given even if that cannot be written, as on a full disk: it is paid for, and its attempt
        then stays among those without an outcome, where it counts as a failure. A key promises that the same bytes can
        be had again, so there an answer that cannot be kept is not given.
        """
        if key is not None:
            return _read(self.ledger.keep(charge, _written(answer)))
        with suppress(LedgerError):
            self.ledger.answered(charge)
        return answer

    def _failed(self, charge: Charge) -> None:
        """Write the failure down. If that fails too, the attempt has no outcome, and counts all the same."""
        with suppress(LedgerError):
            self.ledger.failed(charge)


def _drawn(exact: Sequence[ExactAggregate], draw: Callable[[Sequence[Batches]], pa.Table]) -> pa.Table | None:
    """The answer, or None if there is none. What went wrong is forgotten here: it would travel with an error.

    Where NumPy would warn, as of a NaN that becomes a whole number, there is no answer: a warning would tell of the
    rows, free of charge and as often as somebody asks, while failures are counted.
    """
    answer = None
    with suppress(Exception), np.errstate(divide="raise", over="raise", invalid="raise"), ExitStack() as opened:
        # A connection is given back by the thread that holds it.
        answer = draw([opened.enter_context(closing(each._open())) for each in exact])
    return answer


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read(answer: bytes) -> pa.Table:
    return pa.ipc.open_stream(answer).read_all()
