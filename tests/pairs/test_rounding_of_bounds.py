"""Bounds made of other bounds are rounded up: with bases known to the last digit, none falls below its formula.

The bases are exact here, so that no slack of theirs hides a rounding that is missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dither import events
from dither.exact import Ball, ball, precision, upper
from dither.pairs.gaussian import GaussianPair
from dither.pairs.groups import _SLOPES, GroupPair
from dither.pairs.pair import FloatArray, Pair, Tails
from dither.pairs.poisson_replaced import _PARTS, ReplacedPair
from dither.pairs.selected import SelectedPair
from dither.pairs.shuffled import ShuffledPair
from tests.oracle.points import Points, stream

_LEAST = Ball(2) ** -900
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Known(Pair):
    """A pair whose dots are its profile, rounded to the next float."""

    base: Pair

    def profile(self, epsilon: Ball) -> Ball:
        return self.base.profile(epsilon)

    def dots(self, losses: FloatArray) -> FloatArray:
        with precision(200):
            return np.array([max(upper(self.base.profile(Ball(loss))), 0.0) for loss in losses.tolist()])

    def tails(self, losses: FloatArray) -> Tails:
        return self.base.tails(losses)

    def swapped(self) -> Known:
        return self

    @property
    def support(self) -> tuple[float, float]:
        return self.base.support


@dataclass(frozen=True)
class Flat(Pair):
    """A profile that is the same everywhere: no smaller loss makes up for what a factor loses."""

    delta_everywhere: float

    def profile(self, epsilon: Ball) -> Ball:
        return Ball(self.delta_everywhere)

    def dots(self, losses: FloatArray) -> FloatArray:
        return np.full(len(losses), self.delta_everywhere)

    def tails(self, losses: FloatArray) -> Tails:
        return Tails(np.zeros(len(losses)), np.zeros(len(losses)), 0.0)

    def swapped(self) -> Flat:
        return self


def check(pair: Pair, losses: list[float], formula: Callable[[Fraction], Ball]) -> None:
    with precision(300):
        for loss, dot in zip(losses, pair.dots(np.array(losses)).tolist(), strict=True):
            assert dot >= 1 or not Ball(dot) + _LEAST < formula(Fraction(loss)), loss


def _losses(points: Points, most: float, count: int = 12) -> list[float]:
    return sorted(float(points.probability(-3)) * most for _ in range(count))


def _group(pair: GroupPair, epsilon: Fraction) -> Ball:
    """The smallest of all sums, for the slopes that are tried."""
    k, sums = pair.steps, []
    for slope in _SLOPES:
        rise = Fraction(slope * pair._variance)
        total = Ball(0)
        for step in range(1, k + 1):
            before = (step - 1) * epsilon / k + rise * ((step - 1) * (step - 1 - k)) / 2
            each = epsilon / k + rise * (step - Fraction(k + 1, 2))
            total += ball(before).exp() * pair.base.profile(ball(each))
        sums.append(total)
    return min(sums, key=lambda total: float(total.mid()))


@pytest.mark.parametrize("steps", [2, 3, 20])
def test_groups(steps: int) -> None:
    for points in stream(f"groups rounded {steps}", 6):
        pair = GroupPair(Known(GaussianPair(points.size(-4, -2))), steps)
        check(pair, _losses(points, 35 * steps * pair._variance**0.5), lambda epsilon, pair=pair: _group(pair, epsilon))  # type: ignore[misc]


def test_sums_of_groups() -> None:
    for points in stream("flat groups", 40):
        pair = GroupPair(Flat(float(points.size(-9, -4))), 3)
        losses = _losses(points, 600)
        for loss, total in zip(losses, pair._by_steps(np.array(losses), 0.0).tolist(), strict=True):
            with precision(300):
                third = ball(Fraction(loss) / 3).exp()
                least = (1 + third + third * third) * pair.base.profile(Ball(0))
                assert not Ball(total) < least


@pytest.mark.parametrize("base", ["known", "flat"])
def test_selection(base: str) -> None:
    for points in stream(f"selected rounded {base}", 20):
        inside: Pair = (
            Known(GaussianPair(points.size(-2, 0.5))) if base == "known" else Flat(float(points.size(-9, -3)))
        )
        pair = SelectedPair(inside, points.size(0, 2) / 3, points.size(-1, 2) / 7)
        check(
            pair,
            [float(pair.shift) + loss for loss in _losses(points, 8)],
            lambda epsilon, pair=pair: ball(pair.factor) * pair.base.profile(ball(epsilon - pair.shift)),  # type: ignore[misc]
        )


def _at_once(pair: ReplacedPair, epsilon: Fraction) -> Ball:
    gamma = ball(pair.rate)
    u = 1 + ball(epsilon).expm1() / gamma
    share = (-ball(epsilon)).exp() * u
    share = 1 / share  # β = u′/u of the loss, as u′ = e^ε and u that of the base
    one, two = pair.one.profile(u.log()), pair.two.profile(u.log())
    return gamma * ((1 - share) * one + share * two.max(one))


@pytest.mark.parametrize("base", ["known", "flat"])
def test_replacement_on_a_sample(base: str) -> None:
    """The bound at once, by itself: of the two in the module the smaller one counts."""
    for points in stream(f"replaced rounded {base}", 20):
        if base == "known":
            size = points.size(-4, -2)
            pair = ReplacedPair(Known(GaussianPair(size)), Known(GaussianPair(4 * size)), points.probability(-2))
        else:
            low = float(points.size(-9, -4))
            size, pair = Fraction(1, 100), ReplacedPair(Flat(low), Flat(low), points.probability(-2))
        inner = np.array(_losses(points, 35 * float(size) ** 0.5))
        losses = np.log1p(float(pair.rate) * np.expm1(inner)).tolist()
        with precision(300):
            for loss, dot in zip(losses, pair._at_once(np.array(losses)).tolist(), strict=True):
                assert not Ball(dot) + _LEAST < _at_once(pair, Fraction(loss)), loss


@dataclass(frozen=True)
class TwoSteps(ReplacedPair):
    """What is removed and what is added cost what is said here."""

    removed: Pair = Flat(0.1)
    added: Pair = Flat(1e-20)

    @property
    def _steps(self) -> tuple[Pair, Pair]:
        return self.removed, self.added


@pytest.mark.parametrize("base", ["known", "flat"])
def test_replacement_in_two_steps(base: str) -> None:
    """δ₁(a) + e^a δ₂(ε − a) at the places that are tried."""
    for points in stream(f"two steps rounded {base}", 12):
        square = points.size(-4, -2)
        one = Known(GaussianPair(square))
        pair = TwoSteps(one, one, HALF, one, one) if base == "known" else TwoSteps(one, one, HALF)
        losses = _losses(points, 60 * float(square) ** 0.5)
        with precision(300):
            for loss, dot in zip(losses, pair._in_two_steps(np.array(losses)).tolist(), strict=True):
                places = [Fraction(part) * Fraction(loss) for part in _PARTS]
                sums = [
                    pair.removed.profile(ball(a)) + ball(a).exp() * pair.added.profile(ball(Fraction(loss) - a))
                    for a in places
                ]
                assert not Ball(dot) + _LEAST < min(sums, key=lambda total: float(total.mid())), loss


def _shuffled(loss: Fraction, reports: int, blanket: Fraction, epsilon: Fraction) -> Ball:
    """Given each number of reports that hide, by the sum over all outcomes."""
    e, u, total = ball(loss).exp(), ball(epsilon).exp(), Ball(0)
    for count in range(reports):
        chance = math.comb(reports - 1, count) * blanket**count * (1 - blanket) ** (reports - 1 - count)
        coins = [Fraction(math.comb(count, a), 2**count) for a in range(count + 1)]
        for before, here in itertools.pairwise([Fraction(0), *coins, Fraction(0)]):
            p, q = (e * ball(before) + ball(here)) / (e + 1), (ball(before) + e * ball(here)) / (e + 1)
            total += ball(chance) * (p - u * q).max(Ball(0))
    return total


@pytest.mark.parametrize(("most", "cases"), [(1.2, 30), (2.2, 3)])
def test_shuffled_reports(most: float, cases: int) -> None:
    for points in stream(f"shuffled rounded {most}", cases):
        loss, reports, blanket = points.size(-1, 0.7), 1 + int(points.size(most - 0.1, most)), points.probability(-1)
        check(
            ShuffledPair(loss, reports, blanket),
            _losses(points, float(loss), 4),
            lambda epsilon, a=loss, b=reports, c=blanket: _shuffled(a, b, c, epsilon),  # type: ignore[misc]
        )


def test_matrices() -> None:
    """Falling coefficients, for which the distance is exact but for its rounding; and signs, for what is reached."""
    for points in stream("matrices rounded", 60):
        falling = sorted((points.probability(-2) for _ in range(5)), reverse=True)
        signed = [value * (-1) ** at for at, value in enumerate(falling)]
        for coefficients in (falling, signed):
            event = events.MatrixNoise(variance=1, coefficients=coefficients, steps=40, participations=6, separation=2)
            moved = [Fraction(0)] * 40
            for start in range(0, 12, 2):
                for at, value in enumerate(event.coefficients):
                    moved[start + at] += value if coefficients is falling else abs(value)
            exact = sum((value**2 for value in moved), Fraction(0))
            assert event.distance_squared >= exact
            squares = 6 * sum((value**2 for value in event.coefficients), Fraction(0))
            if coefficients is falling:
                assert event.reached_squared <= exact <= event.reached_squared * (1 + Fraction(1, 10**12))
            else:  # the mean over all signs
                alternating = events.MatrixNoise(
                    variance=1, coefficients=(1, -falling[0]), steps=40, participations=6, separation=1
                )
                assert alternating.reached_squared <= 6 * (1 + falling[0] ** 2)
                assert event.reached_squared >= squares * (1 - Fraction(1, 10**12))
