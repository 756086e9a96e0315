"""NumPy's own noise in the shape of a mechanism: fast and unsafe; the ceiling."""

import math

import numpy as np
from numpy.typing import NDArray

from bench.timing import Work

_GENERATOR = np.random.default_rng()


def noisy_max(scores: NDArray[np.float64], noise: str, scale: float) -> Work:
    def run() -> int:
        size = len(scores)
        drawn = _GENERATOR.exponential(scale, size) if noise == "exponential" else _GENERATOR.gumbel(0.0, scale, size)
        return int(np.argmax(scores + drawn))

    return Work("unsafe NumPy argmax", len(scores), run)


def response(answers: NDArray[np.int64], kinds: int, epsilon: float) -> Work:
    keep, count = math.expm1(epsilon) / (math.expm1(epsilon) + kinds), len(answers)

    def run() -> NDArray[np.int64]:
        return np.where(_GENERATOR.random(count) < keep, answers, _GENERATOR.integers(0, kinds, count))

    return Work("unsafe NumPy where", count, run)


def histogram(counts: NDArray[np.int64], epsilon: float) -> Work:
    def run() -> NDArray[np.int64]:
        return counts + np.rint(_GENERATOR.laplace(0.0, 1 / epsilon, len(counts))).astype(np.int64)

    return Work("unsafe NumPy rounded Laplace", len(counts), run)
