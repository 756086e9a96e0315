"""The range in which values are added up, where it is found before they are: the look of arrays, on pooled counts.

Noise is in proportion to the range, and bounds are often far wider than the data. So two questions are asked. The first
counts how many people have a value in each half-octave of the distance from a public anchor, in all groups together;
`estimators.range_search.found_range` chooses from noisy counts, as it does for arrays. The second is what would be
asked in bounds, in the range that was chosen.

*Sensitivity.* A person is counted once, in the cell of one of their rows (`BoundedTable.cells`), in however many
groups and rows they are: they move one count by one. A row that is replaced moves two. The second question is in a
public range, as it follows from released numbers, and has the sensitivity that it has in bounds.

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
from dither.estimators.records import Bounds
from dither.events import Event, Stated
from dither.exact import rounded
from dither.tables import BoundedTable, ExactAggregate, Expression, HalfOctaveBins, Lattice
from dither.unit import Neighbour

__all__ = ["FoundRange", "RangeNoise", "Ranged", "about_ranges", "read_ranges", "written_ranges"]

_METADATA: Final = b"dither ranges"
_DIGITS: Final = 4
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
    def bins(self) -> HalfOctaveBins:
        """What the engine counts in: half-octaves from the innermost edge on; none of them lies in two cells."""
        cells = self.cells
        innermost = min(side.edges[1] for side in (cells.below, cells.above) if side.cells)
        return HalfOctaveBins(-cells.below.edges[-1], cells.above.edges[-1], math.frexp(innermost)[1] - 1)

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> RangeNoise:
        return RangeNoise(self, neighbour, epsilon, is_concentrated=False)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> RangeNoise:
        return RangeNoise(self, neighbour, rho, is_concentrated=True)

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.cells(self.of, self.bins, self.cells.anchor, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Binned:
        """How many people are in each cell, of all groups together; no sums are known of them."""
        cells, bins = self.cells, self.bins
        found = [(counted(batch.column("dither_bin")), counted(batch.column("dither_rows"))) for batch in batches]
        empty = np.zeros(0, dtype=np.int64)
        numbers, people = (
            (np.concatenate([empty, *each]) for each in zip(*found, strict=True)) if found else (empty,) * 2
        )
        is_above = (numbers > 0) | ((numbers == 0) & (cells.above.cells > 0))
        return Binned(
            cells,
            _tally(cells.below, bins, -numbers[~is_above], people[~is_above]),
            _tally(cells.above, bins, numbers[is_above], people[is_above]),
        )


def _tally(side: BinSide, bins: HalfOctaveBins, numbers: Wholes, people: Wholes) -> BinTally:
    """Counts by cell; a bin is in the cell in which it begins."""
    at = np.searchsorted(np.array(side.edges[1:-1]), bins.sizes(np.maximum(numbers, 0)), side="right")
    counts = np.zeros(side.cells, dtype=np.int64)
    np.add.at(counts, at if side.cells else at[:0], people if side.cells else people[:0])
    nothing = (Fraction(0),) * side.cells
    return BinTally(side, tuple(counts.tolist()), nothing, nothing)


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
        left = self._left(self._epsilon * all_looks(is_bounded=self.need.bounds is not None))
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

    def found(self, counts: Binned) -> FoundRange:
        """Look, and choose."""
        spent, adjacency = Spent(self.neighbour.adjacency), self.neighbour.adjacency
        found = found_range(counts, Goal(self.need.statistic, replaces=False), self._epsilon, adjacency, spent)
        left = self._left(sum(spent.split.values(), Fraction(0)))
        if found is None:
            return FoundRange(None, None, left)
        limits = found.binned.bins.shown(found.reach)
        is_sum = self.need.statistic == "sum"
        if self.need.bounds is not None and not _can_be_kept(limits, is_sum):  # cells are finer than a lattice can be
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
