"""Joins of private tables: every row of the result belongs to the one person whose rows it was made of.

**One person changes only that person's rows.** A table belongs to people by a column that identifies them, or by a
foreign key: a row without such a column belongs to whoever owns the rows that its key finds, once for each of them
(`attributed`), and to nobody if it finds none. Neighbours differ in one person: in all rows that name the person, and
in rows that belong by their key to that person alone. Two private tables are joined by `same person` alone
(`joined_rows`), so a row of the result is a function of rows of its own person, and those of all others stay as they
were. Where a table is joined along its own foreign key, the row that the key finds says whose the result is: a row that
goes with a person was found by no key of anybody else, so no row of anybody else had it as a partner.

A person's rows multiply, and contribution bounding finishes the job. Of a table that is joined by person alone, each
person brings at most `MOST_PARTNERS` rows, chosen by their values: else somebody with n rows in one table and m in the
other would have n·m, and the time of an answer would tell it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ibis
import ibis.expr.types as ir

from dither.errors import ParameterError
from dither.tables.engines.sealed_entry import identity_name, identity_of
from dither.tables.expression_compiler import kind_of, of_kind

__all__ = [
    "MOST_PARTNERS", "attributed", "check_same_people", "equi_joined", "few_of_each", "joined_rows", "owned",
    "with_owners",
]  # fmt: skip

MOST_PARTNERS: Final = 100
"""So many rows of a person are joined with each of their rows in another table."""
_RANK, _PERSON, _LEFT, _RIGHT = "dither rank", "dither owner", "dither left", "dither right"


def owned(table: ir.Table, column: str, person: str) -> ir.Table:
    """The rows with the column `person`, which is what stands in `column`."""
    if column == person:
        return table
    exact = {identity_name(person): table[identity_name(column)]} if identity_name(column) in table.columns else {}
    return table.mutate(**{person: table[column]}, **exact)


def attributed(table: ir.Table, column: str, owners: ir.Table, key: str, person: str) -> ir.Table:
    """The rows with the person of those rows of `owners` whose `key` they have; rows that find none are left out."""
    return with_owners(table, owners, {column: key}, person, {})


def check_same_people(tables: Mapping[str, ir.Table], person: str) -> None:
    """Refuse tables whose columns tell persons apart by values of different kinds: nobody would be in two of them."""
    kinds = {name: kind_of(identity_of(table, person)) for name, table in tables.items()}
    if len(set(kinds.values())) > 1:
        said = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise ParameterError(f"the privacy unit {person!r} is of different kinds: {said}. Give it one type everywhere.")


def few_of_each(table: ir.Table, person: str) -> ir.Table:
    """At most `MOST_PARTNERS` rows of each person: the first ones by their values, so that no order of rows shows."""
    order = [table[name] for name in table.columns]
    who = identity_of(table, person)
    ranked = table.mutate(**{_RANK: ibis.row_number().over(group_by=who, order_by=order)})
    return ranked.filter(ranked[_RANK] < MOST_PARTNERS).drop(_RANK)


def joined_rows(
    left: ir.Table, right: ir.Table, on: Mapping[str, str], person: str, names: Mapping[str, str], *, how: str
) -> ir.Table:
    """Rows of both tables that belong to one person and agree in the columns `on`.

    `names` are the columns of the right table that are kept, with their names in the result. With "left", rows of the
    left table without a partner stay, with NULL there.
    """
    mine = left.mutate(**{_PERSON: identity_of(left, person)})
    theirs = right.mutate(**{_PERSON: identity_of(right, person)})
    return equi_joined(mine, theirs, {_PERSON: _PERSON, **on}, names, how=how).drop(_PERSON)


def with_owners(
    table: ir.Table, owners: ir.Table, on: Mapping[str, str], person: str, names: Mapping[str, str]
) -> ir.Table:
    """Rows without persons, each with the rows of `owners` that its foreign key finds: these say whose it is."""
    who = {name: name for name in (person, identity_name(person)) if name in owners.columns}
    return equi_joined(table, owners, on, {**names, **who}, how="inner")


def equi_joined(
    left: ir.Table, right: ir.Table, on: Mapping[str, str], names: Mapping[str, str], *, how: str
) -> ir.Table:
    """An equi-join of columns of one kind. Real numbers are no keys: they do not repeat."""
    lefts, rights = {}, {}
    for number, (mine, theirs) in enumerate(on.items()):
        kind = kind_of(right[theirs])
        if kind == "real":
            raise ParameterError(f"tables are joined by values that repeat, and {theirs!r} holds real numbers.")
        lefts[f"{_LEFT} {number}"] = of_kind(left[mine], kind)
        rights[f"{_RIGHT} {number}"] = right[theirs]
    brought = {name: f"{_RIGHT} {number}" for number, name in enumerate(names, start=len(on))}  # short, as engines need
    rows = left.mutate(**lefts)
    others = right.select(**rights, **{short: right[name] for name, short in brought.items()})
    same = [rows[f"{_LEFT} {number}"] == others[f"{_RIGHT} {number}"] for number in range(len(on))]
    both: Any = rows.inner_join(others, same) if how == "inner" else rows.left_join(others, same)
    kept = {name: both[name] for name in left.columns}
    return both.select(**kept, **{to: both[brought[name]] for name, to in names.items()})
