"""What must be known exactly for an answer, how much one neighbour can change it, and the noise that hides the change.

A neighbour changes at most `groups` groups and at most `rows` rows in each of them (`Neighbour`); the bounded table
sees to that. From there each need knows its sensitivity:

* a whole number moves by `most` in each of these groups: Δ₁ = groups · most, Δ₂² = groups · most²;
* a tally (a count for each of some public values) moves by `rows` in each of these groups, in one count or spread over
  several: Δ₁ = groups · rows, Δ₂² ≤ groups · rows²;
* the scores of a selection move by `rows` times their slope in each of these groups. A selection in one group spends
  ε/groups, so that those a neighbour touches spend ε together, and their privacy losses lie in an interval of
  width ε, as for one selection: that is what the event says.

Where a row is replaced, it leaves one group and enters another (`groups` = 2), or stays in its own:

* a whole number moves by `most` in each of the two, or in one by the `spread` between two contributions, each of which
  may be 0. As spread ≤ 2·most, Δ₁ = 2·most and Δ₂² = max(2·most², spread²). Where there is one group only
  (`is_in_place`), Δ₁ = spread and Δ₂² = spread²: a count moves by 1, and so does a sum of values from 0 to 1;
* several numbers of which none is negative and which add to `most` or less move by the difference of two such vectors:
  Δ₁ = 2·most, and as no product of their entries is negative, Δ₂² = 2·most², in one group as in two;
* counts of a tally move by 1 twice; the number of distinct values by 1 in each of two groups, or in one by 1 as the
  old value may disappear and the new one appear;
* a score moves by at most twice its slope, which two selections of ε/2 cover; where there is one group only, there is
  one selection of ε, whose scores move as those of arrays do (`estimators.quantile_search`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dither.adjacency import Adjacency
from dither.engine.groups import ROOM, Groups, Wholes, counted
from dither.errors import ParameterError
from dither.estimators.noise_tails import NoiseLaw
from dither.events import Event, GaussianNoise, LaplaceNoise
from dither.mechanisms.additive import Noising
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.selection import Exponential
from dither.tables import (
    BoundedTable,
    Centred,
    ExactAggregate,
    Expression,
    Lattice,
    Measure,
    Squares,
    Values,
    filtered,
)
from dither.tables.plain_columns import column_of_numbers
from dither.unit import Neighbour

__all__ = [
    "Added",
    "BothEnds",
    "Distinct",
    "Measured",
    "Need",
    "Noise",
    "SquaresOfEnds",
    "Tally",
    "Whole",
    "one_selection",
    "selection_epsilon",
    "turned",
]

_REMEMBERED = 1024
"""Kinds of noise that are kept: plans, searches for a price and releases make equal ones again and again."""
_SCALES = 64
_SELDOM = Fraction(1, 20)
_ROOT_BITS = 64


class Noise(ABC):
    """What turns exact numbers into a column of noisy ones. It knows its event before there are any."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event that describes it."""

    @abstractmethod
    def draw(self, exact: Any) -> pa.Array:
        """One entry for each group."""

    @property
    @abstractmethod
    def size(self) -> float:
        """How large it is, for comparing two kinds of noise for one need."""

    @property
    def has_interval(self) -> bool:
        """Whether an interval follows from the noise alone: it is added, not used to choose."""
        return False

    def reach(self, miss: Fraction) -> int:
        """The smallest bound on |noise| that one number passes with probability `miss` at most; 0 if none is added."""
        return 0

    @property
    def law(self) -> NoiseLaw | None:
        """The law of what is added to each number; None if nothing is."""
        return None

    def sized(self, unit: Fraction) -> tuple[str, float] | None:
        """Its law with what measures its size, and the size in this unit; None where nothing is added."""
        return None

    def selection_error(self, miss: Fraction) -> str:
        """How far what was chosen is from the best choice, in words, except with probability `miss`."""
        return ""


