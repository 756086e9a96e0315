"""To what range the data are clamped before they are added: found privately, so that bounds may be far too wide.

A sum gets noise in proportion to its range, and what is cut off is lost: the best range leaves about 3/ε records
outside. So few cannot be found with a small part ε′ of the budget. What can be is the distance D from the median that
8/ε′ records exceed, a part f of them. The range is a multiple of D: if tails fell exponentially, a part f/27 would
lie beyond D·(1 + ln 27/ln(1/2f)), and a third more than that suits tails from Gaussian to lognormal. It only has to
be a good guess: privacy does not depend on it.

**Which way it fails.** D ends far beyond the data with a probability that the base measure keeps small by its pull
towards 0, and it ends near 0, which would cut off everything, if that pull outweighs the records. So the pull is what
the number of records allows, which was released or is public: at D = 0 the loss is n·ε′/2 scales and the base measure
makes up for all but 26 of these at most (`_Aim`). For records that are spread evenly D is below a sixteenth of their
reach with probability 7e-6 for 500/ε of them, 5e-7 for 600/ε, 3e-9 for 1000/ε. With few records there is little pull or
none; then D is aimed at a rank up to twice as far in, and the range is made wider. What is left to chance is a range
that is too wide, which costs accuracy and no coverage.
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
"""Records times ε below which a search costs more than it gains, for each of the columns that share the budget."""

_RANK = 8
_TO_SPARE = 26
"""How many scales of loss the base measure leaves at a distance of 0; those that are to lie outside are up to 8."""

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Clip:
    """The data are clamped to [low, high] and measured from `centre`."""

    low: float
    centre: float
    high: float
    is_found: bool = True
    """Whether the centre was found among the records; else it is the middle of the bounds."""

    @classmethod
    def to_bounds(cls, bounds: Bounds) -> Clip:
        """The bounds as they are, measured from their middle."""
        low, high = bounds
        return cls(low, low / 2 + high / 2, high, is_found=False)

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
    aim = _Aim.of(records, distance, Base.in_a_tail((0.0, farthest), 0.0))
    target = Target(1, above=aim.outside, below=len(values) - aim.outside)
    released = released_place(np.sort(np.abs(values - middle)), aim.base, target, mechanism)
    spent.record("distance", distance, released.event)
    # At least so wide that rounding leaves a range.
    reach = aim.wider * max(released.value, farthest * 2.0**-40, 4 * float(np.spacing(max(abs(low), abs(high)))))
    return Clip(max(low, middle - reach), middle, min(high, middle + reach))


@dataclass(frozen=True)
class _Aim:
    """What is searched for, from numbers that are public: the released number of records, ε′ and the bounds."""

    outside: int
    """How many records are to lie beyond the distance."""
    wider: float
    """How many times the distance the range is to be."""
    base: Base

    @classmethod
    def of(cls, records: int, epsilon: Fraction, tail: Base) -> _Aim:
        """With many records those of `tail`, 8/ε′ records and a third more; without any pull 16/ε′ and five sixths."""
        base = tail.pulling_at_most(records * float(epsilon) / 2 - _TO_SPARE)
        lack = (tail.decay - base.decay) / (tail.decay - 1)
        outside = max(min(math.ceil(_RANK * (1 + lack) / epsilon), records // 2), 1)
        part = min(outside / max(records, 1), 0.25)
        tails = 1 + math.log(27 * (1 + lack)) / -math.log(2 * part)
        return cls(outside, (4 / 3 + lack / 2) * tails, base)


def _released_median(values: Floats, bounds: Bounds, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> float:
    mechanism = Exponential(sensitivity=quantile_sensitivity(_HALF, adjacency), epsilon=epsilon, adjacency=adjacency)
    target = quantile_target(_HALF, len(values))
    released = released_place(np.sort(values), Base.around_zero(bounds), target, mechanism)
    spent.record("centre", epsilon, released.event)
    return float(released.value)
