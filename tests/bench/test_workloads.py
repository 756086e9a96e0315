"""The bound on every factorisation with which `python -m bench adaptive` compares ours."""

import numpy as np
import pytest

from bench.factorisation import least_error
from dither.workloads import Workload


@pytest.mark.parametrize(
    "workload", [Workload.prefix(6), Workload.all_ranges(5), Workload.matrix([[1, 0, 2], [0, 1, 1]])]
)
def test_no_strategy_has_a_smaller_error(workload: Workload) -> None:
    """Random strategies, with columns of length 1 at most."""
    gram = workload.queries.gram()
    bound, generator = least_error(gram), np.random.default_rng(0)
    for _ in range(200):
        strategy = np.eye(len(gram)) + generator.normal(size=gram.shape) * generator.uniform(0, 0.5)
        strategy /= np.sqrt((strategy**2).sum(axis=0)).max()
        assert np.trace(gram @ np.linalg.inv(strategy.T @ strategy)) >= bound * (1 - 1e-9)


def test_it_is_attained_where_all_cells_are_alike() -> None:
    assert least_error(np.eye(4)) == pytest.approx(4)
    assert least_error(np.ones((3, 3))) == pytest.approx(1)
