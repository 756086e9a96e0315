"""Every law of `dither.noise` states probabilities that are those of its definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dither.errors import NotANumberError, ParameterError
from dither.exact import Ball, Number, ball, precision
from dither.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Geometric,
    Gumbel,
    Law,
    PowerLaw,
    Steepest,
    StudentT,
)
from dither.noise.blocks import Arm
from dither.noise.rejection import RejectionLaw
from tests.oracle import laws as oracle

pytestmark = pytest.mark.contract

SMALL: list[Law] = [
    Geometric("0.4"),
    Geometric(7),
    DiscreteLaplace("0.3"),
    DiscreteLaplace(9),
    DiscreteGaussian("0.05"),
    DiscreteGaussian("1/6"),
    DiscreteGaussian(2),
    DiscreteGaussian(400),
    PowerLaw("0.2", 2),
    PowerLaw(5, 4),
    PowerLaw(30, "5/2"),
    PowerLaw(2, "1.2"),
    PowerLaw(12, 33),
    StudentT(1, 1),
    StudentT(4, 3),
    StudentT(25, "7/2"),
    StudentT(3, 200),
    StudentT(6, "0.4"),
    Steepest("0.3", 2),
    Steepest(12, 3),
    Steepest("47/3", 4),
    Steepest(100, 25),
    Gumbel("0.05"),
    Gumbel("0.7"),
    Gumbel(11),
    DiscreteStaircase(1, 1, 1),
    DiscreteStaircase(7, "0.4", 3),
    DiscreteStaircase(5, 3, 5),
    DiscreteStaircase(6, "0.1", 1),
]
WIDE: list[Law] = [
    make(scale)
    for scale in (Fraction(1, 2**40), 2**40, 2**200)
    for make in (
        Geometric,
        DiscreteLaplace,
        DiscreteGaussian.from_sigma,
        Gumbel,
        lambda scale: PowerLaw(scale, 3),
        lambda scale: PowerLaw(scale, "2.7"),
        lambda scale: StudentT(scale, 3),
        lambda scale: Steepest(scale, 4),
        lambda scale: DiscreteStaircase(max(1, int(scale)), 1, max(1, int(scale) // 3)),
    )
]
LAWS = SMALL + WIDE


def beyond_imagination(number: Ball) -> bool:
    """Whether the number is so small that its exponent, and not its digits, takes up a ball's precision."""
    return bool(number.abs_upper() < ball(2) ** -(1 << 60))


def accurate(number: Ball, bits: int) -> bool:
    return bool(number.rel_accuracy_bits() >= bits) or beyond_imagination(number)


def size(law: Law) -> int:
    match law:
        case DiscreteGaussian():
            return max(1, int(float(law.variance) ** 0.5))
        case DiscreteStaircase():
            return law.sensitivity
        case Geometric() | DiscreteLaplace() | Gumbel() | PowerLaw() | StudentT() | Steepest():
            return max(1, int(law.scale))
    raise NotImplementedError(law)


