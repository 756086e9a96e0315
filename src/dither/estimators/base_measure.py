"""The base measure of private ranks: what is likely before anything is known.

A mixture on the bounds, so that none of these needs to be known beforehand, and each costs no more than the logarithm
of its share:

* 45 % are spread over the octaves of the distance from 0, the same for each: bounds 2^j times too wide cost a factor
  of (octaves + j)/octaves in probability, where the uniform measure costs 2^j. (Bounds without 0 have fewer octaves, as
  few numbers are that near to a bound: in those of a column of years this part is as good as uniform.);
* 45 % are uniform: where bounds are tight, little is better;
* 5 % lie on round numbers, those of one to three significant digits: where many records are equal, they mostly are;
* 4 % lie on 0, and 0.5 % on each bound, where clamped records are.

**Without bounds** octaves reach from 2^-120 to 2^120 and have masses ∝ (1 + |k − 8|/12)^-2: people choose units in
which numbers are some tens or thousands. Of whole numbers octaves begin at 1, and each number is a place: where many
records are equal, theirs is a larger part of its octave than a double's is (1/2^13 for 12,345).

One more place means *no answer*, inside bounds and without them: see `places`.

Privacy does not depend on the shares. The first two are equal since either may be the right one; the others were tried
on simulated data, and half or twice as much makes no difference that can be seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.estimators.axes import Axis, Doubles, Multiples, WholeNumbers
from dither.estimators.records import Bounds, Floats
from dither.mechanisms.public_measure import BaseMeasure, Mixture, PublicMeasure, Wholes

__all__ = ["LEAST_TAIL_SCALES", "Base", "bounded", "stepped", "unbounded"]

_OCTAVES = 0.45
_UNIFORM = 0.45
_ROUND = 0.05
_ZERO = 0.04
_BOUND = 0.005
_WHOLE = 2.0**48
"""The mass of everything, so that each part of it is a whole number."""
_FLAT = 40
"""Octaves below the width of the bounds; nearer to 0 the measure is flat."""
_DECADES = 9
_FARTHEST = 120
_HUMAN = 8
_HUMAN_WIDTH = 12
_REFUSAL = 1 << 13
"""The mass of no answer, in masses of everything else."""


LEAST_TAIL_SCALES = 3.0
"""The loss of a quantile beyond all rows, in scales: up to twice as far there is little more space than among them."""
_MOST_TAIL_SCALES = 13.0
"""And beyond twice as far: the space of wide bounds, a fifth of the measure, competes with a tenth of an octave."""
_FARTHER = 64.0
_RARE = math.log(10**4)
_EIGHTH = 2.0**0.125


@dataclass(frozen=True)
class Base:
    """A public measure on the places first, …, end − 1 of an axis; with `refuses` the place `end` means no answer."""

    axis: Axis
    first: int
    end: int
    measure: PublicMeasure
    refuses: bool = False
    is_bounded: bool = True
    tail_scales: float = _MOST_TAIL_SCALES
    """How many scales of loss the space beyond twice all rows has at least, for a quantile in the tail on that side."""

    @property
    def bounds(self) -> Bounds:
        """What the outermost places stand for."""
        return self.axis.value(self.first), self.axis.value(self.end - 1)

    @property
    def everything(self) -> Bounds:
        """What holds any quantile: the interval where there is no answer."""
        return self.bounds if self.is_bounded else (-math.inf, math.inf)

    @property
    def is_farther_above(self) -> bool:
        """Whether the upper bound is the one that is farther from 0: there the space is."""
        return self.first + self.end > 0

    def around(self, anchor: int) -> Base:
        """For searches in a tail: half of it spread over the octaves of the distance from a released place.

        And little of it is uniform, as most of the space up to wide bounds has no records.
        """
        near = _measure(self.axis, self.first, self.end, {"octaves": 1.0}, self.axis.value(anchor))
        far = _refusing(_far(self.axis, self.first, self.end) if self.is_bounded else _human(self.axis))
        around = replace(self, measure=Mixture((far, near)))
        return replace(around, tail_scales=around._scales_beyond(anchor)) if self.is_bounded else around

    @property
    def with_little_uniform(self) -> Base:
        """For searches in a tail if there is no place to start from."""
        return replace(self, measure=_refusing(_far(self.axis, self.first, self.end))) if self.is_bounded else self

    def within(self, anchor: int) -> Base:
        """`around` a place, for a part of the rows that is known already: inside bounds there is an answer."""
        return replace(self.around(anchor), refuses=not self.is_bounded)

    def _scales_beyond(self, anchor: int) -> float:
        """So many that the space 64 times as far as a released median, and farther, is chosen once in 10⁴ times.

        It competes with an eighth of an octave next to the median. In bounds that do not reach so far, the usual.
        """
        axis, (low, high) = self.axis, self.bounds
        origin = min(max(0.0, low), high)
        size = abs(axis.value(anchor) - origin)
        side = 1.0 if self.is_farther_above else -1.0
        reach = axis.place(min(max(origin + side * _FARTHER * size, low), high))
        first, end = (reach + 1, self.end) if self.is_farther_above else (self.first, reach)
        if first >= end:
            return LEAST_TAIL_SCALES
        edges = sorted(axis.place(min(max(origin + side * size * at, low), high)) for at in (1.0, _EIGHTH))
        space, near = (float(self.measure.weight(*ends)) for ends in ((first, end), (edges[0], edges[1] + 1)))
        return max(LEAST_TAIL_SCALES, min(math.log(space / near) + _RARE, _MOST_TAIL_SCALES))

    def twice_as_far(self, places: Wholes) -> Wholes:
        """Twice as far from 0, or the bound next to it, on the side that reaches farther; a place on the other stays.

        A function of the bounds and each place alone, which never decreases; `end` where that is beyond the bounds.
        """
        low, high = self.bounds
        origin, sign, outside = min(max(0.0, low), high), 1.0, self.end
        if not self.is_farther_above:
            sign, outside = -1.0, self.first
        half = abs((high if self.is_farther_above else low) - origin) / 2
        inside = np.clip(places, self.first, self.end - 1)
        way = sign * (self.axis.values(inside) - origin)
        twice = self.axis.places(origin + sign * 2 * np.clip(way, 0.0, half))
        farther = np.maximum(twice, inside) if self.is_farther_above else np.minimum(twice, inside)
        return np.where(way > half, outside, np.where(way > 0, farther, inside))

    def log_mass_ratio(self, room_digits: int) -> float:
        """ln of the mass of all places over the least mass of 2^room_digits of them, `around` any place."""
        far = _far(self.axis, self.first, self.end) if self.is_bounded else _human(self.axis)
        least = float(np.min(far.masses / np.diff(far.cuts))) * 2.0**room_digits
        return math.log(2 * far.total) - math.log(least)


@lru_cache(maxsize=64)
def bounded(bounds: Bounds) -> Base:
    """On all doubles between the bounds."""
    low, high = bounds
    axis = Doubles(math.frexp(high - low)[1] - 1 - _FLAT)
    return _on(axis, axis.place(low), axis.place(high) + 1)


@lru_cache(maxsize=64)
def stepped(step: Fraction, first: int, last: int) -> Base:
    """On the multiples of a step from `first` to `last`, in steps."""
    return _on(Multiples(step), first, last + 1)


@lru_cache(maxsize=64)
def _far(axis: Axis, first: int, end: int) -> BaseMeasure:
    """As usual, but with a tenth of the uniform part."""
    shares = {"octaves": _OCTAVES + 0.9 * _UNIFORM, "uniform": 0.1 * _UNIFORM}
    return _measure(axis, first, end, {**shares, "round": _ROUND, "ends": _BOUND, "zero": _ZERO}, 0.0)


def _on(axis: Axis, first: int, end: int) -> Base:
    shares = {"octaves": _OCTAVES, "uniform": _UNIFORM, "round": _ROUND, "ends": _BOUND, "zero": _ZERO}
    return Base(axis, first, end, _refusing(_measure(axis, first, end, shares, 0.0)), refuses=True)


def _refusing(plain: BaseMeasure) -> BaseMeasure:
    """With one more place, for no answer."""
    return BaseMeasure(np.append(plain.cuts, plain.cuts[-1] + 1), np.append(plain.masses, _REFUSAL * plain.total))


@lru_cache(maxsize=2)
def unbounded(*, is_whole: bool = False) -> Base:
    """On ±2^120, or the whole numbers among these, with a place for no answer."""
    axis = WholeNumbers() if is_whole else Doubles(-_FARTHEST)
    plain = _human(axis)
    first, end = int(plain.cuts[0]), int(plain.cuts[-1])
    return Base(axis, first, end, _refusing(plain), refuses=True, is_bounded=False)


@lru_cache(maxsize=2)
def _human(axis: Axis) -> BaseMeasure:
    reach = axis.place(2.0**_FARTHEST)
    shares = {"human": _OCTAVES + _UNIFORM, "round": _ROUND, "zero": _ZERO}
    return _measure(axis, -reach, reach + 1, shares, 0.0)


def _measure(axis: Axis, first: int, end: int, shares: dict[str, float], origin: float) -> BaseMeasure:
    """The shares that have a place in the bounds, each with whole masses."""
    low, high = axis.value(first), axis.value(end - 1)
    marks, octaves = _marks(axis, first, end, origin), axis.least
    atoms: list[tuple[Wholes, Floats]] = []
    if "round" in shares:
        atoms.append(_round_numbers(axis, first, end, shares["round"], by_octave="human" in shares))
    if "zero" in shares and low <= 0 <= high:
        atoms.append((axis.places(np.zeros(1)), np.array([shares["zero"]])))
    if "ends" in shares:
        atoms.append((np.array([first, end - 1]), np.full(2, shares["ends"])))
    places = np.concatenate([np.zeros(0, np.int64), *(each for each, _ in atoms)])
    cuts = np.unique(np.concatenate([[first, end], axis.places(marks), places, places + 1]))
    cuts = cuts[(cuts >= first) & (cuts <= end)]
    starts = axis.values(cuts[:-1])
    lengths = axis.values(cuts[1:]) - starts
    masses = np.zeros(len(lengths))
    if "uniform" in shares:
        masses += shares["uniform"] * lengths / lengths.sum()
    for kind in ("octaves", "human"):
        if kind in shares:
            distance = np.abs((starts + axis.values(cuts[1:] - 1)) / 2 - origin)
            k = np.maximum(np.frexp(distance)[1] - 1, octaves)
            density = np.ldexp(1.0, octaves - k)
            if kind == "human":
                density *= (1 + np.abs(k - _HUMAN) / _HUMAN_WIDTH) ** -2
            share = lengths * density
            masses += shares[kind] * share / share.sum()
    for where, mass in atoms:
        np.add.at(masses, np.searchsorted(cuts, where), mass)
    return BaseMeasure(cuts, np.maximum(np.rint(masses / masses.sum() * _WHOLE), 1).astype(np.int64))


def _marks(axis: Axis, first: int, end: int, origin: float) -> Floats:
    """Values at which the density or the distance of places changes."""
    low, high = axis.value(first), axis.value(end - 1)
    farthest = max(high - origin, origin - low)  # also of an origin outside of the bounds
    distances = np.ldexp(1.0, np.arange(axis.least, max(math.frexp(farthest)[1], axis.least + 1)))
    marks = np.concatenate([origin - distances, [origin], origin + distances, axis.even(first, end)])
    return marks[(marks > low) & (marks < high)]


@lru_cache(maxsize=64)
def _decade(decade: int) -> Floats:
    """The numbers of one, two and three digits from 10^decade on, below ten times that; the doubles next to them."""
    return np.array(
        [float(f"{d}e{decade - length}") for length in range(3) for d in range(10**length, 10 ** (length + 1))]
    )


_DECADE_MASSES = np.concatenate([np.full(9 * 10**length, 1 / (9 * 10**length)) for length in range(3)])


def _round_numbers(axis: Axis, first: int, end: int, share: float, *, by_octave: bool) -> tuple[Wholes, Floats]:
    """The places of numbers of one to three digits in the highest decades, the same mass for each decade and length."""
    low, high = axis.value(first), axis.value(end - 1)
    top = math.floor(math.log10(max(abs(low), abs(high))))
    decades = range(-_DECADES, 2 * _DECADES) if by_octave else range(top - _DECADES + 1, top + 1)
    sizes = np.concatenate([_decade(decade) for decade in decades])
    masses = np.tile(_DECADE_MASSES, len(decades))
    values, masses = np.concatenate([-sizes, sizes]), np.concatenate([masses, masses])
    inside = (values >= low) & (values <= high)
    values, masses = values[inside], masses[inside]
    places = axis.places(values)
    exact = axis.values(places) == values
    places, masses = places[exact], masses[exact]
    return places, masses * (share / masses.sum()) if len(masses) else masses
