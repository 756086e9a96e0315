"""What a plan trades: accuracy against ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dither.plots.style import Figure, new_axes, strokes

if TYPE_CHECKING:
    from dither.estimators.planning import Plan

__all__ = ["trade_off"]

_POINTS = 13
_OCTAVES = 3


def trade_off(plan: Plan) -> Figure:
    """The accuracy of each noise from an eighth to eight times the ε of the plan, and the plan itself as a dot."""
    figure, axes = new_axes(f"{plan.queries} queries, {plan.n} records", "ε", "largest error, as a share of n")
    grid = [float(f"{float(plan.epsilon) * 2.0**power:.4g}") for power in np.linspace(-_OCTAVES, _OCTAVES, _POINTS)]
    found = [plan.accuracies(epsilon) for epsilon in grid]
    for option, stroke in zip(plan.options, strokes(len(plan.options)), strict=True):
        label = f"{option.noise} noise on {option.strategy}"
        axes.loglog(grid, [each[option.noise] for each in found], label=label, **stroke)
    axes.plot([float(plan.epsilon)], [plan.accuracy], "o", color="#000000", markersize=5, label="the plan")
    axes.legend(fontsize=8, frameon=False)
    figure.set_label(
        f"The largest error of {plan.queries} queries falls with ε; at ε = {float(plan.epsilon):.4g} it is "
        f"{plan.accuracy:.3g} of n with probability {plan.chance}."
    )
    return figure
