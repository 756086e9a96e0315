"""The roundings of a bracket, one by one: against exact arithmetic where they can be provoked, else by their room."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy

from dither.accounting import delta_and_epsilon, tilted
from dither.accounting import loss_law as laws
from dither.accounting.delta_and_epsilon import DeltaCurve, read_above, read_below
from dither.accounting.loss_law import LossLaw, from_above, from_below
from dither.accounting.saddle import Saddle
from dither.accounting.tilted import UNIT, ComposedLaw, compose_laws
from dither.exact import Ball, precision
from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import FloatArray, Pair, Tails
from dither.pairs.two_point import approximate
from tests.oracle.points import stream

BITS = 256


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# One law


def test_infinite_losses_and_the_rest_are_rounded_outwards() -> None:
    for points in stream("leaks on a lattice", 40):
        leak = points.size(-3, -0.5)
        pair = approximate(Fraction(1, 2), leak)
        above, below = from_above(pair, 0.125, -1, 1), from_below(pair, 0.125, -1, 1)
        assert Fraction(below.infinity) <= leak <= Fraction(above.infinity)
        assert sum(map(Fraction, above.weights.tolist())) >= 1 - leak
        assert sum(map(Fraction, below.weights.tolist())) <= 1 - leak


@dataclass(frozen=True)
class Jagged(Pair):
    """Gaussian tails that are rounded up and down in turns: neither dots nor survivals fall."""

    size: float

    def profile(self, epsilon: Ball) -> Ball:
        raise NotImplementedError

    def tails(self, losses: FloatArray) -> Tails:
        p, q, error = GaussianPair(Fraction(1, 4)).tails(losses)
        turns = 1 + self.size * (-1.0) ** (np.arange(len(losses)) // 2)
        return Tails(p * turns, q, error + self.size)

    def swapped(self) -> Pair:
        return self


@pytest.mark.parametrize("build", [from_above, from_below])
def test_dots_fall_and_weights_are_not_negative(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `_survival` and the composition of positive weights rest on, however the tails are rounded."""
    seen: list[FloatArray] = []
    honest = laws._survival

    def watched(dots: FloatArray, step: float) -> FloatArray:
        seen.append(dots)
        return honest(dots, step)

    monkeypatch.setattr(laws, "_survival", watched)
    for size in (1e-3, 1e-2):
        law = build(Jagged(size), 0.01, -2.0, 2.0)
        assert np.all(np.diff(seen[-1]) <= 0)
        assert np.all(law.weights >= 0)


# Composition


def saddle(tilt: float, left: float, right: float, theta: float = 2.0) -> Saddle:
    return Saddle(tilt, (left + right) / 2, 0.5, left, right, -10.0, -theta, theta)


def chernoff(law: LossLaw, count: int, tilt: float, log_mgf: float, theta: float, edge: float) -> Ball:
    """E[e^{θ(X − edge)}] of the tilted sum, in balls."""
    mean = sum(
        (Ball(w) * ((Ball(tilt) + Ball(theta)) * Ball(x)).exp() for w, x in zip(law.weights, law.losses, strict=True)),
        Ball(0),
    )
    return (count * (mean.log() - Ball(log_mgf)) - Ball(theta) * Ball(edge)).exp()


def random_law(seed: int, size: int) -> LossLaw:
    weights = generator(seed).exponential(size=size) ** 8  # some are a millionth of others
    return LossLaw(-1.0 + seed / 977, 0.0371, weights / weights.sum(), 0.0)


@pytest.mark.parametrize("theta", [-0.03, 0.027])
def test_chernoff_bounds_are_rounded_up(theta: float) -> None:
    for seed in range(20):
        law, count = random_law(seed, 40), 10**6 + seed
        one = tilted.tilted(law, count, 0.7)
        mean = float(np.sum(one.weights * law.losses))
        edge = count * mean + math.copysign(12000.0, theta)
        with precision(BITS):
            assert Ball(tilted._outside([one], theta, edge)) >= chernoff(law, count, 0.7, one.log_mgf, theta, edge)


def test_chernoff_bounds_see_the_smallest_weights() -> None:
    law = LossLaw(0.0, 1.0, np.array([1 - 1e-9, *np.zeros(19), 1e-9]), 0.0)
    one = tilted.tilted(law, 1, 0.0)
    assert tilted._outside([one], 1.0, 19.5) >= 1e-9


