"""The cost of everything together, bracketed from both sides.

>>> from fractions import Fraction
>>> from dither.measures.pairs import Laplace, response
>>> both = of_pairs([(Laplace(Fraction(1, 50)), 200), (response(Fraction(3, 4)), 20)])
>>> lower, upper = both.bracket(1e-6)
>>> round(lower, 2), round(upper, 2)
(21.86, 21.86)
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.search import (
    Bracket,
    Group,
    Groups,
    Plan,
    delta_bracket,
    epsilon_bracket,
    plan_for_delta,
    plan_for_epsilon,
    upper_epsilon,
)
from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.exact import Number, ball, check, lower, precision, rational, upper
from dither.measures.pairs import Gaussian, Pair, TwoPoint

__all__ = ["RELATIVE_WIDTH", "Composition", "WideBracket", "of_pairs"]

RELATIVE_WIDTH = 1e-4
"""How wide a bracket may be, relative to its upper end, before the lattice is refined."""

_COARSER = 30.0


class WideBracket(UserWarning):
    """The bracket holds, but it is wider than asked, because the largest lattice was reached."""


@dataclass(frozen=True)
class Composition:
    """All of `groups` on the same data, each with its own randomness, chosen in advance.

    Every answer is bracketed: `bracket` and `delta_bracket` give both ends, the others the safe one. The lower
    ends speak about the dominating pairs: no accounting that rests on them can do better.
    """

    groups: Groups
    adjacency: Adjacency | None = None
    relative_width: float = RELATIVE_WIDTH

    def bracket(self, delta: Number) -> Bracket:
        """(lower, upper) around the smallest ε ≥ 0 for which the whole is (ε, δ)-DP."""
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        found = _epsilon(self.groups, exact, self.relative_width)
        self._warn(found, f"epsilon at delta={float(exact)}")
        return found

    def epsilon(self, delta: Number) -> float:
        """The smallest ε ≥ 0 for which the whole is (ε, δ)-DP, never below the truth; ∞ if there is none."""
        return self.bracket(delta).upper

    def delta_bracket(self, epsilon: Number) -> Bracket:
        """(lower, upper) around the smallest δ for which the whole is (ε, δ)-DP."""
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        return _delta(self.groups, exact, 10 * self.relative_width)

    def delta(self, epsilon: Number) -> float:
        """The smallest δ for which the whole is (ε, δ)-DP, never below the truth."""
        return self.delta_bracket(epsilon).upper

    def tv(self) -> float:
        """The total variation distance δ(0), never below the truth."""
        return self.delta(0)

    def beta(self, alpha: Number) -> float:
        """The smallest type II error of a test at type I error `alpha`, never above the truth (claim C27).

        β(α) ≥ max(1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)) for every ε ≥ 0 (Dong, Roth and Su 2022, Prop. 2.5).
        """
        exact = rational(alpha, "alpha")
        check.probability(alpha=exact)
        level = math.nextafter(float(exact), 2.0)
        epsilons, deltas = _curve(self.groups, self.relative_width)
        rest = 1 - deltas
        best = float(np.max(np.maximum(rest - np.exp(epsilons) * level, np.exp(-epsilons) * (rest - level))))
        return max(math.nextafter(best * (1 - 2.0**-48), 0.0), 0.0)

    def _warn(self, found: Bracket, what: str) -> None:
        if not found.is_within(self.relative_width) and math.isfinite(found.upper):
            warnings.warn(
                f"{what} is between {found.lower} and {found.upper}: certain, but wider than {self.relative_width} "
                "relative. Give a larger relative_width, or fewer different events.",
                WideBracket,
                stacklevel=3,
            )


def of_pairs(
    pairs: Iterable[tuple[Pair, int]],
    *,
    adjacency: Adjacency | None = None,
    relative_width: float = RELATIVE_WIDTH,
) -> Composition:
    """The composition of pairs with their counts; equal ones are counted together, Gaussians become one."""
    counts: Counter[Pair] = Counter()
    squares = Fraction(0)
    is_empty = True
    for pair, count in pairs:
        check.count(count=count)
        is_empty = False
        if isinstance(pair, Gaussian):
            squares += count * pair.squared_mu
        elif not _is_free(pair):
            counts[pair] += int(count)
    if is_empty:
        raise ParameterError("there must be at least one thing to compose, got an empty list.")
    if not 0 < relative_width < 1:
        raise ParameterError(f"relative_width must lie strictly between 0 and 1, got {relative_width}.")
    groups = [Group(pair, count) for pair, count in counts.items()]
    if squares:
        groups.append(Group(Gaussian(squares), 1))
    return Composition(tuple(groups), adjacency, float(relative_width))


def _is_free(pair: Pair) -> bool:
    return isinstance(pair, TwoPoint) and not pair.leak and (pair.loss == 0 or pair.odds == 1)


def _directions(groups: Groups) -> list[Groups]:
    if all(group.pair.is_symmetric for group in groups):
        return [groups]
    return [groups, tuple(Group(group.pair.swapped(), group.count) for group in groups)]


def _largest(groups: Groups) -> float:
    """The sum of the largest losses, rounded up."""
    with precision(128):
        total = sum(Fraction(g.pair.support[1]) * g.count if math.isfinite(g.pair.support[1]) else math.inf for g in groups)
        return total if total == math.inf else upper(ball(Fraction(total)))


def _leak(groups: Groups) -> Fraction:
    """The exact probability of an infinite loss."""
    kept = Fraction(1)
    for pair, count in groups:
        if pair.infinity:
            kept *= (1 - pair.infinity) ** count
    return 1 - kept


@lru_cache(maxsize=256)
def _epsilon(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if delta == 1 or not groups:
        return Bracket(0.0, 0.0)
    if len(groups) == 1 and groups[0].count == 1:
        answers = [Bracket(*each[0].pair.bracket(delta)) for each in _directions(groups)]
        return Bracket(max(a.lower for a in answers), max(a.upper for a in answers))
    if not delta:
        return _without_delta(groups)
    found = _worst_direction(groups, delta, relative)
    return Bracket(found.lower, min(found.upper, _epsilon_if_pure(groups, delta)))


def _without_delta(groups: Groups) -> Bracket:
    best = Bracket(0.0, 0.0)
    for each in _directions(groups):
        top = math.inf if any(pair.infinity for pair, _ in each) else _largest(each)
        best = Bracket(max(best.lower, top * (1 - 2.0**-40)), max(best.upper, top))
    return best


def _epsilon_if_pure(groups: Groups, delta: Fraction) -> float:
    """Basic composition of the largest losses, where δ covers all infinite ones."""
    return max(math.inf if _exceeds(each, delta) else _largest(each) for each in _directions(groups))


def _exceeds(groups: Groups, delta: Fraction) -> bool:
    """Whether infinite losses may be likelier than δ; by the union bound first, as exact powers may be long."""
    return sum((pair.infinity * count for pair, count in groups), Fraction(0)) > delta


def _worst_direction(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    with precision(64):
        low, high = lower(ball(delta)), upper(ball(delta))
    plans = [plan_for_delta(each, max(low, 1e-300)) for each in _directions(groups)]
    plans.sort(key=lambda plan: plan.saddle.epsilon, reverse=True)
    best = epsilon_bracket(plans[0], low, high, relative)
    for plan in plans[1:]:
        rough = upper_epsilon(plan, low, _COARSER * relative * max(best.upper, 1e-300)) if best.upper else math.inf
        if rough > best.lower:
            other = epsilon_bracket(plan, low, high, relative)
            best = Bracket(max(best.lower, other.lower), max(best.upper, other.upper))
    return best


@lru_cache(maxsize=256)
def _delta(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    if not groups:
        return Bracket(0.0, 0.0)
    if len(groups) == 1 and groups[0].count == 1:
        answers = [Bracket(*each[0].pair.delta_bracket(epsilon)) for each in _directions(groups)]
    else:
        with precision(64):
            low, high = lower(ball(epsilon)), upper(ball(epsilon))
        answers = [delta_bracket(each, low, high, relative) for each in _directions(groups)]
    return Bracket(max(a.lower for a in answers), max(a.upper for a in answers))


@lru_cache(maxsize=64)
def _curve(groups: Groups, relative: float) -> tuple[np.ndarray, np.ndarray]:
    """Points ε ≥ 0 and upper bounds on δ there, the larger of both directions."""
    if not groups:
        return np.zeros(1), np.zeros(1)
    epsilons = np.zeros(1)
    readings = []
    for each in _directions(groups):
        plan: Plan = plan_for_epsilon(each, 0.0)
        readings.append(plan.read(plan.step_for(relative * plan.saddle.deviation), above=True))
    first = readings[0]
    points = first.first + first.step * np.arange(len(first.values))
    epsilons = np.concatenate([[0.0], points[points > 0]])
    deltas = np.max([[reading.delta(float(e)) for e in epsilons] for reading in readings], axis=0)
    return epsilons, deltas
