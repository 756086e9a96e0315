"""The cap of one account and what is left of it: exact sums, by the rule that holds for adaptive questions.

A later question may depend on earlier answers, so sums of (ε, δ) or of ρ are what is valid (accounting/filters.py).
The budget decides the unit of account: a `PureDP` or `ApproxDP` budget is charged (ε, δ), a `ZCDP` budget ρ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

from dither.accounting.covering import keeps_pair, keeps_rho
from dither.accounting.filters import BasicFilter, BasicOdometer, ZCDPFilter
from dither.adjacency import common
from dither.errors import LedgerError, ParameterError
from dither.events import Event, Stated, from_json, to_json
from dither.exact import in_words
from dither.guarantees import ZCDP, ApproxDP, PureDP

__all__ = [
    "Amounts",
    "Balance",
    "Budget",
    "amounts",
    "check_cost",
    "read_amounts",
    "read_budget",
    "shortage",
    "write_amounts",
    "write_budget",
]

Budget: TypeAlias = PureDP | ApproxDP | ZCDP
"""What caps an account, and what one release may cost it."""

Amounts: TypeAlias = dict[str, Fraction]
"""{"epsilon": ..., "delta": ...}, or {"rho": ...}."""

_MOST_DIGITS: Final = 1000
_MOST_DENOMINATOR: Final = 10**_MOST_DIGITS
_RATIO: Final = re.compile("[0-9]+(/[1-9][0-9]*)?")


def amounts(budget: Budget) -> Amounts:
    """The exact figures of a budget or of a cost, by name."""
    if isinstance(budget, ZCDP):
        return {"rho": budget.rho}
    if isinstance(budget, ApproxDP):
        return {"epsilon": budget.stated_epsilon, "delta": budget.stated_delta}
    if isinstance(budget, PureDP):
        return {"epsilon": budget.stated_epsilon, "delta": Fraction(0)}
    raise ParameterError(
        f"a budget or a cost is a PureDP, an ApproxDP or a ZCDP, got the type {type(budget).__name__}. "
        "Convert the guarantee to one of them first."
    )


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget, and what was charged to it so far."""

    budget: Budget
    spent: Amounts
    charges: int

    @classmethod
    def new(cls, budget: Budget) -> Balance:
        """Nothing spent yet."""
        return cls(budget, dict.fromkeys(amounts(budget), Fraction(0)), 0)

    @classmethod
    def read(cls, budget: Budget, charge: dict[str, Any]) -> Balance:
        """The balance that a charge wrote down."""
        spent, charges = read_amounts(charge.get("spent")), charge.get("charges")
        if type(charges) is not int or spent.keys() != amounts(budget).keys():
            raise LedgerError("an entry of the ledger has no readable sum. Run verify().")
        return cls(budget, spent, charges)

    @property
    def remaining(self) -> Amounts:
        """What is left, exactly."""
        return {name: cap - self.spent[name] for name, cap in amounts(self.budget).items()}

    def after(self, cost: Budget) -> Balance:
        """The balance after a release that costs `cost`; `OverBudget` with both figures if there is too little left."""
        if amounts(cost).keys() != self.spent.keys():
            raise ParameterError(
                f"a budget of the type {type(self.budget).__name__} cannot pay a {type(cost).__name__}. "
                f"State the cost in {' and '.join(self.spent)}."
            )
        adjacency = common([self.budget.adjacency, cost.adjacency])
        if isinstance(self.budget, ZCDP):
            filtered = ZCDPFilter(self.budget.rho, self.spent["rho"], adjacency, self.charges).charge(cost)
            return Balance(self.budget, {"rho": filtered.used}, self.charges + 1)
        before = BasicOdometer(**self.spent, adjacency=adjacency, releases=self.charges)
        after = BasicFilter(**amounts(self.budget), odometer=before).charge(cost).odometer
        return Balance(self.budget, {"epsilon": after.epsilon, "delta": after.delta}, self.charges + 1)


