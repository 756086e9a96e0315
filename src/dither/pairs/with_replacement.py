"""A sample drawn with replacement, when one record is replaced.

The record is in K ~ Bin(m, 1/n) of the m places. With R the law given K = 0, P = (1−γ)R + γP′ and Q = (1−γ)R + γQ′, γ =
P[K ≥ 1]. Given K = k, filling these places with other records instead gives R: P′_k and R, and P′_k and Q′_k, are k
steps apart. So H_{1+γ(u−1)}(P‖Q) ≤ γ Σ_k P[K = k | K ≥ 1]·δ_k(ln u) by advanced joint convexity, as for a sample of
fixed size (Balle, Barthe and Gaboardi 2018, Theorems 2 and 10), δ_k what k steps cost. γ is rounded up and the
probabilities down; what is left over goes to k = m, which dominates all others.

**From below** the mechanism only looks whether the record is drawn at all: then P = (1−γ)Q + γP′ against Q, and P′ and
Q are one step apart; γ is rounded down.
"""

from __future__ import annotations

from fractions import Fraction

from dither.exact import Ball, ball, precision
from dither.exact.binomial import at_least
from dither.pairs.bounded import AtMostPair
from dither.pairs.groups import MOST_STEPS, GroupPair, grouped
from dither.pairs.pair import Pair
from dither.pairs.subsampled import FixedSizePair, MixturePair, PoissonRemovePair, either
from dither.pairs.truncated import whole
from dither.pairs.two_point import approximate

__all__ = ["with_replacement"]

_BITS = 320
_GRID = 1 << 192
_MOST_COPIES = 64


def with_replacement(base: Pair, sample: int, population: int) -> Pair:
    """`base` is what one place costs; neighbours replace one record of the population."""
    each, rate = either(base), Fraction(1, population)
    if population == 1:
        return _copies(each, sample)
    with precision(_BITS):
        share = min(Fraction(_units(at_least(sample, rate, 1).upper()) + 1, _GRID), Fraction(1))
        weights = []
        for copies in range(1, min(sample, _MOST_COPIES) + 1):
            chance = at_least(sample, rate, copies) - at_least(sample, rate, copies + 1)
            weights.append(Fraction(max(_units((chance / ball(share)).lower()), 0), _GRID))
            if not weights[-1] and copies > sample * rate:
                break
    pairs = [(weight, _copies(each, copies)) for copies, weight in enumerate(weights, start=1) if weight]
    left = 1 - sum(weights, Fraction(0))
    if left:
        pairs.append((left, _copies(each, sample)))
    mixed = pairs[0][1] if len(pairs) == 1 else MixturePair(tuple(w for w, _ in pairs), tuple(p for _, p in pairs))
    above = FixedSizePair(mixed, share)
    if sample == 1:
        return above
    return AtMostPair(above, PoissonRemovePair(base, max(share - Fraction(2, _GRID), share / 2)))


def _copies(each: Pair, copies: int) -> Pair:
    """What so many places cost at most; where that is not known, everything."""
    found = grouped(each, min(copies, MOST_STEPS))
    if copies > MOST_STEPS:
        if isinstance(found, GroupPair):
            return approximate(Fraction(0), Fraction(1))
        found = grouped(each, copies)
    return found.above if isinstance(found, AtMostPair) else found


def _units(number: Ball) -> int:
    """⌊number·2^192⌋ of an exact ball."""
    return whole((number * _GRID).floor())
