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
other would have n·m, and the time of an answer would tell it. Along a foreign key the same holds if one key stands in
several rows of its own table, where it should stand once: a key that one person has in more than `MOST_PARTNERS` rows
finds nothing of that person (`real_keys`), whose rows alone decide it.

Where the other table only decides which rows stay ("semi" and "anti"), nothing multiplies, and neither limit is needed.
Rows of two tables that are put below each other (`below_each_other`) stay each its person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ibis
import ibis.expr.types as ir

from dither.errors import ParameterError
from dither.tables.database_engines.sealed_entry import called, identity_name, identity_of
from dither.tables.expression_compiler import kind_of, of_kind

__all__ = [
    "MOST_PARTNERS", "attributed", "below_each_other", "check_same_people", "equi_joined", "few_of_each",
    "joined_rows", "owned", "persons_by_key", "real_keys", "with_owners",
]  # fmt: skip

MOST_PARTNERS: Final = 100
"""So many rows of a person are joined with each of their rows in another table."""
_BUCKETS: Final = 1 << 16
_BUCKET: Final = "dither bucket"
_RANK, _PERSON, _LEFT, _RIGHT = "dither rank", "dither owner", "dither left", "dither right"


def owned(table: ir.Table, column: str, person: str) -> ir.Table:
    """The rows with the column `person`, which is what stands in `column`."""
    if column == person:
        return table
    exact = {identity_name(person): table[identity_name(column)]} if identity_name(column) in table.columns else {}
    return table.mutate(*called({person: table[column], **exact}))


def persons_by_key(owners: ir.Table, key: str, person: str) -> ir.Table:
    """Which persons have rows with which `key`, each pair once."""
    return owners.select(*dict.fromkeys((key, *_who(owners, person)))).distinct()


def attributed(table: ir.Table, column: str, persons: ir.Table, key: str, person: str) -> ir.Table:
    """The rows with the `persons_by_key` whose `key` they have, once for each person; rows that find none are left
    out."""
    who = {name: name for name in _who(persons, person)}
    return equi_joined(table, persons, {column: key}, who, how="inner")


def _who(owners: ir.Table, person: str) -> list[str]:
    """The columns that say whose a row is."""
    return [name for name in (person, identity_name(person)) if name in owners.columns]


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
    left table without a partner stay, with NULL there. With "semi" those with a partner stay as they are, and with
    "anti" those without one.
    """
    mine = left.mutate(**{_PERSON: identity_of(left, person)})
    theirs = right.mutate(**{_PERSON: identity_of(right, person)})
    return equi_joined(mine, theirs, {_PERSON: _PERSON, **on}, names, how=how).drop(_PERSON)


def with_owners(
    table: ir.Table, owners: ir.Table, on: Mapping[str, str], person: str, names: Mapping[str, str]
) -> ir.Table:
    """Rows without persons, each with the rows of `owners` that its foreign key finds: these say whose it is."""
    who = {name: name for name in _who(owners, person)}
    owners = real_keys(owners, list(on.values()), person)
    return equi_joined(table, owners, on, {**names, **who}, how="inner")


def real_keys(table: ir.Table, keys: list[str], person: str) -> ir.Table:
    """The rows without those of keys that repeat too often within a person to be keys at all.

    Only rows whose bucket is full are looked at: few buckets are counted sooner than as many keys as there are rows.
    """
    keys = list(dict.fromkeys(keys))  # two columns of the other table may equal one of this
    found = table.mutate(**{_PERSON: identity_of(table, person)})
    suspected = found
    if kind_of(found[keys[0]]) == "whole":
        buckets = found.mutate(**{_BUCKET: found[keys[0]] % _BUCKETS})
        counted = buckets.group_by(_BUCKET).aggregate(**{_RANK: buckets.count()})
        suspected = buckets.semi_join(counted.filter(counted[_RANK] > MOST_PARTNERS), _BUCKET).drop(_BUCKET)
    each = suspected.group_by([_PERSON, *keys]).aggregate(**{_RANK: suspected.count()})
    others = each.filter(each[_RANK] > MOST_PARTNERS)
    same = [found[name] == others[name] for name in (_PERSON, *keys)]
    return found.anti_join(others, same).drop(_PERSON)


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
    joins = {"inner": rows.inner_join, "left": rows.left_join, "semi": rows.semi_join, "anti": rows.anti_join}
    both: Any = joins[how](others, same)
    kept = {name: both[name] for name in left.columns}
    return both.select(*called(kept), *called({to: both[brought[name]] for name, to in names.items()}))


def below_each_other(first: ir.Table, second: ir.Table, person: str) -> ir.Table:
    """The rows of both, with the columns that both have. Whole numbers beside real ones are real.

    Columns of different kinds are left out; that of the person is of one kind in all tables (`check_same_people`).
    """
    exact = identity_name(person)
    if (exact in first.columns) != (exact in second.columns):
        first, second = (each.mutate(**{exact: identity_of(each, person)}) for each in (first, second))
    found: list[dict[str, Any]] = [{}, {}]
    for name in first.columns:
        if name not in second.columns:
            continue
        pair = [table[name] for table in (first, second)]
        kinds = {kind_of(each) for each in pair}
        if kinds == {"whole", "real"}:
            pair = [each.cast("float64") for each in pair]
        elif len(kinds) > 1:
            continue
        if pair[0].type() != pair[1].type():
            pair = [each.cast(_COMMON[kind_of(each)]) for each in pair]
        for columns, value in zip(found, pair, strict=True):
            columns[name] = value
    return first.select(*called(found[0])).union(second.select(*called(found[1])), distinct=False)


_COMMON: Final = {
    "whole": "int64", "real": "float64", "text": "string", "truth": "boolean", "date": "date", "time": "timestamp(6)"
}  # fmt: skip
"""The type that values of a kind have where two tables meet."""
