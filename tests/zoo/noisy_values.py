"""Noisy max that also tells the largest noisy value: its cost grows with the number of candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dither.noise import DiscreteLaplace

__all__ = ["loss", "run"]


def run(scores: Sequence[int], epsilon: float) -> tuple[int, int]:
    """The position and the noisy score of the winner; noise of scale 2/ε, as if only the position were told."""
    law = DiscreteLaplace(2 / epsilon)
    noisy = [score + law.sample() for score in scores]
    return max(range(len(noisy)), key=noisy.__getitem__), max(noisy)


def loss(left: Sequence[int], right: Sequence[int], winner: int, told: int, epsilon: float) -> float:
    """The privacy loss of one outcome between two lists of scores, in units of ε."""
    return (_log_chance(left, winner, told, epsilon) - _log_chance(right, winner, told, epsilon)) / epsilon


def _log_chance(scores: Sequence[int], winner: int, told: int, epsilon: float) -> float:
    """Earlier candidates are below, later ones not above: ties go to the first."""
    law = DiscreteLaplace(2 / epsilon)
    others = [law.cdf(told - score - (i < winner)) for i, score in enumerate(scores) if i != winner]
    return math.log(float(law.pmf(told - scores[winner]))) + sum(math.log(float(p)) for p in others)
