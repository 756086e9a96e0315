"""A table goes in, exact numbers come out: the shortest way through `dither.tables` for a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from dither.tables import BoundedTable, Column, Expression, Lattice, Measure, Sum, with_values
from dither.tables.database_engines import Engine
from dither.unit import Rows, TableUnit

__all__ = ["asked", "opened", "summed"]


def opened(exact: Any) -> list[dict[str, Any]]:
    """The rows of an exact aggregate, which only the release path may open elsewhere."""
    return [row for batch in exact._open() for row in batch.to_pylist()]


def asked(
    engine: Engine,
    table: pa.Table,
    measures: Mapping[str, Measure],
    *,
    unit: TableUnit | None = None,
    by: Sequence[str] = (),
    new: Mapping[str, Expression] | None = None,
    public: pa.Table | None = None,
    salt: int = 7,
) -> dict[Any, Any]:
    """The measures of each group, by its key; a single measure as it is, a single key as it is."""
    rows = with_values(engine.upload(table), new or {})
    keys = {name: Column(name) for name in by}
    bounded = BoundedTable(engine, rows, unit or Rows(), keys, None if public is None else engine.upload(public))
    found = {}
    for row in opened(bounded.totals(measures, salt)):
        values = tuple(int(row[name] or 0) for name in measures)
        key = tuple(row[name] for name in by)
        found[key[0] if len(key) == 1 else key] = values if len(values) > 1 else values[0]
    return found


def summed(engine: Engine, values: pa.Array, bounds: tuple[Any, Any], of: Expression | None = None) -> float:
    """The sum of a column `x`, in its own unit."""
    lattice = Lattice.within(bounds, from_zero=True)
    steps = asked(engine, pa.table({"x": values}), {"s": Sum(Column("x") if of is None else of, lattice)})
    return float(steps[()] * lattice.step)
