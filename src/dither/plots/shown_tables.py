"""The release of a table as rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dither.engine import Plan, Single, TableRelease
from dither.engine.aggregate import Aggregate, OfColumn
from dither.engine.distribution_aggregates import CountDistinct, QuantilesOfGroups, Spread, Top
from dither.engine.moment_aggregates import Count
from dither.engine.sql.after_noise import SqlRelease
from dither.engine.tidy_rows import holds_lists
from dither.exact import in_words
from dither.plots.shown import Shown, ShownColumn, listed, plain

__all__ = ["shown_rows", "shown_table"]


def shown_table(release: TableRelease) -> Shown:
    """A row for each group; for a question about all rows, a row for each number of the answer."""
    if isinstance(release, SqlRelease):
        return _selected(release)
    if not isinstance(release, Single):
        return _table(release)
    aggregate = release.plan.aggregates["value"]
    is_bars = isinstance(aggregate, Spread)
    heading = "below it" if isinstance(aggregate, QuantilesOfGroups) else "bin" if is_bars else "place"
    parts = _parts(aggregate, release.value)
    return listed(release, _name(aggregate), _level(aggregate, release.plan), parts, (heading,), is_bars)


def shown_rows(release: TableRelease) -> Shown:
    """The same for tables of text: a histogram of each group has a row for each bin, and so have several quantiles.

    Several of them in one answer have columns, as their rows have no order that a reader would expect.
    """
    if isinstance(release, Single | SqlRelease):
        return shown_table(release)
    if sum(map(holds_lists, map(release.value.column, release.plan.aggregates))) != 1:
        return shown_table(release)
    table, aggregates = release.tidy(), release.plan.aggregates
    ends = [f"{name}_{end}" for name in aggregates for end in ("low", "high")]
    keys = tuple(name for name in table.column_names if name not in aggregates and name not in ends)
    columns = []
    for name, aggregate in aggregates.items():
        values, low, high = (
            table.column(each).to_pylist() if each in table.column_names else None
            for each in (name, f"{name}_low", f"{name}_high")
        )
        assert values is not None
        columns.append(ShownColumn(name, "", values, low, high, in_words(100 * _level(aggregate, release.plan))))
    return Shown(keys, list(zip(*(table.column(key).to_pylist() for key in keys), strict=True)), columns)


def _name(aggregate: Aggregate) -> str:
    """What a question about all rows is called, in a few words."""
    if isinstance(aggregate, Count):
        return "people" if aggregate.people else "rows"
    if isinstance(aggregate, Spread):
        return f"histogram of {aggregate.bins.of}"
    if isinstance(aggregate, Top):
        return f"most common {aggregate.of}"
    if isinstance(aggregate, CountDistinct):
        return f"different {aggregate.of}"
    if isinstance(aggregate, QuantilesOfGroups):
        is_median = aggregate.probabilities == (Fraction(1, 2),)
        return f"{'median' if is_median else 'quantiles'} of {aggregate.of}"
    return f"{aggregate.verb} of {aggregate.of}" if isinstance(aggregate, OfColumn) else str(aggregate)


def _level(aggregate: Aggregate, plan: Plan) -> Fraction:
    """The level of the intervals of a column: quantiles have their own."""
    own = aggregate.interval_level if isinstance(aggregate, QuantilesOfGroups) else None
    return plan.level if own is None else own


def _table(release: TableRelease) -> Shown:
    table, aggregates = release.value, release.plan.aggregates
    keys = tuple(name for name in release.parts.column_names if name in table.column_names and name not in aggregates)
    columns: list[ShownColumn] = []
    for name, aggregate in aggregates.items():
        ends = [f"{name}_{end}" for end in ("low", "high")]
        values = table.column(name).to_pylist()
        low, high = (table.column(end).to_pylist() if end in table.column_names else None for end in ends)
        parts = _parts(aggregate, values[0]) if values else None
        level = in_words(100 * _level(aggregate, release.plan))
        if parts is None:
            columns.append(ShownColumn(name, "", [_joined(value) for value in values], low, high, level))
            continue
        for at, part in enumerate(parts):
            each, least, most = (_each(of, at) for of in (values, low, high))
            columns.append(ShownColumn(name, part, each, least, most, level, isinstance(aggregate, Spread)))
    return Shown(keys, _rows(table, keys), columns)


def _rows(table: Any, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(key).to_pylist() for key in keys), strict=True)) if keys else [()] * table.num_rows


def _selected(release: SqlRelease) -> Shown:
    """The columns of SELECT."""
    table, (keys, noisy) = release.value, release._shown
    level = in_words(100 * release.plan.level)
    columns = []
    for name in noisy:
        low, high = (
            table.column(end).to_pylist() if end in table.column_names else None
            for end in (f"{name}_low", f"{name}_high")
        )
        columns.append(
            ShownColumn(name, "", [_joined(value) for value in table.column(name).to_pylist()], low, high, level)
        )
    return Shown(tuple(keys), _rows(table, keys), columns)


def _parts(aggregate: Aggregate, value: Any) -> list[str] | None:
    """What the numbers of one list are called; None for a single answer, or for names."""
    if isinstance(aggregate, QuantilesOfGroups) and isinstance(value, list):
        return [f"{in_words(100 * probability)} %" for probability in aggregate.probabilities]
    return aggregate.bins.labels if isinstance(aggregate, Spread) else None


def _each(values: Sequence[Any] | None, at: int) -> Any:
    return None if values is None else [value[at] for value in values]


def _joined(value: Any) -> Any:
    return ", ".join(map(plain, value)) if isinstance(value, list) else value
