"""Exact whole numbers per group, and how much one person can move them.

A measure says what it is `of`, what each row brings (`row`, a whole number of 32 bits that is not negative, or NULL),
and how the rows of one person in one group are reduced to that person's `contribution`, whose magnitude never passes
`most`. Where each row is a person of its own, the reduction is of that one row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis

from dither.errors import ParameterError
from dither.tables.expression import Expression
from dither.tables.expression_compiler import between, clamped, number
from dither.tables.lattice import SQUARE_BITS, Lattice

__all__ = ["Centred", "Measure", "People", "Reduced", "RowCount", "Squares", "Sum", "Values"]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The rows of one person in one group: how many there are, how many have a value, and the sum of these."""

    rows: Any
    count: Any
    total: Any


class Measure(ABC):
    """One whole number per group."""

    __slots__ = ()

    of: Expression | None
    """The values that are measured; None if rows are only counted."""

    def row(self, value: Any) -> Any:
        """What a row with this value brings."""
        return number(value).notnull().ifelse(1, ibis.null("int64"))

    @property
    def unit(self) -> Fraction:
        """What 1 stands for, in the unit of the values."""
        return Fraction(1)

    @property
    def word(self) -> str:
        """What it is, for people."""
        return "count"

    @abstractmethod
    def contribution(self, person: Reduced, max_rows: int) -> Any:
        """What one person adds to one group."""

    @abstractmethod
    def most(self, max_rows: int) -> int:
        """The largest magnitude of a contribution."""

    def between_two(self, max_rows: int) -> int:
        """By how much two contributions differ at most; each may be 0, of nobody. Here none is negative."""
        return self.most(max_rows)


@dataclass(frozen=True, slots=True, eq=False)
class People(Measure):
    """How many persons the group has."""

    of: None = None

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        return ibis.literal(1, type="int64")

    def most(self, max_rows: int) -> int:
        return 1


@dataclass(frozen=True, slots=True, eq=False)
class RowCount(Measure):
    """How many rows, of each person at most `max_rows`."""

    of: None = None

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        return ibis.least(person.rows, max_rows)

    def most(self, max_rows: int) -> int:
        return max_rows


@dataclass(frozen=True, slots=True, eq=False)
class Values(Measure):
    """How many rows have a number, of each person at most `max_rows`."""

    of: Expression

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        return ibis.least(person.count, max_rows)

    def most(self, max_rows: int) -> int:
        return max_rows


@dataclass(frozen=True, slots=True, eq=False)
class _OnLattice(Measure):
    """A sum of values that are rounded to a lattice."""

    of: Expression
    lattice: Lattice

    def row(self, value: Any) -> Any:
        return self.lattice.steps(number(value))

    @property
    def word(self) -> str:
        return "sum"


@dataclass(frozen=True, slots=True, eq=False)
class Sum(_OnLattice):
    """The sum of the values in steps. Each person's sum is clipped to what `max_rows` rows could add up to."""

    @property
    def unit(self) -> Fraction:
        return self.lattice.step

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        low, high = min(self.lattice.low, 0), max(self.lattice.high, 0)
        # An engine that is not asked for the number of values does not count them.
        total = person.total + self.lattice.low * person.count if self.lattice.low else person.total
        return between(total, max_rows * low, max_rows * high)

    def real(self, steps: Any) -> Any:
        """The sum itself of rows that are given in steps, as a double; rounded, which is that person's alone."""
        above, values = steps.sum().cast("float64"), steps.count().cast("float64")
        return (above + float(self.lattice.low) * values) * float(self.lattice.step)

    def most(self, max_rows: int) -> int:
        return max_rows * self.lattice.magnitude

    def between_two(self, max_rows: int) -> int:
        return max_rows * (max(self.lattice.high, 0) - min(self.lattice.low, 0))


@dataclass(frozen=True, slots=True, eq=False)
class Centred(_OnLattice):
    """The sum of 2q − K, q the steps above the low end and K the width of the lattice: twice the way from the middle.

    A person with more than `max_rows` values counts as `max_rows` rows with that person's own average.
    """

    @property
    def unit(self) -> Fraction:
        return self.lattice.step / 2

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        return _centred(person, max_rows, self.lattice.width)

    def most(self, max_rows: int) -> int:
        return max_rows * self.lattice.width

    def between_two(self, max_rows: int) -> int:
        return 2 * self.most(max_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Squares(_OnLattice):
    """The sum of 2(2q − K)² − K²: squares of twice the way from the middle, centred in their turn."""

    def __post_init__(self) -> None:
        if not self.lattice.width <= 1 << SQUARE_BITS:
            raise ParameterError(f"squares need a lattice of at most {1 << SQUARE_BITS} steps: the bits of sums.")

    def row(self, value: Any) -> Any:
        way = 2 * self.lattice.steps(number(value)) - self.lattice.width
        return way * way

    @property
    def unit(self) -> Fraction:
        """Of the sum of the squares of the way from the middle: (step/2)², and once more a half."""
        return self.lattice.step**2 / 8

    @property
    def word(self) -> str:
        return "squares"

    def contribution(self, person: Reduced, max_rows: int) -> Any:
        return _centred(person, max_rows, self.lattice.width**2)

    def most(self, max_rows: int) -> int:
        return max_rows * self.lattice.width**2

    def between_two(self, max_rows: int) -> int:
        return 2 * self.most(max_rows)


def _centred(person: Reduced, max_rows: int, width: int) -> Any:
    """Σ (2v − width) over the rows, or over `max_rows` rows with the average v where there are more.

    The average is a quotient of doubles, which IEEE 754 fixes to the last bit on every engine.
    """
    average = person.total.cast("float64") / person.count.cast("float64").nullif(0.0)
    many = person.count > max_rows
    total = many.ifelse(clamped((average * max_rows).floor().cast("int64"), 0, max_rows * width), person.total)
    return 2 * total - width * many.ifelse(max_rows, person.count)
