"""Quantiles and extremes of each group, from counts per bin: the estimators of arrays, on rows that are known by bins.

The engine counts rows per bin (`dither.tables.FloatBins`): each octave is cut into bins of equal width, or each whole
number is one, where the column has whole numbers by its type. A row is somewhere in its bin, as a record of an array
is somewhere next to its place; `dither.estimators.order_statistic` has the score and its sensitivity, `base` the base
measure, `quantile_search` the steps and `quantile_bars` the intervals.

*Sensitivity.* One row moves a score by its slope at most, so that `rows` rows move it by `rows` times that; and a
neighbour has rows in `groups` groups, each of which spends its part of ε. A row that is replaced where there is one
group only moves one score, as in an array: by d units where it stays, and where it comes or goes (as a NULL or by a
condition), by what a row that is added moves, which is no more. An extreme's score under replace-one, −2(2A − α)₊ −
2(2B − β)₊ without a shift, moves by 2(2 − s) or 2s then, and the loss of no answer by 4 at most: Δ = 4 again.

*Several quantiles* (Kaplan, Schnapp and Stemmer 2022). A neighbour's rows in a group are spread over the parts of a
level, and each of them moves the scores of one part by its slope at most, so that all parts of a level spend together
what one part that sees all of them would. The same holds for the parts of the rows around each answer in which the
scale of an interval is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.engine.group_sensitivity import Need, Noise, one_selection, selection_epsilon
from dither.engine.groups import Groups, Wholes, counted
from dither.estimators.axes import Doubles
from dither.estimators.base_measure import Base, bounded, stepped, unbounded
from dither.estimators.order_statistic import (
    EXTREME_DIGITS,
    EXTREME_SENSITIVITY,
    TABLE_DIGITS,
    RankedRows,
    chosen,
    extreme_target,
)
from dither.estimators.quantile_bars import ANSWER_SHARE, HISTOGRAM_SHARE, SCALE_SHARE, QuantileBars
from dither.estimators.quantile_search import QuantileSearch
from dither.estimators.records import Bounds
from dither.events import Composed, Event, Repeated
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.selection import Exponential
from dither.noise.tape import each
from dither.tables import BoundedTable, ExactAggregate, Expression, FloatBins
from dither.tables.plain_columns import column_of_numbers
from dither.unit import Neighbour

__all__ = ["Extreme", "RankNoise", "Ranks"]

_DIGITS: Final = 52
_WHOLE_DIGITS: Final = 20
"""Whole numbers below 2^20 have a bin each, and larger ones share them."""
_MOST_WHOLE: Final = 1 << _DIGITS


@dataclass(frozen=True, slots=True)
class Extreme:
    """As far out as privacy allows: a constant number of rows lie beyond."""

    largest: bool


@dataclass(frozen=True, slots=True, eq=False)
class Ranks(Need):
    """Where in its bounds a column has some of its rows below: `asked` are probabilities, or one extreme."""

    of: Expression
    bounds: Bounds | None
    asked: tuple[Fraction, ...] | Extreme
    interval_level: Fraction | None = None
    is_whole: bool = False
    """Whether the column has whole numbers, by its type: then answers are whole numbers too."""

    @property
    def base(self) -> Base:
        """Where answers can be, and what is likely."""
        if self.bounds is None:
            return unbounded()
        low, high = self.bounds
        first, last = math.ceil(low), math.floor(high)
        if self.is_whole and first < last and max(abs(first), abs(last)) <= _MOST_WHOLE:
            return stepped(Fraction(1), first, last)
        return bounded(self.bounds)

    @property
    def _room_digits(self) -> int:
        """log₂ of the places of a bin."""
        digits = EXTREME_DIGITS if isinstance(self.asked, Extreme) else TABLE_DIGITS
        return self.base.axis.room_digits(digits, self.base.end - self.base.first)

    @property
    def bins(self) -> FloatBins:
        """What the engine counts rows in."""
        low, high = self.base.bounds
        axis = self.base.axis
        if isinstance(axis, Doubles):
            return FloatBins(low, high, axis.flat, _DIGITS - self._room_digits)
        return FloatBins(low, high, _WHOLE_DIGITS, _WHOLE_DIGITS)

    def first_places(self, bins: Wholes) -> Wholes:
        """Where each bin begins; bin 0 has places to both sides of 0, and below it bins are mirror images."""
        axis, sizes = self.base.axis, self.bins.sizes
        forward, backward = axis.places(sizes(np.maximum(bins, 0))), axis.places(sizes(np.maximum(1 - bins, 0)))
        return np.clip(np.where(bins > 0, forward, 1 - backward), self.base.first, self.base.end - 1)

    def snapped(self, places: Wholes) -> Wholes:
        """The first place of the bin that each place is in."""
        return self.first_places(self.bins.numbers(self.base.axis.values(places)))

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> RankNoise:
        return RankNoise(self, neighbour, epsilon)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> RankNoise:
        return RankNoise(self, neighbour, selection_epsilon(rho))

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.bins(self.of, self.bins, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> list[RankedRows]:
        """The rows of each group."""
        if not len(groups):
            return []
        parts = [
            (places, counted(batch.column("dither_bin")), counted(batch.column("dither_rows")))
            for places, batch in groups.found(batches)
        ]
        places, bins, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        bins = np.clip(bins, *self.bins.numbers(np.array(self.base.bounds)))  # whatever an engine makes of a row
        order = np.lexsort((bins, places))
        cuts = np.searchsorted(places[order], np.arange(1, len(groups)))
        split = zip(np.split(bins[order], cuts), np.split(counts[order], cuts), strict=True)
        return [RankedRows.of_bins(self.first_places(own), self._ends(own), rows) for own, rows in split]

    def _ends(self, bins: Wholes) -> Wholes:
        """Behind the last place of each bin, also of the one that holds the upper bound."""
        last = self.bins.numbers(np.array([self.base.bounds[1]]))[0]
        return np.where(bins >= last, self.base.end, self.first_places(bins + 1))


@dataclass(frozen=True)
class RankNoise(Noise):
    """Selections of places in each group, for ε in all; with an interval also a noisy histogram in each."""

    need: Ranks
    neighbour: Neighbour
    epsilon: Fraction

    @property
    def _probabilities(self) -> tuple[Fraction, ...]:
        return () if isinstance(self.need.asked, Extreme) else self.need.asked

    @property
    def _for_answers(self) -> Fraction:
        return self.epsilon if self.need.interval_level is None else self.epsilon * ANSWER_SHARE

    @property
    def _adjacency(self) -> Adjacency:
        """A row that is replaced leaves one group and enters another, or counts twice: each part is for a half."""
        return ADD_REMOVE if self.neighbour.replaces else self.neighbour.adjacency

    @property
    def _of_answers(self) -> Adjacency:
        """In place it is replaced, and moves one selection of all."""
        return self.neighbour.adjacency if self.neighbour.is_in_place else self._adjacency

    @property
    def _search(self) -> QuantileSearch:
        return QuantileSearch(self.need.base, self._of_answers, self.neighbour.rows, self.neighbour.touched)

    @property
    def _bars(self) -> QuantileBars | None:
        level = self.need.interval_level
        if level is None:
            return None
        return QuantileBars(self.need.base, self._adjacency, level, rows=self.neighbour.rows, snapped=self.need.snapped)

    @property
    def _shares(self) -> list[Fraction]:
        """What each selection of answers spends in all groups."""
        if isinstance(self.need.asked, Extreme):
            return [self.epsilon]
        return [share for _, share in self._search.steps(self.need.asked, self._for_answers)]

    @property
    def event(self) -> Event:
        """A selection for each step; for an interval one more, and Laplace noise on a histogram."""
        adjacency, events = self.neighbour.adjacency, list[Event]()
        for share in dict.fromkeys(self._shares):
            one, times = one_selection(share, adjacency), self._shares.count(share)
            events.append(one if times == 1 else Repeated(one, times))
        if self.need.interval_level is not None:
            events.append(one_selection(self.epsilon * SCALE_SHARE, adjacency))
            events.append(self._laplace(self.neighbour.groups, adjacency).event_for([1]))
        return events[0] if len(events) == 1 else Composed(tuple(events))

    def _laplace(self, groups: int, adjacency: Adjacency) -> Laplace:
        """For the histograms of so many groups."""
        part = self.epsilon * HISTOGRAM_SHARE * groups / self.neighbour.groups
        return Laplace(sensitivity=groups * self.neighbour.rows, epsilon=part, adjacency=adjacency)

    def mechanism(self, slope: int, epsilon: Fraction) -> Exponential:
        """For one selection in one group, of all that ε pays in the groups a neighbour touches."""
        return Exponential(
            sensitivity=slope * self.neighbour.rows,
            epsilon=epsilon / self.neighbour.touched,
            adjacency=self._of_answers,
        )

    @property
    def width(self) -> int:
        """How many numbers an answer has: the places, then their lower and their upper ends."""
        places = max(1, len(self._probabilities))
        return places if self.need.interval_level is None else 3 * places

    def draw(self, exact: list[RankedRows]) -> pa.Array:
        """The answers of each group, in the order they were asked for."""
        flat = np.array([self._answers(rows) for rows in each(exact)], dtype=np.float64).ravel()
        return pa.FixedSizeListArray.from_arrays(column_of_numbers(flat), self.width)

    def _answers(self, rows: RankedRows) -> list[float]:
        base, asked = self.need.base, self.need.asked
        if isinstance(asked, Extreme):
            mechanism = self.mechanism(EXTREME_SENSITIVITY, self.epsilon)
            refuses = not base.is_bounded
            target = extreme_target(rows.total, mechanism, self._of_answers, largest=asked.largest, refuses=refuses)
            return [self._shown(chosen(rows, base, (base.first, base.end), target, mechanism).value)]
        found = self._search.run(rows, asked, self._for_answers)
        places = [self._shown(found[q]) for q in asked]
        ends = self._ends(rows, {q: place for q, place in found.items() if place is not None})
        if ends is None:
            return places
        return places + [ends.get(q, base.everything)[at] for at in (0, 1) for q in asked]

    def _shown(self, place: int | None) -> float:
        """NaN for no answer; without bounds whole columns are searched as others are, and rounded afterwards."""
        base = self.need.base
        if place is None or place == base.end:
            return math.nan
        value = base.axis.value(place)
        return float(round(value)) if self.need.is_whole and not base.is_bounded else value

    def _ends(self, rows: RankedRows, answers: dict[Fraction, int]) -> dict[Fraction, Bounds] | None:
        """Both ends of intervals that hold the quantiles with their level; None if they were not asked for."""
        bars = self._bars
        if bars is None or not answers:
            return None if bars is None else {}
        edges = bars.cells(rows, answers, bars.scale_choice(self.epsilon * SCALE_SHARE / self.neighbour.groups))
        laplace = self._laplace(1, self._adjacency)
        noisy = np.asarray(laplace.release(bars.counts(rows, edges)).value)
        walk = bars.walk(edges, noisy, float(laplace.scale))
        return {q: walk.ends(q) for q in answers}

    def rank_error(self, miss: Fraction) -> int:
        """How many rows an answer is off by at most, in rank, except with probability `miss`.

        The places of loss 0 have at least the mass of the lightest bin. Of several quantiles each lies in the parts of
        up to all levels, and is off by the sum of theirs.
        """
        shares = self._shares
        known = sum(share == shares[-1] for share in shares)
        scale = self.mechanism(1, shares[-1]).scale
        if known == 1 and self._probabilities and not self.neighbour.is_in_place:
            (q,) = set(self._probabilities)
            scale *= max(q, 1 - q)
        certainty = self.need.base.log_mass_ratio(self.need._room_digits) - math.log(miss / known) + 1e-9
        return known * math.ceil(scale * Fraction(certainty))

    @property
    def size(self) -> float:
        return 1 / float(self.epsilon)

    def selection_error(self, miss: Fraction) -> str:
        return f"±{self.rank_error(miss):,} rows in rank"

    def __str__(self) -> str:
        return f"exponential mechanism, epsilon {float(self.epsilon):.4g}"
