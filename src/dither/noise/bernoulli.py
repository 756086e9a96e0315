"""Coins with an exact chance: a rational p, or e^{−x} for a rational x."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

import numpy as np

from dither.exact import Ball, Number, ball, check, lower, precision, rational, set_fields, uniform_is_below, upper
from dither.noise.entropy import BitSource
from dither.noise.law import WORKING_BITS, Integers, Law

__all__ = ["Bernoulli", "BernoulliExp", "Coin"]

_DRAWN_BITS = 63  # of the uniform number; one less than a word, so that a chance of 1 fits too


class Coin(Law):
    """1 with probability `chance`, else 0. Sampled exactly: see bernoulli.md."""

    @abstractmethod
    def chance(self) -> Ball:
        """Compute P[X = 1], at the working precision.

        Returns
        -------
        Ball
            A ball that contains the probability.
        """

    def _pmf(self, x: int) -> Ball:
        """P[X = x]."""
        return self.chance() if x == 1 else 1 - self.chance() if x == 0 else ball(0)

    def _tail(self, x: int) -> Ball:
        """P[X > x]."""
        return ball(1) if x < 0 else self.chance() if x == 0 else ball(0)

    def _cdf(self, x: int) -> Ball:
        """P[X ≤ x]."""
        return ball(0) if x < 0 else 1 - self.chance() if x == 0 else ball(1)

    def _draw(self, source: BitSource) -> int:
        bits = min(_DRAWN_BITS, source.word_bits - 1)
        heads_below, tails_from = _thresholds(self, bits)
        prefix = source.bits(bits)
        if heads_below <= prefix < tails_from:
            return int(uniform_is_below(self.chance, prefix, bits, lambda: source.bits(1)))
        return int(prefix < heads_below)

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        bits = min(_DRAWN_BITS, source.word_bits - 1)
        heads_below, tails_from = _thresholds(self, bits)
        prefixes = source.words(count) >> np.uint64(source.word_bits - bits)
        out = (prefixes < np.uint64(heads_below)).astype(np.int64)
        open_ones = np.flatnonzero((prefixes >= np.uint64(heads_below)) & (prefixes < np.uint64(tails_from)))
        for i in open_ones.tolist():
            out[i] = uniform_is_below(self.chance, int(prefixes[i]), bits, lambda: source.bits(1))
        return out


@lru_cache(maxsize=1024)
def _thresholds(coin: Coin, bits: int) -> tuple[int, int]:
    """Below the first, `bits` binary digits of a uniform number decide for 1; from the second on for 0."""
    with precision(WORKING_BITS):
        scaled = coin.chance() * (1 << bits)
        # A float holds 53 bits, so the two differ by up to 2^11: still less than one draw in 10^15 is left open.
        return max(0, floor(lower(scaled))), min(1 << bits, ceil(upper(scaled)))


@dataclass(frozen=True, init=False)
class Bernoulli(Coin):
    """A coin with a rational chance: P[X = 1] = p.

    Parameters
    ----------
    probability : Number
        p, in [0, 1].

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Sampled exactly: noise/bernoulli.md has the proof.

    Examples
    --------
    >>> Bernoulli(1).sample(), Bernoulli(0).sample()
    (1, 0)
    """

    probability: Fraction

    def __init__(self, probability: Number) -> None:
        set_fields(self, probability=rational(probability, "probability"))
        check.probability(probability=self.probability)

    def chance(self) -> Ball:
        """Compute P[X = 1] = p.

        Returns
        -------
        Ball
            A ball that contains p.
        """
        return ball(self.probability)


@dataclass(frozen=True, init=False)
class BernoulliExp(Coin):
    """A coin with the chance e^{−x}: P[X = 1] = e^{−x}.

    Parameters
    ----------
    exponent : Number
        x ≥ 0.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Sampled exactly: noise/bernoulli.md has the proof.

    Examples
    --------
    >>> BernoulliExp(0).sample()
    1
    """

    exponent: Fraction

    def __init__(self, exponent: Number) -> None:
        set_fields(self, exponent=rational(exponent, "exponent"))
        check.nonnegative(exponent=self.exponent)

    def chance(self) -> Ball:
        """Compute P[X = 1] = e^{−x}.

        Returns
        -------
        Ball
            A ball that contains e^{−x}.
        """
        return ball(-self.exponent).exp()
