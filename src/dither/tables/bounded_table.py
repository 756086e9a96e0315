"""A table whose persons contribute a bounded amount, and the exact whole numbers that can be asked of it.

The bounding is done by the engine. Rows are reduced to one row per person and group; each person keeps at most
`max_groups` groups, those with the smallest hashes under a secret salt that is drawn for each release (where there are
several sets of groups, so many of each set that they add up to `max_groups`); then groups are added up. Whole numbers
only: no sum depends on the order of the rows, and none can overflow (lattice.py).

Which of the first two steps comes first changes no number, as a hash is that of a person and a group. Few groups hold
most rows many times, so that reducing leaves little to sort; of many public groups a person has few rows in each, and
sorting them first leaves little to reduce. The number of public groups decides, never the data; where groups are found,
they are taken for many.

**One person moves at most `max_groups` groups, each by at most `most`.** Taking a person away leaves the rows of all
others, and with them their reduced rows and the groups they keep, as they were: hash, rank and reduction look at one
person at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa
from ibis import _

from dither.errors import ParameterError
from dither.tables.database_engines import Engine
from dither.tables.database_engines.engine import leaving
from dither.tables.database_engines.sealed_entry import columns_of_table, identity_of, of_each_row
from dither.tables.exact_totals import Measure, Reduced, Sum, Values
from dither.tables.expression import Expression
from dither.tables.expression_compiler import (
    day,
    different,
    kind_of,
    missing_column,
    number,
    of_kind,
    one_value,
    shown,
    whole_of,
    with_values,
)
from dither.tables.float_bins import FloatBins
from dither.tables.lost_to_limits import Cut, steps_of_persons, steps_of_rows, wanted_by
from dither.tables.octave_bins import OctaveBins
from dither.tables.plain_columns import batch_without_rows
from dither.tables.text_parsing import no_text_is_read
from dither.unit import Person, TableUnit

__all__ = ["PERSON", "BoundedTable", "ColumnTypes", "ExactAggregate", "Levels"]

PERSON = "dither person"
"""The column of who it is, where persons are told apart."""
_PACKED, _PACKED_BINS = 1 << 31, 1 << 24
"""So many values of a hash stand before so many bins, from −2^23 on, in one whole number."""
_ROWS, _TOTAL, _COUNT, _KEY, _VALUE = "dither rows", " total", " count", "dither key ", "dither value "


@dataclass(frozen=True)
class ExactAggregate:
    """A question to the engine whose answer is exact, and therefore secret. Only the release path may open it."""

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
class Levels:
    """Sets of groups in one question: `column` is the key that says which set, and in each a person has so many."""

    column: str
    max_groups: tuple[int, ...]

    def limit(self, table: ir.Table) -> Any:
        """How many groups of a person count in the set of each row."""
        return ibis.cases(*((table[self.column] == at, limit) for at, limit in enumerate(self.max_groups)), else_=0)


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
    levels: Levels | None = None
    """Where there are several sets of groups: their limits add up to those of the privacy unit."""
    has_types: bool = False
    """Whether columns have types of their own, so that no text is read as a number or a day."""

    def __post_init__(self) -> None:
        if isinstance(self.unit, Person):
            if self.unit.column not in self.rows.columns:
                raise missing_column(self.unit.column, shown(self.rows))
            identity_of(self.rows, self.unit.column)
        different(self.rows.columns, _prefixed(self.keys))
        for name, of in self.keys.items():
            if kind_of(self._key(one_value(self.rows, of), name)) == "real":
                raise ParameterError(
                    f"the column {name!r} holds real numbers, and groups need values that repeat. "
                    "Group by public bins of it."
                )

    @staticmethod
    def keys_of(engine: Engine, public: pa.Table) -> ir.Table:
        """Public keys as the engine has them."""
        return engine.upload(public)

    def _key(self, value: Any, name: str) -> Any:
        """The value of a key, of the kind that the public keys have. The key of a time is its day; arithmetic gives
        real numbers, and those that are whole are the public key of that number."""
        value = day(value) if kind_of(value) == "time" else value
        if self.public_keys is None or name not in self.public_keys.columns:
            return value
        kind = kind_of(self.public_keys[name])
        return whole_of(value) if (kind_of(value), kind) == ("real", "whole") else of_kind(value, kind)

    def totals(self, measures: Mapping[str, Measure], salt: int) -> ExactAggregate:
        """One row per group: its keys and its `measures`."""
        each = self._reduced(measures, salt)
        sums = {name: self.engine.total(each[name]) for name in measures}
        return self._grouped(each, sums, measures)

    def bins(self, of: Expression, bins: FloatBins, salt: int) -> ExactAggregate:
        """One row per group and bin that is not empty: its keys, `dither_bin` and `dither_rows`."""
        rows = self._few_rows(of, salt, number, bins.number)
        binned = rows.rename(dither_bin="dither_value")
        counted = binned.group_by([*self.keys, "dither_bin"]).aggregate(dither_rows=binned.count())
        return self._asked(counted, "bins", of, bins)

    def cells(self, of: Expression, bins: OctaveBins, anchor: float, salt: int) -> ExactAggregate:
        """One row per bin that is not empty, of all groups together: `dither_bin` and `dither_rows`.

        Values are binned by their distance from the public `anchor`. A person is in one bin however many groups and
        rows they have: in that of the row with the smallest hash. So a person moves one count, by one.
        """
        rows = self._attributed({"dither_value": of})
        rows = rows.mutate(dither_value=number(rows["dither_value"]) - anchor)
        rows = bins.numbered(rows.filter(rows["dither_value"].notnull()), "dither_value", "dither_bin")
        if isinstance(self.unit, Person):
            hashed = self.engine.hash([rows[PERSON], rows["dither_value"]], salt)
            packed = (hashed % _PACKED).cast("int64").abs() * _PACKED_BINS + (rows["dither_bin"] + _PACKED_BINS // 2)
            each = rows.mutate(dither_packed=packed).group_by(PERSON).aggregate(dither_first=_.dither_packed.min())
            rows = each.mutate(dither_bin=each["dither_first"] % _PACKED_BINS - _PACKED_BINS // 2)
        counted = rows.group_by("dither_bin").aggregate(dither_rows=rows.count())
        return self._asked(counted, "cells", of, bins, anchor)

    def is_whole(self, of: Expression) -> bool:
        """Whether the values are whole numbers or conditions by their type. No row is looked at."""
        return kind_of(one_value(self.rows, of)) in ("whole", "truth")

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

    def people(self) -> ExactAggregate:
        """One row per person who has a row in a wanted group: `PERSON`. What is secret about it stays secret."""
        return self._asked(self._attributed({}).select(PERSON).distinct(), "people")

    def only(self, people: ir.Table) -> BoundedTable:
        """The rows of these people alone, as `people` gave them."""
        assert isinstance(self.unit, Person)
        same = self.engine.same(identity_of(self.rows, self.unit.column), people[PERSON])
        return replace(self, rows=self.rows.semi_join(people, same))

    def one_group_each(self, groups: str, rows: str, sums: Mapping[str, Sum] | None = None) -> ir.Table:
        """One row per person: how many groups they have, and how many rows in one of them, chosen by a hash.

        And the sums of that person's values in it, as real numbers; NULL where there is no value. A table and no
        question: it is asked under a unit of one row per person. The row of a person is a function of that person's
        rows alone, so that adding or removing them adds or removes one row.
        """
        assert isinstance(self.unit, Person)
        measures = sums or {}
        found = self._attributed({name: measure.of for name, measure in measures.items()})
        found = found.mutate(**{name: measure.row(found[name]) for name, measure in measures.items()})
        brought = {rows: found.count().cast("int64")}
        brought |= {name: measure.real(found[name]) for name, measure in measures.items()}
        each = found.group_by([PERSON, *self.keys]).aggregate(**brought)
        own = ibis.window(group_by=each[PERSON])
        each = each.mutate(**{groups: each.count().over(own).cast("int64")})
        one = self._first(each, [PERSON], list(self.keys), 1, 0) if self.keys else each
        return one.select(one[PERSON].name(self.unit.column), *(groups, *brought))

    def cuts(self, cuts: Sequence[Cut]) -> ExactAggregate:
        """One row for all groups: the sums that tell how much of people limits and bounds cut (lost_to_limits.py)."""
        rows = self._attributed(wanted_by(cuts))
        if isinstance(self.unit, Person):
            limits = self.unit.stated("max_groups") if self.keys else 1, self.unit.stated("max_rows_per_group")
            each = steps_of_persons(rows, cuts, limits, PERSON, list(self.keys))
        else:
            each = steps_of_rows(rows, cuts)
        return self._asked(each.aggregate(**{name: self.engine.total(each[name]) for name in each.columns}), cuts)

    def _grouped(self, table: ir.Table, totals: Mapping[str, Any], *said: Any) -> ExactAggregate:
        grouped = table.group_by(list(self.keys)).aggregate(**totals) if self.keys else table.aggregate(**totals)
        return self._asked(grouped, *said)

    def _asked(self, question: ir.Table, *said: Any) -> ExactAggregate:
        """The question, and its form: the table and what was `said` of it."""
        if self.has_types:
            no_text_is_read(question)
        known = None if self.public_keys is None else self.public_keys.op()
        form = hash((self.rows.op(), self.unit, repr(self.keys), known, self.has_many_groups, self.levels, repr(said)))
        return ExactAggregate(self.engine, question, form)

    def _attributed(self, wanted: Mapping[str, Expression]) -> ir.Table:
        """Rows of a known person in a wanted group: who, the keys, and the wanted values."""
        table = with_values(self.rows, {**_prefixed(self.keys), **wanted})
        who = {PERSON: identity_of(table, self.unit.column)} if isinstance(self.unit, Person) else {}
        values = {
            **who,
            **{key: self._key(table[_KEY + key], key) for key in self.keys},
            **{name: table[name] for name in wanted},
        }
        table = of_each_row(table, values or {_ROWS: ibis.literal(1)})  # rows that are only counted, and by nothing
        if who:
            table = table.filter(table[PERSON].notnull())
        if self.public_keys is not None:
            same = [self.engine.same(table[key], self.public_keys[key]) for key in self.public_keys.columns]
            table = table.semi_join(self.public_keys, list(itertools.chain(*same)))
        return table

    def _reduced(self, measures: Mapping[str, Measure], salt: int) -> ir.Table:
        """One row per person and group, of few groups of each, with the person's contribution to each measure."""
        columns, found = {}, dict[str, str]()  # one column for all measures of the same values
        for name, measure in measures.items():
            if measure.of is not None:
                columns[name] = found.setdefault(repr(measure.of), name)
        rows = self._attributed({name: of for name in columns.values() if (of := measures[name].of) is not None})
        same, brought = _brought(measures, {name: rows[column] for name, column in columns.items()}, columns)
        rows = of_each_row(rows, columns_of_table(rows) | brought) if brought else rows
        one = ibis.literal(1, type="int64")
        if not isinstance(self.unit, Person):
            single = {
                name: Reduced(one, rows[same[name]].notnull().ifelse(1, 0), rows[same[name]].fill_null(0))
                if name in same
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
        each = rows.group_by([PERSON, *self.keys]).aggregate(**sums)
        persons = {
            name: Reduced(each[_ROWS], *(each[same[name] + part] if name in same else one for part in (_COUNT, _TOTAL)))
            for name in measures
        }
        limit = self.unit.stated("max_rows_per_group")
        contributions = {name: measures[name].contribution(persons[name], limit) for name in measures}
        each = each.select(PERSON, *self.keys, **contributions)
        return each if self.has_many_groups else self._few_groups(each, salt)

    def _few_groups(
        self, table: ir.Table, salt: int, rank: Callable[[], Any] = ibis.row_number, rows_each: int | None = None
    ) -> ir.Table:
        """What belongs to at most `max_groups` groups of each person, by the smallest hashes.

        With `rows_each` at most so many rows of a group, by the smallest hashes with the value.
        """
        if not isinstance(self.unit, Person) or not self.keys:
            return table
        limit = self.unit.stated("max_groups")
        if self.levels is None:
            return self._first(table, [PERSON], list(self.keys), limit, salt, rank, rows_each)
        assert sum(self.levels.max_groups) <= limit  # so that all sets together hold the limit
        others = [key for key in self.keys if key != self.levels.column]
        return self._first(table, [PERSON, self.levels.column], others, self.levels.limit, salt, rank, rows_each)

    def _few_rows(self, of: Expression, salt: int, *reads: Callable[[Any], Any]) -> ir.Table:
        """Single rows with a value, as it is read: of each person few groups, and few rows in each of them.

        Each reading is a step of its own: in one, a bin would write out the value for every comparison that finds it.
        The first may give NULL, and such rows are left out; later ones have a value for each. (Asked of a bin, engines
        would find out the bin twice.) Of each group some row stays, and of each row its whole group, so that both
        limits may be kept at once: by one sort for both.
        """
        rows = self._attributed({"dither_value": of})
        for read in reads[:1]:
            rows = _with_value(rows, read)
        rows = rows.filter(rows["dither_value"].notnull())
        for read in reads[1:]:
            rows = _with_value(rows, read)
        if not isinstance(self.unit, Person):
            return rows
        limit = self.unit.stated("max_rows_per_group")
        if not self.keys:
            return self._first(rows, [PERSON], ["dither_value"], limit, salt)
        return self._few_groups(rows, salt, ibis.dense_rank, limit)

    def _first(
        self,
        table: ir.Table,
        within: list[str],
        among: list[str],
        limit: int | Callable[[ir.Table], Any],
        salt: int,
        rank: Callable[[], Any] = ibis.row_number,
        rows_each: int | None = None,
    ) -> ir.Table:
        """The first `limit` by their hash within each combination; equal hashes by the values themselves.

        By the hash alone, DuckDB would find them by an aggregate with heaps, at twice the time and memory or more.
        With `rows_each`, of each of them the first so many rows by the hash with the value: the place of a row less
        that of the first row of its kind. The order of the one begins with that of the other, so that an engine sorts
        once.
        """

        def ordered(names: list[str]) -> list[Any]:
            return [self.engine.hash([table[name] for name in (*within, *names)], salt), *(table[n] for n in names)]

        def placed(of: Any, order: list[Any]) -> Any:
            return of.over(ibis.window(group_by=[table[name] for name in within], order_by=order))

        order = ordered(among)
        places = {"dither_rank": placed(rank(), order)}
        if rows_each is not None:
            finer = [*order, *ordered([*among, "dither_value"])]
            places["dither_row"] = placed(ibis.row_number(), finer) - placed(ibis.rank(), order)
        ranked = table.mutate(**places)
        limit = limit(ranked) if callable(limit) else limit
        kept = ranked.filter(ranked["dither_rank"] < limit)
        if rows_each is not None:
            kept = kept.filter(kept["dither_row"] < rows_each)
        return kept.drop(*places)


class ColumnTypes(BoundedTable):
    """Rows of which questions are built to check names and types, and are not asked.

    Nothing is bounded, added up or put into bins: only the values of single rows are built, of which all else is made.
    Building the rest takes longer than reading a text of SQL.
    """

    @staticmethod
    def keys_of(engine: Engine, public: pa.Table) -> ir.Table:
        """A table of their names and types."""
        return ibis.table(ibis.Schema.from_pyarrow(public.schema), name="dither keys")

    def totals(self, measures: Mapping[str, Measure], salt: int) -> ExactAggregate:
        """What rows bring to the measures."""
        values = {repr(each.of): each.of for each in measures.values() if each.of is not None}
        known = {said: one_value(self.rows, of) for said, of in values.items()}
        return self._of_rows(*(each.row(known[repr(each.of)]) for each in measures.values() if each.of is not None))

    def bins(self, of: Expression, bins: FloatBins, salt: int) -> ExactAggregate:
        """The values that would be put into bins."""
        return self._of_rows(number(one_value(self.rows, of)))

    def cells(self, of: Expression, bins: OctaveBins, anchor: float, salt: int) -> ExactAggregate:
        """The values that would be put into cells."""
        return self._of_rows(number(one_value(self.rows, of)))

    def distinct(self, of: Expression, salt: int) -> ExactAggregate:
        """The values of which the different ones would be counted."""
        return self._of_rows(one_value(self.rows, of))

    def tally(self, of: Expression, values: pa.Array, salt: int) -> ExactAggregate:
        """The values that would be looked for among the public ones."""
        return self._of_rows(
            of_kind(one_value(self.rows, of), kind_of(ibis.null(dt.DataType.from_pyarrow(values.type))))
        )

    def _of_rows(self, *values: Any) -> ExactAggregate:
        keys = [self._key(one_value(self.rows, of), name) for name, of in self.keys.items()]
        brought = {f"{_VALUE}{at}": value for at, value in enumerate((*keys, *values))}
        return self._asked(of_each_row(self.rows, brought or {_ROWS: ibis.literal(1)}))


def _brought(
    measures: Mapping[str, Measure], values: Mapping[str, Any], columns: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """What rows bring to measures, each different number once, and where that of each measure stands.

    A sum and a mean may have the same one; and the values are counted by any number that is NULL where they are.
    """
    found = {name: measures[name].row(value) for name, value in values.items()}
    alike = dict[Any, str]()
    same = {name: alike.setdefault(number.op(), name) for name, number in found.items()}
    summed = {columns[name]: place for name, place in same.items() if not isinstance(measures[name], Values)}
    same |= {
        name: summed.get(columns[name], place) for name, place in same.items() if isinstance(measures[name], Values)
    }
    return same, {name: found[name] for name in dict.fromkeys(same.values())}


def _with_value(rows: ir.Table, read: Callable[[Any], Any]) -> ir.Table:
    """The rows with their value as it is read."""
    return of_each_row(rows, columns_of_table(rows) | {"dither_value": read(rows["dither_value"])})


def _prefixed(keys: Mapping[str, Expression]) -> dict[str, Expression]:
    """Under names of their own, as a key may have the name of a column that is used as well."""
    return {_KEY + name: expression for name, expression in keys.items()}
