"""Exact counts and sums of records by public cells: all that moments need of the data, whoever adds it up.

Records are measured from a public **anchor** (0, or the end of the bounds that is nearest to it). To either side of it,
the cells are half-octaves of the distance: their edges are 2^k and 1.5·2^k, the last one is the end of the bounds. For
each cell there is the number of its records, the sum of their distances and the sum of the squares of these. From them,
the sums of the records *clamped to any range between two edges* follow exactly: what is inside, and the edge times the
number of records beyond it. So a look at the counts, the choice of a range, and the sums need one pass over the data.

Each record becomes a whole number of steps of its cell's own grid, 2^32 steps or fewer to the outer edge: a rule for
one record at a time, by which it never leaves its cell. Everything after that is exact: integers and fractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise, repeat, takewhile

import numpy as np
from numpy.typing import NDArray

from dither.estimators.records import Bounds, Floats

__all__ = ["BinSide", "BinTally", "Binned", "HalfOctaves", "Range", "Totals", "apart"]

CELLS = 60
"""To each side inside bounds: down to 2^-30 of their reach. What is closer to the anchor is one cell."""

OCTAVES_WITHOUT_BOUNDS = 130
"""Without bounds there are half-octaves from 2^-130 to 2^130, to each side."""

_JOINED = (1, 1, 1, 1, 1, 1, 1, 1, 2, 2)
_JOINED_BEYOND, _JOINED_WITHOUT_BOUNDS = 24, 4
"""How many half-octaves are joined for a first look, from the ends of the bounds inwards.

