"""Probabilities of quantiles, and how far one record moves their scores."""

from __future__ import annotations

from fractions import Fraction

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.estimators.records import is_replace
from dither.exact import in_words

__all__ = ["MOST_UNITS", "checked_probability", "quantile_sensitivity"]

MOST_UNITS = 10**6
"""The largest denominator d of a probability."""


def checked_probability(probability: Fraction) -> Fraction:
    """Strictly between 0 and 1, with a denominator that keeps scores exact."""
    if not 0 < probability < 1:
        advice = f"Did you mean {in_words(probability / 100)}?" if 1 < probability < 100 else "Use min or max."
        raise ParameterError(
            f"a quantile's probability must lie strictly between 0 and 1, got {in_words(probability)}. {advice}"
        )
    if probability.denominator > MOST_UNITS:
        raise ParameterError(
            f"a quantile's probability must be a fraction with a denominator of at most {MOST_UNITS:,}, such as 0.025 "
            "or '1/3'. Round it."
        )
    return probability


def quantile_sensitivity(probability: Fraction, adjacency: Adjacency) -> int:
    """Δ of the score of a quantile, in units."""
    p, d = probability.numerator, probability.denominator
    return d if is_replace(adjacency) else max(p, d - p)
