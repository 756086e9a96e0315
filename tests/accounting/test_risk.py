"""Noise calibrated to a risk: against closed forms, from both sides, and with a little less noise."""

import math
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import norm

import dither as dp
from dither.accounting.noise_calibration import Uncalibrated
from dither.errors import ParameterError
from dither.events import Composed, GaussianNoise, LaplaceNoise, PoissonSampled, RandomizedAnswer, Repeated, Selection
from dither.exact import rational
from dither.guarantees import best_guess, largest_posterior

GAUSSIAN, LAPLACE = GaussianNoise.of(1), LaplaceNoise(1)
TRAINING = Repeated(PoissonSampled(GaussianNoise.of(1), "0.02"), 100)

CLOSED: list[tuple[Any, dict[str, Any], float]] = [
    (GAUSSIAN, {"advantage": 0.1}, 0.5 / norm.ppf(0.55)),
    (GAUSSIAN, {"advantage": "1e-4"}, 0.5 / norm.ppf(0.50005)),
    (GAUSSIAN, {"tpr": 0.05, "fpr": 0.01}, 1 / (norm.ppf(0.05) - norm.ppf(0.01))),
    (GAUSSIAN, {"tpr": 0.9, "fpr": 0.5}, 1 / norm.ppf(0.9)),
    (GAUSSIAN, {"reconstruction": 0.05, "baseline": 0.01}, 1 / (norm.ppf(0.05) - norm.ppf(0.01))),
    (GAUSSIAN, {"guess": 0.6, "prior": 0.5}, 0.5 / norm.ppf(0.6)),
    (GaussianNoise.of(2, 4), {"advantage": 0.1}, 2 * 0.5 / norm.ppf(0.55)),
    (Repeated(GAUSSIAN, 100), {"advantage": 0.1}, 10 * 0.5 / norm.ppf(0.55)),
    (LAPLACE, {"advantage": 0.1}, -0.5 / math.log(0.9)),
    (LAPLACE, {"posterior": 0.5, "prior": 0.1}, 1 / math.log(9)),
    (LAPLACE, {"posterior": 0.2, "prior": 0.1}, 1 / math.log(9 / 4)),
    (LAPLACE, {"epsilon": 0.5, "delta": 0}, 2.0),
    (Selection(Fraction(1)), {"posterior": 0.5, "prior": 0.1}, 2 / math.log(9)),
]


@pytest.mark.parametrize(("thing", "asked", "truth"), CLOSED, ids=str)
def test_closed_forms(thing: Any, asked: dict[str, Any], truth: float) -> None:
    """Never below the truth, and within 1e-5 of it; the risk is bracketed and kept."""
    found = dp.calibrate(thing, **asked)
    assert truth * (1 - 1e-12) <= found.scale <= truth * (1 + 1e-5)
    limit = float(Fraction(str(next(iter(asked.values())))))
    assert found.risk.lower <= found.risk.upper <= limit * (1 + 1e-12)
    assert found.risk.lower >= limit * (1 - 5e-3)


RISKS: list[dict[str, Any]] = [
    {"advantage": 0.2},
    {"tpr": 0.05, "fpr": 0.01},
    {"guess": 0.92, "prior": 0.1},
    {"posterior": 0.5, "prior": 0.1, "chance": "1e-4"},
]


@pytest.mark.parametrize("asked", RISKS, ids=str)
def test_a_training_run_keeps_its_risk_and_less_noise_does_not(asked: dict[str, Any]) -> None:
    """By the guarantee's own answers, which share no search with it; a control has 2 % less noise."""

    def risk(scale: float) -> float:
        whole = dp.compose(
            [Repeated(PoissonSampled(GaussianNoise.of(rational(scale)), "0.02"), 100)], relative_width=1e-4
        )
        if "advantage" in asked:
            return whole.tv()
        if "tpr" in asked:
            return whole.true_positive_rate(asked["fpr"])
        if "guess" in asked:
            return best_guess(whole, asked["prior"])
        return largest_posterior(whole, asked["prior"], asked["chance"])

    found = dp.calibrate(TRAINING, **asked)
    limit = next(iter(asked.values()))
    assert found.event == Repeated(PoissonSampled(GaussianNoise.of(rational(found.scale)), "0.02"), 100)
    assert risk(found.scale) <= limit * (1 + 2e-3 if "posterior" not in asked else 1.05)
    assert found.risk.upper <= limit
    if "posterior" in asked:
        return  # known by a bound only
    assert found.risk.lower >= limit * (1 - 5e-3)
    assert risk(0.98 * found.scale) > limit


