"""Records that are added or removed: what the means of the middle have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from dither.exact import once

__all__ = ["AddRemoveMean", "PaddedSide"]


@dataclass(frozen=True, eq=False)
class AddRemoveMean(ABC):
    """How far a mean that treats the k = ⌊trim·N⌋ lowest and highest of N records apart can move.

    A^(t) is the larger one of what exactly t and exactly t − 1 records added or removed first can lead to: two steps
    too many remove a record and add it again, as long as there is one. No records at all move the mean furthest, to a
    bound, so that no t beyond n counts.

    `values`: low, the sorted records, high, in whole numbers of one unit. `empty`: the mean of no records.
    """

    values: tuple[int, ...]
    trim: Fraction
    empty: int
    _found: dict[int, Fraction] = field(default_factory=dict, init=False, repr=False)

    def within(self, distance: int) -> Fraction:
        """A^(t) in that unit, exactly."""
        last = min(distance, len(self.values) - 2)
        return max(self._after(steps) for steps in range(max(last - 1, 0), last + 1))

    def _after(self, steps: int) -> Fraction:
        """The largest sensitivity that exactly so many records added and removed lead to."""
        if steps not in self._found:
            self._found[steps] = max(self._ways(steps), default=Fraction(0))
        return self._found[steps]

    def _ways(self, steps: int) -> Iterator[Fraction]:
        low, *records, high = self.values
        for removed in range(min(steps, len(records)) + 1):
            added = steps - removed
            size = len(records) - removed + added
            if size == 0:
                yield Fraction(max(high - self.empty, self.empty - low))
            if size == 1:
                # Removed itself: the record is a bound if it was added, else the first or the last one.
                ends = (low, high) if added else (records[0], records[-1])
                yield Fraction(max(abs(end - self.empty) for end in ends))
            yield from self._moves(removed, added, size)

    @abstractmethod
    def _moves(self, removed: int, added: int, size: int) -> Iterator[Fraction]:
        """How far one record more or less then moves the mean, of at least one record before and after."""

    def _cut(self, size: int) -> int:
        return math.floor(self.trim * size)

    @once
    def _sides(self) -> tuple[PaddedSide, PaddedSide]:
        """The way down is the way up of the data turned around."""
        return PaddedSide(self.values), PaddedSide(tuple(-value for value in reversed(self.values)))


@dataclass(frozen=True, eq=False)
class PaddedSide:
    """The padded data, or the padded data turned around."""

    values: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self.values) - 2

    @once
    def sums(self) -> list[int]:
        """x[1] + … + x[i], for i from 0."""
        return list(accumulate(self.values[1:-1], initial=0))

    def kept_below(self, cut: int, lowered: int, left: int) -> int:
        """The sum of `lowered` times low, x[1], …, x[left] without the lowest `cut` of them."""
        return self.sums[left] - self.sums[max(cut - lowered, 0)] + max(lowered - cut, 0) * self.values[0]
