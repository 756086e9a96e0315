"""Records that are added or removed: the sensitivities of the element of rank ⌈p·n⌉.

Proof: order_statistics_added_removed.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from dither.exact import Number, check, once, whole
from dither.sensitivity.records import Floats, difference_above
from dither.sensitivity.search import Entry, Indices, Scale, discounts, gap, largest_entry, reach

__all__ = ["AddRemoveRank"]

_FEW_ROWS = 64
_NEVER = 1 << 62
_Most: TypeAlias = Callable[[int, int, int, int], float]


@dataclass(frozen=True, eq=False)
class AddRemoveRank:
    """How far the element of rank ⌈p·n⌉ can move when one record comes or goes.

    A dataset of s records uses the gap above its r lowest records, for r in {rank(s − 1), rank(s + 1) − 1}: then
    (r, q), with q = s − r records above the gap, is *balanced*. To open the gap from x[i] to x[j], with i records below
    and h = n + 1 − j above, the j − i − 1 records between go, and as many come as (i, h) needs to become balanced.
    """

    values: Floats
    probability: Fraction

    def within(self, distance: int) -> float:
        """A^(t), rounded up to a double: for each h, the smallest i within reach."""
        check.count(0, distance=distance)
        size, above = self._size, np.arange(self._size + 1)
        left = size - min(whole(distance), size) - above  # what must stay below the gap, if nothing is added
        below = np.maximum(np.maximum(left, -((-left - self._below_needed) // 2)), 0)
        usable = (below + above <= size) & (self._above_needed[np.minimum(below, size)] <= above)
        below, above = below[usable], above[usable]
        return float(difference_above(self._sorted[size + 1 - above], self._sorted[below]).max())

    def smooth(self, beta: Number) -> float:
        """max over t of e^{−βt} A^(t), never below the truth and at most `SMOOTH_EXCESS` above it."""
        discount = discounts(beta, self._size + 1)
        largest = self.within(self._size)
        if not largest < math.inf:
            return math.inf
        scale = Scale.of(self._sorted)
        return scale.rounded_up(self._search(scale.scaled(self._sorted), discount), largest)

    def _search(self, values: Floats, discount: Floats) -> float:
        """The largest discounted gap: over the balanced pairs, then over those with too few records below."""
        size, above = self._size, np.arange(self._size + 1)
        needed = self._below_needed

        def entry(below: Indices, above: Indices) -> Floats:
            cost = size - above - below + np.maximum(needed[above] - below, 0)
            worth: Floats = gap(values[size + 1 - above], values[below]) * discount[np.clip(cost, 0, size)]
            return worth

        balanced = needed + above <= size
        found = float(entry(needed[balanced], above[balanced]).max())
        wider = np.minimum(needed + 1, size)
        usable = (wider + above <= size) & (self._above_needed[wider] <= above)
        if usable.any():
            found = max(found, float(entry(wider[usable], above[usable]).max()))
        span = reach(discount, float(gap(values[-1:], values[:1])[0]), found)
        # One record more above the gap that asks for one more below is never worth it: see the proof.
        worth = np.append(True, np.diff(needed) == 0) & (np.abs(size - above - needed) <= span)
        rows = above[worth][::-1]  # so that x[j] grows with the row
        if rows.size == 0:
            return found
        first = max(0, int((size - rows + needed[rows] - span).min()) // 2)

        def most(row: int, last: int, below: int, least_cost: int) -> float:
            """What no entry exceeds: the widest gap, at the least cost, which is that of the first row."""
            wide = float(gap(values[size + 1 - rows[last]], values[below]))
            return wide * float(discount[min(max(size - int(rows[row]) + least_cost, 0), size)])

        return _staircase(rows, needed[rows], first, entry, most, found)

    @once
    def _size(self) -> int:
        return len(self.values) - 2

    @once
    def _mirrored(self) -> bool:
        return self.probability > Fraction(1, 2)

    @once
    def _sorted(self) -> Floats:
        """The padded values; turned around for p > 1/2, so that what lies below the gap is the scarce side."""
        return -self.values[::-1] if self._mirrored else self.values

    @once
    def _below_needed(self) -> Indices:
        """R(h): how many records below the gap balance h above it, at least."""
        return self._needed[0]

    @once
    def _above_needed(self) -> Indices:
        """Q(i): how many records above the gap balance i below it, at least."""
        return self._needed[1]

    @once
    def _needed(self) -> tuple[Indices, Indices]:
        """R and Q for 0..n, of the mirrored ranks if p > 1/2."""
        counts = np.arange(self._size + 1)
        share = _just_above(self.probability, 2 * self._size + 4)
        if share in (0, 1):  # an extreme, as far as n records can tell: at most one record lies on that side of the gap
            return np.zeros_like(counts), np.where(counts > 1, _NEVER, 0)
        top, bottom = share.numerator, share.denominator
        # The least s with a balanced (r, q), r ≥ i or q ≥ h: each comes from rank(s + 1) − 1 or from rank(s − 1).
        for_below = np.minimum(counts * bottom // top, (counts - 1) * bottom // top + 2)
        for_above = np.minimum(
            -(-counts * bottom // (bottom - top)) - 1, -((1 - counts) * bottom // (bottom - top)) + 1
        )
        for_below[0] = for_above[0] = 0
        needs = for_above - counts, for_below - counts
        return (needs[1], needs[0]) if self._mirrored else needs


def _staircase(rows: Indices, limit: Indices, first: int, entry: Entry, most: _Most, found: float) -> float:
    """The largest entry(i, row) over first ≤ i ≤ limit[row], if it exceeds `found`; the limit never grows with the row.

    A staircase is a full rectangle left of the limit of the middle row, and two smaller staircases. The one that
    promises most comes first, until none promises more than was found. From row to row h falls, and its limit R(h) by
    no more: so h − R(h) and h + R(h) fall, and the first row of each part is the cheapest. Promises are rounded as
    entries are, by a few 2^-50, which the last rounding up covers.
    """
    parts: list[tuple[float, int, int, int]] = []

    def add(start: int, stop: int, first: int) -> None:
        if start < stop and first <= limit[start]:
            promise = most(start, stop - 1, first, -int(limit[start]))
            heappush(parts, (-promise, start, stop, first))

    add(0, len(rows), first)
    while parts and -parts[0][0] > found:
        _, start, stop, first = heappop(parts)
        if stop - start <= _FEW_ROWS:
            length = np.maximum(limit[start:stop] - first + 1, 0)
            offset = np.repeat(np.cumsum(length) - length - first, length)
            worth = entry(np.arange(length.sum()) - offset, np.repeat(rows[start:stop], length))
            found = max(found, float(worth.max()))
            continue
        middle = (start + stop) // 2
        last = int(limit[middle])
        if first <= last and most(start, middle, first, int(limit[start]) - 2 * last) > found:
            shown = partial(_shifted, entry, rows[start : middle + 1], first)
            found = max(found, largest_entry(middle + 1 - start, last - first + 1, shown))
        add(start, middle, max(first, last + 1))
        add(middle + 1, stop, first)
    return found


def _shifted(entry: Entry, rows: Indices, first: int, row: Indices, column: Indices) -> Floats:
    return entry(column + first, rows[row])


def _just_above(probability: Fraction, largest: int) -> Fraction:
    """The smallest fraction not below p with a denominator of at most `largest`.

    ⌈p·s⌉ is the same for both for every s ≤ `largest`, because no multiple of 1/s lies between them; and its products
    fit in 64 bits.
    """
    near = probability.limit_denominator(largest)
    if near >= probability:
        return near
    # Its right neighbour c/d among such fractions: c·b − a·d = 1 with the largest d.
    a, b = near.numerator, near.denominator
    inverse = -pow(a, -1, b) % b if b > 1 else 0
    d = largest - (largest - inverse) % b
    return Fraction(1 + a * d, b * d)
