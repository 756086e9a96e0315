"""Draws the pictures of docs/mechanisms: python examples/mechanism_pictures.py [folder]."""

import math
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dither as dp
from dither.mechanisms.selection import NoiseName
from dither.noise import DiscreteLaplace
from dither.plots.style import new_axes, save, strokes
from dither.sensitivity import Median

SCORES = (0, 2, 4, 5, 7, 8)
NOISES: tuple[NoiseName, ...] = ("exponential", "laplace", "gumbel")


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
    grids = {"exact": (0.05, 20), "tail-bound": (0.05, 1), "dwork-roth": (0.05, 0.999), "zcdp": (0.05, 20)}
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


def exponential() -> Figure:
    """The law of the selected candidate for three budgets."""
    figure, axes = new_axes("Who is selected, scores 0, 2, 4, 5, 7, 8", "score", "probability")
    for epsilon, stroke in zip((Fraction(1, 2), Fraction(1), Fraction(2)), strokes(3), strict=True):
        law = dp.Exponential(sensitivity=1, epsilon=epsilon).error_distribution(SCORES)
        points = [(max(SCORES) - error, float(p)) for error, p in zip(law.errors, law.probabilities, strict=True)]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"ε = {float(epsilon):g}", **stroke)
    axes.legend(frameon=False)
    return figure


def noisy_max() -> Figure:
    """The chance that the best loses to nine others, all x below it."""
    figure, axes = new_axes("The best of ten loses, ε = 1", "distance of the other nine", "probability")
    for noise, stroke in zip(NOISES, strokes(3), strict=True):
        gaps = range(17)
        law = [_loses(noise, gap) for gap in gaps]
        axes.plot(gaps, law, label=f"{noise} noise", **stroke)
    axes.legend(frameon=False)
    return figure


def _loses(noise: NoiseName, gap: int) -> float:
    mechanism = dp.NoisyMax(sensitivity=1, epsilon=1, noise=noise)
    return 0.9 if gap == 0 else float(mechanism.error_distribution([gap] + [0] * 9).probabilities[1])


def randomized_response() -> Figure:
    """The standard error of a frequency among 10 000 people, f = 0.1."""
    figure, axes = new_axes("Standard error of a frequency of 10 %, 10,000 people", "ε", "standard error")
    budgets = [k / 4 for k in range(1, 17)]
    for answers, stroke in zip((2, 4, 16), strokes(3), strict=True):
        axes.plot(budgets, [_standard_error(answers, x) for x in budgets], label=f"{answers} answers", **stroke)
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return figure


def _standard_error(answers: int, epsilon: float) -> float:
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
        axes.plot(counts, errors, marker="o", markersize=4, label="monotone" if monotone else "any", **stroke)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.legend(frameon=False, title="values")
    return figure


def propose_test_release() -> Figure:
    """How likely an answer is, by the distance to a dataset that is too sensitive."""
    figure, axes = new_axes("Is there an answer? ε = 1, δ = 1e−6", "distance", "probability of an answer")
    kinds = list(product(("laplace", "gaussian"), ("tight", "textbook")))
    for (noise, threshold), stroke in zip(kinds, strokes(4), strict=True):
        m = dp.ProposeTestRelease(Median(None), limit=1, epsilon=1, delta="1e-6", noise=noise, threshold=threshold)
        chances = [m.answer_probability(d) for d in range(101)]
        label = f"{noise}, {threshold}: error ±{m.error(0.05):.0f} limits"
        axes.plot(range(101), chances, label=label, **stroke)
    axes.legend(fontsize=8, frameon=False)
    return figure


