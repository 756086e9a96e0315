"""Errors that are to be expected: against the number of rows, against ε, and of several ways beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.errors import ParameterError
from dither.exact import check, in_words
from dither.plots.cost_texts import price
from dither.plots.shown import plain
from dither.plots.style import Figure, described, new_axes, strokes

if TYPE_CHECKING:
    from dither.engine import Plan, Question
    from dither.estimators.solving import Solution

__all__ = ["accuracy_by_epsilon", "competing", "error_by_epsilon", "error_by_rows"]

_SIZES = [int(float(f"{size:.2g}")) for size in np.geomspace(30, 1_000_000, 25)]
_EPSILONS = [float(f"{epsilon:.2g}") for epsilon in np.geomspace(0.01, 10, 19)]

_STEPS = 13
_OCTAVES = 3


def error_by_rows(plan: Plan) -> Figure:
    """Draw the expected error of each column of a plan against the rows of a group; nothing is spent.

    The error is half the width of the interval; columns that have none are left out. Means and variances are of values
    that are spread evenly over their bounds.

    Parameters
    ----------
    plan : Plan
        What `query.plan(...)` returns.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    errors = {name: [plan.error(name, rows) for rows in _SIZES] for name in plan.aggregates}
    level = in_words(100 * plan.level)
    return _drawn(f"Error at {level} %, costs {price(plan.cost)}", "rows in a group", _SIZES, errors)


def error_by_epsilon(question: Question, rows: int = 1_000, **price: Any) -> Figure:
    """Draw the expected error of each column of a query against ε; nothing is spent.

    Parameters
    ----------
    question : Question
        A query that was not released, such as `data.group_by(...).agg(...)`.
    rows : int, default 1000
        The rows of a group.
    **price : Any
        The rest of the budget, as for `query.plan`: `delta`, `noise` and so on, without `epsilon` and `rho`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    check.count(rows=rows)
    if "epsilon" in price or "rho" in price:
        raise ParameterError("epsilon is what the axis shows: leave epsilon=... and rho=... out.")
    plans = [question.plan(epsilon=epsilon, **price) for epsilon in _EPSILONS]
    errors = {name: [plan.error(name, rows) for plan in plans] for name in plans[0].aggregates}
    title = f"Error at {in_words(100 * plans[0].level)} % in groups of {rows:,} rows"
    return _drawn(title, "ε", _EPSILONS, errors)


def _drawn(title: str, axis: str, places: Sequence[float], errors: Mapping[str, Sequence[float | None]]) -> Figure:
    known = {
        name: [math.nan if each is None else each for each in values]
        for name, values in errors.items()
        if any(each is not None for each in values)
    }
    if not known:
        raise ParameterError("there is nothing to draw: no column has an error that is known beforehand.")
    return competing(title, axis, places, known, y_label="± error")


def competing(
    title: str,
    axis: str,
    places: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    *,
    y_label: str = "typical error",
    mark: tuple[str, float] | None = None,
) -> Figure:
    """Draw the errors of several methods for one question, on logarithmic axes.

    Parameters
    ----------
    title : str
        The title of the picture.
    axis : str
        What the horizontal axis shows.
    places : sequence of float
        The places on the horizontal axis.
    errors : mapping of str to sequence of float
        For each method its error at each place.
    y_label : str, default "typical error"
        What the vertical axis shows.
    mark : tuple of (str, float), optional
        A name and a size to compare the errors with.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    figure, axes = new_axes(title, axis, y_label)
    at = [float(place) for place in places]
    for (name, values), stroke in zip(errors.items(), strokes(len(errors)), strict=True):
        axes.loglog(at, values, label=name, **stroke)
    if mark is not None:
        axes.axhline(mark[1], color="0.6", linewidth=0.8)
        axes.annotate(mark[0], (at[-1], mark[1]), fontsize=7, va="bottom", ha="right")
    for text in axes.legend(fontsize=7, frameon=False, loc="lower left").get_texts():
        text.set_parse_math(False)
    said = "; ".join(f"{plain(name)} from {values[0]:.3g} to {values[-1]:.3g}" for name, values in errors.items())
    return described(figure, f"{title}. Errors from {axis} = {at[0]:g} to {at[-1]:g}: {said}.")


def accuracy_by_epsilon(solution: Solution) -> Figure:
    """Draw the accuracy of each noise from an eighth to eight times the ε of a solution, which is itself a dot.

    Parameters
    ----------
    solution : Solution
        What `dp.solve(...)` returns.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    figure, axes = new_axes(f"{solution.queries} queries, {solution.n} records", "ε", "largest error, as a share of n")
    grid = [float(f"{float(solution.epsilon) * 2.0**power:.4g}") for power in np.linspace(-_OCTAVES, _OCTAVES, _STEPS)]
    found = [solution.accuracies(epsilon) for epsilon in grid]
    for option, stroke in zip(solution.options, strokes(len(solution.options)), strict=True):
        label = f"{option.noise} noise on {option.strategy}"
        axes.loglog(grid, [each[option.noise] for each in found], label=label, **stroke)
    axes.plot([float(solution.epsilon)], [solution.accuracy], "o", color="#000000", markersize=5, label="the solution")
    axes.legend(fontsize=8, frameon=False)
    figure.set_label(
        f"The largest error of {solution.queries} queries falls with ε; at ε = {float(solution.epsilon):.4g} it is "
        f"{solution.accuracy:.3g} of n with probability {solution.chance}."
    )
    return figure
