"""Partition selection over time: which keys of a stream that nobody knows yet may be shown from this period on.

In each period the people of every key that is not known yet are counted, the counts get Gaussian noise, and keys whose
noisy count reaches `threshold` are known from then on. Proof for the whole horizon: continual.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Composed, Event, Stated
from dither.exact import Ball, ball, once, precision
from dither.exact.search import first_integer
from dither.mechanisms.additive import Noising
from dither.noise.law import SymmetricLaw

__all__ = ["KeySelection", "probability_shown"]

_BITS = 160
_LARGEST = 1 << 80


@dataclass(frozen=True)
class KeySelection:
    """Keys are shown from `threshold` people on, noise and all; `delta` is for those that one person alone has."""

    noising: Noising
    delta: Fraction
    max_bins: int
    """How many counts one person moves by one over the whole horizon: periods times groups."""
    adjacency: Adjacency

    @property
    def moves(self) -> int:
        """As many counts as `max_bins`: people are added or removed, never replaced."""
        return self.max_bins

    @property
    def event(self) -> Event:
        """The noise on all counts that one person moves, and δ for keys that nobody else has."""
        return Composed((self.noising.event, Stated("ApproxDP", (Fraction(0), self.delta), self.adjacency)))

    @once
    def threshold(self) -> int:
        """The smallest T with 1 − (1 − P[1 + X ≥ T])^m ≤ δ, for m = `max_bins`."""
        return _threshold(self.noising.law, self.delta, self.max_bins)


@lru_cache(maxsize=256)
def _threshold(law: SymmetricLaw, delta: Fraction, moves: int) -> int:
    """Doubled until it is enough, then halved."""

    def is_enough(threshold: int) -> bool:
        with precision(_BITS):
            return bool(probability_shown(law, threshold, moves) <= ball(delta))

    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _LARGEST:
            raise ParameterError("no threshold keeps this budget. Ask for a larger epsilon or delta.")
    return first_integer(is_enough, low + 1, high)


def probability_shown(law: SymmetricLaw, threshold: int, keys: int) -> Ball:
    """That one of so many keys is shown which one person alone has.

    It is 1 − (1 − p)^keys with p = P[1 + X ≥ T] = P[X > T − 2].
    """
    return -(keys * (-law.tail(threshold - 2)).log1p()).expm1()
