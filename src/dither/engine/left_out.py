"""How much limits and bounds cut: a private estimate that a small part of the price pays for, and its intervals.

What the engine counts, and that a person moves it by `ONE` for each cut and once more for being cut, is in
`tables/lost_to_limits.py`. Here it gets noise, and shares follow from it at no further cost.

**Intervals.** The share t = lost/(lost + kept) of people who have at most 2^k times what the limits allow is where
lost·(1 − t) − kept·t is nothing but noise, whose law is known (`estimators.ratio_intervals`). k is chosen by the noisy
numbers, so that the intervals of all k hold at once: each misses with a part of what may be missed. People with more
than that are not seen. They have lost as well, so that the lower end holds for everybody; nothing private could bound
the upper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from dither.engine.aggregate import PEOPLE, Aggregate, Bounds
from dither.engine.group_sensitivity import Added, Need
from dither.engine.groups import Groups, Wholes, counted
from dither.engine.moment_aggregates import Mean, Total, Variance
from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.ratio_intervals import mean_between
from dither.exact import rational
from dither.tables import CELLS, MOST_KEPT, MOST_LOST, ONE, BoundedTable, Cut, ExactAggregate, columns_of_cuts
from dither.unit import Neighbour

__all__ = ["LEFT_OUT", "MUCH", "SHARE", "CutNeed", "CutShare", "cuts_of", "in_a_sentence"]

LEFT_OUT: Final = "left out"
"""The key of the need, beside those of aggregates."""
SHARE: Final = Fraction(1, 50)
"""What it takes of the price."""
UNKNOWN: Final = 0.5
"""An interval of a share that is wider tells nothing."""
MUCH: Final = 0.05
"""If more is cut of something, the answer says so first."""
CLAMPED: Final = "rows with a clamped value"
"""Where each row is a person of its own."""
_SURELY = 1e-3
"""A cell whose sum noise alone would reach with this probability is taken as empty."""
_CLOSE = 0.01
"""Cells are looked at as long as their noise adds no more than this to a share."""
_STEPS = 1.0
_SIZES: Final = np.exp2(np.arange(CELLS)) / MOST_LOST
"""What a step of each cell is, in what the limits allow a person."""


@dataclass(frozen=True, slots=True)
class CutShare:
    """How much limits and bounds leave out of something: an estimate with its interval, which may be published.

    `TableRelease.left_out` has them.

    Parameters
    ----------
    of : str
        What is left out: "rows", "groups of people", "people" of whom something is, or the values of a column.
    share : float
        The estimated part that is left out, 0 to 1.
    low : float
        The lower end of its interval, at the level of the release. It holds for all people.
    high : float
        The upper end. It is about people who have at most `times` as much as the limits allow.
    times : int or None
        How much that is; None where everybody is looked at.
    """

    of: str
    share: float
    low: float
    high: float
    times: int | None = None

    @property
    def is_much(self) -> bool:
        """Whether more than a twentieth is left out; people of whom a little is do not count for it."""
        return self.of not in (PEOPLE, CLAMPED) and self.share > MUCH

    def __str__(self) -> str:
        """The share and its interval, in words; of one that is unknown, that it is."""
        if self.is_unknown:
            return f"an unknown part of {self.of}"
        seen = "" if self.times is None else f" among people with at most {self.times:,} times the limits"
        return f"{self.share:.1%} of {self.of} ({self.low:.1%} to {self.high:.1%}{seen})"

    @property
    def is_unknown(self) -> bool:
        """Whether the interval is so wide that the estimate in it says nothing; a larger ε makes it narrower."""
        return self.high - self.low > UNKNOWN


def in_a_sentence(shares: Sequence[CutShare], share: Fraction) -> str:
    """What was left out, largest first; it begins with a warning if that is much, and ends with what is not known."""
    told = sorted((each for each in shares if not each.is_unknown), key=lambda each: -each.share)
    untold = [each.of for each in shares if each.is_unknown]
    much = any(each.is_much for each in shares)
    first = f"More than {MUCH:.0%} is left out: " if much else "Left out: "
    said = ", ".join(map(str, told)) if told else "unknown"
    more = f" Epsilon is too small to tell how much of {' and of '.join(untold)}." if untold else ""
    return f"{first}{said}.{more} Estimated with {float(share):.0%} of the price."


def cuts_of(aggregates: Mapping[str, Aggregate], neighbour: Neighbour, keys: Sequence[str]) -> tuple[Cut, ...]:
    """What limits and bounds may cut of these aggregates; nothing is cut of single rows but their values."""
    found: dict[str, Cut] = {}
    made_of = [part for each in aggregates.values() for part in each.made_of]
    if neighbour.adjacency.protects == "person":
        if all(set(each.needs) == {PEOPLE} for each in made_of):
            found |= {"groups": Cut("groups", "groups of people")} if keys else {}
        elif not all(isinstance(each, Total) or set(each.needs) == {PEOPLE} for each in made_of):
            found["rows"] = Cut("rows", "rows")
    for each in made_of:
        if isinstance(each, Total | Mean | Variance) and each.bounds is not None:
            low, high = _ends(each.bounds)
            is_sum = isinstance(each, Total)
            name = f"the sum of {each.of}" if is_sum else f"the values of {each.of}"
            found[f"{name} {low} {high}"] = Cut("sum" if is_sum else "mean", name, each.of, (low, high))
    return tuple(found.values())


def _ends(bounds: Bounds) -> tuple[float, float]:
    low, high = (float(rational(end, "bounds")) for end in bounds)
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class CutNeed(Need):
    """The sums of `tables/lost_to_limits.py`: a person moves them by ONE for each cut, and once more for being cut."""

    cuts: tuple[Cut, ...]
    of_persons: bool
    """Whether persons are protected, and not single rows."""

    @property
    def step(self) -> int:
        """What one person moves it by."""
        return ONE * (1 + len(self.cuts))

    @property
    def _width(self) -> int:
        return len(columns_of_cuts(self.cuts))

    def _most(self, neighbour: Neighbour) -> int:
        """In ℓ₁; one that is replaced leaves and comes."""
        return self.step * (2 if neighbour.replaces else 1)

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        return Added.laplace(self._most(neighbour), epsilon, neighbour.adjacency, self._width)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        """The ℓ₂ norm is at most the ℓ₁ norm, of which a person moves 1 + 2 for each cut (the old ones and the new)."""
        moved = (1 + 2 * len(self.cuts)) * (2 if neighbour.replaces else 1)
        return Added.gaussian(self._most(neighbour) ** 2, moved, rho, neighbour.adjacency, self._width)

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.cuts(self.cuts)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Wholes:
        """One row of sums, whatever the groups are."""
        found = np.zeros((1, self._width), dtype=np.int64)
        for batch in batches:
            for at, name in enumerate(columns_of_cuts(self.cuts)):
                found[0, at] += counted(batch.column(name)).sum()
        return found

    def shares(self, noisy: Sequence[int], noise: Added, level: Fraction) -> list[CutShare]:
        """What is left out, from the noisy sums."""
        law, miss = noise.law, float(1 - level)
        whole, cut, *rest = map(float, noisy)
        low, high = mean_between(cut, whole, law, miss, _STEPS)
        of_people = _share(cut, whole, float(low[0]), float(high[0]))
        who = PEOPLE if self.of_persons else CLAMPED
        found = [CutShare(who, of_people, float(low[0]), float(high[0]))]
        for at, each in enumerate(self.cuts):
            kept, *cells = rest[at * (1 + CELLS) : (at + 1) * (1 + CELLS)]
            found.append(_of_cells(each.name, kept, np.array(cells), noise, miss))
        return found


def _of_cells(name: str, kept: float, cells: np.ndarray, noise: Added, miss: float) -> CutShare:
    """A share of what people have; sums of cells and of what is kept are brought to one unit first."""
    law, sizes = noise.law, _SIZES
    scale, each_miss = 1 / MOST_KEPT, miss / CELLS
    lost = sizes * cells
    found = np.where(cells > float(law.reach([1.0], _SURELY)), lost, 0.0)
    surely = np.flatnonzero(found)
    everything = max(found.sum() + max(kept, 0.0) * scale, scale)
    close = [at for at, reach in enumerate(_reaches(law, miss)) if reach <= _CLOSE * everything]
    last = max(1, *surely, *close) if len(surely) or close else 1

    def weights(place: np.ndarray) -> list[np.ndarray]:
        return [*((1 - place) * size for size in sizes[: last + 1]), place * scale]

    rounded = float(sizes[: last + 1].sum() + scale)
    low, high = mean_between(lost[: last + 1].sum(), kept * scale, law, each_miss, rounded, weights)
    share = _share(found[: last + 1].sum(), kept * scale, float(low[0]), float(high[0]))
    return CutShare(name, share, float(low[0]), float(high[0]), 1 << last)


@lru_cache
def _reaches(law: NoiseLaw, miss: float) -> list[float]:
    """How far noise moves the losses of the first cells, of one or more."""
    return [float(law.reach(list(_SIZES[: last + 1]), miss)) for last in range(CELLS)]


def _share(lost: float, kept: float, low: float, high: float) -> float:
    """Of the noisy numbers, inside of the interval."""
    whole = max(lost, 0.0) + max(kept, 0.0)
    return min(max(max(lost, 0.0) / whole if whole > 0 else 0.0, low), high) if math.isfinite(whole) else low
