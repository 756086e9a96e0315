"""Draws the picture of docs/sensitivity.md: python examples/sensitivity_pictures.py [folder]."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.plots.style import new_axes, save, strokes
from dither.sensitivity import Median, local_sensitivity, smooth_sensitivity

BOUNDS = (0, 1_000_000)
INCOMES = [12_000 + 30_000 * (i / 200) / (1 - i / 200) ** 0.5 for i in range(200)]
BETAS = np.geomspace(0.001, 3, 60)


def smooth_sensitivities() -> Figure:
    """The sensitivity of a median income: local, smooth and global."""
    figure, axes = new_axes("Median of 200 incomes between 0 and 10⁶", "β", "sensitivity")
    lines = strokes(4)
    axes.axhline(Median(BOUNDS).global_sensitivity, label="global", **lines[0])
    for adjacency, line in ((REPLACE_ONE, lines[1]), (ADD_REMOVE, lines[2])):
        median = Median(BOUNDS, adjacency)
        found = [smooth_sensitivity(median, INCOMES, float(beta)) for beta in BETAS]
        axes.loglog(BETAS, found, label=f"smooth, {adjacency}", **line)
    axes.axhline(local_sensitivity(Median(BOUNDS), INCOMES), label="local (not private)", **lines[3])
    axes.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0, 0.08))
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the picture and say where it is."""
    return [save(smooth_sensitivities(), folder / "smooth_sensitivities.svg")]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
