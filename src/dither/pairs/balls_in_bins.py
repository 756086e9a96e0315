"""An epoch in which each record is in one batch of T, thrown there at random: Gaussian noise on the sum of each."""

from __future__ import annotations

from fractions import Fraction

from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import Pair

__all__ = ["balls_in_bins"]


def balls_in_bins(squared_mu: Fraction, batches: int) -> Pair:
    """The pair where a record is removed; `squared_mu` is Δ²/σ²."""
    return GaussianPair(squared_mu)
