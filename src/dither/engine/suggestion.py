"""Limits and bounds that a small part of the price buys: private histograms first, then a choice that costs nothing.

Each look is a question like any other, asked by `Question.release`: charged first, certified, under the adjacency of
the dataset. It is asked of a table with one row for each person, which is a function of that person's rows alone
(`BoundedTable.one_group_each`), or of one row of each person; so a person moves one count of a histogram by 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dither.engine.aggregate import Aggregate, known_bounds
from dither.engine.binning import bins
from dither.engine.left_out import MUCH
from dither.engine.looks import Choice, chosen
from dither.engine.moment_aggregates import Mean, Total, count_people
from dither.engine.moment_aggregates import sum as added
from dither.engine.question import Question
from dither.engine.suggested_limits import Weighed
from dither.errors import ParameterError
from dither.exact import Number, check, in_words, rational, rounded
from dither.guarantees import PureDP
from dither.ledger import Entry
from dither.tables import Column, Sum, different, if_else
from dither.unit import Person, TableUnit

if TYPE_CHECKING:
    from dither.engine.noisy_shapes import Floats
    from dither.engine.query import Query
    from dither.engine.table_release import TableRelease
    from dither.tables import Expression

__all__ = ["TOO_FEW", "ReleasedLooks", "Suggestion", "suggested"]

TOO_FEW: Final = (
    "Nobody stands out from the noise of the look, so these limits are not chosen by the data and may cut nearly "
    "everything. Ask again with a larger epsilon or share, or state limits that you know."
)

_SMALLEST_END, _LARGEST_END = Fraction(1, 10**60), Fraction(10**90)
_GROUPS, _ROWS, _VALUE, _TOTAL = "groups of a person", "rows in one group", "value within bounds", "sum in one group"
_SHOWN = 6
_APART = 1.5
"""A column that would be so many times as exact with limits of its own is better asked for by itself."""
_SEEN = 25
"""People in one bin who are seen, in scales of the noise of a look."""


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
        Whether a look saw nothing but its noise, of people or of values: limits or bounds were chosen by nothing.

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
        chosen_in_words = "; ".join(chosen) + "."
        entries = ", ".join(str(entry.number) for entry in self.entries)
        paid = f"Paid for in entry {entries} of the ledger; epsilon {in_words(self.epsilon)} is left for the question."
        first = [f"{TOO_FEW} {self._sees}"] if self.is_blind else list(self._cut)
        return "\n".join([*first, *table, chosen_in_words, *self._apart, paid])

    @property
    def _sees(self) -> str:
        """How many people its looks could have seen."""
        costs = [look.guarantee for look in self.looks]
        least = min((cost.stated_epsilon for cost in costs if isinstance(cost, PureDP)), default=Fraction(1))
        return f"It would see about {math.ceil(_SEEN / least):,} people who are alike, or more who are not."

    @property
    def _cut(self) -> Iterator[str]:
        """That the limits leave out much, if the look says so."""
        if (cut := self.considered[0].left_out) > MUCH:
            of = (
                "the sums" if all(isinstance(each, Total) for each in self.question.aggregates.values()) else "all rows"
            )
            yield f"More than {MUCH:.0%} of {of} is expected to be left out: about {cut:.0%}. No interval shows that."

    @property
    def _apart(self) -> Iterator[str]:
        """Columns that would do much better with limits of their own."""
        best = self.considered[0]
        for name in best.regrets if len(best.regrets) > 1 else ():
            alone = min(self.considered, key=lambda each: each.regrets[name])
            if (times := best.regrets[name] / alone.regrets[name]) > _APART:
                limits = f"max_groups={alone.max_groups}, max_rows_per_group={alone.max_rows_per_group}"
                yield f"{name} alone would be about {times:.1f} times as exact, with {limits}. Ask for it by itself."


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
    groups = 1 if query.public_keys is None else query.public_keys.num_rows
    asked = ReleasedLooks(query, unit, of_values)
    choice: Choice = chosen(asked, question.aggregates, unit, groups, price, part)
    best = choice.considered[0]
    limits = replace(unit, max_groups=best.max_groups, max_rows_per_group=best.max_rows_per_group)
    better = _with_limits(question, limits, best.bounds)
    looks = tuple(asked.releases)
    return Suggestion(better, limits, best.bounds, choice.considered, looks, choice.left, choice.is_blind)


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


@dataclass(frozen=True)
class ReleasedLooks:
    """Looks that are releases: of a table of persons, in which each has one row."""

    query: Query
    unit: Person
    of_values: Mapping[str, Total | Mean]
    releases: list[TableRelease] = field(default_factory=list)

    def by_rows(self, edges: Sequence[Sequence[int]], epsilon: Fraction) -> Floats:
        named = dict(zip((_ROWS, _GROUPS), edges, strict=False))
        return self._counted(self._one_group_each({}), named, epsilon)

    def by_totals(
        self, name: str, edges: Sequence[float], groups: Sequence[Sequence[int]], epsilon: Fraction
    ) -> Floats:
        one = self._one_group_each(self._sum_of(name))
        return self._counted(
            _clamped(one, Column(_TOTAL), edges), {_VALUE: edges, **dict(zip([_GROUPS], groups, strict=False))}, epsilon
        )

    def by_values(self, name: str, edges: Sequence[float], epsilon: Fraction) -> Floats:
        one = _clamped(_of_one_row(self.query, self.unit), self.of_values[name].of, edges)
        return self._counted(one, {_VALUE: edges}, epsilon)

    def leans(self, name: str, edges: Sequence[int], ends: tuple[float, float], epsilon: Fraction) -> Floats:
        """A person adds between plus and minus half the distance of the ends to one of the sums."""
        middle, most = sum(ends) / 2, (ends[1] - ends[0]) / 2
        one = self._one_group_each(self._sum_of(name))
        above = _clamped(one, Column(_TOTAL) / Column(_ROWS) - middle, (-most, most))
        look = above.group_by(bins(_ROWS, edges)).agg(above=added(_VALUE, bounds=(-most, most)))
        return self._released(look, "above", epsilon)

    def _sum_of(self, name: str) -> dict[str, Sum]:
        aggregate = self.of_values[name]
        return {_TOTAL: Sum(aggregate.of, aggregate.lattice)}

    def _counted(self, one: Query, edges: Mapping[str, Sequence[float]], epsilon: Fraction) -> Floats:
        """How many people are in each bin: a person is in one of them."""
        by = one.group_by(*(bins(name, list(of)) for name, of in edges.items()))
        return self._released(by.agg(people=count_people()), "people", epsilon)

    def _released(self, look: Question, name: str, epsilon: Fraction) -> Floats:
        release = look.release(epsilon=epsilon)
        self.releases.append(release)
        return np.array(release.value.column(name).to_pylist(), dtype=np.float64)

    def _one_group_each(self, sums: Mapping[str, Sum]) -> Query:
        """A row of each person: the groups they have, their rows in one of them, and sums of their values in it."""
        query, unit = self.query, self.unit
        if unit.column in (_GROUPS, _ROWS, _VALUE, _TOTAL):
            raise ParameterError(f"the column {unit.column!r} of persons has a name that suggest uses. Rename it.")
        table = Question(query, {"people": count_people()})._of_any_limits.one_group_each(_GROUPS, _ROWS, sums)
        one = _of_one_row(query, unit, _table=table, domains={})
        return one._with(call="", origin=replace(one.origin, _source=replace(query.origin._source, refused={})))


def _clamped(query: Query, of: Expression, ends: Sequence[float]) -> Query:
    """With the values, none of which is outside of the ends."""
    low, high = ends[0], ends[-1]
    return query.with_columns(**{_VALUE: if_else(of >= high, high, if_else(of <= low, low, of))})
