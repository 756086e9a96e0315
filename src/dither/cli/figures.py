"""Costs and budgets as people and programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.exact import in_words
from dither.ledger.budget import Amounts, Budget, amounts

if TYPE_CHECKING:
    from dither.ledger import Account

__all__ = ["as_dict", "figures", "left_of"]


def figures(of: Budget | Amounts) -> str:
    """epsilon 0.5, delta 1e-06: exact numbers; a delta of 0 is not said."""
    return ", ".join(f"{name} {in_words(value)}" for name, value in _named(of).items() if value or name != "delta")


def left_of(account: Account) -> str:
    """epsilon 0.1 of epsilon 0.5: what is left of the budget, or of that of the current period."""
    renewed = account.per_period
    whole = figures(account.budget) if renewed is None else f"{figures(renewed.each)} in this {renewed.every}"
    return f"{figures(account.remaining)} of {whole}"


def as_dict(of: Budget | Amounts) -> dict[str, str]:
    """The same for programs, as exact texts."""
    return {name: in_words(value) for name, value in _named(of).items()}


def _named(of: Budget | Amounts) -> Mapping[str, Fraction]:
    return of if isinstance(of, dict) else amounts(of)
