"""A private order statistic: the exponential mechanism on an interval, with a base measure that forgives wide bounds.

**Score.** Each record x is spread over [x − w, x + w]. For a place y let A(y) be the number of records that lie wholly
above y and B(y) of those that lie wholly at or below it. With A and B in units of 1/d,

    u(y) = −min(T, max(0, d·A(y) − α, d·B(y) − β)):

no loss where at most α/d records are certainly above and at most β/d certainly below. For the p/d-quantile of n records
α = (d − p)n and β = pn. All of these are integers, so scores are exact.

*Sensitivity.* A record that is added moves d·A − α by p or −(d − p) and d·B − β by d − p or −p: Δ = max(p, d − p).
A record that is replaced moves A and B by at most 1 and n not at all: Δ = d. If α and β do not depend on n, Δ = d
under both. Cutting off at 0 and at −T and the larger of two functions move no score by more.

**Why the spread.** Without it, equal records leave no room at the quantile: if all are equal, every other place has the
same loss, and the answer is anywhere. With it the best places have a width, and a base weight of at least
e^{−R} of the whole (`log_weight_ratio`), so that an answer is far off in rank only with a probability that has a bound.

**Base measure.** A point at distance 2^k to 2^{k+1} from a public `origin` has density 2^{−k·decay}. With decay 1
each octave has the same weight, so that bounds 2^j times too wide cost a factor of (octaves + j)/octaves in
probability, where the uniform measure would cost a factor of 2^j. With decay 3 the weight of an octave falls to a
quarter with each: for a search in a tail, from an origin in the bulk of the data. Next to the
origin it is constant, so that the least spread is four steps of the grid.

**T** is so many scales that the places that are cut off have together less than e^{−64} times their base weight. It
makes the number of pieces depend on ε and not on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.estimators.records import Bounds, Floats, is_replace
from dither.exact import once
from dither.mechanisms import Exponential, Release
from dither.noise import Grid

__all__ = [
    "MOST_UNITS",
    "Base",
    "Target",
    "checked_probability",
    "quantile_sensitivity",
    "quantile_target",
    "released_place",
]

MOST_UNITS = 10**6
"""The largest denominator d of a probability."""

_FAR = 64
_EXACT = 2**53


@dataclass(frozen=True)
class Base:
    """A public measure on `bounds`: log-uniform around `origin` for decay 1, lighter far away for more."""

    bounds: Bounds
    origin: float
    decay: float = 1
    """Between whole numbers log₂ of the density is rounded down to one in each octave."""
    spread_bits: int = 18
    """A record is 2^-18 of its distance from the origin wide on each side, unless stated otherwise."""

    @classmethod
    def around_zero(cls, bounds: Bounds) -> Base:
        """Around 0, or the end of the bounds next to it."""
        return cls(bounds, min(max(0.0, bounds[0]), bounds[1]))

    @classmethod
    def in_a_tail(cls, bounds: Bounds, origin: float) -> Base:
        """For searches outwards from the bulk of the data, at `origin`: how far the bounds are hardly matters."""
        return cls(bounds, origin, decay=3, spread_bits=14)

    def pulling_at_most(self, most: float) -> Base:
        """The same with less decay, if need be, so that no octave outweighs another by more than e^`most`."""
        spared = max(most, 0.0) / (len(self._octaves) * math.log(2))
        return replace(self, decay=min(self.decay, 1 + spared))

    @once
    def _flat(self) -> int:
        """log₂ of the distance within which the density is constant."""
        low, high = self.bounds
        return Grid.for_scale(Fraction(high) - Fraction(low)).exponent + self.spread_bits + 2

    @once
    def _octaves(self) -> NDArray[np.int64]:
        low, high = self.bounds
        farthest = max(high - self.origin, self.origin - low)
        return np.arange(self._flat, max(math.frexp(farthest)[1], self._flat + 1), dtype=np.int64)

    @once
    def pieces(self) -> tuple[Floats, NDArray[np.int64]]:
        """The places where the density changes, from bound to bound, and log₂ of the density after each."""
        low, high = self.bounds
        octaves = self._octaves
        distances = np.ldexp(1.0, octaves)
        starts = np.concatenate([(self.origin - distances)[::-1], self.origin + distances])
        falls = -np.floor(self.decay * (octaves - self._flat)).astype(np.int64)
        density = np.concatenate([falls[::-1], [0], falls])  # before the first start, then after each
        inside = (starts > low) & (starts < high)
        first = int(np.searchsorted(starts, low, side="right"))
        edges = np.concatenate([[low], starts[inside], [high]])
        return edges, density[first : first + len(edges) - 1]

    def spread(self, values: Floats) -> Floats:
        """w of each record."""
        return np.ldexp(np.maximum(np.abs(values - self.origin), 2.0**self._flat), -self.spread_bits)

    @property
    def log_weight_ratio(self) -> float:
        """ln of the weight of the bounds over the least weight of a record's own places, for decay 1; rounded up.

        An octave weighs 1 on each side and the flat part 2. A record at distance 2^k or more has w ≥ 2^{k−bits} on at
        least one side inside the bounds, where the density is at least ½·2^-k: at least 2^{−bits−1}, of which a grid
        with four or more points there holds half or more.
        """
        assert self.decay == 1
        return math.log(2 * len(self._octaves) + 4) + (self.spread_bits + 2) * math.log(2) + 1e-9


@dataclass(frozen=True)
class Target:
    """At most `above`/`units` records above, at most `below`/`units` below. Public but for their dependence on n."""

    units: int
    above: int
    below: int


def checked_probability(probability: Fraction) -> Fraction:
    """Strictly between 0 and 1, with a denominator that keeps scores exact."""
    if not 0 < probability < 1:
        raise ParameterError(
            f"a quantile's probability must lie strictly between 0 and 1, got {float(probability)}. Use min or max."
        )
    if probability.denominator > MOST_UNITS:
        raise ParameterError(
            f"a quantile's probability must be a fraction with a denominator of at most {MOST_UNITS:,}, such as 0.025 "
            "or '1/3'. Round it."
        )
    return probability


def quantile_target(probability: Fraction, count: int) -> Target:
    """The p/d-quantile of n = `count` records: #above ≤ (1 − p/d)n, #below ≤ (p/d)n."""
    p, d = probability.numerator, probability.denominator
    return Target(d, (d - p) * count, p * count)


