"""Draws the pictures of selection, randomized response and sparse vector: python examples/selection_pictures.py."""

import sys
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.plots.style import new_axes, strokes

SCORES = (0, 2, 4, 5, 7, 8)


def exponential() -> Figure:
    """The law of the selected candidate for three budgets."""
    figure, axes = new_axes("Who is selected, scores 0, 2, 4, 5, 7, 8", "score", "probability")
    for epsilon, stroke in zip((Fraction(1, 2), Fraction(1), Fraction(2)), strokes(3), strict=True):
        law = dp.Exponential(sensitivity=1, epsilon=epsilon).error_distribution(SCORES)
        points = [(max(SCORES) - error, float(p)) for error, p in zip(law.errors, law.probabilities, strict=True)]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"ε = {float(epsilon):g}", **stroke)  # type: ignore[arg-type]
    axes.legend(frameon=False)
    return figure


def noisy_max() -> Figure:
    """The chance that the best loses to nine others, all x below it."""
    figure, axes = new_axes("The best of ten loses, ε = 1", "distance of the other nine", "probability")
    for noise, stroke in zip(("exponential", "laplace", "gumbel"), strokes(3), strict=True):
        gaps = range(17)
        law = [_loses(noise, gap) for gap in gaps]
        axes.plot(gaps, law, label=f"{noise} noise", **stroke)  # type: ignore[arg-type]
    axes.legend(frameon=False)
    return figure


def _loses(noise: str, gap: int) -> float:
    mechanism = dp.NoisyMax(sensitivity=1, epsilon=1, noise=noise)  # type: ignore[arg-type]
    return 0.9 if gap == 0 else float(mechanism.error_distribution([gap] + [0] * 9).probabilities[1])


def randomized_response() -> Figure:
    """The standard error of a frequency among 10 000 people, f = 0.1."""
    figure, axes = new_axes("Standard error of a frequency of 10 %, 10,000 people", "ε", "standard error")
    budgets = [Fraction(k, 4) for k in range(1, 17)]
    for answers, stroke in zip((2, 4, 16), strokes(3), strict=True):
        axes.plot(budgets, [_standard_error(answers, x) for x in budgets], label=f"{answers} answers", **stroke)  # type: ignore[arg-type]
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return figure


def _standard_error(answers: int, epsilon: Fraction) -> float:
    keep = float(dp.RandomizedResponse(answers=range(answers), epsilon=epsilon).keep)
    false = (1 - keep) / answers
    true = keep + false
    return float(np.sqrt((0.1 * true * (1 - true) + 0.9 * false * (1 - false)) / 10_000) / keep)


def sparse_vector() -> Figure:
    """How near the threshold an answer may be wrong, against the number of answers above."""
    figure, axes = new_axes("Right beyond this distance, ε = 1, β = 5 %", "max_above", "distance")
    counts = [1, 2, 4, 8, 16, 32]
    for monotone, stroke in zip((False, True), strokes(2), strict=True):
        errors = [dp.SparseVector(threshold=0, epsilon=1, max_above=c, monotone=monotone).error(0.05) for c in counts]
        axes.plot(counts, errors, marker="o", markersize=4, label="monotone" if monotone else "any", **stroke)  # type: ignore[arg-type]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.legend(frameon=False, title="values")
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are. The same input gives the same bytes."""
    written = []
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dither"}):
        for picture in (exponential, noisy_max, randomized_response, sparse_vector):
            path = folder / f"{picture.__name__}.svg"
            picture().savefig(path, metadata={"Date": None, "Creator": None})
            written.append(path)
    return written


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "mechanisms" / "img"
    for written in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default):
        print(written)
