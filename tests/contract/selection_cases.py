"""Selection, randomized response and sparse vector, as the contract suite sees them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad
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
from dither.noise.race import Race, Scores
from tests.contract.mechanism_case import Case, Errors

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


def _worst(mechanism: Mechanism, bound: float, draws: int) -> Errors:
    """q_max − q(Y), where the three others are a little more than `bound` below the best."""
    assert isinstance(mechanism, Exponential | NoisyMax)
    scores = Scores.of([0.0, *[-bound * (1 + 1e-9)] * 3])
    race = Race(mechanism._noise, mechanism.scale)  # what release runs, without the words around it
    return np.array([-scores.values[race.winner(scores)] for _ in range(draws)])


Law = Callable[[Any], list[float]]


def permute_and_flip(scale: float) -> Law:
    """By its definition: in a random order, each is taken with probability e^{−gap/b}, or the next one is asked."""

    def law(scores: tuple[float, ...]) -> list[float]:
        kept = [math.exp((q - max(scores)) / scale) for q in scores]
        chances, orders = [0.0] * len(scores), list(itertools.permutations(range(len(scores))))
        for order in orders:
            left = 1 / len(orders)
            for i in order:
                chances[i] += left * kept[i]
                left *= 1 - kept[i]
        return chances

    return law


def _pdf(x: float) -> float:
    return math.exp(-abs(x)) / 2


def _cdf(x: float) -> float:
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def laplace_winner(scale: float) -> Law:
    """Pr[Lap + qᵢ is the largest], by numerical integration."""

    def law(scores: tuple[float, ...]) -> list[float]:
        def density(x: float, i: int) -> float:
            others = [_cdf((x - q) / scale) for j, q in enumerate(scores) if j != i]
            return _pdf((x - scores[i]) / scale) / scale * math.prod(others)

        ends = [min(scores) - 60 * scale, *sorted(set(scores)), max(scores) + 60 * scale]
        return [
            sum(quad(density, a, b, args=(i,), epsabs=1e-14)[0] for a, b in itertools.pairwise(ends))
            for i in range(len(scores))
        ]

    return law


def worst_profile(law: Law, pairs: Sequence[tuple[Any, Any]]) -> Callable[[float], float]:
    """The largest δ(ε) of some neighbours, both ways round: a lower bound on the truth over all of them."""

    @functools.cache
    def laws() -> list[tuple[list[float], list[float]]]:
        return [(law(a), law(b)) for one, other in pairs for a, b in ((one, other), (other, one))]

    def delta(epsilon: float) -> float:
        # A part in 10^9 less, for the rounding of this oracle.
        found = max(sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(*each, strict=True)) for each in laws())
        return max(0.0, found - 1e-12) * (1 - 1e-9)

    return delta


def _moved(reach: float) -> list[tuple[Any, Any]]:
    """Scores of three candidates, and each way to move all of them by the sensitivity, or none."""
    return [
        (scores, tuple(q + reach * move for q, move in zip(scores, moves, strict=True)))
        for scores in ((0.0, 0.0, 0.0), (2.0, 1.0, 0.0), (40.0, 0.0, 0.0))
        for moves in ((1, -1, -1), (-1, 1, 1), (-1, 1, -1), (1, 0, 0))
    ]


def sparse_law(first: float, second: float) -> Law:
    """Above at which question, or never, T = 0 and c = 1: Laplace noise of scale b₁ on T and b₂ on each value."""

    def law(values: tuple[float, ...]) -> list[float]:
        def integrand(rho: float, upto: int) -> float:
            below = math.prod(_cdf((rho - q) / second) for q in values[:upto])
            last = _cdf((values[upto] - rho) / second) if upto < len(values) else 1.0
            return _pdf(rho / first) / first * below * last

        ends = [-60 * first, *sorted({0.0, *values}), 60 * first]
        return [
            sum(quad(integrand, a, b, args=(upto,), epsabs=1e-14)[0] for a, b in itertools.pairwise(ends))
            for upto in range(len(values) + 1)
        ]

    return law


def _selection(make: Callable[..., Mechanism], **more: Any) -> list[Callable[[], object]]:
    return [
        *_refused(make, ("sensitivity", "epsilon"), sensitivity=1, epsilon=1, **more),
        lambda: make(sensitivity=1, epsilon=1, scale=1, **more),
        lambda: make(sensitivity=1, epsilon=1, monotone=1, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=0, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=2.5, **more),
        lambda: make(sensitivity=1e300, epsilon=1e-300, **more),
    ]


_NOISY_MAX_PROFILES = {
    "gumbel": bounded_range(0.7),
    "exponential": worst_profile(permute_and_flip(4 / 0.7), _moved(2)),
    "laplace": worst_profile(laplace_winner(4 / 0.7), _moved(2)),
}


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
        profile=_NOISY_MAX_PROFILES[noise],
        slack=1e-7 if noise == "gumbel" else math.inf,
        epsilons=(0.0, 0.1, 0.5, 0.69, 1.0),
        worst_errors=_worst,
        quieter=lambda: NoisyMax(sensitivity="1.8", epsilon="0.7", noise=noise, candidates=4),
    )


def metric_law(distance: Callable[[int, int], float], points: int, scale: float) -> Callable[[Any], list[float]]:
    """Pr[y] ∝ e^{−d(x, y)/α}."""

    def law(x: int) -> list[float]:
        weights = [math.exp(-distance(x, y) / scale) for y in range(points)]
        return [weight / sum(weights) for weight in weights]

    return law


def _around(x: int, y: int) -> int:
    return min((x - y) % 7, (y - x) % 7)


# ε₁ : ε₂ = 1 : 2^{2/3} and scales 1/ε₁, 2/ε₂; the share is rounded to a multiple of 2^-20.
_SHARE = round(2**20 / (1 + 2 ** (2 / 3))) / 2**20
_SPARSE_SCALES = (1 / _SHARE, 2 / (1 - _SHARE))

CASES: list[Case] = [
    Case(
        name="exponential",
        make=lambda: Exponential(sensitivity=1, epsilon=1, candidates=4, adjacency=ADD_REMOVE),
        value=_SCORES,
        refused_builds=_selection(Exponential),
        refused_values=[*_BAD_SCORES, [1.0, 2.0, 3.0]],
        profile=bounded_range(1.0),
        slack=1e-7,
        worst_errors=_worst,
        quieter=lambda: Exponential(sensitivity="0.9", epsilon=1, candidates=4, adjacency=ADD_REMOVE),
    ),
    Case(
        name="exponential, monotone, from a scale",
        make=lambda: Exponential(sensitivity=3, scale=2, monotone=True, candidates=4),
        value=_SCORES,
        refused_builds=_refused(Exponential, ("scale",), sensitivity=1, scale=1),
        refused_values=_BAD_SCORES,
        profile=bounded_range(1.5),
        slack=1e-7,
        worst_errors=_worst,
        quieter=lambda: Exponential(sensitivity=3, scale="1.8", monotone=True, candidates=4),
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
        profile=worst_profile(metric_law(_around, 7, 1.0), [(0, 1)]),
        slack=math.inf,
        epsilons=(0.0, 0.5, 0.99, 1.0),
    ),
    Case(
        name="metric, on a line",
        make=lambda: MetricExponential(
            points=range(5), distance=lambda x, y: abs(x - y), sensitivity=2, epsilon=1, adjacency=REPLACE_ONE
        ),
        value=0,
        refused_builds=_refused(MetricExponential, ("scale",), points=[0, 1], distance=_around, sensitivity=1, scale=1),
        refused_values=[9],
        profile=worst_profile(metric_law(lambda x, y: abs(x - y), 5, 4.0), [(0, 2), (0, 1), (1, 3), (2, 4)]),
        slack=math.inf,
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
    Case(
        name="sparse vector, until one is above",
        make=lambda: SparseVector(threshold=0, epsilon=1),
        value=[-3, 1, 40],
        refused_builds=_refused(SparseVector, ("sensitivity", "epsilon"), threshold=0, epsilon=1, sensitivity=1),
        refused_values=[[math.nan], np.array(3.0), [[1]]],
        profile=worst_profile(
            sparse_law(*_SPARSE_SCALES),
            [
                ((0.0, -6.0), (1.0, -7.0)),
                ((0.0,) * 8 + (-6.0,), (1.0,) * 8 + (-7.0,)),
                ((0.0, 0.0, 0.0), (1.0, 1.0, -1.0)),
            ],
        ),
        slack=math.inf,
        epsilons=(0.0, 0.1, 0.5, 0.7),
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
