"""The ledger: open an account with a cap, charge it before data is read, keep the answer, prove the whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.engine import Connection

from dither.errors import LedgerError, ParameterError
from dither.events import Event, from_json, to_json
from dither.ledger.budget import (
    Amounts,
    Balance,
    Budget,
    amounts,
    read_amounts,
    read_budget,
    write_amounts,
    write_budget,
)
from dither.ledger.entry import BEGINNING, Entry, canonical
from dither.ledger.store import Store

__all__ = ["Account", "Charge", "Ledger"]


@dataclass(frozen=True, slots=True)
class Charge:
    """A durable charge: the right to draw noise once.

    `answer` holds the bytes that were given before under the same idempotency key; then nothing new is drawn.
    """

    entry: Entry
    answer: bytes | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """The state of one account."""

    name: str
    budget: Budget
    spent: Amounts
    remaining: Amounts
    charges: int


class Ledger:
    """An append-only record of what was spent, at `location`: the path of a SQLite file, or postgresql://... .

    >>> import dither as dp, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(pathlib.Path(folder.name) / "visits.ledger")
    >>> ledger.open_account("visits", dp.PureDP(1))
    >>> charge = ledger.charge("visits", dp.events.LaplaceNoise(2), dp.PureDP("0.5"), "how many?")
    >>> ledger.account("visits").remaining["epsilon"]
    Fraction(1, 2)
    >>> ledger.verify(anchor=ledger.anchor())
    2
    >>> folder.cleanup()
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        self._store = Store(location)

    def open_account(self, account: str, budget: Budget, description: str = "") -> None:
        """Give an account its cap, once. Opening it again with the same cap changes nothing; another cap is refused."""
        _check_text(account=account, description=description)
        figures = amounts(budget)
        if not any(figures.values()):
            raise ParameterError("a budget must be greater than 0. Give the account something to spend.")
        with self._store.writing() as connection:
            opening = self._store.last(connection, account, "budget")
            if opening is None:
                body = {"budget": write_budget(budget), "description": description, "at": _now()}
                self._store.append(connection, "budget", account, canonical(body))
            elif read_budget(opening.content["budget"]) != budget:
                raise LedgerError(
                    f"this dataset has the budget {read_budget(opening.content['budget'])} in this ledger, and "
                    f"{budget} was asked for. Open it with the budget it has; a budget is given once."
                )

    def charge(
        self, account: str, event: Event, cost: Budget, question: str, *, key: str | None = None, by: str = ""
    ) -> Charge:
        """Write down, durably, that `event` will happen at `cost`; `OverBudget` if too little is left.

        When this returns, the entry is on disk. Check and charge are one transaction, which excludes other writers.
        A `key` makes the charge idempotent: the same key with the same question and event is charged once, and with
        another it is refused.
        """
        _check_text(account=account, question=question, by=by, key=key or "")
        body = {"event": to_json(event), "cost": write_budget(cost), "question": question}
        with self._store.writing() as connection:
            if key is not None:
                before = self._store.keyed(connection, "charge", account, key)
                if before is not None:
                    return self._repeated(connection, before, body, key)
            balance = self._balance(connection, account).after(cost)
            full = {**body, "spent": write_amounts(balance.spent), "charges": balance.charges, "by": by, "at": _now()}
            if key is not None:
                full["key"] = key
            return Charge(self._store.append(connection, "charge", account, canonical(full), key))

    def _repeated(self, connection: Connection, before: Entry, body: dict[str, str], key: str) -> Charge:
        content = before.content
        if any(content.get(name) != value for name, value in body.items()):
            raise LedgerError(
                "this idempotency key was used for another question. Nothing was charged. Take a new key."
            )
        answer = self._store.keyed(connection, "answer", before.account, key)
        return Charge(before, None if answer is None else bytes.fromhex(answer.content["answer"]))

    def keep(self, charge: Charge, answer: bytes) -> bytes:
        """Store what will be said under the charge's key, and give back what must be said: the first answer stored.

        Of two processes that draw under one key, one stores its answer and both say it. Without a key nothing is
        stored.
        """
        key = charge.entry.content.get("key")
        if key is None:
            return answer
        with self._store.writing() as connection:
            before = self._store.keyed(connection, "answer", charge.entry.account, key)
            if before is not None:
                return bytes.fromhex(before.content["answer"])
            body = {"charge": charge.entry.number, "answer": answer.hex(), "key": key}
            self._store.append(connection, "answer", charge.entry.account, canonical(body), key)
            return answer

    def account(self, account: str) -> Account:
        """The budget of an account and what is left of it."""
        with self._store.reading() as connection:
            balance = self._balance(connection, account)
        return Account(account, balance.budget, balance.spent, balance.remaining, balance.charges)

    def _balance(self, connection: Connection, account: str) -> Balance:
        opening = self._store.last(connection, account, "budget")
        if opening is None:
            raise LedgerError("this dataset has no budget in this ledger. Open it with budget=... first.")
        budget = read_budget(opening.content["budget"])
        newest = self._store.last(connection, account, "charge")
        if newest is None:
            return Balance.new(budget)
        return Balance(budget, read_amounts(newest.content["spent"]), newest.content["charges"])

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first."""
        with self._store.reading() as connection:
            for entry, _ in self._store.all(connection):
                yield entry

    def anchor(self) -> str:
        """The number and the hash of the newest entry: keep it outside, and `verify` will notice a rollback."""
        with self._store.reading() as connection:
            newest = self._store.last(connection)
        return f"0:{BEGINNING}" if newest is None else f"{newest.number}:{newest.hash}"

    def verify(self, anchor: str | None = None) -> int:
        """Check every entry: the chain, each sum, each cap, and the `anchor` that the owner kept. Their number."""
        number, trusted = _read_anchor(anchor)
        seen = Verification()
        with self._store.reading() as connection:
            for entry, written in self._store.all(connection):
                seen.add(entry, written)
                if entry.number == number and written != trusted:
                    raise LedgerError(f"entry {number} is not the one that the anchor names: the ledger was rewritten.")
        if seen.number < number:
            raise LedgerError(
                f"the ledger ends at entry {seen.number}, and the anchor names entry {number}: entries were removed."
            )
        return seen.number


class Verification:
    """What has been seen of a chain so far: the last hash, and the balance of each account."""

    def __init__(self) -> None:
        self.number = 0
        self._hash = BEGINNING
        self._balances: dict[str, Balance] = {}
        self._charges: dict[int, Entry] = {}

    def add(self, entry: Entry, written: str) -> None:
        """The next entry, or `LedgerError` saying what does not fit."""
        if entry.number != self.number + 1:
            raise LedgerError(f"entry {self.number + 1} is missing: the next one has the number {entry.number}.")
        if entry.previous != self._hash or entry.hash != written:
            raise LedgerError(f"entry {entry.number} was changed: its hash does not fit.")
        self.number, self._hash = entry.number, written
        try:
            self._check(entry)
        except LedgerError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(f"entry {entry.number} does not say what an entry must say.") from error

    def _check(self, entry: Entry) -> None:
        content = entry.content
        if entry.kind == "budget" and entry.account not in self._balances:
            self._balances[entry.account] = Balance.new(read_budget(content["budget"]))
        elif entry.kind == "charge":
            from_json(content["event"])
            after = self._balances[entry.account].after(read_budget(content["cost"]))
            if after.spent != read_amounts(content["spent"]) or after.charges != content["charges"]:
                raise LedgerError(f"entry {entry.number} states a wrong sum.")
            self._balances[entry.account] = after
            if "key" in content:
                self._charges[entry.number] = entry
        elif entry.kind == "answer":
            charge = self._charges.pop(content["charge"])
            if charge.account != entry.account or charge.content["key"] != content["key"]:
                raise LedgerError(f"entry {entry.number} answers a charge of another account or key.")
            bytes.fromhex(content["answer"])
        else:
            raise LedgerError(f"entry {entry.number} has no place in the chain.")


def _read_anchor(anchor: str | None) -> tuple[int, str]:
    if anchor is None:
        return 0, BEGINNING
    number, _, trusted = anchor.partition(":")
    if not number.isdecimal() or len(trusted) != len(BEGINNING) or not set(trusted) <= set("0123456789abcdef"):
        raise ParameterError("anchor must be what Ledger.anchor() gave: a number, a colon and 64 hexadecimal digits.")
    return int(number), trusted


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_LONGEST = 1_000_000


def _check_text(**texts: object) -> None:
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > _LONGEST or "\x00" in text:
            raise ParameterError(f"{name} must be a text of at most {_LONGEST} characters without NUL.")
    if not texts["account"]:
        raise ParameterError("account must not be empty.")
