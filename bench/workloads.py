"""Workloads: the error of our strategies against noise on each bin, and against the best factorisation there is."""

import tracemalloc
from collections.abc import Iterator

import numpy as np

import dither as dp
from bench.factorisation import least_error
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better

EPSILON, DELTA = 1, "1e-6"
BINS = 1024
RELEASES = 1000
MUCH_BETTER = 30.0
DENSE_MEGABYTES = 8_000.0
PEOPLE = 10


def rows() -> Iterator[Row]:
    yield from _prefix_sums()
    small = {
        "prefix sums over 64 bins": (dp.Workload.prefix(64), 1.10),
        "all ranges of 64 bins": (dp.Workload.all_ranges(64), 1.15),
        "2-way marginals of 4 × 4 × 4 × 2": (dp.Workload.marginals((4, 4, 4, 2), 2), 1.15),
    }
    for name, (workload, within) in small.items():
        yield _against_the_best(name, workload, within)
    yield from _large()


def _prefix_sums() -> Iterator[Row]:
    say(f"prefix sums over {BINS} bins ...")
    workload = dp.Workload.prefix(BINS)
    simple = dp.MatrixMechanism(workload, epsilon=EPSILON, delta=DELTA, strategy="cells", noise="gaussian")
    ours = dp.MatrixMechanism(workload, epsilon=EPSILON, delta=DELTA, noise="gaussian")
    best = dp.MatrixMechanism(workload, epsilon=EPSILON, delta=DELTA)
    laplace = dp.MatrixMechanism(workload, epsilon=EPSILON, strategy="cells")
    case = f"prefix sums over {BINS} bins, ε = {EPSILON}, δ = {DELTA}"
    yield less_is_better(
        f"{case}: squared error, {ours.strategy}", ours=_simulated(ours), peer="Gaussian noise on each bin",
        peer_value=_simulated(simple), asked=MUCH_BETTER, unit="",
    )  # fmt: skip
    yield less_is_better(
        f"{case}: squared error, {best.noise}, {best.strategy}", ours=_simulated(best),
        peer="Laplace noise on each bin", peer_value=_simulated(laplace), asked=None, unit="",
    )  # fmt: skip
    for each in (ours, simple, best):
        yield less_is_better(
            f"{case}: predicted squared error, {each.noise}, {each.strategy}", ours=each.mean_squared_error,
            peer="simulated", peer_value=_simulated(each), asked=None, unit="",
        )  # fmt: skip
    yield _against_the_best(f"prefix sums over {BINS} bins", workload, 1.10)


def _simulated(mechanism: dp.MatrixMechanism) -> float:
    """The mean squared error of many releases."""
    counts = np.full(mechanism.workload.cells, PEOPLE)
    exact = mechanism.workload.exact(counts)
    return float(np.mean([(mechanism.release(counts).value - exact) ** 2 for _ in range(RELEASES)]))


def _against_the_best(name: str, workload: dp.Workload, within: float) -> Row:
    say(f"{name}: the best factorisation ...")
    ours = dp.MatrixMechanism(workload, epsilon=EPSILON, delta=DELTA, noise="gaussian")
    one = dp.MatrixMechanism(dp.Workload.prefix(1), epsilon=EPSILON, delta=DELTA, noise="gaussian", strategy="cells")
    bound = least_error(workload.queries.gram()) / workload.count * one.mean_squared_error
    return less_is_better(
        f"{name}: squared error, {ours.strategy}", ours=ours.mean_squared_error,
        peer="the best factorisation, at least", peer_value=bound, asked=1 / within, unit="",
    )  # fmt: skip


def _large() -> Iterator[Row]:
    """10⁴ ranges over 10⁵ cells, from the list of ranges to the noisy answers."""
    say("10^4 ranges of 10^5 cells ...")
    ends = np.sort(np.random.default_rng(0).integers(0, 100_001, size=(10_000, 2)), axis=1)
    ends[:, 1] += ends[:, 0] == ends[:, 1]
    ends = ends[ends[:, 1] <= 100_000]
    tracemalloc.start()
    workload = dp.Workload.ranges(100_000, ends)
    found = dp.mechanisms.compare_strategies(workload, epsilon=EPSILON, delta=DELTA)
    best = dp.MatrixMechanism(workload, epsilon=EPSILON, delta=DELTA, strategy=found[0].strategy, noise=found[0].noise)
    best.release(np.full(100_000, PEOPLE))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    yield less_is_better(
        "10^4 ranges of 10^5 cells, all strategies compared, answered: peak memory", ours=peak, peer="a dense matrix",
        peer_value=DENSE_MEGABYTES, asked=10.0, unit="MB",
    )  # fmt: skip
    simple = next(each for each in found.predictions if each.strategy == "cells")
    yield more_is_better(
        "10^4 ranges of 10^5 cells: noise on each class of cells, times our squared error",
        ours=simple.mean_squared_error / found[0].mean_squared_error, peer="1", peer_value=1.0, asked=1.0, unit="×",
    )  # fmt: skip
