"""Mixtures of Gaussians where it is hardest: flat losses, far tails, balls with a radius, and what equals a sample."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.exact import Ball, precision
from dither.pairs.gaussian import GaussianPair
from dither.pairs.gaussian_mixture import GaussianMixturePair
from dither.pairs.subsampled import PoissonRemovePair
from tests.pairs.test_every_pair import check_tails_at

SELDOM = GaussianMixturePair((Fraction(0), Fraction(1)), (Fraction(99, 100), Fraction(1, 100)))
THREE = GaussianMixturePair(
    (Fraction(0), Fraction(1, 4), Fraction(4)), (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
)


@pytest.mark.parametrize("square", [Fraction(1, 10**4), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)])
def test_two_amounts_are_a_poisson_sample(square: Fraction, rate: Fraction) -> None:
    mixed = GaussianMixturePair((Fraction(0), square), (1 - rate, rate))
    sampled = PoissonRemovePair(GaussianPair(square), rate)
    for one, other in ((mixed, sampled), (mixed.swapped(), sampled.swapped())):
        for epsilon in (Fraction(0), Fraction(1, 100), Fraction(1), Fraction(5)):
            (low, high), (below, above) = one.delta_bracket(epsilon), other.delta_bracket(epsilon)
            assert low <= above
            assert below <= high
        assert one.support == pytest.approx(other.support, rel=1e-12)


def test_of_a_ball_the_profile_holds_every_value() -> None:
    for pair in (SELDOM, SELDOM.swapped(), THREE, THREE.swapped()):
        with precision(200):
            wide = pair.profile(Ball(0.25, 0.125))
            for inside in (0.125, 0.2, 0.375):
                assert wide.contains(pair.profile(Ball(inside)))


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-12])
def test_where_losses_are_flat_few_bits_hold_the_value_of_many(gap: float) -> None:
    """Just above the least loss the place is far out, and how far depends on every digit."""
    for pair in (SELDOM, THREE):
        least = math.log(pair._at_rest)
        for side, epsilon in ((pair, least + gap), (pair.swapped(), -least - gap)):
            with precision(400):
                truth, place = side.profile(Ball(epsilon)), side._place(Ball(least + gap))
            with precision(64):
                assert side.profile(Ball(epsilon)).overlaps(truth)
                assert side._place(Ball(least + gap)).contains(place)


def test_far_tails_are_within_their_error() -> None:
    """A place 35 deviations out has a loss near 0 if the amounts are small: there x² is what is rounded."""
    small = GaussianMixturePair((Fraction(1, 10**4), Fraction(1, 10**6)), (Fraction(1, 3), Fraction(2, 3)))
    for pair in (small, small.swapped(), THREE):
        sign = -1 if pair.is_swapped else 1
        means, logs = pair._floats
        places = sign * np.linspace(20, 36, 40)
        losses = np.sort([sign * math.log(np.exp(logs + means * (x - means / 2)).sum()) for x in places])
        check_tails_at(pair, losses)


def test_left_of_every_loss_all_is_in_the_test() -> None:
    losses = np.array([-3.0, -1.0])
    found = THREE.tails(losses)
    assert found.p.tolist() == [1, 1]
    assert found.scaled_q.tolist() == np.exp(losses).tolist()
    assert THREE.swapped().tails(-losses[::-1]).p.tolist() == [0, 0]


def test_composition_is_bracketed_tightly() -> None:
    event = dp.events.MixtureOfGaussians(variance=4, sensitivities=(0, 1, 2), probabilities=("0.98", "0.015", "0.005"))
    low, high = dp.compose([dp.events.Repeated(event, 1000)]).bracket(1e-6)
    assert 0 < low <= high <= low * 1.001
    once = dp.events.MixtureOfGaussians(variance=4, sensitivities=(2, 2), probabilities=("0.5", "0.5"))
    assert dp.compose([once]).epsilon(1e-6) == dp.compose([dp.events.GaussianNoise(variance=1)]).epsilon(1e-6)


def test_more_probability_of_a_larger_amount_costs_more() -> None:
    squares = (Fraction(0), Fraction(1), Fraction(4))
    less, more = (
        GaussianMixturePair(squares, (Fraction(1, 2), Fraction(1, 2) - share, share))
        for share in (Fraction(1, 10), Fraction(1, 5))
    )
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
        assert less.delta_bracket(epsilon)[1] < more.delta_bracket(epsilon)[0]
        assert less.swapped().delta_bracket(epsilon)[0] <= more.swapped().delta_bracket(epsilon)[1]


@pytest.mark.parametrize(
    ("means", "weights", "message"),
    [
        ((1,), (1, 0), "one weight for each mean"),
        ((0, 1), (1, 0), "smallest_weight"),
        ((-1, 1), ("1/2", "1/2"), "smallest_mean"),
        ((0, 1), ("1/2", "1/3"), "add up to 1"),
        ((0, 0), ("1/2", "1/2"), "larger than 0"),
        ((10**14, 1), ("1/2", "1/2"), "between 1e-6 and 1e6"),
    ],
)
def test_bad_mixtures_are_refused(means: tuple[int, ...], weights: tuple[int | str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        GaussianMixturePair(tuple(map(Fraction, means)), tuple(Fraction(each) for each in weights))
