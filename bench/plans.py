"""The planner's largest error, against simulations with NumPy's noise."""

from collections.abc import Iterator

import numpy as np

import dither as dp
from bench.progress import say
from bench.row import Row, less_is_better

EPSILON, DELTA = "0.01", "1e-6"
RECORDS = 10**5
QUERIES = (1, 10, 100, 1000, 10_000)
SIMULATIONS = 100_000
AT_ONCE = 4_000_000
WITHIN = 0.02


def rows() -> Iterator[Row]:
    for queries in QUERIES:
        plan = dp.solve(queries, n=RECORDS, epsilon=EPSILON, delta=DELTA)
        for option in plan.options:
            case = f"95 % of the largest error of {queries} queries, {option.noise}"
            say(f"{case} ...")
            predicted = option.value * RECORDS
            simulated = float(np.quantile(_largest(option.noise, queries), 0.95))
            yield less_is_better(
                f"{case}: predicted against simulated ({predicted:.6g}, {simulated:.6g})",
                ours=max(abs(predicted / simulated - 1), 1e-9), peer="limit", peer_value=WITHIN, asked=1.0, unit="",
            )  # fmt: skip


def _largest(noise: str, queries: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The largest error of each simulation. The noise is so wide that the lattice of ours does not matter."""
    generator = np.random.default_rng(queries)
    if noise == "laplace":
        scale = float(dp.Laplace(sensitivity=queries, epsilon=EPSILON).scale)
    else:
        scale = dp.Gaussian(sensitivity_squared=queries, epsilon=EPSILON, delta=DELTA).sigma
    draw = generator.standard_exponential if noise == "laplace" else generator.standard_normal  # |Laplace| is that
    rows_at_once = max(1, AT_ONCE // queries)
    found = []
    for start in range(0, SIMULATIONS, rows_at_once):
        size = min(rows_at_once, SIMULATIONS - start)
        found.append(np.abs(draw((size, queries))).max(axis=1))
    return scale * np.concatenate(found)
