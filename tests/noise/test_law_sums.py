"""Tails at random parameters against sums done the slow way."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.exact import ball, precision
from dither.noise import DiscreteGaussian, DiscreteLaplace, DiscreteStaircase, Gumbel, Law, PowerLaw, Steepest, StudentT
from tests.oracle import laws as oracle

pytestmark = pytest.mark.property

SCALES = st.fractions(Fraction(1, 8), 60, max_denominator=50)
PLACES = st.integers(0, 200)


def agrees(law: Law, x: int) -> None:
    found = law.tail(x)
    with precision(oracle.BITS):
        whole = 2 * oracle.tail(law, 1) + oracle.weight(law, 0)
        quotient = found * whole / oracle.tail(law, x + 1)
        assert quotient.contains(1)
        assert quotient.rad() < ball(2) ** -85


@settings(max_examples=40)
@given(SCALES, PLACES)
def test_gaussian(sigma: Fraction, x: int) -> None:
    agrees(DiscreteGaussian.from_sigma(sigma), x)


@settings(max_examples=30)
@given(SCALES, st.fractions(Fraction(6, 5), 40, max_denominator=6), PLACES)
def test_power_law(scale: Fraction, gamma: Fraction, x: int) -> None:
    agrees(PowerLaw(scale, gamma), x)


@settings(max_examples=15)
@given(SCALES, st.integers(2, 40), PLACES)
def test_steepest(scale: Fraction, index: int, x: int) -> None:
    agrees(Steepest(scale, index), x)


@settings(max_examples=30)
@given(SCALES, st.fractions(Fraction(1, 4), 30, max_denominator=6), PLACES)
def test_student_t(scale: Fraction, degrees: Fraction, x: int) -> None:
    agrees(StudentT(scale, degrees), x)


@settings(max_examples=30)
@given(SCALES, PLACES)
def test_laplace(scale: Fraction, x: int) -> None:
    agrees(DiscreteLaplace(min(scale, Fraction(15))), x)


@st.composite
def stairs(draw: st.DrawFn, widest: int = 40) -> DiscreteStaircase:
    width = draw(st.integers(1, widest))
    return DiscreteStaircase(
        width, draw(st.fractions(Fraction(1, 2), 5, max_denominator=20)), draw(st.integers(1, width))
    )


@settings(max_examples=30)
@given(stairs(), PLACES)
def test_staircase(law: DiscreteStaircase, x: int) -> None:
    agrees(law, x)


@given(stairs(), st.integers(-200, 200), st.data())
def test_a_staircase_is_private(law: DiscreteStaircase, x: int, data: st.DataObject) -> None:
    shift = data.draw(st.integers(-law.sensitivity, law.sensitivity))
    with precision(128):
        assert not law.pmf(x) > ball(law.epsilon).exp() * law.pmf(x + shift)
    assert law.pmf(0) > law.pmf(law.sensitivity) * ball(law.epsilon * Fraction(999, 1000)).exp()


@settings(max_examples=25)
@given(st.integers(1, 60), st.fractions(Fraction(1, 100), 20, max_denominator=100))
def test_the_best_step_is_the_best_of_all(sensitivity: int, epsilon: Fraction) -> None:
    best = DiscreteStaircase.best(sensitivity, epsilon)
    with precision(128):
        least = best.expected_magnitude()
        for step in range(1, sensitivity + 1):
            assert step == best.step or DiscreteStaircase(sensitivity, epsilon, step).expected_magnitude() > least


@settings(max_examples=20)
@given(stairs(widest=12))
def test_the_expected_magnitude_is_a_sum(law: DiscreteStaircase) -> None:
    """E|X| = 2 Σ_{x ≥ 0} P[X > x]."""
    farthest = int(60 * law.sensitivity / law.epsilon)
    with precision(128):
        total = sum((2 * law.tail(x) for x in range(farthest)), ball(0))
        assert abs(total / law.expected_magnitude() - 1) < ball(2) ** -70


@given(st.fractions(Fraction(1, 100), 500, max_denominator=100), st.integers(0, 100))
def test_a_gumbel_law_peaks_at_zero(scale: Fraction, i: int) -> None:
    law = Gumbel(scale)
    with precision(256):
        assert not law.pmf(i) < law.pmf(i + 1)
        assert law.pmf(0) > law.pmf(-1)
        assert not law.pmf(-i - 1) < law.pmf(-i - 2)
