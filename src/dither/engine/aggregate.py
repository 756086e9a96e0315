"""What can be asked of each group: nouns that know which exact numbers they need and what to make of noisy ones.

Needs with the same key are one need: a mean and a variance of one column share its count, and two quantiles of one
column that are asked for in one list share their price.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.engine.group_statistics import Need, Whole
from dither.exact import Number
from dither.tables import SQUARE_BITS, Centred, Expression, Lattice, Measure, People, RowCount, Squares, Sum, Values

__all__ = ["PEOPLE", "Aggregate", "Answer", "Count", "Counting", "Mean", "Noisy", "OfColumn", "Total", "Variance"]

PEOPLE: Final = "people"
"""The key of the number of people, which decides what is shown where groups are found privately."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noisy:
    """One noisy need: its value per group, and the bound that |noise| keeps with the probability asked for."""

    value: Any
    reach: int = 0

    @property
    def low(self) -> Floats:
        """The smallest exact value that is plausible."""
        low: Floats = self.value.astype(np.float64) - self.reach
        return low

    @property
    def high(self) -> Floats:
        """The largest exact value that is plausible."""
        high: Floats = self.value.astype(np.float64) + self.reach
        return high


@dataclass(frozen=True, slots=True)
class Answer:
    """A value per group, and, where there is one, an interval that holds the exact value with the level asked for."""

    value: Any
    low: Any = None
    high: Any = None


class Aggregate(ABC):
    """One column of the answer."""

    __slots__ = ()

    @property
    @abstractmethod
    def needs(self) -> Mapping[str, Need]:
        """What must be known, by a key that equal needs share."""

    @abstractmethod
    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The value and its interval, from the noisy parts alone: post-processing, at no cost."""

    def supposed(self, rows: int) -> Mapping[str, float]:
        """Exact values of the needs in a group of so many rows, spread evenly over the bounds: for predictions."""
        return dict.fromkeys(self.needs, float(rows))

    @property
    def width(self) -> int:
        """How many values are held for each group."""
        return 1

    @property
    def depends_on_size(self) -> bool:
        """Whether the error is smaller in larger groups."""
        return False

    @property
    def is_count(self) -> bool:
        """Whether no exact value is negative or broken."""
        return False


class Counting(Aggregate):
    """A whole number that is its own answer."""

    __slots__ = ()

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value, noisy.value - noisy.reach, noisy.value + noisy.reach)

    @property
    def is_count(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Count(Counting):
    """How many rows, or people."""

    people: bool

    @property
    def needs(self) -> Mapping[str, Need]:
        return {PEOPLE: Whole(People())} if self.people else {"rows": Whole(RowCount())}

    def __str__(self) -> str:
        return "count_people()" if self.people else "count()"


@dataclass(frozen=True, slots=True, eq=False)
class OfColumn(Aggregate):
    """Something about the values of a column, clamped to bounds."""

    of: Expression
    bounds: tuple[Number, Number]

    @property
    def verb(self) -> str:
        """What it is called."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return f"{self.verb}({self.of}, bounds=({self.bounds[0]}, {self.bounds[1]}))"


@dataclass(frozen=True, slots=True, eq=False)
class Total(OfColumn):
    """The sum of the values."""

    @property
    def verb(self) -> str:
        return "sum"

    @property
    def needs(self) -> Mapping[str, Need]:
        return {f"sum of {self.of} on {self.lattice}": Whole(Sum(self.of, self.lattice))}

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.bounds, from_zero=True)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        step = float(self.lattice.step)
        return Answer(noisy.value * step, noisy.low * step, noisy.high * step)

    @property
    def is_count(self) -> bool:
        """Where no value is negative, no sum is."""
        return self.lattice.low >= 0


@dataclass(frozen=True, slots=True, eq=False)
class Mean(OfColumn):
    """The mean of the values."""

    @property
    def needs(self) -> Mapping[str, Need]:
        return _moments(self.of, self.lattice, squares=False)

    def supposed(self, rows: int) -> Mapping[str, float]:
        number, total = self.needs
        return {number: float(rows), total: 0.0}

    @property
    def depends_on_size(self) -> bool:
        return True

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.bounds, from_zero=False)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """low + step·(K + S/N)/2 from S = Σ (2q − K) and N; the interval is that of all plausible S and N."""
        number, total = parts.values()
        value, low, high = (_placed(self.lattice, way) for way in _ratio(total, number, self.lattice.width))
        return Answer(value, low, high)

    def sampling_error(self, parts: Mapping[str, Noisy], miss: float) -> Floats:
        """(high − low)·√(ln(2/miss)/2n) for the smallest plausible n (Hoeffding 1963, Theorem 2).

        And half a step, by which a value is rounded to its lattice.
        """
        number, _ = parts.values()
        width = float(self.lattice.width * self.lattice.step)
        spread = width * np.sqrt(math.log(2 / miss) / (2 * np.maximum(number.low, 1.0)))
        return spread * (1 + 1e-12) + float(self.lattice.step) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Variance(OfColumn):
    """The variance of the values, or its root."""

    root: bool = False

    @property
    def needs(self) -> Mapping[str, Need]:
        return _moments(self.of, self.lattice, squares=True)

    def supposed(self, rows: int) -> Mapping[str, float]:
        """Of values spread evenly the mean square of the way from the middle is K²/3."""
        number, total, squares = self.needs
        return {number: float(rows), total: 0.0, squares: -rows * self.lattice.width**2 / 3}

    @property
    def depends_on_size(self) -> bool:
        return True

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.bounds, SQUARE_BITS, from_zero=False)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """E[w²] − E[w]² of w = 2q − K, the way from the middle in half steps; never below 0."""
        number, total, squares = parts.values()
        width = self.lattice.width
        means, seconds = _ratio(total, number, width), _ratio(squares, number, width**2)
        second = [(each + width**2) / 2 for each in seconds]
        least = np.where((means[1] <= 0) & (means[2] >= 0), 0.0, np.minimum(means[1] ** 2, means[2] ** 2))
        most = np.maximum(means[1] ** 2, means[2] ** 2)
        unit = float(self.lattice.step / 2) ** 2
        ways = (second[0] - means[0] ** 2, second[1] - most, second[2] - least)
        value, low, high = (unit * np.clip(way, 0.0, width**2) for way in ways)
        return Answer(*map(np.sqrt, (value, low, high))) if self.root else Answer(value, low, high)

    @property
    def verb(self) -> str:
        return "std" if self.root else "variance"


def _moments(of: Expression, lattice: Lattice, *, squares: bool) -> dict[str, Need]:
    measures: dict[str, Measure] = {
        f"values of {of}": Values(of),
        f"centred {of} on {lattice}": Centred(of, lattice),
    }
    if squares:
        measures[f"squares of {of} on {lattice}"] = Squares(of, lattice)
    return {key: Whole(measure) for key, measure in measures.items()}


def _ratio(total: Noisy, number: Noisy, width: int) -> list[Floats]:
    """S/N and its plausible ends, between −width and width; N is at least 1 wherever a mean has a meaning."""
    least, most = np.maximum(number.low, 1.0), np.maximum(number.high, 1.0)
    value = total.value / np.maximum(number.value, 1.0)
    low = np.where(total.low < 0, total.low / least, total.low / most)
    high = np.where(total.high > 0, total.high / least, total.high / most)
    return [np.clip(way, -width, width) for way in (value, low, high)]


def _placed(lattice: Lattice, way: Floats) -> Floats:
    """A distance from the middle in half steps, as a value of the column."""
    step = float(lattice.step)
    return (lattice.low + (way + lattice.width) / 2) * step
