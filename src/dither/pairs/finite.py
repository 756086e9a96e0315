"""Any two finite distributions as a pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, once, precision, rational, upper
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Pair, Tails

__all__ = ["FinitePair", "finite", "worst_of"]

_MOST_POINTS = 1 << 16

Point: TypeAlias = tuple[int, int]
"""(Q(E), P(E)) of an event, in multiples of one small mass."""


@dataclass(frozen=True)
class FinitePair(Pair):
    """Outcome i has probability `p`[i] under P and `q`[i] under Q, exactly; both add up to 1.

    δ(ε) = Σ (pᵢ − e^ε qᵢ)₊. Losses are ln pᵢ/qᵢ, ∞ where qᵢ = 0.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.p) != len(self.q) or not self.p:
            raise ParameterError(f"p and q must be equally long and not empty, got {len(self.p)} and {len(self.q)}.")
        check.nonnegative(smallest_p=min(self.p), smallest_q=min(self.q))
        for name, masses in (("p", self.p), ("q", self.q)):
            if sum(masses) != 1:
                raise ParameterError(f"{name} must add up to 1, got {float(sum(masses))}. Give exact probabilities.")

    def profile(self, epsilon: Ball) -> Ball:
        odds = epsilon.exp()
        parts = ((ball(p) - odds * ball(q)).nonnegative_part() for p, q in zip(self.p, self.q, strict=True) if p)
        return sum(parts, Ball(0))

    @once
    def _sorted(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Losses in increasing order, and the masses of P and Q from each of them on; 0 beyond the last."""
        ratios: dict[Fraction, list[Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            if p and q:
                masses = ratios.setdefault(p / q, [Fraction(0), Fraction(0)])
                masses[0] += p
                masses[1] += q
        order = sorted(ratios)
        losses = np.array([_log(ratio) for ratio in order])
        p_tail, q_tail = [Fraction(0)], [Fraction(0)]
        for ratio in reversed(order):
            p_tail.append(p_tail[-1] + ratios[ratio][0])
            q_tail.append(q_tail[-1] + ratios[ratio][1])
        return losses, np.array([float(x) for x in p_tail[::-1]]), np.array([float(x) for x in q_tail[::-1]])

    def tails(self, losses: FloatArray) -> Tails:
        known, p, q = self._sorted
        index = np.searchsorted(known, losses, side="right")
        with np.errstate(divide="ignore"):
            scaled = np.exp(np.minimum(losses + np.log(q[index]), 0.0))
        # Only what lies left of the smallest loss can have e^ℓ·Q above P: then all of Q is in the test.
        return Tails(p[index], scaled, POSITION_ERROR * (8 + 2 * np.abs(np.clip(losses, -800, 800))))

    def swapped(self) -> FinitePair:
        return FinitePair(self.q, self.p)

    @property
    def is_symmetric(self) -> bool:
        return sorted(zip(self.p, self.q, strict=True)) == sorted(zip(self.q, self.p, strict=True))

    @property
    def infinity(self) -> Fraction:
        return sum((p for p, q in zip(self.p, self.q, strict=True) if not q), Fraction(0))

    @property
    def support(self) -> tuple[float, float]:
        ratios = [p / q for p, q in zip(self.p, self.q, strict=True) if p and q]
        if not ratios:
            return 0.0, 0.0
        with precision(128):
            return -upper(-ball(min(ratios)).log()), upper(ball(max(ratios)).log())

    @property
    def atoms(self) -> Atoms | None:
        losses = self._sorted[0]
        if len(losses) < 2:
            return None
        gaps = np.diff(losses)
        steps = gaps / gaps.min()
        is_even = bool(np.all(np.abs(steps - np.round(steps)) < 2.0**-40))
        return Atoms(float(losses[-1]), float(gaps.min() if is_even else losses[-1] - losses[0]))


def finite(p: Sequence[Number], q: Sequence[Number]) -> FinitePair:
    """The pair of two finite distributions, given as exact numbers, decimals or floats (each its shortest decimal)."""
    return FinitePair(tuple(rational(x, "p") for x in p), tuple(rational(x, "q") for x in q))


def worst_of(pairs: Iterable[tuple[Sequence[Fraction], Sequence[Fraction]]]) -> FinitePair:
    """The finite pair whose δ(ε) is the largest of the pairs' (p, q) at every ε, so that it dominates each of them.

    An event E of one of the pairs is the point (Q(E), P(E)), and δ(ε) = sup P(E) − e^ε Q(E) looks at the concave hull
    of these points alone. The hull, from (0, 0) to (1, 1), is that of the pair whose outcomes are its edges: q and p
    of an outcome are how far its edge goes right and up. Edges come by falling slope, which is p/q.

    All of it is whole multiples of one small mass, compared by products.
    """
    known = list(pairs)
    rows = {id(row): row for pair in known for row in pair}
    unit = math.lcm(*(mass.denominator for row in rows.values() for mass in row))
    whole = {at: [mass.numerator * (unit // mass.denominator) for mass in row] for at, row in rows.items()}
    hull: list[Point] = [(0, 0), (unit, unit)]
    points: set[Point] = set()
    for p, q in known:
        points.update(_corners(whole[id(p)], whole[id(q)]))
        if len(points) > _MOST_POINTS:
            hull, points = _hull([*hull, *points]), set()
    hull = _hull([*hull, *points])
    edges = list(zip([(0, 0), *hull], hull, strict=False))
    steps = [(Fraction(end[1] - start[1], unit), Fraction(end[0] - start[0], unit)) for start, end in edges]
    kept = [step for step in steps if any(step)]
    return FinitePair(tuple(p for p, _ in kept), tuple(q for _, q in kept))


def _corners(p: list[int], q: list[int]) -> Iterator[Point]:
    """(Q(E), P(E)) of the events {p/q ≥ t}."""
    both = (masses for masses in zip(p, q, strict=True) if any(masses))
    by_odds = sorted(both, key=cmp_to_key(_larger_odds_first))
    return zip(accumulate(b for _, b in by_odds), accumulate(a for a, _ in by_odds), strict=True)


def _larger_odds_first(one: Point, other: Point) -> int:
    """Of two outcomes (p, q), by their p/q."""
    return other[0] * one[1] - one[0] * other[1]


def _hull(points: list[Point]) -> list[Point]:
    """The corners of the concave hull of points, from left to right."""
    highest: dict[int, int] = {}
    for q, p in points:
        highest[q] = max(p, highest.get(q, p))
    hull: list[Point] = []
    for point in sorted(highest.items()):
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_left(a: Point, b: Point, c: Point) -> bool:
    """Whether b lies on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def _log(ratio: Fraction) -> float:
    """ln of the ratio, rounded up: a test at the rounded loss must not lose the atom."""
    with precision(96):
        return upper(ball(ratio).log())
