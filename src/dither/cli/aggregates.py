"""Aggregates, groups and bounds, as text.

aggregate   count     mean(spend, 0, 200)      quantile(spend, [0.25, 0.75], 0, 200, interval=0.95)
            top(condition, 3, ['flu', 'asthma', 'angina'])       histogram(age, [0, 18, 65, 120])
group       city      bins(age, [0, 18, 65, 120])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from dither.cli.conditions import Conditions, day, public_value, sees_day
from dither.cli.tokens import Reader
from dither.engine import Bins, aggregate_functions, bins
from dither.engine.aggregate import Aggregate
from dither.errors import ParameterError
from dither.exact import Number
from dither.tables import Column, Expression

__all__ = ["Bounds", "aggregate", "assigned", "bounds", "group"]

Bounds = Mapping[str, tuple[Number, Number]]
"""The bounds of columns, for aggregates that do not say their own."""

_WITHIN_BOUNDS: dict[str, Callable[..., Aggregate]] = {
    "sum": aggregate_functions.sum,
    "mean": aggregate_functions.mean,
    "variance": aggregate_functions.variance,
    "std": aggregate_functions.std,
    "min": aggregate_functions.min,
    "max": aggregate_functions.max,
}
_AGGREGATES = ("count", "count_people", "count_distinct", *_WITHIN_BOUNDS, "median", "quantile", "histogram", "top")


def group(text: str) -> str | Bins:
    """What to group by: a column, or `bins(age, [0, 18, 65])`, or `name = bins(...)` under another name."""
    reader = Reader(text)
    return reader.whole(lambda: _group(reader))


def aggregate(text: str, known: Bounds) -> Aggregate:
    """What to ask of each group; bounds that are not said are those `known` of the column.

    >>> print(aggregate("mean(spend, 0, 99.5)", {}))
    mean(spend, bounds=(0, 199/2))
    """
    reader = Reader(text)
    return reader.whole(lambda: _Aggregates(reader, known).aggregate())


def assigned(text: str, example: str) -> tuple[str, str]:
    """`name = rest`: the name, which may stand in double quotes, and the rest as it is written."""
    reader = Reader(text)
    if reader.next.kind not in ("word", "name") or (reader.second.kind, reader.second.text) != ("sign", "="):
        raise ParameterError(f"expected a name, '=' and what it is, such as {example}; got {text!r}.")
    name = reader.take().text
    return name, text[reader.take().at + 1 :].strip()


def bounds(text: str) -> tuple[Fraction, Fraction]:
    """Two numbers: `0, 200`."""
    reader = Reader(text)
    return reader.whole(lambda: _two(reader))


class _Aggregates:
    """Reads what is asked of groups."""

    def __init__(self, reader: Reader, known: Bounds) -> None:
        self._reader = reader
        self._known = known

    def aggregate(self) -> Aggregate:
        reader = self._reader
        verb = reader.accept(*_AGGREGATES)
        if verb is None:
            reader.refuse(f"an aggregate is expected here: {', '.join(_AGGREGATES)}")
        if verb in ("count", "count_people"):
            if reader.accept("("):
                reader.expect(")")
            return aggregate_functions.count() if verb == "count" else aggregate_functions.count_people()
        reader.expect("(")
        of = Conditions(reader).condition()
        if not (reader.sees(",") or reader.sees(")")):
            reader.refuse("',' or ')' is expected here; a column that is no plain word stands in double quotes")
        found = self._of_column(verb, of)
        reader.expect(")")
        return found

    def _of_column(self, verb: str, of: Expression) -> Aggregate:
        if verb == "count_distinct":
            return aggregate_functions.count_distinct(of)
        if verb == "histogram":
            self._reader.expect(",")
            return aggregate_functions.histogram(of, self._reader.listed(lambda: _edge(self._reader)))
        if verb == "top":
            return self._top(of)
        if verb == "median":
            return aggregate_functions.median(of, self._bounds(of), self._interval())
        if verb == "quantile":
            return self._quantile(of)
        return _WITHIN_BOUNDS[verb](of, self._bounds(of))

    def _quantile(self, of: Expression) -> Aggregate:
        reader = self._reader
        reader.expect(",")
        asked: Any = reader.listed(reader.number) if reader.sees("[") else reader.number()
        return aggregate_functions.quantile(of, asked, self._bounds(of), self._interval())

    def _top(self, of: Expression) -> Aggregate:
        reader = self._reader
        reader.expect(",")
        number = reader.number()
        if number.denominator != 1:
            reader.refuse("a whole number of values is expected before this")
        candidates = reader.listed(lambda: public_value(reader)) if reader.accept(",") else None
        return aggregate_functions.top(of, int(number), candidates)

    def _bounds(self, of: Expression) -> tuple[Number, Number]:
        """`, low, high`, or those that are known of the column."""
        reader = self._reader
        if reader.sees(",") and not reader.sees(",", "interval"):
            reader.take()
            return _two(reader)
        if not isinstance(of, Column) or of.name not in self._known:
            reader.refuse(f"{of} needs bounds: two numbers that do not come from the data, such as ', 0, 200'")
        return self._known[of.name]

    def _interval(self) -> Fraction | None:
        reader = self._reader
        if not reader.sees(",", "interval"):
            return None
        reader.take()
        reader.take()
        reader.expect("=")
        return reader.number()


def _group(reader: Reader) -> str | Bins:
    name = None
    if (reader.second.kind, reader.second.text) == ("sign", "="):
        name = reader.identifier("a name")
        reader.take()
    if reader.sees("bins", "("):
        reader.take()
        reader.take()
        of = Conditions(reader).condition()
        reader.expect(",")
        edges = reader.listed(lambda: _edge(reader))
        reader.expect(")")
        return bins(of, edges, name)
    if name is not None:
        reader.refuse("only bins(...) have names of their own; make other columns first, and group by their names")
    return reader.identifier("a column or bins(...)")


def _two(reader: Reader) -> tuple[Fraction, Fraction]:
    low = reader.number()
    reader.expect(",")
    return low, reader.number()


def _edge(reader: Reader) -> Fraction | date:
    return day(reader) if sees_day(reader) else reader.number()
