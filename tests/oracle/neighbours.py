"""The privacy of finite laws by looking at all given neighbours, both ways round.

Slow and naive on purpose. Shares no code with dither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import exp
from typing import Generic, TypeVar

from flint import arb

from tests.oracle.finite import at_full_precision

__all__ = ["Neighbours", "moved"]

Data = TypeVar("Data", bound=Hashable)
Numbers = tuple[Fraction, ...]


class Neighbours(Generic[Data]):
    """Both laws of each pair of neighbours; what is largest over the pairs is the truth, or a lower bound on it."""

    def __init__(self, law: Callable[[Data], Sequence[arb]], pairs: Iterable[tuple[Data, Data]]) -> None:
        self._law, self._pairs = law, pairs

    @cached_property
    @at_full_precision
    def _laws(self) -> list[list[tuple[arb, arb]]]:
        known: dict[Data, Sequence[arb]] = {}
        for data in {data for pair in self._pairs for data in pair}:
            known[data] = self._law(data)
            assert abs(sum(known[data], arb(0)) - 1) < 1e-30, "the law adds up to 1"
        both = [(known[a], known[b]) for a, b in self._pairs]
        return [list(zip(p, q, strict=True)) for one, other in both for p, q in ((one, other), (other, one))]

    @cached_property
    def _floats(self) -> list[list[tuple[float, float]]]:
        return [[(float(p), float(q)) for p, q in law] for law in self._laws]

    def profile(self, epsilon: float) -> float:
        """The largest δ(ε), a part in 10^12 less for what double precision rounds."""
        odds = exp(epsilon)
        found = max(sum(max(0.0, p - odds * q) for p, q in law) for law in self._floats)
        return max(0.0, found - 1e-15) * (1 - 1e-12)

    @cached_property
    @at_full_precision
    def largest_loss(self) -> float:
        """The largest |ln P[y]/Q[y]| of any output."""
        return max(float((p / q).log()) for law in self._laws for p, q in law)


def moved(bases: Iterable[Numbers], reach: Fraction, *, monotone: bool = False) -> Iterator[tuple[Numbers, Numbers]]:
    """Each base, and each way to move every number of it by `reach` up or down or not at all.

    Monotone: up or not at all; as pairs are looked at both ways round, that is down or not at all as well.
    """
    for base in bases:
        for moves in product((0, 1) if monotone else (-1, 0, 1), repeat=len(base)):
            yield base, tuple(x + reach * move for x, move in zip(base, moves, strict=True))
