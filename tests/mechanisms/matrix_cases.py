"""The matrix mechanism, as the contract suite sees it."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dither.mechanisms import MatrixMechanism
from dither.workloads import Workload
from tests.mechanisms.additive_cases import BAD_NUMBERS, BAD_PROBABILITIES, BAD_VALUES, builds
from tests.mechanisms.batches import rule_batch
from tests.mechanisms.mechanism_case import Case, ErrorLaw
from tests.oracle.lattice_sums import gaussian_profile

__all__ = ["CASES"]

_PREFIX = Workload.prefix(4)
_THREE = Workload.prefix(3)
_GOOD: dict[str, Any] = {"workload": _PREFIX, "epsilon": 1, "delta": 0.1}
_WORST = 3  # the sum of all cells has the most noise here


def _optimal(epsilon: str) -> MatrixMechanism:
    return MatrixMechanism(_PREFIX, epsilon=epsilon, delta="1e-6", strategy="optimal")


def _rule(mechanism: Any) -> Any:
    """C from A alone, by least squares."""
    cells = mechanism.workload.cells
    strategy = np.array([mechanism._strategy.measure(cell) for cell in np.eye(cells, dtype=np.int64)]).T
    return np.tril(np.ones((cells, cells))) @ np.linalg.pinv(strategy.astype(np.float64)), strategy


@functools.cache
def _optimal_law() -> tuple[float, Any, float]:
    """The deviation of one number of the noise, the lengths of C, the length of the longest column."""
    mechanism = _optimal("0.1")
    rule, strategy = _rule(mechanism)
    deviation = math.sqrt(mechanism._noising.law.variance)  # type: ignore[attr-defined]
    return (
        deviation,
        np.sqrt((rule**2).sum(axis=1)),
        float(np.sqrt((strategy.astype(np.float64) ** 2).sum(axis=0)).max()),
    )


def _optimal_errors() -> ErrorLaw:
    deviation, lengths, _ = _optimal_law()
    spread, mean = deviation * lengths[_WORST], deviation * math.sqrt(2 / math.pi)
    return ErrorLaw(
        lambda x: math.erfc(x / spread / math.sqrt(2)), mean * float(lengths[_WORST]), mean * float(lengths.mean())
    )


def _optimal_profile(epsilon: float) -> float:
    deviation, _, column = _optimal_law()
    return gaussian_profile(column / deviation, epsilon)


def _three(scale: int) -> MatrixMechanism:
    return MatrixMechanism(_THREE, epsilon=f"3/{scale}", strategy="answers")


def _three_profile(epsilon: float) -> float:
    """A record in the first cell moves three answers by 1: each loss is ±1/b, so that they add up to a binomial."""
    chance = 1 / (1 + math.exp(-1 / 100))
    up = [math.comb(3, k) * chance**k * (1 - chance) ** (3 - k) for k in range(4)]
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(up, up[::-1], strict=True))


def _three_errors() -> ErrorLaw:
    ratio = math.exp(-1 / 100)
    return ErrorLaw(lambda x: 2 * ratio ** (math.floor(x) + 1) / (1 + ratio), 1 / math.sinh(1 / 100))


CASES = [
    Case(
        "matrix mechanism, Gaussian",
        lambda: _optimal("0.1"),
        [3, 0, 2, 5],
        refused_builds=[
            *builds(MatrixMechanism, _GOOD, epsilon=BAD_NUMBERS, delta=BAD_PROBABILITIES),
            *builds(MatrixMechanism, _GOOD, workload=[None, 4, [[1, 0]]], noise=["cauchy", 1], adjacency=[None, "one"]),
            *builds(MatrixMechanism, _GOOD, strategy=["residuals", "", None]),
            lambda: MatrixMechanism(_PREFIX, epsilon=1, strategy="optimal"),
            lambda: MatrixMechanism(_PREFIX, epsilon=1, noise="gaussian"),
        ],
        refused_values=[
            *BAD_VALUES,
            3,
            [1, 2],
            [1, 2, 3, -4],
            [1.0, 2.0, 3.0, 4.0],
            [[1, 2], [3, 4]],
            [2**33, 0, 0, 0],
        ],
        profile=_optimal_profile,
        slack=1e-6,
        epsilons=(0.095, 0.1),
        errors=rule_batch(_PREFIX.cells, lambda m: _rule(m)[0][_WORST], lambda m: m.release([0] * 4).value[_WORST]),
        error_law=_optimal_errors,
        quieter=lambda: _optimal("1/9"),
        louder=lambda: _optimal("1/11"),
    ),
    Case(
        "matrix mechanism, Laplace",
        lambda: _three(100),
        [3, 0, 2],
        refused_builds=builds(MatrixMechanism, {"workload": _THREE, "epsilon": 1}, epsilon=BAD_NUMBERS),
        refused_values=[*BAD_VALUES, {"a": 1}],
        profile=_three_profile,
        slack=math.inf,  # ε alone says nothing about other points of the curve
        epsilons=(0.0, 0.01, 0.02, 0.029),
        largest_loss=lambda: 3 / 100,
        errors=rule_batch(3, lambda m: _rule(m)[0][0], lambda m: m.release([0] * 3).value[0]),
        error_law=_three_errors,
        quieter=lambda: _three(90),
        louder=lambda: _three(110),
    ),
]
