"""The release path: charge, then open, then draw, then write down what came of it.

There is no other way from a bounded table to a number. An `ExactAggregate` of `dither.tables` is a question that has
not been asked; only `ReleasePath.release` asks it, and only after the ledger has the charge on disk (a test
keeps it so).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from dither.errors import EngineError, LedgerError
from dither.events import Event
from dither.ledger import Account, Charge, Entry, Ledger, current_user
from dither.ledger.budget import Amounts, Budget
from dither.noise import entropy
from dither.noise.tape import answered, noise_is_removed
from dither.tables import ExactAggregate

__all__ = ["ReleasePath", "Then", "fresh_salt"]

_log = logging.getLogger(__name__)
"""Entries, costs and the names of engines: nothing that was computed from data."""

Batches = Iterator[pa.RecordBatch]
Record = TypeVar("Record")

_SALT_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class Then:
    """More to ask before there is an answer: questions that depend on the data through noisy numbers alone."""

    exact: Sequence[ExactAggregate]
    draw: Callable[[Sequence[Batches]], pa.Table]


def fresh_salt() -> int:
    """A secret for one release: it decides which groups and rows a person keeps, and is never stored."""
    return answered(partial(entropy.current().bits, _SALT_BITS), "salt", None)


@dataclass(frozen=True, slots=True)
class ReleasePath:
    """The way out for one dataset: its ledger, and its account there."""

    ledger: Ledger
    account: str
    by: str = field(default_factory=current_user)
    """Who asks; by default the user who runs the process."""
    share: str | None = None
    """The account of what this analyst may spend of the budget, charged together with that of the dataset."""
    pause: Callable[[], None] | None = None
    """Waits when the numbers are drawn, or have failed, until the ledger may have the outcome.

    When that was depends on data, and numbers of later entries would tell it else.
    What is lost if the process ends here is an outcome, never a charge.
    """

    def left_of(self, account: Account) -> Amounts:
        """What may still be spent of the account of the dataset: no more than is left of the share, in each figure."""
        if self.share is None:
            return account.remaining
        own = self.ledger.account(self.share).remaining
        return {name: min(amount, own[name]) for name, amount in account.remaining.items()}

    def release(
        self,
        event: Event,
        cost: Budget,
        question: str,
        exact: Sequence[ExactAggregate],
        draw: Callable[[Sequence[Batches]], pa.Table | Then],
        *,
        alike: Sequence[ExactAggregate] = (),
        key: str | None = None,
        digest: Callable[[pa.Table, Entry], str] | None = None,
    ) -> tuple[pa.Table, Entry]:
        """Charge `cost` for `event`, durably; then ask for the `exact` numbers and let `draw` add the noise.

        If anything fails after the charge, the charge stays: data was touched. The error says the same whatever
        happened, as what happened may depend on the data. That it failed is written down, and counts: after
        `failures_allowed` of them no question is taken until the owner resumes. With a `key`, the answer is kept before
        it is given, and the same question under the same key gives the same bytes at no further cost.

        `draw` may have more to ask (`Then`), in the same way; `alike` are questions that differ from these in public
        numbers alone, to be rehearsed in their place. The `digest` of what is shown is recorded with the outcome: it is
        a function of the noisy numbers alone, and says no more than they do.
        """
        for each in (*exact, *alike):
            each._rehearse()
        charge = self.ledger.charge(
            self.account, event, cost, question, key=key, by=self.by, share=self.share, awaits_outcome=True
        )
        if charge.answer is not None:
            _log.info("the answer of entry %d is repeated; nothing was charged", charge.entry.number)
            return _read(charge.answer), charge.entry
        _log.info("charged %s as entry %d", cost, charge.entry.number)
        try:
            answer = _drawn(exact, draw)
            while isinstance(answer, Then):
                answer = _drawn(answer.exact, answer.draw)
            if self.pause is not None:
                self.pause()
            # A test that takes the noise away meanwhile, in another thread, must not get an answer that looks private.
            if answer is not None and noise_is_removed() == charge.entry.noise_removed:
                shown = self._answered(charge, answer, key, digest)
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

    def step(
        self,
        charge: Charge,
        period: int,
        rehearsed: Sequence[ExactAggregate],
        people: Sequence[ExactAggregate],
        asked: Callable[[Sequence[Batches]], Sequence[ExactAggregate]],
        draw: Callable[[Sequence[Batches]], Record],
        keep: Callable[[Record], str],
    ) -> Record:
        """One period of a stream whose charge is in the ledger: ask, draw, keep, record; then it may be released.

        Who is there (`people`) is asked first, and `asked` makes the questions about those who may take part. What was
        drawn is kept durably, and its digest is recorded in the ledger, before anything is released. If it fails before
        it was kept, nothing was released, and the period may be tried again; the failure counts, as for any question.
        """
        for each in (*rehearsed, *people):
            each._rehearse()
        attempt = self.ledger.attempt(charge)
        try:
            record = None
            with suppress(Exception), np.errstate(divide="raise", over="raise", invalid="raise"), ExitStack() as opened:
                who = [opened.enter_context(closing(each._open())) for each in people]
                record = draw([opened.enter_context(closing(each._open())) for each in asked(who)])
            if record is not None and noise_is_removed() == charge.entry.noise_removed:
                self.ledger.record_period(attempt, period, keep(record))
                _log.info("released period %d of entry %d", period, charge.entry.number)
                return record
        except BaseException:
            self._failed(attempt)
            raise
        self._failed(attempt)
        raise EngineError(
            "the period could not be answered, and nothing of it was released. Check that the source is still there "
            "and that the engine has memory and disk, then step again."
        )

    def _answered(
        self, charge: Charge, answer: pa.Table, key: str | None, digest: Callable[[pa.Table, Entry], str] | None
    ) -> pa.Table:
        """What may be said, after the ledger knows that there is an answer.

        Without a key it is given even if that cannot be written, as on a full disk: it is paid for, and its attempt
        then stays among those without an outcome, where it counts as a failure. A key promises that the same bytes can
        be had again, so there an answer that cannot be kept is not given. Without a digest it is given all the same.
        """
        known = None
        with suppress(Exception):
            known = None if digest is None else digest(answer, charge.entry)
        if key is not None:
            return _read(self.ledger.keep(charge, _written(answer), known))
        with suppress(LedgerError):
            self.ledger.answered(charge, known)
        return answer

    def _failed(self, charge: Charge) -> None:
        """Write the failure down. If that fails too, the attempt has no outcome, and counts all the same."""
        with suppress(LedgerError):
            self.ledger.failed(charge)


def _drawn(
    exact: Sequence[ExactAggregate], draw: Callable[[Sequence[Batches]], pa.Table | Then]
) -> pa.Table | Then | None:
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
