"""What the service does, for the API and for the page alike: who asks, what of, and what becomes of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from dither.engine import Plan, Question, TableRelease
from dither.errors import LedgerConflict, ParameterError
from dither.ledger.budget import amounts, read_budget
from dither.web.access_keys import Key, Keyring
from dither.web.offered_dataset import Offered, figures
from dither.web.questions import ANSWERED, ASKED, FAILED, REFUSED, AskedQuestion, Questions
from dither.web.settings import Settings
from dither.web.store import ServiceStore
from dither.web.strict_json import read_object

__all__ = ["Service"]


@dataclass
class Service:
    """The datasets that are offered, and who may ask of them."""

    offered: Mapping[str, Offered]
    settings: Settings
    store: ServiceStore
    keyring: Keyring
    ours: ExitStack
    """What was opened for it: datasets and the store."""
    counts: Counter[str] = field(default_factory=Counter)
    _gate: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.questions = Questions(self.store)

    def dataset(self, key: Key, name: str) -> Offered:
        """The dataset of that name, if this key may ask of it."""
        found = self.offered.get(name)
        if found is None or not key.may_ask(found.right):
            raise self.keyring.refusal()
        return found

    def datasets(self, key: Key) -> list[Offered]:
        """All that this key may ask of."""
        return [each for each in self.offered.values() if key.may_ask(each.right)]

    def about(self, key: Key, offered: Offered) -> dict[str, Any]:
        """The public facts of a dataset, and what is left of its budget."""
        account = offered.account
        return {
            "name": offered.name,
            "table": offered.right,
            "practice": offered.is_practice,
            "unit": str(offered.data.origin.unit.adjacency),
            "columns": offered.columns(),
            "budget": figures(amounts(account.budget)),
            "remaining": figures(account.remaining),
            "left_to_you": figures(offered.left_to(key)),
            "stopped": account.failures.is_used_up,
            "approval": self._needs_approval(key, offered),
        }

    # ------------------------------------------------------------------------ questions

    def plan(self, key: Key, name: str, body: bytes) -> tuple[Question, Plan]:
        """What a question would do and cost. It is free and looks at no data, so its time tells of none either."""
        self.count("plans")
        return self.dataset(key, name).plan(key, read_object(body))

    def ask(self, key: Key, name: str, body: bytes, idempotency_key: str | None) -> AskedQuestion:
        """Write the question down. What cannot be asked is refused; no data is looked at, and nothing is charged."""
        offered = self.dataset(key, name)
        values = read_object(body)
        offered.plan(key, values)
        waits = self._needs_approval(key, offered)
        asked = body.decode()
        found = self.questions.written_down(offered.name, key.name, idempotency_key, asked, values, waits=waits)
        return self._held(key, found)

    def _held(self, key: Key, inquiry: AskedQuestion) -> AskedQuestion:
        """Where the owner looks first, what was asked before that was so, or was refused since, waits too.

        What the ledger has was accepted and paid for, and is tried again for nothing.
        """
        offered = self.offered[inquiry.dataset]
        if not self._needs_approval(key, offered) or inquiry.state not in (ASKED, REFUSED, FAILED):
            return inquiry
        if inquiry.state == FAILED and offered.is_charged(key, inquiry.key):
            return inquiry
        return self.questions.held(inquiry)

    def release(self, key: Key, inquiry: AskedQuestion, pause: Callable[[], None] | None = None) -> TableRelease:
        """Charge, then answer, for who asked it; one that was answered before is read again, and costs nothing.

        A ledger that was restored from an older copy, or a new one, does not have its charge: it would pay once more.
        """
        offered = self.offered[inquiry.dataset]
        if inquiry.state != ANSWERED:
            self.keyring.check_still(key, offered.right)  # it may have waited long: for its turn, or for the owner
        elif not offered.is_charged(key, inquiry.key):
            raise LedgerConflict(
                "this answer is not in the ledger that is served: it was restored from an older copy, or is a new one. "
                "Nothing was charged. Ask again under a new key."
            )
        return offered.release(key, inquiry.values, inquiry.key, pause)

    def answer(self, key: Key, id: str) -> tuple[AskedQuestion, TableRelease]:
        """An answer that was given before, for who asked and for the owner. It is read again, and costs nothing."""
        inquiry = self.inquiry(key, id)
        if inquiry.state != ANSWERED:
            raise ParameterError(f"this question has no answer: it is {inquiry.state}. {inquiry.told}".strip())
        asker = Key(id="", name=inquiry.analyst, rights=self._rights(inquiry))
        return inquiry, self.release(asker, inquiry)

    def inquiry(self, key: Key, id: str) -> AskedQuestion:
        """A question of this key, or any for the owner."""
        found = self.questions.find(id)
        if found is None or not self._may_see(key, found):
            raise self.keyring.refusal()
        return found

    def _may_see(self, key: Key, inquiry: AskedQuestion) -> bool:
        """Rights are those of the key that is shown: another key of the same name may have others."""
        offered = self.offered.get(inquiry.dataset)
        return offered is not None and (key.is_owner or inquiry.analyst == key.name) and key.may_ask(offered.right)

    def own_inquiry(self, key: Key, id: str) -> AskedQuestion:
        """A question of this very key: it is charged to who asked it."""
        found = self.inquiry(key, id)
        if found.analyst != key.name:
            raise ParameterError("who asked has to collect the answer: it is charged to them.")
        return self._held(key, found)

    def history(self, key: Key, state: str | None = None, most: int = 200) -> list[AskedQuestion]:
        """The newest questions first: those of this key, or all for the owner."""
        found = self.questions.newest(most, analyst=None if key.is_owner else key.name, state=state)
        return [each for each in found if self._may_see(key, each)]

    def withdraw(self, key: Key, id: str) -> None:
        """Take back a question that was not begun, before anything is charged."""
        self.questions.withdraw(self.inquiry(key, id).id)

    # ------------------------------------------------------------------------ for the owner

    def spending(self, offered: Offered) -> list[dict[str, Any]]:
        """Every charge of a dataset, oldest first, as the ledger has it."""
        account = offered.data.origin.release_path.account
        found = []
        for entry in offered.ledger.entries():
            if entry.kind == "charge" and entry.account == account:
                content = entry.content
                cost = figures(amounts(read_budget(content["cost"])))
                about = {"number": entry.number, "at": content["at"], "by": content["by"], "cost": cost}
                found.append({**about, "question": content["question"]})
        return found

    def resume(self, key: Key, offered: Offered) -> int:
        """Accept the failures of a dataset, so that questions are taken again; the ledger records who did."""
        return offered.ledger.resume(offered.data.origin.release_path.account, by=key.name)

    def count(self, what: str) -> None:
        """For the metrics of the owner."""
        with self._gate:
            self.counts[what] += 1

    def close(self) -> None:
        """After the last question: give everything back."""
        self.ours.close()

    def _needs_approval(self, key: Key, offered: Offered) -> bool:
        return self.settings.approval and not key.is_owner and not offered.is_practice

    def _rights(self, inquiry: AskedQuestion) -> Mapping[str, Mapping[str, str]]:
        return next((each.rights for each in reversed(self.keyring.all()) if each.name == inquiry.analyst), {})
