"""Records that are added or removed: the sensitivities of a trimmed mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from dither.exact import once

__all__ = ["AddRemoveTrimmed"]


@dataclass(frozen=True, eq=False)
class AddRemoveTrimmed:
    """How far the mean of the middle can move when one record comes or goes.

    A dataset of N records d[1] ≤ … ≤ d[N] keeps g = N − 2k of them, k = ⌊trim·N⌋. One record more or less moves their
    mean by at most the larger one, of those that apply, of

        (d[N − k + 1] − mean)/(g + 1)     if k stays with one record more, or falls with one less,
        (d[N − k] − mean)/(g − 1)         if k grows with one record more, or stays with one less,

    and the same two of the data turned around. In the first case the kept records gain one, at the utmost d[N − k + 1]
    (which is high if k = 0); in the second they lose one, at the utmost d[N − k]. Both are (top − mean of the e kept
    records below it)/(e + 1), with e = g or e = g − 1.

    Let w records be removed and u₁ + u₂ added first. With H records from `top` on, the largest `top` and the smallest
    records below it are had at once: u₁ times low, x[1], …, x[i], then x[i + w + 1], …, x[n], and u₂ ≤ H times high,
    where i = n − w − H + u₂. So all (w, u₁, u₂) of total t are tried, in whole numbers.

    `values`: low, the sorted records, high, in whole numbers of one unit. `empty`: the mean of no records.
    """

    values: tuple[int, ...]
    trim: Fraction
    empty: int
    _found: list[Fraction] = field(default_factory=list, init=False, repr=False)

    def within(self, distance: int) -> Fraction:
        """A^(t) in that unit, exactly."""
        last = min(distance, len(self.values) - 2)  # no records: nothing moves a mean further than the first one
        while len(self._found) <= last:
            self._found.append(max(self._after(len(self._found)), default=Fraction(0)))
            if len(self._found) > 1:
                self._found[-1] = max(self._found[-2:])
        return self._found[last]

    def _after(self, steps: int) -> Iterator[Fraction]:
        """The sensitivities of the datasets that so many records added and removed lead to, the best ones at least."""
        low, *records, high = self.values
        ways = self._sides
        for removed in range(min(steps, len(records)) + 1):
            added = steps - removed
            size = len(records) - removed + added
            if size == 0:
                yield Fraction(max(high - self.empty, self.empty - low))
            if size == 1:
                # Removed itself: the record is a bound if it was added, else the first or the last one.
                ends = (low, high) if added else (records[0], records[-1])
                yield Fraction(max(abs(end - self.empty) for end in ends))
            for below, from_top in self._kept(size):
                yield from (side.furthest(removed, added, below, from_top, size) for side in ways)

    def _kept(self, size: int) -> Iterator[tuple[int, int]]:
        """(e, H) of the ways in which one record more or less moves the mean."""
        cut = self._cut(size)
        if size >= 1 and (self._cut(size + 1) == cut or self._cut(size - 1) < cut):
            yield size - 2 * cut, cut
        if size >= 2 and (self._cut(size + 1) > cut or self._cut(size - 1) == cut):
            yield size - 2 * cut - 1, cut + 1

    def _cut(self, size: int) -> int:
        return math.floor(self.trim * size)

    @once
    def _sides(self) -> tuple[_Side, _Side]:
        return _Side(self.values), _Side(tuple(-value for value in reversed(self.values)))


@dataclass(frozen=True, eq=False)
class _Side:
    """The data, or the data turned around, with its sums from the bottom."""

    values: tuple[int, ...]

    def furthest(self, removed: int, added: int, below: int, from_top: int, size: int) -> Fraction:
        """The largest (top − mean of the `below` records under it)/(below + 1), over u₂ of the added records on top."""
        low, count, sums = self.values[0], len(self.values) - 2, self._sums
        cut = size - below - from_top
        best = None
        for raised in range(max(0, from_top + removed - count), min(added, from_top) + 1):
            left, lowered = count - removed - from_top + raised, added - raised
            total = sums[left] - sums[max(cut - lowered, 0)] + max(lowered - cut, 0) * low
            reached = below * self.values[left + removed + 1] - total
            best = reached if best is None else max(best, reached)
        return Fraction(best or 0, below * (below + 1))

    @once
    def _sums(self) -> list[int]:
        return list(accumulate(self.values[1:-1], initial=0))
