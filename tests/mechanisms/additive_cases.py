"""Laplace, Gaussian, staircase noise and histograms, as the contract suite sees them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dither.mechanisms import Gaussian, Histogram, Laplace, Mechanism, Staircase
from tests.mechanisms.batches import additive_batch
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.oracle.lattice_sums import (
    gaussian_profile,
    laplace_line,
    largest_loss,
    largest_profile,
    masses,
    profile_of,
    thresholded_profile,
)

__all__ = ["BAD_NUMBERS", "BAD_PROBABILITIES", "BAD_VALUES", "CASES", "builds"]

BAD_NUMBERS: list[Any] = [
    0,
    -1,
    float("nan"),
    float("inf"),
    -float("inf"),
    True,
    None,
    "many",
    "1e999",
    10**400,
    1e-320,
]
BAD_PROBABILITIES: list[Any] = [0, 1, -0.1, 1.5, float("nan"), float("inf"), True, "half"]
BAD_VALUES: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    None,
    True,
    "5",
    1j,
    [1.0, float("nan")],
    np.array([1.0, np.inf]),
    np.array([True]),
    [None],
    [[1], [2, 3]],
    np.array([1], dtype="datetime64[s]"),
]
_MANY = 1_000_000


def builds(make: Callable[..., Mechanism], good: dict[str, Any], **bad: list[Any]) -> list[Callable[[], object]]:
    """One attempt for each bad value of each parameter, the others being good."""

    def attempts() -> Iterator[Callable[[], object]]:
        for name, values in bad.items():
            for value in values:
                yield lambda name=name, value=value: make(**{**good, name: value})  # type: ignore[misc]

    return list(attempts())


def _zeros(mechanism: Mechanism, count: int) -> Errors:
    return np.abs(np.asarray(mechanism.release(np.zeros(count, dtype=np.int64)).value, dtype=np.float64))


def _thirds(mechanism: Mechanism, count: int) -> Errors:
    found: Errors = np.abs(mechanism.release(np.full(count, 1 / 3)).value - 1 / 3)
    return found


def _shown(mechanism: Mechanism, count: int) -> Errors:
    """Bins that are discovered, with counts so large that all of them are shown; ten thousand at a time."""
    names, counts = np.arange(10_000), np.full(10_000, 1_000)
    shown = [mechanism.release((names, counts)).value[1] for _ in range(0, count, 10_000)]
    return np.abs(np.concatenate(shown).astype(np.float64) - 1_000)


def _real_gaussian() -> Gaussian:
    return Gaussian(sensitivity="0.5", epsilon=1, delta="1e-3", dimension=_MANY)


def _drawn_sigma(mechanism: Gaussian) -> float:
    """σ of the law that real numbers get, in units of the value."""
    drawn = mechanism.for_reals
    return math.sqrt(drawn.law.variance) * float(drawn.step)  # type: ignore[attr-defined]


def _named_bins(epsilon: str) -> Histogram:
    return Histogram(bins=["a", "b"], epsilon=epsilon, delta="1e-6", noise="gaussian")


@functools.cache
def _named_law() -> Any:
    variance = float(_named_bins("0.1")._noising.law.variance)  # type: ignore[attr-defined]
    return masses(lambda x: np.exp(-x * x / (2 * variance)), 1_500)


def _on_lattice(law: Any) -> Callable[[], ErrorLaw]:
    """|X| for integer noise."""
    sizes = np.abs(np.arange(len(law)) - len(law) // 2)
    return lambda: ErrorLaw(lambda x: float(law[sizes > x].sum()), float((law * sizes).sum()))


def _laplace_errors(scale: float) -> Callable[[], ErrorLaw]:
    """|X| on the line; the grid has 2^40 steps to a scale."""
    return lambda: ErrorLaw(lambda x: math.exp(-x / scale), scale)


def _gaussian_errors() -> ErrorLaw:
    sigma = _drawn_sigma(_real_gaussian())
    return ErrorLaw(lambda x: math.erfc(x / sigma / math.sqrt(2)), sigma * math.sqrt(2 / math.pi))


def _staircase_errors() -> ErrorLaw:
    """Geng and Viswanath 2014: of density ∝ e^{−kε} on kΔ + [0, γΔ), and e^{−(k+1)ε} on the rest up to (k + 1)Δ."""
    high = 1 / (1 + math.e)  # γ for ε = 2

    def beyond(x: float) -> float:
        stairs, part = divmod(x / 0.5, 1)
        reached = min(part, high) + max(0.0, part - high) * math.exp(-2)
        return math.exp(-2 * stairs) * (1 - reached * (1 - math.exp(-2)) / (high + (1 - high) * math.exp(-2)))

    return ErrorLaw(beyond, 0.5 * math.e / math.expm1(2))


_COUNTS = [1, 5, 7]
_laplace = masses(lambda x: np.exp(-x / 100), 6_000)
_gaussian = masses(lambda x: np.exp(-x * x / 7_200), 1_500)
_both = np.convolve(_gaussian, _gaussian)  # the sum of two coordinates
_stairs = masses(lambda x: np.exp(-np.floor((x + 200 - 76) / 200)), 8_000)
_steep_stairs = masses(lambda x: np.exp(-2 * np.floor((x + 200 - 54) / 200)), 4_000)
_unit_laplace = masses(lambda x: np.exp(-x), 150)


def _hidden(law: Any, threshold: int) -> Callable[[float], float]:
    pairs = [(0, 1), (1, 2), (threshold, threshold + 1)]
    return lambda epsilon: max(thresholded_profile(law, pair, threshold, epsilon) for pair in pairs)


_ADDITIVE = [
    Case(
        "Laplace on integers, from epsilon",
        lambda: Laplace(sensitivity=1, epsilon="0.01"),
        np.array(_COUNTS),
        refused_builds=[
            *builds(Laplace, {"sensitivity": 1, "epsilon": 1}, sensitivity=BAD_NUMBERS, epsilon=BAD_NUMBERS),
            *builds(Laplace, {"sensitivity": 1, "epsilon": 1}, dimension=[0, -1, 1.5, True, "2"], scale=[2]),
        ],
        refused_values=BAD_VALUES,
        profile=lambda epsilon: largest_profile(_laplace, 1, epsilon),
        errors=_zeros,
        error_law=_on_lattice(_laplace),
        largest_loss=lambda: largest_loss(_laplace, 1),
        quieter=lambda: Laplace(sensitivity=1, scale=90),
        louder=lambda: Laplace(sensitivity=1, scale=110),
        epsilons=(0.0, 0.002, 0.005, 0.009),
    ),
    Case(
        "Laplace on integers of sensitivity 3, from scale",
        lambda: Laplace(sensitivity=3, scale=100),
        41,
        refused_builds=builds(Laplace, {"sensitivity": 1, "scale": 1}, sensitivity=BAD_NUMBERS, scale=BAD_NUMBERS),
        refused_values=BAD_VALUES,
        profile=lambda epsilon: largest_profile(_laplace, 3, epsilon),
        slack=1.0,  # pure DP says only the largest loss
        errors=_zeros,
        error_law=_on_lattice(_laplace),
        largest_loss=lambda: largest_loss(_laplace, 3),
        quieter=lambda: Laplace(sensitivity=3, scale=90),
        louder=lambda: Laplace(sensitivity=3, scale=110),
        epsilons=(0.0, 0.01, 0.02, 0.029),
    ),
    Case(
        "Laplace on reals",
        lambda: Laplace(sensitivity="0.5", epsilon=1, dimension=_MANY),
        0.25,
        refused_builds=[lambda: Laplace(sensitivity="0.5"), lambda: Laplace(sensitivity=1, epsilon=1, scale=1)],
        refused_values=[*BAD_VALUES, 3, np.array([1])],
        profile=lambda epsilon: laplace_line(1, epsilon),
        slack=1.0,
        errors=_thirds,
        error_law=_laplace_errors(0.5),
        quieter=lambda: Laplace(sensitivity="0.5", scale="0.45", dimension=_MANY),
        louder=lambda: Laplace(sensitivity="0.5", scale="0.55", dimension=_MANY),
        epsilons=(0.0, 0.3, 0.6, 0.9),
    ),
    Case(
        "Gaussian on integers, from sigma",
        lambda: Gaussian(sensitivity=1, sigma=60),
        np.array(_COUNTS),
        refused_builds=builds(Gaussian, {"sensitivity": 1, "sigma": 1}, sensitivity=BAD_NUMBERS, sigma=BAD_NUMBERS),
        refused_values=BAD_VALUES,
        profile=lambda epsilon: largest_profile(_gaussian, 1, epsilon),
        errors=_zeros,
        error_law=_on_lattice(_gaussian),
        quieter=lambda: Gaussian(sensitivity=1, sigma=54),
        louder=lambda: Gaussian(sensitivity=1, sigma=66),
        epsilons=(0.0, 0.01, 0.02, 0.05),
    ),
    Case(
        "Gaussian on integer vectors, from rho",
        lambda: Gaussian(sensitivity_squared=2, rho="1/3600", dimension=2),
        [3, -4],
        refused_builds=builds(Gaussian, {"sensitivity": 1, "rho": 1}, sensitivity=BAD_NUMBERS, rho=BAD_NUMBERS),
        refused_values=BAD_VALUES,
        profile=lambda epsilon: profile_of(np.append(_both, [0, 0]), np.append([0, 0], _both), epsilon),
        slack=0.01,
        errors=_zeros,
        error_law=_on_lattice(_gaussian),
        quieter=lambda: Gaussian(sensitivity_squared=2, sigma=54, dimension=2),
        louder=lambda: Gaussian(sensitivity_squared=2, sigma=66, dimension=2),
        epsilons=(0.0, 0.01, 0.03),
    ),
    Case(
        "Gaussian on reals, from epsilon and delta",
        _real_gaussian,
        [0.25, -8.5],
        refused_builds=[
            *builds(Gaussian, {"sensitivity": 1, "epsilon": 1, "delta": 0.1}, epsilon=BAD_NUMBERS),
            *builds(Gaussian, {"sensitivity": 1, "epsilon": 1, "delta": 0.1}, delta=[*BAD_PROBABILITIES, None]),
            *builds(
                Gaussian, {"sensitivity": 1, "rho": 1}, delta=[0.1], sigma=[1], epsilon=[1], calibration=["dwork-roth"]
            ),
            *builds(Gaussian, {"sensitivity": 1, "epsilon": 1, "delta": 0.1}, calibration=["S2", None, "best"]),
            lambda: Gaussian(sensitivity=1, sensitivity_squared=1, rho=1),
            lambda: Gaussian(rho=1),
            lambda: Gaussian(sensitivity=1),
        ],
        refused_values=[*BAD_VALUES, 3, np.array([1])],
        profile=lambda epsilon: gaussian_profile(0.5 / _drawn_sigma(_real_gaussian()), epsilon),
        slack=1e-6,
        errors=_thirds,
        error_law=_gaussian_errors,
        quieter=lambda: Gaussian(sensitivity="0.5", sigma=0.9 * _drawn_sigma(_real_gaussian()), dimension=_MANY),
        louder=lambda: Gaussian(sensitivity="0.5", sigma=1.1 * _drawn_sigma(_real_gaussian()), dimension=_MANY),
        epsilons=(1.0,),
    ),
    Case(
        "staircase on integers",
        lambda: Staircase(sensitivity=200, epsilon=1),
        7,
        refused_builds=builds(
            Staircase, {"sensitivity": 1, "epsilon": 1}, sensitivity=BAD_NUMBERS, epsilon=BAD_NUMBERS
        ),
        refused_values=[*BAD_VALUES, [1, 2], [1.0, 2.0]],
        profile=lambda epsilon: largest_profile(_stairs, 200, epsilon),
        slack=1.0,
        epsilons=(0.0, 0.5, 0.99),
        largest_loss=lambda: largest_loss(_stairs, 200),
        errors=additive_batch(lambda mechanism: mechanism.for_integers, lambda mechanism: mechanism.release(0).value),
        error_law=_on_lattice(_stairs),
        mean_is_exact=False,  # the larger of integers and reals
        quieter=lambda: Staircase(sensitivity=180, epsilon=1),
        louder=lambda: Staircase(sensitivity=200, epsilon="0.91"),
    ),
    Case(
        "staircase on reals",
        lambda: Staircase(sensitivity="0.5", epsilon=2),
        0.75,
        refused_builds=[lambda: Staircase(sensitivity=1, epsilon=1000)],
        refused_values=[*BAD_VALUES, 3, [1.0, 2.0]],
        profile=lambda epsilon: largest_profile(_steep_stairs, 200, epsilon),
        slack=math.inf,
        epsilons=(0.0, 0.5, 1.5),
        largest_loss=lambda: largest_loss(_steep_stairs, 200),
        errors=additive_batch(lambda mechanism: mechanism.for_reals, lambda mechanism: mechanism.release(0.0).value),
        error_law=_staircase_errors,
        quieter=lambda: Staircase(sensitivity="0.45", epsilon=2),
        louder=lambda: Staircase(sensitivity="0.5", epsilon="1.8"),
    ),
]

_HISTOGRAMS = [
    Case(
        "histogram of known bins",
        lambda: Histogram(bins=_MANY, epsilon="0.01"),
        np.zeros(_MANY, dtype=np.int64),
        refused_builds=[
            *builds(
                Histogram, {"bins": 3, "epsilon": 1}, epsilon=BAD_NUMBERS, bins=[0, -1, True, [], "ab", ["a", "a"]]
            ),
            *builds(Histogram, {"bins": 3, "epsilon": 1}, delta=[0.1], max_bins=[0, -1, True, 1.5], noise=["cauchy"]),
            *builds(Histogram, {"bins": 3, "epsilon": 1}, adjacency=[None, "replace"]),
        ],
        refused_values=[*BAD_VALUES, [1, 2], {"a": 1}, np.full(_MANY, -1), np.zeros(_MANY)],
        profile=lambda epsilon: largest_profile(_laplace, 1, epsilon),
        errors=_zeros,
        error_law=_on_lattice(_laplace),
        largest_loss=lambda: largest_loss(_laplace, 1),
        quieter=lambda: Histogram(bins=_MANY, epsilon="1/90"),
        louder=lambda: Histogram(bins=_MANY, epsilon="1/110"),
        epsilons=(0.0, 0.002, 0.005, 0.009),
    ),
    Case(
        "histogram of known bins, Gaussian",
        lambda: _named_bins("0.1"),
        {"a": 3},
        refused_builds=builds(
            Histogram, {"bins": 3, "epsilon": 1, "noise": "gaussian"}, delta=[None, *BAD_PROBABILITIES]
        ),
        refused_values=[*BAD_VALUES, {"c": 1}, {"a": 1.5}, {"a": -1}, {"a": None}],
        profile=lambda epsilon: largest_profile(_named_law(), 1, epsilon),
        slack=1e-6,
        epsilons=(0.095, 0.1),
        errors=additive_batch(
            lambda mechanism: mechanism._noising, lambda mechanism: mechanism.release({}).value[0], 2
        ),
        error_law=lambda: _on_lattice(_named_law())(),
        quieter=lambda: _named_bins("1/9"),
        louder=lambda: _named_bins("1/11"),
    ),
    Case(
        "histogram of discovered bins",
        lambda: Histogram(epsilon=1, delta="1e-6"),
        {"a": 100, "b": 1},
        refused_builds=[
            *builds(Histogram, {"epsilon": 1, "delta": 0.1}, delta=[None, *BAD_PROBABILITIES], epsilon=BAD_NUMBERS),
            lambda: Histogram(epsilon=1, delta=0.01, n=100),
            lambda: Histogram(epsilon=1, delta=0.001, n=True),
        ],
        refused_values=[*BAD_VALUES, {"a": -1}, {"a": 1.5}, {"a": float("nan")}, (["a", "a"], [1, 2]), (["a"], [1, 2])],
        profile=_hidden(_unit_laplace, 15),
        slack=math.inf,  # (ε, δ) says nothing about other points of the curve
        epsilons=(0.95, 1.0),
        errors=_shown,
        error_law=_on_lattice(_unit_laplace),
        quieter=lambda: Histogram(epsilon="10/9", delta="1e-6"),
        louder=lambda: Histogram(epsilon="10/11", delta="1e-6"),
    ),
]

CASES: list[Case] = [*_ADDITIVE, *_HISTOGRAMS]
