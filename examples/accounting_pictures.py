"""Draws the picture of docs/accounting.md: python examples/accounting_pictures.py [folder]."""

import sys
from fractions import Fraction
from pathlib import Path

from matplotlib.figure import Figure

from dither.accounting import compose
from dither.accounting.textbook import advanced, basic
from dither.events import LaplaceNoise, Repeated
from dither.plots.style import new_axes, save, strokes

SCALE = 50
DELTA = "1e-6"
TIMES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


def composition() -> Figure:
    """ε of k releases: what the textbook allows, and the bracket around the truth."""
    figure, axes = new_axes(f"Laplace noise of scale {SCALE}, sensitivity 1, δ = 1e−6", "number of releases", "ε")
    each = Fraction(1, SCALE)
    brackets = [
        compose([Repeated(LaplaceNoise(Fraction(SCALE)), k)], relative_width=1e-3).bracket(DELTA) for k in TIMES
    ]
    curves = {
        "basic composition": [float(basic(each, k)[0]) for k in TIMES],
        "advanced composition": [advanced(each, k, DELTA)[0] for k in TIMES],
        "bracket, upper end": [found.upper for found in brackets],
    }
    for (name, values), stroke in zip(curves.items(), strokes(len(curves)), strict=True):
        axes.loglog(TIMES, values, label=name, **stroke)
    axes.loglog(TIMES, [found.lower for found in brackets], "k+", markersize=6, label="bracket, lower end")
    axes.legend(fontsize=8, frameon=False)
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the picture and say where it is."""
    return [save(composition(), folder / "composition.svg")]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
