"""Numbers that the tests of dp_accounting 0.6 expect of its accountants, written down as data, against our brackets.

Each is what that library promises to within a few digits: of its own rounding, or of the digits that were written down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from dither import events
from dither.accounting import compose
from dither.accounting.composition import of_pairs
from dither.adjacency import REPLACE_ONE
from dither.exact.negative_binomial import stop_for
from dither.pairs.gaussian import GaussianPair
from dither.pairs.poisson_replaced import ReplacedGaussianPair
from dither.pairs.subsampled import MixturePair, PoissonRemovePair


@dataclass(frozen=True)
class Figure:
    """δ at ε or ε at δ, and by how much the figure may be off."""

    event: events.Event
    epsilon: float
    delta: float
    off: float
    asked: str = "epsilon"


def mixture(sigma: int, amounts: tuple[int, ...], shares: tuple[str, ...]) -> events.Event:
    return events.MixtureOfGaussians(variance=sigma**2, sensitivities=amounts, probabilities=shares)


LAPLACES = events.Composed((events.Repeated(events.LaplaceNoise(1), 3), events.Repeated(events.LaplaceNoise(2), 2)))
DISCRETE = events.Composed(
    (
        events.Repeated(events.LaplaceNoise(1, step=1), 3),
        events.Repeated(events.LaplaceNoise(2, step=1), 2),
    )
)
MIXTURES = events.Composed(
    (
        events.Repeated(mixture(1, (0, 1, 2), ("0.2", "0.6", "0.2")), 3),
        events.Repeated(mixture(2, (0, 2, 3), ("0.33", "0.34", "0.33")), 2),
    )
)
SAMPLED = events.PoissonSampled(events.GaussianNoise.of(Fraction(1, 2)), "0.2")
SAMPLED_LAPLACE = events.PoissonSampled(events.LaplaceNoise(Fraction(1, 2)), "0.2")

FIGURES = {
    "Gaussian": Figure(events.Repeated(events.GaussianNoise(variance=3), 3), 1, 0.126936, 1e-6, "delta"),
    "sampled Gaussian": Figure(events.Repeated(SAMPLED, 3), 1, 0.15594, 1e-5, "delta"),
    "Laplace": Figure(LAPLACES, 4, 1e-14, 1e-6),
    "sampled Laplace": Figure(events.Repeated(SAMPLED_LAPLACE, 3), 2.46964, 1e-14, 1e-5),
    "discrete Laplace": Figure(DISCRETE, 4, 0, 1e-9),
    "mixture of Gaussians": Figure(MIXTURES, 17.193115, 1e-6, 1e-6),
    **{
        f"Laplace, {size}": Figure(events.LaplaceNoise(1 / Fraction(size)), float(size), 0, 1e-9)
        for size in ("1", "100")
    },
    "many Laplace": Figure(events.Repeated(events.LaplaceNoise(1), 100), 100, 0, 1e-9),
}


@pytest.mark.parametrize("name", FIGURES)
def test_what_the_peer_expects_is_inside(name: str) -> None:
    figure = FIGURES[name]
    whole = compose([figure.event], relative_width=1e-5)
    if figure.asked == "delta":
        found, expected = whole.delta_bracket(figure.epsilon), figure.delta
    else:
        found, expected = whole.bracket(figure.delta), figure.epsilon
    assert found.lower <= expected + figure.off
    assert expected - figure.off <= found.upper


@pytest.mark.parametrize(
    ("keep", "answers", "epsilon"),
    [(1 - 4 / (3 + math.e), 4, 1.0)],
)
def test_randomized_response(keep: float, answers: int, epsilon: float) -> None:
    event = events.RandomizedAnswer(Fraction(keep), answers, adjacency=REPLACE_ONE)
    assert compose([event]).epsilon(0) == pytest.approx(epsilon, rel=1e-12)


ORDERS = (1.5, 2.5, 5, 50, 100)
SAMPLED_50_TIMES = events.Repeated(events.PoissonSampled(events.GaussianNoise.of(Fraction(5, 2)), "0.01"), 50)
CURVES: dict[str, tuple[events.Event, tuple[float, ...], float]] = {
    # At order 1.5 it expects 6.70579741e-04, which is 3 % too much: here stands the integral, in 30 digits.
    "sampled Gaussian": (SAMPLED_50_TIMES, (6.50070897e-04, 1.08548710e-03, 2.18075656e-03, 2.38460375e-02), 0.02),
    "randomized response over 10": (
        events.RandomizedAnswer("0.7", 10, REPLACE_ONE),
        (2.6946320226546314, 2.983865364028855, 3.11316970070507, 3.1854244842182466, 3.1886682560677593),
        1e-4,
    ),
    "randomized response over 20": (
        events.RandomizedAnswer("0.95", 20, REPLACE_ONE),
        (5.850317703374384, 5.910360162307462, 5.930633082131939, 5.94180620835157, 5.942307807732949),
        1e-4,
    ),
    "randomized response over 3": (
        events.RandomizedAnswer("0.99", 3, REPLACE_ONE),
        (5.684126770932727, 5.692634596034571, 5.695421239467805, 5.696956976543137, 5.697025920968522),
        1e-4,
    ),
    "zCDP with xi": (
        events.Composed((events.Stated("ZCDP", ("2.71828", "3.14159")), events.Stated("ZCDP", ("6.28319", "1.23456")))),
        tuple(3.14159 + 1.23456 + order * (2.71828 + 6.28319) for order in ORDERS),
        1e-12,
    ),
}
"""Rényi curves that it expects to within 1e-4, and by how much ours may be above them."""


@pytest.mark.parametrize("name", CURVES)
def test_renyi_curves_that_the_peer_expects(name: str) -> None:
    event, expected, above = CURVES[name]
    whole = compose([event])
    for order, figure in zip(ORDERS, expected, strict=False):
        assert figure * (1 - 1e-4) <= whole.renyi(order) <= figure * (1 + 1e-4 + above), order


@pytest.mark.parametrize(
    "event",
    [
        events.PoissonSampled(events.GaussianNoise.of(1), 0),
        events.PoissonSampled(events.LaplaceNoise(1), 0),
        events.FixedSizeSampled(events.GaussianNoise.of(1), 0, 1000),
    ],
    ids=str,
)
def test_what_sees_nobody_costs_nothing(event: events.Event) -> None:
    assert compose([event]).epsilon(0) == 0
    assert compose([event]).delta(0) == 0


@pytest.mark.parametrize("shape", ["0", "0.5", "1", "2"])
def test_the_best_of_one_run_is_that_run(shape: str) -> None:
    one = events.GaussianNoise.of(1)
    best = events.RepeatAndSelect(one, shape, stop_for(Fraction(shape), Fraction(1)))
    assert compose([best]).epsilon("1e-6") == pytest.approx(compose([one]).epsilon("1e-6"), rel=1e-6)


@pytest.mark.parametrize(("mean", "shape"), [(1000, "0"), (1000, "1"), (1000, "0.5"), (100, "2"), (1000, "5")])
def test_the_best_of_many_pure_runs(mean: int, shape: str) -> None:
    """It expects (2 + shape)·ε, by the corollary that ours follows from, too."""
    stop = stop_for(Fraction(shape), Fraction(mean))
    event = events.RepeatAndSelect(events.LaplaceNoise(1), shape, stop)
    assert compose([event]).epsilon(0) == pytest.approx(2 + float(shape), rel=1e-12)


@pytest.mark.parametrize(("multiplier", "published"), [("1.13", 19.74), ("8.83", 2.04)])
def test_trees_over_1600_steps(multiplier: str, published: float) -> None:
    """It expects less than was published with the method, and so it is."""
    event = events.TreeNoise(variance=Fraction(multiplier) ** 2, steps=1600)
    assert compose([event]).epsilon("1e-6") < published


def test_what_a_renyi_curve_makes_of_gaussian_noise_is_larger() -> None:
    """Its Rényi accountant says that this noise is (1, 1e-6)-DP; the exact ε is 7 % smaller."""
    exact = compose([events.GaussianNoise.of(Fraction("4.530877117"))]).bracket("1e-6")
    assert exact.upper < 1
    assert exact.lower > 0.92


def test_truncated_batches_cost_less_here() -> None:
    """It expects 17.904330, for which it replaces the pair of J ≥ B by one that is looser, as its own comment says.

    There P is (1−r)N(0) + rN(2) against (1−r)N(0) + rN(−2), here against N(0): see pairs/truncated.py. With its pair we
    find its number: the mixture of both, three times and twice.
    """
    ours = events.Composed(
        (
            events.Repeated(events.TruncatedPoissonSampled(events.GaussianNoise.of(1), "0.5", 2, 4), 3),
            events.Repeated(events.TruncatedPoissonSampled(events.GaussianNoise.of(1), "0.5", 2, 3), 2),
        )
    )
    assert 16.45 < compose([ours], relative_width=1e-4).epsilon("1e-6") < 16.46 < 17.904330
    theirs = of_pairs([(_with_its_pair(2, 4), 3), (_with_its_pair(2, 3), 2)], relative_width=1e-5).bracket("1e-6")
    assert theirs.lower - 2e-4 <= 17.904330 <= theirs.upper + 2e-4


def _with_its_pair(batch: int, population: int) -> MixturePair:
    """Where a record is removed; half of the records are drawn."""
    chances = [Fraction(math.comb(population - 1, k), 2 ** (population - 1)) for k in range(population)]
    share = sum(chances[batch:], Fraction(0))
    more = sum(
        (Fraction(math.comb(population, k), 2**population) for k in range(batch + 1, population + 1)), Fraction(0)
    )
    moved = more * batch / population / share
    pairs = (PoissonRemovePair(GaussianPair(Fraction(1)), Fraction(1, 2)), ReplacedGaussianPair(Fraction(4), moved))
    return MixturePair((1 - share, share), pairs)
