"""Counts, sums, means and variances of each group: the classes, and the functions that users call.

Each function gives one column of an answer:
`data.group_by("city", keys=[...]).agg(visits=dp.count()).release(epsilon=1)`.
Without groups use `data.agg(...)`, or the shortcuts `data.count(epsilon=1)`, `data.mean("spend", ...)` and so on.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
)
from dither.engine.binning import expression
from dither.engine.found_ranges import FoundRange, Ranged
from dither.engine.group_sensitivity import BothEnds, Measured, Need, SquaresOfEnds, Whole
from dither.errors import ParameterError
from dither.estimators.binomial import binomial_between
from dither.estimators.ratio_intervals import ThreeSums, mean_between
from dither.exact import rational
from dither.tables import SQUARE_BITS, Expression, Lattice, People, RowCount, Sum, if_else

__all__ = ["count", "count_people", "mean", "share", "std", "sum", "variance"]

_ANY = (-1, 1)
"""The range in which questions are rehearsed, and numbers are drawn that nobody sees, where none is found."""
_DISCRETE = 3.0
"""Steps by which whole numbers as noise, each for one of three sums, are beside the law that has no steps."""


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
class Moment(OfColumn):
    """Made of sums of the values, in the bounds or in a range that is found first."""

    bounds: Bounds | None  # type: ignore[assignment]
    clip: bool
    found: FoundRange | None = None
    """The range, once it is found."""

    statistic: ClassVar[str]
    """What the range is chosen for."""

    @property
    @abstractmethod
    def measured(self) -> Measured:
        """The sums in the range that is known."""

    @abstractmethod
    def computed(self, noisy: Noisy) -> Answer:
        """The value and its interval, from the noisy sums."""

    @property
    def needs(self) -> Mapping[str, Need]:
        within = "any range" if self.bounds is None else " to ".join(str(rational(end)) for end in self.bounds)
        key = f"{self.statistic} of {self.of} in {within}{', clipped' if self.clip else ''}"
        if self.found is not None or not (self.clip or self.bounds is None):
            return {key: self.measured}
        return {key: Ranged(self.of, self._ends, self.statistic, self.measured)}

    @property
    def _ends(self) -> tuple[float, float] | None:
        if self.bounds is None:
            return None
        low, high = (float(rational(bound, "bounds")) for bound in self.bounds)
        return low, high

    @property
    def limits(self) -> Bounds:
        """The range that was found, or the bounds; any range where there is none."""
        found = self.bounds if self.found is None else self.found.limits
        return _ANY if found is None else found

    def narrowed(self, found: Mapping[str, FoundRange]) -> Moment:
        (key,) = self.needs
        return replace(self, found=found.get(key))

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        if self.found is None or self.found.limits is not None:
            return self.computed(noisy)
        return Answer(*(np.full(len(noisy.value), each) for each in (math.nan, -math.inf, math.inf)))

    def __str__(self) -> str:
        said = "" if self.bounds is None else f", bounds=({self.bounds[0]}, {self.bounds[1]})"
        return f"{self.verb}({self.of}{said}{', clip=True' if self.clip else ''})"


@dataclass(frozen=True, slots=True, eq=False)
class Total(Moment):
    """The sum of the values."""

    statistic: ClassVar[str] = "sum"

    @property
    def verb(self) -> str:
        return "sum"

    @property
    def measured(self) -> Measured:
        return Whole(Sum(self.of, self.lattice))

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.limits, from_zero=True)

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """Of values spread evenly, the mean is in the middle."""
        return dict.fromkeys(self.needs, rows * (self.lattice.low + self.lattice.high) / 2)

    def computed(self, noisy: Noisy) -> Answer:
        step = float(self.lattice.step)
        return Answer(noisy.value * step, noisy.low * step, noisy.high * step)

    @property
    def is_count(self) -> bool:
        """Where no value is negative, no sum is."""
        return self.lattice.low >= 0


@dataclass(frozen=True, slots=True, eq=False)
class Mean(Moment):
    """The mean of the values."""

    statistic: ClassVar[str] = "mean"

    @property
    def measured(self) -> Measured:
        return BothEnds(self.of, self.lattice)

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """Of values spread evenly, the mean is in the middle."""
        (key,) = self.needs
        return {key: [rows * self.lattice.width / 2] * 2}

    @property
    def depends_on_size(self) -> bool:
        return True

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.limits, from_zero=False)

    def computed(self, noisy: Noisy) -> Answer:
        """low + width·U/(U + V), inside the range; the interval is that of `estimators.ratio_intervals`."""
        above, below = noisy.value.astype(np.float64).T
        assert noisy.law is not None
        place = np.clip(above / np.maximum(above + below, self.lattice.width), 0.0, 1.0)
        low, high = mean_between(above, below, noisy.law, noisy.miss, _DISCRETE)
        return Answer(self._placed(place), self._placed(low), self._placed(high))

    def _placed(self, place: Floats) -> Floats:
        """A place between the ends, 0 to 1, as a value of the column."""
        return (self.lattice.low + place * self.lattice.width) * float(self.lattice.step)

    @property
    def is_about_population(self) -> bool:
        return True

    def of_population(self, answer: Answer, parts: Mapping[str, Noisy], miss: float) -> Answer:
        """By the binomial law for the smallest plausible number of rows, which may be missed with a tenth of `miss`.

        And half a step, by which a value is rounded to its lattice.
        """
        (noisy,) = parts.values()
        assert noisy.law is not None
        few = noisy.value.astype(np.float64).sum(axis=1) - float(noisy.law.reach([1.0, 1.0], miss / 10)) - 2
        low, high = (float(end * self.lattice.step) for end in (self.lattice.low, self.lattice.high))
        places = [np.nan_to_num((end - low) / (high - low)) for end in (answer.low, answer.high)]
        ends = binomial_between(places[0], places[1], few / self.lattice.width, 0.9 * miss)
        below, above = (low + end * (high - low) for end in ends)
        rounded = float(self.lattice.step) / 2
        least = np.where(np.isinf(answer.low), -math.inf, np.maximum(below - rounded, low))
        most = np.where(np.isinf(answer.high), math.inf, np.minimum(above + rounded, high))
        return Answer(answer.value, least, most)


@dataclass(frozen=True, slots=True, eq=False)
class Share(Aggregate):
    """The share of rows for which a condition holds: the mean of 1 where it does and 0 elsewhere."""

    of: Expression

    @property
    def _mean(self) -> Mean:
        return Mean(if_else(self.of, 1, 0), (0, 1), clip=False)

    @property
    def needs(self) -> Mapping[str, Need]:
        return self._mean.needs

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """A half of them."""
        return self._mean.supposed(rows)

    @property
    def depends_on_size(self) -> bool:
        return True

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """With an interval inside of 0 to 1."""
        return self._mean.answer(parts)

    @property
    def is_about_population(self) -> bool:
        return True

    def of_population(self, answer: Answer, parts: Mapping[str, Noisy], miss: float) -> Answer:
        return self._mean.of_population(answer, parts, miss)

    def __str__(self) -> str:
        return f"share({self.of})"


@dataclass(frozen=True, slots=True, eq=False)
class Variance(Moment):
    """The variance of the values, or its root."""

    root: bool = False

    statistic: ClassVar[str] = "variance"

    @property
    def measured(self) -> Measured:
        return SquaresOfEnds(self.of, self.lattice)

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """Of values spread evenly, w² and (1 − w)² have the mean 1/3, and 2w(1 − w) too."""
        (key,) = self.needs
        return {key: [4 * rows * self.lattice.width**2 / 3] * 3}

    @property
    def depends_on_size(self) -> bool:
        return True

    @property
    def lattice(self) -> Lattice:
        return Lattice.within(self.limits, SQUARE_BITS, from_zero=False)

    def computed(self, noisy: Noisy) -> Answer:
        """That of the places w = q/K times the square of the width; the interval is by `estimators.ratio_intervals`."""
        assert noisy.law is not None
        first, second, third = noisy.value.astype(np.float64).T
        sums = ThreeSums((first, second, third), 4 * self.lattice.width**2, noisy.law, _DISCRETE)
        low, high = sums.variance_between(noisy.miss, population=False)
        unit = float(self.lattice.width * self.lattice.step) ** 2
        answer = [unit * way for way in (sums.variance, low, high)]
        return Answer(*map(np.sqrt, answer)) if self.root else Answer(*answer)

    @property
    def verb(self) -> str:
        return "std" if self.root else "variance"


def _checked(aggregate: Moment) -> Moment:
    """With a range that can be kept: refused here rather than when it is asked."""
    if not isinstance(aggregate.clip, bool):
        raise ParameterError(f"clip must be True or False, got the type {type(aggregate.clip).__name__}.")
    _ = aggregate.lattice
    return aggregate


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
    >>> unit = dp.Person("id", max_groups=1)
    >>> data = dp.Dataset(visits, unit=unit, budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(people=dp.count_people())
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['city', 'people', 'people_low', 'people_high']
    """
    return Count(people=True)


