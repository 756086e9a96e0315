"""Intervals of moments of arrays, from released numbers alone: `ratio_intervals`, as numbers of the data.

All of this is about the clamped records. Rounded outwards: by three steps of 2^-32 for the noise being discrete and the
sums being rounded. And for the rounding of the records, of which each is a whole number of steps of its cell
(`binned`): its place is off by 2^-32 at most, and so is the mean of the places; their variance is by no more, as the
mean distance from their mean is at most ½. A sum is off by so much for each record: where their number is public, that
is added, and where it is not, the interval is that of the sum of the rounded records, as `covers` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.estimators.binned import HalfOctaves, Range
from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.ratio_intervals import (
    SMALLEST_MISS,
    ThreeSums,
    fourth,
    mean_between,
    of_one,
    of_two,
    unseen_records,
)
from dither.estimators.sampling import Size
from dither.estimators.sums import STEPS, NoisyPlaces, NoisySquares, NoisySum, NoisyVariance
from dither.exact.certified import exactly_above, exactly_below

__all__ = ["Clip", "CovarianceBars", "MeanBars", "ReplacedVarianceBars", "SumBars", "VarianceBars"]

_Ends = tuple[Fraction, Fraction]

_ROUNDED = 3.0
"""Steps by which the exact law of the noise is missed at most."""
_ROUNDS = 3
_RECORD = Fraction(1, 1 << 31)
"""By how much the rounding of the records moves the mean and the variance of their places, and a little more."""


@dataclass(frozen=True)
class Clip:
    """The range to which the records were clamped."""

    bins: HalfOctaves
    reach: Range

    @property
    def shown(self) -> tuple[float, float]:
        """Its ends, as numbers of the data."""
        return self.bins.shown(self.reach)

    @property
    def width(self) -> Fraction:
        """From end to end."""
        low, high = self.bins.ends(self.reach)
        return high - low

    def at(self, place: Fraction) -> float:
        """A place between the ends, as a number of the data."""
        low, _ = self.bins.ends(self.reach)
        value = Fraction(self.bins.anchor) + low + place * self.width
        return min(max(float(value), self.shown[0]), self.shown[1])

    def between(self, places: tuple[Any, Any]) -> tuple[float, float]:
        """Two places of the mean of rounded records, as numbers between which that of the records is."""
        low, _ = self.bins.ends(self.reach)
        start = Fraction(self.bins.anchor) + low
        signed = zip((-1, 1), places, strict=True)
        ends = (start + (Fraction(float(place[0])) + sign * _RECORD) * self.width for sign, place in signed)
        least, most = self.shown
        below, above = (exactly_below(next(ends)), exactly_above(next(ends)))
        return min(max(below, least), most), max(min(above, most), least)


@dataclass(frozen=True)
class SumBars:
    """Σx = offset + the noisy sum, which was rounded down."""

    noisy: NoisySum
    offset: Fraction
    rounded: int = 0
    """How many records there are, of which each may be off by a step; 0 if the sum is that of rounded records."""

    def __call__(self, level: Fraction) -> tuple[float, float]:
        low, high = self.noisy.between(1 - level, 1 + self.rounded)
        return exactly_below(self.offset + low), exactly_above(self.offset + high)


@dataclass(frozen=True)
class MeanBars:
    """The mean from both ends, or from A, B and C for a population; `variance` where n is public."""

    noisy: NoisyPlaces | NoisySquares
    clip: Clip
    population: bool = False
    variance: NoisyVariance | None = None

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss, noisy = float(1 - level), self.noisy
        if isinstance(noisy, NoisySquares):
            return self.clip.between(_three(noisy).mean_between(miss, self.population))
        weights = of_one if noisy.is_shared else of_two
        spread = None if self.variance is None else math.hypot(self._sampling, unseen_records(miss) * STEPS)
        sampling = None if spread is None else (lambda place: spread)
        law = NoiseLaw(noisy.scale)
        return self.clip.between(mean_between(noisy.above, noisy.below, law, miss, _ROUNDED, weights, sampling))

    @property
    def _sampling(self) -> float:
        """The standard deviation of what sampling adds to Σw, in steps; rarely too small."""
        assert self.variance is not None
        noise = math.sqrt(2) * float(self.variance.unit) * _scale(self.variance)
        return STEPS * math.sqrt(self.variance.count * (float(self.variance.value) + noise))


@dataclass(frozen=True)
class VarianceBars:
    """The variance from A, B and C; its root if `is_root`."""

    noisy: NoisySquares
    clip: Clip
    population: bool
    is_root: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        low, high = _three(self.noisy).variance_between(float(1 - level), self.population)
        off = float(_RECORD)
        return _spread((float(low[0]) - off, float(high[0]) + off), self.clip, self.is_root)


@dataclass(frozen=True)
class ReplacedVarianceBars:
    """The variance with noise of its own."""

    noisy: NoisyVariance
    clip: Clip
    population: bool
    is_root: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss, noisy = float(1 - level), self.noisy
        unit, known = float(noisy.unit), (0.0, 0.25)
        if miss < SMALLEST_MISS:
            return _spread(known, self.clip, self.is_root)
        law, value = NoiseLaw(_scale(noisy)), float(int(noisy.released.value) * noisy.unit)
        anywhere = np.zeros(1), np.ones(1)
        for _ in range(_ROUNDS):
            sampling = math.sqrt(float(fourth(anywhere, known[1])[0]) / noisy.count) / unit if self.population else 0.0
            far = (float(law.reach([1.0], miss, sampling)) + _ROUNDED) * unit + float(_RECORD)
            known = max(value - far, known[0]), min(value + far, known[1])
        return _spread(known, self.clip, self.is_root)


@dataclass(frozen=True)
class CovarianceBars:
    """Σ(x − c)(y − d)/n − Σ(x − c)/n · Σ(y − d)/n, from bounds on each that hold together."""

    sums: tuple[NoisySum, NoisySum]
    products: NoisySum
    size: Size
    limits: tuple[tuple[float, float], tuple[float, float]]
    """The ranges, as seen from the points from which the records are measured."""

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = 1 - level
        ends = [(Fraction(low), Fraction(high)) for low, high in self.limits]
        means = [
            _quotient(noisy, self.size, miss / 8, miss / 12, limits)
            for noisy, limits in zip(self.sums, ends, strict=True)
        ]
        corners = [a * b for a in ends[0] for b in ends[1]]
        product = _quotient(self.products, self.size, miss / 2, miss / 12, (min(corners), max(corners)))
        subtracted = [a * b for a in means[0] for b in means[1]]
        largest = (ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0]) / 4
        low = max(product[0] - max(subtracted), -largest)
        high = min(product[1] - min(subtracted), largest)
        return exactly_below(low), exactly_above(high)


def _three(noisy: NoisySquares) -> ThreeSums:
    return ThreeSums(noisy.parts, STEPS, NoiseLaw(noisy.scale), _ROUNDED)


def _scale(noisy: NoisyVariance) -> float:
    return float(noisy.released.mechanism.scale)  # type: ignore[attr-defined]


def _spread(variance: tuple[float, float], clip: Clip, is_root: bool) -> tuple[float, float]:
    """A variance of places as that of the data, or its root, rounded outwards."""
    square = clip.width**2
    low, high = (min(max(end, 0.0), 0.25) for end in variance)
    least, most = exactly_below(Fraction(low) * square), exactly_above(Fraction(high) * square)
    if not is_root:
        return least, most
    return max(math.nextafter(math.sqrt(least), 0.0), 0.0), math.nextafter(math.sqrt(most), math.inf)


def _quotient(noisy: NoisySum, size: Size, miss: Fraction, miss_of_size: Fraction, limits: _Ends) -> _Ends:
    """Bounds on the sum divided by the number of records, inside `limits`."""
    fewest, most = size.between(miss_of_size)
    if fewest < 1:
        return limits
    low, high = noisy.between(miss, most)
    quotients = [end / count for end in (low, high) for count in (fewest, most)]
    return min(max(min(quotients), limits[0]), limits[1]), max(min(max(quotients), limits[1]), limits[0])
