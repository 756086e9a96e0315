"""How much Gaussian noise a budget asks for: never too little, hardly more than needed, on every lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.exact import ball
from dither.guarantees import GaussianDP
from dither.mechanisms import Gaussian, lattice_gaussian
from dither.mechanisms.gaussian_calibration import (
    TEXTBOOK,
    largest_mu_squared,
    line_profile,
    line_variance,
    textbook_variance,
)
from dither.mechanisms.lattice_gaussian import _holds, dominating_mu_squared, smallest_variance
from tests.oracle.lattice_sums import Masses, gaussian_profile, masses, profile_of, shifted_profile

BUDGETS = [
    ("1", "1e-6"),
    ("0.1", "1e-8"),
    ("0.001", "1e-5"),
    ("0.5", "0.5"),
    ("8", "0.1"),
    ("16", "1e-6"),
    ("60", "1e-10"),
]
budgets = pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)


def gaussian(variance: float) -> Masses:
    return masses(lambda x: np.exp(-x * x / (2 * np.longdouble(variance))), math.ceil(40 * math.sqrt(variance)) + 20)


@budgets
def test_the_exact_sigma_is_never_too_small_and_within_a_part_in_a_billion(epsilon: str, delta: str) -> None:
    square = largest_mu_squared(Fraction(epsilon), Fraction(delta))
    assert GaussianDP.from_square(square).delta(epsilon) <= Fraction(delta)
    assert GaussianDP.from_square(square * (1 + Fraction(1, 10**9))).delta(epsilon) > Fraction(delta)


@budgets
def test_the_exact_sigma_agrees_with_bisection_in_floats(epsilon: str, delta: str) -> None:
    low, high = 1e-9, 100.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_profile(middle, float(epsilon)) <= float(delta) else (low, middle)
    assert math.sqrt(largest_mu_squared(Fraction(epsilon), Fraction(delta))) == pytest.approx(low, rel=1e-6)


def test_the_known_value() -> None:
    """Computed by bisection at 50 digits elsewhere: σ(1, 1e-6) = 4.2246788893…"""
    assert Gaussian(sensitivity=1, epsilon=1, delta="1e-6").sigma == pytest.approx(4.22467888932, rel=1e-10)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.5", "1e-5"), ("8", "0.1"), ("0.001", "0.3")])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_on_the_integers_the_lattice_profile_decides(epsilon: str, delta: str, shift: int) -> None:
    """At the variance found the brute-force sum keeps δ; at every smaller one of a fine list it does not."""
    variance = float(line_variance(Fraction(epsilon), Fraction(delta), shift))
    assert shifted_profile(gaussian(variance), shift, float(epsilon)) <= float(delta) * (1 + 1e-9)
    for factor in (0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6, 1 - 1e-8):
        assert shifted_profile(gaussian(variance * factor), shift, float(epsilon)) > float(delta)


@pytest.mark.parametrize("variance", ["0.2", "1", "17.9", "300", "1234567.8"])
@pytest.mark.parametrize("shift", [1, 3])
def test_the_lattice_profile_is_the_sum_over_all_points(variance: str, shift: int) -> None:
    law = gaussian(float(variance))
    for z in (0.0, 0.7, 2.0, 4.0):
        mu = shift / math.sqrt(float(variance))
        epsilon = Fraction(repr(mu * (z + mu / 2)))
        truth = shifted_profile(law, shift, float(epsilon))
        assert float(line_profile(Fraction(variance), shift, ball(epsilon))) == pytest.approx(truth, rel=1e-12)


# ------------------------------------------------------------------ lattice_gaussian.md


@pytest.mark.parametrize("variance", ["3", "9", "17.8", "100", "2000"])
@pytest.mark.parametrize("distance", [1, 3])
def test_continuous_noise_dominates_noise_on_the_line(variance: str, distance: int) -> None:
    square = dominating_mu_squared(Fraction(variance), Fraction(distance**2), 1)
    assert square is not None
    law = gaussian(float(variance))
    for epsilon in np.linspace(0, 8 * math.sqrt(square), 60):
        assert shifted_profile(law, distance, epsilon) <= gaussian_profile(math.sqrt(square), epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("variance", [1.0, 4.0, 17.8])
def test_the_same_mu_would_not_dominate(variance: float) -> None:
    """The control: at ε = 0 noise on the integers is easier to see through than continuous noise of the same σ."""
    assert shifted_profile(gaussian(variance), 1, 0) > gaussian_profile(1 / math.sqrt(variance), 0) * (1 + 1e-4)


@pytest.mark.parametrize("variance", ["9", "36", "100"])
def test_continuous_noise_dominates_noise_on_integer_vectors(variance: str) -> None:
    """A move by (1, 1) is told by the sum, and by (2, 1) by 2x + y."""
    one = gaussian(float(variance))
    double = np.zeros(2 * len(one) - 1, dtype=np.longdouble)
    double[::2] = one
    for seen, square in ((np.convolve(one, one), 2), (np.convolve(double, one), 5)):
        bound = dominating_mu_squared(Fraction(variance), Fraction(square), 2)
        assert bound is not None
        pad = np.zeros(square, dtype=np.longdouble)
        for epsilon in np.linspace(0, 6 * math.sqrt(bound), 30):
            truth = profile_of(np.append(seen, pad), np.append(pad, seen), epsilon)
            assert truth <= gaussian_profile(math.sqrt(bound), epsilon) * (1 + 1e-9)


def test_on_the_grid_nothing_is_lost() -> None:
    square = dominating_mu_squared(Fraction(2) ** 80, Fraction(2) ** 78, 1000)
    assert square is not None
    assert Fraction(1, 4) < square < Fraction(1, 4) * (1 + Fraction(1, 10**16))
    assert smallest_variance(Fraction(1, 4), Fraction(2) ** 78, 1000) < Fraction(2) ** 80 * (1 + Fraction(1, 10**16))


@pytest.mark.parametrize("octave", [-120, -40, -3, 0, 2, 3, 6])
@pytest.mark.parametrize("coordinates", [1, 1000])
def test_on_the_grid_one_width_holds_for_all_noise_of_a_size(octave: int, coordinates: int) -> None:
    """With half of it no μ′² would be proved; beyond the largest μ′² another width is looked for."""
    width, largest = lattice_gaussian._width_for_all(octave, coordinates)
    zeta = lattice_gaussian._OF_GRIDS
    for part in range(65):
        assert _holds(largest * Fraction(2) ** (-2) * (1 + Fraction(3 * part, 64)), zeta, coordinates, width)
        assert not _holds(largest * Fraction(2) ** (-2) * (1 + Fraction(3 * part, 64)), zeta, coordinates, width / 2)
    variance = Fraction(2) ** 80 * Fraction(7, 5)
    found = dominating_mu_squared(variance, variance * largest, coordinates)
    assert found is not None
    assert _holds(found, zeta, coordinates, variance - variance * largest * (1 + zeta) ** 2 / found)


def test_the_conditions_of_the_theorem_are_decided_in_balls() -> None:
    """s² = 1/2 leaves q = e^{−π²}: 16c ≈ 64q = 3e-3, and ζμφ ≈ 1e-4."""
    assert not _holds(Fraction(1, 16), Fraction(1, 1024), 1, Fraction(1, 2))
    assert _holds(Fraction(1, 16), Fraction(1, 1024), 1, Fraction(3, 4))
    assert not _holds(Fraction(1, 16), Fraction(1, 1024), 1000, Fraction(3, 4))


def test_a_width_that_proves_nothing_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where to start is a guess in floats; what is returned rests on the conditions alone."""
    compute = dominating_mu_squared.__wrapped__
    case = (Fraction(2) ** 40, Fraction(2) ** 36, 3)
    assert compute(*case) is not None
    monkeypatch.setattr(lattice_gaussian, "_first_width", lambda *_: Fraction(1, 64))
    assert compute(*case) is None
    monkeypatch.setattr(lattice_gaussian, "_first_width", lambda *_: Fraction(1 << 20))
    wide = compute(*case)
    assert wide is not None
    assert wide > case[1] / (case[0] - 2**20)


