"""Joins of a query: with public tables on anything, and with private tables of the same dataset on the same person; and
rows of two queries below each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dither.engine.groups import fingerprint
from dither.engine.private_tables import ForeignKey, Lineage
from dither.engine.written_question import in_quotes
from dither.errors import ParameterError
from dither.tables import (
    arrow_table,
    below_each_other,
    different,
    equi_joined,
    few_of_each,
    joined,
    joined_rows,
    most_partners,
    real_keys,
    shown,
    with_owners,
)
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["MIXED", "MOST_ROWS", "columns_on", "foreign_key", "with_private", "with_public", "with_rows_below"]

MOST_ROWS: Final = 1_000
"""What one row may become by public tables. Who asks brings these: without a limit, a table with a million rows of one
key would make the time of an answer tell whether a row has it."""
_LONGEST_NAME: Final = 60
MIXED: Final = (
    "it would mix people: rows of two private tables meet only if they belong to the same person. Join on the column "
    "of the privacy unit, or along a foreign key of the dataset."
)


def columns_on(on: Any) -> dict[str, str]:
    """The columns that must agree: one that both have, several, or pairs of names."""
    if isinstance(on, str):
        return {on: on}
    if isinstance(on, Mapping):
        found = {str(mine): str(theirs) for mine, theirs in on.items()}
    else:
        found = {str(each): str(each) for each in on} if isinstance(on, Sequence) else {}
    if not found:
        raise ParameterError("on takes a column that both tables have, a list of them, or {'mine': 'theirs'}.")
    return found


_ADDING: Final = ("left", "inner")
_KEEPING: Final = ("semi", "anti")


def _check_how(how: str) -> None:
    if how not in (*_ADDING, *_KEEPING):
        raise ParameterError(f"how must be 'left', 'inner', 'semi' or 'anti', got {how!r}.")


def _names(columns: Sequence[str], taken: Sequence[str], prefix: str | None) -> dict[str, str]:
    """The columns of the other table with their names in the result; one that is taken stands behind the prefix."""
    found = {name: name if name not in taken or prefix is None else f"{prefix}.{name}" for name in columns}
    for name in found.values():
        if list(found.values()).count(name) > 1 or (prefix is not None and name in taken):
            raise ParameterError(f"two columns of the joined rows would be called {name!r}. Rename one in the source.")
        if len(name.encode(errors="replace")) > _LONGEST_NAME and name not in columns:
            raise ParameterError(f"the column {name[:40]!r}… would have too long a name. Give its table a shorter one.")
    different(taken, found.values())
    return found


def with_public(query: Query, public: Any, on: Any, how: str, prefix: str | None = None) -> Query:
    """The rows with the columns of a public table. Each row stays its person's, however many it becomes."""
    _check_how(how)
    if how in _KEEPING:
        raise ParameterError(f"a public table is joined by 'left' or 'inner', got {how!r}. Select its rows first.")
    known, pairs = arrow_table(public), columns_on(on)
    query._check_is_public(known)
    query._mentions(*pairs)
    names = _names([name for name in known.column_names if name not in pairs.values()], shown(query._table), prefix)
    if not names and how == "left":
        raise ParameterError(f"the public table has no column besides {', '.join(map(repr, pairs.values()))}.")
    engine, unowned = query.origin._source.engine, query.lineage._unowned
    lineage = query.lineage.touched()
    if unowned is not None and set(pairs) <= set(unowned.columns):  # whose the rows are is found last, of fewer rows
        lineage = replace(lineage, _unowned=joined(engine, unowned, known, pairs, names, how=how))
        table = lineage.rows(otherwise=query._table)
    else:
        table = joined(engine, query._table, known, pairs, names, how=how)
    partners = most_partners(known, list(pairs.values()))
    if partners > 1 and not isinstance(query.origin.unit, Person):
        raise ParameterError(
            f"the column {', '.join(map(repr, pairs.values()))} of the public table must hold different values: each "
            "row finds one partner. Under unit=dp.Person(...) it may find several."
        )
    fan_out = max(partners, 1) * lineage.fan_out
    if fan_out > MOST_ROWS:
        raise ParameterError(
            f"one row would become {fan_out} rows by public tables, and at most {MOST_ROWS} are allowed. Join on more "
            "columns, or leave rows of the public table out."
        )
    lineage = replace(lineage, fan_out=fan_out, is_one_each=lineage.is_one_each and partners <= 1)
    words = f"{how} join the public table {fingerprint(known)} on {_said(pairs)}"
    if how == "left" and len(pairs) == 1 and list(pairs) == list(pairs.values()):
        words = f"join the public table {fingerprint(known)} on {_said(pairs)}"
    call = f".join(public, on={_code(pairs)}{'' if how == 'left' else f', how={how!r}'})"
    domains = {name: each for name, each in query.domains.items() if name not in names.values()}
    return query._with(words, call=call, _table=table, lineage=lineage, domains=domains)


