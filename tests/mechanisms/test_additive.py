"""Two lattices: which one a value gets, what it costs there, and the exact quantiles of the noise."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import AdjacencyMismatch, NotANumberError, ParameterError
from dither.events import Composed, Either, GaussianNoise, LaplaceNoise, Stated
from dither.mechanisms import Gaussian, Histogram, Laplace, Mechanism, Release, Staircase
from dither.pairs.discrete_noise import DiscreteLaplacePair as LaplacePair
from tests.mechanisms.entropy_use import nothing_drawn
from tests.oracle.lattice_sums import laplace_line, masses

WHOLE: list[Any] = [
    3,
    np.int8(3),
    np.uint64(3),
    [1, 2],
    [2**70, -1],
    [-1, 2**63],
    (5,),
    np.array([[1, 2]]),
    np.array([2**70, 1]),
]
REAL: list[Any] = [0.5, np.float32(0.5), Fraction(1, 3), Decimal("0.1"), [0.5], [1, 0.5], np.array([0.5], np.float32)]


@pytest.mark.parametrize("value", WHOLE, ids=str)
def test_integers_in_integers_out(value: Any) -> None:
    m = Laplace(sensitivity=2, epsilon=1)
    release = m.release(value)
    assert release.event == m.event_for(value) == LaplaceNoise(Fraction(2), Fraction(2), Fraction(1))
    noisy = np.asarray(release.value)
    assert noisy.shape == np.shape(value)
    assert all(isinstance(x, int) for x in noisy.ravel().tolist())
    low, high = release.interval(0.9)
    assert np.shape(low) == np.shape(high) == np.shape(value)


@pytest.mark.parametrize("value", REAL, ids=str)
def test_other_numbers_live_on_the_grid(value: Any) -> None:
    m = Laplace(sensitivity=2, epsilon=1, dimension=2)
    release = m.release(value)
    assert release.event == m.event_for(0.5) == LaplaceNoise(*_continuous(m))
    noisy = np.asarray(release.value)
    assert noisy.dtype == np.float64
    assert (np.mod(noisy * 2.0**39, 1) == 0).all()


def _continuous(m: Laplace) -> tuple[Fraction, Fraction]:
    """The scale and the sensitivity that stand in the event of real numbers: with rounding, on no lattice."""
    steps = m.for_reals.grid.l1_steps(2, 2)  # type: ignore[union-attr]
    rounded = (steps + steps % 2) * m.for_reals.step
    return rounded, rounded


def test_integers_move_by_whole_numbers() -> None:
    m = Laplace(sensitivity="2.9", scale=10)
    assert m.release(5).guarantee == dp.PureDP("0.2")
    assert m.guarantee.epsilon(0) == pytest.approx(0.29, rel=1e-10)
    assert Laplace(sensitivity="2.9", epsilon=1).release(5).event == LaplaceNoise(Fraction(2), Fraction(2), Fraction(1))
    assert Gaussian(sensitivity="2.9", sigma=10).release(5).guarantee.pair.sensitivity == 2  # type: ignore[attr-defined]


def test_real_arrays_say_how_many_coordinates_they_have() -> None:
    for m in (Laplace(sensitivity=1, epsilon=1, dimension=3), Gaussian(sensitivity=1, rho=1, dimension=3)):
        assert m.release([0.5, 1.5, 2.5]).value.shape == (3,)
        with pytest.raises(ParameterError, match=r"more real coordinates than dimension=3.*dimension=\.\.\."):
            m.release([0.5] * 4)
    assert Laplace(sensitivity=1, epsilon=1).release([1] * 4).value.shape == (4,)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_value_at_the_end_of_a_long_array_is_found_before_anything_is_drawn(bad: float) -> None:
    values = np.zeros(200_000)
    values[-1] = bad
    with nothing_drawn(), pytest.raises(ParameterError, match="must be finite"):
        Laplace(sensitivity=1, epsilon=1, dimension=200_000).release(values)


def test_integer_vectors_that_move_in_two_coordinates_say_so() -> None:
    with pytest.raises(ParameterError, match=r"may move in 2 coordinates at once.*dimension=2 or more"):
        Gaussian(sensitivity_squared=2, rho=1).release([1, 2])
    assert Gaussian(sensitivity_squared=2, rho=1, dimension=2).release([1, 2, 3]).value.shape == (3,)
    assert Gaussian(sensitivity=1, rho=1).release([1, 2, 3]).value.shape == (3,)


@pytest.mark.parametrize("dimension", [1, 10, 1000])
def test_a_promise_from_a_budget_is_exact_with_the_rounding(dimension: int) -> None:
    laplace = Laplace(sensitivity="0.3", epsilon="0.7", dimension=dimension)
    event = laplace.release(0.1).event
    assert isinstance(event, LaplaceNoise)
    assert event.sensitivity / event.scale == Fraction(7, 10) == laplace.release(0.1).guarantee.stated_epsilon  # type: ignore[attr-defined]
    assert event.sensitivity >= Fraction(3, 10) + (dimension - 1) * laplace.for_reals.step
    gaussian = Gaussian(sensitivity="0.3", epsilon="0.7", delta="1e-5", dimension=dimension)
    assert 1e-5 * (1 - 1e-9) < gaussian.release(0.1).guarantee.delta("0.7") <= 1e-5


@pytest.mark.parametrize("dimension", [2, 50])
def test_a_scale_pays_for_the_rounding(dimension: int) -> None:
    """The control: without the rounding term it would be exactly 0.1."""
    m = Laplace(sensitivity=1, scale=10, dimension=dimension)
    extra = Fraction(dimension - 1) * Fraction(1, 2**37) / 10
    assert m.guarantee.stated_epsilon == Fraction(1, 10) + extra
    sigma = Gaussian(sensitivity="0.5", sigma=1, dimension=dimension).guarantee
    assert dp.GaussianDP("0.5").epsilon("1e-6") < sigma.epsilon("1e-6") < dp.GaussianDP("0.5").epsilon("1e-6") + 1e-10


@pytest.mark.parametrize("rho", ["1e-6", "0.1", "7", "1000"])
@pytest.mark.parametrize("dimension", [1, 2, 1000])
@pytest.mark.parametrize("sensitivity", ["0.3", "1", "1.7", "1e6"])
def test_rho_is_kept_exactly_with_the_rounding(sensitivity: str, dimension: int, rho: str) -> None:
    """The grid of real numbers: D²/(2V) ≤ ρ for the D that the rounding leads to, and by no more than a hair."""
    m = Gaussian(sensitivity=sensitivity, rho=rho, dimension=dimension)
    assert m.guarantee == dp.ZCDP(rho)
    assert dp.ZCDP(rho).implies(m.guarantee)
    assert m.release(0.5).guarantee.implies(m.guarantee)
    square = m.for_reals.grid.l2_steps(sensitivity, dimension) ** 2  # type: ignore[union-attr]
    variance = m.for_reals.law.variance  # type: ignore[attr-defined]
    assert 1 - Fraction(1, 10**12) < square / (2 * variance) / Fraction(rho) <= 1
    if m.for_integers is not None:
        assert math.floor(Fraction(sensitivity) ** 2) / (2 * m.for_integers.law.variance) <= Fraction(rho)  # type: ignore[attr-defined]


def test_integers_too_coarse_for_a_profile_cost_rho() -> None:
    assert Gaussian(sensitivity=1, rho=2000).event == Stated("ZCDP", (Fraction(2000),), None)
    narrow = Gaussian(sensitivity_squared=2, sigma="0.01", dimension=2)
    assert narrow.release([1, 2]).guarantee == dp.ZCDP(10_000)


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.parametrize("multiple", [2, 5, 1000])
def test_a_coarser_lattice_of_laplace_noise_costs_more(steps: int, multiple: int) -> None:
    """Why `Laplace.event` covers real numbers; the control is a lattice that is no multiple."""
    coarse = LaplacePair(Fraction(steps), steps)
    fine = LaplacePair(Fraction(steps * multiple), steps * multiple)
    for k in range(200):
        epsilon = Fraction(k, 200)
        assert fine.delta_bracket(epsilon)[0] <= coarse.delta_bracket(epsilon)[1]
    two, three = LaplacePair(Fraction(2), 2), LaplacePair(Fraction(3), 3)
    assert any(three.delta_bracket(Fraction(k, 200))[0] > two.delta_bracket(Fraction(k, 200))[1] for k in range(200))


@pytest.mark.parametrize(("scale", "steps"), [("0.8", 1), ("2", 3), ("5", 4), ("3.3", 20)])
def test_continuous_laplace_noise_dominates_that_of_a_grid(scale: str, steps: int) -> None:
    """Why the event of real numbers may be continuous; the control leaves out the term 1/(4t²)."""
    t = Fraction(scale)
    lattice, bare = LaplacePair(t, steps), steps / t
    points = [bare * k / 400 for k in range(400)]
    line = [laplace_line(float(bare + 1 / (4 * t**2)), float(epsilon)) for epsilon in points]
    truth = [lattice.delta(epsilon) for epsilon in points]
    assert all(a <= b + 1e-12 for a, b in zip(truth, line, strict=True))
    assert any(a > laplace_line(float(bare), float(e)) + 1e-5 for a, e in zip(truth, points, strict=True))


def test_the_noise_on_the_grid_is_wider_by_the_hair_that_its_event_needs() -> None:
    for epsilon in ("0.01", "1", "30"):
        m = Laplace(sensitivity="0.7", epsilon=epsilon)
        t, distance = m.for_reals.law.scale, m.for_reals.grid.l1_steps("0.7")  # type: ignore[attr-defined, union-attr]
        assert distance / t + 1 / (4 * t**2) <= Fraction(epsilon)
        assert distance / t > Fraction(epsilon) * (1 - Fraction(1, 10**20))


@pytest.mark.parametrize(
    "m",
    [
        Laplace(sensitivity=1, epsilon=1),
        Laplace(sensitivity="2.5", scale=3, dimension=5),
        Gaussian(sensitivity=1, epsilon=1, delta="1e-6"),
        Gaussian(sensitivity=3, sigma=40, dimension=4),
        Gaussian(sensitivity=1, epsilon=8, delta="1e-6"),
        Gaussian(sensitivity=1, rho="0.1"),
        Staircase(sensitivity=3, epsilon=2),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")  # integer vectors are known by bounds only
def test_the_event_covers_every_kind_of_value(m: Any) -> None:
    for delta in ("1e-3", "1e-6", "1e-9"):
        cover = dp.compose([m.event]).epsilon(delta)
        for value in (1, 0.5):
            assert dp.compose([m.event_for(value)]).bracket(delta)[0] <= cover * (1 + 1e-9)


def test_mechanisms_compose_by_event_by_guarantee_and_as_they_are() -> None:
    m = Laplace(sensitivity=1, epsilon="0.1")
    things: list[Any] = [m, m.event, m.guarantee, m.release(3), m.event_for(3)]
    for thing in things:
        assert dp.compose([thing] * 10).epsilon(0) == pytest.approx(1, rel=1e-9)
    gaussian = Gaussian(sensitivity=1, sigma=10)
    exact = dp.GaussianDP.from_square(Fraction(10, 100)).epsilon("1e-6")
    for event in (gaussian.event_for(0.5), gaussian.event_for(3)):
        assert dp.compose([event] * 10).epsilon("1e-6") == pytest.approx(exact, rel=2e-3)
    assert isinstance(Composed((m.event, gaussian.event)), Composed)


def test_claims_c3_and_c29_gaussian_noise_composes_more_cheaply() -> None:
    """100 answers at the same expected error: ε at δ = 1e-6 in all."""
    laplace = Laplace(sensitivity=1, scale=20)
    gaussian = Gaussian(sensitivity=1, sigma=25)
    assert laplace.expected_error == pytest.approx(gaussian.expected_error, rel=0.01)
    costs = [dp.compose([m.event_for(0.5)] * 100).epsilon("1e-6") for m in (laplace, gaussian)]
    assert costs[0] < 5, "claim C3 says 100/20 = 5"
    assert costs[1] < costs[0]


def test_what_is_announced_depends_on_how_it_was_asked_for() -> None:
    assert isinstance(Gaussian(sensitivity=1, epsilon=1, delta="1e-6").guarantee, dp.ApproxDP)
    assert isinstance(Gaussian(sensitivity=1, rho=1).guarantee, dp.ZCDP)
    assert isinstance(Gaussian(sensitivity=1, rho=1).event, Either)
    assert isinstance(Gaussian(sensitivity_squared=2, rho=1, dimension=2).event, GaussianNoise | Stated)
    exact = dp.GaussianDP("1/3").epsilon("1e-6")
    assert Gaussian(sensitivity=1, sigma=3).guarantee.epsilon("1e-6") == pytest.approx(exact, rel=5e-3)
    assert Gaussian(sensitivity="0.5", sigma=3).guarantee.epsilon("1e-6") == pytest.approx(
        dp.GaussianDP("1/6").epsilon("1e-6"), rel=1e-9
    )


@pytest.mark.parametrize("m", [Laplace(sensitivity=1, scale=7), Gaussian(sensitivity=1, sigma=7)], ids=type)
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_error_is_the_exact_quantile(m: Any, beta: float) -> None:
    """On the integers: P[|X| > q] ≤ β, and q − 1 misses it. Sums of probabilities, point by point."""
    weight = (lambda x: np.exp(-x / 7)) if isinstance(m, Laplace) else (lambda x: np.exp(-x * x / 98))
    law = masses(weight, 1000)
    q = int(m.for_integers.reach(Fraction(repr(beta))))
    tails = [float(law[: 1000 - bound].sum() * 2) for bound in (q, q - 1)]
    assert tails[0] <= beta < tails[1]
    assert m.error(beta) >= q
    low, high = m.release(100).interval(Fraction(1) - Fraction(repr(beta)))
    assert high - low == 2 * q


@pytest.mark.parametrize("dimension", [1, 30, 4000])
def test_max_error_is_the_exact_quantile_of_the_maximum(dimension: int) -> None:
    """Claim C25: P[max |X_i| > q] ≤ β, and q − 1 misses it; the union bound gives the same or more."""
    m = Laplace(sensitivity=1, scale=7, dimension=dimension)
    law = masses(lambda x: np.exp(-x / 7), 1000)
    bound = m.max_error(0.05)
    q = int(bound)
    missed = [1 - float(1 - law[: 1000 - tried].sum() * 2) ** dimension for tried in (q, q - 1)]
    assert missed[0] <= 0.05 * (1 + 1e-9)
    assert missed[1] > 0.05
    assert bound <= m.error(0.05 / dimension)


@pytest.mark.parametrize("scale", ["0.05", "1", "7.5", "150"])
def test_expected_error_is_the_sum(scale: str) -> None:
    reach = int(60 * float(scale)) + 60
    x = np.abs(np.arange(-reach, reach + 1))
    laplace = Laplace(sensitivity=1, scale=scale)
    law = masses(lambda x: np.exp(-x / np.longdouble(scale)), reach)
    assert laplace.expected_error_of(laplace.for_integers) == pytest.approx(float((law * x).sum()), rel=1e-12)  # type: ignore[arg-type]
    gaussian = Gaussian(sensitivity=1, sigma=scale)
    law = masses(lambda x: np.exp(-x * x / (2 * np.longdouble(scale) ** 2)), reach)
    assert gaussian.expected_error_of(gaussian.for_integers) == pytest.approx(float((law * x).sum()), rel=1e-9)  # type: ignore[arg-type]


def test_an_interval_of_a_huge_float_allows_for_how_it_is_shown() -> None:
    m = Laplace(sensitivity=1, epsilon=1)
    release = m.release(1e300)
    low, high = release.interval(0.9)
    assert low <= 1e300 <= high
    low, high = Laplace(sensitivity=1, epsilon=1, dimension=2).release([1e300, 1.0]).interval("0.999999")
    assert low[0] <= 1e300 <= high[0]


@pytest.mark.parametrize("m", [Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, sigma=3)], ids=type)
def test_an_interval_near_the_ends_of_64_bits_does_not_wrap(m: Any) -> None:
    ends = [2**63 - 1, -(2**63), 0]
    low, high = Release(np.array(ends), m.event, m.guarantee, m).interval(0.95)
    reach = int(m.for_integers.reach(Fraction(1, 20)))
    assert reach > 0
    assert [int(x) for x in low] == [end - reach for end in ends]
    assert [int(x) for x in high] == [end + reach for end in ends]
    low, high = Release(np.array([5, -5]), m.event, m.guarantee, m).interval(0.95)
    assert low.dtype == high.dtype == np.int64
    wide = Laplace(sensitivity=2**80, epsilon=1)
    low, high = Release(np.array([[5]]), wide.event, wide.guarantee, wide).interval(0.95)
    assert low.shape == (1, 1)
    assert int(high[0, 0]) > 2**80


@pytest.mark.parametrize("adjacency", ["x", "replace one record", 1, True])
def test_an_adjacency_that_is_none_is_refused_at_once(adjacency: Any) -> None:
    for build in (
        lambda: Staircase(sensitivity=1, epsilon=1, adjacency=adjacency),
        lambda: Laplace(sensitivity=1, epsilon=1, adjacency=adjacency),
        lambda: Gaussian(sensitivity=1, sigma=1, adjacency=adjacency),
        lambda: Gaussian(sensitivity=1, epsilon=1, delta="1e-6", adjacency=adjacency),
    ):
        with nothing_drawn(), pytest.raises(ParameterError, match="adjacency must come from"):
            build()


@pytest.mark.parametrize("way", [{"sigma": "1e-12"}, {"rho": "1e100"}, {"rho": "1e308"}, {"sigma": "1e-150"}], ids=str)
def test_gaussian_noise_that_hides_nothing_is_refused_at_once(way: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="hides nothing"):
        Gaussian(sensitivity=1, **way)
    assert Gaussian(sensitivity=1, sigma="1e-7").event is not None


def test_claim_c26_a_delta_of_one_over_n_is_refused() -> None:
    budget: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "delta": "0.001"}
    for calibration in ("exact", "zcdp"):
        sizes: list[Any] = [1000, np.int64(10**6)]
        for n in sizes:
            with nothing_drawn(), pytest.raises(ParameterError, match=r"far below 1/n.*allow_large_delta=True"):
                Gaussian(**budget, n=n, calibration=calibration)
        allowed = Gaussian(**budget, n=1000, calibration=calibration, allow_large_delta=True)
        assert allowed == Gaussian(**budget, n=999, calibration=calibration)
    with pytest.raises(ParameterError, match="far below 1/n"):
        Gaussian(**budget, n=1000, allow_large_delta=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "10", float("nan")])
def test_claim_c26_an_n_that_is_no_number_of_people_is_refused(n: Any) -> None:
    for build in (
        lambda: Gaussian(sensitivity=1, epsilon=1, delta="1e-6", n=n),
        lambda: Gaussian(sensitivity=1, rho=1, n=n),
        lambda: Histogram(bins=3, epsilon=1, n=n),
        lambda: Histogram(epsilon=1, delta="1e-6", n=n),
    ):
        with nothing_drawn(), pytest.raises(ParameterError, match="n must be"):
            build()


@pytest.mark.parametrize(
    "m",
    [
        Gaussian(sensitivity=1, sigma=0.3),
        Gaussian(sensitivity=1, sigma="1/3", dimension=3),
        Gaussian(sensitivity="0.7", sigma=12345.678),
        Gaussian(sensitivity_squared="1/3", rho="1/7"),
        Gaussian(sensitivity=1, epsilon=0.3, delta="1e-6"),
        Gaussian(sensitivity=1, epsilon="1/2", delta="1e-6", calibration="dwork-roth"),
        Laplace(sensitivity="1/3", scale="2/7"),
        Laplace(sensitivity=1, epsilon=0.3, dimension=2),
        Staircase(sensitivity="1/3", epsilon=0.7),
    ],
    ids=str,
)
def test_what_is_printed_builds_the_same_again(m: Mechanism) -> None:
    names = {"Gaussian": Gaussian, "Laplace": Laplace, "Staircase": Staircase}
    assert eval(repr(m), names) == m


def test_the_given_sigma_is_kept() -> None:
    assert repr(Gaussian(sensitivity=1, sigma=0.3)) == "Gaussian(sensitivity_squared=1, sigma=0.3)"
    assert Gaussian(sensitivity=1, sigma=0.3).sigma == 0.3
    assert Fraction(Gaussian(sensitivity=1, sigma="1/3").sigma) > Fraction(1, 3), "rounded up where no float says it"


HUGE = Fraction(10**400)


@pytest.mark.parametrize(
    "value", [HUGE, -HUGE, Fraction(1, 10**400), HUGE + Fraction(1, 3)], ids=["+", "-", "0", "1/3"]
)
@pytest.mark.parametrize(
    "m",
    [
        Laplace(sensitivity=1, epsilon=1),
        Gaussian(sensitivity=1, epsilon=1, delta="1e-6"),
        Staircase(sensitivity=1, epsilon=1),
    ],
    ids=type,
)
def test_a_fraction_beyond_every_float_is_answered(m: Any, value: Fraction) -> None:
    """As the largest float, and the bound on that side is infinite."""
    release = m.release(value)
    assert isinstance(release.value, float)
    assert math.isfinite(release.value)
    low, high = release.interval("0.999999999999")
    assert low <= value <= high
    if isinstance(m, Staircase):
        return
    array = m.release(np.array([value], dtype=object))
    low, high = array.interval("0.999999999999")
    assert low[0] <= value <= high[0]


@pytest.mark.parametrize("value", ["sNaN", "-sNaN", "NaN", "Infinity", "1e100000"])
def test_a_decimal_that_is_no_number_is_refused_as_such(value: str) -> None:
    for m in (Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, sigma=1), Staircase(sensitivity=1, epsilon=1)):
        for given in (Decimal(value), [Decimal(value)], np.array([Decimal(value)], dtype=object)):
            with nothing_drawn(), pytest.raises(NotANumberError, match="finite"):
                m.release(given)


def test_adjacency_is_carried_and_kept_apart() -> None:
    one, other = (
        Laplace(sensitivity=1, epsilon=1, adjacency=ADD_REMOVE),
        Gaussian(sensitivity=1, rho=1, adjacency=REPLACE_ONE),
    )
    assert one.release(1).event.adjacency == ADD_REMOVE
    with pytest.raises(AdjacencyMismatch):
        dp.compose([one.event, other.event])


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3", "6"])
def test_staircase_noise_is_never_worse_than_laplace_noise(epsilon: str) -> None:
    stairs, laplace = Staircase(sensitivity=100, epsilon=epsilon), Laplace(sensitivity=100, epsilon=epsilon)
    assert stairs.expected_error <= laplace.expected_error * (1 + 1e-9)
    if float(epsilon) >= 3:
        assert stairs.expected_error < 0.75 * laplace.expected_error


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(7, "1"), (1, "2"), (12, "0.3")])
def test_staircase_noise_that_is_drawn_costs_epsilon(sensitivity: int, epsilon: str) -> None:
    noising = Staircase(sensitivity=sensitivity, epsilon=epsilon).for_integers
    assert noising is not None
    heights = [float(noising.law.pmf(x)) for x in range(-60, 61)]
    ratios = [heights[x] / heights[x + move] for move in range(1, sensitivity + 1) for x in range(len(heights) - move)]
    assert max(ratios) == pytest.approx(np.exp(float(epsilon)), rel=1e-12)


@pytest.mark.parametrize("sensitivity", ["1e6", "1000003", "1e20", "1e100", "1e250"])
def test_large_sensitivities_cost_no_more_noise_than_they_must(sensitivity: str) -> None:
    """1000003 is prime: the event that covers integers and reals is then that of randomized response."""
    m = Laplace(sensitivity=sensitivity, epsilon=1)
    assert m.expected_error == pytest.approx(float(sensitivity), rel=1e-6)
    assert dp.compose([m.event]).epsilon(0) == pytest.approx(1, rel=1e-9)


def test_noise_of_any_width_is_calibrated_quickly() -> None:
    for epsilon, delta in (("1e-3", "1e-300"), ("1e-12", "1e-6"), ("1e-3", "1e-6"), ("1000", "0.999")):
        m = Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
        for value in (3, 0.5):
            assert m.release(value).guarantee.delta(epsilon) <= Fraction(delta)
    assert Gaussian(sensitivity="1e100", epsilon=1, delta="1e-6").expected_error == pytest.approx(3.3708e100, rel=1e-4)
    assert Gaussian(sensitivity=1, sigma=2).guarantee.epsilon(0) == float("inf")


def test_a_mechanism_is_a_mechanism() -> None:
    assert issubclass(Laplace, Mechanism)
    assert dp.Laplace is Laplace