@pytest.mark.parametrize("exponent", [73, 80, 100, 160, 400])
@pytest.mark.parametrize("coordinates", [1, 1000])
def test_on_a_grid_the_tightest_choice_is_the_best(exponent: int, coordinates: int) -> None:
    variance = Fraction(2) ** exponent
    for square in (variance / 2**40, variance, 64 * variance):
        tried = [
            lattice_gaussian._dominating(variance, square, coordinates, Fraction(1, 1 << bits))
            for bits in (55, 56, 57, 58)
        ]
        assert None not in tried
        assert (
            dominating_mu_squared(variance, square, coordinates) == min(x for x in tried if x is not None) == tried[-1]
        )


def test_noise_too_narrow_is_not_compared() -> None:
    assert dominating_mu_squared(Fraction(1, 10), Fraction(1), 1) is None


@pytest.mark.parametrize("exponent", [84, 85, 86, 88, 90, 120])
def test_a_distance_that_no_noise_of_a_grid_hides_has_no_cover(exponent: int) -> None:
    """There the width that a grid adds is more than the variance itself."""
    found = dominating_mu_squared(Fraction(2) ** 81, Fraction(5, 4) * Fraction(2) ** (81 + exponent), 1)
    assert found is None or found >= Fraction(5, 4) * Fraction(2) ** exponent
    assert (found is None) == (exponent > 85)


