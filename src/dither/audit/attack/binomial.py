"""How often an event really happens, from how often it was seen: exact binomial bounds (Clopper and Pearson 1934).

X hits in n runs, each with the unknown chance p. `at_least(x, n, miss)` is a number that lies above p with probability
at most `miss`, whatever p is; `at_most` one that lies below p with probability at most `miss`. Both err outwards.

Proof. Let p₀(x) solve P[X ≥ x | p₀] = miss; it grows with x. p < p₀(X) means that X is so large that
P[X ≥ x | p] < miss at x = X, and the smallest such x is reached with probability at most `miss`. A smaller number than
p₀(x) is wrong even less often. Every number returned has passed P[X ≥ x | p] = I_p(x, n − x + 1) ≤ miss in ball
arithmetic, so floating point decides nothing but how tight it is.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb
from scipy.special import betaincinv

from dither.exact import Ball, ball, check, precision

__all__ = ["at_least", "at_most"]

_BITS = 128
_FIRST_STEP = Fraction(1, 2**45)
"""How far the first guess is moved down, relatively: a little more than the error of the float that it starts from."""


def at_least(hits: int, runs: int, miss: Fraction) -> Fraction:
    """A lower bound on the chance of a hit, wrong with probability at most `miss`.

    >>> float(at_least(90, 100, Fraction(1, 1000)))
    0.775329...
    """
    _check(hits, runs, miss)
    if hits == 0:
        return Fraction(0)
    guess, step = Fraction(float(betaincinv(hits, runs - hits + 1, float(miss)))), _FIRST_STEP
    while step < 1:
        chance = guess * (1 - step)
        if _reaches(hits, runs, chance) <= ball(miss):
            return chance
        step *= 4
    return Fraction(0)


def at_most(hits: int, runs: int, miss: Fraction) -> Fraction:
    """An upper bound on the chance of a hit, wrong with probability at most `miss`: misses are hits of the opposite.

    >>> float(at_most(0, 100_000, Fraction(1, 1000)))
    6.907...e-05
    """
    return 1 - at_least(runs - hits, runs, miss)


def _reaches(hits: int, runs: int, chance: Fraction) -> Ball:
    """P[X ≥ hits] = I_chance(hits, runs − hits + 1), for 0 < hits."""
    with precision(_BITS):
        return ball(chance).beta_lower(arb(hits), arb(runs - hits + 1), 1)


def _check(hits: int, runs: int, miss: Fraction) -> None:
    check.count(runs=runs)
    check.count(least=0, hits=hits, misses=runs - hits)
    check.between(0, 1, miss=miss)
