"""Limits and bounds that a small part of the price buys: private histograms first, then a choice that costs nothing.

Each look is a question like any other, asked by `Question.release`: charged first, certified, under the adjacency of
the dataset. It is asked of a table with one row for each person, which is a function of that person's rows alone
(`BoundedTable.one_group_each`), or of one row of each person; so a person moves one count of a histogram by 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.engine.aggregate import Aggregate
from dither.engine.binning import bins
from dither.engine.distribution_aggregates import histogram
from dither.engine.limit_choice import Shapes, ValueSpread, Weighed, looked_at, weighed, with_tail
from dither.engine.moment_aggregates import Mean, Total, count_people
from dither.engine.question import Question
from dither.errors import ParameterError
from dither.exact import Number, check, in_words, rational, rounded
from dither.ledger import Entry
from dither.tables import Expression, if_else
from dither.unit import Person, TableUnit

if TYPE_CHECKING:
    from dither.engine.query import Query
    from dither.engine.table_release import TableRelease

__all__ = ["Suggestion", "suggested"]

_GROUPS, _ROWS = "groups of a person", "rows in one group"
_MOST = 1 << 16
_OCTAVES = 24
_FINE = 4
"""Bins of an octave where there is one group, and a look has room for them."""
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

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> trips = pa.table({"driver": [each // 20 for each in range(40_000)], "fare": [12.5] * 40_000})
    >>> unit = dp.Person("driver")
    >>> data = dp.Dataset(trips, unit=unit, budget=dp.PureDP(1), ledger="trips.ledger", identity="trips")
    >>> suggestion = data.suggest(data.agg(trips=dp.count()), epsilon=1)
    >>> 12 <= suggestion.unit.max_rows_per_group <= 32
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
        return "\n".join([*table, "; ".join(chosen) + ".", paid])


def suggested(question: Question, epsilon: Number, share: Number) -> Suggestion:
    """Look, then choose: `share` of `epsilon` is charged now, and the rest is for the question."""
    price, part = rational(epsilon, "epsilon"), rational(share, "share")
    check.positive(epsilon=price)
    check.between(0, 1, share=part)
    query, unit = question.query, question.query.origin.unit
    if not isinstance(unit, Person):
        raise ParameterError("suggest chooses limits of persons: unit=dp.Person('user_id'). Here each row is its own.")
    if query.keys and query.public_keys is None:
        raise ParameterError("suggest needs to know the groups. Make them public: group_by(..., keys=[...]).")
    of_values = {name: each for name, each in question.aggregates.items() if isinstance(each, Total | Mean)}
    looks = 1 + len(of_values)
    each = price * part / looks
    shapes, first = _shapes(query, unit, each)
    spreads, others = {}, []
    for name, aggregate in of_values.items():
        spreads[name], look = _spread(query, unit, aggregate, each)
        others.append(look)
    groups = 1 if query.public_keys is None else query.public_keys.num_rows
    left = price * (1 - part)
    ranked = weighed(question.aggregates, spreads, shapes, unit, groups, left)
    best = ranked[0]
    chosen = replace(unit, max_groups=best.max_groups, max_rows_per_group=best.max_rows_per_group)
    better = _with_limits(question, chosen, best.bounds)
    return Suggestion(better, chosen, best.bounds, ranked, (first, *others), left)


def _with_limits(question: Question, unit: Person, bounds: Mapping[str, tuple[float, float]]) -> Question:
    """The same question under other limits and bounds: the adjacency, and so the account, stays."""
    query = question.query._with(call="", origin=replace(question.query.origin, unit=unit))
    aggregates: dict[str, Aggregate] = {
        name: replace(each, bounds=bounds[name]) if isinstance(each, Total | Mean) else each
        for name, each in question.aggregates.items()
    }
    return query.agg(**aggregates)


def _of_one_row(query: Query, unit: Person, **changes: Any) -> Query:
    """Rows of which each person has one: everything is asked of these as of any table of persons."""
    origin = replace(query.origin, unit=Person(unit.column, 1, 1))
    return query._with("one row of each person", call="", origin=origin, keys={}, public_keys=None, **changes)


def _shapes(query: Query, unit: Person, epsilon: Fraction) -> tuple[Shapes, TableRelease]:
    """How many people have so many groups, and so many rows in one of them."""
    if unit.column in (_GROUPS, _ROWS):
        raise ParameterError(f"the column {unit.column!r} of persons has a name that suggest uses. Rename it.")
    table = Question(query, {"people": count_people()})._of_any_limits.one_group_each(_GROUPS, _ROWS)
    source = replace(query.origin._source, refused={})
    one = _of_one_row(query, unit, _table=table, _key_table=None, domains={})
    one = one._with(call="", origin=replace(one.origin, _source=source))
    groups = 1 if query.public_keys is None else query.public_keys.num_rows
    edges = {_ROWS: _edges(_MOST, _FINE if groups == 1 else 1)}
    edges |= {_GROUPS: _edges(groups, 1)} if groups > 1 else {}
    look = one.group_by(*(bins(name, of) for name, of in edges.items())).agg(people=count_people())
    release = look.release(epsilon=epsilon)
    scale, sizes = 1 / float(epsilon), [_middles(of) for of in edges.values()]
    noisy = np.array(release.value.column("people").to_pylist(), dtype=np.float64)
    shape = [len(each) for each in sizes]
    people = np.apply_along_axis(with_tail, 0, noisy.reshape(shape), edges[_ROWS], scale, noisy.size)
    known = people > 0
    grid = [each[known] for each in np.meshgrid(*sizes, indexing="ij")]
    limits = [high - 1 for high in edges[_ROWS][1:-1]] + [_MOST]
    return Shapes(people[known], grid[1] if groups > 1 else np.ones_like(grid[0]), grid[0], limits), release


def _edges(most: int, per_octave: int) -> list[int]:
    """1, 2, 4, … or steps between them, and at last more than there can be."""
    steps = range(per_octave * max(most - 1, 1).bit_length() + 1)
    return [*sorted({round(2 ** (step / per_octave)) for step in steps}), 1 << 62]


def _middles(edges: Sequence[int]) -> Any:
    """The number that stands for each bin of whole numbers: of the last, which has no end, the first."""
    return np.array([*(math.sqrt(low * (high - 1)) for low, high in pairwise(edges[:-1])), edges[-2]])


def _spread(query: Query, unit: Person, aggregate: Total | Mean, epsilon: Fraction) -> tuple[ValueSpread, TableRelease]:
    """How the values of one row of each person are spread over bins that are as wide as they are large."""
    low, high = (float(rational(end, "bounds")) for end in aggregate.bounds)
    edges = _value_edges(low, high)
    of: Expression = if_else(aggregate.of >= high, high, if_else(aggregate.of <= low, low, aggregate.of))
    one = _of_one_row(query, unit, _key_table=None)
    release = one.agg(values=histogram(of, edges)).release(epsilon=epsilon)
    counts = looked_at(release.value.column("values").to_pylist()[0], 1 / float(epsilon))
    ends = np.array(edges)
    return ValueSpread((ends[1:] + ends[:-1]) / 2, counts, (low, high)), release


def _value_edges(low: float, high: float) -> list[float]:
    """Half-octaves on both sides of 0, and the bounds."""
    sizes = [max(abs(low), abs(high)) * 2 ** (-step / 2) for step in range(2 * _OCTAVES)]
    inner = {float(f"{side * size:.6g}") for size in sizes for side in (-1, 1)} | {0.0}
    return sorted({low, high} | {edge for edge in inner if low < edge < high})
