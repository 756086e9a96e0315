"""The aggregates of a query: `dp.count()`, `dp.sum("spend", bounds=(0, 200))` and so on.

Each names one column of the answer: `data.group_by("city", keys=[...]).agg(visits=dp.count()).release(epsilon=1)`.
Without groups use `data.agg(...)`, or the shortcuts `data.count(epsilon=1)`, `data.mean("spend", ...)` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate, Count, Mean, Total, Variance
from dither.engine.binning import bins, expression
from dither.engine.distribution_aggregates import CountDistinct, Edge, Quantile, Spread, Top
from dither.errors import ParameterError
from dither.estimators.ranks import checked_probability
from dither.exact import Number, check, rational
from dither.tables import Expression

__all__ = [
    "count",
    "count_distinct",
    "count_people",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "std",
    "sum",
    "top",
    "variance",
]

Bounds = tuple[Number, Number]
_LEAST_MISS = Fraction(1, 10**15)
_MOST_CANDIDATES = 900
_MOST_QUANTILES = 1_000


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


def count_distinct(of: str | Expression) -> Aggregate:
    """Count the different values of a column in each group.

    At most `max_rows_per_group` rows of each person are looked at.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.

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
    >>> question = cities.agg(prices=dp.count_distinct("spend"))
    >>> question.release(epsilon=0.5).to_arrow().num_rows
    2
    """
    return CountDistinct(expression(of))


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
    return _checked(Total(expression(of), _known(bounds)))


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
    return _checked(Mean(expression(of), _known(bounds)))


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
    return _checked(Variance(expression(of), _known(bounds)))


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
    return _checked(Variance(expression(of), _known(bounds), root=True))


def quantile(
    of: str | Expression,
    probability: Number | Sequence[Number],
    bounds: Bounds | None = None,
    interval_level: Number | None = None,
) -> Aggregate:
    """Find values below which given parts of each group's rows lie.

    Several quantiles in one list cost what one costs. Answers are as fine as a 2^18-th part of the bounds.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    probability : Number or sequence of Number
        One number strictly between 0 and 1, such as 0.5 for the median, or a list of up to 1,000 of them.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which two fifths of the budget are spent. Without it there are none.

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
    >>> question = cities.agg(p=dp.quantile("spend", [0.25, 0.5, 0.75], bounds=(0, 200)))
    >>> len(question.release(epsilon=0.5).to_arrow()["p"][0])  # a list for each group
    3
    """
    several = isinstance(probability, list | tuple)
    listed = list(probability) if isinstance(probability, list | tuple) else [probability]
    if not listed:
        raise ParameterError("probability must be a number between 0 and 1, or a list of them; got an empty list.")
    if not len(listed) <= _MOST_QUANTILES:
        raise ParameterError(f"there may be {_MOST_QUANTILES} quantiles at once, got {len(listed)}. Ask for fewer.")
    exact = tuple(checked_probability(rational(each, "probability")) for each in listed)
    level = None if interval_level is None else rational(interval_level, "interval_level")
    if level is not None:
        check.between(0, 1 - _LEAST_MISS, interval_level=level)
    return _checked(Quantile(expression(of), _known(bounds), exact, not several, level))


def median(of: str | Expression, bounds: Bounds | None = None, interval_level: Number | None = None) -> Aggregate:
    """Find the median of a column in each group: `quantile` at one half.

    Answers are as fine as a 2^18-th part of the bounds.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number)
        Public (low, high), in the unit of the column, to which each value is clamped. Required; know them beforehand,
        do not take them from the data. Too wide means more noise, too narrow means bias.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which two fifths of the budget are spent. Without it there are none.

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
    >>> question = cities.agg(spend=dp.median("spend", bounds=(0, 200), interval_level=0.95))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'spend', 'spend_low', 'spend_high']
    """
    return quantile(of, Fraction(1, 2), bounds, interval_level)


def min(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Find a value near the bottom of each group.

    The smallest value is one person's, so some rows lie below the answer: about 24/ε, times a person's rows and groups.

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
    >>> question = cities.agg(least=dp.min("spend", bounds=(0, 200)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'least']
    """
    return _checked(Edge(expression(of), _known(bounds), largest=False))


def max(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Find a value near the top of each group.

    The largest value is one person's, so some rows lie above the answer or share it: about 24/ε, times a person's rows
    and groups.

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
    >>> question = cities.agg(most=dp.max("spend", bounds=(0, 200)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'most']
    """
    return _checked(Edge(expression(of), _known(bounds), largest=True))


def histogram(of: str | Expression, edges: Sequence[Any]) -> Aggregate:
    """Count the rows of each group in public bins.

    Rows outside all bins are not counted. The answer has a list of counts per group, with `name_low` and `name_high` as
    the ends of intervals.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    edges : sequence
        3 to 151 numbers or days in increasing order: the ends of the bins [e₀, e₁), …, the last with its upper end.

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
    >>> question = cities.agg(spend=dp.histogram("spend", [0, 25, 50, 100]))
    >>> len(question.release(epsilon=0.5).to_arrow()["spend"][0])  # a list for each group
    3
    """
    return Spread(bins(of, edges, name="histogram"))


def top(of: str | Expression, number: int, candidates: Sequence[Any] | None = None) -> Aggregate:
    """Select the most common values of a column in each group, best first.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    number : int
        How many values to select.
    candidates : sequence, optional
        The public values to select from, at most 900: texts, whole numbers, truth values or days. Without them, those
        that enough people have are found (partition selection), which needs a `delta` in the release; there may be
        fewer.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If candidates are fewer than `number`, not distinct, or of several types.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "age": [30, 70] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(common=dp.top("age", 1, candidates=[30, 50, 70]))
    >>> question.release(epsilon=0.9).to_arrow()["common"].to_pylist()
    [[70], [30]]
    """
    check.count(number=number)
    if candidates is None:
        return Top(expression(of), int(number), None)
    if not isinstance(candidates, Sized):
        raise ParameterError(f"candidates must be a list of values, got the type {type(candidates).__name__}.")
    if not number <= len(candidates) <= _MOST_CANDIDATES:
        raise ParameterError(f"there must be {number} to {_MOST_CANDIDATES} candidates, got {len(candidates)}.")
    known = list(candidates)
    kinds = {type(value) for value in known}
    if len(kinds) != 1 or not kinds <= {str, int, bool, date} or len(set(known)) != len(known):
        raise ParameterError(
            "candidates must be different texts, whole numbers, truth values or days, all of one type."
        )
    return Top(expression(of), int(number), pa.array(known))


def _known(bounds: Bounds | None) -> Bounds:
    """There is no default: bounds that were taken from the data would tell of the rows at its ends."""
    if bounds is None:
        raise ParameterError(
            "bounds are needed: the range that values are clamped to, known beforehand and not taken from the data, "
            "such as bounds=(0, 200)."
        )
    return bounds


def _checked(aggregate: Any) -> Aggregate:
    """With bounds that can be kept: refused here rather than when it is asked."""
    _ = aggregate.lattice
    return aggregate  # type: ignore[no-any-return]
