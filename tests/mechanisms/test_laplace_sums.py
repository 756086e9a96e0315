"""Bounds on sums of Laplace noise, beside their exact law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dither.mechanisms import MatrixMechanism
from dither.mechanisms.laplace_sums import from_lengths, from_rows
from dither.workloads import Workload

pytestmark = pytest.mark.property

MISSES = [Fraction(9, 10), Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**30)]
OUTWARDS = 1 + 1e-9


def tail(row: list[int], distance: float) -> float:
    """P[|c·Y| > t] = Σ A_i e^{−t/c_i} with A_i = ∏_{j≠i} c_i²/(c_i² − c_j²): partial fractions, c_i > 0."""
    with ctx.workprec(400):
        total = arb(0)
        for one in row:
            share = math.prod((Fraction(one**2, one**2 - other**2) for other in row if other != one), start=Fraction(1))
            total += arb(share.numerator) / share.denominator * (-arb(distance) / one).exp()
        return float(total)


rows_of_numbers = st.lists(st.integers(1, 40), min_size=1, max_size=8, unique=True)


@given(rows_of_numbers, st.sampled_from(MISSES))
def test_no_sum_reaches_further_than_is_said(row: list[int], miss: Fraction) -> None:
    reach = float(from_rows(np.array([row], dtype=float)).reaches(miss, 1)[0]) * OUTWARDS
    assert tail(row, reach) <= miss
    if miss <= Fraction(1, 20):
        assert tail(row, reach / 1.5) > miss  # and not much less far


@given(rows_of_numbers, st.sampled_from(MISSES))
def test_lengths_and_peaks_promise_no_more_than_rows(row: list[int], miss: Fraction) -> None:
    rows = np.array([row], dtype=float)
    known = from_rows(rows).reaches(miss, 1)
    for peak in (max(row), math.hypot(*row)):
        assert from_lengths((rows**2).sum(axis=1), np.array([float(peak)])).reaches(miss, 1) >= known / OUTWARDS


@given(st.lists(rows_of_numbers, min_size=1, max_size=5), st.sampled_from(MISSES))
def test_all_rows_together_take_no_more_than_their_sum(rows: list[list[int]], miss: Fraction) -> None:
    padded = np.array([row + [0] * (8 - len(row)) for row in rows], dtype=float)
    reach = from_rows(padded).reach_of_all(miss, 1) * OUTWARDS
    assert sum(tail(row, reach) for row in rows) <= miss
    assert reach <= from_rows(padded).reaches(miss / len(rows), 1).max() * OUTWARDS**2


def gamma_tail(terms: int, distance: float) -> float:
    """P[|Y₁ + … + Y_n| > t]: by its density, added up finely enough for three digits."""
    far = np.linspace(-60 - 3 * terms, 60 + 3 * terms, 1 << 18)
    step = far[1] - far[0]
    wave = 2 * np.pi * np.fft.fftfreq(len(far), step)
    density = np.abs(np.fft.fftshift(np.fft.ifft((1 + wave**2) ** -float(terms)).real)) / step
    return float(density[np.abs(far) > distance].sum() * step)


@pytest.mark.parametrize("terms", [1, 2, 5, 50])
def test_a_factor_four_times_as_large_would_be_wrong(terms: int) -> None:
    """The negative control: the left-out factor is 1/(θσ), and not much less."""
    rows = np.ones((1, terms))
    miss = Fraction(1, 10**4)
    assert gamma_tail(terms, float(from_rows(rows).reaches(miss, 1)[0])) <= miss * Fraction(101, 100)
    assert gamma_tail(terms, float(from_rows(rows).reaches(miss, 4)[0])) > miss * Fraction(101, 100)


def test_rows_of_nothing_reach_nowhere() -> None:
    assert (from_rows(np.zeros((2, 3))).reaches(Fraction(1, 20), 1) < 1e-90).all()
    one = from_rows(np.array([[1.0, 0.0]])).reach_of_all(Fraction(1, 20), 1)
    assert from_rows(np.array([[1.0, 0.0], [0.0, 0.0]])).reach_of_all(Fraction(1, 20), 1) == pytest.approx(
        one, rel=1e-4
    )


# ------------------------------------------------------------------------------ on the lattice


def lattice_tail(row: list[int], scale: float, distance: float) -> float:
    """P[|c·Z| > t] for P[Z = z] ∝ e^{−|z|/scale}: every value, added up."""
    most = math.ceil(45 * scale)
    one = np.exp(-np.abs(np.arange(-most, most + 1)) / scale)
    law = np.ones(1)
    for entry in row:
        stretched = np.zeros(2 * most * entry + 1)
        stretched[::entry] = one / one.sum()
        law = np.convolve(law, stretched)
    middle = len(law) // 2
    return float(law[np.abs(np.arange(len(law)) - middle) > distance].sum())


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "4"])
@pytest.mark.parametrize("rows", [[[1, 1, 1], [1, 1, 0], [1, 0, 0]], [[5, 1, 2, 0], [0, 3, 3, 1]]], ids=str)
def test_no_answer_is_off_by_more_than_is_said(rows: list[list[int]], epsilon: str) -> None:
    """Noise on each cell: wide, and so narrow that most of it is 0."""
    mechanism = MatrixMechanism(Workload.matrix(rows), epsilon=epsilon, strategy="cells", noise="laplace")
    laws = [[entry for entry in row if entry] for row in rows]
    scale = 1 / float(epsilon)
    for miss in MISSES[:-1]:
        reaches = mechanism._reaches(miss)
        together = mechanism.max_error(miss)
        slack = 1e-12 + float(miss) * 1e-6  # what is left out beyond 45 scales, and floats
        for law, reach in zip(laws, reaches, strict=True):
            assert lattice_tail(law, scale, float(reach)) <= float(miss) + slack
        assert sum(lattice_tail(law, scale, together) for law in laws) <= float(miss) + slack
    assert sum(lattice_tail(law, scale, mechanism.max_error(Fraction(1, 20)) / 2) for law in laws) > 0.05


def test_the_bound_on_all_prefix_sums_is_not_twice_too_wide() -> None:
    """95 of 100 largest errors of 4,000 simulations lie below the bound, and not below two thirds of it."""
    workload = Workload.prefix(64)
    mechanism = MatrixMechanism(workload, epsilon=1, noise="laplace", strategy="tree of 2")
    rule = mechanism._strategy.rule()
    assert rule is not None
    scale = float(mechanism._noising.law.scale) / workload.denominator  # type: ignore[attr-defined]
    noise = scale * np.random.default_rng(5).laplace(size=(4000, rule.shape[1]))
    largest = np.abs(noise @ rule.T).max(axis=1)
    bound = mechanism.max_error(Fraction(1, 20))
    assert (largest > bound).mean() < 0.05
    assert (largest > bound / 1.5).mean() > 0.05
