"""A table whose persons contribute a bounded amount, and the exact whole numbers that can be asked of it.

The bounding is done by the engine. Rows are reduced to one row per person and group; each person keeps at most
`max_groups` groups, those with the smallest hashes under a secret salt that is drawn for each release; then groups are
added up. Whole numbers only: no sum depends on the order of the rows, and none can overflow (lattice.py).

Which of the first two steps comes first changes no number, as a hash is that of a person and a group. Few groups hold
most rows many times, so that reducing leaves little to sort; of many public groups a person has few rows in each, and
sorting them first leaves little to reduce. The number of public groups decides, never the data.

**One person moves at most `max_groups` groups, each by at most `most`.** Taking a person away leaves the rows of all
others, and with them their reduced rows and the groups they keep, as they were: hash, rank and reduction look at one
person at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import ParameterError
from dither.tables.engines import Engine
from dither.tables.engines.engine import leaving
from dither.tables.engines.sealed_entry import identity_of
from dither.tables.expression import Expression
from dither.tables.expression_compiler import day, kind_of, missing_column, number, of_kind, shown, with_values
from dither.tables.float_bins import FloatBins
from dither.tables.group_totals import Measure, Reduced
from dither.tables.plain_columns import batch_without_rows
from dither.tables.text_parsing import no_text_is_read
from dither.unit import Person, TableUnit

__all__ = ["BoundedTable", "ExactAggregate"]

_PERSON = "dither person"
_ROWS, _TOTAL, _COUNT, _KEY = "dither rows", " total", " count", "dither key "


@dataclass(frozen=True)
class ExactAggregate:
    """A question to the engine whose answer is exact, and therefore secret. Only the one door may open it."""

    _engine: Engine
    _expression: ir.Table
    _form: int
    """Equal for questions that differ in nothing but the salt."""

    def _rehearse(self) -> None:
        """Refuse it, free of charge, if the engine cannot be asked, or cannot run it on a table without rows."""
        self._engine.ready()
        self._engine.rehearse(self._expression, self._form)

    def _without_rows(self) -> pa.RecordBatch:
        """What the engine answers if there are no rows: the types alone, nothing is asked."""
        return batch_without_rows(leaving(self._expression))

    def _open(self) -> Generator[pa.RecordBatch]:
        """Keys and whole numbers, in batches of groups. Called by `dither.release` alone, after the charge."""
        return self._engine.fetch(self._expression)


@dataclass(frozen=True)
class BoundedTable:
    """Rows, whom they belong to, and the `keys` that group them."""

    engine: Engine
    rows: ir.Table
    unit: TableUnit
    keys: Mapping[str, Expression]
    public_keys: ir.Table | None = None
    """If some or all of `keys` are public, a table of them; other rows are left out before groups are chosen."""
    has_many_groups: bool = False
    """Whether a person is seldom in one group twice, as there are so many: for speed alone."""
    has_types: bool = False
    """Whether columns have types of their own, so that no text is read as a number or a day."""

    def __post_init__(self) -> None:
        if isinstance(self.unit, Person):
            if self.unit.column not in self.rows.columns:
                raise missing_column(self.unit.column, shown(self.rows))
            identity_of(self.rows, self.unit.column)
        typed = with_values(self.rows, _prefixed(self.keys))
        for name in self.keys:
            if kind_of(self._key(typed, name)) == "real":
                raise ParameterError(
                    f"the column {name!r} holds real numbers, and groups need values that repeat. "
                    "Group by public bins of it."
                )

    def _key(self, table: ir.Table, name: str) -> Any:
        """The value of a key, of the kind that the public keys have. The key of a time is its day."""
        value = table[_KEY + name]
        value = day(value) if kind_of(value) == "time" else value
        if self.public_keys is None or name not in self.public_keys.columns:
            return value
        return of_kind(value, kind_of(self.public_keys[name]))

    def totals(self, measures: Mapping[str, Measure], salt: int) -> ExactAggregate:
        """One row per group: its keys and its `measures`."""
        each = self._reduced(measures, salt)
        sums = {name: self.engine.total(each[name]) for name in measures}
        return self._grouped(each, sums, measures)

    def bins(self, of: Expression, bins: FloatBins, salt: int) -> ExactAggregate:
        """One row per group and bin that is not empty: its keys, `dither_bin` and `dither_rows`."""
        rows = self._few_rows(of, salt, lambda value: bins.number(number(value)))
        binned = rows.rename(dither_bin="dither_value")
        counted = binned.group_by([*self.keys, "dither_bin"]).aggregate(dither_rows=binned.count())
        return self._asked(counted, "bins", of, bins)

    def is_whole(self, of: Expression) -> bool:
        """Whether the values are whole numbers or conditions by their type. No row is looked at."""
        return kind_of(with_values(self.rows, {"dither value": of})["dither value"]) in ("whole", "truth")

    def distinct(self, of: Expression, salt: int) -> ExactAggregate:
        """One row per group: its keys and `dither_distinct`, the number of different values."""
        rows = self._few_rows(of, salt)
        return self._grouped(rows, {"dither_distinct": rows["dither_value"].nunique().cast("int64")}, "distinct", of)

    def tally(self, of: Expression, values: pa.Array, salt: int) -> ExactAggregate:
        """One row per group and value that occurs: its keys, `dither_value` and `dither_rows`.

        A row has a value of the kind of the public `values`; that it is one of them is for a filter to see to.
        """
        kind = kind_of(ibis.null(dt.DataType.from_pyarrow(values.type)))
        rows = self._few_rows(of, salt, lambda value: of_kind(value, kind))
        counted = rows.group_by([*self.keys, "dither_value"]).aggregate(dither_rows=rows.count())
        return self._asked(counted, "tally", of, kind)

    def one_group_each(self, groups: str, rows: str) -> ir.Table:
        """One row per person: how many groups they have, and how many rows in one of them, chosen by a hash.

        A table and no question: it is asked under a unit of one row per person. The row of a person is a function of
        that person's rows alone, so that adding or removing them adds or removes one row.
        """
        assert isinstance(self.unit, Person)
        found = self._attributed({})
        each = found.group_by([_PERSON, *self.keys]).aggregate(**{rows: found.count().cast("int64")})
        own = ibis.window(group_by=each[_PERSON])
        each = each.mutate(**{groups: each.count().over(own).cast("int64")})
        one = self._first(each, [_PERSON], list(self.keys), 1, 0) if self.keys else each
        return one.select(**{self.unit.column: one[_PERSON], groups: one[groups], rows: one[rows]})

    def _grouped(self, table: ir.Table, totals: Mapping[str, Any], *said: Any) -> ExactAggregate:
        grouped = table.group_by(list(self.keys)).aggregate(**totals) if self.keys else table.aggregate(**totals)
        return self._asked(grouped, *said)

    def _asked(self, question: ir.Table, *said: Any) -> ExactAggregate:
        """The question, and its form: the table and what was `said` of it."""
        if self.has_types:
            no_text_is_read(question)
        known = None if self.public_keys is None else self.public_keys.op()
        form = hash((self.rows.op(), self.unit, repr(self.keys), known, self.has_many_groups, repr(said)))
        return ExactAggregate(self.engine, question, form)

    def _attributed(self, wanted: Mapping[str, Expression]) -> ir.Table:
        """Rows of a known person in a wanted group: who, the keys, and the wanted values."""
        table = with_values(self.rows, {**_prefixed(self.keys), **wanted})
        who = {_PERSON: identity_of(table, self.unit.column)} if isinstance(self.unit, Person) else {}
        values = {**who, **{key: self._key(table, key) for key in self.keys}, **{name: table[name] for name in wanted}}
        table = table.select(**values or {_ROWS: ibis.literal(1)})  # rows that are only counted, and by nothing
        if who:
            table = table.filter(table[_PERSON].notnull())
        if self.public_keys is not None:
            same = [self.engine.same(table[key], self.public_keys[key]) for key in self.public_keys.columns]
            table = table.semi_join(self.public_keys, list(itertools.chain(*same)))
        return table

    def _reduced(self, measures: Mapping[str, Measure], salt: int) -> ir.Table:
        """One row per person and group, of few groups of each, with the person's contribution to each measure."""
        rows = self._attributed({name: measure.of for name, measure in measures.items() if measure.of is not None})
        brought = {name: measure.row(rows[name]) for name, measure in measures.items() if measure.of is not None}
        rows = rows.mutate(**brought) if brought else rows
        one = ibis.literal(1, type="int64")
        if not isinstance(self.unit, Person):
            single = {
                name: Reduced(one, rows[name].notnull().ifelse(1, 0), rows[name].fill_null(0)) if name in brought
                else Reduced(one, one, one)
                for name in measures
            }  # fmt: skip
            return rows.select(*self.keys, **{name: measures[name].contribution(single[name], 1) for name in measures})
        rows = self._few_groups(rows, salt, ibis.dense_rank) if self.has_many_groups else rows
        sums: dict[str, Any] = {_ROWS: rows.count().cast("int64")}
        for name in brought:
            # Sums of 32 bits are kept in 64, those of 64 in 128 (DuckDB) or in decimals (PostgreSQL).
            total = rows[name].cast("int32").sum().fill_null(0).cast("int64")
            sums |= {name + _TOTAL: total, name + _COUNT: rows[name].count()}
        each = rows.group_by([_PERSON, *self.keys]).aggregate(**sums)
        persons = {
            name: Reduced(each[_ROWS], *(each[name + part] if name in brought else one for part in (_COUNT, _TOTAL)))
            for name in measures
        }
        limit = self.unit.stated("max_rows_per_group")
        contributions = {name: measures[name].contribution(persons[name], limit) for name in measures}
        each = each.select(_PERSON, *self.keys, **contributions)
        return each if self.has_many_groups else self._few_groups(each, salt)

    def _few_groups(self, table: ir.Table, salt: int, rank: Callable[[], Any] = ibis.row_number) -> ir.Table:
        """What belongs to at most `max_groups` groups of each person, by the smallest hashes."""
        if not isinstance(self.unit, Person) or not self.keys:
            return table
        return self._first(table, [_PERSON], list(self.keys), self.unit.stated("max_groups"), salt, rank)

    def _few_rows(self, of: Expression, salt: int, read: Callable[[Any], Any] = lambda value: value) -> ir.Table:
        """Single rows with a value, as it is `read`: of each person few groups, and few rows in each of them."""
        rows = self._attributed({"dither_value": of})
        rows = rows.mutate(dither_value=read(rows["dither_value"]))
        rows = rows.filter(rows["dither_value"].notnull())
        if not isinstance(self.unit, Person):
            return rows
        limit = self.unit.stated("max_rows_per_group")
        rows = self._first(rows, [_PERSON, *self.keys], ["dither_value"], limit, salt)
        if not self.keys:
            return rows
        groups = rows.select(_PERSON, *self.keys).distinct()
        kept = self._few_groups(groups, salt)
        same = [self.engine.same(rows[name], kept[name]) for name in self.keys]
        return rows.semi_join(kept, [rows[_PERSON] == kept[_PERSON], *itertools.chain(*same)])

    def _first(
        self,
        table: ir.Table,
        within: list[str],
        among: list[str],
        limit: int,
        salt: int,
        rank: Callable[[], Any] = ibis.row_number,
    ) -> ir.Table:
        """The first `limit` by their hash within each combination; equal hashes by the values themselves.

        By the hash alone, DuckDB would find them by an aggregate with heaps, at twice the time and memory or more.
        """
        order = [self.engine.hash([table[name] for name in (*within, *among)], salt), *(table[name] for name in among)]
        window = ibis.window(group_by=[table[name] for name in within], order_by=order)
        ranked = table.mutate(dither_rank=rank().over(window))
        return ranked.filter(ranked["dither_rank"] < limit).drop("dither_rank")


def _prefixed(keys: Mapping[str, Expression]) -> dict[str, Expression]:
    """Under names of their own, as a key may have the name of a column that is used as well."""
    return {_KEY + name: expression for name, expression in keys.items()}
