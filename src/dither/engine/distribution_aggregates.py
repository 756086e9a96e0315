"""Quantiles, extremes, histograms, different and most common values of each group: the classes, and the functions that
users call (see moment_aggregates.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar

import pyarrow as pa

from dither.engine.aggregate import (
    Aggregate,
    Answer,
    Bounds,
    Counting,
    Noisy,
    OfColumn,
    aggregate_function,
    known_bounds,
)
from dither.engine.binning import Bins, bins, expression
from dither.engine.group_sensitivity import Distinct, Need, Tally
from dither.engine.most_common import Best, FoundValues
from dither.engine.quantiles import Extreme, Ranks
from dither.errors import ParameterError
from dither.estimators.ranks import checked_probability
from dither.exact import Number, check, rational
from dither.tables import Expression, Lattice

__all__ = ["count_distinct", "histogram", "max", "median", "min", "quantile", "top"]

_LEAST_MISS = Fraction(1, 10**15)
_MOST_CANDIDATES = 900
_MOST_QUANTILES = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class CountDistinct(Counting):
    """How many different values."""

    of: Expression

    @property
    def needs(self) -> Mapping[str, Need]:
        return {f"distinct {self.of}": Distinct(self.of)}

    def __str__(self) -> str:
        return f"count_distinct({self.of})"


@dataclass(frozen=True, slots=True, eq=False)
class Spread(Counting):
    """How many rows are in each bin."""

    bins: Bins

    @property
    def needs(self) -> Mapping[str, Need]:
        return {f"histogram of {self.bins}": Tally(self.bins.label, self.bins.within, self.bins.values)}

    @property
    def width(self) -> int:
        return len(self.bins.edges) - 1

    def __str__(self) -> str:
        return f"histogram of {self.bins}"


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked(OfColumn):
    """What is chosen by the ranks of the values of a column, within bounds or without."""

    bounds: Bounds | None  # type: ignore[assignment]

    @property
    def lattice(self) -> Lattice:
        """For the extremes of one person; and bounds are checked."""
        return Lattice.within(known_bounds(self.bounds), from_zero=False)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds as doubles."""
        if self.bounds is None:
            return None
        low, high = (float(rational(bound, "bounds")) for bound in self.bounds)
        return low, high

    @property
    def _said_bounds(self) -> str:
        return "" if self.bounds is None else f", bounds=({self.bounds[0]}, {self.bounds[1]})"


