"""Costs and budgets as people and programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dither.exact import in_words
from dither.ledger.budget import Amounts, Budget, amounts

__all__ = ["as_dict", "figures"]


def figures(of: Budget | Amounts) -> str:
    """epsilon 0.5, delta 1e-06: exact numbers; a delta of 0 is not said."""
    return ", ".join(f"{name} {in_words(value)}" for name, value in _named(of).items() if value or name != "delta")


def as_dict(of: Budget | Amounts) -> dict[str, str]:
    """The same for programs, as exact texts."""
    return {name: in_words(value) for name, value in _named(of).items()}


def _named(of: Budget | Amounts) -> Mapping[str, Fraction]:
    return of if isinstance(of, dict) else amounts(of)
