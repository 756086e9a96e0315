"""The contract of a mechanism. Every mechanism keeps it; mechanism_case.py says how to join.

False alarms: a statistical test alarms with probability at most 1e-9 each.
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

from dither.errors import ParameterError
from dither.events import from_json, to_json
from dither.measures import Guarantee
from dither.mechanisms import Mechanism, Release
from tests.contract.entropy_use import nothing_drawn
from tests.contract.mechanism_case import Case
from tests.contract.mechanism_cases import CASES

ALARM = 1e-9
DRAWS = 1_000_000
SELECTIONS = 20_000  # one by one; enough to see the ten percent
BETA = 0.05

every_case = pytest.mark.parametrize("case", CASES, ids=str)
with_profile = pytest.mark.parametrize("case", [c for c in CASES if c.profile is not None], ids=str)
with_worst = pytest.mark.parametrize("case", [c for c in CASES if c.worst_errors is not None], ids=str)
with_errors = pytest.mark.parametrize("case", [c for c in CASES if c.errors is not None], ids=str)


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
    release = mechanism.release(case.value)
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
    done = mechanism.release(case.value).guarantee
    for epsilon in case.epsilons:
        assert done.delta(epsilon) <= mechanism.guarantee.delta(epsilon) * (1 + 1e-12)


@with_profile
def test_the_guarantee_is_never_below_the_truth_and_close_to_it(case: Case) -> None:
    mechanism = case.make()
    done = mechanism.release(case.value).guarantee
    assert case.profile is not None
    for epsilon in case.epsilons:
        truth = case.profile(epsilon)
        assert mechanism.guarantee.delta(epsilon) >= truth * (1 - 1e-12)
        assert truth * (1 - 1e-12) <= done.delta(epsilon)
        if math.isfinite(case.slack):
            assert done.delta(epsilon) <= truth * (1 + case.slack) + 1e-15


@with_errors
def test_the_error_bound_holds_and_is_not_wider_than_needed(case: Case) -> None:
    assert _fits(case.make(), _errors(case, case.make()))


@with_errors
def test_a_bound_ten_percent_smaller_would_be_seen(case: Case) -> None:
    assert not _fits(case.make(), _errors(case, case.make()) / 0.9)


@with_errors
def test_ten_percent_less_noise_would_be_seen(case: Case) -> None:
    if case.quieter is None:
        pytest.skip("no quieter version is known")
    assert not _fits(case.make(), _errors(case, case.quieter()))


@with_worst
def test_the_error_bound_of_a_selection_is_its_worst_case(case: Case) -> None:
    """With all others just beyond the bound, it is missed with probability β: not more, and not less."""
    mechanism = case.make()
    assert _misses_as_it_says(case, mechanism, mechanism.error(BETA))


@with_worst
def test_a_bound_ten_percent_off_would_be_seen_in_a_selection(case: Case) -> None:
    mechanism = case.make()
    for factor in (0.9, 1.1):
        assert not _misses_as_it_says(case, mechanism, factor * mechanism.error(BETA))


@with_worst
def test_ten_percent_less_noise_would_be_seen_in_a_selection(case: Case) -> None:
    assert case.quieter is not None
    assert not _misses_as_it_says(case, case.quieter(), case.make().error(BETA))


def _misses_as_it_says(case: Case, mechanism: Mechanism, bound: float) -> bool:
    assert case.worst_errors is not None
    missed = int((case.worst_errors(mechanism, bound, SELECTIONS) > bound).sum())
    return bool(bdtrc(missed - 1, SELECTIONS, BETA) > ALARM and bdtr(missed, SELECTIONS, BETA) > ALARM)


def _errors(case: Case, mechanism: Mechanism) -> Any:
    assert case.errors is not None
    found = case.errors(mechanism, DRAWS)
    assert found.size == DRAWS
    return found


def _fits(mechanism: Mechanism, errors: Any) -> bool:
    """Whether the bound is missed as often as it says, and not much less often (exact binomial tests).

    The cases draw noise wide enough that a quantile on the lattice is within 3 % of β.
    """
    missed = int((errors > mechanism.error(BETA)).sum())
    too_often = bdtrc(missed - 1, DRAWS, BETA) if missed else 1.0
    too_seldom = bdtr(missed, DRAWS, 0.97 * BETA)
    return bool(too_often > ALARM and too_seldom > ALARM)


@with_errors
def test_the_expected_error_is_the_mean(case: Case) -> None:
    """Six standard errors and a little: a false alarm in 5e8 even for the heavy tail of Laplace noise."""
    mechanism = case.make()
    errors = _errors(case, mechanism)
    assert abs(errors.mean() - mechanism.expected_error) < 7 * errors.std() / math.sqrt(DRAWS)
    assert abs(0.9 * errors.mean() - mechanism.expected_error) > 7 * errors.std() / math.sqrt(DRAWS)


@with_errors
def test_a_smaller_beta_means_a_wider_bound(case: Case) -> None:
    mechanism = case.make()
    bounds = [mechanism.error(beta) for beta in (0.5, 0.1, 0.01, 1e-6, 1e-12)]
    assert bounds == sorted(bounds)
    assert all(np.isfinite(bounds))


@every_case
@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, float("nan"), float("inf"), True, None, "many"])
def test_a_beta_that_is_no_probability_is_refused(case: Case, beta: Any) -> None:
    with pytest.raises(ParameterError):
        case.make().error(beta)


@every_case
@pytest.mark.parametrize("level", [0, 1, Fraction(-1, 2), float("nan"), True, None])
def test_a_level_that_is_no_probability_is_refused(case: Case, level: Any) -> None:
    release = case.make().release(case.value)
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
            mechanism.release(value)