def test_windows_end_where_they_are_cut() -> None:
    law = random_law(1, 40)
    composed = compose_laws([(law, 30)], saddle(0.7, -3.0, 6.0))
    edges = (composed.first - composed.step / 2, composed.first + (len(composed.masses) - 0.5) * composed.step)
    one = tilted.tilted(law, 30, 0.7)
    with precision(BITS):
        left, right = (
            chernoff(law, 30, 0.7, one.log_mgf, theta, edge) for theta, edge in zip((-2.0, 2.0), edges, strict=True)
        )
        assert right <= Ball(composed.right) <= right * Ball(1 + 1e-6)
        assert left <= Ball(composed.outside - composed.right) * Ball(1 + 1e-6)


def test_each_rounding_of_a_tilted_law_has_its_room() -> None:
    """exp and its argument, the largest exponent, the sum: their roundings add up in the scale of the law."""
    plain = LossLaw(-10.0, 1.0, np.full(21, 1 / 21), 0.0)
    assert tilted.tilted(plain, 1, 0.0).rounding >= 16 * UNIT
    assert tilted.tilted(plain, 1, 40.0).rounding >= (4 + 1) * 400 * UNIT
    small = LossLaw(0.0, 1.0, np.full(2, 1e-200), 0.0)
    assert tilted.tilted(small, 1, 0.0).rounding >= 2 * 200 * math.log(10) * UNIT
    whole = compose_laws([(plain, 1000)], saddle(40.0, 9000.0, 10000.0))
    assert whole.log_scale > 390_000
    each = tilted.tilted(plain, 1, 40.0).rounding
    assert whole.relative >= math.expm1(1000 * each + 7 * UNIT * whole.log_scale)


def test_frequencies_that_are_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a threshold so large that its effect is seen."""
    law = random_law(2, 200)
    honest = compose_laws([(law, 3)], saddle(0.0, -4.0, 20.0))
    monkeypatch.setattr(tilted, "_NEGLIGIBLE", 0.02)
    rough = compose_laws([(law, 3)], saddle(0.0, -4.0, 20.0))
    apart = math.sqrt(float(np.sum((rough.masses - honest.masses) ** 2)))
    assert 1e-5 < apart <= rough.spread


def many_laws(count: int) -> list[tilted.Tilted]:
    return [tilted.tilted(random_law(seed, 30 + seed), count, 0.0) for seed in range(30)]


def test_each_matrix_product_reports_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """2(n + 8)u at each frequency, for real and imaginary part together; in ℓ₂ that at all the frequencies used."""
    reported: list[tuple[int, float, float]] = []
    honest = tilted._Errors.add

    def watched(self: tilted._Errors, count: int, norm: float, each: float) -> None:
        reported.append((count, norm, each))
        honest(self, count, norm, each)

    monkeypatch.setattr(tilted._Errors, "add", watched)
    places, size = np.arange(50), 4096
    errors = tilted._Errors(1e-15, 1e-30, 0.1)
    tilted._product_at(places, many_laws(1), size, errors)
    assert len(reported) == 30
    for count, norm, each in reported:
        assert count == 1
        assert each >= 2 * UNIT * (30 + 8)
        assert norm >= math.sqrt(2 * len(places) / size) * each


def test_each_transform_reports_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """γ‖w‖₂ in ℓ₂, all of which may be at one frequency: there it is √size times as large."""
    reported: list[tuple[float, float]] = []
    monkeypatch.setattr(tilted._Errors, "add", lambda self, count, norm, each: reported.append((norm, each)))
    law, size = random_law(3, 50), 256
    tilted._convolve([tilted.tilted(law, 2, 0.0)], size)
    norm = tilted.FFT_ERROR * math.log2(size) * math.sqrt(float(np.sum(law.weights**2))) * (1 - 1e-9)
    assert reported[0][0] >= norm
    assert reported[0][1] >= norm * math.sqrt(size)


def test_errors_at_each_frequency_grow_with_the_power() -> None:
    errors = tilted._Errors(0.0, 0.0, 1.0)
    errors.add(10**3, 1e-9, 1e-3)
    assert errors.spread() >= 1e3 * 1e-9 * math.e
    rounded = tilted._Errors(0.0, 0.0, 1.0)
    rounded.add(2**46, 1e-9, 0.0)
    assert rounded.spread() >= 2**46 * 1e-9 * math.e


def test_screening_leaves_room_for_its_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of 5e-10 in a modulus of nearly 1 would hide a frequency once it is raised to the power 10¹²."""
    law = LossLaw(0.0, 0.1, np.array([1 - 1e-13, 1e-13]), 0.0)
    honest = scipy.fft.rfft
    monkeypatch.setattr(scipy.fft, "rfft", lambda weights, size: honest(weights, size) * (1 - 5e-10))
    places = tilted._screened([tilted.tilted(law, 10**12, 0.0)], 4096, 1e-30)
    assert places is not None
    assert len(places) == 4096 // 2 + 1


