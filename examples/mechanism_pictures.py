"""Draws the pictures of docs/mechanisms: python examples/mechanism_pictures.py [folder]."""

import math
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.noise import DiscreteLaplace
from dither.plots.style import new_axes
from dither.plots.style import strokes as _strokes


def strokes(count: int) -> list[dict[str, Any]]:
    """Line styles, as keyword arguments."""
    return [dict(stroke) for stroke in _strokes(count)]


def laplace() -> Figure:
    """Two neighbours: every output is at most e^ε times likelier on one than on the other."""
    figure, axes = new_axes("Laplace noise, ε = 1/2, on the counts 10 and 11", "released", "probability")
    law, points = DiscreteLaplace(2), range(22)
    for count, stroke in zip((10, 11), strokes(2), strict=True):
        heights = [float(law.pmf(x - count)) for x in points]
        axes.plot(list(points), heights, marker="o", markersize=3, label=f"the count is {count}", **stroke)
    axes.legend(fontsize=8, frameon=False)
    return figure


def gaussian() -> Figure:
    """σ against ε: the exact one and the formulas of the lectures, each where it is proved."""
    figure, axes = new_axes("Gaussian noise for sensitivity 1, δ = 1e−6", "ε", "σ")
    grids = {"exact": (0.05, 20), "S0-4.2": (0.05, 1), "S1": (0.05, 0.999), "S3": (0.05, 20)}
    for (name, ends), stroke in zip(grids.items(), strokes(4), strict=True):
        points = [float(f"{x:.4g}") for x in np.geomspace(*ends, 40)]
        sigmas = [dp.Gaussian(sensitivity="0.5", epsilon=x, delta="1e-6", calibration=name).sigma * 2 for x in points]
        axes.loglog(points, sigmas, label=name, **stroke)
    axes.legend(fontsize=8, frameon=False)
    return figure


def staircase() -> Figure:
    """E|noise| against ε, in units of the sensitivity."""
    figure, axes = new_axes("Noise on a real number of sensitivity 1", "ε", "expected error")
    points = [float(f"{x:.4g}") for x in np.linspace(0.25, 10, 40)]
    # Just below 1, so that only real numbers are meant.
    stairs = [dp.Staircase(sensitivity="0.999999", epsilon=x).expected_error for x in points]
    smooth = [dp.Laplace(sensitivity="0.999999", epsilon=x).expected_error for x in points]
    for name, values, stroke in zip(("Laplace", "staircase"), (smooth, stairs), strokes(2), strict=True):
        axes.semilogy(points, values, label=name, **stroke)
    axes.legend(fontsize=8, frameon=False)
    return figure


def histogram() -> Figure:
    """How likely a bin is to be shown, by its true count."""
    figure, axes = new_axes("Bins discovered with ε = 1, δ = 1e−6", "true count", "probability of being shown")
    counts = range(1, 45)
    for noise, stroke in zip(("laplace", "gaussian"), strokes(2), strict=True):
        found = dp.Histogram(epsilon=1, delta="1e-6", noise=noise)._discovery
        assert found is not None
        shown = [float(found.law.tail(found.threshold - count - 1)) for count in counts]
        axes.semilogy(list(counts), shown, label=f"{noise}, threshold {found.threshold}", **stroke)
    axes.axhline(1e-6, color="0.6", linewidth=0.8)
    axes.annotate("δ", (44, 1e-6), fontsize=9, va="bottom")
    axes.set_ylim(math.sqrt(1e-13), 2)
    axes.legend(fontsize=8, frameon=False)
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are. The same input gives the same bytes."""
    written = []
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dither"}):
        for picture in (laplace, gaussian, staircase, histogram):
            path = folder / f"{picture.__name__}.svg"
            picture().savefig(path, metadata={"Date": None, "Creator": None})
            written.append(path)
    return written


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "mechanisms" / "img"
    for picture in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default):
        print(picture)
