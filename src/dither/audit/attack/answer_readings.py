"""The numbers that are read off answers, and the cells that they fall into."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.curve import Floats
from dither.audit.attack.outcomes import Rows, are_names, fitted, is_name, lowest_bits, said
from dither.audit.attack.residues import RowRelation, relations

__all__ = ["Cells", "Cuts", "Entries", "Reading", "distinct", "table"]

_MOST_DISCRETE = 64
_MOST_BINS = 128
_RUNS_TO_A_BIN = 50
_COARSE = 12  # bins, where few are wanted
_MOST_FINE = 3  # entries whose lowest bits are looked at
_MOST_PLACES = 2**16
_SUMS = 4  # the sum, the largest, the smallest and the number of missing entries
_HASH = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Entries:
    """Which numbers are read off a row."""

    width: int
    summed: tuple[int, ...]
    """The entries that are numbers, if there are several."""
    fine: tuple[int, ...]
    related: tuple[RowRelation, ...] = ()
    """What is read off besides, of these entries."""

    @classmethod
    def for_rows(cls, rows: Rows) -> Entries:
        width = rows.shape[1]
        fractional = [i for i in range(width) if _is_fractional(rows[:, i])]
        numbers = tuple(i for i in range(width) if not are_names(rows[:, i]))
        return cls(width, numbers if len(numbers) > 1 else (), tuple(fractional[:_MOST_FINE]))

    def with_relations(self, left: Rows, right: Rows) -> Entries:
        """And what entries of answers on two inputs are to each other, where that reveals which input it was."""
        both = zip(left.T, right.T, strict=True)
        is_number = [not are_names(np.concatenate(sides)) for sides in both]
        return replace(self, related=relations(left, right, is_number))

    @property
    def plain(self) -> int:
        """How many numbers are read off that are no relations. They come first."""
        return self.width + (_SUMS if self.summed else 0) + len(self.fine)

    @property
    def names(self) -> list[str]:
        entries = ["the answer"] if self.width == 1 else [f"entry {i + 1}" for i in range(self.width)]
        sums = ["the sum of the entries", "the largest entry", "the smallest entry", "the number of missing entries"]
        sums = sums if self.summed else []
        fine = [f"the exponent of the lowest bit of {entries[i]}" for i in self.fine]
        return [*entries, *sums, *fine, *(each.words(entries) for each in self.related)]

    def of(self, rows: Rows) -> Reading:
        rows = fitted(rows, self.width)
        found = [rows[:, i] for i in range(self.width)]
        if self.summed:
            numbers = rows if len(self.summed) == self.width else rows[:, self.summed]
            is_missing = np.isnan(numbers)
            known, low, high = (np.where(is_missing, fill, numbers) for fill in (0.0, np.inf, -np.inf))
            with np.errstate(over="ignore", invalid="ignore"):  # ∞ and NaN are sums as good as others
                total = known.sum(axis=1)
            found += [total, high.max(axis=1), low.min(axis=1), is_missing.sum(axis=1).astype(np.float64)]
        found += [lowest_bits(rows[:, i]) for i in self.fine]
        return Reading([*found, *(each.of(rows) for each in self.related)])


def _is_fractional(entry: Floats) -> bool:
    real = entry[np.isfinite(entry)]
    return bool((real != np.round(real)).any())


@dataclass(frozen=True, eq=False)
class Cells:
    """One entry in cells: between neighbouring points, and one for NaN."""

    points: Floats
    is_discrete: bool

    @classmethod
    def for_entry(cls, entry: Floats, *, is_coarse: bool = False) -> Cells:
        known = np.sort(entry[~np.isnan(entry)])
        values = distinct(known)
        if len(values) <= (_COARSE if is_coarse else _MOST_DISCRETE):
            return cls(values, True)
        bins = _COARSE if is_coarse else int(np.clip(len(entry) // _RUNS_TO_A_BIN, 4, _MOST_BINS))
        return cls(distinct(known[len(known) * np.arange(1, bins) // bins]), False)

    def of(self, entry: Floats) -> NDArray[np.int64]:
        cells = np.searchsorted(self.points, entry, side="right")
        return np.where(np.isnan(entry), len(self.points) + 1, cells).astype(np.int64)

    @property
    def has_names(self) -> bool:
        """Whether some of its values stand for names."""
        return self.is_discrete and any(is_name(point) for point in self.points.tolist())

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.points) + 2

    def words(self, cell: int) -> str:
        if cell > len(self.points):
            return "none"
        if self.is_discrete:
            return said(float(self.points[max(cell - 1, 0)]))
        low = "−∞" if cell == 0 else f"{self.points[cell - 1]:g}"
        high = "∞" if cell == len(self.points) else f"{self.points[cell]:g}"
        return f"[{low}, {high})"


def distinct(ordered: Floats) -> Floats:
    """The values that occur, of numbers in order."""
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


Cuts = tuple[tuple[int, Cells], ...]


def table(cuts: Cuts) -> tuple[int, ...] | None:
    """The shape of a table with a place for each combination of cells, if it is small."""
    shape = tuple(cut.count for _, cut in cuts)
    return shape if math.prod(shape) <= _MOST_PLACES else None


class Reading(list[Floats]):
    """The entries of many rows; what several scores ask of them is worked out once."""

    def __init__(self, entries: Iterable[Floats]) -> None:
        super().__init__(entries)
        self._cells: dict[tuple[int, Cells], NDArray[np.int64]] = {}
        self._keys: dict[Cuts, NDArray[np.uint64]] = {}

    def cells(self, entry: int, cut: Cells) -> NDArray[np.int64]:
        """The cell of an entry, for each row."""
        if (entry, cut) not in self._cells:
            self._cells[entry, cut] = cut.of(self[entry])
        return self._cells[entry, cut]

    def keys(self, cuts: Cuts) -> NDArray[np.uint64]:
        """One number for the cells of a row: its place in a table of all cells, or a hash where that would be large.

        (Two rows of cells with the same hash would only make an event coarser.)
        """
        if cuts not in self._keys:
            if table(cuts) is None:
                is_begun = cuts[:-1] in self._keys and table(cuts[:-1]) is None  # a place in a table is no hash
                before = cuts[:-1] if is_begun else ()
                key = self._keys[before] if before else np.zeros(len(self[0]), dtype=np.uint64)
                for entry, cut in cuts[len(before) :]:
                    # A discrete entry is its own cell.
                    told = (self[entry] + 0.0).view(np.uint64) if cut.is_discrete else self.cells(entry, cut)
                    key = key * np.uint64(_HASH) + (told.astype(np.uint64) >> np.uint64(32)) + told.astype(np.uint64)
            else:
                key = np.zeros(len(self[0]), dtype=np.uint64)
                for entry, cut in cuts:
                    key = key * np.uint64(cut.count) + self.cells(entry, cut).astype(np.uint64)
            self._keys[cuts] = key
        return self._keys[cuts]

    def first(self, rows: int) -> Reading:
        """The first rows."""
        return Reading(entry[:rows] for entry in self)
