"""Questions to a dataset, built step by step. Nothing is asked until `release`."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.answer import TableRelease
from dither.engine.drawing import aligned, key_table, noisy_batches
from dither.engine.plan import Plan, Price, planned
from dither.errors import ParameterError
from dither.exact import Number
from dither.release import Door, fresh_salt
from dither.tables import BoundedTable, Column, Expression, Source, with_values
from dither.unit.contribution import Person, TableUnit

__all__ = ["Origin", "Query", "Question"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, whom they protect, and the way out."""

    source: Source
    unit: TableUnit
    door: Door


@dataclass(frozen=True)
class Query:
    """Rows of a dataset, filtered, extended and grouped."""

    origin: Origin = field(repr=False)
    table: Any = field(repr=False)
    """The rows, as an expression of Ibis."""
    keys: Mapping[str, Expression] = field(default_factory=dict)
    public_keys: pa.Table | None = None
    words: tuple[str, ...] = ()
    """What was asked so far, for the ledger."""

    def _with(self, **changes: Any) -> Query:
        fields = {name: getattr(self, name) for name in ("origin", "table", "keys", "public_keys", "words")}
        return Query(**{**fields, **changes})

    def where(self, *conditions: Expression) -> Query:
        """Only the rows for which all conditions hold; a condition on a missing value does not."""
        table = self.table
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise ParameterError("where takes conditions such as dp.col('age') >= 18.")
            table = with_values(table, {"dither where": condition})
            if not table["dither where"].type().is_boolean():
                raise ParameterError(f"where takes conditions, and {condition} is none.")
            table = table.filter(table["dither where"].fill_null(False)).drop("dither where")
        return self._with(table=table, words=(*self.words, *(f"where {each}" for each in conditions)))

    def with_columns(self, **columns: Expression) -> Query:
        """The rows with new columns, each computed from its own row. The column of persons cannot be replaced."""
        unit = self.origin.unit
        for name, expression in columns.items():
            if isinstance(unit, Person) and name == unit.column:
                raise ParameterError(f"the column {name!r} tells persons apart and cannot be replaced.")
            if not isinstance(expression, Expression):
                raise ParameterError(f"with_columns takes expressions such as dp.col('price') * 2; {name!r} is none.")
        words = tuple(f"with {name} = {expression}" for name, expression in columns.items())
        return self._with(table=with_values(self.table, columns), words=(*self.words, *words))

    def group_by(self, *columns: str, keys: Any = None) -> Query:
        """One answer per combination of values of `columns`.

        `keys` are the groups, if they are public: a list of values (or of tuples, for several columns), a dictionary
        of lists (all combinations), or a table with these columns. All of them are in the answer, also those without
        rows. Without keys, groups are found in the data, and only those with enough people are shown.
        """
        if self.keys:
            raise ParameterError("this query has groups already. Name all columns in one group_by.")
        if not columns or len(set(columns)) != len(columns):
            raise ParameterError("group_by takes one or more different column names.")
        public = None if keys is None else key_table(columns, keys)
        words = f"by {', '.join(columns)}" + ("" if public is None else f" for {public.num_rows} public keys")
        return self._with(keys={name: Column(name) for name in columns}, public_keys=public, words=(*self.words, words))

    def agg(self, **aggregates: Aggregate) -> Question:
        """What to ask of each group."""
        if not aggregates:
            raise ParameterError("agg takes one or more aggregates, such as visits=dp.count().")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise ParameterError(f"{name} must be an aggregate such as dp.count(), got {type(aggregate).__name__}.")
            if name in self.keys:
                raise ParameterError(f"{name!r} is a key of the groups. Give the aggregate another name.")
        return Question(self, aggregates)


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
        noise: str | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
    ) -> Plan:
        """What a release at this price would do. Nothing is spent and no data is touched."""
        query = self.query
        found = bool(query.keys) and query.public_keys is None
        price = Price.of(epsilon, delta, rho)
        return planned(self.aggregates, query.origin.unit, bool(query.keys), found, price, weights or {}, noise, level)

    def release(self, *, key: str | None = None, **price: Any) -> TableRelease:
        """Charge the ledger, then answer: a table with the keys, the values and their intervals."""
        plan = self.plan(**price)
        query = self.query
        names = {part: f"dither m{index}" for index, part in enumerate(plan.parts)}
        bounded = self._bounded()
        measures = {names[part]: plan.parts[part].measure for part in plan.parts}
        exact = bounded.totals(measures, fresh_salt())

        def draw(batches: Sequence[Any]) -> pa.Table:
            (groups,) = batches
            if query.public_keys is not None:
                groups = [aligned(query.public_keys, groups, list(names.values()))]
            drawn = list(noisy_batches(plan, names, list(query.keys), groups))
            return pa.concat_tables(drawn)

        table, entry = query.origin.door.release(plan.event, plan.cost, self.words, [exact], draw, key=key, by=_user())
        return TableRelease(table, plan.event, plan.cost, plan, entry)

    @property
    def words(self) -> str:
        """The question, for the ledger and the certificate."""
        asked = ", ".join(f"{name} = {aggregate}" for name, aggregate in self.aggregates.items())
        return "; ".join((*self.query.words, asked))

    def _bounded(self) -> BoundedTable:
        query = self.query
        engine = query.origin.source.engine
        public = None
        if query.public_keys is not None:
            public = engine.upload(query.public_keys)
        return BoundedTable(engine, query.table, query.origin.unit, query.keys, public)


def _user() -> str:
    """Who asks, as the operating system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
