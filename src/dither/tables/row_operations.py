"""Rows in, rows out: filters, joins with public tables, and one row per person. Nobody's rows depend on another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from dither.errors import ParameterError
from dither.tables.engines import Engine
from dither.tables.engines.sealed_entry import LONGEST_BYTES, has_word, identity_of, refused_column, tame
from dither.tables.expression import LONGEST_TEXT, Expression
from dither.tables.expression_compiler import different, missing_column, not_reserved, number, shown, with_values
from dither.tables.joins import equi_joined
from dither.tables.lattice import Lattice

__all__ = ["filtered", "joined", "most_partners", "one_row_each"]

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
        _check_lengths(name, public.column(name))
    for name in names.values():
        not_reserved(name)
        if name in table.columns:
            raise ParameterError(f"both tables have a column {name!r}. Rename it in the public one.")
    different(table.columns, names.values())
    return equi_joined(table, engine.upload(public), on, names, how=how)


def most_partners(public: pa.Table, on: Sequence[str]) -> int:
    """How many rows of a public table have the same values of these columns, at most."""
    counted = public.select(list(on)).group_by(list(on)).aggregate([([], "count_all")])
    return pc.max(counted.column("count_all")).as_py() or 0


def _check_key(known: pa.Table, on: str) -> None:
    if on not in known.column_names:
        raise ParameterError(f"the public table has no column {on!r}. It has {', '.join(known.column_names)}.")
    column = known.column(on)
    if pa.types.is_timestamp(column.type) or pa.types.is_date64(column.type):
        raise ParameterError(f"the column {on!r} of the public table must hold days, not times. Cast it to dates.")
    if pa.types.is_nested(column.type) or not has_word(column.type):
        raise refused_column(on, str(column.type))
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


def one_row_each(
    table: ir.Table, person: str, asked: Mapping[str, tuple[str, Expression | None, Lattice | None]]
) -> Any:
    """One row per person: who it is, and what was `asked` of all their rows.

    Each is a verb with what it is of and the lattice of its values: "count", or "sum", "mean", "min" or "max" of values
    that were clamped and put on the lattice. Sums are of whole numbers, so no order of the rows shows. The sum of a
    person without values is 0, and their mean, min and max are NULL.
    """
    different([person], asked)
    for name in asked:
        not_reserved(name)
        if name == person:
            raise ParameterError(f"the column {name!r} identifies persons and cannot be replaced.")
    needed = {f"dither of {name}": of for name, (_, of, _) in asked.items() if of is not None}
    who = identity_of(table, person)
    rows = with_values(table.filter(who.notnull()), needed)
    steps = {
        f"dither of {name}": lattice.steps(number(rows[f"dither of {name}"]))
        for name, (_, _, lattice) in asked.items()
        if lattice is not None
    }
    rows = rows.mutate(**steps) if steps else rows
    totals = {name: _reduced(verb, rows, f"dither of {name}", lattice) for name, (verb, _, lattice) in asked.items()}
    # A person's entered column is a function of what tells persons apart, so both together group as that does alone.
    found = rows.group_by(list({person: None, who.get_name(): None})).aggregate(**totals)
    return found.mutate(**{name: tame(found[name]) for name in totals if found[name].type().is_floating()})


def _reduced(verb: str, rows: Any, name: str, lattice: Lattice | None) -> Any:
    if lattice is None:
        return rows.count().cast("int64")
    step, steps = float(lattice.step), rows[name]
    if verb == "sum":
        return (steps.sum().fill_null(0).cast("int64") + lattice.low * steps.count()).cast("float64") * step
    if verb == "mean":
        mean = steps.sum().cast("float64") / steps.count().cast("float64").nullif(0.0)
        return (mean + float(lattice.low)) * step
    extreme = steps.min() if verb == "min" else steps.max()
    return (extreme + lattice.low).cast("float64") * step
