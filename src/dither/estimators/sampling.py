"""How many records there are, for those who need it: public under replace-one, counted with noise under add/remove."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.records import is_replace
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.released import Release

__all__ = ["Size", "released_size"]


@dataclass(frozen=True)
class Size:
    """The number of records: exact if `noisy` is None."""

    value: int
    noisy: Release | None = None

    def between(self, miss: Fraction) -> tuple[int, int]:
        """Bounds that are missed with probability `miss` or less; the lower one is at least 0."""
        if self.noisy is None:
            return self.value, self.value
        low, high = self.noisy.interval(1 - miss)
        return max(int(low), 0), max(int(high), 0)


def released_size(count: int, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> Size:
    """The number of records; `epsilon` is spent only if it is not public."""
    if is_replace(adjacency):
        return Size(count)
    released = Laplace(sensitivity=1, epsilon=epsilon, adjacency=adjacency).release(count)
    spent.record("count", epsilon, released.event)
    return Size(released.value, released)
