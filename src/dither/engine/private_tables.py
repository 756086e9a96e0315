"""The tables of a dataset, how each belongs to people, and what a query is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dither.engine.domains import Domains, domains_of
from dither.errors import ParameterError
from dither.tables import (
    Expression,
    Source,
    attributed,
    check_same_people,
    columns_of,
    different,
    filtered,
    kinds_of,
    owned,
    persons_by_key,
)
from dither.unit import Person, TableUnit

__all__ = ["ForeignKey", "Lineage", "PrivateTable", "foreign_keys_of", "private_tables"]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`table.column` holds values of `parent.key`."""

    table: str
    column: str
    parent: str
    key: str


@dataclass(frozen=True)
class Lineage:
    """What a query is made of: it decides which joins keep people apart, and how far rows may multiply."""

    tables: frozenset[str] = frozenset()
    own: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The columns that stand in a table of the dataset as they are, with its name and theirs."""
    fan_out: int = 1
    """How many rows one row can have become by public tables."""
    is_one_each: bool = False
    """Whether a person has one row at most."""
    key: ForeignKey | None = None
    """The foreign key that says whose the rows are, if they have no person of their own."""
    _unowned: Any = field(default=None, repr=False)
    """The rows before a foreign key said whose they are, if nothing else was done to them but to leave some out."""
    _owned: Callable[[Any], Any] | None = field(default=None, repr=False)
    """Says whose such rows are."""

    def touched(self, *replaced: str) -> Lineage:
        """After a step that looks at one row at a time, and replaces these columns."""
        own = {name: of for name, of in self.own.items() if name not in replaced}
        return replace(self, own=own, _unowned=None)

    def filtered(self, *conditions: Expression) -> Lineage:
        """After rows were left out by conditions."""
        unowned = self._unowned
        for condition in conditions:
            if unowned is not None:
                unowned = filtered(unowned, condition) if columns_of(condition) <= {*unowned.columns} else None
        return replace(self, _unowned=unowned)

    def rows(self, otherwise: Any) -> Any:
        """The rows with their persons, where these are found last: fewer rows are looked for."""
        return otherwise if self._unowned is None or self._owned is None else self._owned(self._unowned)

    def above(self, other: Lineage) -> Lineage:
        """Of rows with those of another query below them."""
        own = {name: of for name, of in self.own.items() if other.own.get(name) == of}
        return Lineage(self.tables | other.tables, own, self.fan_out + other.fan_out)

    def per_person(self) -> Lineage:
        """After each person became one row."""
        return Lineage(self.tables, {}, self.fan_out, True)


@dataclass(frozen=True)
class PrivateTable:
    """One table of a dataset, with the column of the privacy unit."""

    source: Source
    _rows: Any = field(repr=False)
    domains: Domains = field(default_factory=dict)
    lineage: Lineage = Lineage()


def private_tables(
    sources: Mapping[str, Source], unit: TableUnit, keys: tuple[ForeignKey, ...], columns: Mapping[str, Any] | None
) -> dict[str, PrivateTable]:
    """Each table with its persons: by their own column, or by a foreign key that leads to it."""
    domains = _domains(columns, {name: kinds_of(source.table) for name, source in sources.items()})
    if not isinstance(unit, Person):
        if len(sources) > 1:
            raise ParameterError("several tables belong together by their people: unit=dp.Person('user_id').")
        ((name, source),) = sources.items()
        return {name: PrivateTable(source, source.table, domains[name], _lineage(name, source.table))}
    owner = _Owners(sources, unit.column, keys)
    found = {name: owner.of(name) for name in sources}
    check_same_people(found, unit.column)
    return {
        name: PrivateTable(sources[name], table, domains[name], _lineage(name, table, *owner.unowned.get(name, ())))
        for name, table in found.items()
    }


def _lineage(name: str, table: Any, key: ForeignKey | None = None, unowned: Any = None, owned: Any = None) -> Lineage:
    own = {column: (name, column) for column in kinds_of(table)}
    return Lineage(frozenset({name}), own, key=key, _unowned=unowned, _owned=owned)


@dataclass
class _Owners:
    """Who owns the rows of each table."""

    sources: Mapping[str, Source]
    person: str
    keys: tuple[ForeignKey, ...]
    unowned: dict[str, tuple[ForeignKey, Any, Callable[[Any], Any]]] = field(default_factory=dict)

    def of(self, name: str, below: tuple[str, ...] = ()) -> Any:
        source, person = self.sources[name], self.person
        if person in (*source.columns, *source.refused):
            source.check(person)
            return source.table
        key = next((each for each in self.keys if each.table == name), None)
        if key is None or name in below:
            example = f"foreign_keys={{'{name}.…': '…'}}"
            raise ParameterError(
                f"the table {name!r} has no column {person!r}, and no foreign key leads from it to one: whose are its "
                f"rows? Say it by {example}."
                if len(self.sources) > 1
                else f"Column {person!r} is not found. Existing columns: {', '.join(source.columns)}."
            )
        different(
            [*source.columns, *source.refused], [person]
        )  # or a column such as 'User' would be taken for the person
        source.check(key.column)
        if key.key == person:  # the key says who it is: no other table is needed
            return owned(source.table, key.column, person)
        self.sources[key.parent].check(key.key)
        owners = self.of(key.parent, (*below, name))
        persons = source.engine.kept(persons_by_key(owners, key.key, person))

        def owned_rows(rows: Any) -> Any:
            return attributed(rows, key.column, persons, key.key, person)

        self.unowned[name] = key, source.table, owned_rows
        return owned_rows(source.table)


def foreign_keys_of(said: Mapping[str, str] | None, sources: Mapping[str, Source]) -> tuple[ForeignKey, ...]:
    """Foreign keys as owners write them: {"lineitem.l_orderkey": "orders.o_orderkey"}."""
    found = []
    for child, parent in (said or {}).items():
        ends = [str(each).rpartition(".") for each in (child, parent)]
        for (table, _, column), name in zip(ends, (child, parent), strict=True):
            if table not in sources:
                raise ParameterError(
                    f"foreign_keys names {name!r}; write the table and its column, as in "
                    f"{{'orders.customer': 'customers.id'}}. There are the tables {', '.join(sources)}."
                )
            sources[table].check(column)
        found.append(ForeignKey(ends[0][0], ends[0][2], ends[1][0], ends[1][2]))
    return tuple(found)


def _domains(columns: Mapping[str, Any] | None, tables: Mapping[str, Mapping[str, str]]) -> dict[str, Domains]:
    """The domains of each table. A column is named alone, or behind its table where several have it."""
    if columns is None or len(tables) == 1:
        ((name, kinds),) = tables.items() if columns is not None else (("", {}),)
        return {name: domains_of(columns, kinds)} if columns is not None else {each: {} for each in tables}
    said: dict[str, dict[str, Any]] = {name: {} for name in tables}
    for column, domain in columns.items():
        table, _, bare = str(column).rpartition(".")
        having = [table] if table in tables else [name for name, kinds in tables.items() if column in kinds]
        if len(having) != 1:
            what = "is in several tables. Write its table before it" if having else "is in none of the tables"
            raise ParameterError(f"columns names {column!r}, which {what}, as in {{'visits.spend': (0, 200)}}.")
        said[having[0]][bare if table in tables else column] = domain
    return {name: domains_of(each, tables[name]) for name, each in said.items()}
