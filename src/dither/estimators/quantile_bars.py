"""Intervals for quantiles: how far the data reach around an answer, from one noisy histogram.

1. **Scale.** Among the distances σᵢ = 2^i·d around the released answer v one is chosen that holds about G rows. With
   Nᵢ rows within σᵢ of v, the score is −u(G − Nᵢ)₊ − o(Nᵢ₋₁ − G)₊ − n, u = 3 and o = 1. A row that is added moves the
   first term by 0 to 3, the second by −1 to 0 and the third by −1: Δ = 2. Where a row is replaced, every Nᵢ that
   changes moves in one direction and by 1: with u = o = 2 and without n, Δ = 2 again. Of several answers each row
   counts for the next one alone, and the choices together cost what one of them does (halves under replace-one, as
   for quantiles).
2. **Histogram.** Cells between the bounds and v ± σ·{0.2, 0.35, 0.5, 0.7, 1, 2, 4, 16, 256, 2^16, …}; the counts get
   Laplace noise: a row is in one cell.
3. **Walk.** For an edge e let T(e) be the noisy number of rows below e less q times the noisy number of all. From the
   lower bound the walk goes on to the next edge while T(e) < −z(e), where z(e) is what the noise of T(e) exceeds with
   probability `miss`/2; the last edge that passes is the lower end. The upper end is found from above, by T(e) > z(e).

*Claim.* The interval misses the q-quantile x of the data with probability `miss` or less, whatever the data are.

*Proof.* Let e be the lowest edge above x. At least qn rows lie below it, so T(e) is at least its noise, and the walk
passes e with probability `miss`/2 at most; if it does not, it ends at or below x. That the edges depend on v and σ is
no matter: the noise of the histogram is drawn after them. No edge but this one can cause a miss on its side, so that
there is no union bound (fixed-sequence testing). ∎

*The population's* quantile ξ: as many rows as a binomial count of probability q or more are at or below it, and all
of these are below every edge above ξ. So z² grows by that of the count: its normal quantile squared times q(1 − q)n̂,
and one row for the skewness and the steps of the binomial law. This is the one approximation; with nq(1 − q) ≥ 10 it
hardly matters.

z(e) comes from the law of the weighted sum of Laplace noise, by inversion of its characteristic function, and half a
row for noise on whole numbers. For one number that is enough by P[|X| ≥ k] = 2r^k/(1 + r) ≤ r^{k − ½}, which is what
continuous noise of the same scale has from k − ½ on. For weighted sums of several it is not proved but computed: with
noise of 0.05 to 10 rows on 2 to 30 cells no sum passes z(e) with more than `miss`/2 (a test convolves the exact laws).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.adjacency import Adjacency
from dither.estimators.base_measure import Base
from dither.estimators.order_statistic import RankedRows
from dither.estimators.records import Bounds, Floats, is_replace
from dither.exact.search import farthest
from dither.mechanisms.public_measure import Wholes
from dither.mechanisms.selection import Exponential

__all__ = ["ANSWER_SHARE", "HISTOGRAM_SHARE", "SCALE_SHARE", "QuantileBars", "Walk"]

ANSWER_SHARE, SCALE_SHARE, HISTOGRAM_SHARE = Fraction(40, 100), Fraction(18, 100), Fraction(42, 100)
"""Of ε, where an interval is asked for: chosen by simulation for the least width at full coverage."""
_LOST = 9
"""How many scales of the choice a distance loses that holds no row."""
_INNER = (0.2, 0.35, 0.5, 0.7, 1.0, 2.0)
_FINER = tuple(0.25 * 2 ** (j / 2) for j in range(17))
"""For a population: in steps of √2 up to 64, since sampling may reach farther than noise."""
_OUTER = 2.0
"""Then in steps that become their own square: few cells, as each one more adds its noise."""
_SPREAD_DIGITS = 36


@dataclass(frozen=True)
class QuantileBars:
    """What the intervals of one query are to hold, and how surely."""

    base: Base
    adjacency: Adjacency
    level: Fraction
    population: bool = False
    rows: int = 1
    """How many rows of a person count."""
    snapped: Callable[[Wholes], Wholes] = lambda places: places
    """Each place, or the next one below it at which rows can be told apart."""

    def scale_choice(self, epsilon: Fraction) -> Exponential:
        """The mechanism of the first step."""
        return Exponential(sensitivity=2 * self.rows, epsilon=epsilon, adjacency=self.adjacency)

    def cells(self, rows: RankedRows, answers: Mapping[Fraction, int], choice: Exponential) -> Wholes:
        """The edges of the histogram: places, from the first to the end."""
        base = self.base
        ordered = sorted(set(answers.values()))  # equal answers share one part, and one choice
        middles = [(a + b + 1) // 2 for a, b in itertools.pairwise(ordered)]
        parts = zip([base.first, *middles], [*middles, base.end], ordered, strict=True)
        edges = [base.first, base.end]
        for first, end, place in parts:
            if first < end:
                edges += [e for e in self._around(rows, place, (first, end), choice) if first < e < end]
        return np.unique(np.array(edges, dtype=np.int64))

    def _around(self, rows: RankedRows, place: int, between: tuple[int, int], choice: Exponential) -> Iterator[int]:
        distances = self._distances(place)
        chosen = int(choice.release(self._scores(rows, place, between, distances, choice)).value)
        sigma, value = float(distances[chosen]), self.base.axis.value(place)
        low, high = self.base.bounds
        factors = list(_FINER if self.population else _INNER)
        growth = _OUTER
        while sigma * factors[-1] < high - low:
            factors.append(factors[-1] * growth)
            growth **= 2
        for side in (-1, 1):
            ends = np.clip(value + side * sigma * np.array(factors), low, high)
            yield from self.snapped(self.base.axis.places(ends)).tolist()

    def _distances(self, place: int) -> Floats:
        """Powers of two, from what is no distance at all up to the width of the bounds."""
        axis, (low, high) = self.base.axis, self.base.bounds
        size = abs(axis.value(place))
        first = max(axis.least, math.frexp(size)[1] - _SPREAD_DIGITS) if size else axis.least
        found: Floats = np.ldexp(1.0, np.arange(first, max(math.frexp(high - low)[1], first + 1) + 1))
        return found

    def _scores(
        self, rows: RankedRows, place: int, between: tuple[int, int], distances: Floats, choice: Exponential
    ) -> Floats:
        """Of each distance; rows beyond `between` are another answer's."""
        axis, value = self.base.axis, self.base.axis.value(place)
        under, over = (2, 2) if is_replace(self.adjacency) else (3, 1)
        wanted = math.ceil(_LOST * choice.scale / under)
        low, high = self.base.bounds
        ends = [np.clip(value + side * distances, low, high) for side in (-1, 1)]
        begin, end = (np.clip(axis.places(each) + at, *between) for at, each in enumerate(ends))
        held = rows.below(end) - rows.below(begin)
        smaller = np.concatenate([[0], held[:-1]])
        total = 0 if is_replace(self.adjacency) else int(np.diff(rows.below(np.array(between)))[0])
        loss = under * np.maximum(wanted - held, 0) + over * np.maximum(smaller - wanted, 0) + total
        scores: Floats = -loss.astype(np.float64)
        return scores

    def counts(self, rows: RankedRows, edges: Wholes) -> list[int]:
        """Of each cell; the last one has what is left."""
        inner = rows.below(edges[1:-1])
        return [int(count) for count in np.diff(np.concatenate([[0], inner, [rows.total]]))]

    def walk(self, edges: Wholes, noisy: Wholes, scale: float) -> Walk:
        """The ends of any quantile, from released numbers alone."""
        return Walk(self, edges, noisy, scale)


