"""Noise moved and rescaled, compared point by point on a fine grid: slow, and blind to what the library knows.

Sums over midpoints, in doubles: δ is right to about 1e-5 of it, for the parameters of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["DENSITIES", "largest_delta", "largest_loss", "moves"]

Floats = NDArray[np.float64]


def _steepest(a: int) -> Callable[[Floats], Floats]:
    def log(w: Floats) -> Floats:
        first = (a - 1) * np.log1p(-np.minimum(w, 1 / a))
        found: Floats = first - (a + 1) * (np.log1p(np.maximum(w, 1 / a)) - np.log1p(1 / a))
        return found

    return log


DENSITIES: dict[str, Callable[[float], Callable[[Floats], Floats]]] = {
    "laplace": lambda _: lambda z: -z,
    "gaussian": lambda _: lambda z: -z * z / 2,
    "polynomial": lambda exponent: lambda z: -np.log1p(z**exponent),
    "steepest": lambda exponent: _steepest(int(exponent) - 1),
}
"""ln g(|z|) up to a constant, from the exponent of the tail where there is one."""


def moves(smoothness: float, scale: float, count: int) -> Iterator[tuple[float, float]]:
    """(u, v) on a grid over all that neighbours may do, corners included."""
    for v in np.linspace(-smoothness, smoothness, count):
        for share in np.linspace(-1, 1, 5):
            yield share * min(1.0, np.exp(v)) / scale, v


def largest_loss(log_density: Callable[[Floats], Floats], smoothness: float, scale: float) -> float:
    """max |ln p/q| over the grid of moves and a grid of places, near and far."""
    near = np.linspace(0, 4, 4001)
    z = np.concatenate([-np.geomspace(4, 1e9, 800)[::-1], -near[::-1], near, np.geomspace(4, 1e9, 800)])
    p = log_density(np.abs(z))
    return max(
        float(np.abs(p - log_density(np.abs(z - u) * np.exp(-v)) + v).max()) for u, v in moves(smoothness, scale, 9)
    )


def largest_delta(
    log_density: Callable[[Floats], Floats], epsilon: float, smoothness: float, scale: float, reach: float
) -> float:
    """max Σ (p − e^ε q)₊ over the grid of moves, in both orders, for noise within `reach` of 0."""
    cells = 200_000
    width = 2 * reach / cells
    z = (np.arange(cells) + 0.5) * width - reach
    p = np.exp(log_density(np.abs(z)))
    whole = p.sum() * width
    found = 0.0
    for u, v in moves(smoothness, scale, 5):
        q = np.exp(log_density(np.abs(z - u) * np.exp(-v)) - v)
        for one, other in ((p, q), (q, p)):
            found = max(found, float(np.maximum(one - np.exp(epsilon) * other, 0).sum() * width / whole))
    return found