def test_a_law_that_nearly_underflows_is_not_composed() -> None:
    law = LossLaw(0.0, 1.0, np.array([1e-251, 0.0]), 0.0)
    with pytest.raises(tilted.Underflow):
        compose_laws([(law, 1)], saddle(0.0, -1.0, 1.0))


# DeltaCurve


def composed(**changes: Any) -> ComposedLaw:
    plain = ComposedLaw(0.0, 0.1, 1.0, 0.0, np.full(16, 1 / 16), 0.0, 0.0, 0.0, 0.0, 0.0)
    return replace(plain, **changes)


@pytest.mark.parametrize("tilt", [0.0, 3.0])
@pytest.mark.parametrize(
    ("first", "centre", "step", "size"),
    [(1e6, 1e6, 0.1, 2e6), (50.0, 0.0, 1e-3, 50.0), (0.0, 50.0, 1e-3, 50.0), (0.0, 0.0, 1e5, 1.6e6)],
)
def test_sums_have_room_for_every_place(first: float, centre: float, step: float, size: float, tilt: float) -> None:
    """Exponents are rounded relative to the places of the window, of its centre, and of its end."""
    given = composed(tilt=tilt, log_scale=tilt * centre, first=first, step=step)
    begin, _, rounding, _ = delta_and_epsilon._sums(given, centre, above=True)
    x = (first + step * np.arange(16))[round((begin - first) / step) :]
    weighted = np.exp(-tilt * (x - centre)) / 16
    both = float(np.sum(weighted) + np.sum(weighted * np.exp(x[0] - x)))
    assert rounding[0] >= 0.99 * UNIT * 8 * (1 + tilt) * size * both


def test_sums_have_room_for_their_terms() -> None:
    """n additions in each of two sums, and a few operations on each term."""
    given = composed(tilt=0.0, step=1e-9, masses=np.full(4096, 1 / 4096))
    _, sums, rounding, _ = delta_and_epsilon._sums(given, 0.0, above=True)
    assert rounding[0] >= 2 * UNIT * (4096 + 64) * 0.999 > 2 * UNIT * 4096
    assert sums[0] < 1e-5
    far = composed(tilt=0.0, step=30.0, masses=np.array([0.5, 0.5]))
    _, sums, rounding, _ = delta_and_epsilon._sums(far, 0.0, above=True)
    assert rounding[0] >= UNIT * 64 * (1 + 0.5)
    assert rounding[0] <= UNIT * 1024
    assert sums[0] == pytest.approx(0.5)


