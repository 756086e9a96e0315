"""Analysts who fool themselves: questions about pure noise, chosen after the answers before.

A row is a string of fair bits: whether each feature agrees with a label that none of them has to do with. Every query
has mean ½ over the population, exactly, so that an interval is right if it holds ½.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Query = Callable[[Bits], NDArray[np.float64]]
Ask = Callable[[Query], float]
Attack = Callable[[Ask, int], None]
"""Asks as many questions as it is told."""


def pure_noise(rows: int, features: int, generator: np.random.Generator) -> Bits:
    bits = np.unpackbits(generator.integers(0, 256, (rows, -(-features // 8)), dtype=np.uint8), axis=1)
    return bits[:, :features]


def vote(weights: NDArray[np.float64]) -> Query:
    """Whether the features, so weighted, agree with the label; ½ if they cannot decide."""
    used = np.flatnonzero(weights)
    values = weights[used].astype(np.float32)

    def decided(rows: Bits) -> NDArray[np.float64]:
        votes = rows[:, used].astype(np.float32) @ values - values.sum() / 2
        # Sums of few terms of like size: what is this small is a tie.
        return np.where(np.abs(votes) < 1e-4 * np.abs(values).sum(), 0.5, votes > 0).astype(np.float64)

    return decided


def overfitting(ask: Ask, queries: int) -> None:
    """Selection by sign: every feature is asked about, and those that seem good (or bad, reversed) vote."""
    answers = np.array([ask(_feature(index)) for index in range(queries - 1)])
    ask(vote(np.where(answers >= 0.5, 1.0, -1.0)))


def tracing(ask: Ask, queries: int) -> None:
    """As who traces members: features vote with the weight that the answers give them."""
    answers = np.array([ask(_feature(index)) for index in range(queries - 1)])
    ask(vote(answers - 0.5))


def climbing(ask: Ask, queries: int) -> None:
    """As on a leaderboard: a feature joins the vote if the answer is better with it."""
    weights = np.zeros(queries)
    best = 0.5
    for index in range(queries):
        tried = weights.copy()
        tried[index] = 1.0
        answer = ask(vote(tried))
        if answer > best:
            weights, best = tried, answer


ATTACKS: dict[str, Attack] = {"overfitting": overfitting, "tracing": tracing, "climbing": climbing}


def _feature(index: int) -> Query:
    return lambda rows: rows[:, index].astype(np.float64)


@dataclass(frozen=True, slots=True)
class Naive:
    """The same rows used again and again, with the interval of questions that were fixed in advance."""

    sample: Bits
    reach: float

    def covers(self, attack: Attack, queries: int) -> bool:
        missed = 0

        def ask(query: Query) -> float:
            nonlocal missed
            answer = float(query(self.sample).mean())
            missed += not abs(answer - 0.5) <= self.reach
            return answer

        attack(ask, queries)
        return not missed
