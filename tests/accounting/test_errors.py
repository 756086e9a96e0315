"""Each error term of a bracket matters: an error as large as the term allows must not move the truth outside.

Every test plants the worst error of one kind (in the tails, by a tiny lattice, by a tiny window, in the transform, in
the weights) and compares with the exact answer. Without its term, each of them fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy

from dither.accounting import tilted
from dither.accounting.delta_and_epsilon import DeltaCurve, read_above, read_below
from dither.accounting.loss_law import LossLaw, from_above, from_below
from dither.accounting.saddle import Saddle
from dither.accounting.tilted import ComposedLaw, compose_laws
from dither.exact import Ball, ball, lower, precision, upper
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import _ball_bound, _bounds
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair, Tails
from dither.pairs.two_point import approximate

EPSILONS = np.linspace(-1.5, 3.0, 61)


@dataclass(frozen=True)
class Wrong(Pair):
    """A pair whose tails are wrong by as much as they say, in the direction that hurts."""

    base: Pair
    error: float
    sign: int

    def profile(self, epsilon: Ball) -> Ball:
        return self.base.profile(epsilon)

    def tails(self, losses: FloatArray) -> Tails:
        p, q, error = self.base.tails(losses)
        return Tails(p / (1 + self.sign * self.error), q / (1 - self.sign * self.error), error + self.error)

    def swapped(self) -> Pair:
        return self

    @property
    def support(self) -> tuple[float, float]:
        return self.base.support


def truth(pair: Pair, epsilon: float) -> tuple[float, float]:
    with precision(128):
        found = pair.profile(Ball(epsilon))
        return lower(found), upper(found)


def profile_of(law: LossLaw, epsilon: float) -> float:
    """δ(ε) of a law on a lattice, by its definition."""
    gains = np.maximum(-np.expm1(epsilon - law.losses), 0.0)
    return math.fsum(law.weights * gains) + law.infinity


PAIRS = [GaussianPair(Fraction(1, 4)), LaplacePair(Fraction(7, 10)), approximate(Fraction(1, 2), Fraction(1, 1000))]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
@pytest.mark.parametrize("step", [1e-3, 0.037, 0.5, 3.0])
@pytest.mark.parametrize("ends", [(-4.0, 4.0), (-0.1, 0.3), (0.25, 0.4)])
def test_a_law_bounds_its_pair_at_every_epsilon(pair: Pair, step: float, ends: tuple[float, float]) -> None:
    """However coarse the lattice is and however little of the losses it covers (discretisation, truncation)."""
    above, below = from_above(pair, step, *ends), from_below(pair, step, *ends)
    for epsilon in EPSILONS:
        low, high = truth(pair, float(epsilon))
        assert profile_of(above, float(epsilon)) >= low - 1e-15
        assert profile_of(below, float(epsilon)) <= high + 1e-15


@pytest.mark.parametrize("sign", [-1, 1])
def test_errors_of_the_tails_are_added(sign: int) -> None:
    base = GaussianPair(Fraction(1, 4))
    wrong = Wrong(base, 1e-3, sign)
    above, below = from_above(wrong, 0.01, -4, 4), from_below(wrong, 0.01, -4, 4)
    for epsilon in EPSILONS:
        low, high = truth(base, float(epsilon))
        assert profile_of(above, float(epsilon)) >= low
        assert profile_of(below, float(epsilon)) <= high


def test_the_lattice_meets_atoms_from_the_right_side() -> None:
    """An atom on a lattice point stays there: both laws are exact, and neither is on the wrong side by rounding."""
    pair = LaplacePair(Fraction(1, 3))
    above, below = from_above(pair, float(Fraction(2, 300)), -1, 1), from_below(pair, float(Fraction(2, 300)), -1, 1)
    assert above.infinity == 0
    assert above.losses[-1] >= 1 / 3 >= below.losses[-1]
    assert above.weights[-1] == pytest.approx(0.5, abs=2e-3)
    assert below.weights[-1] == pytest.approx(0.5, abs=2e-3)


def test_what_lies_beyond_the_lattice_is_infinite_from_above() -> None:
    law = from_above(GaussianPair(Fraction(1)), 0.01, -3.0, 1.0)
    assert law.infinity >= truth(GaussianPair(Fraction(1)), float(law.losses[-1]))[0]
    far = from_above(GaussianPair(Fraction(1)), 0.5, -3.0, 60.0)
    assert far.infinity > 0, "an underflow to 0 may hide something"


# Composition. A saddle with a chosen tilt and window; the exact answer by direct convolution.


def saddle(tilt: float, left: float, right: float) -> Saddle:
    return Saddle(tilt, (left + right) / 2, 0.5, left, right, -10.0, -2.0, 2.0)


def exact(law: LossLaw, count: int, epsilon: float) -> float:
    """δ(ε) of `count` copies, with every loss and every product."""
    weights = np.ones(1)
    for _ in range(count):
        weights = np.convolve(weights, law.weights)
    places = count * law.offset + law.step * np.arange(len(weights))
    gone = 1 - (1 - law.infinity) ** count
    return math.fsum(weights * np.maximum(-np.expm1(epsilon - places), 0.0)) + gone


LAW = LossLaw(
    -1.0, 0.125, np.array([0.3, 0.05, 0.05, 0.1, 0.02, 0.03, 0.05, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02]), 0.01
)
WINDOWS = [(-2.0, 2.0), (0.2, 1.2), (0.0, 0.4), (-8.0, 8.0)]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("tilt", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_window_too_small_still_bounds(window: tuple[float, float], tilt: float, count: int) -> None:
    """Aliasing and what lies right of the window are added on the safe side."""
    composed = compose_laws([(LAW, count)], saddle(tilt, *window))
    above, below = read_above(composed, sum(window) / 2), read_below(composed, sum(window) / 2)
    for epsilon in np.linspace(window[0] - 0.5, window[1] + 0.5, 23):
        value = exact(LAW, count, float(epsilon))
        assert above.delta(float(epsilon)) >= value * (1 - 1e-13)
        assert below.delta(float(epsilon)) <= value * (1 + 1e-13)
    for delta in (0.3, 0.1, 0.02, 0.0101):
        up, low = above.epsilon(delta), below.epsilon(delta)
        assert up == math.inf or exact(LAW, count, up) <= delta * (1 + 1e-12)
        assert low in (math.inf, -math.inf) or exact(LAW, count, low) >= delta * (1 - 1e-12)


def test_the_whole_window_is_tight() -> None:
    """The negative control of the test above: where nothing is cut off, both bounds are the truth."""
    composed = compose_laws([(LAW, 4)], saddle(1.0, -8.0, 8.0))
    assert composed.outside == 0
    for reading in (read_above(composed, 1.0), read_below(composed, 1.0)):
        assert reading.delta(1.0) == pytest.approx(exact(LAW, 4, 1.0), rel=1e-10)


BASE = compose_laws([(LAW, 4)], saddle(1.0, -8.0, 8.0))


def planted(composed: ComposedLaw, change: FloatArray) -> ComposedLaw:
    return replace(composed, masses=composed.masses + change)


def direction(composed: ComposedLaw, epsilon: float) -> FloatArray:
    """The unit vector that moves δ(ε) most: c(x) = e^{−λ(x−ε)}(1 − e^{ε−x})₊, normalised."""
    x = composed.first + composed.step * np.arange(len(composed.masses))
    c = np.exp(-composed.tilt * (x - epsilon)) * np.maximum(-np.expm1(epsilon - x), 0.0)
    return np.asarray(c / math.sqrt(math.fsum(c * c)))


@pytest.mark.parametrize("epsilon", [-0.5, 0.5, 1.5])
def test_noise_of_the_transform_is_covered(epsilon: float) -> None:
    value, size = exact(LAW, 4, epsilon), 1e-3
    worst = size * direction(BASE, epsilon)
    smaller = replace(planted(BASE, -worst), spread=size)
    larger = replace(planted(BASE, worst), spread=size)
    assert read_above(smaller, epsilon).delta(epsilon) >= value
    assert read_below(larger, epsilon).delta(epsilon) <= value
    assert read_above(replace(smaller, spread=0.0), epsilon).delta(epsilon) < value
    assert read_below(replace(larger, spread=0.0), epsilon).delta(epsilon) > value


def test_relative_errors_of_the_weights_are_covered() -> None:
    value = exact(LAW, 4, 0.5)
    smaller = replace(BASE, masses=BASE.masses / 1.01, relative=0.0101)
    larger = replace(BASE, masses=BASE.masses * 1.01, relative=0.0101)
    assert read_above(smaller, 0.5).delta(0.5) >= value
    assert read_below(larger, 0.5).delta(0.5) <= value
    assert read_above(replace(smaller, relative=0.0), 0.5).delta(0.5) < value
    assert read_below(replace(larger, relative=0.0), 0.5).delta(0.5) > value


def test_mass_outside_and_right_of_the_window_is_covered() -> None:
    scale = math.exp(BASE.log_scale - BASE.tilt * 0.5)
    plain, peak = read_below(BASE, 0.5).delta(0.5), 0.25  # λ = 1: λ^λ/(1+λ)^{1+λ}
    assert read_below(replace(BASE, outside=0.01), 0.5).delta(0.5) <= plain - 0.0099 * peak * scale
    end = BASE.first + BASE.step * len(BASE.masses)
    missing = 0.01 * math.exp(BASE.log_scale - BASE.tilt * end)
    assert read_above(replace(BASE, right=0.01), 0.5).delta(0.5) >= read_above(BASE, 0.5).delta(0.5) + missing


def test_sums_are_rounded_outwards() -> None:
    composed = replace(BASE, spread=0.0, relative=0.0)
    above, below = read_above(composed, 0.5), read_below(composed, 0.5)
    assert above.delta(0.5) - below.delta(0.5) >= 2 * 2.0**-53 * len(BASE.masses) * below.delta(0.5)


def test_infinite_losses_are_composed() -> None:
    composed = compose_laws([(LAW, 4)], saddle(1.0, -8.0, 8.0))
    leak = 1 - (1 - Fraction(0.01)) ** 4
    assert composed.infinity == pytest.approx(float(leak), rel=1e-12)
    assert Fraction(read_above(composed, 0.5).delta(50.0)) >= leak
    assert 0 < Fraction(read_below(composed, 0.5).delta(50.0)) <= leak


# The bound on the transform itself, with transforms that err as much as the theorem allows.


def test_errors_of_the_spectrum_grow_with_the_power(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = compose_laws([(LAW, 50)], saddle(1.0, -60.0, 60.0))
    honest = scipy.fft.rfft

    def noisy(weights: FloatArray, size: int) -> np.ndarray:
        spectrum = honest(weights, size)
        gamma = tilted.FFT_ERROR * math.log2(size)
        # All of ‖e‖₂ = γ‖ŷ‖₂ on the coefficient 0, where |ŷ| = 1 and the power amplifies it most.
        spectrum[0] += 0.99 * gamma * math.sqrt(size) * math.sqrt(float(np.sum(weights * weights)))
        return np.asarray(spectrum)

    monkeypatch.setattr(scipy.fft, "rfft", noisy)
    dirty = compose_laws([(LAW, 50)], saddle(1.0, -60.0, 60.0))
    moved = math.sqrt(float(np.sum((dirty.masses - clean.masses) ** 2)))
    assert 0.5 * dirty.spread < moved <= dirty.spread


def test_errors_of_the_inverse_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    law = LossLaw(0.0, 0.125, np.array([1e-12, 1 - 2e-12, 1e-12]), 0.0)  # norm 1: the spectrum does not decay
    clean = compose_laws([(law, 1)], saddle(0.0, -1.0, 2.0))
    honest = scipy.fft.irfft

    def noisy(spectrum: np.ndarray, size: int) -> FloatArray:
        found = honest(spectrum, size)
        gamma = tilted.FFT_ERROR * math.log2(size)
        found[0] += gamma * math.sqrt(float(np.sum(found * found)))
        return np.asarray(found)

    monkeypatch.setattr(scipy.fft, "irfft", noisy)
    dirty = compose_laws([(law, 1)], saddle(0.0, -1.0, 2.0))
    forward = tilted.FFT_ERROR * math.log2(len(dirty.masses))
    moved = math.sqrt(float(np.sum((dirty.masses - clean.masses) ** 2)))
    assert forward + moved <= dirty.spread * (1 + 1e-9)


def test_errors_of_the_products_are_counted() -> None:
    """k multiplications of relative error √5·u: the spread grows by at least that much times the norm."""
    law = LossLaw(0.0, 0.125, np.array([0.5, 0.5]), 0.0)
    wide, once = (compose_laws([(law, count)], saddle(0.0, -1.0, 130.0)) for count in (1000, 1))
    gamma = tilted.FFT_ERROR * math.log2(len(wide.masses))
    assert wide.spread - once.spread >= 999 * (gamma + math.sqrt(5) * 2.0**-53) * math.sqrt(0.5) * 0.999


@pytest.mark.parametrize("size", [16, 1000, 65536])
def test_the_transform_is_as_good_as_the_theorem(size: int) -> None:
    generator = np.random.default_rng(size)
    weights = generator.exponential(size=size)
    weights /= weights.sum()
    spectrum = scipy.fft.rfft(weights, size)
    picked = generator.integers(0, size // 2 + 1, 24)
    angles = 2 * np.pi * ((picked[:, None].astype(np.longdouble) * np.arange(size)) % size) / size
    truth_real = (weights * np.cos(angles.astype(np.longdouble))).sum(axis=1)
    error = np.abs(spectrum[picked].real - truth_real.astype(float))
    bound = tilted.FFT_ERROR * math.log2(size) * math.sqrt(size) * math.sqrt(float(np.sum(weights * weights)))
    assert float(error.max()) < bound / 4


def test_direct_sums_agree_with_the_transform() -> None:
    weights = np.random.default_rng(3).exponential(size=40)
    weights /= weights.sum()
    direct = tilted._spectrum(weights, 4096, 50)
    assert np.abs(direct - scipy.fft.rfft(weights, 4096)[:50]).max() < 40 * 2.0**-53


def test_a_tilted_law_that_vanishes_says_nothing() -> None:
    law = LossLaw(-600.0, 1.0, np.array([1.0, *np.zeros(1200)]), 0.0)
    with pytest.raises(tilted.Underflow):
        compose_laws([(law, 2)], saddle(1.0, -1.0, 1.0))


# Rounding, where it cannot be provoked: the bounds leave room for as much of it as was proved.


def test_weights_leave_room_for_their_rounding() -> None:
    assert BASE.relative >= 4 * 16 * 2.0**-53
    steep = compose_laws([(LAW, 4)], saddle(40.0, -8.0, 8.0))
    assert steep.relative >= 4 * 4 * 40.0 * 2.0**-53


def test_sums_leave_room_for_their_rounding() -> None:
    quiet = replace(BASE, spread=0.0, relative=0.0, infinity=0.0)
    x = BASE.first + BASE.step * np.arange(len(BASE.masses))
    gains = np.exp(BASE.log_scale - BASE.tilt * x) * np.maximum(-np.expm1(0.5 - x), 0.0)
    plain, room = math.fsum(BASE.masses * gains), len(BASE.masses) * 2.0**-53
    place = round((0.5 - BASE.first) / BASE.step)
    assert x[place] == 0.5
    assert read_above(quiet, 0.5).values[place] >= plain * (1 + room)
    assert read_below(quiet, 0.5).values[place] <= plain * (1 - room)


@pytest.mark.parametrize("above", [True, False])
def test_places_leave_room_for_their_rounding(above: bool) -> None:
    sign = 1 if above else -1
    reading = DeltaCurve(1e6, 1.0, np.array([0.9, 0.5, 0.1]), 0.0, above)
    assert sign * (reading.epsilon(0.5) - (1e6 + 1)) >= 1e6 * 2.0**-50
    assert sign * (reading.delta(1e6 + 1.5) - 0.5 * math.expm1(0.5) / math.expm1(1)) > -1
    near, far = (replace(reading, first=first).delta(first + 1) for first in (0.0, 1e9))
    assert sign * (far - near) > 0


def float_dots(pair: Pair, law: LossLaw, *, above: bool) -> FloatArray:
    """The numbers D_i and d_i from which the survival functions are made."""
    points = law.losses
    if above:
        dots = pair.dots(points)
        return np.asarray(dots - dots[-1])
    before = np.full(len(points), law.step / 2)
    before[-1] = 0.0
    p, q, error = pair.tails(points - before)
    error = error + POSITION_ERROR * (1 + np.abs(points - before))
    p, q = p * (1 - error), q * (1 + error)
    ends, starts = p - np.exp(before) * q, p - np.exp(before - law.step) * q
    return np.asarray(np.append(np.minimum(ends[:-1], starts[1:]), 0.0))


@pytest.mark.parametrize("above", [True, False])
def test_survivals_are_rounded_outwards(above: bool) -> None:
    """Exactly: the weights from each point on add up to at least (at most) what the dots demand."""
    pair, step = GaussianPair(Fraction(1, 4)), 0.0517
    law = (from_above if above else from_below)(pair, step, -2.0, 2.0)
    survivals = np.cumsum([Fraction(float(w)) for w in law.weights[::-1]])[::-1][1:]
    with precision(200):
        shrink = 1 - (-Ball(step)).exp()
        dots = [Ball(float(dot)) for dot in float_dots(pair, law, above=above)]
        wanted = [b + (a - b) / shrink for a, b in pairwise(dots)]
        for survival, demand in zip(survivals, wanted, strict=True):
            assert ball(survival) >= demand if above else ball(survival) <= demand


def test_moduli_above_one_are_amplified_by_huge_powers() -> None:
    count = 10**14
    law = LossLaw(0.0, 0.125, np.array([0.5, 0.5]), 0.0)
    composed = compose_laws([(law, count)], saddle(0.0, 0.0625 * count - 1, 0.0625 * count + 1))
    gamma = tilted.FFT_ERROR * math.log2(len(composed.masses))
    assert composed.spread >= 4 * count * gamma * math.sqrt(0.5)


def test_moment_bounds_are_rounded_up() -> None:
    generator = np.random.default_rng(5)
    sizes, orders = generator.uniform(0, 30, 300), 1 + generator.exponential(5, 300)
    values = generator.exponential(1, 300)
    found = _bounds(sizes, orders, values)
    with precision(200):
        for size, order, value, bound in zip(sizes, orders, values, found, strict=True):
            exact_bound = _ball_bound(Ball(float(size)), Ball(float(value)), Fraction(float(order)))
            assert exact_bound <= Ball(float(bound))


def test_the_norm_of_what_is_folded_bounds_the_transform() -> None:
    """A law 64 times as long as the circle has 8 times the norm once it is folded."""
    size = 16
    law = LossLaw(0.0, 0.1, np.full(64 * size, 1 / (64 * size)), 0.0)
    one = tilted.Tilted(law, 1, 0.0, law.weights, 0.0, 0.0)
    _, spread = tilted._convolve([one], size)
    assert spread >= tilted.FFT_ERROR * math.log2(size) * 3 / math.sqrt(size)