def places(law: Law) -> list[int]:
    """Points near the peak, at a few scales, and far out on both sides."""
    s = size(law)
    outwards = {0, 1, 2, s // 3, s - 1, s, s + 1, 2 * s, 5 * s + 3, 17 * s, 60 * s}
    return sorted(outwards | {-x for x in outwards})


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_probabilities_add_up_to_one(law: Law) -> None:
    with precision(128):
        total = sum((law.pmf(x) for x in range(-120, 121)), law.tail(120) + law.cdf(-121))
    assert total.contains(1)
    assert total.rad() < 2.0**-100


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_neighbouring_tails_differ_by_the_probability(law: Law) -> None:
    for x in places(law):
        with precision(128):
            assert (law.tail(x) + law.pmf(x)).overlaps(law.tail(x - 1))
            assert (law.cdf(x - 1) + law.pmf(x)).overlaps(law.cdf(x))
            assert (law.cdf(x) + law.tail(x)).contains(1)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_small_tails_are_known_to_many_digits(law: Law) -> None:
    for x in places(law):
        assert accurate(law.pmf(x), 80) or law.pmf(x) == 0
        assert accurate(law.tail(x), 80)
        assert accurate(law.cdf(x), 80) or law.cdf(x) == 0


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_probabilities_are_proportional_to_the_definition(law: Law) -> None:
    for x in places(law):
        with precision(oracle.BITS):
            true = oracle.weight(law, x) / oracle.weight(law, 0)
            assert (law.pmf(x) / law.pmf(0)).overlaps(true)
            a_bit_more = law.pmf(x) * (1 + ball(2) ** -60)
            assert not a_bit_more.overlaps(true * law.pmf(0)) or beyond_imagination(a_bit_more)


@pytest.mark.parametrize("law", [law for law in SMALL if not isinstance(law, Gumbel)], ids=str)
def test_tails_are_the_sums_of_the_definition(law: Law) -> None:
    with precision(oracle.BITS):
        below = ball(0) if isinstance(law, Geometric) else oracle.tail(law, 1)
        whole = below + oracle.weight(law, 0) + oracle.tail(law, 1)
    for x in (0, 1, 2, size(law), 3 * size(law), 20 * size(law)):
        found = law.tail(x)
        with precision(oracle.BITS):
            true = oracle.tail(law, x + 1) / whole
            assert abs(found / true - 1) < ball(2) ** -90
            assert (found / true).contains(1)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_more_precision_gives_more_digits(law: Law) -> None:
    with precision(300):
        pmf, tail = law.pmf(2), law.tail(2)
        assert accurate(pmf, 270)
        assert accurate(tail, 270)
    with precision(128):
        assert law.pmf(2).overlaps(pmf)
        assert law.tail(2).overlaps(tail)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("level", ["1e-30", "0.01", "0.3", "1/2", "0.6", "0.975", "0.999999"])
def test_the_quantile_is_the_smallest_point_that_reaches_the_level(law: Law, level: str) -> None:
    q = law.quantile(level)
    exact = Fraction(level)
    with precision(128):
        if exact > Fraction(1, 2):
            assert law.tail(q) <= ball(1 - exact)
            assert not law.tail(q - 1) <= ball(1 - exact)
        else:
            assert law.cdf(q) >= ball(exact)
            assert not law.cdf(q - 1) >= ball(exact)


def arms(law: Law) -> list[Arm]:
    return list(law._arms()) if isinstance(law, RejectionLaw) and not _is_steep(law) else []


def _is_steep(law: Law) -> bool:
    return isinstance(law, Gumbel) and law.scale < Fraction(1, 8)  # drawn without arms


SIDES = [pytest.param(law, arm, id=f"{law} {arm.sign}") for law in LAWS for arm in arms(law)]


@pytest.mark.parametrize(("law", "arm"), SIDES)
def test_the_arms_carry_the_law(law: Law, arm: Arm) -> None:
    """The weight is the probability up to one constant, never increases, and its tail bound is none too small."""
    s, shape = size(law), arm.shape
    distances = sorted({*range(12), s // 2, s, s + 1, 3 * s, 9 * s, 30 * s})
    with precision(128):
        weights = [shape.weight(i) for i in distances]
        assert all(not later > earlier for earlier, later in pairwise(weights))
        for i, weight in zip(distances, weights, strict=True):
            x = arm.peak + arm.sign * i
            assert (law.pmf(x) * weights[0]).overlaps(weight * law.pmf(arm.peak))
            beyond = law.tail(x - 1) if arm.sign > 0 else law.cdf(x)
            assert not shape.tail_bound(i) * law.pmf(arm.peak) < beyond * weights[0]
            assert shape.tail_bound(i) * law.pmf(arm.peak) < 3 * beyond * weights[0] or beyond.contains(0)


@pytest.mark.parametrize("law", [law for law in SMALL if arms(law)], ids=str)
def test_the_arms_hold_every_point_once(law: Law) -> None:
    points = [arm.peak + arm.sign * i for arm in arms(law) for i in range(arm.first, 50)]
    assert len(points) == len(set(points))
    assert {x for x in range(-40, 40) if law.pmf(x) > 0} <= set(points)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_laws_are_values(law: Law) -> None:
    parameters = [field.name for field in fields(law) if field.repr]  # type: ignore[arg-type]
    again = type(law)(**{name: getattr(law, name) for name in parameters})
    assert law == again
    assert hash(law) == hash(again)
    with pytest.raises(FrozenInstanceError):
        setattr(law, parameters[0], 3)


BAD = [float("nan"), float("inf"), True, 0, -1, "x", None, "1e999", [2]]
TOO_LARGE = 2**1001
MAKERS: dict[str, Callable[[Any], Law]] = {
    "Gumbel": Gumbel,
    "DiscreteGaussian": DiscreteGaussian,
    "DiscreteGaussian, sigma": DiscreteGaussian.from_sigma,
    "PowerLaw, scale": lambda bad: PowerLaw(bad, 2),
    "PowerLaw, gamma": lambda bad: PowerLaw(2, bad),
    "Steepest, scale": lambda bad: Steepest(bad, 2),
    "Steepest, index": lambda bad: Steepest(2, bad),
    "StudentT, scale": lambda bad: StudentT(bad, 2),
    "StudentT, degrees": lambda bad: StudentT(2, bad),
    "DiscreteStaircase, 1/epsilon": lambda bad: DiscreteStaircase(3, 1 / Fraction(bad) if bad is TOO_LARGE else bad, 1),
}


@pytest.mark.parametrize("bad", [*BAD, TOO_LARGE], ids=repr)
@pytest.mark.parametrize("parameter", MAKERS)
def test_bad_parameters_are_refused(parameter: str, bad: object) -> None:
    with pytest.raises(ParameterError):
        MAKERS[parameter](bad)


@pytest.mark.parametrize("gamma", [1, "0.99", "1.001", 10**7])
def test_a_power_law_needs_a_finite_sum(gamma: Number) -> None:
    with pytest.raises(ParameterError, match="gamma"):
        PowerLaw(2, gamma)


@pytest.mark.parametrize(("sensitivity", "step"), [(0, 1), (3, 0), (3, 4), (True, 1), (3, True), (2.5, 1), (-3, 1)])
def test_a_staircase_needs_whole_stairs(sensitivity: int, step: int) -> None:
    with pytest.raises(ParameterError):
        DiscreteStaircase(sensitivity, 1, step)


@pytest.mark.parametrize(
    "law",
    [
        DiscreteGaussian("8e-31"),
        DiscreteGaussian.from_sigma("1e-15"),
        DiscreteGaussian.from_sigma("3e150"),
        Gumbel("1e-30"),
        PowerLaw("1e-60", "1.1"),
        PowerLaw("7e200", 30),
        StudentT("1e-59", 3),
        StudentT("7e200", 3),
        Steepest("1e-60", 2),
        Steepest("7e200", 64),
        DiscreteStaircase(10**60, "1e-200", 10**59),
        DiscreteStaircase(10**60, "1e59", 1),
    ],
    ids=str,
)
def test_extreme_parameters_still_give_samples(law: Law) -> None:
    """The tables of a sampler can be laid out, and its numbers are plain integers."""
    assert isinstance(law.sample(), int)
    assert law.sample(300).shape == (300,)
    assert law.pmf(0) > 0


@pytest.mark.parametrize("question", ["pmf", "cdf", "tail"])
def test_a_numpy_integer_is_the_integer_it_means(question: str) -> None:
    """What `sample` gives may be asked about: 2^32 squared must not wrap."""
    law, x = DiscreteGaussian.from_sigma(2**32), 2**32
    assert float(getattr(law, question)(np.int64(x))) == float(getattr(law, question)(x)) > 0


@pytest.mark.parametrize("question", ["pmf", "cdf", "tail"])
@pytest.mark.parametrize("x", [0.5, 1.0, math.nan, "1", None, True, np.array([1])], ids=repr)
def test_only_integers_have_a_probability(question: str, x: Any) -> None:
    with pytest.raises(NotANumberError, match="x must be a whole number"):
        getattr(DiscreteLaplace(3), question)(x)
