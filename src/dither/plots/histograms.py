"""Answers of a mechanism on two neighbouring inputs, side by side; the inputs are made up, never data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.plots.style import Figure, new_axes, strokes

__all__ = ["histograms"]

_BINS = 60


def histograms(answers: Mapping[str, NDArray[np.float64]], title: str, cut: float | None = None) -> Figure:
    """The share of the answers in each of sixty bins, for each named input; `cut` is drawn as a line.

    The bins span the middle 99 % of all answers; the rest is counted in the first and the last one.
    """
    known = {name: values[np.isfinite(values)] for name, values in answers.items()}
    together = np.concatenate(list(known.values())) if known else np.empty(0)
    if not together.size:
        raise ParameterError("there is nothing to draw: no answer is a number.")
    low, high = np.quantile(together, [0.005, 0.995])
    edges = np.linspace(low, high, _BINS + 1) if low < high else np.array([low - 0.5, low + 0.5])
    figure, axes = new_axes(title, "score of the answer", "share of the runs")
    for (name, values), stroke in zip(known.items(), strokes(len(known)), strict=True):
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        axes.stairs(counts / max(len(answers[name]), 1), edges, label=name, **stroke)
    if cut is not None:
        axes.axvline(float(np.clip(cut, edges[0], edges[-1])), color="#000000", linewidth=0.8)
    axes.legend(fontsize=8)
    return figure