From 64 times nearer on it is all the same to the noise of the bounds where the records are: the first look asks whether
they are there, and a cell of twelve octaves has all of them. Without bounds it has to tell groups of records apart: a
second one, far from the first, would be cut off.
"""

_BITS = 32
_HALF_BITS = 16
_CHUNK = 1 << 20  # of squares of 16 bits, whose sum a double still holds exactly
_SAME = 1 - 2.0**-16
"""An edge so close to the end of the bounds is left out."""

_NOTHING = Fraction(0)

Range = tuple[int, int]
"""How many cells below the anchor, and above, the range reaches over."""


@dataclass(frozen=True)
class BinSide:
    """The cells to one side: `edges` are distances from the anchor, from 0 on; only 0 if there are none."""

    edges: tuple[float, ...]

    @classmethod
    @lru_cache(maxsize=256)
    def reaching(cls, reach: float, cells: int = CELLS) -> BinSide:
        """Half-octaves up to `reach`, which is rounded to 32 bits."""
        if not reach > 0:
            return cls((0.0,))
        mantissa, exponent = np.frexp(reach)
        last = float(np.ldexp(np.rint(np.ldexp(mantissa, _BITS)), int(exponent) - _BITS))
        octaves = np.arange(int(exponent) - cells // 2 - 1, int(exponent) + 1)
        inner = np.sort(np.concatenate([np.ldexp(1.0, octaves), np.ldexp(1.5, octaves)]))
        return cls((0.0, *inner[inner < last * _SAME][1 - cells :].tolist(), last))

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def exponents(self) -> NDArray[np.int64]:
        """2^e is the step of each cell."""
        return np.asarray(np.frexp(np.array(self.edges[1:]))[1] - _BITS, dtype=np.int64)

    @cached_property
    def units(self) -> tuple[Fraction, ...]:
        """The step of each cell."""
        return tuple(Fraction(2) ** int(exponent) for exponent in self.exponents)

    def relative(self, unit: float) -> Floats:
        """The edges in another unit."""
        return np.asarray(np.array(self.edges) / unit)

    @cached_property
    def coarse_cuts(self) -> tuple[int, ...]:
        """Which edges are left if cells are joined: the farther from the end of the bounds, the fewer.

        The cell at the anchor stays as it is: it has the zeros.
        """
        widths = chain(_JOINED, repeat(_JOINED_BEYOND if self.cells <= CELLS else _JOINED_WITHOUT_BOUNDS))
        inwards = takewhile(lambda joined: joined < self.cells, accumulate(widths, initial=0))
        return tuple(sorted({0, min(1, self.cells), *(self.cells - joined for joined in inwards)}))

    @cached_property
    def coarse(self) -> BinSide:
        """With the cells joined."""
        return BinSide(tuple(self.edges[cut] for cut in self.coarse_cuts))

    def tally(self, distances: Floats) -> BinTally:
        """The distances, none of them negative, added up by cell."""
        if not len(distances):
            return BinTally(self, (0,) * self.cells, (_NOTHING,) * self.cells, (_NOTHING,) * self.cells)
        total = self._tally(distances[:_CHUNK])
        for at in range(_CHUNK, len(distances), _CHUNK):
            total = total.plus(self._tally(distances[at : at + _CHUNK]))
        return total

    def _tally(self, distances: Floats) -> BinTally:
        edges, exponents = np.array(self.edges), self.exponents
        cell = np.searchsorted(edges[1:-1], distances, side="right")
        least = np.ldexp(edges[:-1], -exponents).astype(np.int64)
        most = np.ldexp(edges[1:], -exponents).astype(np.int64)
        steps = np.rint(np.ldexp(distances, -exponents[cell])).astype(np.int64)
        steps = np.clip(steps, least[cell], most[cell])
        high, low = steps >> _HALF_BITS, steps & ((1 << _HALF_BITS) - 1)

        def added(weights: NDArray[np.int64]) -> list[int]:
            return [int(each) for each in np.bincount(cell, weights=weights, minlength=self.cells)]

        sums = [(a << _HALF_BITS) + b for a, b in zip(added(high), added(low), strict=True)]
        squares = [
            (a << 2 * _HALF_BITS) + (b << _HALF_BITS + 1) + c
            for a, b, c in zip(added(high * high), added(high * low), added(low * low), strict=True)
        ]
        return BinTally(
            self,
            tuple(np.bincount(cell, minlength=self.cells).tolist()),
            tuple(total * unit if total else _NOTHING for total, unit in zip(sums, self.units, strict=True)),
            tuple(total * unit**2 if total else _NOTHING for total, unit in zip(squares, self.units, strict=True)),
        )


def _added(total: Fraction, more: Fraction) -> Fraction:
    """Their sum; most cells are empty."""
    return total + more if more else total


@dataclass(frozen=True)
class BinTally:
    """Of the records to one side, by cell: their number, Σ of their distances from the anchor, Σ of the squares."""

    side: BinSide
    counts: tuple[int, ...]
    sums: tuple[Fraction, ...]
    squares: tuple[Fraction, ...]

    def clamped(self, cells: int) -> tuple[Fraction, Fraction]:
        """Σ and Σ of squares of the distances, clamped to the outer edge of so many cells."""
        edge, beyond = Fraction(self.side.edges[cells]), self._beyond[cells]
        return self._sums[cells] + edge * beyond, self._squares[cells] + edge**2 * beyond

    def plus(self, other: BinTally) -> BinTally:
        """Both together."""
        return BinTally(
            self.side,
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def coarse(self) -> BinTally:
        """With the cells joined."""
        spans = list(pairwise(self.side.coarse_cuts))
        return BinTally(
            self.side.coarse,
            tuple(sum(self.counts[first:last]) for first, last in spans),
            tuple(sum(filter(None, self.sums[first:last]), _NOTHING) for first, last in spans),
            tuple(sum(filter(None, self.squares[first:last]), _NOTHING) for first, last in spans),
        )

    @cached_property
    def _sums(self) -> list[Fraction]:
        return list(accumulate(self.sums, _added, initial=_NOTHING))

    @cached_property
    def _squares(self) -> list[Fraction]:
        return list(accumulate(self.squares, _added, initial=_NOTHING))

    @cached_property
    def _beyond(self) -> list[int]:
        total = sum(self.counts)
        return [total - inside for inside in accumulate(self.counts, initial=0)]


@dataclass(frozen=True)
class HalfOctaves:
    """The public cells: an anchor, and those below and above it."""

    anchor: float
    below: BinSide
    above: BinSide
    bounds: Bounds | None

    @classmethod
    def within(cls, bounds: Bounds, anchor: float | None = None) -> HalfOctaves:
        """Inside bounds; the anchor is 0 moved into them, unless it is given."""
        low, high = bounds
        known = min(max(0.0 if anchor is None else anchor, low), high)
        return cls(known, BinSide.reaching(known - low), BinSide.reaching(high - known), bounds)

    @classmethod
    def around(cls, anchor: float, bounds: Bounds | None) -> HalfOctaves:
        """Inside bounds or everywhere, around another anchor."""
        if bounds is not None:
            return cls.within(bounds, anchor)
        side = cls.everywhere().above
        return cls(anchor, side, side, None)

    @classmethod
    def everywhere(cls) -> HalfOctaves:
        """Without bounds: around 0."""
        side = BinSide.reaching(2.0**OCTAVES_WITHOUT_BOUNDS, 4 * OCTAVES_WITHOUT_BOUNDS)
        return cls(0.0, side, side, None)

    @property
    def whole(self) -> Range:
        """The range of all cells."""
        return self.below.cells, self.above.cells

    @property
    def farthest(self) -> float:
        """The largest distance from the anchor."""
        return max(self.below.edges[-1], self.above.edges[-1])

    def ends(self, reach: Range) -> tuple[Fraction, Fraction]:
        """The ends of a range as seen from the anchor, exactly."""
        return -Fraction(self.below.edges[reach[0]]), Fraction(self.above.edges[reach[1]])

    def shown(self, reach: Range) -> Bounds:
        """The ends of a range as numbers of the data; those of the bounds as they were given."""
        low, high = self.anchor - self.below.edges[reach[0]], self.anchor + self.above.edges[reach[1]]
        if self.bounds is not None:
            low = self.bounds[0] if reach[0] == self.below.cells else max(low, self.bounds[0])
            high = self.bounds[1] if reach[1] == self.above.cells else min(high, self.bounds[1])
        return low, high

    def binned(self, values: Floats) -> Binned:
        """The records, added up by cell; those beyond the last cells are in these."""
        distances = values - self.anchor
        above, below = distances[distances >= 0], -distances[distances < 0]
        if not self.above.cells:  # the anchor is the upper end: what is there belongs to the cells below
            above, below = above[:0], -np.minimum(distances, 0.0)
        return Binned(
            self,
            self.below.tally(np.minimum(below, self.below.edges[-1])),
            self.above.tally(np.minimum(above, self.above.edges[-1])),
        )


@dataclass(frozen=True)
class Totals:
    """Of clamped records, as seen from the anchor: their number, Σ and Σ of squares."""

    count: int
    first: Fraction
    second: Fraction


@dataclass(frozen=True)
class Binned:
    """Records added up by cell, from wherever they came."""

    bins: HalfOctaves
    below: BinTally
    above: BinTally

    @cached_property
    def count(self) -> int:
        """How many records there are."""
        return sum(self.below.counts) + sum(self.above.counts)

    @property
    def counts(self) -> list[int]:
        """One record is in one of them: the cell at the anchor, which both sides share, those above, those below."""
        centre = sum(self.below.counts[:1]) + sum(self.above.counts[:1])
        return [centre, *self.above.counts[1:], *self.below.counts[1:]]

    def coarse(self) -> Binned:
        """In fewer cells, each of which has more records to see."""
        below, above = self.below.coarse(), self.above.coarse()
        return Binned(replace(self.bins, below=below.side, above=above.side), below, above)

    def totals(self, reach: Range) -> Totals:
        """Of the records clamped to a range, exactly."""
        down, down_squares = self.below.clamped(reach[0])
        up, up_squares = self.above.clamped(reach[1])
        return Totals(self.count, up - down, up_squares + down_squares)


def apart(counts: Floats, bins: HalfOctaves) -> tuple[float, Floats, Floats]:
    """`Binned.counts` taken apart again: the centre, the cells below and those above, without those at the anchor."""
    above = max(bins.above.cells - 1, 0)
    return float(counts[0]), counts[1 + above :], counts[1 : 1 + above]
