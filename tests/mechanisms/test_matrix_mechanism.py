"""The matrix mechanism over whole domains: what it protects, what it says of its errors, what it refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.mechanisms import MatrixMechanism, compare_strategies
from dither.workloads import Workload
from tests.mechanisms.entropy_use import nothing_drawn
from tests.noise.fit import ALARM

WORKLOADS = {
    "one cell of three": Workload.ranges(3, [(0, 1)]),
    "cells that none counts": Workload.ranges(9, [(1, 4), (2, 8), (3, 4)]),
    "prefix sums": Workload.prefix(6),
    "marginals": Workload.marginals((2, 3), 1),
    "signs": Workload.matrix([[1, -1, 0, 2], [0, 1, 0, -3]]),
    "one answer": Workload.matrix([[2, 0, 2]]),
}


def built(workload: Workload, adjacency: Adjacency) -> list[MatrixMechanism]:
    found = compare_strategies(workload, epsilon=1, delta=1e-6, adjacency=adjacency)
    return [
        MatrixMechanism(workload, epsilon=1, delta=1e-6, strategy=each.strategy, noise=each.noise, adjacency=adjacency)
        for each in found.predictions
    ]


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_no_neighbour_moves_what_is_measured_by_more(name: str, adjacency: Adjacency) -> None:
    """All cells of the domain, also those that no query counts: the noise is made for the farthest two."""
    workload = WORKLOADS[name]
    for mechanism in built(workload, adjacency):
        units = np.eye(workload.cells, dtype=np.int64)
        columns = [mechanism._strategy.measure(workload.by_class(unit)).astype(object) for unit in units]
        columns_or_pairs = columns if adjacency == ADD_REMOVE else [a - b for a, b in product(columns, repeat=2)]
        power = 2 if mechanism.noise == "gaussian" else 1
        farthest = max(int(sum(abs(x) ** power for x in move)) for move in columns_or_pairs)
        made = mechanism.mechanism
        assert getattr(made, "sensitivity_squared" if power == 2 else "sensitivity") >= farthest
        assert mechanism._moved(power) <= 2 * farthest
        if mechanism.strategy in ("cells", "answers"):
            assert mechanism._moved(power) == farthest


@pytest.mark.parametrize("name", WORKLOADS)
def test_answers_are_unbiased_and_spread_as_predicted(name: str) -> None:
    """The mean of 400 releases is within 7 standard errors of the truth, the mean of their squares near the prediction.

    The heaviest errors are single Laplace ones: 400 squares are below 0.3 of their mean with probability e^{−53}
    (Chernoff), and above 3 times it with about 400 e^{−40}, as one of them then has to be 40 scales away.
    """
    workload = WORKLOADS[name]
    counts = np.arange(workload.cells) * 3
    for mechanism in built(workload, ADD_REMOVE):
        errors = np.array([mechanism.release(counts).value for _ in range(400)]) - workload.exact(counts)
        spread = np.maximum(errors.std(axis=0), 1e-9)
        assert (np.abs(errors.mean(axis=0)) < 7 * spread / 20).all()
        assert 0.3 < (errors**2).mean() / mechanism.mean_squared_error < 3


STEEP = {
    "columns of different length": [[1 << 20, 1], [1 << 20, 0], [0, 1]],
    "columns that are nearly one": [[1 << 18, 1 << 18], [1 << 18, (1 << 18) - 1], [1 << 18, 1 << 18]],
}


@pytest.mark.parametrize("name", STEEP)
@pytest.mark.parametrize("strategy", ["answers", "cells", "optimal"])
def test_no_direction_is_lost_in_steep_workloads(name: str, strategy: str) -> None:
    """With hardly any noise, millions of people in a direction that floats might take for none are in the answers."""
    workload, people = Workload.matrix(STEEP[name]), [10**8, 10**7]
    mechanism = MatrixMechanism(workload, epsilon=10**5, delta=1e-6, strategy=strategy, noise="gaussian")
    found = mechanism.release(people)
    low, high = found.interval(1 - ALARM)
    assert (low <= workload.exact(people)).all()
    assert (workload.exact(people) <= high).all()


@pytest.mark.parametrize(
    ("strategy", "delta"), [("cells", None), ("tree of 4", None), ("answers", None), ("cells", 1e-6), ("optimal", 1e-6)]
)
def test_bounds_on_errors_hold(strategy: str, delta: Any) -> None:
    """Misses of one answer, and of any answer, are at most 5 %: exact binomial tests at 1e-11."""
    workload, times = Workload.prefix(16), 2000
    mechanism = MatrixMechanism(workload, epsilon=1, delta=delta, strategy=strategy)
    bound, together = mechanism.error(0.05), mechanism.max_error(0.05)
    assert together > bound
    errors = np.array([np.abs(mechanism.release([7] * 16).value - 7 * np.arange(1, 17)) for _ in range(times)])
    for missed in (*(errors > bound).sum(axis=0), (errors.max(axis=1) > together).sum()):
        assert bdtrc(int(missed) - 1, times, 0.05) > ALARM
    low, high = mechanism.release([7] * 16).interval(0.95)
    assert ((high - low) / 2 <= bound * (1 + 1e-6)).all()


def test_fewer_answers_than_noise_allows_are_refused_before_anything_is_drawn() -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="public"):
        MatrixMechanism(Workload.marginals((2, 3), 0), epsilon=1, adjacency=REPLACE_ONE).release([1] * 6)
    with nothing_drawn(), pytest.raises(ParameterError, match="one count for each"):
        MatrixMechanism(Workload.prefix(4), epsilon=1).release([1] * 5)


def test_the_best_is_the_first_of_the_comparison() -> None:
    for workload in WORKLOADS.values():
        best = compare_strategies(workload, epsilon=1, delta=1e-6)[0]
        chosen = MatrixMechanism(workload, epsilon=1, delta=1e-6)
        assert (chosen.strategy, chosen.noise) == (best.strategy, best.noise)
        assert chosen.mean_squared_error == best.mean_squared_error


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("strategy", ["answers", "cells", "tree of 2"])
def test_any_chance_to_fail_below_1_gives_a_bound(strategy: str, noise: str) -> None:
    """A fraction below 1 may be 1 as a float; bounds fall with the chance to fail, and none is missing."""
    mechanism = MatrixMechanism(
        Workload.prefix(6), epsilon=1, delta="1e-6" if noise == "gaussian" else None, strategy=strategy, noise=noise
    )
    chances = [Fraction(1, 10**300), Fraction(1, 20), Fraction(9, 10), *(1 - Fraction(1, 10**k) for k in (15, 20, 400))]
    bounds = [mechanism.max_error(chance) for chance in chances]
    assert all(0 <= bound < np.inf for bound in bounds)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(bounds))
    quiet = MatrixMechanism(Workload.prefix(6), epsilon="1e-9", delta="1e-9", strategy=strategy, noise="gaussian")
    assert quiet.max_error(1 - Fraction(1, 10**20)) > 0  # so much noise that the lattice does not count at all
