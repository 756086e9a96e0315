"""OpenDP: counts, sums and names; quantiles among candidates; mean and variance of a known number of records."""

from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import CHOSEN, NAMES, Estimator, Setting
from bench.families import Bounds

dp.enable_features("contrib")

WHO = f"OpenDP {version('opendp')}"
CANDIDATES = 1000


def estimator(setting: Setting) -> Estimator | None:
    statistic, is_replaced = setting.question.statistic, setting.change == "replace"
    if statistic == "top":
        return _top(setting)
    if statistic == "count":
        return _noisy(setting, dp.t.make_count(dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()))
    if setting.bounds is None:
        return None
    if statistic == "quantile":
        return _quantile(setting, setting.bounds)
    if statistic != "sum" and not is_replaced:
        return None  # a mean or variance is that of a known number of records
    atoms = dp.atom_domain(bounds=setting.bounds, nan=False)
    space = dp.vector_domain(atoms, size=setting.n if is_replaced else None), dp.symmetric_distance()
    made = {"sum": dp.t.make_sum, "mean": dp.t.make_mean, "variance": lambda *where: dp.t.make_variance(*where, ddof=0)}
    return _noisy(setting, made[statistic](*space))


def _noisy(setting: Setting, statistic: Any) -> Estimator:
    measurement = _calibrated(setting, lambda scale: statistic >> dp.m.then_laplace(scale=scale))
    return lambda data: float(measurement(data))


def _calibrated(setting: Setting, chained: Any) -> Any:
    return chained(_scale(setting, chained))


def _scale(setting: Setting, chained: Any) -> float:
    """One record is added or removed, or one is removed and another added.

    The search is told where to end: by itself it gives up on very large and very small bounds.
    """
    low, high = setting.bounds or (0.0, 1.0)
    most = 8 * max(1.0, abs(low), abs(high), (high - low) ** 2) / setting.epsilon
    d_in = 2 if setting.change == "replace" else 1
    return float(dp.binary_search(lambda scale: chained(scale).check(d_in, setting.epsilon), bounds=(0.0, most)))


def _quantile(setting: Setting, bounds: Bounds) -> Estimator:
    """Candidates at equal distances from a start that each run draws: none lies on the truth in all of them."""
    low, high = bounds
    starts = np.random.default_rng([setting.seed, 4])
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance(), dp.max_divergence()

    def chained(scale: float) -> Any:
        candidates = low + (high - low) * (np.arange(CANDIDATES) + starts.random()) / CANDIDATES
        return dp.m.make_private_quantile(*space, candidates.tolist(), alpha=setting.question.q, scale=scale)

    scale = _scale(setting, chained)
    return lambda data: float(chained(scale)(data))


def _top(setting: Setting) -> Estimator:
    """The largest of one noisy histogram."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
    histogram = dp.t.make_count_by_categories(*space, list(range(NAMES)), null_category=False)
    measurement = _calibrated(setting, lambda scale: histogram >> dp.m.then_laplace(scale=scale))
    return lambda data: np.argsort(measurement(data.astype(np.int64)))[::-1][:CHOSEN].tolist()
