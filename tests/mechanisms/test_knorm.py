"""Noise in the norm in which a vector moves: the exact law on small lattices, its grid, and its error."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import gamma

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.noise import entropy
from dither.noise.normed import NORMED, EuclideanNoise
from tests.noise.fit import ALARM

NORMS: dict[str, Callable[[tuple[int, ...]], float]] = {
    "l2": lambda x: math.hypot(*x),
    "linf": lambda x: max(map(abs, x)),
}


def _fit(drawn: list[tuple[int, ...]], norm: str, scale: float, dimension: int, reach: int) -> float:
    """The p-value of a chi-squared test of all lattice points that are expected ten times or more, and the others."""
    points = list(itertools.product(range(-reach, reach + 1), repeat=dimension))
    weights = np.array([math.exp(-NORMS[norm](x) / scale) for x in points])
    expected = weights / weights.sum() * len(drawn)
    number = {x: i for i, x in enumerate(points)}
    seen = np.bincount([number[x] for x in drawn if x in number], minlength=len(points))
    often = expected >= 10
    rest = float(expected[~often].sum()), len(drawn) - int(seen[often].sum())
    chi = float(np.square(seen[often] - expected[often]).dot(1 / expected[often])) + (rest[1] - rest[0]) ** 2 / rest[0]
    return float(chdtrc(int(often.sum()), chi))


@pytest.mark.parametrize(("dimension", "scale", "reach"), [(2, Fraction(3, 2), 40), (3, Fraction(4, 5), 16)])
@pytest.mark.parametrize("norm", NORMS)
def test_the_law_is_exact_on_the_lattice(norm: str, dimension: int, scale: Fraction, reach: int) -> None:
    """10^5 draws against every point; scales that are 10 % wrong fail. False alarms: 1e-11 in each of four tests."""
    drawn = [tuple(row) for row in NORMED[norm](scale, dimension).sample(100_000).tolist()]
    assert _fit(drawn, norm, float(scale), dimension, reach) > ALARM
    for wrong in (0.9, 1.1):
        assert _fit(drawn, norm, float(scale) * wrong, dimension, reach) < ALARM


def test_other_norms_would_be_seen() -> None:
    drawn = [tuple(row) for row in NORMED["linf"](Fraction(3, 2), 2).sample(100_000).tolist()]
    assert _fit(drawn, "l2", 1.5, 2, 40) < ALARM


def test_ties_of_doubles_are_settled_in_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin of everything no double decides, and the law is the same."""
    monkeypatch.setattr("dither.noise.normed._MARGIN", 1.0)
    for norm in NORMS:
        drawn = [tuple(row) for row in NORMED[norm](Fraction(1), 2).sample(2_000).tolist()]
        assert _fit(drawn, norm, 1.0, 2, 30) > ALARM
        assert _fit(drawn, norm, 1.6, 2, 30) < ALARM


@pytest.mark.parametrize("dimension", [2, 7, 100, 1001])
def test_most_vectors_are_kept_on_the_grid_of_a_release(dimension: int) -> None:
    """About 94 in 100; of 300, fewer than 240 by chance once in 10^15."""
    law, source = EuclideanNoise(Fraction(2) ** 40 * 4 / 3, dimension), entropy.current()
    cells = law._cells.draw_many(source, 300)
    assert int(law._accepts(source, cells, law._gaussians(source, cells)).sum()) > 240


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.999999999999"])
def test_the_budget_is_kept_exactly(norm: str, epsilon: str) -> None:
    for sensitivity in ("1", "0.3", "0.99999999999"):
        made = dp.KNorm(sensitivity=sensitivity, dimension=3, norm=norm, epsilon=epsilon, adjacency=ADD_REMOVE)
        assert made.guarantee == dp.PureDP(epsilon, adjacency=ADD_REMOVE)
        assert 1 <= made.scale / (Fraction(sensitivity) / Fraction(epsilon)) < 1 + Fraction(1, 10**11)


@pytest.mark.parametrize("norm", NORMS)
def test_a_scale_is_taken_as_it_is_given(norm: str) -> None:
    made = dp.KNorm(sensitivity=1, dimension=4, norm=norm, scale=3)
    assert made.scale == 3
    assert Fraction(1, 3) <= made.epsilon < Fraction(1, 3) * (1 + Fraction(1, 10**11))
    assert repr(made).startswith(f"KNorm(sensitivity=1, dimension=4, norm='{norm}', epsilon=")


def test_neighbours_on_the_grid_are_no_farther_than_is_paid_for() -> None:
    """Values at the full sensitivity, in odd directions, after rounding; 300 of them."""
    rng = np.random.default_rng(7)
    for norm, length in (("l2", np.linalg.norm), ("linf", lambda x: np.abs(x).max())):
        made = dp.KNorm(sensitivity=1, dimension=5, norm=norm, epsilon=1)
        for _ in range(300):
            move = rng.normal(size=5)
            here = rng.normal(size=5) * 100
            there = here + move / length(move) * 0.999999999
            steps = made._grid.round(here) - made._grid.round(there)
            assert length(steps.astype(float)) <= float(made._steps(made.scale))


def test_answers_are_vectors_of_floats_with_one_interval_for_all() -> None:
    made = dp.KNorm(sensitivity=1, dimension=3, epsilon=1)
    release = made.release([1, Fraction(1, 3), -2.5])
    assert release.value.dtype == np.float64
    low, high = release.interval("0.999999999999")
    assert (low <= np.array([1, 1 / 3, -2.5])).all()
    assert (np.array([1, 1 / 3, -2.5]) <= high).all()
    assert made.error(0.05) == pytest.approx(gamma(3).isf(0.05), rel=1e-9)
    assert made.expected_error == pytest.approx(3, rel=1e-9)


def test_in_many_dimensions_it_is_a_good_deal_better_than_laplace_noise() -> None:
    """A vector that moves by 1 in ℓ₂ may move by √k in ℓ₁: the ℓ₂ error k against k√(2k), for k = 50."""
    made = dp.KNorm(sensitivity=1, dimension=50, epsilon=1)
    laplace = dp.Laplace(sensitivity=Fraction(math.isqrt(50 * 10**8) + 1, 10**4), epsilon=1, dimension=50)
    assert made.expected_error < 51
    assert math.sqrt(50 * 2) * float(laplace.scale) > 70
