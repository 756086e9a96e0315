"""The contract of a mechanism. Every mechanism keeps it; mechanism_case.py says how to join.

False alarms: a test of draws is exact binomial, at most `ALARM` = 1e-11 on each side, or looks seven standard errors
away from a mean, which a normal variable is with probability 2.6e-12. For a million draws of the skewest error here (a
wrong answer of a sparse vector, once in 600) it is 2e-11, by the tails of the Poisson law. With two such tests for each
of 30 cases, fewer than one run in 10^8 alarms. The wrong noises are 19 standard errors away or more: none escapes.
"""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

from dither.accounting import compose
from dither.errors import ParameterError
from dither.events import from_json, to_json
from dither.guarantees import Guarantee
from dither.mechanisms import Mechanism, Release
from tests.mechanisms.batches import Batch
from tests.mechanisms.entropy_use import nothing_drawn
from tests.mechanisms.kinds import names_of_mechanisms
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.mechanisms.mechanism_cases import CASES
from tests.noise.fit import ALARM

pytestmark = pytest.mark.contract

DRAWS = 1_000_000

every_case = pytest.mark.parametrize("case", CASES, ids=str)
with_loss = pytest.mark.parametrize("case", [c for c in CASES if c.largest_loss is not None], ids=str)
with_bound = pytest.mark.parametrize("case", [c for c in CASES if c.bound is None], ids=str)
in_batches = pytest.mark.parametrize("case", [c for c in CASES if isinstance(c.errors, Batch)], ids=str)


def test_every_mechanism_is_in_the_suite() -> None:
    """A class that is not: add a `Case` for it to a file of cases that mechanism_cases.py lists."""
    assert names_of_mechanisms() - {type(case.make()).__name__ for case in CASES} == set()


@every_case
def test_the_suite_knows_all_it_needs(case: Case) -> None:
    """What is listed is missing in the case; mechanism_case.py says what each means."""
    assert case.missing == []


@every_case
def test_it_is_a_frozen_hashable_noun(case: Case) -> None:
    mechanism = case.make()
    assert isinstance(mechanism, Mechanism)
    assert mechanism == case.make()
    assert hash(mechanism) == hash(case.make())
    name = dataclasses.fields(mechanism)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, name, 1)


@every_case
def test_it_knows_its_cost_before_it_sees_data(case: Case) -> None:
    with nothing_drawn():
        mechanism = case.make()
        assert isinstance(mechanism.guarantee, Guarantee)
        assert from_json(to_json(mechanism.event)) == mechanism.event
        assert mechanism.event.adjacency == mechanism.guarantee.adjacency == mechanism.adjacency


@every_case
def test_a_release_says_what_was_done(case: Case) -> None:
    mechanism = case.make()
    release = case.release(mechanism, case.value)
    assert isinstance(release, Release)
    assert from_json(to_json(release.event)) == release.event
    assert release.event.adjacency == release.guarantee.adjacency == mechanism.adjacency
    certificate = json.loads(json.dumps(release.certificate()))
    assert certificate["mechanism"] == type(mechanism).__name__
    assert certificate["event"] == json.loads(to_json(release.event))


@every_case
def test_the_mechanism_promises_no_more_than_the_release_keeps(case: Case) -> None:
    """δ(ε) of what was done is at most δ(ε) of what was announced."""
    mechanism = case.make()
    done = case.release(mechanism, case.value).guarantee
    for epsilon in case.epsilons:
        assert done.delta(epsilon) <= mechanism.guarantee.delta(epsilon) * (1 + 1e-12)


# ------------------------------------------------------------------- privacy


@every_case
def test_the_guarantee_is_never_below_the_truth_and_close_to_it(case: Case) -> None:
    mechanism = case.make()
    done = case.release(mechanism, case.value).guarantee
    assert case.profile is not None
    for epsilon in case.epsilons:
        truth = case.profile(epsilon)
        assert mechanism.guarantee.delta(epsilon) >= truth * (1 - 1e-12)
        assert truth * (1 - 1e-12) <= done.delta(epsilon)
        if math.isfinite(case.slack):
            assert done.delta(epsilon) <= truth * (1 + case.slack) + 1e-15


@with_loss
def test_pure_privacy_is_tight(case: Case) -> None:
    """Some neighbours have a loss of almost ε, and none has more."""
    epsilon, loss = case.make().guarantee.epsilon(0), _largest_loss(case)
    assert loss <= epsilon * (1 + 1e-12)
    assert loss > 0.92 * epsilon


@every_case
def test_the_guarantee_of_ten_percent_more_noise_would_be_too_small(case: Case) -> None:
    assert case.louder is not None
    assert case.profile is not None
    weaker = case.louder().guarantee
    is_seen = any(weaker.delta(epsilon) < case.profile(epsilon) * (1 - 1e-9) for epsilon in case.epsilons)
    assert is_seen or (case.largest_loss is not None and weaker.epsilon(0) < _largest_loss(case))


