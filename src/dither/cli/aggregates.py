"""Aggregates, groups and bounds, as text.

aggregate   count     mean(spend, 0, 200)      quantile(spend, [0.25, 0.75], 0, 200, interval=0.95)
            median(spend, none)       share(age > 40)                 ratio(tip, fare, 0, 50, 0, 200)
            top(condition, 3, ['flu', 'asthma', 'angina'])       histogram(age, [0, 18, 65, 120])
group       city      bins(age, [0, 18, 65, 120])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any, Final

from dither.cli.conditions import Conditions, day, public_value, sees_day
from dither.cli.tokens import Reader
from dither.engine import AGGREGATES, Bins, bins
from dither.engine.aggregate import Aggregate
from dither.errors import ParameterError
from dither.estimators.ranks import checked_probability
from dither.exact import Number
from dither.tables import Column, Expression, columns_of, missing_column

__all__ = ["Bounds", "aggregate", "assigned", "bounds", "group"]

Bounds = Mapping[str, tuple[Number, Number]]
"""The bounds of columns, for aggregates that do not say their own."""


def group(text: str) -> str | Bins:
    """What to group by: a column, or `bins(age, [0, 18, 65])`, or `name = bins(...)` under another name."""
    reader = Reader(text)
    return reader.whole(lambda: _group(reader))


def aggregate(text: str, known: Bounds, columns: Callable[[], list[str]] = list) -> Aggregate:
    """What to ask of each group; bounds that are not given are those `known` of the column.

    Where bounds are missing, `columns` tells whether the column is there at all.

    >>> print(aggregate("mean(spend, 0, 99.5)", {}))
    mean(spend, bounds=(0, 199/2))
    """
    reader = Reader(text)
    return reader.whole(lambda: _Aggregates(reader, known, columns).aggregate())


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
    """Reads what is asked of groups: a function of the registry, then its parameters in their order."""

    def __init__(self, reader: Reader, known: Bounds, columns: Callable[[], list[str]]) -> None:
        self._reader = reader
        self._known = known
        self._columns = columns
        self._to: Expression | None = None

    def aggregate(self) -> Aggregate:
        reader = self._reader
        verb = reader.accept(*AGGREGATES)
        if verb is None:
            reader.refuse(f"an aggregate is expected here: {', '.join(sorted(AGGREGATES))}")
        function = AGGREGATES[verb]
        parameters = list(inspect.signature(function).parameters)
        if not parameters:
            if reader.accept("("):
                reader.expect(")")
            return function()
        reader.expect("(")
        of = Conditions(reader).condition()
        if not (reader.sees(",") or reader.sees(")")):
            reader.refuse("',' or ')' is expected here; a column that is no plain word stands in double quotes")
        read = {"of": of} | {name: _PARAMETERS[name](self, of) for name in parameters if name != "of"}
        reader.expect(")")
        return function(**read)

    def edges(self, of: Expression) -> list[Fraction | date]:
        """`, [0, 18, 65]`."""
        self._reader.expect(",")
        return self._reader.listed(lambda: _edge(self._reader))

    def probability(self, of: Expression) -> Any:
        """`, 0.5`, or a list of such; wrong ones are reported before missing bounds are."""
        reader = self._reader
        reader.expect(",")
        found = reader.listed(reader.number) if reader.sees("[") else reader.number()
        for each in found if isinstance(found, list) else [found]:
            checked_probability(each)
        return found

    def number(self, of: Expression) -> int:
        """`, 3`."""
        reader = self._reader
        reader.expect(",")
        number = reader.number()
        if number.denominator != 1:
            reader.refuse("a whole number of values is expected before this")
        return int(number)

    def candidates(self, of: Expression) -> list[Any] | None:
        """`, ['flu', 'asthma']`, or nothing."""
        reader = self._reader
        return reader.listed(lambda: public_value(reader)) if reader.accept(",") else None

    def to(self, of: Expression) -> Expression:
        """`, fare`: the column whose sum is divided by."""
        self._reader.expect(",")
        self._to = to = Conditions(self._reader).condition()
        return to

    def to_bounds(self, of: Expression) -> tuple[Number, Number] | None:
        """The same for the column whose sum is divided by."""
        assert self._to is not None  # `to` stands before its bounds
        return self.bounds(self._to)

    def bounds(self, of: Expression) -> tuple[Number, Number] | None:
        """`, low, high`, or those that are known of the column; `, none` where a range is to be found privately."""
        reader = self._reader
        if reader.sees(",", "none"):
            reader.take()
            reader.take()
            return None
        if reader.sees(",") and not reader.sees(",", "interval") and not reader.sees(",", "clip"):
            reader.take()
            return _two(reader)
        if not isinstance(of, Column) or of.name not in self._known:
            if (existing := self._columns()) and (unknown := sorted(columns_of(of) - set(existing))):
                raise missing_column(unknown[0], existing)  # a name that is misspelt has no bounds either
            reader.refuse(
                f"{of} needs bounds: two numbers that do not come from the data, such as ', 0, 200', or ', none' to "
                "have a range found for a part of the price"
            )
        return self._known[of.name]

    def interval_level(self, of: Expression) -> Fraction | None:
        """`, interval=0.95`, or nothing."""
        return self._reader.number() if self._named("interval") else None

    def clip(self, of: Expression) -> bool:
        """`, clip=true`, or nothing."""
        reader = self._reader
        if not self._named("clip"):
            return False
        said = reader.accept("true", "false")
        if said is None:
            reader.refuse("true or false is expected here")
        return said == "true"

    def _named(self, name: str) -> bool:
        """Whether `, name=` comes next; it is read."""
        reader = self._reader
        if not reader.sees(",", name):
            return False
        reader.take()
        reader.take()
        reader.expect("=")
        return True


_PARAMETERS: Final[Mapping[str, Callable[[_Aggregates, Expression], Any]]] = {
    "bounds": _Aggregates.bounds,
    "candidates": _Aggregates.candidates,
    "clip": _Aggregates.clip,
    "edges": _Aggregates.edges,
    "interval_level": _Aggregates.interval_level,
    "number": _Aggregates.number,
    "probability": _Aggregates.probability,
    "to": _Aggregates.to,
    "to_bounds": _Aggregates.to_bounds,
}
"""How each parameter of an aggregate is written, after the column."""


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