class Need(ABC):
    """Something that must be known of each group."""

    __slots__ = ()

    is_found: ClassVar[bool] = False
    """Whether values are found in the data, which costs δ."""

    @property
    def unit(self) -> Fraction | None:
        """What one step is in the unit of the column; None where noise is in counts, or is a choice."""
        return None

    @property
    def word(self) -> str:
        """What it is called beside other needs of one aggregate."""
        return ""

    @property
    def step(self) -> int:
        """By how much one row moves it at most."""
        return 1

    @abstractmethod
    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Noise:
        """Noise that costs ε."""

    @abstractmethod
    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Noise:
        """Noise that costs ρ of zero-concentrated privacy."""

    def approximate(self, neighbour: Neighbour, epsilon: Fraction, delta: Fraction) -> Noise:
        """Noise that costs (ε, δ): δ is for what is found in the data, and others leave it."""
        return self.pure(neighbour, epsilon)

    @abstractmethod
    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        """The question to the engine."""

    @abstractmethod
    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Any:
        """The engine's answer, in the order of the groups; what is of no group here is left out."""


@dataclass(frozen=True, slots=True)
class Added(Noise):
    """Noise added to whole numbers: one for each group, or `width` of them."""

    noising: Noising
    """The part of an additive mechanism that is for integers."""
    width: int = 0
    is_turned: bool = False
    """Whether the two numbers get noise on their difference and their sum."""

    @property
    def event(self) -> Event:
        """The event that describes the noise on whole numbers."""
        return self.noising.event

    @classmethod
    @lru_cache(maxsize=_REMEMBERED)
    def laplace(cls, sensitivity: int, epsilon: Fraction, adjacency: Adjacency, width: int = 0) -> Added:
        """Laplace noise on whole numbers of this ℓ₁ sensitivity."""
        return cls._of(Laplace(sensitivity=sensitivity, epsilon=epsilon, adjacency=adjacency), width)

    @classmethod
    @lru_cache(maxsize=_REMEMBERED)
    def gaussian(cls, square: int, moves: int, rho: Fraction, adjacency: Adjacency, width: int = 0) -> Added:
        """Gaussian noise on whole numbers of squared ℓ₂ sensitivity `square`, of which `moves` may move at once."""
        return cls._of(Gaussian(sensitivity_squared=square, rho=rho, dimension=moves, adjacency=adjacency), width)

    @classmethod
    def _of(cls, mechanism: Laplace | Gaussian, width: int) -> Added:
        """Both laws pass 64 scales with a probability below e^-63: then the answer is clipped, and still private."""
        noising = mechanism.for_integers
        assert noising is not None  # the sensitivity is a whole number
        made = cls(noising, width)
        if made._square * _SCALES**2 >= ROOM**2:
            raise ParameterError("noise for this price would pass 2^62. Pay more, or bound the contributions tighter.")
        return made

    def draw(self, exact: Wholes) -> pa.Array:
        """Clipping to ±2^62 before and after cannot raise the sensitivity, and keeps the sum inside 64 bits."""
        moved = turned(exact) if self.is_turned else exact
        noisy = np.clip(self.noising.add(np.clip(moved, -ROOM, ROOM)), -2 * ROOM, 2 * ROOM - 1)
        if self.is_turned:
            difference, total = np.clip(noisy, -ROOM, ROOM - 1).T
            noisy = np.stack([(total + difference) // 2, (total - difference) // 2], axis=1)
        flat = column_of_numbers(noisy.astype(np.int64, copy=False).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, self.width) if self.width else flat

    @property
    def size(self) -> float:
        return float(self.reach(_SELDOM))

    @property
    def has_interval(self) -> bool:
        return True

    def reach(self, miss: Fraction) -> int:
        return int(self.noising.reach(miss))

    @property
    def law(self) -> NoiseLaw:
        return NoiseLaw(math.sqrt(self._square), isinstance(self.event, GaussianNoise), self.is_turned)

    @property
    def _square(self) -> Fraction:
        """The square of the scale, or the variance."""
        event = self.event
        assert isinstance(event, LaplaceNoise | GaussianNoise)
        return event.scale**2 if isinstance(event, LaplaceNoise) else event.variance

    @property
    def variance(self) -> float:
        """Of one number: σ², or about 2b² for Laplace noise of scale b. For weights, not for bounds."""
        return float(self._square * (1 if self.law.is_normal else 2))

    def sized(self, unit: Fraction) -> tuple[str, float]:
        return self._kind, self.law.scale * float(unit)

    @property
    def _kind(self) -> str:
        return "Gaussian, sigma" if self.law.is_normal else "Laplace, scale"

    def __str__(self) -> str:
        return f"{self._kind} {self.law.scale:,.4g}"


class Measured(Need):
    """Whole numbers of each group that follow from measures of the bounded table; one question answers all of them."""

    __slots__ = ()

    @abstractmethod
    def measures(self, column: str) -> Mapping[str, Measure]:
        """What is asked, by the column in which it is answered."""

    @abstractmethod
    def exact(self, answers: Mapping[str, Wholes], column: str) -> Wholes:
        """The numbers that get noise, from these columns: one for each group, or a row of several."""

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.totals(self.measures("dither total"), salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Wholes:
        names, kept = self.measures("dither total"), list(batches)
        return self.exact({name: groups.vector(kept, name) for name in names}, "dither total")


@dataclass(frozen=True, slots=True, eq=False)
class Whole(Measured):
    """A measure of the bounded table."""

    measure: Measure

    def measures(self, column: str) -> Mapping[str, Measure]:
        return {column: self.measure}

    def exact(self, answers: Mapping[str, Wholes], column: str) -> Wholes:
        return answers[column]

    @property
    def unit(self) -> Fraction:
        return self.measure.unit

    @property
    def word(self) -> str:
        return self.measure.word

    @property
    def step(self) -> int:
        return self.measure.most(1)

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        rows, measure = neighbour.rows, self.measure
        moved = measure.between_two(rows) if neighbour.is_in_place else neighbour.groups * measure.most(rows)
        return Added.laplace(moved, epsilon, neighbour.adjacency)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        most, spread = self.measure.most(neighbour.rows), self.measure.between_two(neighbour.rows)
        apart, together = neighbour.groups * most**2, spread**2 if neighbour.replaces else 0
        square = together if neighbour.is_in_place else max(apart, together)
        return Added.gaussian(square, neighbour.touched, rho, neighbour.adjacency)


@dataclass(frozen=True, slots=True, eq=False)
class BothEnds(Measured):
    """U = Σq and V = Σ(K − q): how far the values are from either end of their lattice, K steps wide.

    A person moves U by 0 to K·rows and V by the rest of what K times their number of values is: K·rows in ℓ₁ for both
    together, which is the sensitivity of one sum, and their number needs no noise of its own. In ℓ₂ it is no more.

    **In place** a person's n values become m others, or none of either: U and V move by 2K·rows in ℓ₁, and so do U − V
    and U + V = K·(number of values), with the rows as the larger of n and m: the first by K(n + m) at most, and the
    second by K|n − m|. Noise on these gives a mean half of the variance, 2(1 + (2t − 1)²)/(nε)² ranges squared with t
    its place: each of U and V gets half of the noise of both, and at t = ½ the noise of their sum does not matter.
    """

    of: Expression
    lattice: Lattice

    @property
    def unit(self) -> Fraction:
        return self.lattice.step

    @property
    def word(self) -> str:
        return "distances from both ends"

    @property
    def step(self) -> int:
        return self.lattice.width

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        most = self.lattice.width * neighbour.rows
        if neighbour.is_in_place:
            return replace(Added.laplace(2 * most, epsilon, neighbour.adjacency, 2), is_turned=True)
        return Added.laplace(neighbour.groups * most, epsilon, neighbour.adjacency, 2)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        return _gaussian(self.lattice.width * neighbour.rows, 2, neighbour, rho)

    def measures(self, column: str) -> Mapping[str, Measure]:
        return {f"{column} count": Values(self.of), f"{column} sum": Centred(self.of, self.lattice)}

    def exact(self, answers: Mapping[str, Wholes], column: str) -> Wholes:
        all_steps, way = self.lattice.width * answers[f"{column} count"], answers[f"{column} sum"]
        return np.stack([(all_steps + way) // 2, (all_steps - way) // 2], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SquaresOfEnds(Measured):
    """A = Σq², B = Σ2q(K − q) and C = Σ(K − q)², four times each: they add to 4K² for each value.

    They follow from n, S = Σy and Y = Σy² of y = 2q − K: 4A = Y + 2KS + K²n, 4B = 2(K²n − Y), 4C = Y − 2KS + K²n. None
    is negative, so that a person moves them by 4K²·rows together. Where a person has too many rows, S and Y are those
    of their average, rounded down: S is off by less than 4 and Y by less than 2, so that 4A or 4C may be below 0 by
    less than 8K + 2, and the sum of magnitudes is above by less than twice that for each of the two.
    """

    of: Expression
    lattice: Lattice

    @property
    def unit(self) -> Fraction:
        return self.lattice.step**2 / 4

    @property
    def word(self) -> str:
        return "squares of distances from both ends"

    @property
    def step(self) -> int:
        return 4 * self.lattice.width**2

    def _most(self, neighbour: Neighbour) -> int:
        return self.step * neighbour.rows + 4 * (8 * self.lattice.width + 2)

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        return Added.laplace(neighbour.groups * self._most(neighbour), epsilon, neighbour.adjacency, 3)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        return _gaussian(self._most(neighbour), 3, neighbour, rho)

    def measures(self, column: str) -> Mapping[str, Measure]:
        return {
            f"{column} count": Values(self.of),
            f"{column} sum": Centred(self.of, self.lattice),
            f"{column} squares": Squares(self.of, self.lattice),
        }

    def exact(self, answers: Mapping[str, Wholes], column: str) -> Wholes:
        width = self.lattice.width
        count, way, centred = (answers[f"{column} {which}"] for which in ("count", "sum", "squares"))
        squares = (centred + width**2 * count) // 2
        ends, mixed = squares + width**2 * count, 2 * width * way
        return np.stack([ends + mixed, 2 * (width**2 * count - squares), ends - mixed], axis=1)


def _gaussian(most: int, width: int, neighbour: Neighbour, rho: Fraction) -> Added:
    """Noise for `width` numbers of each group that a person moves by `most` in ℓ₁ together, and so in ℓ₂."""
    square = neighbour.groups * most**2
    return Added.gaussian(square, width * neighbour.touched, rho, neighbour.adjacency, width)


@dataclass(frozen=True, slots=True, eq=False)
class Distinct(Need):
    """How many different values there are. A row makes at most one value appear or disappear; in place, one for one."""

    of: Expression

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        return Added.laplace(neighbour.touched * neighbour.rows, epsilon, neighbour.adjacency)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        square = neighbour.touched * neighbour.rows**2
        return Added.gaussian(square, neighbour.touched, rho, neighbour.adjacency)

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return table.distinct(self.of, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Wholes:
        return groups.vector(batches, "dither_distinct")


@dataclass(frozen=True, slots=True, eq=False)
class Tally(Need):
    """How many rows have each of some public `values`; rows with others are left out before rows are chosen."""

    of: Expression
    within: Expression
    """The condition that a row has one of the values."""
    values: pa.Array

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Noise:
        sensitivity = neighbour.groups * neighbour.rows
        return Added.laplace(sensitivity, epsilon, neighbour.adjacency, len(self.values))

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Noise:
        square = neighbour.groups * neighbour.rows**2
        moves = neighbour.groups * neighbour.rows
        return Added.gaussian(square, moves, rho, neighbour.adjacency, len(self.values))

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        rows = replace(table, rows=filtered(table.rows, self.within))
        return rows.tally(self.of, self.values, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Wholes:
        """A row for each group, a column for each value."""
        counts = np.zeros((len(groups), len(self.values)), dtype=np.int64)
        for places, batch in groups.found(batches):
            values = batch.column("dither_value")
            column = pc.index_in(values, value_set=self.values.cast(values.type)).fill_null(-1).to_numpy()
            known = column >= 0  # whatever an engine makes of a row
            counts[places[known], column[known]] = counted(batch.column("dither_rows"))[known]
        return counts


def selection_epsilon(rho: Fraction) -> Fraction:
    """The ε of an exponential mechanism that costs ρ: ε²/8 = ρ (Cesar and Rogers 2021, Lemma 3.4), rounded down."""
    return Fraction(math.isqrt((rho * 8 * (1 << 2 * _ROOT_BITS)).__floor__()), 1 << _ROOT_BITS)


def turned(pairs: Wholes) -> Wholes:
    """The differences and the sums of pairs of numbers: noise that `is_turned` is added to these."""
    first, second = pairs.T
    return np.stack([first - second, first + second], axis=1)


def one_selection(epsilon: Fraction, adjacency: Adjacency) -> Event:
    """The event of selections whose losses lie in an interval of width ε together."""
    return Exponential(sensitivity=1, epsilon=epsilon, adjacency=adjacency).event
