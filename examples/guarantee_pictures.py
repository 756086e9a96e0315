"""Draws the pictures of docs/guarantees.md: python examples/guarantee_pictures.py [folder]."""

import sys
from pathlib import Path

import dither as dp
from dither.plots.style import save


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are."""
    guarantees = [dp.PureDP(1), dp.ApproxDP(1, "1e-6"), dp.ZCDP("0.5"), dp.GaussianDP(1)]
    kinds = ("profile", "tradeoff", "loss")
    return [save(dp.plots.draw(kind, *guarantees), folder / f"{kind}.svg") for kind in kinds]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
