"""The words of a question: `dp.count()`, `dp.sum("spend", bounds=(0, 200))` and so on."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate, Count, Mean, Total, Variance
from dither.engine.binning import bins, expression
from dither.engine.order import CountDistinct, Edge, Quantile, Spread, Top
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
    """How many rows each group has; of each person at most `max_rows_per_group`."""
    return Count(people=False)


def count_people() -> Aggregate:
    """How many persons each group has; rows, if each row is protected by itself."""
    return Count(people=True)


def count_distinct(of: str | Expression) -> Aggregate:
    """How many different values a column has in each group, of at most `max_rows_per_group` rows of each person."""
    return CountDistinct(expression(of))


def sum(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """The sum of a column whose values are clamped to `bounds`; a person's sum to what their rows could add up to."""
    return _checked(Total(expression(of), _known(bounds)))


def mean(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """The mean of a column whose values are clamped to `bounds`; missing values are left out."""
    return _checked(Mean(expression(of), _known(bounds)))


def variance(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """The variance (of the rows there are, divided by n) of a column whose values are clamped to `bounds`."""
    return _checked(Variance(expression(of), _known(bounds)))


def std(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """The standard deviation: the root of `variance`."""
    return _checked(Variance(expression(of), _known(bounds), root=True))


def quantile(
    of: str | Expression,
    probability: Number | Sequence[Number],
    bounds: Bounds | None = None,
    interval_level: Number | None = None,
) -> Aggregate:
    """Values below which given parts of each group's rows lie: one `probability`, or a list of them for one price.

    Answers are as fine as a 2^18-th part of the bounds. `interval_level` spends two fifths of the price on intervals
    of that level; without it there are none.
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
    """The middle of each group's values: `quantile` at one half."""
    return quantile(of, Fraction(1, 2), bounds, interval_level)


def min(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """A place near the bottom of each group: the smallest value is one person's, so some rows lie below (see `max`)."""
    return _checked(Edge(expression(of), _known(bounds), largest=False))


def max(of: str | Expression, bounds: Bounds | None = None) -> Aggregate:
    """A place near the top of each group: about 24/ε rows lie above or share it, times a person's rows and groups."""
    return _checked(Edge(expression(of), _known(bounds), largest=True))


def histogram(of: str | Expression, edges: Sequence[Any]) -> Aggregate:
    """How many rows lie in each of the public bins [e₀, e₁), …, the last with its upper end; a list for each group."""
    return Spread(bins(of, edges, name="histogram"))


def top(of: str | Expression, number: int, candidates: Sequence[Any] | None = None) -> Aggregate:
    """The `number` most common values of a column in each group, best first.

    Of public `candidates` (texts, whole numbers, days), or, with δ, of those that enough people have; then there may be
    fewer.
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
