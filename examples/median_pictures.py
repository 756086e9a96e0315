"""Draws the pictures of docs/medians.md: python examples/median_pictures.py [folder].

The typical error, which half of the releases exceed, is computed and not sampled, on data that stand for the incomes of
the page: the quantiles (i − ½)/n of a lognormal law.
"""

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

import dither as dp
from dither.adjacency import REPLACE_ONE
from dither.estimators.base_measure import bounded
from dither.estimators.order_statistic import RankedRows, quantile_aim, scored
from dither.estimators.ranks import quantile_sensitivity
from dither.estimators.unbounded import _OUTSIDE, _SCALES, _split, _Steps, _tested
from dither.plots import competing
from dither.plots.style import save
from dither.sensitivity import Median, distance_to_sensitivity, smooth_sensitivity

BOUNDS, DELTA = (0.0, 1e6), "1e-6"
HALF = Fraction(1, 2)
SIZES = [int(float(f"{x:.2g}")) for x in np.geomspace(30, 100_000, 19)]
EPSILONS = [Fraction(f"{x:.2g}") for x in np.geomspace(0.05, 5, 19)]
Errors = Callable[[np.ndarray, Fraction], float]


def incomes(size: int) -> np.ndarray:
    """lognormal(ln 40000, 0.8), as evenly as `size` records can be."""
    places = (np.arange(size) + 0.5) / size
    return 40_000 * np.exp(0.8 * np.array([NormalDist().inv_cdf(p) for p in places.tolist()]))


def with_global_sensitivity(_: np.ndarray, epsilon: Fraction) -> float:
    """The same for all data."""
    return dp.Laplace(sensitivity=BOUNDS[1] - BOUNDS[0], epsilon=epsilon).error(HALF)


def with_smooth_sensitivity(data: np.ndarray, epsilon: Fraction) -> float:
    """In proportion to the smooth sensitivity of the data."""
    median = Median(BOUNDS)
    mechanism = dp.SmoothSensitivity(median, epsilon=epsilon)
    return mechanism.error(HALF, sensitivity=smooth_sensitivity(median, data, mechanism.smoothness))


def tested(data: np.ndarray, epsilon: Fraction) -> float:
    """At the first scale that reaches the distance which is aimed at; NaN where most runs have no answer."""
    median = Median(None)
    steps = _Steps.of(median.adjacency, len(data), epsilon, DELTA, "laplace", None)
    distances = {scale: distance_to_sensitivity(median, data, scale) for scale in _SCALES.tolist() if 1 <= scale <= 2e6}
    limit = next((scale for scale, distance in distances.items() if distance >= steps.target), None)
    if limit is None:
        return math.nan
    split = _split(epsilon)
    mechanism = _tested(median, Fraction(limit), split["test"], DELTA, "laplace", None)
    is_answered = mechanism.answer_probability(int(distances[limit])) > 0.5
    window = mechanism._interval(median.value(data), 1 - _OUTSIDE)  # around an answer that is just right
    return _within(data, split["answer"], window) if is_answered else math.nan


def on_the_interval(data: np.ndarray, epsilon: Fraction) -> float:
    """The exponential mechanism within the bounds."""
    return _within(data, epsilon, BOUNDS)


def _within(data: np.ndarray, epsilon: Fraction, window: tuple[float, float]) -> float:
    """The mass of each piece by its score, and half of it around the median."""
    mechanism = dp.Exponential(sensitivity=quantile_sensitivity(HALF, REPLACE_ONE), epsilon=epsilon)
    data = np.clip(data, *window)
    base = bounded(window)
    rows, target = RankedRows.of_values(np.sort(data), base), quantile_aim(HALF, len(data), base, mechanism)
    starts, scores = scored(rows, base, (base.first, base.end), target, mechanism)
    mass, edges = base.measure.weights(starts) * np.exp(scores / float(mechanism.scale)), base.axis.values(starts)
    reached = np.concatenate([[0.0], np.cumsum(mass) / mass.sum()])
    middle = Median(None).value(data)

    def missing(error: float) -> float:
        low, high = np.interp([middle - error, middle + error], edges, reached)
        return float(high - low) - 0.5

    return float(brentq(missing, 1e-3, BOUNDS[1]))


WAYS: dict[str, Errors] = {
    "global sensitivity": with_global_sensitivity,
    "smooth sensitivity": with_smooth_sensitivity,
    "propose-test-release, no bounds": tested,
    "exponential on the interval": on_the_interval,
}


def medians_by_size() -> Figure:
    """Error against n."""
    return _picture("Median income in [0, 10⁶], ε = 1", "records", SIZES, [(incomes(n), Fraction(1)) for n in SIZES])


def medians_by_epsilon() -> Figure:
    """Error against ε."""
    data = incomes(1_000)
    return _picture("Median of 1,000 incomes in [0, 10⁶]", "ε", EPSILONS, [(data, epsilon) for epsilon in EPSILONS])


def _picture(
    title: str, axis: str, places: Sequence[float | Fraction], cases: list[tuple[np.ndarray, Fraction]]
) -> Figure:
    errors = {name: [error(*case) for case in cases] for name, error in WAYS.items()}
    return competing(title, axis, [float(x) for x in places], errors, mark=("the median itself", 40_000))


def draw(folder: Path) -> list[Path]:
    """Write the pictures and say where they are."""
    return [save(picture(), folder / f"{picture.__name__}.svg") for picture in (medians_by_size, medians_by_epsilon)]


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "img"
    print(*draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default), sep="\n")
