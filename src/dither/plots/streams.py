"""Answers of a stream over time, with bands; and how the errors of factorisations grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dither.errors import ParameterError
from dither.plots.shown import plain
from dither.plots.style import Figure, described, legend_below, new_axes, strokes

__all__ = ["errors_over_time", "over_time"]

_MOST_LINES = 7


def over_time(answers: pa.Table, column: str, keys: Sequence[str] = ()) -> Figure:
    """Draw a column of a stream over time, with its intervals as a band around each line.

    Parameters
    ----------
    answers : pyarrow.Table
        What `RunningStream.show` returned: released numbers alone.
    column : str
        The column, such as "visits_total".
    keys : sequence of str, default ()
        The columns of the groups; each group has a line, and each bin of a histogram. At most seven are drawn.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ParameterError
        If there is no such column of numbers.
    """
    if column not in answers.column_names or column in ("period", *keys):
        listed = ", ".join(map(plain, answers.column_names))
        raise ParameterError(f"column must be a column of numbers, got {column!r}. There are: {listed}.")
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in answers.to_pylist():
        group = [str(row[key]) for key in keys]
        if isinstance(row[column], list):  # a histogram has a line for each bin
            for at, each in enumerate(_bins(row, column)):
                lines.setdefault(", ".join([*group, f"bin {at + 1}"]), []).append(each)
        else:
            lines.setdefault(", ".join(group), []).append(row)
    figure, axes = new_axes(plain(column), "period", plain(column))
    shown = list(lines.items())[:_MOST_LINES]
    for (name, rows), stroke in zip(shown, strokes(len(shown)), strict=True):
        days = [row["period"] for row in rows]
        axes.plot(days, _floats(rows, column), label=plain(name) or None, **stroke)
        if f"{column}_low" in answers.column_names:
            low, high = (_floats(rows, f"{column}_{end}") for end in ("low", "high"))
            axes.fill_between(days, low, high, alpha=0.15, color=stroke["color"], linewidth=0)
    figure.autofmt_xdate()
    if any(lines):
        legend_below(axes)
    count = len({row["period"] for row in answers.select(["period"]).to_pylist()})
    return described(figure, f"{plain(column)} over {count} periods with intervals, for {len(shown)} groups.")


def _bins(row: Mapping[str, Any], column: str) -> list[dict[str, Any]]:
    """The numbers of each bin of a histogram, with their ends."""
    names = [name for name in (column, f"{column}_low", f"{column}_high") if isinstance(row.get(name), list)]
    each = zip(*(row[name] for name in names), strict=True)
    return [{"period": row["period"], **dict(zip(names, values, strict=True))} for values in each]


def _floats(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    return [np.nan if row[column] is None else float(row[column]) for row in rows]


def errors_over_time(errors: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Draw how the error of a running total grows with the periods, for several mechanisms.

    Parameters
    ----------
    errors : mapping of str to sequence of float
        The standard deviation in each period, by the name of the mechanism.
    title : str
        What is compared.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    figure, axes = new_axes(title, "period", "standard deviation")
    for (name, values), stroke in zip(errors.items(), strokes(len(errors)), strict=True):
        axes.plot(range(1, len(values) + 1), values, label=plain(name), **stroke)
    legend_below(axes)
    last = ", ".join(f"{plain(name)} {float(values[-1]):.3g}" for name, values in errors.items())
    return described(figure, f"{title}: standard deviation at the last period, {last}.")
