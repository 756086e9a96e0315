"""Is this what was written? Every entry is read from scratch, and every sum is added up again."""

from __future__ import annotations

import re
from typing import Any, Final

from dither.errors import LedgerError
from dither.events import from_json
from dither.ledger.budget import Balance, read_budget, write_budget
from dither.ledger.entry import BEGINNING, Entry, canonical, named_parts
from dither.ledger.failures import ANSWERED, FAILED, Failures
from dither.ledger.per_period import PerPeriod
from dither.ledger.period_balance import PeriodBalance
from dither.ledger.periods import RecordedPeriods, check_periods, period_key

__all__ = ["Verification"]

_FIELDS: Final = {
    "budget": {"budget", "description", "at"},
    "source": {"at"},
    "charge": {"event", "cost", "question", "spent", "charges", "by", "at"},
    "answer": {"charge", "answer"},
    "period": {"charge", "period", "digest", "at"},
    "attempt": {"charge", "failures", "at"},
    "outcome": {"attempt", "outcome", "failures", "at"},
    "resume": {"lifted", "failures", "by", "at"},
}
_OPTIONAL: Final = {
    "budget": {"parts", "failures_allowed", "state", "per_period"},
    "source": {"parts", "state", "names", "by"},
    "charge": {"key", "durable", "noise", "periods", "in_period"},
    "answer": {"key"},
    "outcome": {"answer"},
}
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")


