"""One number from all rows: `data.count(epsilon=0.1)`, without groups and without a name for the column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dither.engine import aggregate_functions
from dither.engine.aggregate import Aggregate
from dither.engine.aggregate_functions import Bounds
from dither.engine.table_release import TableRelease
from dither.errors import ParameterError
from dither.exact import Number
from dither.mechanisms.released import Interval, Release
from dither.tables import Expression

__all__ = ["Shortcuts", "Single"]

_NAME = "value"


@dataclass(frozen=True, slots=True, repr=False)
class Single(TableRelease):
    """A private answer about all rows: `value` is the number itself, or the list of numbers or names."""

    row: pa.Table = field(repr=False)
    """The same as a table of one row: `value`, and where there is an interval `value_low` and `value_high`."""

    @classmethod
    def from_table(cls, table: TableRelease) -> Single:
        """Of a table with one row and one aggregate."""
        carried = ("event", "guarantee", "mechanism", "parts", "plan", "entry", "noise_removed")
        fields = {name: getattr(table, name) for name in carried}
        return cls(_only(table.value.column(_NAME)), **fields, row=table.value)

    def to_arrow(self) -> pa.Table:
        """As an Arrow table of one row."""
        return self.row

    def interval(self, level: Number = 0.95) -> Interval:
        """Bounds that hold the exact answer with probability `level` or more over the noise, for each number."""
        low, high = TableRelease.interval(self, level)
        return _only(low.column(_NAME)), _only(high.column(_NAME))

    def non_negative(self) -> Single:
        """The same answer, raised to 0 if it is a count or a sum that cannot be negative."""
        return Single.from_table(TableRelease.of(self.parts, self.plan, self.entry).non_negative())

    def consistent(self, name: str, total: Release) -> TableRelease:
        """Refused: one number has nothing to add up."""
        raise ParameterError("the counts of groups are made consistent, and this is one number. Use group_by(...).")


def _only(column: Any) -> Any:
    (value,) = column.to_pylist()
    return value


class Shortcuts(ABC):
    """Questions about all rows. The price is given as for `release`: epsilon=..., with delta=..., or rho=..."""

    @abstractmethod
    def _all_rows(self, aggregate: Aggregate, price: dict[str, Any]) -> Single:
        """The answer to one aggregate without groups."""

    def count(self, **price: Any) -> Single:
        """How many rows there are."""
        return self._all_rows(aggregate_functions.count(), price)

    def count_people(self, **price: Any) -> Single:
        """How many persons there are."""
        return self._all_rows(aggregate_functions.count_people(), price)

    def count_distinct(self, of: str | Expression, **price: Any) -> Single:
        """How many different values a column has."""
        return self._all_rows(aggregate_functions.count_distinct(of), price)

    def sum(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """The sum of a column whose values are clamped to `bounds`."""
        return self._all_rows(aggregate_functions.sum(of, bounds), price)

    def mean(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """The mean of a column whose values are clamped to `bounds`."""
        return self._all_rows(aggregate_functions.mean(of, bounds), price)

    def variance(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """The variance of a column whose values are clamped to `bounds`."""
        return self._all_rows(aggregate_functions.variance(of, bounds), price)

    def std(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """The standard deviation of a column whose values are clamped to `bounds`."""
        return self._all_rows(aggregate_functions.std(of, bounds), price)

    def median(
        self, of: str | Expression, bounds: Bounds | None = None, interval_level: Number | None = None, **price: Any
    ) -> Single:
        """The middle of a column."""
        return self._all_rows(aggregate_functions.median(of, bounds, interval_level), price)

    def quantile(
        self,
        of: str | Expression,
        probability: Number | Sequence[Number],
        bounds: Bounds | None = None,
        interval_level: Number | None = None,
        **price: Any,
    ) -> Single:
        """Values below which given parts of the rows lie."""
        return self._all_rows(aggregate_functions.quantile(of, probability, bounds, interval_level), price)

    def min(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """A place near the bottom of a column."""
        return self._all_rows(aggregate_functions.min(of, bounds), price)

    def max(self, of: str | Expression, bounds: Bounds | None = None, **price: Any) -> Single:
        """A place near the top of a column."""
        return self._all_rows(aggregate_functions.max(of, bounds), price)

    def histogram(self, of: str | Expression, edges: Sequence[Any], **price: Any) -> Single:
        """How many rows lie in each of the public bins."""
        return self._all_rows(aggregate_functions.histogram(of, edges), price)

    def top(self, of: str | Expression, number: int, candidates: Sequence[Any] | None = None, **price: Any) -> Single:
        """The most common values of a column."""
        return self._all_rows(aggregate_functions.top(of, number, candidates), price)
