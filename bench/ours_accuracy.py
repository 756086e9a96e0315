"""dither's estimators, in the same shape as the peers."""

import numpy as np

import dither as dp
from bench.accuracy_case import Cell, Estimator, Floats
from bench.timing import Work
from dither.adjacency import ADD_REMOVE, REPLACE_ONE


def estimator(cell: Cell) -> Estimator:
    adjacency = ADD_REMOVE if cell.change == "add or remove" else REPLACE_ONE
    bounds, epsilon = (0, cell.high), cell.epsilon
    if cell.statistic == "mean":
        return lambda data: float(dp.stats.mean(data, epsilon=epsilon, bounds=bounds, adjacency=adjacency).value)
    if cell.statistic == "variance":
        return lambda data: float(dp.stats.variance(data, epsilon=epsilon, bounds=bounds, adjacency=adjacency).value)
    q = float(cell.statistic)
    return lambda data: float(dp.stats.quantile(data, q, epsilon=epsilon, bounds=bounds, adjacency=adjacency).value)


def many_values(count: int) -> Work:
    data: Floats = np.random.default_rng(0).lognormal(np.log(40_000), 0.8, count)

    def run() -> None:
        dp.stats.median(data, epsilon=1, bounds=(0, 10**6))
        dp.stats.quantile(data, [0.1, 0.25, 0.5, 0.75, 0.9], epsilon=1, bounds=(0, 10**6))

    return Work("dither", count, run)
