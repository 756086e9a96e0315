"""Noise on a stream: exact without noise, as wide as predicted with it, and without drift however long it runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.continual.encoders import Encoder
from dither.continual.factorisations import banded, best, each_period, fading, square_root
from dither.continual.participation import ONCE
from dither.continual.track import FRACTION_BITS, Track, TrackNoise
from dither.mechanisms import Gaussian

PERIODS = 40
ENCODERS = [each_period, square_root, lambda periods: banded(periods, 7), lambda periods: best(periods, [None]), fading]


def noise_for(encoder: Encoder, wider: Fraction = Fraction(1)) -> TrackNoise:
    moved = encoder.moved(1, ONCE, 1)
    mechanism = Gaussian(sensitivity_squared=moved, rho=Fraction(1, 2) / wider, dimension=moved)
    assert mechanism.for_integers is not None
    return TrackNoise(encoder, mechanism.for_integers)


def totals(noise: TrackNoise, values: Any) -> Any:
    """Running totals of all coordinates, in units."""
    track, total, found = Track(noise, values.shape[1]), np.zeros(values.shape[1], dtype=object), []
    for row in values:
        step = track.draw(row)
        track.add(step)
        total = total + step.decoded
        found.append(total / (1 << FRACTION_BITS))
    return np.array(found, dtype=np.float64)


@pytest.mark.usefixtures("without_noise")
@pytest.mark.parametrize("make", ENCODERS)
def test_without_noise_totals_are_exact(make: object) -> None:
    """To what rounding may do; 10^12 at once, so that nothing fits 64 bits by luck."""
    encoder = make(PERIODS)  # type: ignore[operator]
    values = np.random.default_rng(5).integers(-(10**12), 10**12, (PERIODS, 3))
    found = totals(noise_for(encoder), values)
    far = (encoder.rounding + 2.0**-14) * np.sqrt(PERIODS * encoder.row_squares(None).max()) + 1e-3
    assert np.abs(found - np.cumsum(values, axis=0)).max() <= far


@pytest.mark.statistical
@pytest.mark.parametrize("make", ENCODERS)
@pytest.mark.parametrize("window", [None, 1, 5])
def test_errors_are_as_predicted(make: object, window: int | None) -> None:
    """The mean square of 1,000 streams at one period leaves 1 ± 0.27 of what is predicted with probability 1.2·10^-8.

    The control, noise of twice the variance, stays inside with probability 10^-20.
    """
    encoder = make(PERIODS)  # type: ignore[operator]
    for wider, passes in ((Fraction(1), True), (Fraction(2), False)):
        drawn = totals(noise_for(encoder, wider), np.zeros((PERIODS, 1000), dtype=np.int64))
        sums = drawn[-1] if window is None else drawn[-1] - drawn[-1 - window]
        predicted = noise_for(encoder).deviation(window, PERIODS - 1) ** 2
        assert (abs((sums**2).mean() / predicted - 1) < 0.27) == passes


def test_intervals_hold() -> None:
    """Of 4,000 totals at level 0.95 more than 300 outside have probability below 10^-9; at half the reach 1,000 are."""
    noise = noise_for(best(PERIODS, [None]))
    drawn = np.abs(totals(noise, np.zeros((PERIODS, 4000), dtype=np.int64))[-1])
    reach = noise.reach(None, PERIODS - 1, Fraction(1, 20))
    assert (drawn > reach).sum() <= 300
    assert (drawn > reach / 2).sum() > 1000
    assert reach < 2.1 * noise.deviation(None, PERIODS - 1)


@pytest.mark.usefixtures("without_noise")
def test_a_long_stream_does_not_drift() -> None:
    """10^4 steps in a row without noise: the total stays within what was proved, to the last step."""
    periods = 10_000
    encoder = fading(periods)
    found = totals(noise_for(encoder), np.full((periods, 1), 123_456_789))
    far = (encoder.rounding + 2.0**-14) * np.sqrt(periods * encoder.row_squares(None).max())
    assert np.abs(found[:, 0] - 123_456_789 * np.arange(1.0, periods + 1)).max() <= far < 0.001


@pytest.mark.usefixtures("without_noise")
@pytest.mark.parametrize("make", ENCODERS)
def test_a_coordinate_that_comes_later_was_0_before(make: object) -> None:
    """As a key that is found does: the same numbers as if it had been there from the start, without anybody."""
    noise = noise_for(make(PERIODS))  # type: ignore[operator]
    values = np.random.default_rng(7).integers(0, 10**12, (PERIODS, 3))
    values[:9, 2] = values[:4, 1] = 0
    whole, growing = Track(noise, 3), Track(noise, 0)
    for period, row in enumerate(values):
        there = 1 + (period >= 4) + (period >= 9)
        one, other = whole.draw(row), growing.draw(row[:there])
        assert one.decoded[:there].tolist() == other.decoded.tolist()
        assert not any(one.decoded[there:])
        whole.add(one)
        growing.add(other)
        if period == 6 and growing.saved() is not None:
            growing = Track(noise, 0, growing.saved(), growing.period)


@pytest.mark.usefixtures("without_noise")
def test_a_saved_memory_goes_on_where_it_was() -> None:
    noise = noise_for(fading(PERIODS))
    values = np.random.default_rng(6).integers(0, 1000, (PERIODS, 2))
    track = Track(noise, 2)
    for row in values[:20]:
        track.add(track.draw(row))
    again = Track(noise, 2, track.saved(), track.period)
    for row in values[20:]:
        one, other = track.draw(row), again.draw(row)
        assert one.decoded.tolist() == other.decoded.tolist()
        track.add(one)
        again.add(other)
