"""Certified sums over the integers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.exact import Ball, ball, precision
from dither.exact import sums as sums_module
from dither.exact.sums import Decay, _euler_maclaurin, tail_sum
from dither.noise import DiscreteGaussian, PowerLaw, StudentT
from dither.noise.discrete_gaussian import _theta


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(17), Fraction(10**9), Fraction(2**150)])
def test_a_sum_with_a_closed_form(scale: Fraction) -> None:
    """Σ_{n ≥ 1} s²/(s² + n²) = (π s coth(π s) − 1)/2."""
    with precision(128):
        found = tail_sum(PowerLaw(scale, 2), 1)
        s = ball(scale)
        true = (Ball.pi() * s * (Ball.pi() * s).coth() - 1) / 2
        assert found.overlaps(true)
        assert found.rel_accuracy_bits() > 120


def test_the_cauchy_law_by_two_routes() -> None:
    for scale in ("0.3", 8, 10**6, 2**90):
        for x in (0, 5, 10**4, 10**9):
            assert PowerLaw(scale, 2).tail(x).overlaps(StudentT(scale, 1).tail(x))


DECAYS: list[tuple[Decay, int]] = [
    (DiscreteGaussian(10**4), 30),
    (DiscreteGaussian(50), 4),
    (PowerLaw(40, 4), 10),
    (PowerLaw(3, "5/2"), 30),
    (StudentT(50, 3), 20),
    (StudentT(2, "7/3"), 40),
]


@pytest.mark.parametrize(("decay", "first"), DECAYS, ids=str)
def test_few_terms_leave_a_remainder_that_covers_the_truth(decay: Decay, first: int) -> None:
    """Asked for few bits, the formula stops early; its remainder must then be wide enough, and not idle."""
    with precision(200):
        truth = tail_sum(decay, first)
        needed = False
        for bits in range(1, 24):
            found = _euler_maclaurin(decay, first, bits)
            if found is not None:
                assert found.contains(truth)
                assert found.rad() < 2 * truth * ball(2) ** -bits
                needed = needed or not Ball(found.mid(), truth * ball(2) ** -60).overlaps(truth)
        assert needed


@pytest.mark.parametrize(("decay", "first"), DECAYS, ids=str)
@pytest.mark.parametrize("bits", [64, 100, 333])
def test_any_precision_gives_the_same_sum(decay: Decay, first: int, bits: int) -> None:
    with precision(400):
        truth = tail_sum(decay, first)
    with precision(bits):
        found = tail_sum(decay, first)
        assert found.contains(truth) or found.overlaps(truth)
        assert found.rel_accuracy_bits() > bits - 12


SHORT: list[tuple[Decay, int]] = [
    (DiscreteGaussian(2), 1),
    (DiscreteGaussian("1/20"), 1),
    (DiscreteGaussian(90), 7),
    (StudentT(2, 700), 3),
    (PowerLaw(7, 600), 2),
]


@pytest.mark.parametrize(("decay", "first"), SHORT, ids=str)
def test_what_is_left_off_is_inside_the_ball(decay: Decay, first: int) -> None:
    """Sums that end when the rest is negligible: the rest is part of the radius, whatever the precision."""
    with precision(600):
        truth = tail_sum(decay, first)
    for bits in range(64, 200, 5):
        with precision(bits):
            assert tail_sum(decay, first).contains(truth)


def test_a_theta_series_holds_its_rest() -> None:
    for nome in (Fraction(1, 21), Fraction(1, 40), Fraction(1, 1000), Fraction(1, 10**9)):
        with precision(1000):
            truth = _theta(ball(nome))
            slow = 1 + 2 * sum((ball(nome) ** (k * k) for k in range(1, 40)), ball(0))
            assert truth.overlaps(slow)
        for bits in range(53, 300, 3):
            with precision(bits):
                assert _theta(ball(nome)).contains(truth)


def test_no_disc_may_reach_a_singularity() -> None:
    assert PowerLaw(100, "5/2").disc_integral(5, 4).is_finite()
    assert not PowerLaw(100, "5/2").disc_integral(5, 5).is_finite()
    assert not PowerLaw(4, 3).disc_integral(5, 5).is_finite()


class Wrong(DiscreteGaussian):
    """A Gaussian whose derivatives are off by 2^-90."""

    def taylor(self, i: int, length: int) -> list[Ball]:
        return [term * (1 + ball(2) ** -90) for term in super().taylor(i, length)]


def test_wrong_derivatives_would_be_seen() -> None:
    with precision(128):
        right, wrong = DiscreteGaussian(10**4), Wrong(10**4)
        assert not tail_sum(right, 30).overlaps(tail_sum(wrong, 30))


def test_a_wrong_bernoulli_number_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Skewed(Ball):
        @staticmethod
        def bernoulli(n: int) -> Ball:
            return Ball.bernoulli(n) * (1 + ball(2) ** -60 if n == 6 else 1)

    with precision(128):
        right = _euler_maclaurin(DiscreteGaussian(10**4), 30, 128)
        monkeypatch.setattr(sums_module, "arb", Skewed)
        wrong = _euler_maclaurin(DiscreteGaussian(10**4), 30, 128)
        assert right is not None
        assert wrong is not None
        assert not right.overlaps(wrong)
