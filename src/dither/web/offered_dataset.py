"""A dataset as the service offers it: its questions are read by whoever described it, and charged to who asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dither.engine import Dataset, Plan, Query, Question, TableRelease
from dither.engine.dataset import for_analyst
from dither.errors import ParameterError
from dither.exact import in_words
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger import Account, Ledger
from dither.ledger.budget import Amounts, Budget
from dither.web.access_keys import Key

__all__ = ["Offered", "Read", "figures"]

_REMEMBERED: Final = 256
Read = Callable[[Query, Mapping[str, Any]], tuple[Question, Mapping[str, Any]]]
"""What somebody asks of the rows, as plain values → the question, and the arguments of its plan."""


def figures(amounts: Amounts) -> dict[str, str]:
    """Exact sums as texts."""
    return {name: in_words(value) for name, value in amounts.items()}


@dataclass(frozen=True)
class Offered:
    """A dataset under its name, and how questions about it are read."""

    name: str
    data: Dataset
    read: Read
    right: str
    """The name of the dataset that a key must have the right to: practice rows go with the real ones."""
    is_practice: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What the owner says stands in columns of texts, as in a CSV file: number, date or truth."""
    _opened: set[str] = field(default_factory=set)
    _read: dict[tuple[str, str | None, str], tuple[Question, Mapping[str, Any]]] = field(default_factory=dict)
    _gate: threading.Lock = field(default_factory=threading.Lock)

    @property
    def ledger(self) -> Ledger:
        """Where its charges are."""
        return self.data.origin.release_path.ledger

    @property
    def account(self) -> Account:
        """Its cap, and what is left."""
        return self.ledger.account(self.data.origin.release_path.account)

    def asked(self, key: Key, values: Mapping[str, Any]) -> tuple[Question, Mapping[str, Any]]:
        """The question of somebody, to be charged to the dataset and to the share of who asks.

        One that was just planned is not read again when it is paid for.
        """
        share = self.share(key)
        said = (key.name, share, repr(sorted(values.items(), key=lambda item: item[0])))
        found = self._read.get(said)
        if found is None:
            found = self.read(for_analyst(self.data, key.name, share), values)
            with self._gate:
                if len(self._read) >= _REMEMBERED:
                    self._read.clear()
                self._read[said] = found
        return found

    def plan(self, key: Key, values: Mapping[str, Any]) -> tuple[Question, Plan]:
        """What it would do and cost; no data is read."""
        question, price = self.asked(key, values)
        return question, question.plan(**price)

    def release(
        self, key: Key, values: Mapping[str, Any], idempotency_key: str, pause: Callable[[], None] | None = None
    ) -> TableRelease:
        """Charge, then answer. Keys of two analysts are never the same: a name has no colon.

        With a `pause` the ledger hears of the outcome after it.
        """
        question, price = self.asked(key, values)
        if pause is not None:
            query = question.query
            paced = replace(query.origin, release_path=replace(query.origin.release_path, pause=pause))
            question = replace(question, query=replace(query, origin=paced))
        return question.release(**price, key=_own(key, idempotency_key))

    def is_charged(self, key: Key, idempotency_key: str) -> bool:
        """Whether the ledger has what somebody asked. Practice rows have one of their own, in memory."""
        return self.is_practice or self.ledger.has_charge(self.account.name, _own(key, idempotency_key))

    def share(self, key: Key) -> str | None:
        """The account of what this analyst may spend, opened when it is first needed; None is first come."""
        said = {} if self.is_practice else key.rights.get(self.right, {})
        if not said:
            return None
        account = f"{self.data.origin.release_path.account} (share of {key.name})"
        with self._gate:
            if account not in self._opened:
                self.ledger.open_account(account, share_of(self.data.budget, said))
                self._opened.add(account)
        return account

    def left_to(self, key: Key) -> Amounts:
        """What this analyst may still spend: the smaller of share and budget, in each figure."""
        return replace(self.data.origin.release_path, share=self.share(key)).left_of(self.account)

    def columns(self) -> list[dict[str, Any]]:
        """Names, kinds and privacy domains: all of it is public."""
        unit = getattr(self.data.origin.unit, "column", None)
        found: list[dict[str, Any]] = []
        for name, kind in self.data.columns.items():
            domain = self.data.domains.get(name)
            of = {} if domain is None else {"keys": domain.keys} if domain.keys else {"bounds": domain.bounds}
            about: dict[str, Any] = {
                what: [_plain(each) for each in values] for what, values in of.items() if values is not None
            }
            if name == unit:
                about["identifies"] = "a person"
            found.append({"name": name, "kind": self.kinds.get(name, kind), **about})
        return found


def _own(key: Key, idempotency_key: str) -> str:
    return f"{key.name}:{idempotency_key}"


def share_of(budget: Budget, share: Mapping[str, str]) -> Budget:
    """The cap of a share, in the figures of the budget that it is part of; δ is that of the whole."""
    if set(share) != ({"rho"} if isinstance(budget, ZCDP) else {"epsilon"}):
        raise ParameterError("a share is in the figures of the budget: epsilon, or rho where the budget is a rho.")
    if isinstance(budget, ZCDP):
        return ZCDP(share["rho"], adjacency=budget.adjacency)
    if isinstance(budget, ApproxDP):
        return ApproxDP(share["epsilon"], budget.stated_delta, adjacency=budget.adjacency)
    return PureDP(share["epsilon"], adjacency=budget.adjacency)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | bool) else str(value)