def test_what_has_no_scale_stays() -> None:
    """A fixed part and a free one; and a fixed part that alone is too much."""
    fixed = RandomizedAnswer(Fraction(1, 10))
    both = dp.calibrate(Composed((fixed, GAUSSIAN)), advantage=0.2)
    assert both.event.events[0] == fixed
    assert both.scale > dp.calibrate(GAUSSIAN, advantage=0.2).scale
    with pytest.raises(Uncalibrated, match="no scale"):
        dp.calibrate(Composed((RandomizedAnswer(Fraction(9, 10)), GAUSSIAN)), advantage=0.2)


def test_a_function_of_a_scale_is_calibrated_too() -> None:
    found = dp.calibrate(lambda sigma: GaussianNoise.of(sigma, 3), advantage=0.1)
    assert found.scale == pytest.approx(1.5 / norm.ppf(0.55), rel=1e-9)


def test_mechanisms_are_calibrated_by_their_event() -> None:
    found = dp.calibrate(dp.Gaussian(sensitivity=1, sigma=1), advantage=0.1)
    assert found.scale == pytest.approx(0.5 / norm.ppf(0.55), rel=0.05)  # integers are covered too
    assert found.guarantee.tv() <= 0.1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "exactly one risk"),
        ({"advantage": 0.1, "tpr": 0.1, "fpr": 0.01}, "exactly one risk"),
        ({"advantage": 0.1, "prior": 0.1}, "exactly one risk"),
        ({"advantage": 0}, "advantage"),
        ({"advantage": 1}, "advantage"),
        ({"advantage": math.nan}, "advantage"),
        ({"tpr": 0.1}, "fpr is missing"),
        ({"fpr": 0.1}, "tpr is missing"),
        ({"tpr": 0.1, "fpr": 0.1}, "must be above"),
        ({"tpr": 0.1, "fpr": 0}, "fpr"),
        ({"posterior": 0.1, "prior": 0.1}, "posterior must be above"),
        ({"posterior": 0.5}, "prior is missing"),
        ({"posterior": 0.5, "prior": 0.1, "chance": -1}, "chance"),
        ({"guess": 0.9, "prior": 0.1}, "guess must be above"),
        ({"epsilon": 1}, "delta is missing"),
        ({"epsilon": -1, "delta": 0}, "epsilon"),
        ({"reconstruction": 0.1}, "baseline is missing"),
    ],
    ids=str,
)
def test_bad_risks_are_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dp.calibrate(GAUSSIAN, **asked)


@pytest.mark.parametrize("thing", [RandomizedAnswer(Fraction(1, 2)), 5, "noise"], ids=str)
def test_what_cannot_be_scaled_is_refused(thing: Any) -> None:
    with pytest.raises(ParameterError, match=r"noise scale|must be an event"):
        dp.calibrate(thing, advantage=0.1)


@pytest.mark.parametrize(
    "event",
    [
        dp.events.MixtureOfGaussians(variance=1, sensitivities=(0, 1, 2), probabilities=("0.2", "0.6", "0.2")),
        dp.events.MatrixNoise(variance=1, coefficients=(1, "0.5"), steps=10),
        dp.events.TreeNoise(variance=1, steps=100, participations=3, separation=30),
        dp.events.SmoothNoise("polynomial", smoothness="0.01", scale=10, exponent=4),
    ],
    ids=lambda event: type(event).__name__,
)
def test_every_free_scale_is_calibrated(event: dp.events.Event) -> None:
    """At the scale that is found the risk is kept, and at one a thousandth smaller it is not."""
    found = dp.calibrate(event, advantage="0.1")
    assert found.risk.lower <= found.risk.upper <= 0.1
    assert dp.compose([found.event]).tv() <= 0.1 * (1 + 1e-9)
    again = dp.calibrate(found.event, advantage="0.1")
    assert again.scale == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("advantage", "factor"), [("0.5", 1), ("0.01", 0)])
def test_less_noise_on_the_same_lattice_loses_more_to_it(advantage: str, factor: int) -> None:
    """Of noise a fraction as wide the lattice has so many times fewer steps; wider noise loses no more than before."""
    event = dp.events.SmoothNoise("laplace", smoothness="0.001", scale=10, lattice_loss="1e-6")
    found = dp.calibrate(event, advantage=advantage) if factor else dp.calibrate(event, epsilon="0.05", delta="1e-3")
    ratio = found.event.scale / event.scale
    assert (ratio < 1) == bool(factor)
    assert found.event.lattice_loss == Fraction(1, 10**6) / min(ratio, 1)


def test_a_chance_without_a_posterior_is_refused() -> None:
    with pytest.raises(ParameterError, match="chance belongs to posterior"):
        dp.calibrate(GAUSSIAN, advantage=0.1, chance="1e-6")
    assert dp.calibrate(LAPLACE, advantage=0.1, chance=0).scale > 0
