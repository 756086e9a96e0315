"""Intervals of means and variances of places, from noisy sums: for one group or many at once.

Records have places w between 0 and 1, and each brings `unit` to the sums U = Σw and V = Σ(1 − w), or to A = Σw²,
B = Σ2w(1 − w) and C = Σ(1 − w)². With noise of a known law on each sum:

**Means** (Fieller 1954). At the true place t of the mean, U(1 − t) − V·t is nothing but noise, (1 − t)L₁ − t·L₂. The
interval has every t at which it is as small as such noise is with the level asked for (`noise_tails`). If no t passes,
neither does the true one: that is a part of what may be missed, and whatever is said there costs no coverage. It is so
where U or V is far below 0, which no exact sum is: the interval is that of 0 in its place. From A, B and C, U is
A + B/2 and V is C + B/2.

**Variances.** At the true mean t and variance v of the places, F(v, t) = A((1 − t)² − v) − B(t(1 − t) + v) + C(t² − v)
is nothing but noise. As a function of t it is N(t − t̂)² above its smallest value N(v̂ − v), with t̂, v̂ and
N = A + B + C from the noisy sums. So v lies between v̂ − z/N and v̂ + z/N + (t − t̂)², where z is the reach of that
noise, and t − t̂ is bounded by the interval of the mean at an eighth of the probability to miss. If no v does, v̂ is far
below 0, and the interval is that of v̂ = 0.

**Populations.** The records are taken as an independent sample, and what sampling adds to the sums as normal: with the
variance of the places, as it was released, for a mean; for a variance with no more than places between 0 and 1 can
have. That is an approximation: good from some dozens of records on. Records at one end that are so rare that none was
drawn show in no variance of a sample. Of such as are expected −ln(m/2) times, none is drawn with probability m/2; so
many records are added to the standard deviation as make its normal interval that wide (`unseen_records`).

In floats. `rounded` is by how much the sums, or the noise being discrete, may be off in the units of the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.records import Floats

__all__ = [
    "SMALLEST_MISS",
    "Ends",
    "ThreeSums",
    "fourth",
    "mean_between",
    "of_one",
    "of_three",
    "of_two",
    "unseen_records",
]

SMALLEST_MISS = 1e-300
"""Below, the interval is everything."""

_TRIED = 65
_FEW = 1000
"""For so many groups all places are tried in one go; with more of them, in several."""
_HALVINGS = 48
_FAR_ABOVE = 4
_ROUNDS = 3
_OUTWARDS = 2.0**-40

Ends = tuple[Floats, Floats]
Weights = Callable[[Floats], Sequence[Any]]


def of_two(place: Floats) -> Sequence[Any]:
    """The weights of the noise of U and V in U(1 − t) − V·t."""
    return 1 - place, place


def of_one(place: Floats) -> Sequence[Any]:
    """Where both have the same noise, with opposite signs."""
    return (np.ones_like(place),)


def of_three(place: Floats) -> Sequence[Any]:
    """The weights of the noise of A, B and C."""
    return 1 - place, 0.5 - place, place


def mean_between(
    above: Any,
    below: Any,
    law: NoiseLaw,
    miss: float,
    rounded: float,
    weights: Weights = of_two,
    sampling: Callable[[Floats], Any] | None = None,
) -> Ends:
    """The smallest and the largest place that pass, for each entry of U and V."""
    up, down = np.atleast_1d(np.asarray(above, dtype=np.float64)), np.atleast_1d(np.asarray(below, dtype=np.float64))
    everything = np.zeros_like(up), np.ones_like(up)
    if miss < SMALLEST_MISS:
        return everything

    def passes(place: Floats) -> Any:
        off = np.abs(up * (1 - place) - down * place) - rounded
        spread = 0.0 if sampling is None else sampling(place)
        return (off <= 0) | (law.beyond(off, weights(place), spread) >= miss)

    total = up + down
    middle = np.clip(np.where(total > 0, up / np.where(total > 0, total, 1.0), 0.5), 0.0, 1.0)
    is_in = passes(middle)
    least, most = np.where(is_in, middle, 2.0), np.where(is_in, middle, -1.0)
    # Far above the noise, U(1 − t) − V·t falls faster in t than its noise changes: what passes is one interval.
    step = 1.0
    if sampling is not None or np.any(total < _FAR_ABOVE * law.reach([1.0, 1.0], miss)):
        step = 1 / (_TRIED - 1)
        for places in np.array_split(np.linspace(0.0, 1.0, _TRIED)[:, None], min(_TRIED, 1 + up.size // _FEW)):
            is_in = passes(places)
            least = np.minimum(least, np.where(is_in, places, 2.0).min(axis=0))
            most = np.maximum(most, np.where(is_in, places, -1.0).max(axis=0))
    low, high = _last(passes, np.stack([least, most]), np.array([[-step], [step]]))
    is_none = least > 1
    if not is_none.any():
        return low, high
    # With no sum below 0 some place passes: 0 or 1 if one of them is 0, and else the quotient; unless the sums are so
    # large beside the noise that doubles cannot tell.
    upper, lower = np.maximum(up, 0.0), np.maximum(down, 0.0)
    is_again = np.array_equal(upper, up) and np.array_equal(lower, down)
    instead = everything if is_again else mean_between(upper, lower, law, miss, rounded, weights, sampling)
    return np.where(is_none, instead[0], low), np.where(is_none, instead[1], high)


def _last(passes: Callable[[Floats], Any], inside: Floats, step: Floats) -> Floats:
    """Where it stops passing, from a place that passes towards one that does not; rounded outwards."""
    near, far = np.clip(inside, 0.0, 1.0), np.clip(inside + step, 0.0, 1.0)
    ends = passes(far)
    near = np.where(ends, far, near)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        is_in = passes(middle)
        near, far = np.where(is_in, middle, near), np.where(is_in, far, middle)
    return np.asarray(np.clip(far + np.copysign(_OUTWARDS, step), 0.0, 1.0))


@dataclass(frozen=True)
class ThreeSums:
    """A, B and C with noise, for one group or many; `unit` is what one record brings to their sum."""

    parts: tuple[Any, Any, Any]
    unit: float
    law: NoiseLaw
    rounded: float

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        first, second, third = (np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in self.parts)
        return first, second, third

    @property
    def total(self) -> Floats:
        """N, at least that of one record."""
        return np.asarray(np.maximum(sum(self._parts), self.unit))

    @property
    def mean(self) -> Floats:
        """The mean of the places."""
        return np.asarray(np.clip(self._plain_mean, 0.0, 1.0))

    @property
    def _plain_mean(self) -> Floats:
        """t̂, which noise may place outside of 0 to 1: the parabola of the variance has its foot there."""
        first, second, _ = self._parts
        return np.asarray((first + second / 2) / self.total)

    @property
    def variance(self) -> Floats:
        """The variance of the places, between what they can have."""
        return np.asarray(np.clip(self._plain_variance, 0.0, self.mean * (1 - self.mean)))

    @property
    def _plain_variance(self) -> Floats:
        return np.asarray(self._parts[0] / self.total - self._plain_mean**2)

    def mean_between(self, miss: float, population: bool) -> Ends:
        """The interval of the mean."""
        first, second, third = self._parts
        unseen = unseen_records(miss) * self.unit
        sampling = (lambda place: np.hypot(self._sampling(place), unseen)) if population else None
        return mean_between(
            first + second / 2, third + second / 2, self.law, miss, self.rounded, of_three, sampling
        )  # fmt: skip

    def _sampling(self, place: Floats) -> Floats:
        """The standard deviation of what sampling adds to U(1 − t) − V·t: a root of Σ(w − t)²."""
        weights = (1 - place) ** 2, -place * (1 - place), place**2
        squares = sum(part * weight for part, weight in zip(self._parts, weights, strict=True))
        # One standard deviation of its own noise, so that it is rarely too small.
        noise = self.law.scale * np.sqrt((1 if self.law.is_normal else 2) * sum(weight**2 for weight in weights))
        return np.asarray(np.sqrt(np.maximum(squares + noise, 0.0) * self.unit))

    def variance_between(self, miss: float, population: bool) -> Ends:
        """The interval of the variance."""
        if miss < SMALLEST_MISS:
            return np.zeros_like(self.total), np.full_like(self.total, 0.25)
        places = self.mean_between(miss / 8, population)
        low, high = self._around(self._plain_variance, places, miss, population)
        if (low > high).any():
            instead = self._around(np.maximum(self._plain_variance, 0.0), places, miss, population)
            low, high = np.where(low > high, instead[0], low), np.where(low > high, instead[1], high)
        is_known = (self.total > self.unit) & (low <= high)
        return np.where(is_known, low, 0.0), np.where(is_known, high, 0.25)

    def _around(self, best: Floats, places: Ends, miss: float, population: bool) -> Ends:
        """The variances that differ from the best one by no more than noise, for the means that are possible."""
        total = self.total
        low, high = np.zeros_like(total), np.full_like(total, 0.25)
        off = np.maximum(np.abs(places[1] - self._plain_mean), np.abs(self._plain_mean - places[0]))
        for _ in range(_ROUNDS):
            # Whatever is known of v bounds the noise, and that bounds v: each round holds if the one before does.
            sampling = np.sqrt(fourth(places, high) * total * self.unit) if population else 0.0
            far = (self.law.reach(_of_variance(places, (low, high)), miss * 7 / 8, sampling) + self.rounded) / total
            low, high = np.maximum(best - far, low), np.minimum(best + far + off**2, high)
        return low, high


def _of_variance(places: Ends, variance: Ends) -> Sequence[Any]:
    """The largest weights of the noise of F(v, t), for the means t and variances v that are possible."""
    ways = [((1 - t) ** 2 - v, t**2 - v) for t in places for v in variance]
    nearest = np.clip(0.5, places[0], places[1])
    upper, lower = (np.max([np.abs(way[at]) for way in ways], axis=0) for at in (0, 1))
    return upper, nearest * (1 - nearest) + variance[1], lower


def unseen_records(miss: float) -> float:
    """The standard deviation, in records, whose normal interval has −ln(miss/2) of them to each side."""
    return float(np.log(miss / 2) / scipy.special.ndtri(miss / 2))


def fourth(places: Ends, variance: Any) -> Floats:
    """At most the variance of (w − t)², for w between 0 and 1: it is no more than v(d² − v), d the farthest from t."""
    farthest = np.maximum(places[1], 1 - places[0]) ** 2
    known = np.clip(variance, 0.0, farthest / 2)
    return np.asarray(known * (farthest - known))