def quantile_sensitivity(probability: Fraction, adjacency: Adjacency) -> int:
    """Δ of the score of a quantile, in units."""
    p, d = probability.numerator, probability.denominator
    return d if is_replace(adjacency) else max(p, d - p)


def released_place(values: Floats, base: Base, target: Target, mechanism: Exponential) -> Release:
    """A place of `base.bounds`, by the score of the module for the sorted `values`, which lie in the bounds."""
    assert target.units * (len(values) + 1) < _EXACT  # a million units: 9·10⁹ records
    cut = min(math.ceil(_FAR * mechanism.scale), _EXACT)
    edges, scores, density = _scored(values, base, target, cut)
    return mechanism.release_interval(edges, scores, log2_density=density)


def _scored(values: Floats, base: Base, target: Target, cut: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Edges, scores and log₂ densities of the pieces on which all are constant."""
    width = base.spread(values)
    # Sorted once more: far from the origin w is rounded more coarsely than x, and ends may be out of order by a digit.
    lows, highs = (np.sort(np.clip(ends, *base.bounds), kind="stable") for ends in (values - width, values + width))
    fixed, density = base.pieces
    count, units = len(values), target.units
    # Beyond these numbers all losses are 0, or all are T, so that 64 bits hold what matters.
    allowed_above, allowed_below = (min(max(x, -2 * _EXACT), units * count) for x in (target.above, target.below))
    # A record changes a score only where d·A − α or d·B − β is between 0 and T.
    near_low = lows[_window(count - (allowed_above + cut) // units, count - allowed_above // units, count)]
    near_high = highs[_window(allowed_below // units, (allowed_below + cut) // units, count)]
    edges = np.sort(np.concatenate([fixed, near_low, near_high]))
    starts = edges[:-1]
    above = units * (count - np.searchsorted(lows, starts, side="right")) - allowed_above
    below = units * np.searchsorted(highs, starts, side="right") - allowed_below
    loss = np.clip(np.maximum(above, below), 0, cut).astype(np.float64)
    octave = np.minimum(np.searchsorted(fixed, starts, side="right") - 1, len(density) - 1)
    return edges, -loss, density[octave]


def _window(first: int, last: int, count: int) -> slice:
    """From `first` to `last`, and a few more on each side."""
    return slice(min(max(first - 3, 0), count), min(max(last + 3, 0), count))
