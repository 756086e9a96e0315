"""Several sets of groups in one question, as totals are beside their parts: GROUPING SETS and ROLLUP of SQL.

Each row stands once at each level, and a level has its own columns of groups; the others are NULL there. So a level is
the question that `group_by` with these columns asks, also where a person is in more groups than the limit allows: the
groups that count are chosen level by level. **What one person moves adds up over the levels**: a person who is in
`max_groups` groups of each level is in as many in all, the level without columns having one group. The privacy unit of
the question says so, contribution bounding and noise follow it, and plan, ledger and certificate show it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from dither.engine.groups import crossed, fingerprint, public_keys
from dither.engine.join_rules import MOST_ROWS
from dither.engine.written_question import in_quotes, keys_code
from dither.errors import ParameterError
from dither.tables import (
    Column,
    Expression,
    Levels,
    at_each_level,
    different,
    kinds_of,
    missing_column,
    not_reserved,
    shown,
)
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["MOST_SETS", "with_grouping_sets"]

MOST_SETS: Final = 64
"""Each of them repeats every row."""


def with_grouping_sets(query: Query, sets: Sequence[Sequence[str]], keys: Any, level: str) -> Query:
    """The groups of all sets, told apart by the column `level`: the number of the set."""
    names = _checked(query, sets, level)
    unit = query.origin.unit
    if not isinstance(unit, Person):
        raise ParameterError(
            "a row would be in a group of every set, and dp.Rows() is about one group. Open the dataset with "
            "unit=dp.Person(...), or ask once for each set of columns."
        )
    lineage = query.lineage.touched()
    lineage = replace(lineage, fan_out=lineage.fan_out * len(sets), is_one_each=False)
    if lineage.fan_out > MOST_ROWS:
        raise ParameterError(f"one row would become {lineage.fan_out} rows, and at most {MOST_ROWS} are allowed.")
    engine, kinds = query.origin._source.engine, kinds_of(query._table)
    public = None if keys is None else _keys_of_sets(names, sets, keys, kinds, level)
    numbers = engine.upload(pa.table({level: pa.array(range(len(sets)), pa.int64())}))
    grouped: dict[str, Expression] = {level: Column(level)}
    for name in names:
        having = [at for at, each in enumerate(sets) if name in each]
        everywhere = len(having) == len(sets)
        grouped[name] = Column(name) if everywhere else Column(name).where(Column(level).is_in(having))
    levels = None
    if unit.max_groups is not None:
        levels = Levels(level, tuple(_most_groups(unit.max_groups, each, keys) for each in sets))
        unit = replace(unit, max_groups=sum(levels.max_groups))
    origin = replace(query.origin, unit=unit, whole_unit=query.origin.unit_of_rows)
    listed = ", ".join(f"[{', '.join(map(in_quotes, each))}]" for each in sets)
    said = f"by {in_quotes(level)} of {listed}"
    code = [repr(list(each)) for each in sets]
    code += [] if public is None else [_code(names, keys)]
    code += [] if level == "level" else [f"level={level!r}"]
    return query._with(
        said if public is None else f"{said} for {public.num_rows} public keys {fingerprint(public)}",
        call=f".grouping_sets({', '.join(code)})",
        _table=at_each_level(query._table, numbers),
        origin=origin,
        keys=grouped,
        public_keys=public,
        lineage=lineage,
        levels=levels,
    )


def _most_groups(limit: int, columns: Sequence[str], keys: Mapping[str, Any] | None) -> int:
    """In how many groups of one set a person counts: no more than there are."""
    if keys is not None or not columns:
        return min(limit, math.prod(len(keys[name]) for name in columns) if keys is not None else 1)
    return limit


def _checked(query: Query, sets: Sequence[Sequence[str]], level: str) -> list[str]:
    """The columns of all sets, in the order in which they are first named."""
    is_listed = all(
        isinstance(each, list | tuple) and all(isinstance(name, str) for name in each) and len(set(each)) == len(each)
        for each in sets
    )
    if not is_listed or not 1 <= len(sets) <= MOST_SETS or len({frozenset(each) for each in sets}) < len(sets):
        raise ParameterError(
            f"grouping_sets takes up to {MOST_SETS} different lists of column names, as ['city', 'day'], ['city'], []."
        )
    names = list(dict.fromkeys(name for each in sets for name in each))
    if not names:
        raise ParameterError("grouping_sets needs a column in one of its lists. Without groups, call agg.")
    query._mentions(*names)
    for name in names:
        not_reserved(name)
        if name not in query._table.columns:
            raise missing_column(name, shown(query._table))
    not_reserved(level)
    if level in query._table.columns:
        raise ParameterError(f"there is a column {level!r} already. Give the number of the set another name: level=...")
    different(query._table.columns, [level])
    return names


def _keys_of_sets(
    names: Sequence[str], sets: Sequence[Sequence[str]], keys: Any, kinds: Mapping[str, str], level: str
) -> pa.Table:
    """The groups of each level: all combinations of the keys of its columns, and NULL in the others."""
    if not isinstance(keys, Mapping) or set(keys) != set(names):
        raise ParameterError(f"keys must have a list for each of {', '.join(names)}.")
    known = {name: public_keys([name], keys[name], kinds) for name in names}
    parts = []
    for at, each in enumerate(sets):
        groups = crossed([pa.table({level: pa.array([at], pa.int64())}), *(known[name] for name in each)])
        for name in names:
            if name not in each:
                groups = groups.append_column(name, pa.nulls(groups.num_rows, known[name].column(name).type))
        parts.append(groups.select([level, *names]))
    return public_keys([level, *names], pa.concat_tables(parts), kinds)


def _code(names: Sequence[str], keys: Mapping[str, Any]) -> str:
    """The keys as they are written in Python: a list for each column, or dots where they are many."""
    lists = [keys_code(public_keys([name], keys[name])).removeprefix("keys=") for name in names]
    if "..." in lists:
        return "keys=..."
    return "keys={" + ", ".join(f"{name!r}: {said}" for name, said in zip(names, lists, strict=True)) + "}"
