"""What is left of the current period of a budget that is renewed.

Each charge writes down the number of its period and the sums in it. Numbers never fall: a clock that is put back
renews nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Self

from dither.errors import LedgerError, OverBudget
from dither.ledger.budget import Amounts, Balance, Budget, amounts, write_amounts
from dither.ledger.per_period import PerPeriod

__all__ = ["PeriodBalance"]


@dataclass(frozen=True, slots=True)
class PeriodBalance:
    """A budget that is renewed, and what was charged in the period of the last charge."""

    budget: PerPeriod
    number: int
    """That of the period; 0 before the first charge."""
    balance: Balance

    @classmethod
    def read(cls, budget: PerPeriod, charge: dict[str, Any] | None) -> Self:
        """What the last charge wrote down; nothing spent if there is none."""
        if charge is None:
            return cls(budget, 0, Balance.new(budget.each))
        said = charge.get("in_period")
        if not isinstance(said, dict) or type(said.get("number")) is not int:
            raise LedgerError("an entry of the ledger has no readable period. Run verify().")
        return cls(budget, said["number"], Balance.read(budget.each, said))

    def written(self) -> dict[str, Any]:
        """As a charge states it."""
        sums = self.balance
        return {"number": self.number, "spent": write_amounts(sums.spent), "charges": sums.charges}

    def _at(self, at: str) -> Self:
        """At a moment: the same, or a new period of which nothing is spent."""
        number = max(self.number, self.budget.number(datetime.fromisoformat(at)))
        return self if number == self.number else type(self)(self.budget, number, Balance.new(self.budget.each))

    def _begins_later(self, at: str) -> bool:
        return self.budget.number(datetime.fromisoformat(at)) < 0

    def remaining(self, at: str) -> Amounts:
        """What is left at a moment: of the period that it lies in."""
        now = self._at(at)
        if now.number >= self.budget.periods or self._begins_later(at):
            return dict.fromkeys(amounts(self.budget.each), Fraction(0))
        return now.balance.remaining

    def after(self, cost: Budget, at: str) -> Self:
        """After a charge at a moment; `OverBudget` if less than it costs is left of the period."""
        budget, now = self.budget, self._at(at)
        if self._begins_later(at):
            raise OverBudget(f"The first period of this budget begins on {budget.start.isoformat()} (UTC). Ask then.")
        if now.number >= budget.periods:
            raise OverBudget(
                f"The last of the {budget.periods} periods of this budget ended on "
                f"{budget.begins(budget.periods).isoformat()}. What was left of it lapsed."
            )
        try:
            return type(self)(budget, now.number, now.balance.after(cost))
        except OverBudget as error:
            more = now.number + 1 < budget.periods
            begins = budget.begins(now.number + 1).isoformat()
            then = f"The next one begins on {begins} (UTC)." if more else f"It is the last one, and ends on {begins}."
            raise OverBudget(f"Of this {budget.every}, too little is left: {error} {then}") from None
