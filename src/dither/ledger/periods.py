"""Periods of a stream: one charge pays for all of them, and each is recorded once, in order, with a digest.

The digest is that of what a stream keeps of the period. So a kept state that was copied, or rolled back to an earlier
period, does not fit the ledger any more, and no period gets noise twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dither.errors import LedgerConflict, LedgerError, ParameterError
from dither.ledger.entry import Entry, canonical

if TYPE_CHECKING:
    from dither.ledger.entries import Appending, VisibleEntries

__all__ = ["RecordedPeriods", "check_periods", "check_stream", "newest_period", "period_key", "write_period"]

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MOST: Final = 10**7


@dataclass(slots=True)
class RecordedPeriods:
    """What has been seen of a stream while the ledger is verified."""

    account: str
    periods: int
    recorded: int = 0

    def goes_on(self, entry: Entry, content: dict[str, Any]) -> bool:
        """Whether this is the record of its next period."""
        period, digest = content["period"], content["digest"]
        is_next = type(period) is int and period == self.recorded < self.periods
        self.recorded += 1
        return is_next and entry.account == self.account and bool(_DIGEST.fullmatch(digest))


def check_periods(periods: Any, key: str | None) -> int:
    """A stream has periods, and a key under which it is charged once."""
    if type(periods) is not int or not 1 <= periods <= _MOST:
        raise ParameterError(f"periods must be a whole number from 1 to {_MOST}, got periods={periods!r}.")
    if key is None:
        raise ParameterError("a stream is charged under an idempotency key, so that it is charged once.")
    return periods


def period_key(charge: int, period: int) -> str:
    """What the index of the ledger finds the record of a period by; no two records have the same."""
    return f"{charge}:{period}"


def check_stream(entries: VisibleEntries, entry: Entry) -> int:
    """How many periods the charge pays for; refused if this very charge is not here, or is not that of a stream."""
    if "periods" not in entry.content or not entries.holds(entry):
        raise LedgerError("the charge of this stream is not in this ledger. No answer was given.")
    return int(entry.content["periods"])


def newest_period(entries: VisibleEntries, entry: Entry) -> tuple[int, str] | None:
    """The last recorded period and its digest: as there are no gaps, it is found by halving."""
    recorded, missing = -1, check_stream(entries, entry)
    while missing - recorded > 1:
        middle = (recorded + missing) // 2
        is_there = _found(entries, entry, middle) is not None
        recorded, missing = (middle, missing) if is_there else (recorded, middle)
    newest = None if recorded < 0 else _found(entries, entry, recorded)
    return None if newest is None else (recorded, str(newest.content["digest"]))


def write_period(entries: Appending, entry: Entry, period: int, digest: str, now: str) -> None:
    """Append the record of the next period; one that says the same is there already, at the same place, is left."""
    periods = check_stream(entries, entry)
    if not _DIGEST.fullmatch(digest):
        raise ParameterError("digest must be 64 hexadecimal digits.")
    before = _found(entries, entry, period)
    if before is not None and before.content["digest"] == digest:
        return
    is_next = 0 <= period < periods and (period == 0 or _found(entries, entry, period - 1) is not None)
    if before is not None or not is_next:
        raise LedgerConflict(
            f"period {period} of this stream is recorded already, or is not the next one. No answer was given. Go on "
            "with the state that was used last; a copy of an earlier one cannot be used."
        )
    body = canonical({"charge": entry.number, "period": period, "digest": digest, "at": now})
    entries.append("period", entry.account, body, period_key(entry.number, period))


def _found(entries: VisibleEntries, entry: Entry, period: int) -> Entry | None:
    return entries.keyed("period", entry.account, period_key(entry.number, period))
