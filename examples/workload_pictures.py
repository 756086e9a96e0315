"""Draws the pictures of docs/workloads.md: python examples/workload_pictures.py [folder]."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.plots.style import new_axes, save, strokes

CELLS = 256
STRATEGIES = ("cells", "tree of 2", "square root", "optimal")


def workload_errors() -> Figure:
    """How wide the 95 % interval of each prefix sum is, by strategy."""
    figure, axes = new_axes("Prefix sums over 256 cells, ε = 1, δ = 1e−6", "prefix", "95 % interval, ±")
    workload, nobody = dp.Workload.prefix(CELLS), np.zeros(CELLS, dtype=np.int64)
    for name, stroke in zip(STRATEGIES, strokes(len(STRATEGIES)), strict=True):
        low, high = dp.MatrixMechanism(workload, epsilon=1, delta="1e-6", strategy=name).release(nobody).interval(0.95)
        axes.plot(np.arange(1, CELLS + 1), (high - low) / 2, label=name, **stroke)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False)
    return figure


def plan_trade_off() -> Figure:
    """What a plan for a hundred queries trades."""
    return dp.solve(100, n=100_000, accuracy="0.01", delta="1e-7").plot()


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are."""
    return [save(picture(), folder / f"{picture.__name__}.svg") for picture in (workload_errors, plan_trade_off)]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
