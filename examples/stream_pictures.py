"""Draws the pictures of docs/streams.md: python examples/stream_pictures.py [folder]."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.continual.encoders import Encoder
from dither.continual.factorisations import best, each_period, square_root, tree_row_squares
from dither.continual.participation import ONCE, Floats
from dither.plots.style import save

PERIODS = 365


def stream_errors() -> Figure:
    """The error of each running total of a year, for four mechanisms of the same cost."""
    sums, totals = tree_row_squares(PERIODS)
    errors = {"noise per day, added up": _deviations(each_period(PERIODS)), "binary tree": np.sqrt(sums * totals)}
    errors |= {"square root": _deviations(square_root(PERIODS)), "optimal": _deviations(best(PERIODS, [None]))}
    return dp.plots.errors_over_time({name: list(each) for name, each in errors.items()}, "365 running totals")


def _deviations(encoder: Encoder) -> Floats:
    _, moved = encoder.sensitivity_squared(ONCE)
    found: Floats = np.sqrt(encoder.row_squares(None) * moved)
    return found


def draw(folder: Path) -> list[Path]:
    """Write the picture and say where it is."""
    return [save(stream_errors(), folder / "stream_errors.svg")]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
