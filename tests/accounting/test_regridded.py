"""Copies of a law that are composed on a lattice of their own: what is carried over stays below the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import of_pairs
from dither.accounting.loss_law import LossLaw, convex_law
from dither.accounting.regridded import _masses_below, convolved_below
from dither.accounting.saddle import saddle_at, sketch
from dither.accounting.tilted import ComposedLaw
from dither.exact import Ball, ball, precision
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import poisson
from dither.pairs.two_point import TwoPointPair

ONE = Fraction(1)


def profile(law: LossLaw, epsilon: Ball) -> Ball:
    """δ(ε) of the very floats of a law."""
    total = Ball(law.infinity)
    for place, weight in enumerate(law.weights):
        loss = Ball(law.offset) + place * Ball(law.step)
        if weight and loss > epsilon:
            total += Ball(float(weight)) * -(epsilon - loss).expm1()
    return total


def binomial_profile(loss: Fraction, copies: int, epsilon: Ball) -> Ball:
    """δ(ε) of `copies` randomized responses, summed over how many of them are true."""
    top = ball(loss)
    true, total = 1 / (1 + (-top).exp()), Ball(0)
    for number in range(copies + 1):
        gain = -(epsilon - (2 * number - copies) * top).expm1()
        if gain > 0:
            total += math.comb(copies, number) * true**number * (1 - true) ** (copies - number) * gain
    return total


@pytest.mark.parametrize("copies", [4, 17, 60])
@pytest.mark.parametrize("step", [0.0071, 0.03, 0.3])
@pytest.mark.parametrize("tilt", [0.0, 2.0])
def test_what_is_carried_over_is_below_the_exact_binomial(copies: int, step: float, tilt: float) -> None:
    loss = Fraction(1, 9)
    law = convolved_below(sketch(TwoPointPair(loss=loss), copies, 1e-20), step, tilt)
    assert law is not None
    centre = saddle_at([sketch(TwoPointPair(loss=loss), copies, 1e-20)], tilt).epsilon
    with precision(200):
        for epsilon in np.linspace(centre - 1, centre + 2, 41):
            assert profile(law, Ball(float(epsilon))) <= binomial_profile(loss, copies, Ball(float(epsilon)))
        near, truth = profile(law, Ball(centre)), binomial_profile(loss, copies, Ball(centre))
    if step < 0.01:
        assert float(near.mid()) >= 0.97 * float(truth.mid())


@pytest.mark.parametrize("step", [0.01, 0.4])
def test_the_largest_convex_law_keeps_below_every_dot(step: float) -> None:
    generator = np.random.default_rng(11)
    for _ in range(20):
        dots = np.sort(generator.exponential(size=60))[::-1] * np.exp(-np.arange(60) / 7) / 10
        dots[-3:] = 0.0
        whole = float(dots[0]) + 0.1
        law = convex_law(-1.0, step, dots, whole, 0.0)
        assert (law.weights >= 0).all()
        with precision(200):
            points = [Ball(-1.0) + place * Ball(step) for place in range(60)]
            assert all(profile(law, point) <= Ball(float(dot)) for point, dot in zip(points, dots, strict=True))
            assert sum((Ball(float(weight)) for weight in law.weights), Ball(0)) <= Ball(whole)


def test_convex_dots_are_kept() -> None:
    points = -1 + 0.1 * np.arange(30)
    dots = np.maximum(1 - np.exp(points - 1.0), 0.0)
    law = convex_law(-1.0, 0.1, dots, 1.0, 0.0)
    with precision(100):
        found = [float(profile(law, Ball(float(point))).mid()) for point in points[:20]]
    assert found == pytest.approx(list(dots[:20]), rel=1e-9)


def test_each_error_of_a_composed_law_lowers_its_masses() -> None:
    quiet = ComposedLaw(0.0, 0.5, 1.0, 0.3, np.full(8, 0.125), 0.0, 0.0, 0.0, 0.0, 0.0)
    plain = _masses_below(quiet)
    points = 0.5 * np.arange(8)
    assert (plain <= np.exp(0.3 - points) * 0.125).all()
    assert plain == pytest.approx(np.exp(0.3 - points) * 0.125, rel=1e-12)
    for noisy in (replace(quiet, relative=1e-3), replace(quiet, spread=1e-3), replace(quiet, outside=1e-3)):
        assert (_masses_below(noisy) <= plain * (1 - 9e-4)).all()


def mixed(*groups: tuple[Pair, int]) -> list[tuple[Pair, int]]:
    return list(groups)


def laplace(scale: str, rate: str = "1") -> Pair:
    pair = LaplacePair(1 / Fraction(scale))
    return pair if rate == "1" else poisson(pair, Fraction(rate))


def gaussian(scale: str, rate: str = "1") -> Pair:
    pair = GaussianPair(1 / Fraction(scale) ** 2)
    return pair if rate == "1" else poisson(pair, Fraction(rate))


# The last number is the upper answer of dp-accounting 0.6.0 at an interval of 1e-4.
MIXTURES = [
    (mixed((laplace("30", "0.045"), 74), (laplace("226"), 81), (gaussian("216"), 246)), 7.92e-05, 0.231996),
    (
        mixed(
            (laplace("8.21", "0.0826"), 349),
            (laplace("2.29", "0.267"), 30),
            (gaussian("84.9", "0.355"), 43),
            (laplace("243"), 987),
            (laplace("0.532", "0.0107"), 39),
        ),
        0.00018,
        2.21762,
    ),
    (mixed((laplace("741", "0.0541"), 122), (gaussian("24.6"), 959), (laplace("31"), 52)), 2.03e-06, 6.29515),
    (mixed((laplace("17.7"), 8), (laplace("1.8"), 5), (gaussian("30.2"), 381)), 2.47e-08, 5.94195),
]


@pytest.mark.parametrize(("groups", "delta", "peer"), MIXTURES)
@pytest.mark.filterwarnings("error")
def test_mixtures_of_atoms_on_different_lattices_are_narrow(
    groups: Sequence[tuple[Pair, int]], delta: float, peer: float
) -> None:
    lower, upper = of_pairs(groups, relative_width=1e-3).bracket(delta)
    assert lower <= peer * (1 + 1e-5)
    assert upper >= peer * (1 - 2e-3)
    assert upper - lower <= 1e-3 * upper