def smooth_sensitivity() -> Figure:
    """P[|noise| > x], in units of the smooth sensitivity, where tight and textbook noise have the same β."""
    figure, axes = new_axes("Noise for S = 1, ε = 1, β = 1/10", "error", "probability of a larger one")
    median = Median(bounds=(0, 1))
    printed = dp.SmoothSensitivity(median, epsilon=1, noise="polynomial")
    same = dp.SmoothSensitivity(median, epsilon=1, beta=printed.smoothness)
    levels = [float(f"{x:.4g}") for x in np.geomspace(0.9, 1e-5, 40)]
    for name, mechanism, stroke in zip(("polynomial (C19 a)", "tight"), (printed, same), strokes(2), strict=True):
        axes.semilogy([mechanism.error(level) for level in levels], levels, label=name, **stroke)
    axes.set_xlim(0, 100)
    axes.legend(fontsize=8, frameon=False)
    return figure


def matrix_mechanism() -> Figure:
    """The mean squared error of prefix sums, against the number of cells."""
    figure, axes = new_axes("Prefix sums, Gaussian noise, ε = 1, δ = 1e−6", "cells", "mean squared error")
    sizes = [4, 8, 16, 32, 64, 128]
    names = ("answers", "cells", "tree of 2", "square root", "optimal")
    for name, stroke in zip(names, strokes(len(names)), strict=True):
        built = [dp.MatrixMechanism(dp.Workload.prefix(n), epsilon=1, delta="1e-6", strategy=name) for n in sizes]
        axes.loglog(sizes, [m.mean_squared_error for m in built], label=name, **stroke)
    axes.legend(fontsize=8, frameon=False, title="noise on")
    return figure


def your_own() -> Figure:
    """δ(ε) of a truncated walk on ten numbers: of each pair of neighbours, and of the table, which is their maximum."""
    figure, axes = new_axes("A table of one's own, Pr[y | x] ∝ e^{−|x−y|/2}", "ε", "δ(ε)")
    grid, pairs = [at / 50 for at in range(40)], [(x, x + 1) for x in range(9)]

    def walk(neighbours: list[tuple[int, int]]) -> dp.FiniteMechanism:
        ten = range(10)
        return dp.FiniteMechanism.of(lambda x, y: math.exp(-abs(x - y) / 2), ten, ten, neighbours=neighbours)

    for at, stroke in zip((0, 4), strokes(2), strict=True):
        axes.plot(
            grid, [walk([pairs[at]]).guarantee.delta(e) for e in grid], label=f"the inputs {at} and {at + 1}", **stroke
        )
    axes.plot(grid, [walk(pairs).guarantee.delta(e) for e in grid], color="0.3", linewidth=0.8, label="all neighbours")
    axes.legend(fontsize=8, frameon=False)
    return figure


def knorm() -> Figure:
    """The mean ℓ₂ length of the noise for a vector that moves by 1 in ℓ₂, against the number of coordinates."""
    figure, axes = new_axes("Noise for vectors that move by 1 in ℓ₂, ε = 1", "coordinates", "mean ℓ₂ length")
    sizes = [1, 2, 4, 8, 16, 32, 64, 128]
    normal = float(dp.Gaussian(sensitivity=1, epsilon=1, delta="1e-6").sigma)
    lines = {
        "ℓ₂ noise": [dp.KNorm(sensitivity=1, dimension=k, epsilon=1).expected_error for k in sizes],
        "Laplace noise": [math.sqrt(2 * k) * math.sqrt(k) for k in sizes],
        "Gaussian noise, δ = 1e−6": [normal * math.sqrt(k) for k in sizes],
    }
    for (name, values), stroke in zip(lines.items(), strokes(3), strict=True):
        axes.loglog(sizes, values, label=name, **stroke)
    axes.legend(fontsize=8, frameon=False)
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are."""
    added = (laplace, gaussian, staircase, histogram, smooth_sensitivity, matrix_mechanism, knorm)
    chosen = (exponential, noisy_max, randomized_response, sparse_vector, propose_test_release, your_own)
    return [save(picture(), folder / f"{picture.__name__}.svg") for picture in (*added, *chosen)]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "mechanisms" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
