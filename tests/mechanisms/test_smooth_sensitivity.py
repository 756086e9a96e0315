"""Smooth sensitivity: what is public, what is drawn, what is refused, and how it compares with the textbook.

False alarms: the chi-square test of the releases alarms with probability 1e-11 (tests/noise/fit.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.accounting import compose
from dither.adjacency import REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.events import from_json, to_json
from dither.mechanisms import SmoothSensitivity
from dither.mechanisms.smooth_calibration import FLOOR_STEPS
from dither.noise import Steepest
from dither.noise.law import integer_array
from dither.sensitivity import Median, smooth_sensitivity
from tests.mechanisms.entropy_use import nothing_drawn
from tests.noise.fit import ALARM, p_value

MEDIAN = Median(bounds=(0, 100))


@dataclass(frozen=True)
class Told:
    """A statistic that says what it is told."""

    answer: Any = 0.0
    sensitivity: float = 1.0
    widest: float = 1.0

    @property
    def adjacency(self) -> Adjacency:
        return REPLACE_ONE

    @property
    def global_sensitivity(self) -> float:
        return self.widest

    def value(self, data: Any) -> Any:
        return self.answer

    def sensitivity_within(self, data: Any, distance: int) -> float:
        return self.sensitivity


@pytest.mark.parametrize(
    ("count", "wrong"), [(1_500, ("1/2", "2")), pytest.param(100_000, ("9/10", "11/10"), marks=pytest.mark.nightly)]
)
def test_releases_follow_the_law_and_others_would_be_seen(count: int, wrong: tuple[str, str]) -> None:
    """One by one, as users ask; a million at once are drawn in test_every_mechanism.py.

    −log₁₀ of the p-value of twice (half) the scale is 83 ± 7 (110 ± 10), far above 11.
    """
    mechanism = SmoothSensitivity(Told(), epsilon=1)
    step = mechanism._grid.step
    steps = integer_array([round(Fraction(mechanism.release(None).value) / step) for _ in range(count)])
    scale = mechanism.scale / step
    assert mechanism.event.exponent is not None
    index = int(mechanism.event.exponent) - 1
    assert p_value(steps, Steepest(scale, index)) > ALARM
    for factor in wrong:
        assert p_value(steps, Steepest(scale * Fraction(factor), index)) < ALARM


@pytest.mark.parametrize("noise", ["tight", "polynomial", "laplace", "gaussian", "printed"])
def test_all_but_the_answer_is_known_before_data(noise: str) -> None:
    delta = "1e-6" if noise in ("laplace", "gaussian", "printed") else 0
    with nothing_drawn():
        mechanism = dp.SmoothSensitivity(MEDIAN, epsilon=1, delta=delta, noise=noise)
        assert from_json(to_json(mechanism.event)) == mechanism.event
    for data in ([50.0] * 99, list(range(100)), [0.0] * 50 + [100.0] * 51):
        release = mechanism.release(data)
        assert release.event == mechanism.event
        assert release.guarantee == mechanism.guarantee
        assert (Fraction(release.value) / mechanism._grid.step).denominator == 1


def test_the_scale_is_that_of_the_data_and_never_below_the_floor() -> None:
    mechanism = SmoothSensitivity(MEDIAN, epsilon=1)
    step = mechanism._grid.step
    for data in ([50.0] * 9, list(range(100)), [0.0] * 50 + [100.0] * 51):
        smooth = smooth_sensitivity(MEDIAN, data, mechanism.smoothness)
        law = mechanism._law(smooth)
        assert isinstance(law, Steepest)
        assert law.scale == Fraction(smooth) * mechanism.scale / step
    quiet = mechanism._law(0.0)
    assert isinstance(quiet, Steepest)
    assert quiet.scale == FLOOR_STEPS * mechanism.scale
    assert 2.0**-40 * 100 / 2 < FLOOR_STEPS * step < 2.0**-40 * 100 * 2


def test_the_guarantee_says_whether_delta_was_needed() -> None:
    assert SmoothSensitivity(MEDIAN, epsilon=1, delta="1e-6").guarantee == dp.PureDP(1, adjacency=REPLACE_ONE)
    spent = SmoothSensitivity(MEDIAN, epsilon=1, delta="0.1")
    assert spent.guarantee == dp.ApproxDP(1, "0.1", adjacency=REPLACE_ONE)
    assert SmoothSensitivity(MEDIAN, epsilon=1, beta="0.01").smoothness == Fraction(1, 100)


@pytest.mark.parametrize("epsilon", ["1", "0.1"])
def test_tight_noise_is_at_least_twice_as_small_as_polynomial_noise(epsilon: str) -> None:
    """At the same β, and each at its own where S_β is in proportion to e^β/β; the 95 % error as well as the mean."""

    def reference(mechanism: SmoothSensitivity) -> float:
        beta = float(mechanism.smoothness)
        return math.exp(beta) / beta

    printed = SmoothSensitivity(MEDIAN, epsilon=epsilon, noise="polynomial")
    same = SmoothSensitivity(MEDIAN, epsilon=epsilon, delta="1e-6", beta=printed.smoothness)
    best = SmoothSensitivity(MEDIAN, epsilon=epsilon, delta="1e-6")
    assert printed.expected_error > 6 * same.expected_error
    assert printed.error() > 3 * same.error()
    assert printed.expected_error * reference(printed) > 12 * best.expected_error * reference(best)
    assert printed.error() * reference(printed) > 6 * best.error() * reference(best)


def test_the_printed_noise_is_that_of_the_slide() -> None:
    """Lap(1) in place of N(0, 1): the same β and s, a mean error that is √(π/2) times as large, and less δ."""
    printed, gaussian = (
        SmoothSensitivity(MEDIAN, epsilon=1, delta="1e-6", noise=noise) for noise in ("printed", "gaussian")
    )
    assert (printed.smoothness, printed.scale) == (gaussian.smoothness, gaussian.scale)
    assert (printed.event.noise, gaussian.event.noise) == ("laplace", "gaussian")
    assert printed.expected_error / gaussian.expected_error == pytest.approx(math.sqrt(math.pi / 2))
    assert compose([printed.event]).delta(1) < 1e-3 * compose([gaussian.event]).delta(1)
    for epsilon in (20, 60):  # (b) is refused at both, N(0, 1) at 60
        assert SmoothSensitivity(MEDIAN, epsilon=epsilon, delta="1e-6", noise="printed").guarantee.delta(epsilon) > 0


def test_errors_are_for_a_given_sensitivity() -> None:
    mechanism = SmoothSensitivity(MEDIAN, epsilon=1)
    assert mechanism.error(sensitivity=100) == mechanism.error()
    assert mechanism.error(sensitivity=1) == pytest.approx(mechanism.error() / 100)
    assert mechanism.expected_error_at(1) == pytest.approx(mechanism.expected_error / 100)
    assert mechanism.error(sensitivity=0) > 0
    low, high = mechanism.release([50.0] * 9).interval()
    assert high - low == pytest.approx(2 * mechanism.error())
    assert SmoothSensitivity(MEDIAN, epsilon=1, noise="polynomial", exponent=2).expected_error == math.inf
    for bad in (-1, math.nan, math.inf, True, "many"):
        with pytest.raises(ParameterError):
            mechanism.error(sensitivity=bad)
        with pytest.raises(ParameterError):
            mechanism.expected_error_at(bad)


@pytest.mark.parametrize(
    "told",
    [
        Told(answer=math.nan),
        Told(answer=math.inf),
        Told(answer=None),
        Told(answer=True),
        Told(answer="12345.5"),
    ],
    ids=str,
)
def test_a_statistic_that_tells_nonsense_is_refused_and_nothing_is_drawn(told: Told) -> None:
    mechanism = SmoothSensitivity(told, epsilon=1)
    with nothing_drawn(), pytest.raises(ParameterError) as refusal:
        mechanism.release([12345.5])
    assert "12345" not in str(refusal.value)


def test_a_sensitivity_that_is_no_number_gives_the_most_noise_or_none() -> None:
    """What is not known is taken to be as large as it can be."""
    told = SmoothSensitivity(Told(sensitivity=math.nan), epsilon=1)
    assert smooth_sensitivity(told.statistic, None, told.smoothness) == math.inf
    assert told._law(math.inf) == told._law(1.0)
    for bad in (math.nan, -1.0):
        with pytest.raises(ParameterError, match="at least 0"):
            told._law(bad)


@pytest.mark.parametrize("widest", [0.0, -1.0, math.inf, math.nan, 1e-300, 1e300])
def test_a_global_sensitivity_that_is_no_size_is_refused(widest: float) -> None:
    with pytest.raises(ParameterError, match="global sensitivity"):
        SmoothSensitivity(Told(widest=widest), epsilon=1)


def test_it_reads_well() -> None:
    shown = repr(SmoothSensitivity(Told(), epsilon="0.5", delta="1e-6", beta="0.1"))
    assert shown.endswith("epsilon=0.5, delta=1e-06, beta=0.1, noise='tight')")
