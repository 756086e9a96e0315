"""Questions to a dataset, built step by step. Nothing is asked until `release`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.binning import Bins
from dither.engine.distribution_aggregates import Edge
from dither.engine.group_statistics import Need
from dither.engine.groups import check_values, crossed, fingerprint, public_keys
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.noisy_groups import Drawing, questions
from dither.engine.plan import Plan, noisy_columns, planned
from dither.engine.price import NoiseKind, Terms
from dither.engine.question_text import charged_text, in_quotes
from dither.engine.shortcuts import Shortcuts, Single
from dither.engine.table_release import TableRelease
from dither.errors import ParameterError
from dither.exact import Number, once
from dither.ledger import current_user
from dither.release import Door, fresh_salt
from dither.tables import (
    BoundedTable,
    Column,
    Expression,
    Lattice,
    Source,
    arrow_table,
    columns_of,
    different,
    few_steps,
    filtered,
    joined,
    kinds_of,
    missing_column,
    no_text_is_read,
    not_reserved,
    one_row_each,
    refused_column,
    shown,
    with_values,
)
from dither.unit import Neighbour, Person, TableUnit

__all__ = ["Origin", "Query", "Question"]

_MANY_GROUPS = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, whom they protect, and the way out: no public name leads to the rows past the door."""

    _source: Source
    unit: TableUnit
    door: Door