@dataclass(frozen=True, slots=True, eq=False)
class QuantilesOfGroups(_Ranked):
    """Where given parts of the rows lie below."""

    probabilities: tuple[Fraction, ...]
    alone: bool
    interval_level: Fraction | None
    is_whole: bool = False

    @property
    def needs(self) -> Mapping[str, Need]:
        need = Ranks(self.of, self.limits, self.probabilities, self.interval_level, self.is_whole)
        return {str(self): need}

    def typed(self, is_whole: Callable[[Expression], bool]) -> QuantilesOfGroups:
        """Quantiles of whole numbers are whole."""
        return replace(self, is_whole=is_whole(self.of))

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The places, and behind them the ends of their intervals if these were paid for."""
        (noisy,) = parts.values()
        count = len(self.probabilities)
        columns = [noisy.value[:, at : at + count] for at in range(0, noisy.value.shape[1], count)]
        return Answer(*(column[:, 0] if self.alone else column for column in columns))

    @property
    def width(self) -> int:
        return len(self.probabilities)

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.probabilities))
        level = "" if self.interval_level is None else f", interval_level={self.interval_level}"
        return f"quantile({self.of}, [{listed}]{self._said_bounds}{level})"


@dataclass(frozen=True, slots=True, eq=False)
class Edge(_Ranked):
    """As far out as privacy allows."""

    largest: bool
    is_whole: bool = False

    @property
    def verb(self) -> str:
        """What it is called."""
        return "max" if self.largest else "min"

    def __str__(self) -> str:
        return f"{self.verb}({self.of}{self._said_bounds})"

    @property
    def needs(self) -> Mapping[str, Need]:
        return {str(self): Ranks(self.of, self.limits, Extreme(self.largest), is_whole=self.is_whole)}

    def typed(self, is_whole: Callable[[Expression], bool]) -> Edge:
        """Extremes of whole numbers are whole."""
        return replace(self, is_whole=is_whole(self.of))

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value[:, 0])


_Chosen = TypeVar("_Chosen", bound=_Ranked)


def _checked(aggregate: _Chosen) -> _Chosen:
    """With bounds that can be kept, if there are any: refused here rather than when it is asked."""
    if aggregate.bounds is not None:
        _ = aggregate.lattice
    return aggregate


@dataclass(frozen=True, slots=True, eq=False)
class Top(Aggregate):
    """The most common values."""

    of: Expression
    number: int
    candidates: pa.Array | None

    @property
    def needs(self) -> Mapping[str, Need]:
        return {str(self): self._need}

    @property
    def _need(self) -> Need:
        if self.candidates is None:
            return FoundValues(self.of, self.number)
        return Best(self.of, self.of.is_in(self.candidates.to_pylist()), self.candidates, self.number)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value)

    @property
    def width(self) -> int:
        return 1 if self.candidates is None else len(self.candidates)

    @property
    def bytes_of_answer(self) -> int:
        texts = [] if self.candidates is None else self.candidates.to_pylist()
        return self.number * (32 + sorted([0, *(len(str(text).encode()) for text in texts)])[-1])

    def __str__(self) -> str:
        among: Any = "" if self.candidates is None else f", candidates={self.candidates.to_pylist()}"
        return f"top({self.of}, {self.number}{among})"


@aggregate_function
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


@aggregate_function
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


@aggregate_function
def quantile(
    of: str | Expression,
    probability: Number | Sequence[Number],
    bounds: Bounds | None = None,
    interval_level: Number | None = None,
) -> Aggregate:
    """Find values below which given parts of each group's rows lie.

    Several quantiles in one list cost what one costs. Rows are told apart to 2^-16 of their size. A column that is
    whole by its type gets whole numbers.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    probability : Number or sequence of Number
        One number strictly between 0 and 1, such as 0.5 for the median, or a list of up to 1,000 of them.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. They may be far too wide at little cost. A group of too few rows gets no answer, NULL:
        fewer than about 40/ε for a median, without bounds 120/ε, and more for other quantiles.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which three fifths of the budget are spent. Without it there are none.

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
    return _checked(QuantilesOfGroups(expression(of), bounds, exact, not several, level))


@aggregate_function
def median(of: str | Expression, bounds: Bounds | None = None, interval_level: Number | None = None) -> Aggregate:
    """Find the median of a column in each group: `quantile` at one half.

    Rows are told apart to 2^-16 of their size. A column that is whole by its type gets a whole number.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. They may be far too wide at little cost. A group of too few rows gets no answer, NULL:
        fewer than about 40/ε for a median, without bounds 120/ε, and more for other quantiles.
    interval_level : Number, optional
        The level of intervals, such as 0.95, on which three fifths of the budget are spent. Without it there are none.

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


@aggregate_function
def min(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Find a value near the bottom of each group.

    The smallest value is one person's, so some rows lie below the answer: about 18/ε, times a person's rows and groups.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. They may be far too wide at little cost. Without them a group of too few rows gets no
        answer: NULL.

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
    return _checked(Edge(expression(of), bounds, largest=False))


@aggregate_function
def max(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """Find a value near the top of each group.

    The largest value is one person's, so some rows lie above the answer or share it: about 18/ε, times a person's rows
    and groups.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    bounds : tuple of (Number, Number), optional
        Public (low, high), in the unit of the column, to which each value is clamped; know them beforehand, do not take
        them from the data. They may be far too wide at little cost. Without them a group of too few rows gets no
        answer: NULL.

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
    return _checked(Edge(expression(of), bounds, largest=True))


@aggregate_function
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
    expression(of).is_in(known)  # refuses what no expression may hold
    values = pa.array(known)
    return Top(expression(of), int(number), values.cast(pa.large_string()) if kinds == {str} else values)
