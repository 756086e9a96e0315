"""The reusable holdout: what counts as overfitted, what it costs, and how many conversations there are."""

from __future__ import annotations

import copy
import itertools
import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx

import dither as dp
from dither.adaptive.holdout_rules import NoisyRule, RoundedRule
from dither.errors import OverBudget, ParameterError
from dither.events import SparseVectorRun
from tests.mechanisms.entropy_use import nothing_drawn
from tests.oracle.transfers import largest_noise

BETA = Fraction(1, 20)
FRESH = np.arange(40_000) % 2
METHODS = ["sparse vector", "rounding"]


def holdout(**changes: Any) -> dp.ReusableHoldout:
    given: dict[str, Any] = {
        "train": np.zeros(1000), "holdout": FRESH, "threshold": "0.1", "checks": 50, "max_overfit": 2,
    }  # fmt: skip
    return dp.ReusableHoldout(**{**given, **changes})


def overfitted(x: Any) -> Any:
    """Always so in the training set, half of the time on the holdout."""
    return x == 0


def sound(x: Any) -> Any:
    return np.full(len(x), 0.25)


@pytest.mark.parametrize("method", METHODS)
def test_only_overfitting_costs(method: str) -> None:
    checked = holdout(method=method)
    for _ in range(40):
        found = checked.check(sound)
        assert (found.is_overfit, found.value) == (False, 0.25)
    assert checked.left == 2
    for left in (1, 0):
        found = checked.check(overfitted)
        assert found.is_overfit
        low, high = found.interval()
        assert low <= 0.5 <= high
        assert abs(found.value - 0.5) <= checked.accuracy
        assert checked.left == left
    with nothing_drawn(), pytest.raises(OverBudget, match="2 findings were overfitted, as max_overfit=2 says"):
        checked.check(sound)


@pytest.mark.parametrize("method", METHODS)
def test_a_query_cannot_check_another_in_the_middle(method: str) -> None:
    """Both would be let in before either was counted."""
    checked, inside = holdout(method=method, max_overfit=1), []

    def query(x: Any) -> Any:
        with pytest.raises(ParameterError, match="evaluating it"):
            inside.append(checked.check(overfitted))
        return overfitted(x)

    assert checked.check(query).is_overfit
    assert (inside, checked.checked, checked.left) == ([], 1, 0)


def test_the_number_of_checks_is_kept() -> None:
    checked = holdout(checks=3)
    for _ in range(3):
        checked.check(sound)
    assert checked.checked == 3
    with pytest.raises(OverBudget, match="3 findings were checked, as checks=3 says"):
        checked.check(sound)


def test_a_bad_query_costs_nothing() -> None:
    checked = holdout()
    for query in (lambda x: x + 2, lambda x: x[1:], lambda x: 1 / 0, lambda x: np.full(len(x), np.nan)):
        with nothing_drawn(), pytest.raises(ParameterError):
            checked.check(query)
    assert (checked.checked, checked.left) == (0, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0}, {"threshold": 1}, {"threshold": float("nan")}, {"checks": 0}, {"checks": 1.5},
        {"max_overfit": 0}, {"max_overfit": 51}, {"confidence": 1}, {"confidence": float("nan")}, {"method": "magic"},
        {"train": "rows"}, {"holdout": np.zeros(0)}, {"checks": 10**7}, {"holdout": np.zeros(2)},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        holdout(**change)


def test_a_copy_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be copied"):
        copy.copy(holdout())


def test_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = holdout()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with nothing_drawn(), pytest.raises(ParameterError, match="a holdout belongs to the process"):
        checked.check(sound)


def test_it_says_what_it_promises() -> None:
    assert "50 checks, 2 of them overfitted, on 40,000 rows" in str(holdout())
    assert holdout().accuracy == min(holdout(method=method).accuracy for method in METHODS)


# --------------------------------------------------------------------------- bounds


def conversations(checks: int, max_overfit: int, levels: int) -> int:
    """Every finding that may ever be checked, one for each way in which the checks before may have gone."""
    found = 0
    for before in range(checks):
        for past in itertools.product(range(levels + 1), repeat=before):  # 0: all was well
            found += sum(outcome > 0 for outcome in past) < max_overfit
    return found


@pytest.mark.parametrize(("checks", "max_overfit", "levels"), [(1, 1, 3), (4, 1, 3), (4, 2, 3), (5, 3, 2), (3, 3, 4)])
def test_conversations_are_counted_exactly(checks: int, max_overfit: int, levels: int) -> None:
    rule = RoundedRule.best(1000, Fraction(1, 2 * levels), checks, max_overfit, BETA)
    assert rule.levels == levels
    assert rule.findings.unique_fmpz() == conversations(checks, max_overfit, levels)


def test_a_million_digits_of_conversations_are_enclosed() -> None:
    """Σ_i m^i C(k, i + 1) = ((1 + m)^k − 1)/m, if every check may be overfitted."""
    rule = RoundedRule.best(1000, Fraction(1, 10), 10**4, 10**4, BETA)
    with ctx.workprec(1 << 17):
        assert rule.findings.contains((6 ** (10**4) - 1) // 5)
        assert rule.findings.rel_accuracy_bits() > 90


def test_the_bound_of_exact_comparisons_is_that_of_hoeffding() -> None:
    rule = RoundedRule.best(1000, Fraction(1, 10), 4, 2, BETA)
    naive = 0.1 + math.sqrt(math.log(2 * conversations(4, 2, 5) / 0.05) / 2000)
    assert naive <= rule.error(BETA) <= naive + 1e-8


def test_the_bound_of_noisy_comparisons_is_that_of_the_theorem() -> None:
    """T + ES(|ρ|) + ES(largest of k + B) + tanh(ε/4), from the scales of the noise alone."""
    rule = NoisyRule.best(40_000, Fraction(1, 10), 50, 2, BETA)
    comparisons = rule.sparse.event
    assert isinstance(comparisons, SparseVectorRun)
    one = float(comparisons.threshold_scale) * largest_noise("laplace", 1, 0.05)
    scale = float(comparisons.query_scale)
    many = scale * largest_noise("laplace", 52, 0.05)
    epsilon = float(rule.sparse.epsilon) + 2 / (40_000 * scale)
    assert float(rule.guarantee.stated_epsilon) == pytest.approx(epsilon, rel=1e-9)
    assert rule.error(BETA) == pytest.approx(0.1 + one + many + math.tanh(epsilon / 4), rel=1e-4)
    assert float(rule.mean.scale) == pytest.approx(scale, rel=1e-9)


def test_other_budgets_promise_no_more() -> None:
    """The ε that is chosen is about the best."""
    best = NoisyRule.best(40_000, Fraction(1, 10), 50, 2, BETA)
    for factor in (Fraction(1, 2), Fraction(2)):
        sparse = dp.SparseVector(
            threshold="0.1",
            epsilon=best.sparse.epsilon * factor,
            max_above=2,
            sensitivity=Fraction(1, 40_000),
            adjacency=best.sparse.adjacency,
        )
        assert isinstance(sparse.event, SparseVectorRun)
        mean = type(best.mean).laplace(40_000, sparse.event.query_scale)
        assert best.error(BETA) < NoisyRule(40_000, Fraction(1, 10), 50, 2, mean, sparse).error(BETA)