@dataclass(frozen=True)
class Query(Shortcuts):
    """Rows of a dataset, filtered, extended and grouped."""

    origin: Origin = field(repr=False)
    _table: Any = field(repr=False)
    """The rows, as an expression of Ibis."""
    keys: Mapping[str, Expression] = field(default_factory=dict)
    public_keys: pa.Table | None = None
    _key_table: Any = field(default=None, repr=False)
    """The public keys, in the engine."""
    words: tuple[str, ...] = ()
    """What was asked so far, for the ledger."""

    def __repr__(self) -> str:
        """What was asked so far. Of the source its name alone."""
        return f"Query({'; '.join((repr(self.origin.door.account), *self.words))})"

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns and their kinds, which are public: whole, real, text, truth or date.

        In a CSV file all are texts, read as numbers or days where these are needed. A column of another type is named
        by that type, and cannot be used.
        """
        return {**self.origin._source.refused, **kinds_of(self._table)}

    def _mentions(self, *said: str | Expression | None) -> None:
        """Refuse columns of the source that did not enter, by name and type."""
        refused = self.origin._source.refused
        for each in said:
            names = columns_of(each) if isinstance(each, Expression) else {str(each)}
            for name in names & refused.keys() - set(self._table.columns):
                raise refused_column(name, refused[name])

    def _with(self, *words: str, **changes: Any) -> Query:
        if "_table" in changes:
            few_steps(changes["_table"])
            if self.origin._source.has_types:
                no_text_is_read(changes["_table"])
        fields = {name: getattr(self, name) for name in ("origin", "_table", "keys", "public_keys", "_key_table")}
        return Query(**{**fields, **changes}, words=(*self.words, *words))

    def _rows(self, verb: str) -> None:
        if self.keys:
            raise ParameterError(f"{verb} is about rows, and this query has groups already. Say it before group_by.")

    def where(self, *conditions: Expression) -> Query:
        """Only the rows for which all conditions hold; a condition on a missing value does not."""
        self._rows("where")
        table = self._table
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise ParameterError("where takes conditions such as dp.col('age') >= 18.")
            self._mentions(condition)
            table = filtered(table, condition)
        return self._with(*(f"where {each}" for each in conditions), _table=table)

    def with_columns(self, **columns: Expression) -> Query:
        """The rows with new columns, each computed from its own row. The column of persons cannot be replaced."""
        self._rows("with_columns")
        unit = self.origin.unit
        for name, expression in columns.items():
            if isinstance(unit, Person) and name == unit.column:
                raise ParameterError(f"the column {name!r} tells persons apart and cannot be replaced.")
            if not isinstance(expression, Expression):
                raise ParameterError(f"with_columns takes expressions such as dp.col('price') * 2; {name!r} is none.")
            not_reserved(name)
            self._mentions(expression)
        words = (f"with {in_quotes(name)} = {expression}" for name, expression in columns.items())
        return self._with(*words, _table=with_values(self._table, columns))

    def join(self, public: Any, on: str) -> Query:
        """The rows with the columns of a public table, found by the column `on`; NULL where it has no such row.

        `public` is a table of pandas, Polars or Arrow in which every value of `on` stands once, so that a row stays
        one row. It must really be public: it is not protected.
        """
        self._rows("join")
        self._mentions(on)
        known = arrow_table(public)
        table = joined(self.origin._source.engine, self._table, known, on)
        return self._with(f"join the public table {fingerprint(known)} on {in_quotes(on)}", _table=table)

    def per_person(self, **columns: Aggregate) -> Query:
        """One row per person, with what these aggregates give within the person: no noise, nothing is released.

        `count`, `sum`, `mean`, `min` and `max` may be asked, and are exact here. From then on a person is one row in
        one group.

        A person's other columns are gone, as they may have had several values.
        """
        self._rows("per_person")
        unit = self.origin.unit
        if not isinstance(unit, Person):
            raise ParameterError("per_person needs persons: unit=dp.Person('user_id'). Here each row is its own.")
        if not columns:
            raise ParameterError("per_person takes one or more aggregates, such as visits=dp.count().")
        asked = {name: _within_person(name, aggregate) for name, aggregate in columns.items()}
        self._mentions(*(of for _, of, _ in asked.values()))
        origin = replace(self.origin, unit=Person(unit.column), _source=replace(self.origin._source, refused={}))
        words = _asked(columns)
        table = one_row_each(self._table, unit.column, asked)
        return self._with(f"per person {words}", origin=origin, _table=table)

    def group_by(self, *columns: str | Bins | Sequence[str | Bins], keys: Any = None) -> Query:
        """One answer per combination of values of `columns`: names, or public bins such as dp.bins("age", [0, 18, 99]).

        `keys` are the groups, if they are public: a list of values (or of tuples, for several columns), a dictionary
        of lists (all combinations), or a table with these columns. All of them are in the answer, also those without
        rows. Without keys, groups are found in the data, and only those with enough people are shown. Bins are public
        already: keys speak of the columns that are not binned.
        """
        self._rows("group_by")
        by: tuple[Any, ...] = columns
        if len(columns) == 1 and isinstance(columns[0], list | tuple):
            by = tuple(columns[0])
        names = [each.name if isinstance(each, Bins) else each for each in by]
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise ParameterError("group_by takes one or more different column names or bins.")
        different((), names)
        for name in names:
            not_reserved(name)
        binned = [each for each in by if isinstance(each, Bins)]
        plain = [each for each in by if isinstance(each, str)]
        if keys is not None and not plain:
            raise ParameterError("bins are public already: leave keys=... out.")
        public = public_keys(plain, keys) if keys is not None else None
        table = self._table
        self._mentions(*plain, *(each.of for each in binned))
        for name in plain:
            if name not in table.columns:
                raise missing_column(name, shown(table))
        made: dict[str, Expression] = {name: Column(name) for name in plain}
        for each in binned:
            table = filtered(table, each.within)
            made[each.name] = each.label
        if binned and (public is not None or not plain):
            known = [public] if public is not None else []
            public = crossed([*known, *(pa.table({each.name: each.values}) for each in binned)]).select(names)
        said, uploaded = f"by {', '.join(map(_by, by))}", None
        if public is not None:
            said += f" for {public.num_rows} public keys {fingerprint(public)}"
            uploaded = self.origin._source.engine.upload(public)
        ordered = {name: made[name] for name in names}
        return self._with(said, _table=table, keys=ordered, public_keys=public, _key_table=uploaded)

    def agg(self, **aggregates: Aggregate) -> Question:
        """What to ask of each group."""
        if not aggregates:
            raise ParameterError("agg takes one or more aggregates, such as visits=dp.count().")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise ParameterError(f"{name} must be an aggregate such as dp.count(), got {type(aggregate).__name__}.")
            not_reserved(name)
        shown = [*self.keys, *(f"{name}{end}" for name in aggregates for end in ("", "_low", "_high"))]
        for name in shown:
            if shown.count(name) > 1:
                raise ParameterError(f"two columns of the answer would be called {name!r}. Rename one.")
        if self.public_keys is not None:
            check_values(self.public_keys.num_rows, sum(aggregate.width for aggregate in aggregates.values()))
        question = Question(self, aggregates)
        question.check()
        return question

    def _all_rows(self, aggregate: Aggregate, terms: Terms) -> Single:
        if self.keys:
            raise ParameterError("this is a question about all rows, and there are groups. Use agg(...).release(...).")
        return Single.from_table(self.agg(value=aggregate)._release(terms))


@dataclass(frozen=True)
class Question:
    """A query with its aggregates: plan it, then release it."""

    query: Query
    aggregates: Mapping[str, Aggregate]

    def plan(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
    ) -> Plan:
        """Say what a release at this price would do; `print` it. Nothing is spent and no data is touched.

        The parameters are those of `release`.

        Returns
        -------
        Plan
            The noise, the share of the price and the expected error of each column.
        """
        return self._plan(Terms(epsilon, delta, rho, noise, weights, level, population))

    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        key: str | None = None,
    ) -> TableRelease:
        """Charge the ledger, then answer: a table with the keys, the values and their intervals.

        Parameters
        ----------
        epsilon : Number, optional
            The privacy loss ε that the release may cost.
        delta : Number, optional
            The δ that goes with ε: for groups and values that are found in the data, and for Gaussian noise.
        rho : Number, optional
            The cost in zero-concentrated differential privacy, instead of ε and δ.
        noise : {"laplace", "gaussian"}, optional
            The kind of noise; by default the one with the smaller error.
        weights : mapping of str to Number, optional
            How columns share the price, by their names; 1 each unless given.
        level : Number, default 0.95
            The level of the intervals. They hold the exact value of the bounded table.
        population : bool, default False
            Whether the intervals are to hold the mean of the population that the rows were drawn from independently.
        key : str, optional
            Under a key, the same question is answered by the same bytes, and charged once.

        Returns
        -------
        TableRelease
            The answers. They may be shown to anyone.

        Raises
        ------
        ParameterError
            If the price is not given in one of the ways, or does not fit the question.
        OverBudget
            If the budget does not cover it; then nothing is charged.
        """
        return self._release(Terms(epsilon, delta, rho, noise, weights, level, population, key))

    def _plan(self, terms: Terms) -> Plan:
        found = bool(self.query.keys) and self.query.public_keys is None
        return planned(self.aggregates, self.neighbour, found, terms)

    def _release(self, terms: Terms) -> TableRelease:
        plan = self._plan(terms)
        query = self.query
        drawing = Drawing(plan, list(query.keys), query.public_keys)
        exact = drawing.questions(self._bounded, fresh_salt)
        door = query.origin.door
        by = current_user()
        with query.origin._source.engine.asking():
            parts, entry = door.release(plan.event, plan.cost, self.words, exact, drawing.draw, key=terms.key, by=by)
        return TableRelease.of(parts, plan, entry)

    @property
    def words(self) -> str:
        """The question and who is protected, for the ledger and the certificate."""
        return charged_text("; ".join((*self.query.words, _asked(self.aggregates))), str(self.neighbour))

    @property
    def neighbour(self) -> Neighbour:
        """How far a neighbouring table may be."""
        return Neighbour.of(self._unit, grouped=bool(self.query.keys))

    @property
    def _unit(self) -> TableUnit:
        """The privacy unit; of public groups no more than there are. Contribution bounding and noise both follow it."""
        unit, public = self.query.origin.unit, self.query.public_keys
        return unit if public is None else unit.among(public.num_rows)

    def check(self) -> None:
        """Refuse columns that do not exist or are of the wrong type. No data is touched."""
        needs: dict[str, Need] = {}
        for aggregate in self.aggregates.values():
            self.query._mentions(getattr(aggregate, "of", None))
            needs |= aggregate.needs
        columns = noisy_columns(needs)
        questions({columns[key]: need for key, need in needs.items()}, self._bounded, lambda: 0)

    @once
    def _bounded(self) -> BoundedTable:
        query, public = self.query, self.query.public_keys
        return BoundedTable(
            query.origin._source.engine,
            query._table,
            self._unit,
            query.keys,
            query._key_table,
            has_many_groups=public is not None and public.num_rows >= _MANY_GROUPS,
            has_types=query.origin._source.has_types,
        )


def _within_person(name: str, aggregate: Any) -> tuple[str, Expression | None, Lattice | None]:
    if isinstance(aggregate, Count) and not aggregate.people:
        return "count", None, None
    if isinstance(aggregate, Total | Mean | Edge):
        return aggregate.verb, aggregate.of, aggregate.lattice
    raise ParameterError(f"per_person knows count, sum, mean, min and max; {name!r} is none of these.")


def _by(column: str | Bins) -> str:
    if isinstance(column, str):
        return in_quotes(column)
    is_told = isinstance(column.of, Column) and column.of.name == column.name
    return str(column) if is_told else f"{column} as {in_quotes(column.name)}"


def _asked(aggregates: Mapping[str, Aggregate]) -> str:
    return ", ".join(f"{in_quotes(name)} = {aggregate}" for name, aggregate in aggregates.items())
