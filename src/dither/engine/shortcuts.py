"""One number from all rows: `data.count(epsilon=0.1)`, without groups and without a name for the column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dither.engine import distribution_aggregates as distribution
from dither.engine import moment_aggregates as moments
from dither.engine.aggregate import Aggregate, Bounds
from dither.engine.price import NoiseKind, Terms
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
    def _all_rows(self, aggregate: Aggregate, terms: Terms) -> Single:
        """The answer to one aggregate without groups."""

    def count(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """How many rows there are."""
        return self._all_rows(moments.count(), Terms(epsilon, delta, rho, noise, weights, level, population, key))

    def count_people(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """How many persons there are."""
        return self._all_rows(
            moments.count_people(), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def count_distinct(
        self,
        of: str | Expression,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """How many different values a column has."""
        return self._all_rows(
            distribution.count_distinct(of), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def sum(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The sum of a column whose values are clamped to `bounds`."""
        return self._all_rows(
            moments.sum(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def mean(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The mean of a column whose values are clamped to `bounds`."""
        return self._all_rows(
            moments.mean(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def variance(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The variance of a column whose values are clamped to `bounds`."""
        return self._all_rows(
            moments.variance(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def std(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The standard deviation of a column whose values are clamped to `bounds`."""
        return self._all_rows(
            moments.std(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def median(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        interval_level: Number | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The middle of a column."""
        return self._all_rows(
            distribution.median(of, bounds, interval_level),
            Terms(epsilon, delta, rho, noise, weights, level, population, key),
        )

    def quantile(
        self,
        of: str | Expression,
        probability: Number | Sequence[Number],
        bounds: Bounds | None = None,
        interval_level: Number | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """Values below which given parts of the rows lie."""
        return self._all_rows(
            distribution.quantile(of, probability, bounds, interval_level),
            Terms(epsilon, delta, rho, noise, weights, level, population, key),
        )

    def min(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """A place near the bottom of a column."""
        return self._all_rows(
            distribution.min(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def max(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """A place near the top of a column."""
        return self._all_rows(
            distribution.max(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def histogram(
        self,
        of: str | Expression,
        edges: Sequence[Any],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """How many rows lie in each of the public bins."""
        return self._all_rows(
            distribution.histogram(of, edges), Terms(epsilon, delta, rho, noise, weights, level, population, key)
        )

    def top(
        self,
        of: str | Expression,
        number: int,
        candidates: Sequence[Any] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> Single:
        """The most common values of a column."""
        return self._all_rows(
            distribution.top(of, number, candidates),
            Terms(epsilon, delta, rho, noise, weights, level, population, key),
        )