# ------------------------------------------------------------------- textbooks


@pytest.mark.parametrize("name", TEXTBOOK)
@pytest.mark.parametrize(("epsilon", "delta"), [("0.9", "1e-6"), ("0.1", "1e-3"), ("0.5", "0.01")])
def test_a_formula_of_the_lectures_keeps_its_promise_with_more_noise(name: str, epsilon: str, delta: str) -> None:
    theirs = Gaussian(sensitivity=2, epsilon=epsilon, delta=delta, calibration=name)
    ours = Gaussian(sensitivity=2, epsilon=epsilon, delta=delta)
    assert theirs.sigma > 1.05 * ours.sigma
    for value in (3, 0.5):
        assert theirs.release(value).guarantee.delta(epsilon) < ours.release(value).guarantee.delta(epsilon)


def test_the_formulas_are_those_of_the_lectures() -> None:
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    assert float(textbook_variance("tail-bound", Fraction(4), epsilon, delta)) == pytest.approx(
        32 * math.log(2e6), rel=1e-12
    )
    assert float(textbook_variance("dwork-roth", Fraction(4), epsilon, delta)) == pytest.approx(
        32 * math.log(1.25e6), rel=1e-11
    )
    rho = 4 / float(textbook_variance("zcdp", Fraction(4), epsilon, delta))
    assert rho / 2 + math.sqrt(2 * rho * math.log(1e6)) == pytest.approx(0.5, rel=1e-12)
    loose = Fraction(9, 10)  # here 9/4 is the larger of the two
    assert float(textbook_variance("dwork-roth", Fraction(1), epsilon, loose)) == pytest.approx(9, rel=1e-11)
    assert textbook_variance("dwork-roth", Fraction(1), epsilon, loose) > 9, "c² must be strictly greater"


@pytest.mark.parametrize(
    ("name", "epsilon", "delta"),
    [
        ("tail-bound", "1.01", "1e-6"),
        ("tail-bound", "0.5", "0.51"),
        ("tail-bound", "8", "0.1"),
        ("dwork-roth", "1", "1e-6"),
        ("dwork-roth", "16", "1e-6"),
    ],
)
def test_a_formula_is_refused_where_its_theorem_does_not_hold(name: str, epsilon: str, delta: str) -> None:
    with pytest.raises(ParameterError, match=r"is proved only for .* Use calibration=\"exact\""):
        Gaussian(sensitivity=1, epsilon=epsilon, delta=delta, calibration=name)


def test_the_ends_of_the_range_are_allowed() -> None:
    Gaussian(sensitivity=10, epsilon=1, delta="0.5", calibration="tail-bound")
    Gaussian(sensitivity=1, epsilon="0.999", delta="1e-6", calibration="dwork-roth")
    Gaussian(sensitivity=1, epsilon=20, delta="1e-6", calibration="zcdp")


def test_rho_is_that_of_zcdp_and_the_lecture_calls_half_of_it_so() -> None:
    m = Gaussian(sensitivity=1, rho="0.1")
    assert m.variance == 5
    assert m.guarantee.renyi(2) == pytest.approx(0.2, rel=1e-9)
    lecture = Gaussian(sensitivity=1, epsilon=1, delta="1e-6", calibration="zcdp")
    rho = 1 / lecture.variance  # claim C7: N(0, Δ²/ρ)
    assert lecture.release(0.5).guarantee.renyi(2) == pytest.approx(float(2 * rho / 2), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0", "1", "50", "1000"])
def test_no_gaussian_noise_is_pure(epsilon: str) -> None:
    """Claim C8: δ(ε) > 0 for every ε."""
    guarantee = Gaussian(sensitivity=1, sigma=2).release(0.5).guarantee
    assert guarantee.delta(epsilon) > 0
    assert math.isinf(guarantee.epsilon(0))
