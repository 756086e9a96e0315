"""The six published sparse vectors (Lyu, Su and Li 2017, table 1), of which four promise too much.

Δ = 1 and the noise lives on a lattice. The chance of a sequence of answers is a sum over the threshold noise, so that
the privacy loss between neighbours is computed, not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import Specimen, laplace
from dither.guarantees import PureDP

__all__ = ["SPECIMENS", "VARIANTS", "Variant", "specimens"]

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
    truth: Any = lambda c: math.inf
    """The real cost in units of ε, as a function of the cap."""

    def many(self, values: Sequence[float], runs: int, epsilon: float, cap: int) -> NDArray[np.float64]:
        """Answers about thresholds at 0, a row for each run: 1 above, 0 below, NaN not asked; then the values told."""
        threshold, query = (_drawer(scale(cap) / epsilon) for scale in (self.threshold, self.query))
        rho, above = threshold(runs), np.zeros(runs, dtype=np.int64)
        found = np.full((runs, len(values)), np.nan)
        told = np.full((runs, cap if self.tells_value else 0), np.nan)
        asked = np.arange(runs)
        for i, value in enumerate(values):
            noisy = value + query(len(asked))
            is_above = noisy >= rho[asked]
            found[asked, i] = is_above
            hits = asked[is_above]
            if self.tells_value:
                told[hits, above[hits]] = noisy[is_above]
            above[hits] += 1
            if self.redraws:
                rho[hits] = threshold(len(hits))
            if self.capped:
                asked = asked[above[asked] < cap]
        return np.hstack([found, told])

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


def _drawer(scale: float) -> Callable[[int], NDArray[np.float64]]:
    return lambda runs: laplace(scale, runs) if scale else np.zeros(runs)


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

_CAPS = {"SVT1": 2, "SVT2": 2, "SVT3": 1, "SVT4": 3, "SVT5": 1, "SVT6": 1}
_WHY = {
    "SVT1": "the noise of the answers grows with their number",
    "SVT2": "the noise of the threshold is drawn again after each answer, and grows too",
    "SVT3": "a value that is released shows how low the threshold lies, and so does each ⊥ before it",
    "SVT4": "the noise of the answers does not grow with their number, nor with both directions of a change",
    "SVT5": "without noise of their own, answers order the values exactly",
    "SVT6": "without a cap, each question costs again",
}


def specimens(epsilon: Fraction) -> tuple[Specimen, ...]:
    """The six, all claiming ε."""

    def one(variant: Variant) -> Specimen:
        cap = _CAPS[variant.name]
        return Specimen(
            variant.name,
            lambda values, runs: variant.many(values, runs, float(epsilon), cap),
            "answers",
            PureDP(epsilon),
            variant.truth(cap) * float(epsilon),
            _WHY[variant.name],
            is_broken=variant.truth(cap) > 1,
            samples=300_000,
        )

    return tuple(one(variant) for variant in VARIANTS.values())


SPECIMENS = specimens(Fraction(1))
