"""Intervals of moments, from released numbers alone: exact laws of the noise, inverted, without a union bound.

**Means** (Fieller 1954). At the true place t of the mean, U(1 − t) − V·t is nothing but noise, (1 − t)L₁ − t·L₂. The
interval holds every t at which it is as small as such noise is with the level asked for (`noise_tails`). Where no t
passes, the interval is the whole range.

**Variances.** At the true mean t and variance v of the places, F(v, t) = A((1 − t)² − v) − B(t(1 − t) + v) + C(t² − v)
is nothing but noise. As a function of t it is N(t − t̂)² above its smallest value N(v̂ − v), with t̂, v̂ and N from
the released numbers. So v lies between v̂ − z/N and v̂ + z/N + (t − t̂)², where z is the reach of that noise, and t −
t̂ is bounded by the interval of the mean at an eighth of the probability to miss.

**Populations.** The records are taken as an independent sample, and what sampling adds to the sums as normal: with the
variance of the places, as released, for a mean; for a variance with no more than places between 0 and 1 can have. That
is an approximation: good from some dozens of records on, of which the range cuts off few.

All of this is about the clamped records. In floats, rounded outwards: by two steps of 2^-32 for the noise being
discrete and the sums being rounded, by another for the rounding of the records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.estimators.binned import Bins, Range
from dither.estimators.noise_tails import beyond, reach
from dither.estimators.sampling import Size
from dither.estimators.sums import STEPS, NoisyPlaces, NoisySquares, NoisySum, NoisyVariance
from dither.exact.certified import exactly_above, exactly_below

__all__ = ["Clip", "CovarianceBars", "MeanBars", "ReplacedVarianceBars", "SumBars", "VarianceBars"]

_Ends = tuple[Fraction, Fraction]
_Place = tuple[float, float]

_ROUNDED = 3.0
"""Steps by which the exact law of the noise is missed at most."""
_SMALLEST_MISS = 1e-300
_TRIED = 129
_HALVINGS = 50
_ROUNDS = 3


@dataclass(frozen=True)
class Clip:
    """The range to which the records were clamped."""

    bins: Bins
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

    def between(self, places: _Place) -> tuple[float, float]:
        """Two places, rounded outwards."""
        low, _ = self.bins.ends(self.reach)
        start = Fraction(self.bins.anchor) + low
        ends = (start + Fraction(place) * self.width for place in places)
        least, most = self.shown
        below, above = (exactly_below(next(ends)), exactly_above(next(ends)))
        return min(max(below, least), most), max(min(above, most), least)


@dataclass(frozen=True)
class SumBars:
    """Σx = offset + the noisy sum, which was rounded down."""

    noisy: NoisySum
    offset: Fraction

    def __call__(self, level: Fraction) -> tuple[float, float]:
        low, high = self.noisy.between(1 - level, 1)
        return exactly_below(self.offset + low), exactly_above(self.offset + high)


@dataclass(frozen=True)
class MeanBars:
    """The mean from both ends, or from A, B and C for a population; `variance` where n is public."""

    noisy: NoisyPlaces | NoisySquares
    clip: Clip
    population: bool = False
    variance: NoisyVariance | None = None

    def __call__(self, level: Fraction) -> tuple[float, float]:
        return self.clip.between(_mean_between(self.noisy, float(1 - level), self.sampling))

    def sampling(self, place: float) -> float:
        """The standard deviation of what sampling adds to U(1 − t) − V·t, in steps."""
        if not self.population:
            return 0.0
        if isinstance(self.noisy, NoisySquares):
            first, second, third = self.noisy.parts
            weights = (1 - place) ** 2, -place * (1 - place), place**2
            squares = first * weights[0] + second * weights[1] + third * weights[2]
            # One standard deviation of its own noise, so that it is rarely too small.
            squares += self.noisy.scale * math.sqrt(2 * sum(weight**2 for weight in weights))
            return math.sqrt(max(squares, 0.0) * STEPS)
        assert self.variance is not None
        noise = math.sqrt(2) * float(self.variance.unit * self.variance.released.mechanism.scale)  # type: ignore[attr-defined]
        return STEPS * math.sqrt(self.variance.count * (float(self.variance.value) + noise))


@dataclass(frozen=True)
class VarianceBars:
    """The variance from A, B and C; its root if `is_root`."""

    noisy: NoisySquares
    clip: Clip
    population: bool
    is_root: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss, noisy = float(1 - level), self.noisy
        known = (0.0, 0.25)
        if noisy.total <= STEPS or miss < _SMALLEST_MISS:
            return _spread(known, self.clip, self.is_root)
        mean = MeanBars(noisy, self.clip, self.population)
        places = _mean_between(noisy, miss / 8, mean.sampling)
        total, off = float(noisy.total), max(places[1] - float(noisy.mean), float(noisy.mean) - places[0])
        best = _plain_variance(noisy)
        for _ in range(_ROUNDS):
            # Whatever is known of v bounds the noise, and that bounds v: each round holds if the one before does.
            sampling = math.sqrt(_fourth(places, known) * total * STEPS) if self.population else 0.0
            far = (reach(self._scales(places, known), miss * 7 / 8, sampling) + _ROUNDED) / total
            known = max(best - far, known[0]), min(best + far + off**2, known[1])
        return _spread(known, self.clip, self.is_root)

    def _scales(self, places: _Place, variance: _Place) -> list[float]:
        """The largest scales of the noise of F(v, t), for the means t and variances v that are possible."""
        ways = [((1 - t) ** 2 - v, t**2 - v) for t in places for v in variance]
        nearest = min(max(0.5, places[0]), places[1])
        largest = [max(abs(way[0]) for way in ways), nearest * (1 - nearest) + variance[1]]
        return [self.noisy.scale * weight for weight in (*largest, max(abs(way[1]) for way in ways))]


@dataclass(frozen=True)
class ReplacedVarianceBars:
    """The variance with noise of its own."""

    noisy: NoisyVariance
    clip: Clip
    population: bool
    is_root: bool

    def __call__(self, level: Fraction) -> tuple[float, float]:
        miss, noisy = float(1 - level), self.noisy
        if miss < _SMALLEST_MISS:
            return _spread((0.0, 0.25), self.clip, self.is_root)
        scale, value = float(noisy.released.mechanism.scale), float(int(noisy.released.value) * noisy.unit)  # type: ignore[attr-defined]
        unit, known = float(noisy.unit), (0.0, 0.25)
        for _ in range(_ROUNDS):
            sampling = math.sqrt(_fourth((0.0, 1.0), known) / noisy.count) / unit if self.population else 0.0
            far = (reach([scale], miss, sampling) + _ROUNDED) * unit + 2.0**-31
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


def _mean_between(noisy: NoisyPlaces | NoisySquares, miss: float, sampling: Callable[[float], float]) -> _Place:
    """The smallest and the largest place that pass; 0 and 1 if none does."""
    if miss < _SMALLEST_MISS:
        return 0.0, 1.0
    above, below = (noisy.above, noisy.below) if isinstance(noisy, NoisyPlaces) else _sides(noisy)
    scales = noisy.scales if isinstance(noisy, NoisyPlaces) else noisy.scales_of_mean

    def passes(place: float) -> bool:
        off = abs(above * (1 - place) - below * place) - _ROUNDED
        return off <= 0 or beyond(off, scales(place), sampling(place)) >= miss

    tried = np.linspace(0.0, 1.0, _TRIED)
    found = [float(place) for place in tried if passes(float(place))]
    middle = min(max(above / (above + below), 0.0), 1.0) if above + below > 0 else 0.5
    if passes(middle):
        found.append(middle)
    if not found:
        return 0.0, 1.0
    step = 1 / (_TRIED - 1)
    return _last(passes, min(found), -step), _last(passes, max(found), step)


def _last(passes: Callable[[float], bool], inside: float, step: float) -> float:
    """Where it stops passing, from a place that passes towards one that does not; rounded outwards."""
    outside = min(max(inside + step, 0.0), 1.0)
    if passes(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if passes(middle) else (inside, middle)
    return min(max(outside + math.copysign(2.0**-31, step), 0.0), 1.0)


def _sides(noisy: NoisySquares) -> tuple[float, float]:
    first, second, third = noisy.parts
    return first + second / 2, third + second / 2


def _plain_variance(noisy: NoisySquares) -> float:
    """Without regard to what it can be."""
    first, second, _ = noisy.parts
    return float(Fraction(first, noisy.total) - (Fraction(2 * first + second, 2 * noisy.total)) ** 2)


def _fourth(places: _Place, variance: _Place) -> float:
    """At most the variance of (w − t)², for w between 0 and 1: it is no more than v(d² − v), d the farthest from t."""
    farthest = max(places[1], 1 - places[0]) ** 2
    known = min(max(variance[1], 0.0), farthest / 2)
    return known * (farthest - known)


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
