"""One look for all pictures: small, quiet, distinguishable without colour."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["new_axes", "save", "strokes"]

# Okabe and Ito (2008): distinguishable with every common form of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def new_axes(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    """An empty picture with its labels. It belongs to no window and leaves no global state behind."""
    figure = Figure(figsize=(5.2, 3.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def strokes(count: int) -> list[dict[str, Any]]:
    """Line styles that differ both in colour and in dashes."""
    pairs = zip(cycle(_COLOURS), cycle(_DASHES), strict=False)
    return [{"color": colour, "linestyle": dashes, "linewidth": 1.6} for colour, dashes in islice(pairs, count)]


def save(figure: Figure, path: Path) -> Path:
    """Write the picture as SVG and say where it is: text stays text, and the same picture gives the same bytes."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dither"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path