def shortage(cost: Budget, budget: Budget, remaining: Amounts) -> str | None:
    """Why a cost would be refused, in a sentence; None if it would be paid."""
    asked, cap = amounts(cost), amounts(budget)
    if asked.keys() != cap.keys():
        return f"It would be refused: the budget is in {' and '.join(cap)}, and the price in {' and '.join(asked)}."
    if asked.get("delta") and not cap["delta"]:
        return (
            "It would be refused: it needs a delta, and the budget has none. Make the groups public with keys, or give "
            "the dataset a budget with a delta."
        )
    for name, amount in asked.items():
        if amount > remaining[name]:
            return f"It would be refused: it costs {name} {in_words(amount)}, and {in_words(remaining[name])} is left."
    return None


def check_cost(event: Event, cost: Budget) -> None:
    """Refuse a `cost` that is less than what `event` costs, computed again from the event alone.

    Sums for a `PureDP` and a `ZCDP`; for an `ApproxDP` the sums, or δ(ε) of the exact profile, each never below the
    truth: a cost that is too small is never accepted, and one that holds by less than the last digits may be refused.
    """
    if not isinstance(event, Event):
        raise ParameterError(
            f"event must be what a mechanism did, as its `event` says; got the type {type(event).__name__}. Nothing "
            "was charged. For two distributions of your own, charge the event of a dp.FiniteMechanism of both."
        )
    common([event.adjacency, cost.adjacency])
    if not _covers(cost, event):
        raise ParameterError(
            f"the event costs more than {cost}: {event}. Nothing was charged. State a cost that the event keeps, as "
            "compose([event]) gives it."
        )


@lru_cache(maxsize=256)
def _covers(cost: Budget, event: Event) -> bool:
    """Remembered: the same question is asked again and again."""
    caps = amounts(cost)
    if isinstance(cost, ZCDP):
        return keeps_rho(event, caps["rho"])
    return keeps_pair(event, caps["epsilon"], caps["delta"])


def write_amounts(figures: Amounts) -> dict[str, str]:
    """As JSON: exact numbers are text.

    Sums of fractions with many different denominators grow without end, and such a sum is refused before it is
    written: what is written can be read.
    """
    if any(value.denominator >= _MOST_DENOMINATOR for value in figures.values()):
        raise ParameterError(
            f"the sum of all costs would have a denominator of more than {_MOST_DIGITS} digits. "
            "State the cost as a decimal, such as 0.1."
        )
    return {name: str(value) for name, value in figures.items()}


def read_amounts(figures: Any) -> Amounts:
    """Back from JSON, only as `write_amounts` writes it."""
    if isinstance(figures, dict) and set(figures) in ({"epsilon", "delta"}, {"rho"}):
        named = [(name, figures[name]) for name in ("epsilon", "delta", "rho") if name in figures]
        read = {name: Fraction(text) for name, text in named if isinstance(text, str) and _is_ratio(text)}
        if read.keys() == figures.keys() and write_amounts(read) == figures:
            return read
    raise LedgerError("an entry of the ledger has no readable figures. Run verify().")


def _is_ratio(text: str) -> bool:
    return len(text) <= 3 * _MOST_DIGITS and _RATIO.fullmatch(text) is not None


@lru_cache(maxsize=256)
def write_budget(budget: Budget) -> str:
    """As the JSON text of an event that states it: exact numbers, and who is protected. Remembered as well."""
    values = [value for name, value in amounts(budget).items() if name != "delta" or isinstance(budget, ApproxDP)]
    return to_json(Stated(type(budget).__name__, tuple(values), budget.adjacency))


@lru_cache(maxsize=256)
def read_budget(text: str) -> Budget:
    """Back from JSON. Remembered: every charge reads the same cap, and budgets are frozen."""
    stated = from_json(text)
    if isinstance(stated, Stated):
        for kind in (PureDP, ApproxDP, ZCDP):
            if stated.measure == kind.__name__:
                return kind(*stated.values, adjacency=stated.adjacency)
    raise LedgerError("an entry of the ledger states no budget that can be read. Run verify().")
