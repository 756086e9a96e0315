"""Quantiles and extremes of each group, from counts per bin: the exponential mechanism with exact pieces (claim C12).

The bounds are cut into bins of equal width, and the engine counts rows per bin. A row is somewhere in its bin: for a
place y let A(y) be the number of rows in bins that begin after y and B(y) of those in bins that end at or before y.
The score of y is −min(T, max(0, d·A(y) − α, d·B(y) − β)) as in `dither.estimators.ranks`, with the target (d, α, β).

*Sensitivity.* One row moves a score by at most the slope max(p, d − p) for the p/d-quantile, by 1 for an extreme
(in ranks), whose target is a constant number of rows from the end. So `rows` rows move it by `rows` times that.

*Extremes.* With t rows to lie beyond, α = min(2t, n) and β = max(2n − 2t, n) for d = 2, or the other way round: at most
half of the rows lie beyond. One row more moves α by 0 or 1 and β by 1 or 2, so that 2A − α moves by −1 to 2 and 2B − β
by −2 to 1: 2 at most, 1 in ranks. In the empty space beyond all rows the loss is t ranks; it can have as many times the
width of one bin, in which many equal rows may be, as there are bins. So t is 12 scales, and the bins are fewer: 2^14.

*Several quantiles* (Kaplan, Schnapp and Stemmer 2022). The middle one is answered first and its answer cuts the rows
in two; each half answers its own. A neighbour's rows in a group are spread over the parts of a level, and each of
them moves the scores of one part by its slope at most, so that all parts of a level spend together what one part
that sees all of them would.

*Intervals.* With t public rows in the lowest bin, let the mechanism aim at rank qn of these n + t: α = (d − p)n + dt
and β = pn. The bin of the row of rank ⌈qn⌉ (or of the first) has loss 0, and at least 1/(2·bins) of the weight. Every
place wholly above the bin of the q-quantile x of the data has ⌈qn⌉ rows and t public ones below it: a loss of t ranks
or more. So such a place comes with probability at most 2·bins·e^{−t/b}, b the scale in ranks, and t = ⌈b·ln(2·bins/m)⌉
makes this m. (T is 64 scales, more than the logarithm.) Any other place less the width of a bin is at most x, up to
the rounding of x to its lattice. The upper end is the mirror image.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dither.adjacency import ADD_REMOVE
from dither.engine.group_statistics import Need, Noise, one_selection, selection_epsilon
from dither.engine.groups import Groups, Wholes, counted
from dither.estimators.ranks import Target, quantile_sensitivity, quantile_target
from dither.events import Composed, Event, Repeated
from dither.mechanisms import Exponential
from dither.noise.tape import each
from dither.tables import BoundedTable, ExactAggregate, Expression, Lattice
from dither.unit import Neighbour

__all__ = ["Extreme", "RankNoise", "Ranks"]

MOST_BINS: Final = 1 << 18
"""An answer is as fine as a 2^18-th part of the bounds."""
_MOST_BINS_OF_EXTREMES: Final = 1 << 14
_SCALES_BEYOND: Final = 12
_BARS_SHARE: Final = Fraction(2, 5)
_FAR: Final = 64
_EXACT: Final = 1 << 53
_MOST_SHIFT: Final = 10**7

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Binned:
    """Rows that are known by their bins: where these begin and end, in order, and how many rows each has."""

    starts: Floats
    ends: Floats
    counts: Wholes

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def within(self, low: float, high: float) -> Binned:
        """The rows of bins that begin from `low` on and before `high`; a bin that reaches further is cut there."""
        inside = (self.starts >= low) & (self.starts < high)
        ends = np.minimum(self.ends[inside], high)
        return Binned(self.starts[inside], ends, self.counts[inside])

    def with_rows_in(self, start: float, end: float, count: int) -> Binned:
        """And `count` rows in one more bin, which may be there already."""
        first = int(np.searchsorted(self.starts, start))
        starts, ends = np.insert(self.starts, first, start), np.insert(self.ends, first, end)
        return Binned(starts, ends, np.insert(self.counts, first, count))

    def place(self, low: float, high: float, target: Target, mechanism: Exponential) -> float:
        """A private place between `low` and `high`, by the score above; `low` if there is no room between."""
        if not high - low > (abs(low) + abs(high)) * 2.0**-50:
            return low
        edges = np.unique(np.clip(np.concatenate([[low, high], self.starts, self.ends]), low, high))
        begin = edges[:-1]
        summed = np.concatenate([[0], np.cumsum(self.counts)])
        cut = min(math.ceil(_FAR * mechanism.scale), _EXACT)
        after = summed[-1] - summed[np.searchsorted(self.starts, begin, side="right")]
        before = summed[np.searchsorted(self.ends, begin, side="right")]
        loss = np.maximum(target.units * after - target.above, target.units * before - target.below)
        scores = -np.clip(loss, 0, cut).astype(np.float64)
        return float(mechanism.release_interval(edges, scores).value)


@dataclass(frozen=True, slots=True)
class Extreme:
    """As far out as privacy allows: a constant number of rows lie beyond."""

    largest: bool

    def target(self, total: int, beyond: int) -> Target:
        """So many rows beyond, and half of them at most: see above."""
        few, many = min(2 * beyond, total), max(2 * (total - beyond), total)
        return Target(2, few, many) if self.largest else Target(2, many, few)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks(Need):
    """Where in its bounds a column has some of its rows below: `asked` are probabilities, or one extreme."""

    of: Expression
    lattice: Lattice
    asked: tuple[Fraction, ...] | Extreme
    interval_level: Fraction | None = None

    @property
    def bins(self) -> int:
        """Into how many the bounds are cut."""
        most = _MOST_BINS_OF_EXTREMES if isinstance(self.asked, Extreme) else MOST_BINS
        return min(most, self.lattice.width)

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> RankNoise:
        return RankNoise(self, neighbour, epsilon)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> RankNoise:
        return RankNoise(self, neighbour, selection_epsilon(rho))

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.bins(self.of, self.lattice, self.bins, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> list[Binned]:
        """The rows of each group."""
        if not len(groups):
            return []
        parts = [
            (places, counted(batch.column("dither_bin")), counted(batch.column("dither_rows")))
            for places, batch in groups.found(batches)
        ]
        places, bins, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((bins, places))
        cuts = np.searchsorted(places[order], np.arange(1, len(groups)))
        split = zip(np.split(bins[order], cuts), np.split(counts[order], cuts), strict=True)
        return [Binned(self.edge(own), self.edge(own + 1), rows) for own, rows in split]

    def edge(self, bins: Any) -> Any:
        """Where bins begin; the last one ends where one more would begin."""
        steps = np.minimum(bins * (self.lattice.width / self.bins), self.lattice.width)
        return (self.lattice.low + steps) * float(self.lattice.step)


@dataclass(frozen=True)
class RankNoise(Noise):
    """Selections of places in each group, for ε in all."""

    need: Ranks
    neighbour: Neighbour
    epsilon: Fraction

    @property
    def _for_bars(self) -> Fraction:
        return Fraction(0) if self.need.interval_level is None else self.epsilon * _BARS_SHARE

    @property
    def _probabilities(self) -> tuple[Fraction, ...]:
        return () if isinstance(self.need.asked, Extreme) else self.need.asked

    @property
    def _levels(self) -> int:
        """How often a row is asked about."""
        return max(1, len(set(self._probabilities)).bit_length())

    @property
    def event(self) -> Event:
        """A selection for each level, and two for each interval."""
        level = one_selection((self.epsilon - self._for_bars) / self._levels, self.neighbour.adjacency)
        events = [level if self._levels == 1 else Repeated(level, self._levels)]
        if self._for_bars:
            ends = 2 * len(set(self._probabilities))
            events.append(Repeated(one_selection(self._for_bars / ends, self.neighbour.adjacency), ends))
        return events[0] if len(events) == 1 else Composed(tuple(events))

    def mechanism(self, slope: int, epsilon: Fraction) -> Exponential:
        """For one selection in one group, of all that ε pays in the groups a neighbour touches."""
        # A row that is replaced leaves one group and enters another, or counts twice: each selection is for a half.
        adjacency = ADD_REMOVE if self.neighbour.replaces else self.neighbour.adjacency
        return Exponential(
            sensitivity=slope * self.neighbour.rows, epsilon=epsilon / self.neighbour.groups, adjacency=adjacency
        )

    @property
    def width(self) -> int:
        """How many numbers an answer has: the places, then their lower and their upper ends."""
        places = max(1, len(self._probabilities))
        return places if self.need.interval_level is None else 3 * places

    def draw(self, exact: list[Binned]) -> pa.Array:
        """The answers of each group, in the order they were asked for."""
        flat = np.array([self._answers(rows) for rows in each(exact)], dtype=np.float64).ravel()
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), self.width)

    def _answers(self, rows: Binned) -> list[float]:
        low, high = self._bounds
        if isinstance(self.need.asked, Extreme):
            mechanism = self.mechanism(2, self.epsilon)
            target = self.need.asked.target(rows.total, math.ceil(_SCALES_BEYOND * mechanism.scale / 2))
            return [rows.place(low, high, target, mechanism)]
        answers = self._level(rows, sorted(set(self.need.asked)), (Fraction(0), Fraction(1)), (low, high))
        places = [answers[q] for q in self.need.asked]
        if self.need.interval_level is None:
            return places
        ends = {q: self._ends(rows, q) for q in answers}
        return places + [ends[q][0] for q in self.need.asked] + [ends[q][1] for q in self.need.asked]

    @property
    def _bounds(self) -> tuple[float, float]:
        return float(self.need.edge(0)), float(self.need.edge(self.need.bins))

    def _level(
        self, rows: Binned, asked: list[Fraction], between: tuple[Fraction, Fraction], bounds: tuple[float, float]
    ) -> dict[Fraction, float]:
        """The middle probability, then those below and above it in their own parts of the rows."""
        if not asked:
            return {}
        middle = asked[len(asked) // 2]
        first, last = between
        inside = _short((middle - first) / (last - first))
        mechanism = self.mechanism(
            quantile_sensitivity(inside, ADD_REMOVE), (self.epsilon - self._for_bars) / self._levels
        )
        place = rows.place(*bounds, quantile_target(inside, rows.total), mechanism)
        low, high = bounds
        below = self._level(rows.within(low, place), [q for q in asked if q < middle], (first, middle), (low, place))
        above = self._level(
            rows.within(place, math.inf), [q for q in asked if q > middle], (middle, last), (place, high)
        )
        return {**below, middle: place, **above}

    def _ends(self, rows: Binned, q: Fraction) -> tuple[float, float]:
        """Both ends of an interval that holds the q-quantile with its level."""
        level = self.need.interval_level
        assert level is not None
        each = self._for_bars / (2 * len(set(self._probabilities)))
        mechanism = self.mechanism(quantile_sensitivity(q, ADD_REMOVE), each)
        low, high = self._bounds
        p, d, total = q.numerator, q.denominator, rows.total
        certainty = Fraction(math.log(2 * self.need.bins) - math.log((1 - level) / 2) + 1e-9)
        shift = math.ceil(mechanism.scale / d * certainty)
        if shift > _MOST_SHIFT:
            return low, high
        lower, upper = (
            Target(d, (d - p) * total + d * shift, p * total),
            Target(d, (d - p) * total, p * total + d * shift),
        )
        first = rows.with_rows_in(low, float(self.need.edge(1)), shift).place(low, high, lower, mechanism)
        last = rows.with_rows_in(float(self.need.edge(self.need.bins - 1)), high, shift).place(
            low, high, upper, mechanism
        )
        outwards = (high - low) / self.need.bins * (1 + 2.0**-20) + float(self.need.lattice.step)
        return max(low, first - outwards), min(high, last + outwards)

    def rank_error(self, miss: Fraction) -> int:
        """How many rows an answer is off by at most, in rank, except with probability `miss`; as for intervals.

        Of several quantiles each lies in the parts of up to all levels, and is off by the sum of theirs.
        """
        each, levels = miss / self._levels, self._levels
        asked = self._probabilities or (Fraction(1, 1),)
        # The steepest slope of a part that was cut to a millionth, and of all that are asked for, in ranks: 1 at most.
        scale = self.mechanism(1, (self.epsilon - self._for_bars) / levels).scale
        if levels == 1 and self._probabilities:
            (q,) = set(asked)
            scale *= Fraction(quantile_sensitivity(q, ADD_REMOVE), q.denominator)
        return levels * math.ceil(scale * Fraction(math.log(2 * self.need.bins) - math.log(each) + 1e-9))

    @property
    def size(self) -> float:
        return 1 / float(self.epsilon)

    def selection_error(self, miss: Fraction) -> str:
        return f"±{self.rank_error(miss):,} rows in rank"

    def __str__(self) -> str:
        return f"exponential mechanism, epsilon {float(self.epsilon):.4g}"


def _short(probability: Fraction) -> Fraction:
    """Rounded to a millionth, it still is a target like any other."""
    least = Fraction(1, 10**6)
    return min(max(probability.limit_denominator(10**6), least), 1 - least)
