"""Boxes of mixes hold every mix in them; atoms of noise on a sample are lowered, never raised."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

from dither.accounting import choices, of_pairs
from dither.accounting.bracket_search import Group, Groups, plan_for_delta
from dither.accounting.mixes import Mixes
from dither.accounting.regridded import sampled_below
from dither.accounting.saddle import saddle_for_delta
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import poisson
from dither.pairs.two_point import approximate, pure

Choices: TypeAlias = list[tuple[ChoicePair, int]]

pytestmark = pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
DELTA = 1e-5


def noise(variance: str, rate: str = "1", sensitivity: int = 1) -> ChoicePair:
    """Gaussian noise on the integers or on the line, on a sample."""
    lattice = DiscreteGaussianPair(Fraction(variance), sensitivity)
    line = GaussianPair(sensitivity**2 / Fraction(variance))
    return ChoicePair(poisson(lattice, Fraction(rate)), poisson(line, Fraction(rate)))


def mixes_of(groups: Groups, delta: float = DELTA) -> Mixes:
    way = choices._Way(groups, delta * 1e-12, lambda use: saddle_for_delta(use, delta))
    return way.mixes(1e-3 * way.saddle.epsilon, way.saddle)


def uses(whole: Choices, fixed: list[tuple[Pair, int]]) -> list[tuple[tuple[int, ...], list[tuple[Pair, int]]]]:
    """Every mix, and its pairs."""
    found = []
    for firsts in itertools.product(*(range(times + 1) for _, times in whole)):
        pairs = [
            (pair, n)
            for (both, times), j in zip(whole, firsts, strict=True)
            for pair, n in ((both.first, j), (both.second, times - j))
            if n
        ]
        found.append((firsts, [*fixed, *pairs]))
    return found


CASES: list[tuple[Choices, list[tuple[Pair, int]]]] = [
    ([(noise("0.4"), 7)], []),
    ([(noise("0.3"), 3), (noise("1.1"), 2)], [(LaplacePair(Fraction(1, 2)), 2)]),
    ([(noise("0.5", "0.02"), 4)], []),
    ([(noise("0.7", "0.3"), 2), (noise("0.6"), 3)], [(poisson(LaplacePair(Fraction(2)), Fraction(1, 2)), 2)]),
    ([(noise("2.3", "0.1", 3), 3)], [(GaussianPair(Fraction(1, 20)), 1)]),
    ([(ChoicePair(LaplacePair(Fraction(3, 2)), GaussianPair(Fraction(4, 5))), 3)], []),
    ([(ChoicePair(approximate(Fraction(1, 2), Fraction(1, 10**7)), GaussianPair(Fraction(1, 9))), 3)], []),
    ([(ChoicePair(pure(Fraction(6, 5)), GaussianPair(Fraction(1, 3))), 4)], [(GaussianPair(Fraction(1, 26)), 1)]),
]


@pytest.mark.parametrize(("whole", "fixed"), CASES)
def test_of_all_mixes_the_dearest_is_bracketed(whole: Choices, fixed: list[tuple[Pair, int]]) -> None:
    composed = of_pairs([*fixed, *whole], relative_width=1e-3)
    found = composed.bracket(DELTA)
    each = [of_pairs(pairs, relative_width=1e-3).bracket(DELTA) for _, pairs in uses(whole, fixed)]
    dearest, most = max(one.lower for one in each), max(one.upper for one in each)
    assert dearest <= found.upper <= 1.001 * most
    assert 0.998 * dearest <= found.lower <= most


@pytest.mark.parametrize(("whole", "fixed"), [CASES[0], *CASES[5:]])
def test_the_largest_delta_of_all_mixes_is_bracketed(whole: Choices, fixed: list[tuple[Pair, int]]) -> None:
    composed = of_pairs([*fixed, *whole], relative_width=1e-3)
    near = Fraction(composed.epsilon(DELTA))
    found = composed.delta_bracket(near)
    each = [of_pairs(pairs, relative_width=1e-3).delta_bracket(near) for _, pairs in uses(whole, fixed)]
    assert max(one.lower for one in each) <= found.upper <= 1.05 * max(one.upper for one in each)
    assert found.lower <= max(one.upper for one in each)


@pytest.mark.parametrize(("whole", "fixed"), CASES[:5])
def test_the_bound_of_a_box_is_above_that_of_every_mix_in_it(whole: Choices, fixed: list[tuple[Pair, int]]) -> None:
    draw = random.Random(3)
    groups = tuple(Group(*each) for each in [*fixed, *whole])
    mixes, middle = mixes_of(groups), of_pairs([*fixed, *whole], relative_width=1e-2).epsilon(DELTA)
    widest = 0.0
    for _ in range(40):
        kernel = mixes.at(middle * draw.uniform(0.7, 1.1))
        ends = [sorted(draw.choices(range(times + 1), k=2)) for _, times in whole]
        box = tuple((low, high) for low, high in ends)
        inside = itertools.product(*(range(low, high + 1) for low, high in box))
        largest = max(kernel.bound(tuple((n, n) for n in each))[0] for each in inside)
        assert kernel.bound(box)[0] >= largest
        widest = max(widest, kernel.bound(box)[0] / largest)
    assert widest > 1, "boxes were looked at, and not only single mixes"


def test_a_single_mix_is_above_what_it_costs_in_one_direction() -> None:
    pair, times = noise("0.5"), 5
    mixes = mixes_of((Group(pair, times),))
    for firsts in range(times + 1):
        groups = [(one, n) for one, n in ((pair.first, firsts), (pair.second, times - firsts)) if n]
        for epsilon in (1.0, 9.0, 16.0, 20.5):
            truth = of_pairs(groups).delta_bracket(Fraction(epsilon))
            bound = mixes.at(epsilon).bound(((firsts, firsts),))[0]
            assert truth.lower <= bound
            if epsilon > 12:
                assert bound <= 1.05 * truth.upper


def test_left_of_the_window_nothing_is_claimed() -> None:
    mixes = mixes_of((Group(noise("0.5"), 300), Group(GaussianPair(Fraction(1)), 1)), 1e-9)
    assert mixes.at(mixes._first - 1).bound(((0, 300),))[0] == math.inf
    assert mixes.at(mixes._first - 1).bound(((3, 3),))[0] == math.inf


def test_a_branch_of_the_logarithm_decides_nothing() -> None:
    """Other branches make other functions between whole numbers, and the same bound at them."""
    mixes = mixes_of((Group(noise("0.5"), 6),))
    before = [mixes.at(15.0).bound(((n, n),))[0] for n in range(7)]
    mixes.slopes = mixes.slopes + 2j * math.pi * np.arange(mixes.slopes.shape[1])
    after = [mixes.at(15.0).bound(((n, n),))[0] for n in range(7)]
    assert after == pytest.approx(before, rel=1e-9)


def test_finite_choices_against_sums_over_all_outcomes() -> None:
    """Random pairs of three outcomes each: the largest δ of all mixes, summed exactly."""
    draw = random.Random(11)

    def masses() -> tuple[Fraction, ...]:
        parts = [draw.randint(1, 12) for _ in range(3)]
        return tuple(Fraction(part, sum(parts)) for part in parts)

    def delta(pairs: list[tuple[Pair, int]], odds: Fraction, *, swapped: bool) -> Fraction:
        joint = Counter({(Fraction(1), Fraction(1)): 1})
        for pair, times in pairs:
            assert isinstance(pair, FinitePair)
            outcomes = list(zip(pair.q, pair.p, strict=True) if swapped else zip(pair.p, pair.q, strict=True))
            for _ in range(times):
                before, joint = joint, Counter()
                for (p, q), n in before.items():
                    for a, b in outcomes:
                        joint[p * a, q * b] += n
        return sum((max(p - odds * q, Fraction(0)) * n for (p, q), n in joint.items()), Fraction(0))

    for _ in range(6):
        whole = [
            (ChoicePair(FinitePair(masses(), masses()), FinitePair(masses(), masses())), draw.randint(1, 3))
            for _ in range(draw.randint(1, 2))
        ]
        if sum(times for _, times in whole) < 2:
            continue
        odds = Fraction(draw.randint(10, 40), 10)
        truth = max(delta(pairs, odds, swapped=way) for _, pairs in uses(whole, []) for way in (False, True))
        epsilon = Fraction(math.log(odds))
        found = of_pairs(list(whole)).delta_bracket(epsilon)
        assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)
        assert of_pairs(list(whole)).epsilon(truth) >= float(epsilon) * (1 - 1e-12)


@pytest.mark.parametrize("rate", ["0.02", "0.4"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("base", "times"), [("0.9", 3), ("0.5", 6), ("1.4", 40)])
def test_atoms_on_a_sample_are_lowered(base: str, times: int, rate: str, turned: bool) -> None:
    pair = poisson(DiscreteGaussianPair(Fraction(base)), Fraction(rate))
    pair = pair.swapped() if turned else pair
    plan = plan_for_delta((Group(pair, times),), DELTA)
    (one,) = plan.sketches
    law = sampled_below(one, plan.step_for(1e-3 * plan.saddle.epsilon), plan.saddle.tilt, 1e-4 * plan.saddle.epsilon)
    assert law is not None
    step = plan.step_for(1e-4 * plan.saddle.epsilon)
    above = plan.read(step, above=True)
    for epsilon in plan.saddle.epsilon * np.array([0.8, 0.9, 1.0, 1.1]):
        below = float(np.sum(law.weights * np.maximum(-np.expm1(epsilon - law.losses), 0))) + law.infinity
        assert below <= above.delta(epsilon) * (1 + 1e-9)
    near = plan.saddle.epsilon
    below = float(np.sum(law.weights * np.maximum(-np.expm1(near - law.losses), 0)))
    assert below >= 0.8 * above.delta(near), "and not by much"


def test_infinite_losses_of_a_box_are_those_of_the_mix_with_most() -> None:
    pair = ChoicePair(approximate(Fraction(1, 2), Fraction(1, 1000)), GaussianPair(Fraction(1, 9)))
    kernel = mixes_of((Group(pair, 5),), 1e-2).at(50.0)
    whole, dearest = kernel.bound(((0, 5),))[0], kernel.bound(((5, 5),))[0]
    assert whole >= dearest >= 1 - (1 - 1e-3) ** 5
