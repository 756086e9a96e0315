"""The range in which values are added up, where it is found before they are: the look of arrays, on pooled counts.

Noise is in proportion to the range, and bounds are often far wider than the data. So two questions are asked. The first
counts how many people have a value in each small part of an octave of the distance from a public anchor, in all groups
together. `estimators.range_search.found_range` chooses from noisy counts of half-octaves, as it does for arrays, and
moves the anchor as it does there: of the same exact counts, as seen from elsewhere (`PeopleByValue`). The second
question is what would be asked in bounds, in the range that was chosen.

*Sensitivity.* A person is counted once, in the cell of one of their rows (`BoundedTable.cells`), in however many
groups and rows they are: they move one count by one. A row that is replaced moves two. So they are in one cell around
any anchor as well. How many values there are is not public where rows are replaced: a NULL may take the place of a
value (`Goal.replaces`). The second question is in a public range, as it follows from released numbers, and has the
sensitivity that it has in bounds.

*Cost.* The first look has a fixed part. Whether others follow, on the same counts, depends on what it shows; the
answer gets what is left, so that whatever is done costs the price (claim C3), and that is what the event says. With ρ
to spend, looks are Laplace noise as well: of ε in all they cost ε²/2 at most, and the answer gets the rest of ρ.

*What is lost.* As many rows as a person may have, and as many groups, make noise and loss larger alike, and a person
with fewer loses less. What all groups lose together is weighed against the noise of one: no group loses more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dither.engine.group_sensitivity import Added, Measured, Need, Noise, selection_epsilon
from dither.engine.groups import Groups, Wholes, counted
from dither.errors import ParameterError
from dither.estimators.answer import Spent
from dither.estimators.binned import Binned, BinSide, BinTally, HalfOctaves
from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.range_search import Goal, all_looks, first_look, found_range
from dither.estimators.records import Bounds, Floats
from dither.events import Event, Stated
from dither.exact import rounded
from dither.tables import BoundedTable, ExactAggregate, Expression, Lattice, OctaveBins
from dither.unit import Neighbour

__all__ = ["FoundRange", "RangeNoise", "Ranged", "about_ranges", "read_ranges", "written_ranges"]

_METADATA: Final = b"dither ranges"
_DIGITS: Final = 4
_BIN_DIGITS: Final = 12
"""Octaves are cut into 2^12 bins: a 6000th of the distance from the anchor is the least that is told apart."""
_MOST_STEPS: Final = 1 << 26
"""What one row adds in any range, at most: 2^25 steps of a sum or of both ends, 4·2^24 of squares."""


@dataclass(frozen=True, slots=True)
class FoundRange:
    """What a search came to: a range, None if there is none, and the ε or ρ that is left for the answer."""

    limits: Bounds | None
    outside: float | None
    """How many values seem to lie outside; None where the range is that of the bounds."""
    left: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Ranged(Need):
    """Sums of a column in a range that is found inside its bounds, or anywhere."""

    of: Expression
    bounds: Bounds | None
    statistic: str
    """sum, mean or variance."""
    in_bounds: Measured
    """The same in the bounds; without them, in any range."""

    @property
    def step(self) -> int:
        return self.in_bounds.step

    @property
    def unit(self) -> Fraction | None:
        return None if self.bounds is None else self.in_bounds.unit

    @property
    def look(self) -> tuple[Any, ...]:
        """Equal for those that look at the same counts."""
        return str(self.of), self.bounds

    @property
    def cells(self) -> HalfOctaves:
        """The cells of arrays: the same rule of choice needs the same cells."""
        return HalfOctaves.everywhere() if self.bounds is None else HalfOctaves.within(self.bounds)

    @property
    def bins(self) -> OctaveBins:
        """What the engine counts in: parts of octaves from the innermost edge on."""
        cells = self.cells
        innermost = min(side.edges[1] for side in (cells.below, cells.above) if side.cells)
        return OctaveBins(-cells.below.edges[-1], cells.above.edges[-1], math.frexp(innermost)[1] - 1, _BIN_DIGITS)

    @property
    def may_move(self) -> bool:
        """Whether the anchor may move to where the values are."""
        return Goal(self.statistic, replaces=False).is_of_distances

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> RangeNoise:
        return RangeNoise(self, neighbour, epsilon, is_concentrated=False)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> RangeNoise:
        return RangeNoise(self, neighbour, rho, is_concentrated=True)

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.cells(self.of, self.bins, self.cells.anchor, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> PeopleByValue:
        """How many people are in each bin, of all groups together."""
        found = [(counted(batch.column("dither_bin")), counted(batch.column("dither_rows"))) for batch in batches]
        empty = np.zeros(0, dtype=np.int64)
        numbers, people = (
            (np.concatenate([empty, *each]) for each in zip(*found, strict=True)) if found else (empty,) * 2
        )
        return PeopleByValue(self.cells, self.bins, numbers, people)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleByValue:
    """How many people have a value in each bin of the distance from an anchor, exactly."""

    cells: HalfOctaves
    bins: OctaveBins
    numbers: Wholes
    people: Wholes

    @property
    def binned(self) -> Binned:
        """By cell: a bin counts where its middle is."""
        nearer, farther = self._ends
        return self._by_cell(self.cells, (nearer + farther) / 2)

    def around(self, anchor: float) -> Binned:
        """By cell around another anchor: a bin counts where its farther end is, so that a range that holds it holds all
        of it, however close the anchor is.
        """
        cells = HalfOctaves.around(anchor, self.cells.bounds)
        ends = np.stack(self._ends) + (self.cells.anchor - cells.anchor)
        low, high = ends.min(axis=0), ends.max(axis=0)
        return self._by_cell(cells, np.where(-low > high, low, high))

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        """Where each bin begins and ends, as seen from the anchor."""
        size, sign = np.abs(self.numbers), np.where(self.numbers < 0, -1.0, 1.0)
        return sign * self.bins.sizes(size), sign * np.where(size > 0, self.bins.sizes(size + 1), 0.0)

    def _by_cell(self, cells: HalfOctaves, distances: Floats) -> Binned:
        is_above = (distances > 0) | ((distances == 0) & (cells.above.cells > 0))
        return Binned(
            cells,
            _tally(cells.below, -distances[~is_above], self.people[~is_above]),
            _tally(cells.above, distances[is_above], self.people[is_above]),
        )


def _tally(side: BinSide, distances: Floats, people: Wholes) -> BinTally:
    """Counts and sums of the distances by cell, those beyond the last one in it; no squares.

    At most 2^62 steps in all, of 2^16 with high and low digits apart: for no more than 2^46 people.
    """
    nothing = (Fraction(0),) * side.cells
    if not side.cells:
        return BinTally(side, (), (), ())
    edges, inside = np.array(side.edges), np.clip(distances, 0.0, side.edges[-1])
    at = np.searchsorted(edges[1:-1], inside, side="right")
    least, most = (np.ldexp(ends, -side.exponents).astype(np.int64) for ends in (edges[:-1], edges[1:]))
    steps = np.clip(np.rint(np.ldexp(inside, -side.exponents[at])).astype(np.int64), least[at], most[at])
    counts, high, low = (np.zeros(side.cells, dtype=np.int64) for _ in range(3))
    for total, each in ((counts, people), (high, people * (steps >> 16)), (low, people * (steps & 0xFFFF))):
        np.add.at(total, at, each)
    sums = ((int(a) << 16) + int(b) for a, b in zip(high, low, strict=True))
    by_cell = tuple(each * unit for each, unit in zip(sums, side.units, strict=True))
    return BinTally(side, tuple(counts.tolist()), by_cell, nothing)


@dataclass(frozen=True)
class RangeNoise(Noise):
    """Looks at counts, and the noise of the sums in the range that is chosen by them."""

    need: Ranged
    neighbour: Neighbour
    price: Fraction
    """ε, or ρ."""
    is_concentrated: bool

    def __post_init__(self) -> None:
        """Refuse a price whose noise could be too large after all looks in some range: later it would be charged."""
        finer = Fraction(_MOST_STEPS, self.need.step)
        left = self._left(self._epsilon * self.all_looks)
        self.of_answer(self.need.in_bounds, left / (finer**2 if self.is_concentrated else finer))

    @property
    def event(self) -> Event:
        """The price: what is done depends on the looks, and what it costs does not."""
        return Stated("ZCDP" if self.is_concentrated else "PureDP", (self.price,), self.neighbour.adjacency)

    @property
    def _epsilon(self) -> Fraction:
        """The ε of which looks take their parts; of ρ, the one that costs it."""
        return selection_epsilon(self.price / 4) if self.is_concentrated else self.price

    def _left(self, looked: Fraction) -> Fraction:
        """What the answer gets, after looks of ε = `looked` in all."""
        return self.price - (looked**2 / 2 if self.is_concentrated else looked)

    @property
    def bounds_kept(self) -> FoundRange:
        """For rehearsals: the bounds, or none."""
        return FoundRange(self.need.bounds, None, self.price)

    @property
    def all_looks(self) -> Fraction:
        """The part of ε of all looks together, never too small."""
        return all_looks(is_bounded=self.need.bounds is not None, may_move=self.need.may_move)

    def found(self, people: PeopleByValue) -> FoundRange:
        """Look, and choose."""
        spent, adjacency = Spent(self.neighbour.adjacency), self.neighbour.adjacency
        goal = Goal(self.need.statistic, replaces=False)
        found = found_range(people.binned, goal, self._epsilon, adjacency, spent, people.around)
        left = self._left(sum(spent.split.values(), Fraction(0)))
        if found is None:
            return FoundRange(None, None, left)
        limits = found.binned.bins.shown(found.reach)
        is_sum = self.need.statistic == "sum"
        if not _can_be_kept(limits, is_sum):  # cells are finer than a lattice can be
            return FoundRange(self.need.bounds, None, left)
        return FoundRange(limits, found.outside, left)

    def of_answer(self, need: Measured, left: Fraction) -> Added:
        """The noise of the sums in a range."""
        noise = need.concentrated(self.neighbour, left) if self.is_concentrated else need.pure(self.neighbour, left)
        assert isinstance(noise, Added)
        return noise

    @property
    def _in_bounds(self) -> Added:
        """If the bounds are kept."""
        return self.of_answer(self.need.in_bounds, self._left(self._epsilon * self._share))

    @property
    def _share(self) -> Fraction:
        return first_look(is_bounded=self.need.bounds is not None)

    def draw(self, exact: Any) -> pa.Array:
        """Never: `found`, then the noise `of_answer`."""
        raise NotImplementedError

    @property
    def size(self) -> float:
        return self._in_bounds.size

    @property
    def has_interval(self) -> bool:
        return self.need.bounds is not None

    def reach(self, miss: Fraction) -> int:
        return self._in_bounds.reach(miss)

    @property
    def law(self) -> NoiseLaw | None:
        return self._in_bounds.law

    def sized(self, unit: Fraction) -> tuple[str, float] | None:
        kind, size = self._in_bounds.sized(unit)
        return f"{self._said_look}, then {kind} up to", size

    @property
    def _said_look(self) -> str:
        """With its part of the price."""
        part = self._share**2 if self.is_concentrated else self._share
        return f"a look for {float(100 * part):.2g} %"

    def selection_error(self, miss: Fraction) -> str:
        return "by the range that is found"

    def __str__(self) -> str:
        return f"{self._said_look}, then noise for the range that is found"


def _can_be_kept(limits: Bounds, is_sum: bool) -> bool:
    """Whether values in this range can be told apart; the steps of a sum are as fine as its largest value allows."""
    try:
        Lattice.within(limits, from_zero=is_sum)
    except ParameterError:
        return False
    return True


def written_ranges(table: pa.Table, found: Mapping[str, FoundRange]) -> pa.Table:
    """The noisy numbers of a release with the ranges that they are for, which are public too."""
    said = {
        key: [None if each.limits is None else [end.hex() for end in each.limits], each.outside, str(each.left)]
        for key, each in found.items()
    }
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _METADATA: json.dumps(said).encode()})


def read_ranges(table: pa.Table) -> dict[str, FoundRange]:
    """The ranges of a release, by the key of the need; none if it has none."""
    said = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
    return {
        key: FoundRange(None if ends is None else _ends(*map(float.fromhex, ends)), outside, Fraction(left))
        for key, (ends, outside, left) in said.items()
    }


def _ends(low: float, high: float) -> Bounds:
    return low, high


def about_ranges(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each column whose values were clamped to a range that was found: its interval is about these."""
    lines = []
    for name, said in found.items():
        if said["clip"] is None:
            lines.append(f"{name}: too few rows to find a range. State bounds, or spend more.")
        elif "outside" in said:
            low, high = (rounded(end, _DIGITS) for end in said["clip"])
            lines.append(
                f"{name}: of values clamped to {low} to {high}; about {said['outside']:,} seem to lie outside."
            )
    return lines