@dataclass(frozen=True)
class Walk:
    """A noisy histogram, and how wide its noise is."""

    bars: QuantileBars
    edges: Wholes
    noisy: Wholes
    scale: float

    def ends(self, q: Fraction) -> Bounds:
        """Lower and upper end for one quantile."""
        p, d = q.numerator, q.denominator
        inner, axis = self.edges[1:-1], self.bars.base.axis
        below = np.cumsum(self.noisy)[:-1]
        total = int(self.noisy.sum())
        tested = np.array([(d * int(count) - p * total) / d for count in below])
        miss = float((1 - self.bars.level) / 2)
        reach = tails(len(inner) + 1, float(q), miss) * self.scale + 0.5
        if self.bars.population:
            sampling = float(scipy.special.ndtri(miss)) ** 2 * float(q * (1 - q)) * max(total, 1)
            reach = np.sqrt(reach**2 + sampling) + 1
        passed_low, passed_high = tested < -reach, tested[::-1] > reach[::-1]
        low, high = self.bars.base.bounds
        lower, upper = _passed(passed_low), _passed(passed_high)
        if lower:
            low = axis.value(int(inner[lower - 1]) - 1)
        if upper:
            high = axis.value(int(inner[len(inner) - upper]))
        bounds = self.bars.base.bounds
        return max(low, bounds[0]), min(high, bounds[1])


def _passed(tests: NDArray[np.bool_]) -> int:
    """How many pass before the first that does not."""
    return len(tests) if tests.all() else int(np.argmin(tests))


@lru_cache(maxsize=256)
def tails(cells: int, q: float, miss: float) -> Floats:
    """z of each edge between `cells` cells of noise of scale 1: P[(1 − q)·(sum below) − q·(sum above) > z] ≤ miss.

    P[X > z] = ½ − ∫₀^∞ sin(tz)/(πt)·φ(t) dt, with φ = (1 + (1 − q)²t²)^{−j}·(1 + q²t²)^{−(cells − j)} for j cells
    below.
    """
    return np.array([_tail(j, cells - j, q, miss) for j in range(1, cells)], dtype=np.float64)


def _tail(below: int, above: int, q: float, miss: float) -> float:
    parts = ((1 - q, below), (q, above))
    widest = max(width for width, number in parts if number)
    highest = 4 / widest
    while _phi(parts, np.array([highest]))[0] > _NEGLIGIBLE * miss and highest < _HIGHEST / widest:
        highest *= 1.25
    certain = min((_log_moment(parts, at / widest) - math.log(miss)) / (at / widest) for at in _TILTS)  # Chernoff
    if highest >= _HIGHEST / widest or miss < _LEAST_MISS:
        return certain
    t: Floats = (np.arange(_NODES) + np.float64(0.5)) * (highest / _NODES)
    density = _phi(parts, t) / t * (highest / _NODES / math.pi)
    z = farthest(lambda z: 0.5 - float(np.sum(np.sin(t * z) * density)) <= miss, certain, 0.0, _HALVINGS)
    return z * (1 + 2.0**-20)


def _phi(parts: _Parts, t: Floats) -> Floats:
    logs = [number * np.log1p((width * t) ** 2) for width, number in parts]
    found: Floats = np.exp(-np.sum(logs, axis=0))
    return found


def _log_moment(parts: _Parts, tilt: float) -> float:
    return -math.fsum(number * math.log1p(-((width * tilt) ** 2)) for width, number in parts if number)


_Parts = tuple[tuple[float, int], ...]
_NODES = 1 << 12
_HALVINGS = 25
_HIGHEST = 200.0
_NEGLIGIBLE = 1e-5
_LEAST_MISS = 1e-6
_TILTS: tuple[float, ...] = tuple(np.linspace(0.02, 0.98, 97).tolist())
