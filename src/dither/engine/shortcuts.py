"""One number from all rows: `data.count(epsilon=0.1)`, without groups and without a name for the column."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, Final, Generic, TypeVar

import pyarrow as pa

from dither.engine import distribution_aggregates as distribution
from dither.engine import moment_aggregates as moments
from dither.engine import ratio_aggregate as ratios
from dither.engine.aggregate import AGGREGATES, Aggregate, Bounds
from dither.engine.price import NoiseKind, Terms, priced
from dither.engine.table_release import TableRelease
from dither.engine.tidy_rows import tidied
from dither.errors import ParameterError
from dither.exact import Number
from dither.mechanisms.no_answer import TOO_FEW_ROWS, NoAnswer
from dither.mechanisms.released import Interval, Release
from dither.tables import Expression

__all__ = ["Shortcuts", "Single"]

_NAME = "value"
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Answer = TypeVar("_Answer")
"""What a shortcut gives: a release of this process, or one from a service."""

_HELP: Final = """{summary}

It releases one aggregate of all rows, without groups; `dp.{name}` describes the aggregate.

Parameters
----------
{parameters}

Returns
-------
Single
    The answer in `.value`, bounds in `.interval(0.95)` where it has them, the cost in `.guarantee`.

Raises
------
ParameterError
    If the price is not given in one of these ways, a column does not fit, or the query has groups.
OverBudget
    If less is left of the budget; nothing is charged.

