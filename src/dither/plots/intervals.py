"""A release with its intervals: a panel for each column, a row for each group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from dither.errors import ParameterError
from dither.mechanisms import Release
from dither.plots.shown import Shown, ShownColumn, plain, shown
from dither.plots.style import Axes, Figure, described, legend_below, new_panels, strokes, thousands

__all__ = ["answers", "pages"]

_MOST_ROWS = 40
_LONGEST_LABEL = 28
_MARKERS = "osD^vP*"


def pages(release: Release) -> int:
    """How many pictures a release takes: each shows 40 rows at most."""
    return max(1, -(-len(shown(release).rows) // _MOST_ROWS))


def answers(release: Release, page: int = 1) -> Figure:
    """Draw the released numbers as points with their intervals; histograms as bars.

    Columns that are no numbers are not drawn. A picture has 40 rows at most; long tables have several pages, and each
    states which rows it shows.

    Parameters
    ----------
    release : Release
        What a mechanism, `dp.stats` or a dataset released.
    page : int, default 1
        Which 40 rows are drawn: 2 for the rows from 41 to 80.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ParameterError
        If no column is a number, all answers were refused, or there is no such page.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.Histogram(bins=["yes", "no"], epsilon=1).release({"yes": 412, "no": 371})
    >>> figure = dp.plots.answers(release)
    """
    whole = shown(release)
    most = pages(release)
    if type(page) is not int or not 1 <= page <= most:
        raise ParameterError(f"page must be a whole number from 1 to {most}: a picture has {_MOST_ROWS} rows at most.")
    table = whole.part((page - 1) * _MOST_ROWS, page * _MOST_ROWS)
    panels = [list(columns) for _, columns in groupby(table.columns, key=lambda column: column.name)]
    drawn = [columns for columns in panels if all(column.is_numeric for column in columns) and len(table.rows)]
    if not drawn:
        refused = (column.refusal for column in table.columns if column.refusal is not None)
        raise ParameterError(f"there is nothing to draw: {next(refused, 'no column of this answer is a number.')}")
    rows = len(table.rows)
    are_bars = [_are_bars(columns) for columns in drawn]
    lines = max(rows * (1 if len(columns) == 1 else 0.6 * len(columns)) for columns in drawn)
    figure, places = new_panels(len(drawn), height=max(2.0, 1.1 + 0.28 * lines) if not any(are_bars) else 3.6)
    for axes, columns, bars in zip(places, drawn, are_bars, strict=True):
        (_bars if bars else _points)(axes, columns, table, rows)
        axes.set_title(plain(columns[0].name), fontsize=10, parse_math=False)
    if most > 1:
        first = (page - 1) * _MOST_ROWS + 1
        which = f"page {page} of {most}: rows {first:,} to {first + rows - 1:,} of {len(whole.rows):,}"
        figure.supxlabel(which, fontsize=8)
    return described(figure, _words(table, drawn, rows))


def _are_bars(columns: Sequence[ShownColumn]) -> bool:
    return all(column.is_bars for column in columns)


def _points(axes: Axes, columns: Sequence[ShownColumn], table: Shown, rows: int) -> None:
    """Rows from top to bottom; the numbers of one list beside each other, each with its own colour and marker."""
    for at, (column, stroke) in enumerate(zip(columns, strokes(len(columns)), strict=True)):
        shift = 0.0 if len(columns) == 1 else 0.7 * (at / (len(columns) - 1) - 0.5)
        values, reach = _with_reach(column, rows)
        axes.errorbar(
            values,
            np.arange(rows) + shift,
            xerr=reach,
            fmt=_MARKERS[at % len(_MARKERS)],
            color=stroke["color"],
            markersize=4.5,
            elinewidth=1.4,
            capsize=2.5,
            label=column.part,
        )
        _arrows(axes, column, np.arange(rows) + shift)
    labels = [_short(label) for label in table.labels()[:rows]]
    for row in range(rows):
        if all(column.values[row] is None for column in columns):
            labels[row] = f"{labels[row]}: no answer"
    axes.set_yticks(range(rows), labels=labels, fontsize=8, parse_math=False)
    thousands(axes.xaxis)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if len(columns) > 1:
        legend_below(axes)


def _bars(axes: Axes, columns: Sequence[ShownColumn], table: Shown, rows: int) -> None:
    """Bins from left to right: a single histogram has its bins as rows, those of groups have them as columns."""
    if len(columns) == 1:
        bins, histograms, names = table.labels()[:rows], [_with_reach(columns[0], rows)], [""]
    else:
        bins, names = [column.part for column in columns], table.labels()[:rows]
        reached = [_with_reach(column, rows) for column in columns]
        histograms = [
            (
                np.array([values[row] for values, _ in reached]),
                None
                if reached[0][1] is None
                else np.array([reach[:, row] for _, reach in reached if reach is not None]).T,
            )
            for row in range(rows)
        ]
    width = 0.8 / len(histograms)
    for at, ((values, reach), stroke) in enumerate(zip(histograms, strokes(len(histograms)), strict=True)):
        places = np.arange(len(bins)) + (at - (len(histograms) - 1) / 2) * width
        thin = {"elinewidth": 1, "capsize": 2}
        axes.bar(places, values, width, yerr=reach, error_kw=thin, color=stroke["color"], alpha=0.75, label=names[at])
    axes.set_xticks(range(len(bins)), labels=[_short(each) for each in bins], fontsize=8, parse_math=False)
    axes.tick_params(axis="x", rotation=30 if len(bins) > 4 else 0)
    thousands(axes.yaxis)
    axes.axhline(0, color="#000000", linewidth=0.6)
    axes.grid(visible=False, axis="x")
    if len(histograms) > 1:
        legend_below(axes)


def _with_reach(column: ShownColumn, rows: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The values, and how far the interval goes to both sides; an end that is not known is not drawn."""
    values = np.array(column.values[:rows], dtype=np.float64)
    if column.low is None or column.high is None:
        return values, None
    low, high = (np.array(end[:rows], dtype=np.float64) for end in (column.low, column.high))
    reach = np.stack([values - low, high - values])
    return values, np.where(np.isfinite(reach), np.maximum(reach, 0), 0)


def _arrows(axes: Axes, column: ShownColumn, places: np.ndarray) -> None:
    """At the edge of the picture, for each interval that has no end on that side."""
    for ends, edge, marker in ((column.low, 0, "<"), (column.high, 1, ">")):
        is_open = [place for end, place in zip(ends or (), places, strict=False) if end is None or math.isinf(end)]
        if is_open:
            axes.scatter(
                [edge] * len(is_open),
                is_open,
                marker=marker,
                transform=axes.get_yaxis_transform(),
                color="#555555",
                clip_on=False,
            )


def _short(label: str) -> str:
    text = plain(label)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _words(table: Shown, drawn: Sequence[Sequence[ShownColumn]], rows: int) -> str:
    names = ", ".join(plain(columns[0].name) for columns in drawn)
    by = f" by {', '.join(map(plain, table.keys))}" if table.keys else ""
    levels = dict.fromkeys(column.level for columns in drawn for column in columns if column.low is not None)
    intervals = f", with {' and '.join(levels)} % intervals" if levels else ""
    return (
        f"Private values of {names}{by}: {rows} row{'s' if rows > 1 else ''}{intervals}. The table holds the numbers."
    )
