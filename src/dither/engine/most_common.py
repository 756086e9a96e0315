"""The most common values of each group: of public candidates, or found in the data.

**Candidates.** Each group counts its rows per candidate. There are two ways, and public numbers choose between them:

* One noisy histogram, and its largest counts. A neighbour moves all counts together by `groups · rows` at most
  (`Tally`), however many of them are taken: the noise does not grow with k, and the order is made of noisy numbers.
* k rounds of the exponential mechanism. A neighbour moves a count by `rows` at most, all counts of a group in one
  direction (unless a row is replaced), so that rounds of ε/(k·groups) each spend ε in all groups that the neighbour
  touches. In one round the losses of these groups lie in an interval of width ε/k together, which is what the event
  says. Its noise is k times that of the histogram for ε, and about √k times for ρ: one winner is chosen by it.

**Found.** Values that are not known beforehand are counted in people, and a pair of group and value is shown where
enough people have it (`Histogram` with discovered bins, the exact δ): a person is in groups · rows pairs at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa

from dither.engine.group_sensitivity import Added, Need, Noise, Tally, one_selection, selection_epsilon
from dither.engine.groups import Groups, Wholes, counted
from dither.errors import ParameterError
from dither.events import Event, Repeated
from dither.exact import rounded
from dither.mechanisms.histogram import Histogram
from dither.mechanisms.top_k import TopK
from dither.noise.tape import answered, each
from dither.tables import BoundedTable, ExactAggregate, Expression, People
from dither.tables.plain_columns import column_of_numbers, numbers_of
from dither.unit import Neighbour, Person

__all__ = ["Best", "BestNoise", "FoundNoise", "FoundValues", "LargestNoise"]

_THREE_SCALES = -math.log(-math.log(0.95))
"""Gumbel noise is above this, in its scale, with probability 1/20."""


@dataclass(frozen=True, slots=True, eq=False)
class Best(Tally):
    """The `number` most common of the public `values`."""

    number: int

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Noise:
        return self._better(Tally.pure(self, neighbour, epsilon), BestNoise(self, neighbour, epsilon))

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Noise:
        """A histogram of ρ, or k rounds of ρ/k each."""
        rounds = BestNoise(self, neighbour, self.number * selection_epsilon(rho / self.number))
        return self._better(Tally.concentrated(self, neighbour, rho), rounds)

    def _better(self, histogram: Noise, rounds: BestNoise) -> Noise:
        """The one with less noise: no data decides."""
        assert isinstance(histogram, Added)
        return rounds if rounds.size <= histogram.size else LargestNoise(self, histogram)


@dataclass(frozen=True)
class LargestNoise(Noise):
    """The largest of noisy counts: what is chosen follows from these, and costs nothing more."""

    need: Best
    counts: Added

    @property
    def event(self) -> Event:
        return self.counts.event

    def draw(self, exact: Wholes) -> pa.Array:
        """The winners of each group, best first; equal ones in the public order of the candidates."""
        drawn = self.counts.draw(exact)
        noisy = numbers_of(drawn.flatten()).reshape(len(drawn), len(self.need.values))
        winners = np.argsort(-noisy, axis=1, kind="stable")[:, : self.need.number].ravel()
        return pa.FixedSizeListArray.from_arrays(self.need.values.take(column_of_numbers(winners)), self.need.number)

    @property
    def size(self) -> float:
        return self.counts.size

    def selection_error(self, miss: Fraction) -> str:
        """Twice what no noise of the group passes, each candidate with an equal part of `miss`."""
        reach = self.counts.reach(miss / len(self.need.values))
        return f"{rounded(2 * reach, 4)} rows below the best"

    def __str__(self) -> str:
        return f"the largest of noisy counts, {self.counts}"


@dataclass(frozen=True)
class BestNoise(Noise):
    """k selections in each group."""

    need: Best
    neighbour: Neighbour
    epsilon: Fraction

    @property
    def event(self) -> Event:
        number = self.need.number
        one = one_selection(self.epsilon / number, self.neighbour.adjacency)
        return one if number == 1 else Repeated(one, number)

    @property
    def mechanism(self) -> TopK:
        """What chooses in one group."""
        return TopK(
            count=self.need.number,
            sensitivity=self.neighbour.rows,
            epsilon=self.epsilon / self.neighbour.touched,
            monotone=not self.neighbour.replaces,
            candidates=len(self.need.values),
        )

    def draw(self, exact: Wholes) -> pa.Array:
        """The winners of each group, best first."""
        mechanism = self.mechanism
        winners = np.array([mechanism.release(scores).value for scores in each(exact)], dtype=np.int64).ravel()
        return pa.FixedSizeListArray.from_arrays(self.need.values.take(pa.array(winners)), self.need.number)

    @property
    def size(self) -> float:
        """What Gumbel noise of one round passes as seldom as `Added.size`: about three scales."""
        moved = self.neighbour.rows * self.neighbour.touched * (2 if self.neighbour.replaces else 1)
        return _THREE_SCALES * self.need.number * moved / float(self.epsilon)

    def selection_error(self, miss: Fraction) -> str:
        return f"{rounded(self.mechanism.error(miss), 4)} rows below the best"

    def __str__(self) -> str:
        return f"exponential mechanism, epsilon {float(self.epsilon):.4g}"


@dataclass(frozen=True, slots=True, eq=False)
class FoundValues(Need):
    """The `number` most common values that enough people have."""

    is_found: ClassVar[bool] = True

    of: Expression
    number: int

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Noise:
        raise ParameterError("values that are found in the data cost delta.")

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Noise:
        return self.pure(neighbour, rho)

    def approximate(self, neighbour: Neighbour, epsilon: Fraction, delta: Fraction) -> FoundNoise:
        """Noise that costs (ε, δ)."""
        pairs = neighbour.groups * neighbour.rows // (2 if neighbour.replaces else 1)
        return FoundNoise(self, Histogram(epsilon=epsilon, delta=delta, max_bins=pairs, adjacency=neighbour.adjacency))

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        """People per group and value, of each person so many pairs as they may have rows in all."""
        unit = table.unit
        if isinstance(unit, Person):
            pairs = unit.stated("max_rows_per_group") * (unit.stated("max_groups") if table.keys else 1)
            unit = replace(unit, max_groups=pairs)
        keys = {**table.keys, "dither_value": self.of}
        return replace(table, unit=unit, keys=keys).totals({"dither_people": People()}, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> PeopleOfValues:
        """How many people have each value, in each group."""
        parts = [(places, batch) for places, batch in groups.found(batches)]
        batch = pa.concat_batches([each for _, each in parts])
        places = np.concatenate([each for each, _ in parts])
        known = np.flatnonzero(~np.asarray(batch.column("dither_value").is_null()))
        order = known[np.argsort(places[known], kind="stable")]
        cuts = np.searchsorted(places[order], np.arange(1, len(groups)))
        people = counted(batch.column("dither_people"))
        values = batch.column("dither_value")
        split = np.split(order, cuts)[: len(groups)]
        return PeopleOfValues(values.type, [(people[own], values.take(pa.array(own))) for own in split])


@dataclass(frozen=True)
class PeopleOfValues:
    """For each group, how many people have each of its values."""

    kind: pa.DataType
    groups: list[tuple[Wholes, pa.Array]]


@dataclass(frozen=True)
class FoundNoise(Noise):
    """A discovered histogram in each group."""

    need: FoundValues
    histogram: Histogram

    @property
    def event(self) -> Event:
        return self.histogram.event

    def draw(self, exact: PeopleOfValues) -> pa.Array:
        """At most `number` values of each group, by noisy count; fewer where few are common enough."""
        shown = answered(
            lambda: [self._shown(people, values) for people, values in exact.groups],
            "discovered",
            exact.groups,
            histogram=self.histogram,
        )
        best = [[value for _, value in group[: self.need.number]] for group in shown]
        return pa.array(best, type=pa.list_(exact.kind))

    def _shown(self, people: Wholes, values: pa.Array) -> list[tuple[int, object]]:
        """The noisy counts that reach the threshold and their values, the largest first."""
        threshold = self.histogram.threshold
        assert threshold is not None
        noisy = np.asarray(self.histogram.mechanism.release(people).value)
        enough = np.flatnonzero(noisy >= threshold)
        # Equal noisy counts by the values themselves: the order of the engine would show.
        pairs = sorted((-int(noisy[at]), values[at].as_py()) for at in enough)
        return [(-negative, value) for negative, value in pairs]

    @property
    def size(self) -> float:
        return float(self.histogram.threshold or 0)

    def __str__(self) -> str:
        return f"discovery, from {self.histogram.threshold} people on"
