"""Gaussian noise on a sum over a Poisson sample that is cut to a fixed size.

Of the n − 1 records that both datasets have, J ~ Bin(n − 1, q) are drawn. The size of a batch is B.

* J < B: all of them are in the sum, and the record that differs as well if it is drawn: a Poisson sample of rate q.
* J ≥ B: without the record the sum is over B of them, all subsets alike. It is in with the probability that it is
  drawn and among the B of J + 1 that are kept; then it stands in the place of a random one of the B, and moves the sum
  by 2Δ at most. Given J ≥ B that has the probability r = P[Bin(n, q) > B]·B/(n·P[J ≥ B]), for it is q·E[B/(J + 1); J ≥
  B]/P[J ≥ B].

**From below** the other records move nothing: then it only counts whether the one that differs is kept, which has the
probability s = q·P[Bin(n − 1, q) < B] + P[Bin(n, q) > B]·B/n, rounded down; at 0 that costs nothing.

What J is depends on nothing that differs, so the pair is a mixture of both (joint convexity). The probabilities are
rounded: r upwards, the weights downwards; what is left over goes to a pair that dominates both, rate q and 2Δ.
"""

from __future__ import annotations

from fractions import Fraction

from dither.exact import Ball, ball, precision
from dither.exact.binomial import at_least
from dither.pairs.bounded import AtMostPair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import MixturePair, poisson
from dither.pairs.two_point import pure

__all__ = ["grid_above", "truncated", "whole"]

_BITS = 320
_GRID = 1 << 192


def truncated(squared_mu: Fraction, rate: Fraction, batch: int, population: int) -> Pair:
    """The pair where a record is removed; `squared_mu` is Δ²/σ²."""
    alone, instead = GaussianPair(squared_mu), GaussianPair(4 * squared_mu)
    if batch >= population:
        return poisson(alone, rate)
    with precision(_BITS):
        cut = at_least(population - 1, rate, batch)
        share, rest = _down(cut), _down(1 - cut)
        moved = (
            grid_above(at_least(population, rate, batch + 1) * ball(Fraction(batch, population)) / cut)
            if share
            else rate
        )
    weighted = [(rest, poisson(alone, rate)), (share, poisson(instead, min(moved, rate)))]
    weighted.append((1 - share - rest, poisson(instead, rate)))
    kept = [(weight, pair) for weight, pair in weighted if weight]
    above = MixturePair(tuple(weight for weight, _ in kept), tuple(pair for _, pair in kept))
    certain = _kept(rate, batch, population)
    return AtMostPair(above, poisson(alone, certain) if certain else pure(Fraction(0)))


def _kept(rate: Fraction, batch: int, population: int) -> Fraction:
    """s, rounded down."""
    with precision(_BITS):
        fits = ball(rate) * (1 - at_least(population - 1, rate, batch))
        cut = at_least(population, rate, batch + 1) * ball(Fraction(batch, population))
        return _down(fits + cut)


def _down(number: Ball) -> Fraction:
    """A multiple of 2^-192 not above the number, at least 0."""
    return max(Fraction(whole((number * _GRID).lower().floor()), _GRID), Fraction(0))


def grid_above(number: Ball) -> Fraction:
    """A multiple of 2^-192 not below the number."""
    return Fraction(whole((number * _GRID).upper().ceil()), _GRID)


def whole(number: Ball) -> int:
    """The integer that an exact ball is."""
    found = number.unique_fmpz()
    if found is None:
        raise ArithmeticError("the number is not known well enough")
    return int(found)
