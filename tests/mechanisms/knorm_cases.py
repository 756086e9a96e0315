"""Noise in the norm in which a vector moves, as the contract suite sees it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import gamma

from dither.mechanisms import KNorm, Mechanism
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors

__all__ = ["CASES"]

_BAD = (0, -1, math.nan, math.inf, None, True, "many", "1e999")
NORMS: dict[str, Callable[..., Any]] = {
    "l2": lambda vectors: np.sqrt(np.square(vectors).sum(axis=-1)),
    "linf": lambda vectors: np.abs(vectors).max(axis=-1),
}


def _make(**given: Any) -> KNorm:
    return KNorm(**{"sensitivity": 2, "epsilon": "1", **given})


def _errors(norm: str) -> Callable[[Mechanism, int], Errors]:
    def drawn(mechanism: Mechanism, count: int) -> Errors:
        assert isinstance(mechanism, KNorm)
        noise = mechanism._law.sample(count).astype(np.float64) * float(mechanism._grid.step)
        found: Errors = NORMS[norm](noise)
        return found

    return drawn


@functools.cache
def _profile(norm: str, epsilon: float) -> float:
    """δ(ε) of the densities in the plane, two apart on an axis, by sums over a grid; a little less than the truth."""
    side = np.linspace(-40, 40, 801)
    plane = np.stack(np.meshgrid(side, side), axis=-1)
    here, there = (np.exp(-NORMS[norm](plane - np.array([move, 0.0])) / 2) for move in (0.0, 2.0))
    found = float(np.maximum(here - math.exp(epsilon) * there, 0).sum() / here.sum())
    return max(found * 0.99 - 1e-12, 0.0)  # the rounding of this oracle


def _case(norm: str, dimension: int) -> Case:
    make = functools.partial(_make, norm=norm, dimension=dimension)
    law = gamma(dimension, scale=2)
    return Case(
        f"noise in {norm} of {dimension} coordinates",
        make,
        [0.0] * dimension,
        refused_builds=[
            *(lambda bad=bad: make(epsilon=bad) for bad in _BAD),
            *(lambda bad=bad: make(epsilon=None, scale=bad) for bad in _BAD),
            *(lambda bad=bad: make(sensitivity=bad) for bad in _BAD),
            *(lambda bad=bad: make(dimension=bad) for bad in (0, -1, 1.5, None, True, "3", 10_001)),
            lambda: make(scale=1),
            lambda: make(norm="l1"),
            lambda: make(norm=2),
        ],
        refused_values=[
            0.0, None, "x", [math.nan] * dimension, [math.inf] * dimension, [True] * dimension,
            [0.0] * (dimension + 1), [[0.0] * dimension], np.ma.array([0.0] * dimension),
        ],
        profile=functools.partial(_profile, norm) if dimension == 2 else lambda epsilon: 0.0,
        slack=math.inf,  # ε alone is promised
        largest_loss=lambda: 1.0,  # beyond the value, on the line through both
        errors=_errors(norm),
        error_law=lambda: ErrorLaw(lambda x: float(law.sf(x)), 2.0 * dimension),
        quieter=lambda: make(epsilon="1.1"),
        louder=lambda: make(epsilon="0.9"),
    )  # fmt: skip


CASES = [_case("l2", 2), _case("linf", 3)]
