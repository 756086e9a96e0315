"""Selection that reveals or promises too much."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import Specimen, uniform
from dither.guarantees import ZCDP, PureDP
from dither.noise import DiscreteLaplace

__all__ = ["SPECIMENS", "loss", "many", "permute_and_flip"]


def many(scores: Sequence[int], runs: int, epsilon: float = 1.0) -> NDArray[np.float64]:
    """The position and the noisy score of the winner; noise of scale 2/ε, as if only the position were released."""
    noisy = np.asarray(scores) + DiscreteLaplace(2 / epsilon).sample((runs, len(scores)))
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1).astype(np.float64)


def loss(left: Sequence[int], right: Sequence[int], winner: int, told: int, epsilon: float) -> float:
    """The privacy loss of one outcome between two lists of scores, in units of ε."""
    return (_log_chance(left, winner, told, epsilon) - _log_chance(right, winner, told, epsilon)) / epsilon


def _log_chance(scores: Sequence[int], winner: int, told: int, epsilon: float) -> float:
    """Earlier candidates are below, later ones not above: ties go to the first."""
    law = DiscreteLaplace(2 / epsilon)
    others = [law.cdf(told - score - (i < winner)) for i, score in enumerate(scores) if i != winner]
    return math.log(float(law.pmf(told - scores[winner]))) + sum(math.log(float(p)) for p in others)


def permute_and_flip(scores: Sequence[int], runs: int) -> NDArray[np.float64]:
    """The position of the largest score after exponential noise of scale 2/ε, for ε = 1: right, and ε-DP."""
    noise = -2 * np.log(uniform(runs * len(scores)).reshape(runs, -1))
    return np.asarray((np.asarray(scores) + noise).argmax(axis=1), dtype=np.float64)


SPECIMENS = (
    Specimen(
        "noisy max with its value",
        many,
        "answers",
        PureDP(1),
        math.inf,
        "the largest noisy value says that all others are below it: each candidate costs",
    ),
    Specimen(
        "permute-and-flip as ε²/8 zCDP",
        permute_and_flip,
        "answers",
        ZCDP("1/8"),
        1.0,
        "it is ε-DP, but its losses range over 2ε, while ε²/8 is proved for those that range over ε",
    ),
)
