"""The steps that all moments share, each of which spends its part of the budget; the last takes what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency
from dither.estimators.answer import Estimate, Spent, budget
from dither.estimators.clipping import LEAST_RECORDS, Clip, found_clip
from dither.estimators.records import Bounds, Floats, checked_adjacency, checked_bounds, paired, present
from dither.estimators.sampling import Size, released_size
from dither.estimators.scale import found_bounds
from dither.estimators.sums import NoisySides, NoisySum, released_sides, released_sum
from dither.exact import Number

__all__ = ["Steps"]

_COUNT = Fraction(5, 100)
_RECOUNT = Fraction(1, 4)
_RANGE = Fraction(10, 100)
_CENTRE = Fraction(5, 100)
_DISTANCE = Fraction(10, 100)


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

    def columns(self, data: Sequence[Any], bounds: Sequence[Any]) -> tuple[list[Floats], list[Bounds]]:
        """One or two columns and their bounds; those that are missing are found, a tenth of the budget for all."""
        given = [None if limits is None else checked_bounds(limits) for limits in bounds]
        if len(data) == 1:
            columns = [present(data[0], self.adjacency, given[0])]
        else:
            columns = list(paired(data[0], data[1], self.adjacency, (given[0], given[1])))
        share = self.total * _RANGE / len(data)
        known = [
            found_bounds(values, self.adjacency, share, self.spent) if limits is None else limits
            for values, limits in zip(columns, given, strict=True)
        ]
        return columns, known

    def size(self, count: int) -> Size:
        """The number of records; free under replace-one, where it is public."""
        return released_size(count, self.adjacency, self.total * _COUNT, self.spent)

    def recount(self, count: int, size: Size, clips: Sequence[Clip]) -> Size:
        """The number of records once more, with a quarter of what is left, where it is not public and matters.

        It does where records are measured from the middle of the bounds and not from a centre among them.
        """
        if size.noisy is None or all(clip.is_found for clip in clips):
            return size
        return released_size(count, self.adjacency, self.rest * _RECOUNT, self.spent)

    def clip(
        self, values: Floats, bounds: Bounds, size: Size, wanted: bool, *, is_needed: bool, parts: int = 1
    ) -> Clip:
        """The range: found if it is needed, or wanted and there are enough records for it, else the bounds."""
        if wanted and not is_needed and size.noisy is not None:
            self.spent.choose()
        if not is_needed and not (wanted and size.value * self.total >= LEAST_RECORDS * parts):
            return Clip.to_bounds(bounds)
        shares = self.total * _CENTRE / parts, self.total * _DISTANCE / parts
        return found_clip(values, bounds, size.value, self.adjacency, shares, self.spent)

    def sum(self, values: Floats, limits: Bounds, of_rest: Fraction = Fraction(1), step: str = "sum") -> NoisySum:
        """The noisy sum of the clamped values, for a part of what is left."""
        return released_sum(values, limits, self.adjacency, self.rest * of_rest, self.spent, step)

    def sides(self, values: Floats, limits: Bounds) -> NoisySides:
        """The noisy distances of the clamped values from both ends, for all that is left."""
        return released_sides(values, limits, self.adjacency, self.rest, self.spent)

    def estimate(self, name: str, value: float, noisy: NoisySum | NoisySides, **said: Any) -> Estimate:
        """The release."""
        return self.spent.estimate(name, value, noisy.released.mechanism, **said)