@aggregate_function
def sum(of: str | Expression, bounds: Bounds | None = None, clip: bool = False) -> Aggregate:
    """Sum up a column in each group, with values clamped to `bounds`.

    A person's sum is clamped to what `max_rows_per_group` values could add up to. Missing values add nothing. The
    answer has a number per group, with `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. Too wide means more noise, too narrow means bias. Without them a range is found privately,
        and the answer is NULL if there are too few rows for that: about 500/ε people are enough.
    clip : bool, default False
        Whether a part of the budget chooses a narrower range inside the bounds, the same for all groups, where noisy
        counts show that it pays: for bounds that may be far too wide. It takes one more pass over the rows. Without it
        all is spent on the answer: right for tight bounds, and where a few values far from the others matter.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are not two finite numbers, or not in order.

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
    return _checked(Total(expression(of), bounds, clip))


@aggregate_function
def mean(of: str | Expression, bounds: Bounds | None = None, clip: bool = False) -> Aggregate:
    """Average a column in each group, with values clamped to `bounds`.

    Missing values are left out. The answer has a number per group, with `name_low` and `name_high` as the ends of an
    interval that contains the mean of the clamped values.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. Too wide means more noise, too narrow means bias. Without them a range is found privately,
        and the answer is NULL if there are too few rows for that: about 500/ε people are enough.
    clip : bool, default False
        Whether a part of the budget chooses a narrower range inside the bounds, the same for all groups, where noisy
        counts show that it pays: for bounds that may be far too wide. It takes one more pass over the rows. Without it
        all is spent on the answer: right for tight bounds, and where a few values far from the others matter.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are not two finite numbers, or not in order.

    Notes
    -----
    The sums of the distances from both ends of the bounds, each with the noise of one; together they tell how many
    values there are, and no part of the budget is for that. The interval inverts the exact law of their noise.

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
    return _checked(Mean(expression(of), bounds, clip))


