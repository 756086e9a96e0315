"""Draws the pictures of docs/guarantees.md: python examples/guarantee_pictures.py [folder]."""

import sys
from pathlib import Path

import matplotlib as mpl

import dither as dp


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are. The same input gives the same bytes."""
    guarantees = [dp.PureDP(1), dp.ApproxDP(1, "1e-6"), dp.ZCDP("0.5"), dp.GaussianDP(1)]
    written = []
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dither"}):
        for kind in ("profile", "tradeoff", "loss"):
            path = folder / f"{kind}.svg"
            dp.plots.draw(kind, *guarantees).savefig(path, metadata={"Date": None, "Creator": None})
            written.append(path)
    return written


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    for picture in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default):
        print(picture)
