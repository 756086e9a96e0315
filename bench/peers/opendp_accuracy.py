"""OpenDP: quantiles among candidates (a record is added or removed), mean and variance of a known number (replaced)."""

from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import HIGH, RECORDS, Cell, Estimator

dp.enable_features("contrib")

WHO = f"OpenDP {version('opendp')}"
GRID = 1000
"""The distance between candidates for a quantile: one for each of a thousand steps of the bounds."""


def estimator(cell: Cell) -> Estimator | None:
    if isinstance(cell.statistic, float):
        return _quantile(cell) if cell.change == "add or remove" else None
    return _moment(cell) if cell.change == "replace" else None


def _quantile(cell: Cell) -> Estimator:
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    candidates = np.linspace(0, cell.high, HIGH // GRID + 1)

    def chained(scale: float) -> Any:
        space = domain, dp.symmetric_distance(), dp.max_divergence()
        return dp.m.make_private_quantile(*space, candidates.tolist(), alpha=float(cell.statistic), scale=scale)

    measurement = dp.binary_search_chain(chained, d_in=1, d_out=cell.epsilon)
    return lambda data: float(measurement(data.tolist()))


def _moment(cell: Cell) -> Estimator:
    domain = dp.vector_domain(dp.atom_domain(bounds=(0.0, float(cell.high)), nan=False), size=RECORDS)
    space = domain, dp.symmetric_distance()
    statistic = dp.t.make_mean(*space) if cell.statistic == "mean" else dp.t.make_variance(*space, ddof=0)

    def chained(scale: float) -> Any:
        return statistic >> dp.m.then_laplace(scale=scale)

    measurement = dp.binary_search_chain(chained, d_in=2, d_out=cell.epsilon)
    return lambda data: float(measurement(data.tolist()))
