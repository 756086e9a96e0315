"""How far a sum of independent Laplace variables of different scales reaches, with a normal one if sampling counts.

The density of a₁L₁ + … + aₖLₖ has the characteristic function ∏ 1/(1 + aᵢ²s²), whose partial fractions are those of a
mixture of the Laplace laws themselves, with weights wᵢ = ∏_{j≠i} aᵢ²/(aᵢ² − aⱼ²) that add to 1 and may be negative:

    P[|X| > x] = Σ wᵢ e^{−x/aᵢ},   and for two scales (a²e^{−x/a} − b²e^{−x/b})/(a² − b²).

Scales that are close to each other are set apart by a hundredth, upwards. That errs on the safe side: all of the
variables are symmetric and unimodal, and widening one of them widens their sum (Birnbaum 1948). Discrete noise
P[X = k] ∝ e^{−|k|/a} is within 1 of such a variable, for a suitable pair of the two: P[X ≥ k] = e^{−k/a}/(1 + e^{−1/a})
is at most e^{−(k−1)/a}/2. Who uses this for discrete noise adds 1 for each of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from dither.estimators.records import Floats

__all__ = ["beyond", "reach"]

_APART = 1.01
_HALVINGS = 80
_OUTWARDS = 1 + 1e-9


def reach(scales: Sequence[float], miss: float, normal: float = 0.0) -> float:
    """x with P[|Σ aᵢLᵢ + normal·Z| > x] ≤ `miss`, up to rounding outwards; the scales may be of either sign."""
    known = _set_apart(scales)
    low, high = 0.0, (sum(known) + normal) * (2 - 2 * float(np.log(miss)))
    weights = _weights(known)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, known, weights, normal) > miss else (low, middle)
    return high * _OUTWARDS


def beyond(x: float, scales: Sequence[float], normal: float = 0.0) -> float:
    """P[|Σ aᵢLᵢ + normal·Z| > x], rounded outwards."""
    known = _set_apart(scales)
    return min(_beyond(max(x, 0.0), known, _weights(known), normal) * _OUTWARDS, 1.0)


def _set_apart(scales: Sequence[float]) -> list[float]:
    """Positive, each a hundredth above the one before or more; scales that do not matter are left out."""
    sizes = sorted(abs(scale) for scale in scales)
    known: list[float] = []
    for size in sizes:
        least = max(known[-1] * _APART if known else 0.0, sizes[-1] * 1e-3)
        if size > 0:
            known.append(max(size, least))
    return known


def _weights(scales: list[float]) -> list[float]:
    squares = [scale**2 for scale in scales]
    return [
        float(np.prod([own / (own - other) for at, other in enumerate(squares) if at != which]))
        for which, own in enumerate(squares)
    ]


def _beyond(x: float, scales: list[float], weights: list[float], normal: float) -> float:
    if not scales:
        return float(2 * scipy.special.ndtr(-x / normal)) if normal > 0 else 0.0
    each = np.array([_one_beyond(x, scale, normal) for scale in scales])
    return float(np.array(weights) @ each)


def _one_beyond(x: float, scale: float, normal: float) -> float:
    """P[|aL + σZ| > x]; every exponential is taken together with the tail that it multiplies."""
    if not normal > 0:
        return float(np.exp(-x / scale))
    ratio, place = normal / scale, x / normal
    parts: Floats = np.array([ratio**2 / 2 - x / scale, ratio**2 / 2 + x / scale])
    logs = parts + scipy.special.log_ndtr(np.array([place - ratio, -place - ratio]))
    return float(2 * scipy.special.ndtr(-place) + np.exp(logs[0]) - np.exp(logs[1]))
