"""dither's mechanisms, in the same shape as the peers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.timing import Work
from dither.mechanisms import Histogram, NoisyMax, RandomizedResponse

EPSILON = 1
ANSWERS = 5


def scores(count: int, *, one_ahead: bool = False) -> NDArray[np.float64]:
    """Scores of a plausible spread, many near the best; or one far ahead, which is harder for us."""
    known: NDArray[np.float64] = np.sqrt(np.arange(count, dtype=np.float64) * 37 % 1009)
    if one_ahead:
        known[count // 2] += 1000
    return known


def answers(count: int, kinds: int = ANSWERS) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64) % kinds


def counts(bins: int) -> NDArray[np.int64]:
    return np.arange(bins, dtype=np.int64) % 1000


def selection(noise: Any, count: int, *, one_ahead: bool = False) -> Work:
    mechanism = NoisyMax(sensitivity=1, epsilon=EPSILON, noise=noise)
    given = scores(count, one_ahead=one_ahead)
    return Work("dither", count, lambda: mechanism.release(given))


def response(count: int, kinds: int = ANSWERS) -> Work:
    mechanism, given = RandomizedResponse(answers=range(kinds), epsilon=EPSILON), answers(count, kinds)
    return Work("dither", count, lambda: mechanism.release(given))


def histogram(bins: int) -> Work:
    mechanism, given = Histogram(epsilon=EPSILON, bins=bins), counts(bins)
    return Work("dither", bins, lambda: mechanism.release(given))
