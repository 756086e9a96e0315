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
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from dither.estimators.records import Floats

__all__ = ["NoiseLaw", "beyond", "reach"]

_APART = 1.01
_LEAST = 1e-3
"""A scale below this part of the largest is raised to it."""
_HALVINGS = 80
_OUTWARDS = 1 + 1e-9
_TINY = 1e-300


@dataclass(frozen=True)
class NoiseLaw:
    """Independent noise on each of some sums: Laplace of this scale, or normal with this standard deviation."""

    scale: float
    is_normal: bool = False
    is_turned: bool = False
    """Whether it is for U − V and U + V in place of U and V: the weights are those of U and of −V."""

    def beyond(self, x: Any, weights: Sequence[Any], sampling: Any = 0.0) -> Floats:
        """P[|Σ wᵢ·noiseᵢ + sampling·Z| > x], rounded outwards; arrays go entry by entry."""
        scales, normal = self._parted(weights, sampling)
        return beyond(x, scales, normal)

    def reach(self, weights: Sequence[Any], miss: float, sampling: Any = 0.0) -> Floats:
        """x with P[|Σ wᵢ·noiseᵢ + sampling·Z| > x] ≤ `miss`."""
        if np.ndim(sampling) == 0 and sampling == 0 and all(isinstance(weight, float) for weight in weights):
            return self.scale * _reach_of_unit(tuple(self._drawn(weights)), miss, self.is_normal)
        scales, normal = self._parted(weights, sampling)
        return reach(scales, miss, normal)

    def _drawn(self, weights: Sequence[Any]) -> Sequence[Any]:
        """Of the noise as it was drawn: a·U − b·V is (a + b)/2 times U − V, and (a − b)/2 times U + V."""
        if not self.is_turned:
            return weights
        first, second = weights
        return (first + second) / 2, (first - second) / 2

    def _parted(self, weights: Sequence[Any], sampling: Any) -> tuple[list[Any], Any]:
        """The scales of Laplace noise, and the standard deviation of all that is normal."""
        known = [self.scale * np.abs(weight) for weight in self._drawn(weights)]
        if not self.is_normal:
            return known, sampling
        return [], np.sqrt(sum(scale**2 for scale in known) + np.square(sampling))


@lru_cache(maxsize=1024)
def _reach_of_unit(weights: tuple[float, ...], miss: float, is_normal: bool) -> Floats:
    """The reach at the scale 1: at another one it is so many times as far."""
    scales, normal = NoiseLaw(1.0, is_normal)._parted(weights, 0.0)
    return reach(scales, miss, normal)


def beyond(x: Any, scales: Sequence[Any], normal: Any = 0.0) -> Floats:
    """P[|Σ aᵢLᵢ + normal·Z| > x], rounded outwards; the scales may be of either sign, and arrays."""
    known = _set_apart(scales, normal)
    return np.minimum(_beyond(np.maximum(x, 0.0), known, _weights(known), normal) * _OUTWARDS, 1.0)


def reach(scales: Sequence[Any], miss: float, normal: Any = 0.0) -> Floats:
    """x with P[|Σ aᵢLᵢ + normal·Z| > x] ≤ `miss`, rounded outwards."""
    known = _set_apart(scales, normal)
    weights = _weights(known)
    high = np.asarray((sum(known) + normal) * (2 - 2 * np.log(miss)), dtype=np.float64)
    low = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_beyond = _beyond(middle, known, weights, normal) > miss
        low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
    return np.asarray(high * _OUTWARDS)


def _set_apart(scales: Sequence[Any], normal: Any) -> list[Floats]:
    """Positive, each a hundredth above the one before or more."""
    if not len(scales):
        return []
    sizes = np.sort(np.stack(np.broadcast_arrays(*[np.abs(scale) for scale in scales])).astype(np.float64), axis=0)
    least = np.maximum(np.maximum(sizes[-1], normal) * _LEAST, _TINY)
    known: list[Floats] = []
    for size in sizes:
        known.append(np.maximum(size, least))
        least = known[-1] * _APART
    return known


def _weights(scales: list[Floats]) -> list[Floats]:
    found = []
    for at, own in enumerate(scales):
        # The squares of tiny scales would underflow: only their ratios count.
        ratios = [np.square(other / own) for which, other in enumerate(scales) if which != at]
        found.append(np.asarray(np.prod([1 / (1 - ratio) for ratio in ratios], axis=0)))
    return found


def _beyond(x: Any, scales: list[Floats], weights: list[Floats], normal: Any) -> Floats:
    if not scales:
        return np.asarray(2 * scipy.special.ndtr(-np.asarray(x) / np.maximum(normal, _TINY)))
    if not np.any(np.asarray(normal) > 0):
        return np.asarray(sum(weight * np.exp(-x / scale) for scale, weight in zip(scales, weights, strict=True)))
    wide = np.maximum(normal, scales[-1] * _LEAST)
    return np.asarray(sum(weight * _mixed(x, scale, wide) for scale, weight in zip(scales, weights, strict=True)))


def _mixed(x: Any, scale: Floats, normal: Floats) -> Floats:
    """P[|aL + σZ| > x]; every exponential is taken together with the tail that it multiplies."""
    ratio, place = normal / scale, x / normal
    falling = ratio**2 / 2 - x / scale + scipy.special.log_ndtr(place - ratio)
    rising = ratio**2 / 2 + x / scale + scipy.special.log_ndtr(-place - ratio)
    return np.asarray(2 * scipy.special.ndtr(-place) + np.exp(falling) - np.exp(rising))