@every_case
def test_accounting_reads_the_event_as_the_guarantee(case: Case) -> None:
    """What accounting makes of the event is never below the truth, nor a hundredth above the guarantee."""
    mechanism = case.make()
    assert case.profile is not None
    both = [compose([event]) for event in (mechanism.event, case.release(mechanism, case.value).event)]
    for epsilon in case.epsilons:
        truth, announced = case.profile(epsilon), mechanism.guarantee.delta(epsilon)
        assert all(truth * (1 - 1e-12) <= read.delta(epsilon) <= announced * 1.01 + 1e-12 for read in both)
    if case.largest_loss is not None:
        assert min(read.epsilon(0) for read in both) >= _largest_loss(case) * (1 - 1e-12)


def _largest_loss(case: Case) -> float:
    assert case.largest_loss is not None
    return case.largest_loss()


# --------------------------------------------------------------------- error


@every_case
def test_errors_follow_their_law_and_ten_percent_would_be_seen(case: Case) -> None:
    """A million draws: beyond the bound as often as the exact law says; less noise and more noise both fail."""
    assert case.quieter is not None
    assert case.louder is not None
    bound, law = _bound(case), _law(case)
    assert _fits(_drawn(case, case.make()), bound, law)
    for wrong in (case.quieter(), case.louder()):
        errors = _drawn(case, wrong)
        assert not _misses_as_often(errors, bound, law)
        assert not _has_mean(errors, law)


@in_batches
def test_a_batch_does_what_single_releases_do(case: Case) -> None:
    """On the same randomness, row by row."""
    batch, mechanism = case.errors, case.make()
    assert isinstance(batch, Batch)
    rows = batch.draw(mechanism, 100)
    for row, error in zip(rows, batch.errors(mechanism, rows), strict=True):
        with batch.replay(mechanism, row):
            assert math.isclose(batch.one(mechanism), error, rel_tol=1e-9, abs_tol=1e-9)


@with_bound
def test_the_error_bound_holds_and_is_not_wider_than_needed(case: Case) -> None:
    """By the exact law. The bound is the smallest point of the lattice where that is so: 3 % less is not enough."""
    bound, law = _bound(case), _law(case)
    assert law.beyond(bound) <= case.beta * (1 + 1e-9)
    if case.error_is_exact:
        assert law.beyond(0.97 * bound) > 0.97 * case.beta or not bound


@with_bound
def test_the_expected_error_is_the_mean(case: Case) -> None:
    mechanism, law = case.make(), _law(case)
    mean = law.mean if law.one is None else law.one
    assert mechanism.expected_error >= mean * (1 - 1e-12)
    if case.mean_is_exact:
        assert mechanism.expected_error <= mean * 1.001


@with_bound
def test_a_smaller_beta_means_a_wider_bound(case: Case) -> None:
    mechanism = case.make()
    bounds = [mechanism.error(beta) for beta in (0.5, 0.1, 0.01, 1e-6, 1e-12)]
    assert bounds == sorted(bounds)
    assert all(np.isfinite(bounds))


def _bound(case: Case) -> float:
    return case.make().error(case.beta) if case.bound is None else case.bound(case.make())


def _law(case: Case) -> ErrorLaw:
    assert case.error_law is not None
    return case.error_law()


def _drawn(case: Case, mechanism: Mechanism) -> Errors:
    assert case.errors is not None
    found = case.errors(mechanism, DRAWS)
    assert found.size == DRAWS
    return found


def _fits(errors: Errors, bound: float, law: ErrorLaw) -> bool:
    return _misses_as_often(errors, bound, law) and _has_mean(errors, law)


def _misses_as_often(errors: Errors, bound: float, law: ErrorLaw) -> bool:
    """The exact binomial test, both ways."""
    missed, chance = int((errors > bound).sum()), law.beyond(bound)
    too_often = bdtrc(missed - 1, DRAWS, chance) if missed else 1.0
    return bool(too_often > ALARM and bdtr(missed, DRAWS, chance) > ALARM)


def _has_mean(errors: Errors, law: ErrorLaw) -> bool:
    return bool(abs(errors.mean() - law.mean) < 7 * errors.std() / math.sqrt(DRAWS))


# ------------------------------------------------------------------- refusals


@every_case
@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, float("nan"), float("inf"), True, None, "many"])
def test_a_beta_that_is_no_probability_is_refused(case: Case, beta: Any) -> None:
    with pytest.raises(ParameterError):
        case.make().error(beta)


@every_case
@pytest.mark.parametrize("level", [0, 1, Fraction(-1, 2), float("nan"), True, None])
def test_a_level_that_is_no_probability_is_refused(case: Case, level: Any) -> None:
    release = case.release(case.make(), case.value)
    with pytest.raises(ParameterError):
        release.interval(level)


@every_case
def test_bad_parameters_are_refused_and_nothing_is_drawn(case: Case) -> None:
    assert case.refused_builds
    for build in case.refused_builds:
        with nothing_drawn(), pytest.raises(ParameterError):
            build()


@every_case
def test_bad_values_are_refused_and_nothing_is_drawn(case: Case) -> None:
    assert case.refused_values
    mechanism = case.make()
    for value in case.refused_values:
        with nothing_drawn(), pytest.raises(ParameterError):
            case.release(mechanism, value)
