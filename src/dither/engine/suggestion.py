"""Limits and bounds that a small part of the price buys: private histograms first, then a choice that costs nothing.

Each look is a question like any other, asked by `Question.release`: charged first, certified, under the adjacency of
the dataset. It is asked of a table with one row for each person, which is a function of that person's rows alone
(`BoundedTable.one_group_each`), or of one row of each person; so a person moves one count of a histogram by 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dither.engine.aggregate import Aggregate, known_bounds
from dither.engine.binning import bins
from dither.engine.distribution_aggregates import histogram
from dither.engine.moment_aggregates import Count, Mean, Total, count_people
from dither.engine.noisy_shapes import (
    Shapes,
    ValueSpread,
    group_edges,
    row_edges,
    shapes_of,
    spread_of,
    total_edges,
    value_edges,
)
from dither.engine.question import Question
from dither.engine.suggested_limits import Weighed, weighed
from dither.errors import ParameterError
from dither.exact import Number, check, in_words, rational, rounded
from dither.ledger import Entry
from dither.tables import Column, Expression, Sum, different, if_else
from dither.unit import Person, TableUnit

if TYPE_CHECKING:
    from dither.engine.query import Query
    from dither.engine.table_release import TableRelease

__all__ = ["TOO_FEW", "Suggestion", "suggested"]

TOO_FEW: Final = (
    "Nobody stands out from the noise of the look, so these limits are not chosen by the data and may cut nearly "
    "everything. Ask again with a larger epsilon or share, or state limits that you know."
)

_SMALLEST_END, _LARGEST_END = Fraction(1, 10**60), Fraction(10**90)
_GROUPS, _ROWS, _VALUE, _TOTAL = "groups of a person", "rows in one group", "value within bounds", "sum in one group"
_SHOWN = 6


@dataclass(frozen=True)
class Suggestion:
    """Limits and bounds for a question, what was considered, and what it cost.

    `Dataset.suggest` makes it, and `print` shows it. All of it may be published.

    Parameters
    ----------
    question : Question
        The question with these limits and bounds: release it.
    unit : Rows or Person
        The privacy unit with the limits.
    bounds : mapping of str to tuple
        The bounds of each column of the answer that has some.
    considered : sequence of Weighed
        Limits with their estimated errors, the chosen ones first.
    looks : tuple of TableRelease
        The private histograms from which they were chosen.
    epsilon : Fraction
        What is left of the price for the question.
    is_blind : bool, default False
        Whether nobody stood out from the noise of the looks, so that the limits were chosen by nothing: the smallest.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> trips = pa.table({"driver": [each // 20 for each in range(40_000)], "fare": [12.5] * 40_000})
    >>> unit = dp.Person("driver")
    >>> data = dp.Dataset(trips, unit=unit, budget=dp.PureDP(1), ledger="trips.ledger", identity="trips")
    >>> suggestion = data.suggest(data.agg(trips=dp.count()), epsilon=1)
    >>> suggestion.unit.max_rows_per_group >= 20  # mostly 21
    True
    >>> suggestion.epsilon, suggestion.question.release(epsilon=suggestion.epsilon).to_arrow().num_rows
    (Fraction(9, 10), 1)
    """

    question: Question
    unit: TableUnit
    bounds: Mapping[str, tuple[float, float]]
    considered: Sequence[Weighed] = field(repr=False)
    looks: tuple[TableRelease, ...] = field(repr=False)
    epsilon: Fraction
    is_blind: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The charges in the ledger."""
        return tuple(look.entry for look in self.looks)

    def __str__(self) -> str:
        """What was considered, with the estimated error of each column, and what was chosen."""
        names = list(self.question.aggregates)
        lines = [("max_groups", "max_rows_per_group", *(f"error of {name}" for name in names))]
        for each in self.considered[:_SHOWN]:
            errors = (rounded(each.errors[name], 3) for name in names)
            lines.append((str(each.max_groups), str(each.max_rows_per_group), *errors))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        chosen = [f"Chosen: {self.unit}"]
        chosen += [f"{name}: bounds=({low:.15g}, {high:.15g})" for name, (low, high) in self.bounds.items()]
        entries = ", ".join(str(entry.number) for entry in self.entries)
        paid = f"Paid for in entry {entries} of the ledger; epsilon {in_words(self.epsilon)} is left for the question."
        return "\n".join([*([TOO_FEW] if self.is_blind else []), *table, "; ".join(chosen) + ".", paid])


def suggested(question: Question, epsilon: Number, share: Number) -> Suggestion:
    """Look, then choose: `share` of `epsilon` is charged now, and the rest is for the question."""
    price, part = rational(epsilon, "epsilon"), rational(share, "share")
    check.positive(epsilon=price)
    check.between(0, 1, share=part)
    query, unit = question.query, question.query.origin.unit
    if not isinstance(unit, Person):
        raise ParameterError("suggest chooses limits of persons: unit=dp.Person('user_id'). Here each row is its own.")
    if query.levels is not None:
        raise ParameterError("suggest looks at one set of groups. Ask it of the finest: group_by(..., keys=[...]).")
    if query.keys and query.public_keys is None:
        raise ParameterError("suggest needs to know the groups. Make them public: group_by(..., keys=[...]).")
    different((_GROUPS, _ROWS, _VALUE, _TOTAL), query.columns)  # before the first look is paid for
    of_values = {name: each for name, each in question.aggregates.items() if isinstance(each, Total | Mean)}
    for name, aggregate in of_values.items():
        _check_sizes(name, aggregate)
    sums = {name: each for name, each in of_values.items() if isinstance(each, Total)}
    of_sums = sums if all(name in sums or _counts_people(each) for name, each in question.aggregates.items()) else {}
    looks = 1 + len(of_values)
    each = price * part / looks
    shapes, first = _shapes(query, unit, each)
    people, spreads, others = float(shapes.people.sum()), {}, []
    for name, aggregate in of_values.items():
        of_rows = _of_totals if name in of_sums else _of_rows
        spreads[name], look = _spread(of_rows(query, unit, aggregate, people * float(each)), each)
        others.append(look)
    groups = 1 if query.public_keys is None else query.public_keys.num_rows
    left = price * (1 - part)
    ranked = weighed(question.aggregates, spreads, shapes, unit, groups, left, totals=bool(of_sums))
    best = ranked[0]
    chosen = replace(unit, max_groups=best.max_groups, max_rows_per_group=best.max_rows_per_group)
    better = _with_limits(question, chosen, best.bounds)
    return Suggestion(better, chosen, best.bounds, ranked, (first, *others), left, is_blind=not people > 0)


def _check_sizes(name: str, aggregate: Total | Mean) -> None:
    """Refuse, before anything is charged, bounds of which no part or multiple that is looked at could be used."""
    ends = [abs(rational(end, "bounds")) for end in known_bounds(aggregate.bounds)]
    if not all(end == 0 or _SMALLEST_END <= end <= _LARGEST_END for end in ends):
        raise ParameterError(
            "suggest looks at bounds whose ends are 0 or between 1e-60 and 1e90 in magnitude, and those of "
            f"{name!r} are not. State bounds of the size that values have."
        )


def _with_limits(question: Question, unit: Person, bounds: Mapping[str, tuple[float, float]]) -> Question:
    """The same question under other limits and bounds: the adjacency, and so the account, stays."""
    query = question.query._with(call="", origin=replace(question.query.origin, unit=unit))
    aggregates: dict[str, Aggregate] = {
        name: replace(each, bounds=bounds[name]) if isinstance(each, Total | Mean) else each
        for name, each in question.aggregates.items()
    }
    return replace(query.agg(**aggregates), estimates_left_out=True)


def _of_one_row(query: Query, unit: Person, **changes: Any) -> Query:
    """Rows of which each person has one: everything is asked of these as of any table of persons."""
    origin = replace(query.origin, unit=Person(unit.column, 1, 1))
    return query._with("one row of each person", call="", origin=origin, keys={}, public_keys=None, **changes)


def _counts_people(aggregate: Aggregate) -> bool:
    return isinstance(aggregate, Count) and aggregate.people


def _one_group_each(query: Query, unit: Person, sums: Mapping[str, Sum]) -> Query:
    """A row of each person: the groups they have, their rows in one of them, and sums of their values in it."""
    if unit.column in (_GROUPS, _ROWS, _VALUE, _TOTAL):
        raise ParameterError(f"the column {unit.column!r} of persons has a name that suggest uses. Rename it.")
    table = Question(query, {"people": count_people()})._of_any_limits.one_group_each(_GROUPS, _ROWS, sums)
    one = _of_one_row(query, unit, _table=table, domains={})
    return one._with(call="", origin=replace(one.origin, _source=replace(query.origin._source, refused={})))


def _shapes(query: Query, unit: Person, epsilon: Fraction) -> tuple[Shapes, TableRelease]:
    """How many people have so many groups, and so many rows in one of them."""
    groups = 1 if query.public_keys is None else query.public_keys.num_rows
    edges = {_ROWS: row_edges(groups)} | ({_GROUPS: group_edges(groups)} if groups > 1 else {})
    look = _one_group_each(query, unit, {}).group_by(*(bins(name, of) for name, of in edges.items()))
    release = look.agg(people=count_people()).release(epsilon=epsilon)
    noisy = np.array(release.value.column("people").to_pylist(), dtype=np.float64)
    return shapes_of(noisy, groups, 1 / float(epsilon)), release


@dataclass(frozen=True)
class _Values:
    """One number of each person, and the ends of the bins in which they are counted."""

    query: Query
    of: Expression
    edges: list[float]
    bounds: tuple[float, float]


def _of_rows(query: Query, unit: Person, aggregate: Total | Mean, seen: float) -> _Values:
    """The value of one row of each person."""
    low, high = (float(rational(end, "bounds")) for end in known_bounds(aggregate.bounds))
    return _Values(_of_one_row(query, unit), aggregate.of, value_edges(low, high, seen), (low, high))


def _of_totals(query: Query, unit: Person, aggregate: Total | Mean, seen: float) -> _Values:
    """Each person's sum of clamped values, in one of their groups: what a sum is clipped by."""
    low, high = (float(rational(end, "bounds")) for end in known_bounds(aggregate.bounds))
    one = _one_group_each(query, unit, {_TOTAL: Sum(aggregate.of, aggregate.lattice)})
    return _Values(one, Column(_TOTAL), total_edges(low, high, seen), (low, high))


def _spread(values: _Values, epsilon: Fraction) -> tuple[ValueSpread, TableRelease]:
    """How they are spread over bins that are as wide as they are large."""
    of, edges = values.of, values.edges
    low, high = edges[0], edges[-1]
    clamped: Expression = if_else(of >= high, high, if_else(of <= low, low, of))
    one = values.query.with_columns(**{_VALUE: clamped})
    release = one.agg(values=histogram(_VALUE, edges)).release(epsilon=epsilon)
    noisy = np.array(release.value.column("values").to_pylist()[0], dtype=np.float64)
    return spread_of(noisy, edges, 1 / float(epsilon), values.bounds), release
