"""Intervals from noisy sums hold what they say, for one group or many; with a wrong scale they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.ratio_intervals import ThreeSums, mean_between

GROUPS, MISS = 4000, 0.1
DRAWN = np.random.default_rng(5)
PLACES = {
    "few": DRAWN.random(8),
    "at one end": np.zeros(60),
    "in the middle": np.full(300, 0.5),
    "skewed": DRAWN.random(200) ** 6,
    "two": (np.arange(150) % 5 == 0) * 1.0,
}
MOST, FEWEST = 560, 240
"""Of 4000 at most 10 % miss: more than 560, or fewer than 240 if it is exact, with probability below 1e-12."""


def noise(law: NoiseLaw, parts: int) -> np.ndarray:
    shape = parts, GROUPS
    return DRAWN.normal(0, law.scale, shape) if law.is_normal else DRAWN.laplace(0, law.scale, shape)


@pytest.mark.parametrize("is_normal", [False, True], ids=["laplace", "normal"])
@pytest.mark.parametrize("name", PLACES)
def test_means_are_missed_as_often_as_they_may(name: str, is_normal: bool) -> None:
    places, law = PLACES[name], NoiseLaw(2.0, is_normal)
    above, below = np.array([[places.sum()], [(1 - places).sum()]]) + noise(law, 2)

    def missed(scale: float) -> int:
        low, high = mean_between(above, below, NoiseLaw(scale, is_normal), MISS, 0.0)
        assert (low <= high).all()
        assert 0 <= low.min() <= high.max() <= 1
        return int(((low > places.mean() + 1e-9) | (places.mean() - 1e-9 > high)).sum())

    assert missed(2.0) <= MOST
    assert missed(1.0) > MOST  # with half of the noise taken into account, a third is missed
    if name not in ("few", "at one end"):  # beyond an end nothing can be missed
        assert missed(2.0) >= FEWEST


@pytest.mark.parametrize("is_normal", [False, True], ids=["laplace", "normal"])
@pytest.mark.parametrize("name", PLACES)
def test_variances_are_missed_no_more_often_than_they_may(name: str, is_normal: bool) -> None:
    places, law = PLACES[name], NoiseLaw(1.0, is_normal)
    exact = [(places**2).sum(), (2 * places * (1 - places)).sum(), ((1 - places) ** 2).sum()]
    first, second, third = np.array(exact)[:, None] + noise(law, 3)

    def missed(scale: float) -> int:
        sums = ThreeSums((first, second, third), 1.0, NoiseLaw(scale, is_normal), 0.0)
        low, high = sums.variance_between(MISS, population=False)
        return int(((low > places.var() + 1e-9) | (places.var() - 1e-9 > high)).sum())

    assert missed(1.0) <= MOST
    if name in ("skewed", "two"):
        assert missed(0.3) > MOST


def test_many_groups_are_each_as_if_alone() -> None:
    above, below = DRAWN.normal(50, 20, 30), DRAWN.normal(80, 20, 30)
    low, high = mean_between(above, below, NoiseLaw(3.0), 0.05, 0.0)
    for at in range(30):
        one = mean_between(above[at], below[at], NoiseLaw(3.0), 0.05, 0.0)
        assert (one[0][0], one[1][0]) == pytest.approx((low[at], high[at]), abs=1e-6)


def test_a_level_beyond_all_floats_has_everything_as_its_interval() -> None:
    low, high = mean_between([5.0], [5.0], NoiseLaw(1.0), 1e-310, 0.0)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_the_limits_have_their_false_alarm_rate() -> None:
    assert bdtrc(MOST, GROUPS, MISS) < 1e-12
    assert bdtr(FEWEST - 1, GROUPS, MISS) < 1e-12


def test_a_mean_that_noise_places_beyond_an_end_widens_the_interval_of_the_variance() -> None:
    """59 zeros and a one with noise of scale 10: of 20,000 at most 1 % miss, more than 300 with probability 1e-11.

    With the mean clamped to the range, 2 % missed.
    """
    law, groups = NoiseLaw(10.0), 20_000
    first, second, third = np.array([1.0, 0.0, 59.0])[:, None] + DRAWN.laplace(0, 10.0, (3, groups))
    _, high = ThreeSums((first, second, third), 1.0, law, 0.0).variance_between(0.01, population=False)
    assert int((high < 1 / 60 * 59 / 60 - 1e-9).sum()) <= 300


@pytest.mark.parametrize("expected", [0.7, 1.0, 2.0, 3.0, 5.0, 9.0, 300.0])
def test_records_that_are_too_rare_to_be_drawn_are_in_the_interval_of_a_population(expected: float) -> None:
    """1000 zeros and ones, `expected` ones on average, hardly any noise: of 4000 at most 5 % miss, and 300 with 1e-12.

    Without what may not have been drawn 37 % of expected = 1 missed, and 13 % of expected = 2.
    """
    ones = DRAWN.binomial(1000, expected / 1000, GROUPS).astype(float)
    sums = ThreeSums((ones, np.zeros(GROUPS), 1000 - ones), 1.0, NoiseLaw(0.05), 0.0)
    low, high = sums.mean_between(0.05, population=True)
    missed = int(((low > expected / 1000) | (expected / 1000 > high)).sum())
    assert missed <= 300
    if expected == 300.0:  # and where all is drawn, the interval is not much wider than it must be
        assert missed >= 100


@pytest.mark.parametrize("is_normal", [False, True], ids=["laplace", "normal"])
def test_where_no_mean_passes_the_interval_is_not_everything(is_normal: bool) -> None:
    """300 records at 0 in a wide range, whose sum has noise far below 0: what was the whole range for 1 of 40 is short.

    So the mean half-width was many times the error. The truth is inside, and all who could pass keep their interval.
    """
    law = NoiseLaw(1.0, is_normal)
    low, high = mean_between([-50.0, 300.0, 7.0], [300.0, -50.0, 290.0], law, 0.05, 0.0)
    assert low[0] == 0
    assert high[0] < 0.03
    assert high[1] == 1
    assert low[1] > 0.97
    alone = mean_between([7.0], [290.0], law, 0.05, 0.0)
    assert (low[2], high[2]) == pytest.approx((alone[0][0], alone[1][0]), abs=1e-9)


def test_where_no_variance_passes_the_interval_is_not_everything() -> None:
    """Places of 0 and a sum of squares far below it: the variance of that is below 0 by more than noise is."""
    sums = ThreeSums(
        (np.array([-60.0, 5.0]), np.array([0.0, 10.0]), np.array([1000.0, 900.0])), 1.0, NoiseLaw(1.0), 0.0
    )
    low, high = sums.variance_between(0.05, population=False)
    assert (low[0], low[1] >= 0) == (0, True)
    assert high[0] < 0.05
    alone = ThreeSums((5.0, 10.0, 900.0), 1.0, NoiseLaw(1.0), 0.0).variance_between(0.05, population=False)
    assert (low[1], high[1]) == pytest.approx((alone[0][0], alone[1][0]), abs=1e-9)


@pytest.mark.parametrize("is_normal", [False, True])
def test_sums_beyond_what_doubles_tell_apart_have_everything_as_their_interval(is_normal: bool) -> None:
    """At 1e18 scales of the noise the quotient itself does not pass, as it is rounded by more than the noise."""
    low, high = mean_between([1e18, 30.0], [0.7e18, 70.0], NoiseLaw(1.0, is_normal), 0.05, 0.0)
    assert (low[0], high[0]) == (0, 1)
    assert 0.1 < low[1] < 0.3 < high[1] < 0.5
