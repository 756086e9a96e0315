"""Draws the pictures of docs/adaptive.md: python examples/adaptive_pictures.py [folder].

What the voters of freedman.py claim is computed and not sampled: with k features on n rows, a vote of signs of noisy
means is right on Φ(√(2k/π) · s/√(s² + σ²) / √n) of the rows that it was chosen on, up to terms of the order 1/k, where
s = 1/(2√n) is the standard deviation of a mean and σ that of the noise.
"""

import math
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.adaptive.promise import Promise
from dither.plots.style import new_axes, save, strokes

ROWS, THRESHOLD = 10_000, 0.06
FEATURES = [int(float(f"{x:.2g}")) for x in np.geomspace(1, 10_000, 33)]
QUERIES = [int(float(f"{x:.2g}")) for x in np.geomspace(1, 10_000, 9)]


def vote_is_right(features: int, rows: int, sigma: float = 0.0) -> float:
    """On the rows that chose it."""
    spread = 1 / (2 * math.sqrt(rows))
    return NormalDist().cdf(math.sqrt(2 * features / math.pi / rows) * spread / math.hypot(spread, sigma))


def through_the_oracle(features: int) -> tuple[float, float]:
    """What the vote claims, and how far from that the population may be."""
    promise = Promise.best(ROWS, queries=features + 1, accuracy=None, confidence="0.95", method="gaussian")
    return vote_is_right(features, ROWS, float(promise.route.mean.scale)), promise.accuracy


def through_the_holdout(features: int) -> float:
    """What the training half claims, until the other half finds it overfitted and answers itself."""
    claimed = vote_is_right(features, ROWS // 2)
    return claimed if claimed - 0.5 <= THRESHOLD else 0.5


def freedman() -> Figure:
    """Claims about pure noise against the number of features that were looked at."""
    figure, axes = new_axes(f"Pure noise, {ROWS:,} rows", "features looked at", "claimed accuracy of their vote")
    naive, oracle, holdout = strokes(3)
    claims, reach = zip(*(through_the_oracle(k) for k in FEATURES), strict=True)
    axes.semilogx(FEATURES, [vote_is_right(k, ROWS) for k in FEATURES], label="naive reuse", **naive)
    axes.semilogx(FEATURES, claims, label="oracle, with its interval", **oracle)
    low = [max(0.0, claim - far) for claim, far in zip(claims, reach, strict=True)]
    high = [min(1.0, claim + far) for claim, far in zip(claims, reach, strict=True)]
    axes.fill_between(FEATURES, low, high, color=oracle["color"], alpha=0.12, linewidth=0)
    axes.semilogx(FEATURES, [through_the_holdout(k) for k in FEATURES], label="holdout (half of the rows)", **holdout)
    axes.axhline(0.5, color="0.6", linewidth=0.8)
    axes.annotate("the population", (FEATURES[-1], 0.49), fontsize=7, va="top", ha="right")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7, frameon=False, loc="lower left")
    return figure


def rows_needed() -> Figure:
    """Rows for an accuracy of 0.05 against the number of queries, for each method."""
    figure, axes = new_axes("All answers within 0.05, with confidence 0.95", "queries", "rows needed")
    names = ("gaussian", "laplace", "splitting", "rounding")
    for name, stroke in zip(names, strokes(len(names)), strict=True):
        needed = [dp.Oracle.needed(queries=k, accuracy=Fraction(1, 20), method=name) for k in QUERIES]
        axes.loglog(QUERIES, needed, label=name, **stroke)
    fixed = [dp.Oracle.needed(queries=k, accuracy=Fraction(1, 20), method="union", adaptive=False) for k in QUERIES]
    axes.loglog(QUERIES, fixed, color="0.6", linewidth=0.8)
    axes.annotate("queries fixed in advance", (QUERIES[-1], fixed[-1]), fontsize=7, va="bottom", ha="right")
    axes.legend(fontsize=7, frameon=False, loc="upper left")
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are."""
    return [save(picture(), folder / f"{picture.__name__}.svg") for picture in (freedman, rows_needed)]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
