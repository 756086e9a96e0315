"""Small worlds in which everything about a conversation can be added up; without the code under test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import ndtri

__all__ = ["World", "best_attack", "largest_noise", "shortfall"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A population on a few points, two rows, and a mechanism that tells one of a few transcripts."""

    population: Reals
    """P(point)."""
    told: Reals
    """P(transcript | first row, second row), with the transcripts last."""
    queries: Reals
    """q_π(point) in [0, 1], a row for each transcript π."""
    answers: Reals
    """a_π in [0, 1]."""

    def weight(self) -> Reals:
        """P(first row, second row, transcript)."""
        found: Reals = self.population[:, None, None] * self.population[None, :, None] * self.told
        return found

    def profile(self, epsilon: float) -> float:
        """The largest δ(ε) over neighbours: one row replaced."""
        points = range(len(self.population))
        laws = []
        for x, y, other in itertools.product(points, repeat=3):
            laws += [(self.told[x, other], self.told[y, other]), (self.told[other, x], self.told[other, y])]
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in laws)

    def truth(self) -> Reals:
        """q_π(population) for each transcript."""
        found: Reals = self.queries @ self.population
        return found

    def on_sample(self) -> Reals:
        """q_π(S) for each pair of rows and each transcript."""
        found: Reals = (self.queries.T[:, None, :] + self.queries.T[None, :, :]) / 2
        return found

    def moved(self, event: Sequence[bool]) -> float:
        """E[1_Π (q_π(posterior) − q_π(population))] for the transcripts of `event`."""
        difference = self.weight() * (self.on_sample() - self.truth())
        return float(difference[:, :, np.array(event)].sum())

    def chance(self, event: Sequence[bool]) -> float:
        """P(Π)."""
        return float(self.weight()[:, :, np.array(event)].sum())

    def sample_errors(self) -> tuple[Reals, Reals]:
        """|a_π − q_π(S)| with its probabilities."""
        return np.abs(self.answers - self.on_sample()).ravel(), self.weight().ravel()

    def missed(self, bound: float) -> float:
        """P(|a_π − q_π(population)| > bound)."""
        return self.chance(list(np.abs(self.answers - self.truth()) > bound))


def shortfall(values: Reals, chances: Reals, beta: float) -> float:
    """The mean over the worst `beta`, by going through the values from the largest."""
    left, total = beta, 0.0
    for index in np.argsort(-values):
        part = min(left, float(chances[index]))
        total += part * float(values[index])
        left -= part
    return total / beta


def largest_noise(shape: str, count: int, beta: float) -> float:
    """ES_β of the largest of `count` |noises| of scale 1: (1/β) ∫₀^β of its upper quantile, by the midpoint rule."""
    places = (np.arange(200_000) + 0.5) / 200_000 * beta
    each = -np.expm1(np.log1p(-places) / count)
    if shape == "laplace":
        return float((-np.log(each)).mean())
    return float((-ndtri(each / 2)).mean())


def best_attack(population: Reals, epsilon: float, delta: float, chance: float) -> float:
    """The largest E[1_Π (q_π(S) − q_π(D))] of all (ε, δ)-DP mechanisms on one row, and all events Π of P[Π] = `chance`.

    A linear program: one transcript for each query with values 0 and 1 is enough (the gain is linear in q), and one
    more for all that is not in Π. Variables: the laws m_x(π), and (m_x − e^ε m_y)₊ at each π for each pair.
    """
    points = len(population)
    queries = np.array(list(itertools.product((0.0, 1.0), repeat=points)))
    told = len(queries) + 1
    pairs = list(itertools.permutations(range(points), 2))
    laws, excesses = points * told, len(pairs) * told
    gain = np.zeros((points, told))
    gain[:, :-1] = (population * (queries - (queries @ population)[:, None])).T
    sums = np.kron(np.eye(points), np.ones(told))
    inside = np.outer(population, np.append(np.ones(told - 1), 0)).ravel()
    apart = np.zeros((len(pairs), points))
    for row, (x, y) in enumerate(pairs):
        apart[row, x], apart[row, y] = 1, -math.exp(epsilon)
    found = linprog(
        -np.concatenate([gain.ravel(), np.zeros(excesses)]),
        A_ub=np.vstack(
            [
                np.hstack([np.kron(apart, np.eye(told)), -np.eye(excesses)]),
                np.hstack([np.zeros((len(pairs), laws)), np.kron(np.eye(len(pairs)), np.ones(told))]),
            ]
        ),
        b_ub=np.concatenate([np.zeros(excesses), np.full(len(pairs), delta)]),
        A_eq=np.hstack([np.vstack([sums, inside]), np.zeros((points + 1, excesses))]),
        b_eq=np.append(np.ones(points), chance),
    )
    return -float(found.fun)
