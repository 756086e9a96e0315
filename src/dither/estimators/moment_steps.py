"""The steps that all moments share, each of which spends its part of the budget; the last takes what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.binned import Binned, HalfOctaves
from dither.estimators.moment_bars import Clip
from dither.estimators.range_search import Found, Goal, found_range, needed
from dither.estimators.records import Bounds, Floats, checked_adjacency, checked_bounds, is_replace, paired, present
from dither.estimators.sampling import Size, released_size
from dither.estimators.sums import NoisySum, Placed, released_sum
from dither.events import Stated
from dither.exact import Number, in_words
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.no_answer import NoAnswer

__all__ = ["Steps"]

_COUNT = Fraction(1, 4)


@dataclass(frozen=True)
class Steps:
    """One estimator at work."""

    total: Fraction
    adjacency: Adjacency
    spent: Spent

    @classmethod
    def started(cls, epsilon: Number, adjacency: Adjacency) -> Steps:
        """Nothing is spent yet."""
        return cls(budget(epsilon), checked_adjacency(adjacency), Spent(adjacency))

    @property
    def rest(self) -> Fraction:
        """What is left of the budget."""
        return self.total - sum(self.spent.split.values(), Fraction(0))

    def column(self, data: Any, bounds: Any) -> tuple[Floats, Bounds | None]:
        """The records, and their bounds if there are any."""
        limits = None if bounds is None else checked_bounds(bounds)
        return present(data, self.adjacency, limits), limits

    def pair(self, x: Any, y: Any, bounds: Sequence[Any]) -> tuple[tuple[Floats, Floats], list[Bounds | None]]:
        """Two columns of the same records, and their bounds."""
        limits = [None if each is None else checked_bounds(each) for each in bounds]
        return paired(x, y, self.adjacency, (limits[0], limits[1])), limits

    def found(
        self, values: Floats, bounds: Bounds | None, statistic: str, clip: bool, part: Fraction = Fraction(1)
    ) -> Found | None:
        """The records by cell, and the range to clamp them to: the bounds, unless `clip`. None if none is found.

        `part` of the budget is there for it.
        """
        bins = HalfOctaves.everywhere() if bounds is None else HalfOctaves.within(bounds)
        binned = bins.binned(values)
        if not clip and bounds is not None:
            return Found.bounds(binned)

        def around(anchor: float) -> Binned:
            return HalfOctaves.around(anchor, bounds).binned(values)

        goal = Goal(statistic, is_replace(self.adjacency))
        return found_range(binned, goal, self.total * part, self.adjacency, self.spent, around)

    def placed(self, found: Found) -> tuple[Placed, Clip]:
        """The exact sums of the records clamped to the range, and the range."""
        bins = found.binned.bins
        return Placed.of(found.binned.totals(found.reach), *bins.ends(found.reach)), Clip(bins, found.reach)

    def size(self, count: int) -> Size:
        """The number of records, for a quarter of what is left; free under replace-one, where it is public."""
        return released_size(count, self.adjacency, self.rest * _COUNT, self.spent)

    def sum(self, values: Floats, limits: Bounds, of_rest: Fraction = Fraction(1), step: str = "sum") -> NoisySum:
        """The noisy sum of the clamped values, for a part of what is left."""
        return released_sum(values, limits, self.adjacency, self.rest * of_rest, self.spent, step)

    def estimate(self, name: str, value: Any, mechanism: Mechanism, found: Found, clip: Clip, **said: Any) -> Estimate:
        """The release."""
        known: dict[str, Any] = {"clip": clip.shown}
        if found.outside is not None:
            known["outside"] = round(found.outside, 1)
        return self.spent.estimate(name, value, mechanism, found=known, **said)

    def refused(self, name: str) -> Estimate:
        """No answer, at the full price: the look has revealed which of the two it is."""
        why = NoAnswer(
            "no answer: there are too few records to find a range without bounds. About "
            f"{in_words(Fraction(needed(self.total, self.adjacency)))} records that are not 0 are enough at this "
            "epsilon. State bounds, spend a larger epsilon, or use more data."
        )
        self.spent.record("no answer", self.rest, Stated("PureDP", (self.rest,), self.adjacency))
        mechanism = Laplace(sensitivity=1, epsilon=self.total, adjacency=self.adjacency)
        return self.spent.estimate(name, why, mechanism, covers="there is no answer", bars=_everything)


def _everything(level: Fraction) -> tuple[float, float]:
    """Where there is no answer."""
    return -math.inf, math.inf
