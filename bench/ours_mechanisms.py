"""dither's mechanisms, in the same shape as the peers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.timing import Work
from dither.mechanisms import Histogram, NoisyMax, RandomizedResponse

EPSILON = 1
ANSWERS = 5


def scores(count: int) -> NDArray[np.float64]:
    """Scores of a plausible spread: many candidates near the best."""
    return np.sqrt(np.arange(count, dtype=np.float64) * 37 % 1009)


def answers(count: int, kinds: int = ANSWERS) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64) % kinds


def counts(bins: int) -> NDArray[np.int64]:
    return np.arange(bins, dtype=np.int64) % 1000


def selection(noise: Any, count: int) -> Work:
    mechanism, given = NoisyMax(sensitivity=1, epsilon=EPSILON, noise=noise), scores(count)
    return Work("dither", count, lambda: mechanism.release(given))


def response(count: int, kinds: int = ANSWERS) -> Work:
    mechanism, given = RandomizedResponse(answers=range(kinds), epsilon=EPSILON), answers(count, kinds)
    return Work("dither", count, lambda: mechanism.release(given))


def histogram(bins: int) -> Work:
    mechanism, given = Histogram(epsilon=EPSILON, bins=bins), counts(bins)
    return Work("dither", bins, lambda: mechanism.release(given))