def foreign_key(keys: Sequence[ForeignKey], mine: tuple[str, str] | None, theirs: tuple[str, str] | None) -> Any:
    """The foreign key between two columns of tables, in either direction; None if there is none."""
    ends = {mine, theirs}
    return next((key for key in keys if ends == {(key.table, key.column), (key.parent, key.key)}), None)


def with_private(query: Query, other: Query, on: Any, how: str, prefix: str | None = None) -> Query:
    """Rows of two tables of one dataset that belong to the same person."""
    _check_how(how)
    pairs = columns_on(on)
    unit = _checked_unit(query, other)
    query._mentions(*pairs)
    other._mentions(*pairs.values())
    for mine, theirs in pairs.items():
        _check_column(query, mine)
        _check_column(other, theirs)
    is_kept = how in _KEEPING
    table, names = (
        (_kept(query, other, pairs, unit.column, how), {})
        if is_kept
        else _joined(query, other, pairs, unit.column, how, prefix)
    )
    domains = {**query.domains, **{names[name]: of for name, of in other.domains.items() if name in names}}
    of_other = f"[{'; '.join(other.words)}]" if other.words else "[all rows]"
    call = f".join(data{''.join(other.calls)}, on={_code(pairs)}, how={how!r})"
    return query._with(
        f"{how} join {of_other} on {_said(pairs)}",
        call=call,
        _table=table,
        origin=query.origin if is_kept else _origin(query, other),
        domains=domains,
        lineage=query.lineage.touched() if is_kept else _lineage(query.lineage, other.lineage, names),
    )


def _checked_unit(query: Query, other: Query) -> Person:
    """The privacy unit of both; refused where rows of two queries may not meet."""
    unit = query.origin.unit
    if (
        other.origin.release_path != query.origin.release_path
        or other.origin._source.engine is not query.origin._source.engine
    ):
        raise ParameterError(
            "tables of two datasets have two budgets, and are not joined. Open them as one: "
            "dp.Dataset(tables={'visits': ..., 'people': ...}, unit=...)."
        )
    if other.keys:
        raise ParameterError("a query with groups is not joined. Join it before group_by.")
    if not isinstance(unit, Person):
        raise ParameterError("private tables are joined by person: unit=dp.Person('user_id').")
    return unit


def with_rows_below(query: Query, other: Query) -> Query:
    """The rows of two queries of one dataset, each its person's: whoever has rows in both has more of them."""
    unit = _checked_unit(query, other)
    if query.lineage.is_one_each or other.lineage.is_one_each:
        raise ParameterError("of one row per person there is one. Put rows below each other before per_person.")
    table = below_each_other(query._table, other._table, unit.column)
    mine, theirs = query.domains, other.domains
    domains = {name: mine[name].or_else(theirs[name]) for name in shown(table) if name in mine and name in theirs}
    lineage = query.lineage.above(other.lineage)
    if lineage.fan_out > MOST_ROWS:
        raise ParameterError(f"rows may be put below each other at most {MOST_ROWS} times.")
    return query._with(
        f"and the rows of [{'; '.join(other.words) or 'all rows'}]",
        call=f".union(data{''.join(other.calls)})",
        _table=table,
        origin=_origin(query, other),
        domains=domains,
        lineage=lineage,
    )


def _check_column(query: Query, name: str) -> None:
    if name not in query.columns:
        raise ParameterError(f"Column {name!r} is not found. Existing columns: {', '.join(query.columns)}.")


def _key(query: Query, other: Query, pairs: Mapping[str, str]) -> ForeignKey | None:
    """The foreign key along which two queries are joined."""
    mine, theirs, keys = query.lineage.own, other.lineage.own, query.origin.keys
    found = (foreign_key(keys, mine.get(a), theirs.get(b)) for a, b in pairs.items())
    return next((each for each in found if each is not None), None)


