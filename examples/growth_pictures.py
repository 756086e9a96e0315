"""Draws the picture of docs/engines.md: python examples/growth_pictures.py [folder].

The figures are those that `python -m bench growth` measured last.
"""

import json
import re
import sys
from pathlib import Path

from matplotlib.figure import Figure

from dither.plots.style import new_panels, save, strokes

ROOT = Path(__file__).resolve().parents[1]
CASES = {
    "rows": re.compile(r"([\d,]+) rows, 1,000 groups, CPU time"),
    "groups": re.compile(r"([\d,]+) groups, 10,000,000 rows, CPU time"),
}
TITLES = {"rows": "1,000 groups", "groups": "10,000,000 rows"}


def growth() -> Figure:
    """Processor time of a private group-by and of the plain query, against rows and against groups."""
    measured = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))["growth"]["rows"]
    figure, panels = new_panels(2, 3.4)
    for (name, case), axes in zip(CASES.items(), panels, strict=True):
        points = [(int(at[1].replace(",", "")), row) for row in measured if (at := case.fullmatch(row["case"]))]
        sizes = [size for size, _ in points]
        for label, key, stroke in zip(("private", "plain query"), ("ours", "peer_value"), strokes(2), strict=True):
            axes.plot(sizes, [row[key] for _, row in points], label=label, marker="o", markersize=3, **stroke)
        axes.set(xscale="log", xlabel=name, ylabel="processor time, s")
        if name == "rows":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_title(TITLES[name], fontsize=11)
        axes.legend(fontsize=8, frameon=False)
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the picture and say where it is."""
    return [save(growth(), folder / "growth.svg")]


if __name__ == "__main__":
    default = ROOT / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
