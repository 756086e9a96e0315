"""Public groups whose counts are within the noise of 0: a key that is written otherwise in the data looks like this.

It follows from released numbers alone, so it reveals nothing and costs nothing.
"""

from __future__ import annotations

import pyarrow as pa

from dither.engine.moment_aggregates import Count
from dither.engine.plan import Plan

__all__ = ["about_empty_groups"]

_NAMED = 5
"""How many groups are named."""


def about_empty_groups(table: pa.Table, keys: list[str], plan: Plan) -> str | None:
    """Say which groups with public keys seem to have no rows; None if there are none, or groups were found."""
    counts = [name for name, aggregate in plan.aggregates.items() if isinstance(aggregate, Count)]
    if not keys or not counts or plan.discovery is not None:
        return None
    if not {*keys, *(f"{name}_low" for name in counts)} <= {*table.column_names}:  # SQL chose other columns
        return None
    rows = table.select([*keys, *(f"{name}_low" for name in counts)]).to_pylist()
    empty = [row for row in rows if all(row[f"{name}_low"] <= 0 for name in counts)]
    if not empty:
        return None
    named = ", ".join(" and ".join(repr(row[key]) for key in keys) for row in empty[:_NAMED])
    more = f" and {len(empty) - _NAMED:,} more" if len(empty) > _NAMED else ""
    return (
        f"Perhaps nothing is there: {named}{more}. These counts are within the noise of 0. Check how the keys are "
        "written: 'Card' is not 'card'."
    )
