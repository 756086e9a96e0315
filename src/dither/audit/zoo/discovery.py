"""Groups that are found in the data and shown when their noisy count reaches a threshold: one that is too low."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import Specimen
from dither.guarantees import ApproxDP
from dither.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["SPECIMENS"]

_DELTA = 0.005
_RIGHT = 6
"""The smallest t with P[1 + X ≥ t] ≤ δ: e^{−5}/(1 + e^{−1}) = 0.00493 for noise of scale 1."""


def _shown(counts: Sequence[int], noisy: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    return np.where((np.asarray(counts) > 0) & (noisy >= threshold), noisy, np.nan)


def off_by_one(counts: Sequence[int], runs: int) -> NDArray[np.float64]:
    """Noise of scale 1, and a threshold that is one too low."""
    noisy = np.asarray(counts) + DiscreteLaplace(1).sample((runs, len(counts)))
    return _shown(counts, noisy, _RIGHT - 1)


def laplace_threshold(counts: Sequence[int], runs: int) -> NDArray[np.float64]:
    """1 + ln(1/(2δ))/ε, the threshold for Laplace noise, with Gaussian noise for (ε, δ)."""
    variance = 2 * math.log(1.25 / _DELTA)
    noisy = np.asarray(counts) + DiscreteGaussian(variance).sample((runs, len(counts)))
    return _shown(counts, noisy, 1 + math.log(1 / (2 * _DELTA)))


SPECIMENS = (
    Specimen(
        "threshold off by one",
        off_by_one,
        "counts",
        ApproxDP(1, _DELTA),
        math.inf,
        "a group of one person is shown with probability 0.0134, e times δ",
        samples=300_000,
    ),
    Specimen(
        "Laplace threshold, Gaussian noise",
        laplace_threshold,
        "counts",
        ApproxDP(1, 2 * _DELTA),
        math.inf,
        "the tail of the noise is not the one for which the threshold was made",
    ),
)
