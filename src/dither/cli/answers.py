"""Answers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa

from dither.engine import Plan, TableRelease
from dither.engine.distribution_aggregates import QuantilesOfGroups, Top
from dither.exact import in_words, rounded

__all__ = ["cell", "laid_out", "rows"]


def cell(value: Any) -> str:
    """A number of an answer with six digits, or a list of them; all else as it is."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(map(cell, value)) + "]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else rounded(value, 6)


def _name(value: Any) -> str:
    """A key, or values that were found: they are names, and a year has no thousands. No key is a real number."""
    if value is None or isinstance(value, float):
        return cell(value)
    return "[" + ", ".join(map(_name, value)) + "]" if isinstance(value, list) else str(value)


def rows(release: TableRelease) -> tuple[list[str], list[list[str]]]:
    """The columns and the cells of an answer: keys, and each value with its interval in one column behind it."""
    plan, answers = release.plan, release._shown[1]
    numbers = [name for name in answers if not isinstance(plan.aggregates.get(name), Top)]
    return laid_out(release.tidy(), answers, numbers, lambda name: _level(plan, name))


def laid_out(
    table: pa.Table, answers: Collection[str], numbers: Collection[str], level: Callable[[str], str]
) -> tuple[list[str], list[list[str]]]:
    """Columns and cells of a table: keys, and of `answers`, some of which are `numbers`, values and intervals."""
    ends = {f"{name}_{end}" for name in answers for end in ("low", "high")}
    names = [name for name in table.column_names if name not in ends]
    has_interval = {name for name in answers if f"{name}_low" in table.column_names}
    columns = []
    for name in names:
        columns += [name, f"{level(name)} interval"] if name in has_interval else [name]
    cells = []
    for row in table.to_pylist():
        line = []
        for name in names:
            line.append(cell(row[name]) if name in numbers else _name(row[name]))
            if name in has_interval:
                low, high = (row[f"{name}_{end}"] for end in ("low", "high"))
                line.append("" if low is None and high is None else f"{cell(low)} – {cell(high)}")
        cells.append(line)
    return columns, cells


def _level(plan: Plan, name: str) -> str:
    """Quantiles have the level that they were asked for."""
    aggregate = plan.aggregates.get(name)
    own = aggregate.interval_level if isinstance(aggregate, QuantilesOfGroups) else None
    return f"{in_words(100 * (own or plan.level))} %"
