"""To what range the data are clamped before they are added: found privately, so that bounds may be far too wide.

A sum gets noise in proportion to its range, and what is cut off is lost: the best range leaves about 3/ε records
outside. So few cannot be found with a small part ε′ of the budget. What can be is the distance D from the median that
8/ε′ records exceed, a part f of them. The range is a multiple of D: if tails fell exponentially, a part f/27 would
lie beyond D·(1 + ln 27/ln(1/2f)), and a third more than that suits tails from Gaussian to lognormal. It only has to
be a good guess: privacy does not depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.ranks import Base, Target, quantile_sensitivity, quantile_target, released_place
from dither.estimators.records import Bounds, Floats
from dither.mechanisms import Exponential

__all__ = ["LEAST_RECORDS", "Clip", "found_clip"]

LEAST_RECORDS = 500
"""Records times ε below which a search costs more than it gains."""

_RANK = 8
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Clip:
    """The data are clamped to [low, high] and measured from `centre`."""

    low: float
    centre: float
    high: float

    @classmethod
    def to_bounds(cls, bounds: Bounds) -> Clip:
        """The bounds as they are, measured from their middle."""
        low, high = bounds
        return cls(low, low / 2 + high / 2, high)

    @property
    def limits(self) -> Bounds:
        """The range as seen from the centre."""
        return self.low - self.centre, self.high - self.centre

    @property
    def range(self) -> Bounds:
        """The range itself."""
        return self.low, self.high

    def centred(self, values: Floats) -> Floats:
        """Each record clamped, and as seen from the centre."""
        return np.clip(values, self.low, self.high) - self.centre


def found_clip(
    values: Floats, bounds: Bounds, records: int, adjacency: Adjacency, shares: tuple[Fraction, Fraction], spent: Spent
) -> Clip:
    """The range inside `bounds`; `shares` are what may be spent on the median and on the distance.

    `records` is their number, released or public.
    """
    centre, distance = shares
    middle = _released_median(values, bounds, adjacency, centre, spent)
    low, high = bounds
    farthest = max(high - middle, middle - low)
    mechanism = Exponential(sensitivity=1, epsilon=distance, adjacency=adjacency)
    outside = math.ceil(_RANK / distance)
    target = Target(1, above=outside, below=len(values) - outside)
    base = Base.in_a_tail((0.0, farthest), 0.0)
    released = released_place(np.sort(np.abs(values - middle)), base, target, mechanism)
    spent.record("distance", distance, released.event)
    # At least so wide that rounding leaves a range.
    reach = _wider(outside, records) * max(
        released.value, farthest * 2.0**-40, 4 * float(np.spacing(max(abs(low), abs(high))))
    )
    return Clip(max(low, middle - reach), middle, min(high, middle + reach))


def _wider(outside: int, records: int) -> float:
    """How many times the distance that `outside` of the records exceed."""
    part = min(outside / max(records, 1), 0.25)
    return 4 / 3 * (1 + math.log(27) / -math.log(2 * part))


def _released_median(values: Floats, bounds: Bounds, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> float:
    mechanism = Exponential(sensitivity=quantile_sensitivity(_HALF, adjacency), epsilon=epsilon, adjacency=adjacency)
    target = quantile_target(_HALF, len(values))
    released = released_place(np.sort(values), Base.around_zero(bounds), target, mechanism)
    spent.record("centre", epsilon, released.event)
    return float(released.value)