Examples
--------
>>> import dither as dp
>>> import pyarrow as pa
>>> visits = pa.table({{"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500}})
>>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
{example}
"""


@dataclass(frozen=True, slots=True, repr=False)
class Single(TableRelease):
    """A private answer about all rows: `value` is the number itself, or the list of numbers or names.

    `data.count(epsilon=0.1)` and the other shortcuts return it; it is not built by hand. It may be published.

    Parameters
    ----------
    value : Any
        The noisy answer.
    event : Event
        What was done, in exact numbers.
    guarantee : PureDP, ApproxDP or ZCDP
        What was charged.
    mechanism : Any
        The noise of the first part.
    parts : pyarrow.Table
        The noisy numbers of which the answer is made.
    plan : Plan
        The plan that was carried out.
    entry : Entry
        The charge in the ledger.
    row : pyarrow.Table
        The answer as a table of one row: `value`, and where there is an interval `value_low` and `value_high`.
    noise_removed : bool
        Whether this is an exact answer, made in a test by `dither.testing`: then it is not private.
    """

    row: pa.Table = field(repr=False)

    @classmethod
    def from_table(cls, table: TableRelease) -> Single:
        """Take the answer out of a table with one row and one aggregate.

        Parameters
        ----------
        table : TableRelease
            The table.

        Returns
        -------
        Single
            The same release.
        """
        carried = ("event", "guarantee", "mechanism", "parts", "plan", "entry", "noise_removed")
        fields = {name: getattr(table, name) for name in carried}
        return cls(_only(table.value.column(_NAME)), **fields, row=table.value)

    def to_arrow(self) -> pa.Table:
        """Convert to an Arrow table of one row.

        Returns
        -------
        pyarrow.Table
            The columns `value`, `value_low` and `value_high`; the last two where there is an interval.
        """
        return self.row

    def tidy(self) -> pa.Table:
        """Convert to an Arrow table without lists: a row for each number of the answer.

        Returns
        -------
        pyarrow.Table
            As `TableRelease.tidy`, of the column `value`.
        """
        return tidied(self.row, self.plan.aggregates)

    def interval(self, level: Number = 0.95) -> Interval:
        """Compute bounds that contain the exact answer with probability `level` or more over the noise.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple
            Lower and upper bound: two numbers, or two lists.

        Raises
        ------
        ParameterError
            If the answer has no interval, as a selected value has none unless `interval_level` was given.
        """
        low, high = TableRelease.interval(self, level)
        return _only(low.column(_NAME)), _only(high.column(_NAME))

    def non_negative(self) -> Single:
        """Raise a count or a sum that cannot be negative to 0; this costs nothing.

        Returns
        -------
        Single
            The same release with another value.
        """
        return Single.from_table(TableRelease.of(self.parts, self.plan, self.entry).non_negative())

    def consistent(self, name: str, total: Release) -> TableRelease:
        """Raise `ParameterError`: one number has no groups that could add up.

        Parameters
        ----------
        name : str
            The name of a column.
        total : Release
            A count of all rows.

        Returns
        -------
        TableRelease
            Never.
        """
        raise ParameterError("the counts of groups are made consistent, and this is one number. Use group_by(...).")


def _only(column: Any) -> Any:
    (value,) = column.to_pylist()
    return NoAnswer(TOO_FEW_ROWS) if value is None else value


def _shortcut(function: _Function) -> _Function:
    """Write the help of a shortcut: its own summary and example, the parameters of its aggregate, and the price."""
    if function.__doc__ is not None:  # there are none under python -OO
        summary, _, example = cleandoc(function.__doc__).partition("\n\n")
        described = cleandoc(AGGREGATES[function.__name__].__doc__ or "")
        own = re.search(r"^Parameters\n-+\n(.*?\n)\n", described, re.DOTALL | re.MULTILINE)
        parameters = (own[1] if own else "") + "{price}"
        filled = _HELP.format(name=function.__name__, summary=summary, parameters=parameters, example=example)
        function.__doc__ = priced(filled, function)
    return function


class Shortcuts(ABC, Generic[_Answer]):
    """Questions about all rows, answered by one number or list; the price is given as for `release`."""

    @abstractmethod
    def _all_rows(self, aggregate: Aggregate, terms: Terms) -> _Answer:
        """Answer one aggregate without groups."""

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Count the rows.

        >>> isinstance(data.count(epsilon=0.5).value, int)
        True
        """
        return self._all_rows(
            moments.count(), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Count the people; the rows, if the privacy unit is `dp.Rows()`.

        >>> isinstance(data.count_people(epsilon=0.5).value, int)
        True
        """
        return self._all_rows(
            moments.count_people(), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Count the different values of a column.

        >>> isinstance(data.count_distinct("city", epsilon=0.5).value, int)
        True
        """
        return self._all_rows(
            distribution.count_distinct(of),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
    def sum(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        clip: bool = False,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Sum up a column, with values clamped to `bounds`.

        >>> release = data.sum("spend", bounds=(0, 200), epsilon=0.5)
        >>> low, high = release.interval(0.95)
        >>> low < release.value < high
        True
        """
        return self._all_rows(
            moments.sum(of, bounds, clip), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
    def mean(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        clip: bool = False,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Average a column, with values clamped to `bounds`.

        >>> release = data.mean("spend", bounds=(0, 200), epsilon=0.5)
        >>> low, high = release.interval(0.95)
        >>> low < release.value < high
        True
        """
        return self._all_rows(
            moments.mean(of, bounds, clip), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
    def share(
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Compute the share of rows for which a condition holds.

        >>> release = data.share(dp.col("spend") > 30, epsilon=0.5)
        >>> low, high = release.interval(0.95)
        >>> 0 <= low < release.value < high <= 1
        True
        """
        return self._all_rows(
            moments.share(of), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
    def ratio(
        self,
        of: str | Expression,
        to: str | Expression,
        bounds: Bounds,
        to_bounds: Bounds,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Divide the sum of one column by the sum of another.

        >>> release = data.ratio("spend", dp.col("spend") * 2, bounds=(0, 200), to_bounds=(0, 400), epsilon=0.5)
        >>> low, high = release.interval(0.95)
        >>> 0 < low < release.value < high < 1
        True
        """
        return self._all_rows(
            ratios.ratio(of, to, bounds, to_bounds),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
    def variance(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        clip: bool = False,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Compute the variance of a column, with values clamped to `bounds`.

        >>> data.variance("spend", bounds=(0, 200), epsilon=0.5).value >= 0
        True
        """
        return self._all_rows(
            moments.variance(of, bounds, clip),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
    def std(
        self,
        of: str | Expression,
        bounds: Bounds | None = None,
        clip: bool = False,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Compute the standard deviation of a column, with values clamped to `bounds`.

        >>> data.std("spend", bounds=(0, 200), epsilon=0.5).value >= 0
        True
        """
        return self._all_rows(
            moments.std(of, bounds, clip), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Find the median of a column.

        >>> 0 <= data.median("spend", bounds=(0, 200), epsilon=0.5).value <= 200
        True
        """
        return self._all_rows(
            distribution.median(of, bounds, interval_level),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Find values below which given parts of the rows lie.

        >>> len(data.quantile("spend", [0.25, 0.5, 0.75], bounds=(0, 200), epsilon=0.5).value)
        3
        """
        return self._all_rows(
            distribution.quantile(of, probability, bounds, interval_level),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Find a value near the bottom of a column.

        >>> 0 <= data.min("spend", bounds=(0, 200), epsilon=0.5).value <= 200
        True
        """
        return self._all_rows(
            distribution.min(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Find a value near the top of a column.

        >>> 0 <= data.max("spend", bounds=(0, 200), epsilon=0.5).value <= 200
        True
        """
        return self._all_rows(
            distribution.max(of, bounds), Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out)
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Count the rows in public bins.

        >>> len(data.histogram("spend", [0, 25, 50, 100], epsilon=0.5).value)
        3
        """
        return self._all_rows(
            distribution.histogram(of, edges),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )

    @_shortcut
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
        left_out: bool | None = None,
        key: str | None = None,
    ) -> _Answer:
        """Select the most common values of a column, best first.

        >>> len(data.top("city", 1, candidates=["Lyon", "Nice", "Paris"], epsilon=0.5).value)
        1
        """
        return self._all_rows(
            distribution.top(of, number, candidates),
            Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out),
        )
