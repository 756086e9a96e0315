"""The joint profile of a test and its answer, against enumeration."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from dither.accounting import WideBracket, compose
from dither.errors import ParameterError
from dither.events import Event, GaussianNoise, LaplaceNoise, Repeated, Stated, TestAndRelease
from dither.exact import Ball, ball, lower, precision, upper
from dither.pairs import tested as tested_pairs
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import PoissonRemovePair
from dither.pairs.tested import TestedPair
from dither.pairs.two_point import approximate
from tests.oracle import tested as oracle

Noise = DiscreteLaplacePair | DiscreteGaussianPair
CASES: dict[str, tuple[Noise, int, Noise]] = {
    "laplace": (DiscreteLaplacePair(Fraction(1)), 4, DiscreteLaplacePair(Fraction(5, 2), 3)),
    "laplace, at once": (DiscreteLaplacePair(Fraction(1, 2)), 0, DiscreteLaplacePair(Fraction(2), 1)),
    "gaussian": (DiscreteGaussianPair(Fraction(4)), 5, DiscreteGaussianPair(Fraction(9), 2)),
    "gaussian, narrow": (DiscreteGaussianPair(Fraction(1, 3)), 2, DiscreteGaussianPair(Fraction(2), 1)),
    "mixed": (DiscreteLaplacePair(Fraction(1)), 6, DiscreteGaussianPair(Fraction(16), 3)),
}
EPSILONS = [Fraction(x) for x in ("0", "0.7", "1.8", "4", "30")]


def _weight(pair: Noise) -> oracle.Weight:
    return oracle.laplace(pair.scale) if isinstance(pair, DiscreteLaplacePair) else oracle.gaussian(pair.variance)


@functools.cache
def _true(case: str, epsilon: Fraction) -> float:
    test, threshold, answer = CASES[case]
    found = oracle.delta(epsilon, _weight(test), threshold, _weight(answer), answer.sensitivity, 75, threshold + 26)
    return float(found)


@pytest.mark.parametrize("case", CASES)
def test_the_profile_is_that_of_all_outcomes(case: str) -> None:
    pair = TestedPair(*CASES[case])
    for epsilon in EPSILONS:
        with precision(128):
            found = pair.profile(ball(epsilon))
        assert float(found) == pytest.approx(_true(case, epsilon), rel=2e-9, abs=1e-15)
        low, high = pair.delta_bracket(epsilon)
        assert low <= float(found) <= high <= float(found) * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", ["threshold", "test", "answer"])
def test_what_is_a_little_weaker_costs_more(case: str, change: str) -> None:
    """The oracle of a smaller threshold or of ten percent less noise exceeds the profile of the right one somewhere."""
    test, threshold, answer = CASES[case]
    if change == "threshold" and not threshold:
        pytest.skip("a threshold below 0 is refused")
    worse = TestedPair(
        _quieter(test) if change == "test" else test,
        threshold - (change == "threshold"),
        _quieter(answer) if change == "answer" else answer,
    )
    assert any(_delta(worse, epsilon) > 1.001 * _true(case, epsilon) for epsilon in EPSILONS)


def _quieter(pair: Noise) -> Noise:
    if isinstance(pair, DiscreteLaplacePair):
        return DiscreteLaplacePair(pair.scale * Fraction(9, 10), pair.sensitivity)
    return DiscreteGaussianPair(pair.variance * Fraction(81, 100), pair.sensitivity)


def _delta(pair: Pair, epsilon: Fraction) -> float:
    return pair.delta(epsilon)


@pytest.mark.parametrize("case", CASES)
def test_floats_bound_it_from_both_sides(case: str) -> None:
    pair = TestedPair(*CASES[case])
    losses = np.linspace(-3, 5, 81)
    dots, tails, leak = pair.dots(losses), pair.tails(losses), float(pair.infinity)
    for i, loss in enumerate(losses.tolist()):
        with precision(128):
            exact = float(pair.profile(Ball(loss)))
        assert dots[i] + leak >= exact * (1 - 1e-9)
        assert tails.p[i] - tails.scaled_q[i] + leak <= exact * (1 + 1e-9)
    at = float(EPSILONS[1])
    assert pair.estimate(at) == pytest.approx(pair.delta(EPSILONS[1]), rel=0.05)


def test_no_answer_tells_too() -> None:
    """Where an answer gives half of itself away, whatever ε, having none says more than it would elsewhere."""
    threshold, pair = 1, TestedPair(DiscreteGaussianPair(Fraction(1, 4)), 1, approximate(Fraction(0), Fraction(1, 2)))
    with ctx.workprec(200):
        law = oracle.masses(oracle.gaussian(Fraction(1, 4)), 30)
        chances = [float(sum(p for x, p in law.items() if d + x > threshold)) for d in range(8)]
    neighbours = [(d, e) for d in range(8) for e in (d - 1, d + 1) if 0 <= e < 8]
    for epsilon in (0.0, 0.7, 2.0):
        odds = math.exp(epsilon)
        sides = [(chances[d], chances[e]) for d, e in neighbours]
        best = max(max((1 - p) - odds * (1 - q), 0) + p / 2 + max(p - odds * q, 0) / 2 for p, q in sides)
        assert pair.delta(epsilon) == pytest.approx(max(best, 0.5, chances[0]), rel=1e-9)
        assert best > 0.51


def test_wide_noise_is_as_good() -> None:
    """Thousands of distances: blocks must not change the answer, beside a look at each distance."""
    pair = TestedPair(DiscreteGaussianPair(Fraction(40**2)), 190, GaussianPair(Fraction(1, 36)))
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        with precision(128):
            each = [pair._between(ball(epsilon), d, d) for d in range(1, 700)]
            best = max(map(float, [*each, pair.answer.profile(ball(epsilon)), pair.passes(0)]))
            assert float(pair.profile(ball(epsilon))) == pytest.approx(best, rel=1e-9)


def test_bounds_of_blocks_hold_for_each_distance_inside() -> None:
    for case in CASES:
        pair = TestedPair(*CASES[case])
        with precision(128):
            for epsilon in (Ball(-0.5), Ball(0), Ball(0.7), Ball(2)):
                for first, last in ((1, 5), (3, 9), (2, None), (6, None)):
                    bound = pair._between(epsilon, first, last)
                    inside = range(first, (last or 40) + 1)
                    assert all(not pair._between(epsilon, d, d) > bound for d in inside)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_accounting_reads_the_event_as_this_pair(noise: str) -> None:
    if noise == "laplace":
        test: Event = LaplaceNoise(Fraction(2), step=Fraction(1))
        answer: Event = LaplaceNoise(Fraction(6), Fraction(3))
        pair = TestedPair(DiscreteLaplacePair(Fraction(2)), 26, LaplacePair(Fraction(1, 2)))
    else:
        test = GaussianNoise(variance=Fraction(36), step=Fraction(1))
        answer = GaussianNoise(variance=Fraction(144), sensitivity_squared=Fraction(4))
        pair = TestedPair(DiscreteGaussianPair(Fraction(36)), 28, GaussianPair(Fraction(1, 36)))
    event = TestAndRelease(test, Fraction(26 if noise == "laplace" else 28), answer)
    assert compose([event]).delta(1) == pair.delta(1)
    one, several = compose([event]), compose([Repeated(event, 8)])
    assert one.epsilon(1e-4) < several.epsilon(1e-4) <= 8 * one.epsilon(1e-4 / 8)
    with pytest.warns(WideBracket, match="known by bounds only"):
        lower, upper = several.bracket(1e-4)
    assert lower <= upper


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        (LaplaceNoise(Fraction(2)), LaplaceNoise(Fraction(2))),
        (LaplaceNoise(Fraction(2), Fraction(2), Fraction(1)), LaplaceNoise(Fraction(2))),
        (LaplaceNoise(Fraction(2), step=Fraction(1)), Repeated(LaplaceNoise(Fraction(2)), 2)),
        (GaussianNoise(variance=Fraction(2)), Stated("PureDP", (Fraction(1),))),
    ],
    ids=str,
)
def test_other_tests_are_accounted_for_part_by_part(test: LaplaceNoise, answer: LaplaceNoise) -> None:
    whole = compose([TestAndRelease(test, Fraction(30), answer)]).epsilon(1e-3)
    assert compose([answer]).epsilon(1e-3) <= whole < math.inf


def test_what_it_cannot_be_made_of_is_refused() -> None:
    noise, answer = DiscreteLaplacePair(Fraction(1)), LaplacePair(Fraction(1))
    with pytest.raises(ParameterError, match="sensitivity 1"):
        TestedPair(DiscreteLaplacePair(Fraction(1), 2), 3, answer)
    with pytest.raises(ParameterError, match="threshold"):
        TestedPair(noise, -1, answer)
    with pytest.raises(ParameterError, match="both directions"):
        TestedPair(noise, 3, PoissonRemovePair(answer, Fraction(1, 2)))


def test_an_answer_that_may_give_everything_away_costs_that_too() -> None:
    """A finite ε for a δ below that of the answer would be a lie, however often the two are composed."""
    leaky = Stated("ApproxDP", (Fraction(1, 2), Fraction(1, 100)))
    event = TestAndRelease(LaplaceNoise(Fraction(1), step=Fraction(1)), Fraction(20), leaky)
    pair, places = (
        TestedPair(DiscreteLaplacePair(Fraction(1)), 20, approximate(Fraction(1, 2), Fraction(1, 100))),
        [0.0, 1.0, 3.0],
    )
    for place, dot in zip(places, pair.dots(np.array(places)).tolist(), strict=True):
        assert dot + 0.01 == pytest.approx(pair.delta(place), rel=1e-9)
    for times in (1, 3):
        whole = compose([Repeated(event, times)])
        assert whole.epsilon(Fraction(99, 10_000)) == math.inf
        assert whole.delta(100) >= 1 - 0.99**times - 1e-12


@pytest.mark.parametrize("splits", [0, 1, 2, 3, 4, 6, 8, 12])
def test_a_search_that_gives_up_is_still_above(splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested_pairs, "_MOST_SPLITS", splits)
    for threshold, answer, epsilon in (
        (8, GaussianPair(Fraction(1, 16)), "0.5"),
        (7, LaplacePair(Fraction(1, 20)), "0.05"),
    ):
        pair = TestedPair(DiscreteLaplacePair(Fraction(2)), threshold, answer)
        with precision(128):
            place = ball(Fraction(epsilon))
            best = max(lower(pair._between(place, d, d)) for d in range(1, threshold + 20))
            assert upper(pair.profile(place)) >= best
