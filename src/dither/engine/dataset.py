"""A dataset: a source, whom it protects, and a budget that a ledger keeps."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack, suppress
from typing import Any

from dither.engine.query import Origin, Query
from dither.errors import LedgerError, ParameterError
from dither.exact import in_words, set_fields
from dither.ledger import Account, Failures, Ledger
from dither.ledger.budget import Amounts, Budget, amounts
from dither.release import Door
from dither.tables import open_source
from dither.unit import Person, Rows, TableUnit

__all__ = ["Dataset"]

_log = logging.getLogger("dither.engine")


class Dataset(Query):
    """Data behind one door. `close` it when done, or use it in a `with` block.

    `source`: the path or glob of CSV or Parquet files or a list of them, a frame of pandas, Polars or Arrow, an Ibis
    table, a database URL with `table`, or a Spark session with `table`. `unit`: whom it protects. `budget`: what may be
    spent in all, a `PureDP`, `ApproxDP` or `ZCDP`; it is given once, and may be left out where the ledger has it.
    `failures_allowed`: how many questions may fail after their charge, or be in flight at once, before the owner has to
    look and resume (`dither ledger ... --resume`); it is given once, like the budget, and is 3 if nothing is said.
    `ledger`: where it is written down what was spent, a path or a database URL; ":memory:" is for tests and notebooks.
    `identity`: the name under which the budget is kept; frames in memory need one, others have one of their own.
    """

    _ours: ExitStack

    def __init__(
        self,
        source: Any,
        *,
        unit: TableUnit,
        budget: Budget | None = None,
        failures_allowed: int | None = None,
        ledger: str | os.PathLike[str] | Ledger,
        table: str | None = None,
        identity: str | None = None,
    ) -> None:
        if not isinstance(unit, Rows | Person):
            raise ParameterError("unit must say who is protected: dp.Rows() or dp.Person('user_id').")
        if budget is not None:
            amounts(budget)
        with ExitStack() as ours:  # what is opened here is closed, now if the dataset is refused
            opened = open_source(source, table, identity)
            _log.debug("opened a source in %s", opened.engine.name)
            ours.callback(opened.engine.close)  # sessions and tables of others stay open
            if isinstance(unit, Person):
                opened.check(unit.column)
            book = ledger if isinstance(ledger, Ledger) else _book(ledger, create=budget is not None)
            if book is not ledger:
                ours.callback(book.close)
            # The budget that the ledger has is said of its own unit: under another one it is refused, as any other is.
            stated = (book.account(opened.identity).budget if budget is None else budget)._under(unit.adjacency)
            book.open_account(opened.identity, stated, parts=opened.parts, failures_allowed=failures_allowed)
            super().__init__(Origin(opened, unit, Door(book, opened.identity)), opened.table)
            set_fields(self, _ours=ours.pop_all())

    def close(self) -> None:
        """Close the connections that were opened here: to the ledger, to files, frames and databases named by text.

        From a session of your own, what was brought there is dropped. Questions of other threads are answered first.
        """
        self.origin._source.engine.close()  # before the ledger, which still gets their outcomes
        self._ours.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """The name of the source, whom it protects, and what the ledger says: nothing of its rows."""
        said = [repr(self.origin.door.account), f"unit={self.origin.unit}"]
        with suppress(LedgerError):  # it was moved away: a name is still a name
            account = self._account
            left = ", ".join(f"{name} {in_words(amount)}" for name, amount in account.remaining.items())
            said += [f"budget={account.budget._under(None)}", f"remaining: {left}"]
        return f"Dataset({', '.join(said)})"

    @property
    def budget(self) -> Budget:
        """What may be spent in all, as the ledger has it."""
        return self._account.budget

    @property
    def spent(self) -> Amounts:
        """What was charged so far, exactly."""
        return self._account.spent

    @property
    def remaining(self) -> Amounts:
        """What is left, exactly."""
        return self._account.remaining

    @property
    def failures(self) -> Failures:
        """How many questions failed after their charge, or have no outcome, of how many that may."""
        return self._account.failures

    @property
    def _account(self) -> Account:
        door = self.origin.door
        return door.ledger.account(door.account)


def _book(ledger: str | os.PathLike[str], *, create: bool) -> Ledger:
    try:
        return Ledger(ledger, create=create)
    except LedgerError as error:
        if create:
            raise
        failure = str(error)
    raise LedgerError(f"{failure} A dataset that is new says what may be spent in all: budget=dp.PureDP(1).")