@pytest.mark.parametrize("above", [True, False])
def test_bounds_are_rounded_outwards(above: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against exact arithmetic on the very floats that are added up."""
    count = 400
    for seed in range(5):
        sums, rounding, scale = generator(seed).uniform(0.1, 1, (3, count)) * [[1e-3], [1e-6], [1e-2]]
        if above:
            sums = np.sort(sums)[::-1]
        monkeypatch.setattr(delta_and_epsilon, "_sums", lambda *_, s=(0.0, sums, rounding, scale), **__: s)
        given = composed(
            tilt=0.0,
            masses=np.zeros(count),
            relative=3.7e-7,
            spread=1.3e-5,
            outside=2.3e-4,
            right=2.3e-4,
            log_scale=-2.0,
        )
        found = (read_above if above else read_below)(given, 0.0).values
        sign = 1 if above else -1
        with precision(BITS):
            length, missing = Ball(count).sqrt(), Ball(2.3e-4) * Ball(-2.0).exp()
            exact = []
            for s, r, k in zip(sums, rounding, scale, strict=True):
                value = (Ball(s) + sign * Ball(r)) * (1 + sign * Ball(3.7e-7)) + sign * Ball(1.3e-5) * length * Ball(k)
                exact.append(value + missing if above else value - Ball(2.3e-4) * Ball(k))
            if above:
                least = exact[0]
                for n, value in enumerate(exact):
                    least = least.min(value)
                    assert Ball(found[n]) >= least
            else:
                most = Ball(0)
                for n in reversed(range(count)):
                    most = most.max(exact[n])
                    assert Ball(found[n]) <= most


@pytest.mark.parametrize("above", [True, False])
def test_chords_are_rounded_outwards(above: bool) -> None:
    """Where two values are a few ulp apart, the rounding of the chord is as large as the chord is high."""
    for seed in range(200):
        low = float(generator(seed).uniform(0.51, 0.99))
        high = low - (1 + seed % 7) * 2.0**-53
        share = float(generator(seed).uniform(0.1, 0.9))
        found = DeltaCurve(0.0, 1.0, np.array([low, high, 0.0]), 0.0, above).delta(share)
        with precision(BITS):
            exact = Ball(low) + Ball(share).expm1() / Ball(1).expm1() * (Ball(high) - Ball(low))
            assert Ball(found) >= exact if above else Ball(found) <= exact


def test_composed_infinities_are_rounded_outwards() -> None:
    for points in stream("composed leaks", 60):
        leak, count = float(points.size(-6, -1)), 1 + int(points.size(0, 3))
        given = compose_laws([(LossLaw(0.0, 1.0, np.array([1 - leak, 0.0]), leak), count)], saddle(0.0, -1.0, 2.0))
        with precision(BITS):
            exact = 1 - (1 - Ball(leak)) ** count
            assert Ball(float(read_above(given, 0.0).values[-1])) >= exact
            assert Ball(float(read_below(given, 0.0).values[-1])) <= exact


def test_what_is_missing_on_the_right_is_rounded_up() -> None:
    """e^{K − λR} with exponents in the millions: each has lost many digits."""
    for seed in range(40):
        first, tilt = float(generator(seed).uniform(1e5, 2e5)), float(generator(seed + 50).uniform(10, 300))
        given = composed(first=first, tilt=tilt, log_scale=tilt * (first + 1.5) - 3.0)
        end = first + (len(given.masses) - 0.5) * given.step
        with precision(BITS):
            exact = (Ball(given.log_scale) - Ball(tilt) * (Ball(first) + Ball(15.5) * Ball(given.step))).exp()
            assert Ball(delta_and_epsilon._beyond(given)) >= exact
        assert delta_and_epsilon._beyond(given) <= math.exp(given.log_scale - tilt * end) * 1.001


def test_without_a_tilt_every_mass_of_the_window_may_be_off() -> None:
    given = composed(tilt=0.0)
    assert delta_and_epsilon._length(given) == pytest.approx(4.0)
    assert delta_and_epsilon._length(replace(given, tilt=1.0)) >= math.sqrt(4.5)  # 1/(2λh) = 5


def test_scales_beyond_the_floats_go_to_the_safe_side() -> None:
    for log in (-1e4, -745.0, -720.0, -701.0, 1e4, 705.0):
        with precision(BITS):
            exact = Ball(log).exp()
            above, below = delta_and_epsilon._scale(log, above=True), delta_and_epsilon._scale(log, above=False)
            assert above == math.inf or Ball(above) >= exact * (1 - Ball(2.0**-40))
            assert Ball(below) <= exact * (1 + Ball(2.0**-40))


def test_nothing_that_is_not_a_number_becomes_small() -> None:
    found = read_above(composed(spread=math.inf, log_scale=-800.0, tilt=0.0), 0.0)
    assert np.all(found.values == 1.0)


def test_an_underflow_is_not_privacy() -> None:
    assert read_above(composed(masses=np.zeros(16), tilt=0.0), 0.0).delta(0.1) > 0


def test_a_reading_knows_its_ends() -> None:
    above = DeltaCurve(1.0, 1.0, np.array([0.5, 0.2]), 0.1, above=True)
    below = replace(above, above=False)
    assert (above.delta(0.5), below.delta(0.5)) == (1.0, 0.5)
    assert (above.delta(9.0), below.delta(9.0)) == (0.2, 0.1)
    assert (above.epsilon(0.6), below.epsilon(0.6)) == (1.0, -math.inf)
    assert (above.epsilon(0.15), below.epsilon(0.15)) == (math.inf, 2.0)
