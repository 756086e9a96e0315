"""What can be asked of each group: nouns that know which exact numbers they need and what to make of noisy ones.

An aggregate is a function of a few `parts`, each a whole number per group that gets noise of its own. Parts with the
same key are one part: a mean and a variance of one column share its count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import Number
from dither.tables import (
    SQUARE_BITS,
    Centred,
    Column,
    Expression,
    Lattice,
    Measure,
    People,
    RowCount,
    Squares,
    Sum,
    Values,
)

__all__ = ["Aggregate", "Noisy", "count", "count_people", "mean", "std", "sum", "variance"]

Floats = NDArray[np.float64]
Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Noisy:
    """One noisy part: its value per group, and the bound that |noise| keeps with the probability asked for."""

    value: Numbers
    reach: float

    @property
    def low(self) -> Floats:
        """The smallest exact value that is plausible."""
        return self.value.astype(np.float64) - self.reach

    @property
    def high(self) -> Floats:
        """The largest exact value that is plausible."""
        return self.value.astype(np.float64) + self.reach


@dataclass(frozen=True, slots=True)
class Answer:
    """A value per group, and an interval that holds the exact value with the probability asked for."""

    value: Numbers
    low: Numbers
    high: Numbers


class Aggregate(ABC):
    """One column of the answer."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Measure]:
        """The exact numbers it needs, by a key that equal numbers share."""

    @abstractmethod
    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The value and its interval, from the noisy parts alone: post-processing, at no cost."""


@dataclass(frozen=True, slots=True)
class _Count(Aggregate):
    people: bool

    @property
    def parts(self) -> Mapping[str, Measure]:
        return {"people": People()} if self.people else {"rows": RowCount()}

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        reach = int(np.ceil(noisy.reach))
        return Answer(noisy.value, noisy.value - reach, noisy.value + reach)

    def __str__(self) -> str:
        return "count_people()" if self.people else "count()"


@dataclass(frozen=True, slots=True, eq=False)
class _OfColumn(Aggregate):
    of: Expression
    bounds: tuple[Number, Number]

    def __str__(self) -> str:
        return f"{type(self).__name__.strip('_').lower()}({self.of}, bounds=({self.bounds[0]}, {self.bounds[1]}))"


@dataclass(frozen=True, slots=True, eq=False)
class _Sum(_OfColumn):
    @property
    def parts(self) -> Mapping[str, Measure]:
        lattice = self._lattice
        return {f"sum of {self.of} on {lattice}": Sum(self.of, lattice)}

    @property
    def _lattice(self) -> Lattice:
        return Lattice.within(self.bounds, from_zero=True)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        step = float(self._lattice.step)
        return Answer(noisy.value * step, noisy.low * step, noisy.high * step)


@dataclass(frozen=True, slots=True, eq=False)
class _Mean(_OfColumn):
    @property
    def parts(self) -> Mapping[str, Measure]:
        return _moments(self.of, self._lattice, squares=False)

    @property
    def _lattice(self) -> Lattice:
        return Lattice.within(self.bounds, from_zero=False)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """low + step·(K + S/N)/2 from S = Σ (2q − K) and N; the interval is that of all plausible S and N."""
        number, total = parts.values()
        value, low, high = (_placed(self._lattice, way) for way in _ratio(total, number, self._lattice.width))
        return Answer(value, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class _Variance(_OfColumn):
    root: bool = False

    @property
    def parts(self) -> Mapping[str, Measure]:
        return _moments(self.of, self._lattice, squares=True)

    @property
    def _lattice(self) -> Lattice:
        return Lattice.within(self.bounds, SQUARE_BITS, from_zero=False)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """E[w²] − E[w]² of w = 2q − K, the way from the middle in half steps; never below 0."""
        number, total, squares = parts.values()
        width = self._lattice.width
        means, seconds = _ratio(total, number, width), _ratio(squares, number, width**2)
        second = [(each + width**2) / 2 for each in seconds]
        least = np.where((means[1] <= 0) & (means[2] >= 0), 0.0, np.minimum(means[1] ** 2, means[2] ** 2))
        most = np.maximum(means[1] ** 2, means[2] ** 2)
        unit = float(self._lattice.step / 2) ** 2
        ways = (second[0] - means[0] ** 2, second[1] - most, second[2] - least)
        value, low, high = (unit * np.clip(way, 0.0, width**2) for way in ways)
        return Answer(*map(np.sqrt, (value, low, high))) if self.root else Answer(value, low, high)

    def __str__(self) -> str:
        return f"{'std' if self.root else 'variance'}({self.of}, bounds=({self.bounds[0]}, {self.bounds[1]}))"


def _moments(of: Expression, lattice: Lattice, *, squares: bool) -> dict[str, Measure]:
    parts: dict[str, Measure] = {
        f"values of {of}": Values(of),
        f"centred {of} on {lattice}": Centred(of, lattice),
    }
    return parts | {f"squares of {of} on {lattice}": Squares(of, lattice)} if squares else parts


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


def count() -> Aggregate:
    """How many rows each group has."""
    return _Count(people=False)


def count_people() -> Aggregate:
    """How many persons each group has; rows, if each row is protected by itself."""
    return _Count(people=True)


def sum(of: str | Expression, bounds: tuple[Number, Number]) -> Aggregate:
    """The sum of a column whose values are clamped to `bounds`; a person's sum to what their rows could add up to."""
    return _Sum(_expression(of), bounds)


def mean(of: str | Expression, bounds: tuple[Number, Number]) -> Aggregate:
    """The mean of a column whose values are clamped to `bounds`; missing values are left out."""
    return _Mean(_expression(of), bounds)


def variance(of: str | Expression, bounds: tuple[Number, Number]) -> Aggregate:
    """The variance (of the rows there are, divided by n) of a column whose values are clamped to `bounds`."""
    return _Variance(_expression(of), bounds)


def std(of: str | Expression, bounds: tuple[Number, Number]) -> Aggregate:
    """The standard deviation: the root of `variance`."""
    return _Variance(_expression(of), bounds, root=True)


def _expression(of: str | Expression) -> Expression:
    if isinstance(of, Expression):
        return of
    if isinstance(of, str):
        return Column(of)
    raise ParameterError(f"an aggregate is of a column name or an expression, got the type {type(of).__name__}.")
