"""Propose-test-release as it is printed, with a noiseless distance, and noise scaled to local sensitivity: not private.

Each releases the lower median of numbers with Laplace noise, and promises (2ε, δ). NaN means no answer.
Distances and sensitivities are counted by hand from the sorted records; nothing of `dither.sensitivity` is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import Specimen
from dither.guarantees import ApproxDP, PureDP
from dither.noise import DiscreteLaplace

__all__ = [
    "C20_PAIR",
    "LIMIT",
    "SPECIMENS",
    "distance_of_sensitivity",
    "distance_of_values",
    "local_noise",
    "noiseless_test",
    "one_sided",
    "printed",
    "threshold",
]

LIMIT = 5

C20_PAIR = ((*[0] * 150, 5, *[10] * 150), (*[0] * 151, *[10] * 150))
"""301 records: 0 and 10 evenly, and one 5, the median; in its neighbour that one is 0 as well.

From 5 no value within reach differs by more than 5: by the printed count the distance is 151, the number of records
that move the median out of sight. From 0, one record moves it to 10: the printed distance is 1.
"""


def _ranked(data: Sequence[int]) -> tuple[list[float], int]:
    """−∞, the sorted records, ∞; and the place of the lower median."""
    return [-math.inf, *sorted(map(float, data)), math.inf], math.ceil(len(data) / 2)


def _at(records: list[float], place: int) -> float:
    return records[min(max(place, 0), len(records) - 1)]


def distance_of_values(data: Sequence[int], limit: float) -> int:
    """How many records must be replaced for the *value* to differ by more than the limit (as printed)."""
    records, middle = _ranked(data)
    k = 0
    while max(_at(records, middle + k) - records[middle], records[middle] - _at(records, middle - k)) <= limit:
        k += 1
    return k


def distance_of_sensitivity(data: Sequence[int], limit: float, first: int = 0) -> int:
    """How many records must be replaced for the *local sensitivity* to exceed the limit (corrected).

    With `first` = 1 the jump that leads down from the median is forgotten: off by one.
    """
    records, middle = _ranked(data)
    k = 0
    while max(_at(records, middle + i) - _at(records, middle + i - k - 1) for i in range(first, k + 2)) <= limit:
        k += 1
    return k


def threshold(epsilon: float, delta: float) -> float:
    """1 + ln(2/δ)/ε."""
    return 1 + math.log(2 / delta) / epsilon


def _noisy_medians(data: Sequence[int], scale: float, runs: int) -> NDArray[np.float64]:
    records, middle = _ranked(data)
    return np.asarray(records[middle] + DiscreteLaplace(scale).sample(runs), dtype=np.float64)


def printed(
    data: Sequence[int], runs: int, epsilon: float = 0.5, delta: float = 1e-3, limit: int = LIMIT
) -> NDArray[np.float64]:
    """The slide: noise on the distance of values. Promises (2ε, δ)."""
    noisy = distance_of_values(data, limit) + DiscreteLaplace(1 / epsilon).sample(runs)
    return np.where(noisy > threshold(epsilon, delta), _noisy_medians(data, limit / epsilon, runs), np.nan)


def noiseless_test(
    data: Sequence[int], runs: int, epsilon: float = 0.5, delta: float = 1e-3, limit: int = LIMIT
) -> NDArray[np.float64]:
    """The right distance, compared without noise. Promises (2ε, δ)."""
    is_far = distance_of_sensitivity(data, limit) > threshold(epsilon, delta)
    return _noisy_medians(data, limit / epsilon, runs) if is_far else np.full(runs, np.nan)


def one_sided(
    data: Sequence[int], runs: int, epsilon: float = 2, threshold: int = 1, limit: int = LIMIT
) -> NDArray[np.float64]:
    """The distance to data from which one record moves the median far *up*. Promises (2ε, 0.02).

    P[X₁ > 1] = e^−4/(1 + e^−2) = 0.0161 for noise of scale 1/2: enough for the right distance, which is 0 on both sides
    of a jump. Above the jump this one is 1, so that there is an answer with probability 0.119.
    """
    noisy = distance_of_sensitivity(data, limit, first=1) + DiscreteLaplace(1 / epsilon).sample(runs)
    return np.where(noisy > threshold, _noisy_medians(data, limit / epsilon, runs), np.nan)


def local_noise(data: Sequence[int], runs: int, epsilon: float = 0.5) -> NDArray[np.float64]:
    """Noise of local sensitivity over 2ε. Promises 2ε."""
    records, middle = _ranked(data)
    size = max(_at(records, middle + i) - _at(records, middle + i - 1) for i in (0, 1))
    if not math.isfinite(size):
        return np.full(runs, np.nan)
    return _noisy_medians(data, size / (2 * epsilon), runs) if size else np.full(runs, records[middle])


SPECIMENS = (
    Specimen(
        "PTR as printed",
        printed,
        "replace",
        ApproxDP(1, "1e-3"),
        math.inf,
        "the distance at which the value moves far is not 1-Lipschitz: between neighbours it jumps from 151 to 1 (C20)",
    ),
    Specimen(
        "PTR with a noiseless distance",
        noiseless_test,
        "replace",
        ApproxDP(1, "1e-3"),
        math.inf,
        "without noise on the distance, whether there is an answer reveals one record",
    ),
    Specimen(
        "PTR with a distance off by one",
        one_sided,
        "replace",
        ApproxDP(4, "0.02"),
        math.inf,
        "above a jump of the median the distance is 1, where the proof needs 0 on both sides: δ is six times as large",
        samples=300_000,
    ),
    Specimen(
        "noise of local sensitivity",
        local_noise,
        "replace",
        PureDP(1),
        math.inf,
        "the width of the noise depends on the data: no noise at all where no single record counts",
    ),
)
