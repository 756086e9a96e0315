"""What a release cost, in words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dither.exact import Ball, in_words
from dither.measures import Guarantee
from dither.measures.certified import above

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
    """How often the best attacker is right who finds both cases equally likely: (1 + δ(0))/2, rounded up.

    δ(0) is the total variation distance; claim C23 bounds it by ε.
    """
    advantage = guarantee.tv()
    percent = above(lambda: 50 * (1 + Ball(advantage)))
    shown = f"{percent + 0.05:.1f}" if percent < 99.9 else f"{percent:.4f}"
    return (
        "Somebody who knows everything else, and holds it as likely as not that one particular contribution is in the "
        f"data, guesses right at most {shown} % of the time with this answer, instead of 50 %."
    )
