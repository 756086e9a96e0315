"""Intervals of moments, from released numbers alone.

Each noisy number is inside its own bounds except with a part of the probability; whatever the true ones are inside
these, the statistic lies between the ends. Rationals throughout, rounded outwards at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.estimators.clipping import Clip
from dither.estimators.sampling import Size
from dither.estimators.sums import NoisySides, NoisySum
from dither.exact.certified import exactly_above, exactly_below

__all__ = ["CovarianceBars", "MeanBars", "SidesBars", "SumBars", "VarianceBars"]

_Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class SumBars:
    """Σx = offset + the noisy sum."""

    noisy: NoisySum
    size: Size
    offset: Fraction

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = (1 - level) / 4
        low, high = self.noisy.between(3 * miss, self.size.between(miss)[1])
        return exactly_below(self.offset + low), exactly_above(self.offset + high)


@dataclass(frozen=True)
class MeanBars:
    """centre + Σ(x − centre)/n."""

    noisy: NoisySum
    size: Size
    clip: Clip
    population: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = (1 - level) / (2 if self.population else 1)
        low, high = _mean(self.noisy, self.size, 3 * miss / 4, miss / 4, _fractions(*self.clip.limits))
        step = _sampling(self.size.between(miss / 4)[0], miss) if self.population else Fraction(0)
        return _placed((low, high), step, self.clip)


@dataclass(frozen=True)
class SidesBars:
    """The same from both sides."""

    sides: NoisySides
    clip: Clip
    population: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = (1 - level) / (2 if self.population else 1)
        # The number of records is bounded by the event that bounds the mean.
        step = _sampling(self.sides.fewest(miss), miss) if self.population else Fraction(0)
        return _placed(self.sides.mean_between(miss), step, self.clip)


@dataclass(frozen=True)
class VarianceBars:
    """Σ(x − c)²/n − (Σ(x − c)/n)²; the root of that if `is_root`."""

    first: NoisySum
    squares: NoisySum
    size: Size
    clip: Clip
    population: bool
    is_root: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = (1 - level) / (2 if self.population else 1)
        low, high = _fractions(*self.clip.limits)
        largest = max(low**2, high**2)
        mean = _mean(self.first, self.size, miss / 4, miss / 8, (low, high))
        square = _mean(self.squares, self.size, miss / 2, miss / 8, (Fraction(0), largest))
        if self.population:
            step = _sampling(self.size.between(miss / 8)[0], miss)
            # The variation of x − c over the range, and of its square.
            mean = mean[0] - step * (high - low), mean[1] + step * (high - low)
            square = square[0] - step * (low**2 + high**2), square[1] + step * (low**2 + high**2)
        least_square = Fraction(0) if mean[0] <= 0 <= mean[1] else min(mean[0] ** 2, mean[1] ** 2)
        least = max(square[0] - max(mean[0] ** 2, mean[1] ** 2), Fraction(0))
        most = min(square[1] - least_square, (high - low) ** 2 / 4)
        return _rooted(least, most) if self.is_root else (exactly_below(least), exactly_above(most))


@dataclass(frozen=True)
class CovarianceBars:
    """Σ(x − c)(y − d)/n − Σ(x − c)/n · Σ(y − d)/n."""

    sums: tuple[NoisySum, NoisySum]
    products: NoisySum
    size: Size
    clips: tuple[Clip, Clip]

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss = 1 - level
        means = [
            _mean(noisy, self.size, miss / 8, miss / 12, _fractions(*clip.limits))
            for noisy, clip in zip(self.sums, self.clips, strict=True)
        ]
        corners = [a * b for a in _fractions(*self.clips[0].limits) for b in _fractions(*self.clips[1].limits)]
        product = _mean(self.products, self.size, miss / 2, miss / 12, (min(corners), max(corners)))
        subtracted = [a * b for a in means[0] for b in means[1]]
        largest = _width(self.clips[0]) * _width(self.clips[1]) / 4
        low = max(product[0] - max(subtracted), -largest)
        high = min(product[1] - min(subtracted), largest)
        return exactly_below(low), exactly_above(high)


def _fractions(low: float, high: float) -> _Ends:
    return Fraction(low), Fraction(high)


def _width(clip: Clip) -> Fraction:
    return Fraction(clip.high) - Fraction(clip.low)


def _mean(noisy: NoisySum, size: Size, miss: Fraction, miss_of_size: Fraction, limits: _Ends) -> _Ends:
    """Bounds on the sum divided by the number of records, inside `limits`."""
    fewest, most = size.between(miss_of_size)
    if fewest < 1:
        return limits
    low, high = noisy.between(miss, most)
    quotients = [end / count for end in (low, high) for count in (fewest, most)]
    return min(max(min(quotients), limits[0]), limits[1]), max(min(max(quotients), limits[1]), limits[0])


def _placed(ends: _Ends, step: Fraction, clip: Clip) -> tuple[float, float]:
    """A mean as seen from the centre, with what sampling adds, inside the range."""
    centre, further, (least, most) = Fraction(clip.centre), step * _width(clip), clip.range
    low, high = exactly_below(centre + ends[0] - further), exactly_above(centre + ends[1] + further)
    return min(max(low, least), most), max(min(high, most), least)


def _sampling(fewest: int, miss: Fraction) -> Fraction:
    """h with 2e^{−2nh²} ≤ `miss` for every n from `fewest` on; at most 1."""
    if fewest < 1:
        return Fraction(1)
    return min(Fraction(math.sqrt(math.log(2 / miss) / (2 * fewest)) * (1 + 2.0**-40)), Fraction(1))


def _rooted(least: Fraction, most: Fraction) -> tuple[float, float]:
    low, high = math.sqrt(exactly_below(least)), math.sqrt(exactly_above(most))
    return max(math.nextafter(low, 0.0), 0.0), math.nextafter(high, math.inf)