@aggregate_function
def share(of: str | Expression) -> Aggregate:
    """Compute the share of the rows of each group for which a condition holds.

    A row with a missing value, for which the condition is unknown, counts as one for which it does not hold. The
    answer has a number per group, with `name_low` and `name_high` as the ends of an interval inside of 0 to 1.

    Parameters
    ----------
    of : str or Expression
        A condition such as `dp.col("age") >= 18`; or a column of truth values, by its name.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If `of` names no column.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> cities = data.group_by("city", keys=["Lyon", "Paris"])
    >>> question = cities.agg(high=dp.share(dp.col("spend") > 30))
    >>> low, high = question.release(epsilon=0.5).interval(0.95)
    >>> low["high"][0].as_py() >= 0 and high["high"][1].as_py() <= 1
    True
    """
    return Share(expression(of))


@aggregate_function
def variance(of: str | Expression, bounds: Bounds | None = None, clip: bool = False) -> Aggregate:
    """Compute the variance of a column in each group, with values clamped to `bounds`.

    It is that of the rows there are, divided by n. Missing values are left out. The answer has a number per group, with
    `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. Too wide means more noise, too narrow means bias. Without them a range is found privately,
        and the answer is NULL if there are too few rows for that: about 500/ε people are enough.
    clip : bool, default False
        Whether a part of the budget chooses a narrower range inside the bounds, the same for all groups, where noisy
        counts show that it pays: for bounds that may be far too wide. It takes one more pass over the rows. Without it
        all is spent on the answer: right for tight bounds, and where a few values far from the others matter.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are not two finite numbers, or not in order.

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
    return _checked(Variance(expression(of), bounds, clip))


@aggregate_function
def std(of: str | Expression, bounds: Bounds | None = None, clip: bool = False) -> Aggregate:
    """Compute the standard deviation of a column in each group: the root of `variance`.

    The answer has a number per group, with `name_low` and `name_high` as the ends of an interval.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. Too wide means more noise, too narrow means bias. Without them a range is found privately,
        and the answer is NULL if there are too few rows for that: about 500/ε people are enough.
    clip : bool, default False
        Whether a part of the budget chooses a narrower range inside the bounds, the same for all groups, where noisy
        counts show that it pays: for bounds that may be far too wide. It takes one more pass over the rows. Without it
        all is spent on the answer: right for tight bounds, and where a few values far from the others matter.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are not two finite numbers, or not in order.

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
    return _checked(Variance(expression(of), bounds, clip, root=True))
