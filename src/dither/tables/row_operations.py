"""Rows in, rows out: filters, joins with public tables, and one row per person. Nobody's rows depend on another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from dither.errors import ParameterError
from dither.tables.database_engines import Engine
from dither.tables.database_engines.sealed_entry import LONGEST_BYTES, called, identity_of, tame
from dither.tables.expression import LONGEST_TEXT, Expression
from dither.tables.expression_compiler import (
    different,
    kind_of,
    missing_column,
    not_reserved,
    number,
    shown,
    with_values,
)
from dither.tables.joins import equi_joined
from dither.tables.lattice import Lattice
from dither.tables.plain_columns import with_plain_names

__all__ = ["at_each_level", "filtered", "joined", "most_partners", "one_row_each"]

_WHERE = "dither where"


def filtered(table: ir.Table, condition: Expression) -> ir.Table:
    """Only the rows for which the condition holds; on a missing value it does not."""
    asked = with_values(table, {_WHERE: condition})
    if not asked[_WHERE].type().is_boolean():
        raise ParameterError(f"where takes conditions, and {condition} is none.")
    return asked.filter(asked[_WHERE].fill_null(False)).drop(_WHERE)


def joined(
    engine: Engine, table: ir.Table, public: pa.Table, on: Mapping[str, str], names: Mapping[str, str], *, how: str
) -> ir.Table:
    """The rows with the columns `names` of a public table; a row that finds several rows there becomes several.

    Each is that of the person whose row it was made of. With "left", columns are NULL where nothing is found.
    """
    for mine, theirs in on.items():
        _check_key(public, theirs)
        if mine not in table.columns:
            raise missing_column(mine, shown(table))
    for name in public.column_names:
        not_reserved(name)
        _check_lengths(name, public.column(name))
    for name in names.values():
        not_reserved(name)
        if name in table.columns:
            raise ParameterError(f"both tables have a column {name!r}. Rename it in the public one.")
    different(table.columns, names.values())
    return equi_joined(table, engine.upload(public), on, names, how=how)


def most_partners(public: pa.Table, on: Sequence[str]) -> int:
    """How many rows of a public table have the same values of these columns, at most."""
    keys = with_plain_names(public.select(list(on)))
    counted = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    return pc.max(counted.column("count_all")).as_py() or 0


def _check_key(known: pa.Table, on: str) -> None:
    if on not in known.column_names:
        raise ParameterError(f"the public table has no column {on!r}. It has {', '.join(known.column_names)}.")
    column = known.column(on)
    if pa.types.is_timestamp(column.type) or pa.types.is_date64(column.type):
        raise ParameterError(f"the column {on!r} of the public table must hold days, not times. Cast it to dates.")
    if column.null_count:
        raise ParameterError(f"the column {on!r} of the public table must hold no NULL: it would find no row.")


def _check_lengths(name: str, column: Any) -> None:
    """No text that the question brings may be longer than those that enter: it would be NULL."""
    of = column.type
    if pa.types.is_string_view(of) or pa.types.is_binary_view(of):
        of = pa.large_string() if pa.types.is_string_view(of) else pa.large_binary()
        column = column.cast(of)
    is_text = pa.types.is_string(of) or pa.types.is_large_string(of)
    if not is_text and not (
        pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_fixed_size_binary(of)
    ):
        return
    most = LONGEST_TEXT if is_text else LONGEST_BYTES
    if (pc.max(pc.binary_length(column)).as_py() or 0) > most:
        raise ParameterError(f"the column {name!r} of the public table has a value of more than {most} bytes.")


def at_each_level(table: ir.Table, levels: ir.Table) -> ir.Table:
    """Each row once with each row of `levels`, a public table of one column: it stays its person's."""
    return table.cross_join(levels)


def one_row_each(
    table: ir.Table, person: str, asked: Mapping[str, tuple[str, Expression | None, Lattice | None]]
) -> Any:
    """One row per person: who it is, and what was `asked` of all their rows.

    Each is a verb with what it is of and the lattice of its values: "count", or "sum", "mean", "min" or "max" of values
    that were clamped and put on the lattice. Sums are of whole numbers, so no order of the rows shows. The sum of a
    person without values is 0, and their mean, min and max are NULL. Of whole numbers, sum, min and max are whole.
    """
    different([person], asked)
    for name in asked:
        not_reserved(name)
        if name == person:
            raise ParameterError(f"the column {name!r} identifies persons and cannot be replaced.")
    needed = {f"dither of {name}": of for name, (_, of, _) in asked.items() if of is not None}
    who = identity_of(table, person)
    rows = with_values(table.filter(who.notnull()), needed)
    are_whole = {
        name: kind_of(rows[f"dither of {name}"]) == "whole" for name, (_, of, _) in asked.items() if of is not None
    }
    steps = {
        f"dither of {name}": lattice.steps(number(rows[f"dither of {name}"]))
        for name, (_, _, lattice) in asked.items()
        if lattice is not None
    }
    rows = rows.mutate(**steps) if steps else rows
    totals = {
        name: _reduced(verb, rows, f"dither of {name}", lattice, is_whole=are_whole.get(name, False))
        for name, (verb, _, lattice) in asked.items()
    }
    # A person's entered column is a function of what tells persons apart, so both together group as that does alone.
    found = rows.group_by(list({person: None, who.get_name(): None})).aggregate(*called(totals))
    return found.mutate(*called({name: tame(found[name]) for name in totals if found[name].type().is_floating()}))


def _reduced(verb: str, rows: Any, name: str, lattice: Lattice | None, *, is_whole: bool) -> Any:
    if lattice is None:
        return rows.count().cast("int64")
    step, steps = float(lattice.step), rows[name]
    if verb == "sum":
        total = steps.sum().fill_null(0).cast("int64") + lattice.low * steps.count()
        return _as_whole(total.cast("float64") * step, lattice, is_whole=is_whole)
    if verb == "mean":
        mean = steps.sum().cast("float64") / steps.count().cast("float64").nullif(0.0)
        return (mean + float(lattice.low)) * step
    extreme = steps.min() if verb == "min" else steps.max()
    return _as_whole((extreme + lattice.low).cast("float64") * step, lattice, is_whole=is_whole)


def _as_whole(value: Any, lattice: Lattice, *, is_whole: bool) -> Any:
    """A sum or an extreme of whole numbers, if these and both bounds are on the lattice: steps are powers of two."""
    ends = [end * lattice.step for end in (lattice.low, lattice.high)]
    stays = is_whole and lattice.step <= 1 and all(end.denominator == 1 for end in ends)
    return value.cast("int64") if stays else value
