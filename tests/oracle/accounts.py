"""Budgets kept by hand: a list of costs and the schoolbook rule, sharing no code with the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

__all__ = ["PlainAccount"]


@dataclass
class PlainAccount:
    """A cap on each figure, and all costs so far."""

    cap: tuple[Fraction, ...]
    costs: list[tuple[Fraction, ...]] = field(default_factory=list)

    @property
    def spent(self) -> tuple[Fraction, ...]:
        """Each figure, added up from the beginning."""
        return tuple(sum((cost[index] for cost in self.costs), Fraction(0)) for index in range(len(self.cap)))

    def can_pay(self, cost: tuple[Fraction, ...]) -> bool:
        """Would every figure stay within its cap?"""
        return all(spent + more <= cap for spent, more, cap in zip(self.spent, cost, self.cap, strict=True))
