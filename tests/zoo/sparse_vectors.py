"""The six published sparse vectors (Lyu, Su and Li 2017, table 1), of which four promise too much.

Δ = 1 and the noise lives on the integers, scaled up: `fineness` steps to a unit. The chance of a sequence of answers is
a sum over the threshold noise, so that the privacy loss between neighbours is computed, not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise import DiscreteLaplace

__all__ = ["VARIANTS", "Variant"]

Answer = bool | float
_REACH = 60  # scales: what lies beyond weighs e^-60


@dataclass(frozen=True)
class Variant:
    """Scales in units of 1/ε, as a function of the cap c."""

    name: str
    threshold: Any
    query: Any
    redraws: bool = False
    """Whether the noise of the threshold is drawn again after each answer above."""
    tells_value: bool = False
    capped: bool = True
    truth: Any = math.inf
    """The real cost in units of ε, as a function of the cap, or ∞."""

    def run(self, values: Sequence[float], epsilon: float, cap: int, fineness: int = 64) -> list[Answer]:
        """Answers about thresholds at 0, by drawing."""
        threshold, query = (_law(scale(cap) / epsilon, fineness) for scale in (self.threshold, self.query))
        answers: list[Answer] = []
        rho = threshold.sample() if threshold else 0
        for value in values:
            if self.capped and sum(answer is not False for answer in answers) == cap:
                break
            noisy = round(value * fineness) + (query.sample() if query else 0)
            is_above = noisy >= rho
            answers.append((noisy / fineness if self.tells_value else True) if is_above else False)
            if is_above and self.redraws:
                rho = threshold.sample() if threshold else 0
        return answers

    def chance(
        self, values: Sequence[int], answers: Sequence[Answer], epsilon: float, cap: int, fineness: int
    ) -> float:
        """The probability of these answers. A variant that draws again is a product over its rounds."""
        if self.redraws and True in answers[:-1]:
            end = answers.index(True) + 1
            first = self.chance(values[:end], answers[:end], epsilon, cap, fineness)
            return first * self.chance(values[end:], answers[end:], epsilon, cap, fineness)
        b = self.threshold(cap) / epsilon * fineness
        z = np.arange(-math.ceil(_REACH * b), math.ceil(_REACH * b) + 1)
        total = math.tanh(1 / (2 * b)) * np.exp(-np.abs(z) / b)
        for value, answer in zip(values, answers, strict=True):
            total = total * self._one(value * fineness, answer, z, self.query(cap) / epsilon * fineness, fineness)
        return float(total.sum())

    def _one(self, value: int, answer: Answer, z: NDArray[Any], b: float, fineness: int) -> NDArray[np.float64]:
        if not b:
            is_above = value >= z
            return np.where(is_above if answer else ~is_above, 1.0, 0.0)
        if self.tells_value and answer is not False:
            told = round(float(answer) * fineness)
            return np.where(told >= z, math.tanh(1 / (2 * b)) * math.exp(-abs(told - value) / b), 0.0)
        above = _reaches(z - value, b)
        return above if answer else 1 - above

    def loss(
        self,
        left: Sequence[int],
        right: Sequence[int],
        answers: Sequence[Answer],
        epsilon: float,
        cap: int,
        fineness: int = 4,
    ) -> float:
        """ln of the ratio of both chances, in units of ε."""
        p, q = (self.chance(values, answers, epsilon, cap, fineness) for values in (left, right))
        return math.inf if q == 0 < p else math.log(p / q) / epsilon


def _law(scale: float, fineness: int) -> DiscreteLaplace | None:
    return DiscreteLaplace(scale * fineness) if scale else None


def _reaches(k: NDArray[Any], b: float) -> NDArray[np.float64]:
    """P[ν ≥ k] for the discrete Laplace law of scale b."""
    tail: NDArray[np.float64] = np.exp(-np.abs(k) / b) / (1 + math.exp(-1 / b))
    return np.where(k > 0, tail, 1 - np.exp(-1 / b) * tail)


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("SVT1", lambda c: 2, lambda c: 4 * c, truth=lambda c: 1),
        Variant("SVT2", lambda c: 2 * c, lambda c: 4 * c, redraws=True, truth=lambda c: 1),
        Variant("SVT3", lambda c: 2, lambda c: 2 * c, tells_value=True),
        Variant("SVT4", lambda c: 4, lambda c: 4 / 3, truth=lambda c: (1 + 6 * c) / 4),
        Variant("SVT5", lambda c: 2, lambda c: 0, capped=False),
        Variant("SVT6", lambda c: 2, lambda c: 2, capped=False),
    )
}
