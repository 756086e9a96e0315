"""Counts, sums, means and variances of each group: the classes, and the functions that users call.

Each function gives one column of an answer:
`data.group_by("city", keys=[...]).agg(visits=dp.count()).release(epsilon=1)`.
Without groups use `data.agg(...)`, or the shortcuts `data.count(epsilon=1)`, `data.mean("spend", ...)` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dither.engine.aggregate import (
    PEOPLE,
    Aggregate,
    Answer,
    Bounds,
    Counting,
    Floats,
    Noisy,
    OfColumn,
    aggregate_function,
    known_bounds,
    with_lattice,
)
from dither.engine.binning import expression
from dither.engine.group_statistics import Need, Whole
from dither.tables import SQUARE_BITS, Centred, Expression, Lattice, Measure, People, RowCount, Squares, Sum, Values

__all__ = ["count", "count_people", "mean", "std", "sum", "variance"]


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

    @property
    def is_about_population(self) -> bool:
        return True

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


@aggregate_function
def count() -> Aggregate:
    """Count the rows of each group; of each person at most `max_rows_per_group`.

    The answer has an integer per group, with `name_low` and `name_high` as the ends of an interval.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(visits=dp.count())
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'visits', 'visits_low', 'visits_high']
    """
    return Count(people=False)


@aggregate_function
def count_people() -> Aggregate:
    """Count the people of each group; the rows, if the privacy unit is `dp.Rows()`.

    The answer has an integer per group, with `name_low` and `name_high` as the ends of an interval.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "id": list(range(1000))})
    >>> data = dp.Dataset(visits, unit=dp.Person("id"), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(people=dp.count_people())
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'people', 'people_low', 'people_high']
    """
    return Count(people=True)


@aggregate_function
def sum(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Sum up a column in each group, with values clamped to `bounds`.

    A person's sum is clamped to what `max_rows_per_group` values could add up to. Missing values add nothing. The
    answer has a number per group, with `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are missing, not two finite numbers, or not in order.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(total=dp.sum("spend", bounds=(0, 200)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'total', 'total_low', 'total_high']
    """
    return with_lattice(Total(expression(of), known_bounds(bounds)))


@aggregate_function
def mean(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Average a column in each group, with values clamped to `bounds`.

    Missing values are left out. The answer has a number per group, with `name_low` and `name_high` as the ends of an
    interval that contains the mean of the clamped values.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are missing, not two finite numbers, or not in order.

    Notes
    -----
    A noisy sum of distances from the middle of the bounds, divided by a noisy count. In one query the count is shared
    with other aggregates of the same column, at no further cost.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(spend=dp.mean("spend", bounds=(0, 200)))
    >>> question.plan(epsilon=0.5).error("spend", rows=10_000) < 1  # before anything is spent
    True
    >>> release = question.release(epsilon=0.5)
    >>> release.to_arrow().column_names
    ['city', 'spend', 'spend_low', 'spend_high']
    >>> data.mean("spend", bounds=(0, 200), epsilon=0.5).guarantee  # the same for all rows
    PureDP(epsilon=0.5, adjacency='add or remove one record')
    """
    return with_lattice(Mean(expression(of), known_bounds(bounds)))


@aggregate_function
def variance(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Compute the variance of a column in each group, with values clamped to `bounds`.

    It is that of the rows there are, divided by n. Missing values are left out. The answer has a number per group, with
    `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are missing, not two finite numbers, or not in order.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(spread=dp.variance("spend", bounds=(0, 200)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'spread', 'spread_low', 'spread_high']
    """
    return with_lattice(Variance(expression(of), known_bounds(bounds)))


@aggregate_function
def std(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Compute the standard deviation of a column in each group: the root of `variance`.

    The answer has a number per group, with `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are missing, not two finite numbers, or not in order.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(spread=dp.std("spend", bounds=(0, 200)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'spread', 'spread_low', 'spread_high']
    """
    return with_lattice(Variance(expression(of), known_bounds(bounds), root=True))
