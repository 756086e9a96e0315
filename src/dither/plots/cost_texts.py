"""What a release cost, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from dither.exact import in_words
from dither.guarantees import Guarantee
from dither.guarantees.attacker import best_guess

__all__ = ["amounts_in_words", "price", "risk"]

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def amounts_in_words(figures: Mapping[str, Fraction]) -> str:
    """Figures by their symbols; δ only where there is one.

    >>> amounts_in_words({"epsilon": Fraction(1, 2), "delta": Fraction(0)})
    'ε = 0.5'
    """
    return ", ".join(
        f"{_SYMBOLS[name]} = {in_words(value)}" for name, value in figures.items() if value or name != "delta"
    )


def price(guarantee: Guarantee) -> str:
    """The figures of a guarantee; for one that has no figures of its own, ε at δ = 10⁻⁶, rounded up."""
    names = {"stated_epsilon": "epsilon", "stated_delta": "delta", "rho": "rho"}
    stated = {name: getattr(guarantee, field) for field, name in names.items() if hasattr(guarantee, field)}
    if stated:
        return amounts_in_words(stated)
    return f"ε = {guarantee.epsilon('1e-6'):.4g} at δ = 1e-06"


def risk(guarantee: Guarantee) -> str:
    """How often the best attacker is right who finds both cases equally likely, rounded up (guarantees/attacker.py)."""
    percent = 100 * Fraction(best_guess(guarantee))
    digits = 1 if percent < Fraction(999, 10) else 4
    shown = f"{math.ceil(percent * 10**digits) / 10**digits:.{digits}f}"
    return (
        "Somebody who knows everything else, and holds it as likely as not that one particular contribution is in the "
        f"data, guesses right at most {shown} % of the time with this answer, instead of 50 %."
    )
