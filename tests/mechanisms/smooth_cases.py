"""Smooth sensitivity, as the contract suite sees it: tight noise of each law that it may choose.

The formulas of the lectures are far from tight; they are put to the test in tests/pairs/test_scaled_pairs.py.
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad

from dither.mechanisms import SmoothSensitivity
from dither.mechanisms.mechanism import Mechanism
from dither.sensitivity import Median
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.oracle import rescaled

__all__ = ["CASES"]

_BAD = (0, -1, math.nan, math.inf, None, True, "many", "1e999", "1e-9")
_DATA = [0.0] * 5


def _make(epsilon: str = "1", delta: str = "0", **other: Any) -> SmoothSensitivity:
    return SmoothSensitivity(Median((0, 1)), epsilon=epsilon, delta=delta, **other)


def _density(epsilon: str, delta: str) -> tuple[Any, float, float, float]:
    """ln g, β and s of the noise, and how far out it has to be looked at."""
    event = _make(epsilon, delta).event
    reach = {"laplace": 60.0, "gaussian": 12.0, "steepest": 100.0}[event.noise]
    return (
        rescaled.DENSITIES[event.noise](float(event.exponent or 0)),
        float(event.smoothness),
        float(event.scale),
        reach,
    )


@functools.cache
def _profile(epsilon: str, delta: str, at: float) -> float:
    density, beta, scale, reach = _density(epsilon, delta)
    return rescaled.largest_delta(density, at, beta, scale, reach) * (1 - 1e-6)  # the rounding of this oracle


def _largest_loss(epsilon: str, delta: str) -> float:
    density, beta, scale, _ = _density(epsilon, delta)
    return rescaled.largest_loss(density, beta, scale) * (1 - 1e-10)


def _error_law(epsilon: str, delta: str) -> ErrorLaw:
    """For data whose smooth sensitivity is the global one, 1."""
    density, scale = _density(epsilon, delta)[0], float(_make(epsilon, delta).scale)

    def integral(start: float, power: int) -> float:
        """∫ z^power g(z) dz over [start, ∞), piece by piece."""
        ends = [start, *(x for x in (0.05, 0.2, 1.0, 5.0, 25.0, 1e3, 1e5, 1e7) if x > start)]
        pieces = pairwise(ends)
        return sum(
            float(
                quad(lambda z: z**power * np.exp(density(np.float64(z))), low, high, epsabs=0, epsrel=1e-12, limit=200)[
                    0
                ]
            )
            for low, high in pieces
        )

    whole = integral(0.0, 0)
    return ErrorLaw(lambda x: integral(x / scale, 0) / whole, scale * integral(0.0, 1) / whole)


def _errors(mechanism: Mechanism, count: int) -> Errors:
    """Where S is at its floor, 2^-40 of the width, draws are 64-bit integers; times 2^40, the law is that for S = 1."""
    assert isinstance(mechanism, SmoothSensitivity)
    steps = np.abs(mechanism._law(2.0**-40).sample(count)).astype(np.float64)
    found: Errors = steps * float(mechanism._grid.step) * 2.0**40
    return found


_BUILDS = [
    *(lambda bad=bad: _make(bad) for bad in _BAD),
    *(lambda bad=bad: _make(delta=bad) for bad in (1, -0.1, 1.5, math.nan, math.inf, True, "half")),
    *(lambda bad=bad: _make(beta=bad) for bad in (0, -1, math.nan, math.inf, True, "many", "0.51")),
    *(lambda bad=bad: _make(noise="polynomial", exponent=bad) for bad in (1, 0, -2, math.nan, math.inf, True, 1000)),
    lambda: _make(noise="cauchy"),
    lambda: _make(noise="laplace"),
    lambda: _make(noise="gaussian"),
    lambda: _make(noise="printed"),
    lambda: _make(noise="polynomial", delta="1e-6"),
    lambda: _make(noise="laplace", delta="1e-6", beta="0.1"),
    lambda: _make(noise="laplace", delta="1e-6", epsilon="14"),
    lambda: _make(exponent=4),
    lambda: _make(delta="0.01", n=100),
    lambda: SmoothSensitivity(Median(None), epsilon=1),
    lambda: SmoothSensitivity(np.median, epsilon=1),  # type: ignore[arg-type]
]
_VALUES = [[math.nan], [1.0, math.inf], None, "5", 3.0, [[1.0], [2.0]], ["a"], []]


def _case(noise: str, epsilon: str, delta: str, **other: Any) -> Case:
    less, more = (str(float(epsilon) * factor) for factor in (0.9, 1.1))
    assert _make(epsilon, delta).event.noise == noise
    return Case(
        name=f"smooth sensitivity, tight, {noise}",
        make=lambda: _make(epsilon, delta),
        value=_DATA,
        refused_builds=_BUILDS,
        refused_values=_VALUES,
        profile=lambda at: _profile(epsilon, delta, at),
        slack=math.inf,  # (ε, δ) is one point of the curve
        errors=_errors,
        error_law=lambda: _error_law(epsilon, delta),
        quieter=lambda: _make(more, delta),
        louder=lambda: _make(less, delta),
        epsilons=(0.0, float(less), float(epsilon), 2 * float(epsilon)),
        **other,
    )


CASES: list[Case] = [
    _case("steepest", "1", "0", largest_loss=lambda: _largest_loss("1", "0")),
    _case("laplace", "1", "0.1"),
    _case("gaussian", "0.1", "0.1"),
]
