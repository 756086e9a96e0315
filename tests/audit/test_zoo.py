"""Every broken mechanism is caught, with neighbours found by the auditor, and no right one is accused.

False alarms. The right ones run at alpha = 1e-11 each; there are fewer than 30, so that fewer than one run in 10^9
alarms. The broken ones run at the usual 1e-6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from dither.accounting import compose
from dither.audit import attack
from dither.audit.attack.controls import CONTROLS, Control, control
from dither.audit.zoo import SPECIMENS, Specimen, sampling, sparse_vectors, tested_releases
from dither.errors import ParameterError
from dither.events import GaussianNoise, PoissonSampled, Repeated
from dither.guarantees import GaussianDP
from tests.mechanisms.kinds import names_of_mechanisms
from tests.noise.fit import ALARM

BROKEN = [specimen for specimen in SPECIMENS if specimen.is_broken]
RIGHT = [specimen for specimen in SPECIMENS if not specimen.is_broken]

MANY_RUNS = 1_000_000  # beyond this a target waits for the night


def _named(things: Any) -> Any:
    return [pytest.param(thing, id=str(thing)) for thing in things]


def _timed(specimens: list[Specimen]) -> Any:
    nightly = pytest.mark.nightly
    return [pytest.param(s, id=s.name, marks=[nightly] if s.samples > MANY_RUNS else []) for s in specimens]


def test_the_zoo_is_complete() -> None:
    assert len(BROKEN) >= 18
    assert {s.name for s in RIGHT} == {"SVT1", "SVT2"}
    assert len({s.name for s in SPECIMENS}) == len(SPECIMENS)
    assert all(s.why for s in SPECIMENS)


@pytest.mark.parametrize("specimen", _timed(BROKEN))
def test_what_is_broken_is_caught(specimen: Specimen) -> None:
    verdict = attack(specimen, samples=specimen.samples)
    assert verdict.violated
    assert verdict.lower_bound <= specimen.truth
    assert verdict.samples <= specimen.samples


@pytest.mark.parametrize("specimen", _named(RIGHT))
def test_what_is_right_is_not_accused(specimen: Specimen) -> None:
    verdict = attack(specimen, samples=20_000, alpha=ALARM)
    assert not verdict.violated
    assert verdict.lower_bound <= specimen.truth


AT_A_TENTH = [s for s in sparse_vectors.specimens(Fraction(1, 10)) if s.is_broken]


@pytest.mark.nightly
@pytest.mark.parametrize("specimen", _named(AT_A_TENTH))
def test_sparse_vectors_are_caught_at_a_tenth(specimen: Specimen) -> None:
    verdict = attack(specimen, samples=10_000_000)
    assert verdict.violated
    assert 0.1 < verdict.lower_bound <= specimen.truth


# ----------------------------------------------------------------- our own


def test_every_mechanism_is_a_control() -> None:
    """A class that is not: add a `Control` for it to audit/attack/controls.py."""
    assert names_of_mechanisms() - {type(each.make(1, "1e-3")).__name__ for each in CONTROLS} == set()


@pytest.mark.parametrize("each", _named(CONTROLS))
def test_ours_is_not_accused(each: Control) -> None:
    verdict = attack(each.make(1, "1e-3"), samples=500, alpha=ALARM)
    assert not verdict.violated


@pytest.mark.nightly
@pytest.mark.parametrize("each", _named(CONTROLS))
def test_ours_is_not_accused_by_many_runs(each: Control) -> None:
    verdict = attack(each.make(1, "1e-3"), samples=40_000, alpha=ALARM)
    assert not verdict.violated
    assert verdict.lower_bound <= 1 or verdict.delta < Fraction(1, 1000)


TOLD_APART = {
    "Laplace", "Staircase", "Histogram", "Histogram of discovered bins", "NoisyMax", "RandomizedResponse", "QueryMean",
    "MatrixMechanism",
}  # fmt: skip
"""Those whose neighbours tell so much that few runs show it."""


@pytest.mark.parametrize("each", _named(control for control in CONTROLS if control.name in TOLD_APART))
def test_ours_with_a_claim_of_half_its_price_is_accused(each: Control) -> None:
    """The negative control: the neighbours of the controls do tell."""
    delta = "1e-3" if "discovered" in each.name else 0
    assert attack(each.make(1, "1e-3"), None, "0.5", delta, samples=20_000).violated


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ParameterError, match="Laplace"):
        control("Laplacian")


# ------------------------------------------------------- truths of the zoo


def _truth(name: str) -> float:
    return next(specimen.truth for specimen in SPECIMENS if specimen.name == name)


def test_the_discount_of_sampled_batches_is_what_the_accountant_says() -> None:
    """δ(1) of ten Gaussian sums of σ = 0.3, sampled at rate 1/10."""
    batch = PoissonSampled(
        GaussianNoise(variance=sampling.SIGMA**2, sensitivity_squared=Fraction(1)), Fraction(1, sampling.BATCHES)
    )
    assert compose([Repeated(batch, sampling.BATCHES)]).delta(1) <= sampling.DELTA


def test_the_classic_gaussian_at_ten_is_not_what_it_says() -> None:
    """δ(10) by the exact profile Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    mu = 10 / math.sqrt(2 * math.log(5))
    tail = [math.erfc(x / math.sqrt(2)) / 2 for x in (10 / mu - mu / 2, 10 / mu + mu / 2)]
    assert tail[0] - math.exp(10) * tail[1] == pytest.approx(0.79, abs=0.005)
    assert GaussianDP(mu).epsilon("1/4") <= _truth("classic Gaussian at ε = 10") < 18.4


def test_what_shuffled_batches_cost() -> None:
    """Two of them change by at most √2 together."""
    mu = math.sqrt(2) / sampling.SIGMA
    assert GaussianDP(mu).epsilon(sampling.DELTA) <= _truth("shuffled batches as Poisson sampling") < 8.2


def test_at_three_hundred_thousand_runs_no_event_can_show_it() -> None:
    """With no hit at all on one side, its chance is only known to be below 1 − α^(1/n), and e^10 times that is > 1."""
    unknown = -math.expm1(math.log(1e-6) / 300_000)
    assert math.exp(10) * unknown > 1


def test_the_tail_of_a_threshold_that_is_off_by_one() -> None:
    """P[1 + X ≥ t] = e^(1−t)/(1 + e^−1) for noise of scale 1: below δ = 0.005 for t = 6 and e times as much for 5."""
    right, wrong = (math.exp(1 - t) / (1 + math.exp(-1)) for t in (6, 5))
    assert right < 0.005 < wrong
    assert wrong == pytest.approx(0.0134, abs=1e-4)


def test_the_answers_of_a_distance_that_is_off_by_one() -> None:
    """P[X > 1] for noise of scale 1/2 is below δ = 0.02; P[1 + X > 1], on the upper side of a jump, is not."""
    low, high = [0] * 151 + [1000] * 150, [0] * 150 + [1000] * 151
    assert [tested_releases.distance_of_sensitivity(data, 5) for data in (low, high)] == [0, 0]
    assert [tested_releases.distance_of_sensitivity(data, 5, first=1) for data in (low, high)] == [0, 1]
    right, wrong = (math.exp(-2 * (2 - distance)) / (1 + math.exp(-2)) for distance in (0, 1))
    assert right < 0.02 < wrong
    assert wrong == pytest.approx(0.119, abs=1e-3)
