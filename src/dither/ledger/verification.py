"""Is this what was written? Every entry is read as a stranger would, and every sum is added up again."""

from __future__ import annotations

from typing import Any, Final

from dither.errors import LedgerError
from dither.events import from_json
from dither.ledger.budget import Balance, read_budget
from dither.ledger.entry import BEGINNING, Entry, canonical, named_parts

__all__ = ["Verification"]

_FIELDS: Final = {
    "budget": {"budget", "description", "at"},
    "source": {"at"},
    "charge": {"event", "cost", "question", "spent", "charges", "by", "at"},
    "answer": {"charge", "answer"},
}


class Verification:
    """What has been seen of a chain so far: its last hash, the balance of each account, the parts and keys in use."""

    def __init__(self) -> None:
        self.number = 0
        self._hash = BEGINNING
        self._balances: dict[str, Balance] = {}
        self._charges: dict[tuple[str, str], int] = {}
        """Charges with a key: their numbers."""
        self._answered: set[tuple[str, str]] = set()
        self._parts: set[str] = set()

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
            raise LedgerError(f"entry {entry.number} does not say what an entry must say in its place.")
        self.number, self._hash = entry.number, entry.hash

    def _fits(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        if canonical(content) != entry.body or content.get("key") != key:
            return False
        names = {"parts"} if entry.kind in ("budget", "source") else {"key"}
        if content.keys() - names != _FIELDS[entry.kind]:
            return False
        if entry.kind in ("budget", "source"):
            return self._opens(entry, content) and self._names(entry, content)
        return self._charges_once(entry, content, key) if entry.kind == "charge" else self._answers(entry, content, key)

    def _opens(self, entry: Entry, content: dict[str, Any]) -> bool:
        is_new = entry.account not in self._balances
        if entry.kind == "source":
            return not is_new and "parts" in content
        self._balances[entry.account] = Balance.new(read_budget(content["budget"]))
        return is_new

    def _names(self, entry: Entry, content: dict[str, Any]) -> bool:
        """Each part once in the whole ledger, so that it has one cap."""
        new = named_parts(entry)
        is_disjoint = self._parts.isdisjoint(new)
        self._parts |= new
        return is_disjoint and ("parts" not in content or (bool(new) and content["parts"] == sorted(new)))

    def _charges_once(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        from_json(content["event"])
        before = self._balances[entry.account]
        after = before.after(read_budget(content["cost"]))
        self._balances[entry.account] = after
        if key is not None:
            if (entry.account, key) in self._charges:
                return False
            self._charges[entry.account, key] = entry.number
        return after == Balance.read(before.budget, content)

    def _answers(self, entry: Entry, content: dict[str, Any], key: str | None) -> bool:
        if key is None or (entry.account, key) in self._answered:
            return False
        self._answered.add((entry.account, key))
        charge, answer = content["charge"], content["answer"]
        is_its_charge = type(charge) is int and charge == self._charges[entry.account, key]
        return is_its_charge and bool(bytes.fromhex(answer).hex() == answer)
