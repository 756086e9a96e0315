"""Selection, randomized response and sparse vector, as the contract suite sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.mechanisms import (
    Exponential,
    Mechanism,
    MetricExponential,
    NoisyMax,
    RandomizedResponse,
    SparseVector,
    TopK,
)
from tests.contract.mechanism_case import Case

__all__ = ["CASES"]

_BAD = (0, -1, math.nan, math.inf, None, True, "1e999")
_SCORES = [0.0, 2.5, 1.0, -3.0]
_BAD_SCORES: Sequence[Any] = (
    [],
    [math.nan, 1.0],
    [math.inf, 1.0],
    [-math.inf] * 4,
    3.0,
    ["a", "b"],
    [True, False, True, True],
    [[1.0], [2.0]],
)


def _refused(make: Callable[..., Mechanism], names: Sequence[str], **usual: Any) -> list[Callable[[], object]]:
    """Each of the named parameters in turn set to each bad value."""
    return [lambda name=name, bad=bad: make(**{**usual, name: bad}) for name in names for bad in _BAD]  # type: ignore[misc]


def bounded_range(width: float) -> Callable[[float], float]:
    """δ(ε) of the exponential mechanism at its worst: scores rise on a set of mass p under Q, and fall elsewhere."""

    def delta(epsilon: float) -> float:
        def negative(p: float) -> float:
            raised = p * math.exp(width)
            return -(raised / (raised + 1 - p) - math.exp(epsilon) * p)

        return max(
            0.0, -float(minimize_scalar(negative, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun)
        )

    return delta


def _selection(make: Callable[..., Mechanism], **more: Any) -> list[Callable[[], object]]:
    return [
        *_refused(make, ("sensitivity", "epsilon"), sensitivity=1, epsilon=1, **more),
        lambda: make(sensitivity=1, epsilon=1, scale=1, **more),
        lambda: make(sensitivity=1, epsilon=1, monotone=1, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=0, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=2.5, **more),
        lambda: make(sensitivity=1e300, epsilon=1e-300, **more),
    ]


def _noisy_max(noise: Any) -> Case:
    return Case(
        name=f"noisy max, {noise}",
        make=lambda: NoisyMax(sensitivity=2, epsilon="0.7", noise=noise, candidates=4),
        value=_SCORES,
        refused_builds=[
            *_selection(NoisyMax, noise=noise),
            lambda: NoisyMax(sensitivity=1, epsilon=1, noise="cauchy"),  # type: ignore[arg-type]
        ],
        refused_values=[*_BAD_SCORES, [1.0, 2.0, 3.0]],
        profile=bounded_range(0.7) if noise == "gumbel" else None,
        slack=1e-7,
    )


def _around(x: int, y: int) -> int:
    return min((x - y) % 7, (y - x) % 7)


CASES: list[Case] = [
    Case(
        name="exponential",
        make=lambda: Exponential(sensitivity=1, epsilon=1, candidates=4, adjacency=ADD_REMOVE),
        value=_SCORES,
        refused_builds=_selection(Exponential),
        refused_values=[*_BAD_SCORES, [1.0, 2.0, 3.0]],
        profile=bounded_range(1.0),
        slack=1e-7,
    ),
    Case(
        name="exponential, monotone, from a scale",
        make=lambda: Exponential(sensitivity=3, scale=2, monotone=True, candidates=4),
        value=_SCORES,
        refused_builds=_refused(Exponential, ("scale",), sensitivity=1, scale=1),
        refused_values=_BAD_SCORES,
        profile=bounded_range(1.5),
        slack=1e-7,
    ),
    *(_noisy_max(noise) for noise in ("exponential", "laplace", "gumbel")),
    Case(
        name="the best two",
        make=lambda: TopK(count=2, sensitivity=1, epsilon=1, candidates=4),
        value=_SCORES,
        refused_builds=[
            *_refused(TopK, ("count", "sensitivity", "epsilon"), count=2, sensitivity=1, epsilon=1),
            lambda: TopK(count=3, sensitivity=1, epsilon=1, candidates=2),
        ],
        refused_values=[*_BAD_SCORES, [1.0, -math.inf, -math.inf, -math.inf]],
    ),
    Case(
        name="metric, on a circle",
        make=lambda: MetricExponential(points=range(7), distance=_around, sensitivity=1, epsilon=1),
        value=3,
        refused_builds=[
            *_refused(
                MetricExponential, ("sensitivity", "epsilon"), points=[0, 1], distance=_around, sensitivity=1, epsilon=1
            ),
            lambda: MetricExponential(points=[], distance=_around, sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[1, 1], distance=_around, sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 1], [2, 0]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 0], [0, 0]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[1, 1], [1, 1]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 1]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1, 2], distance=lambda x, y: (x - y) ** 2, sensitivity=1, epsilon=1),
        ],
        refused_values=[7, -1, "a", None, math.nan],
    ),
    Case(
        name="metric, on a line",
        make=lambda: MetricExponential(
            points=range(5), distance=lambda x, y: abs(x - y), sensitivity=2, epsilon=1, adjacency=REPLACE_ONE
        ),
        value=0,
        refused_builds=_refused(MetricExponential, ("scale",), points=[0, 1], distance=_around, sensitivity=1, scale=1),
        refused_values=[9],
    ),
    *(
        Case(
            name=f"randomized response, {d} answers",
            make=lambda d=d: RandomizedResponse(answers=range(d), keep="0.25", adjacency=REPLACE_ONE),  # type: ignore[misc]
            value=np.arange(1000) % d,
            refused_builds=[
                *_refused(RandomizedResponse, ("epsilon",), answers=[0, 1], epsilon=1),
                *_refused(RandomizedResponse, ("keep",), answers=[0, 1], keep="0.5"),
                lambda: RandomizedResponse(answers=[0, 1], keep=1),
                lambda: RandomizedResponse(answers=[0, 1], keep="0.5", epsilon=1),
                lambda: RandomizedResponse(answers=[], keep="0.5"),
                lambda: RandomizedResponse(answers=["a"], keep="0.5"),
                lambda: RandomizedResponse(answers=["a", "a"], keep="0.5"),
            ],
            refused_values=[d, -1, "0", None, math.nan, [0, d], np.array([0.5]), np.array([0, -1]), [[0]], ["0"], {}],
            profile=lambda epsilon, d=d: max(0.0, 0.25 + 0.75 / d - math.exp(epsilon) * 0.75 / d),  # type: ignore[misc]
        )
        for d in (2, 3, 20)
    ),
    *(
        Case(
            name=f"sparse vector, answers {answers}",
            make=lambda answers=answers: SparseVector(  # type: ignore[misc]
                threshold="10.5", epsilon=1, max_above=2, sensitivity="0.3", answer_epsilon=answers
            ),
            value=[1, 2.5, 300, 7, 900, 4],
            refused_builds=[
                *_refused(SparseVector, ("sensitivity", "epsilon", "max_above"), threshold=1, epsilon=1),
                *(lambda bad=bad: SparseVector(threshold=bad, epsilon=1) for bad in _BAD[2:]),
                *(
                    lambda bad=bad: SparseVector(threshold=1, epsilon=1, answer_epsilon=bad)
                    for bad in (0, -1, math.nan)
                ),
                lambda: SparseVector(threshold=1, epsilon=1, monotone=1),  # type: ignore[arg-type]
                lambda: SparseVector(threshold=1, epsilon=1, max_above=10**400),
            ],
            refused_values=[[math.nan], [1, math.inf], ["a"], [None], [[1, 2]], [True], math.nan],
        )
        for answers in (None, "0.5")
    ),
]