def _kept(query: Query, other: Query, pairs: Mapping[str, str], person: str, how: str) -> Any:
    """The rows that find something in the other query, or nothing. No row multiplies: the table may be the same."""
    key, is_by_person = _key(query, other, pairs), pairs.get(person) == person
    if not is_by_person and key is None and not _of_one_parent(query, other, pairs):
        raise ParameterError(f"{_said(pairs)}: {MIXED}")
    rest = {a: b for a, b in pairs.items() if not (a == b == person)}
    if key is not None and not is_by_person and other.lineage._unowned is not None and other.lineage.key == key:
        return equi_joined(query._table, other.lineage._unowned, rest, {}, how=how)
    return joined_rows(query._table, other._table, rest, person, {}, how=how)


def _of_one_parent(query: Query, other: Query, pairs: Mapping[str, str]) -> bool:
    """Whether rows that agree have one foreign key with one value: whoever owns what it finds owns both."""
    ends = {(key.table, key.column) for key in query.origin.keys}
    mine, theirs = query.lineage.own, other.lineage.own
    return any(mine.get(a) == theirs.get(b) and mine.get(a) in ends for a, b in pairs.items())


def _joined(
    query: Query, other: Query, pairs: Mapping[str, str], person: str, how: str, prefix: str | None
) -> tuple[Any, dict[str, str]]:
    """The joined rows, and the names of the other table's columns. tables/joins.py says why people stay apart."""
    mine, theirs = query.lineage, other.lineage
    key, is_by_person = _key(query, other, pairs), pairs.get(person) == person
    if not is_by_person and key is None:
        raise ParameterError(f"{_said(pairs)}: {MIXED}")
    if not mine.tables.isdisjoint(theirs.tables) and not (mine.is_one_each or theirs.is_one_each):
        twice = ", ".join(sorted(mine.tables & theirs.tables))
        raise ParameterError(
            f"the table {twice} stands in the question twice. Joined with itself, the rows of a person multiply: make "
            "one row of each person first, by per_person (in SQL a subquery with GROUP BY the person)."
        )
    columns = [name for name in shown(other._table) if name != person]
    names = _names(columns, shown(query._table), prefix or next(iter(sorted(theirs.tables)), "other"))
    rest = {a: b for a, b in pairs.items() if not (a == b == person)}
    if key is not None and not is_by_person:
        if theirs._unowned is not None and theirs.key == key:
            parents = real_keys(query._table, list(rest), person)
            return equi_joined(parents, theirs._unowned, rest, names, how=how), names
        if mine._unowned is not None and mine.key == key and how == "inner":
            return with_owners(mine._unowned, other._table, rest, person, names), names
    left, right = query._table, other._table
    if key is None and not mine.is_one_each and not theirs.is_one_each:
        right = few_of_each(right, person)
    elif key is not None and (key.parent, key.key) in [theirs.own.get(name) for name in rest.values()]:
        right = real_keys(right, list(rest.values()), person)
    elif key is not None:
        left = real_keys(left, list(rest), person)
    return joined_rows(left, right, rest, person, names, how=how), names


def _origin(query: Query, other: Query) -> Any:
    """Of two queries with one row of each person there is still one; else the limits are those of the many rows."""
    mine, theirs = query.origin, other.origin
    unit = theirs.unit if query.lineage.is_one_each else mine.unit
    refused = {**theirs._source.refused, **mine._source.refused}
    has_types = mine._source.has_types and theirs._source.has_types
    return replace(mine, unit=unit, _source=replace(mine._source, refused=refused, has_types=has_types))


def _lineage(mine: Lineage, theirs: Lineage, names: Mapping[str, str]) -> Lineage:
    own = {names[name]: of for name, of in theirs.own.items() if name in names}
    return Lineage(
        mine.tables | theirs.tables,
        {**mine.own, **own},
        mine.fan_out * theirs.fan_out,
        mine.is_one_each and theirs.is_one_each,
    )


def _said(pairs: Mapping[str, str]) -> str:
    return ", ".join(in_quotes(a) if a == b else f"{in_quotes(a)} = {in_quotes(b)}" for a, b in pairs.items())


def _code(pairs: Mapping[str, str]) -> str:
    if list(pairs) != list(pairs.values()):
        return repr(dict(pairs))
    return repr(next(iter(pairs))) if len(pairs) == 1 else repr(list(pairs))