class Verification:
    """What has been seen of a chain so far: its last hash, the balance of each account, the parts and keys in use."""

    def __init__(self) -> None:
        self.number = 0
        self._hash = BEGINNING
        self._balances: dict[str, Balance] = {}
        self._of_periods: dict[str, PeriodBalance] = {}
        """Of accounts whose budget is renewed."""
        self._charges: dict[tuple[str, str], int] = {}
        """Charges with a key: their numbers."""
        self._answered: set[tuple[str, str]] = set()
        self._failures: dict[str, Failures] = {}
        self._attempts: dict[int, tuple[str, int]] = {}
        """Attempts without an outcome: the account and the charge of each, by number."""
        self._keyed: dict[int, tuple[str, str]] = {}
        """Charges with a key: the account and the key of each, by number."""
        self._streams: dict[int, RecordedPeriods] = {}
        """Charges for streams, by number."""
        self._last: Entry | None = None
        self._parts: set[str] = set()
        self._names_of_others: set[str] = set()
        """Names to which accounts were moved."""

    def add(self, entry: Entry, key: str | None) -> None:
        """The next entry and the key beside it, or `LedgerError` saying what does not fit."""
        if entry.number != self.number + 1:
            raise LedgerError(f"entry {self.number + 1} is missing: the next one has the number {entry.number}.")
        if entry.previous != self._hash:
            raise LedgerError(f"entry {entry.number} does not follow from the one before: its link does not fit.")
        try:
            fits = self._fits(entry, entry.content, key)
        except (LedgerError, KeyError, TypeError, ValueError, RecursionError):  # errors of parameters are ValueErrors
            fits = False
        if not fits:
            raise LedgerError(f"entry {entry.number} does not hold what an entry must hold in its place.")
        self.number, self._hash, self._last = entry.number, entry.hash, entry

    def _fits(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        own_key = _key(entry.kind, content)
        if canonical(content) != entry.body or own_key != key:
            return False
        if content.keys() - _OPTIONAL.get(entry.kind, set()) != _FIELDS[entry.kind]:
            return False
        if entry.kind in ("budget", "source"):
            return self._opens(entry, content) and self._names(entry, content)
        if entry.kind in ("attempt", "outcome", "resume"):
            return self._counts(entry, content)
        if entry.kind == "period":
            return self._streams[content["charge"]].goes_on(entry, content)
        return self._charges_once(entry, content, key) if entry.kind == "charge" else self._answers(entry, content, key)

    def _opens(self, entry: Entry, content: dict[str, Any]) -> bool:
        is_known = entry.account in self._balances
        if not isinstance(content.get("state", ""), str):
            return False
        if entry.kind == "source":
            says_something = not content.keys().isdisjoint(("parts", "state", "names"))
            return is_known and says_something and self._moves(entry, content)
        self._balances[entry.account] = Balance.new(read_budget(content["budget"]))
        if "per_period" in content:
            renewed = PerPeriod._read(content["per_period"])
            self._of_periods[entry.account] = PeriodBalance.read(renewed, None)
            if write_budget(renewed.total) != content["budget"]:
                return False
        self._failures[entry.account] = Failures.read(entry, None)
        return not is_known and entry.account not in self._names_of_others

    def _moves(self, entry: Entry, content: dict[str, Any]) -> bool:
        """A further name of an account is nobody else's, so that a source has one cap."""
        names = named_parts(entry, "names")
        is_free = self._names_of_others.isdisjoint(names) and self._balances.keys().isdisjoint(names)
        self._names_of_others |= names
        return is_free and (("by" in content) == ("names" in content) == bool(names))

    def _names(self, entry: Entry, content: dict[str, Any]) -> bool:
        """Each part once in the whole ledger, so that it has one cap."""
        new = named_parts(entry)
        is_disjoint = self._parts.isdisjoint(new)
        self._parts |= new
        return is_disjoint and ("parts" not in content or (bool(new) and content["parts"] == sorted(new)))

    def _charges_once(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        from_json(content["event"])
        before = self._balances[entry.account]
        if content.get("durable", False) is not False or (
            "noise" in content and "durable" not in content
        ):  # only in memory
            return False
        after = before.after(read_budget(content["cost"]))
        self._balances[entry.account] = after
        if key is not None:
            if (entry.account, key) in self._charges:
                return False
            self._charges[entry.account, key] = entry.number
            self._keyed[entry.number] = entry.account, key
        if "periods" in content:
            self._streams[entry.number] = RecordedPeriods(entry.account, check_periods(content["periods"], key))
        return after == Balance.read(before.budget, content) and self._fits_its_period(entry, content)

    def _fits_its_period(self, entry: Entry, content: dict[str, Any]) -> bool:
        """Of a budget that is renewed: into the period of its time, or a later one that was reached before."""
        before = self._of_periods.get(entry.account)
        if before is None:
            return "in_period" not in content
        after = before.after(read_budget(content["cost"]), content["at"])
        self._of_periods[entry.account] = after
        written: dict[str, Any] = after.written()
        return bool(content["in_period"] == written) and type(content["in_period"]["number"]) is int

    def _answers(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        if key is None or (entry.account, key) in self._answered or content["charge"] in self._streams:
            return False
        self._answered.add((entry.account, key))
        charge, answer = content["charge"], content["answer"]
        is_its_charge = type(charge) is int and charge == self._charges[entry.account, key]
        return is_its_charge and bool(bytes.fromhex(answer).hex() == answer)

    def _counts(self, entry: Entry, content: dict[str, Any]) -> bool:
        """Attempts, outcomes and resumes: how they refer to each other, and the counts that follow."""
        before = self._failures[entry.account]
        if entry.kind == "attempt":
            is_in_place, after = self._attempts_to_answer(entry, content["charge"]), before.after_attempt()
        elif entry.kind == "outcome":
            number, outcome = content["attempt"], content["outcome"]
            is_in_place, after = self._ends(entry, number, outcome), before.after_outcome(number, outcome)
            is_in_place = is_in_place and ("answer" not in content or _is_of_an_answer(outcome, content["answer"]))
        else:
            lifted = content["lifted"]
            is_in_place = type(lifted) is int and lifted == before.unanswered > 0
            after = before.after_resume(entry.number)
        self._failures[entry.account] = after
        return is_in_place and content["failures"] == after.written() and _are_whole(content["failures"])

    def _attempts_to_answer(self, entry: Entry, charge: Any) -> bool:
        """Of the charge just before it, or of one under a key that has no answer yet."""
        if type(charge) is not int:
            return False
        self._attempts[entry.number] = entry.account, charge
        if charge in self._keyed:
            account, key = self._keyed[charge]
            return account == entry.account and (account, key) not in self._answered
        last = self._last
        return last is not None and (last.number, last.kind, last.account) == (charge, "charge", entry.account)

    def _ends(self, entry: Entry, number: Any, outcome: Any) -> bool:
        """The one outcome of an attempt of this account; "answered" under a key only if the answer was kept."""
        if type(number) is not int or outcome not in (ANSWERED, FAILED):
            return False
        account, charge = self._attempts.pop(number)
        was_kept = charge in self._streams or charge not in self._keyed or self._keyed[charge] in self._answered
        return account == entry.account and (outcome == FAILED or was_kept)


def _key(kind: str, content: dict[str, Any]) -> Any:
    """What stands beside the entry for the index."""
    if kind == "outcome":
        return str(content["attempt"])
    return period_key(content["charge"], content["period"]) if kind == "period" else content.get("key")


def _is_of_an_answer(outcome: str, digest: Any) -> bool:
    """Whether a digest may stand beside this outcome: a failure has no answer."""
    return outcome == ANSWERED and isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None


def _are_whole(counts: dict[str, Any]) -> bool:
    """True would be equal to 1."""
    return all(type(count) is int for count in counts.values())
