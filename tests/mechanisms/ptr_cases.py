"""Propose-test-release, as the contract suite sees it.

The limit is the whole width of the bounds, so that every test passes: the suite looks at answers. That the test is as
it says is seen elsewhere; here it is part of the cost.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

from dither.mechanisms import ProposeTestRelease
from dither.sensitivity import Median
from tests.mechanisms.batches import additive_batch
from tests.mechanisms.mechanism_case import Case, ErrorLaw
from tests.oracle.lattice_sums import masses

__all__ = ["CASES", "joint_profile", "passing"]

_BAD = (0, -1, math.nan, math.inf, None, True, "many", "1e999")
_DATA = [0.0] * 5


def _make(noise: str, epsilon: str = "1", threshold: str = "tight", **other: Any) -> ProposeTestRelease:
    given = {"limit": 2, "epsilon": epsilon, "delta": "1e-6", "noise": noise, "threshold": threshold, **other}
    return ProposeTestRelease(Median((-1, 1)), **given)


def joint_profile(passes: np.ndarray[Any, Any], answer: Callable[[float], float]) -> Callable[[float], float]:
    """δ(ε) over all neighbouring distances one by one; `passes`[d] is the chance of an answer at distance d."""

    def delta(epsilon: float) -> float:
        best = max(float(passes[0]), answer(epsilon))
        for p, q in zip((*passes[1:], *passes[:-1]), (*passes[:-1], *passes[1:]), strict=True):
            nothing = max(0.0, (1 - p) - math.exp(epsilon) * (1 - q))
            best = max(best, nothing + p * answer(epsilon + math.log(q / p)))
        return best * (1 - 1e-10)  # the rounding of this oracle

    return delta


def passing(law: np.ndarray[Any, Any], threshold: int) -> np.ndarray[Any, Any]:
    beyond = np.cumsum(law[::-1])[::-1]
    middle = len(law) // 2
    return np.array([beyond[middle + threshold - d + 1] for d in range(threshold + middle)])


@functools.cache
def _laplace(threshold: str) -> Callable[[float], float]:
    split = _make("laplace", threshold=threshold).split
    law = masses(lambda x: np.exp(-x * float(split.test)), 200)
    top = float(split.answer)
    return joint_profile(passing(law, split.threshold), lambda e: max(0.0, -math.expm1((e - top) / 2), -math.expm1(e)))


@functools.cache
def _gaussian() -> Callable[[float], float]:
    split = _make("gaussian").split
    law, mu = masses(lambda x: np.exp(-x * x / (2 * float(split.test))), 120), math.sqrt(split.answer)

    def answer(epsilon: float) -> float:
        return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))

    return joint_profile(passing(law, split.threshold)[:100], answer)


def _laplace_errors(threshold: str) -> ErrorLaw:
    scale = 2 / float(_make("laplace", threshold=threshold).split.answer)
    return ErrorLaw(lambda x: math.exp(-x / scale), scale)


def _gaussian_errors() -> ErrorLaw:
    sigma = 2 / math.sqrt(_make("gaussian").split.answer)
    return ErrorLaw(lambda x: math.erfc(x / sigma / math.sqrt(2)), sigma * math.sqrt(2 / math.pi))


_BUILDS = [
    *(
        lambda name=name, bad=bad: _make("laplace", **{name: bad})
        for name in ("limit", "epsilon", "delta")
        for bad in _BAD
    ),
    lambda: _make("laplace", delta=1),
    lambda: _make("laplace", delta="0.5"),
    lambda: _make("laplace", delta="0.01", n=100),
    lambda: _make("cauchy"),
    lambda: _make("laplace", threshold="loose"),
    lambda: _make("gaussian", epsilon="2", threshold="textbook"),
    lambda: _make("laplace", epsilon="1e-9"),
    lambda: ProposeTestRelease(np.median, limit=1, epsilon=1, delta="1e-6"),  # type: ignore[arg-type]
]
_VALUES = [[math.nan], [1.0, math.inf], None, "5", 3.0, [[1.0], [2.0]], ["a"], []]
_BATCH = additive_batch(lambda mechanism: mechanism._answer.for_reals, lambda mechanism: mechanism.release(_DATA).value)

CASES: list[Case] = [
    *(
        Case(
            name=f"propose-test-release, laplace, {threshold}",
            make=lambda threshold=threshold: _make("laplace", threshold=threshold),  # type: ignore[misc]
            value=_DATA,
            refused_builds=_BUILDS,
            refused_values=_VALUES,
            profile=lambda epsilon, threshold=threshold: _laplace(threshold)(epsilon),  # type: ignore[misc]
            errors=_BATCH,
            error_law=lambda threshold=threshold: _laplace_errors(threshold),  # type: ignore[misc]
            quieter=lambda threshold=threshold: _make("laplace", "1.1", threshold),  # type: ignore[misc]
            louder=lambda threshold=threshold: _make("laplace", "0.9", threshold),  # type: ignore[misc]
            epsilons=(0.0, 0.1, 0.5, 0.95, 1.0, 2.0),
        )
        for threshold in ("tight", "textbook")
    ),
    Case(
        name="propose-test-release, gaussian",
        make=lambda: _make("gaussian"),
        value=_DATA,
        refused_builds=_BUILDS,
        refused_values=_VALUES,
        profile=lambda epsilon: _gaussian()(epsilon),
        errors=_BATCH,
        error_law=_gaussian_errors,
        quieter=lambda: _make("gaussian", "1.1"),
        louder=lambda: _make("gaussian", "0.9"),
        epsilons=(0.0, 0.1, 0.5, 0.9, 1.0, 2.0),
    ),
]
