"""An array with a budget: charged before drawing, refused without a charge, and never more than the budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import EngineError, LedgerError, OverBudget, ParameterError
from dither.estimators.budgeted import _ESTIMATORS
from dither.ledger import Ledger

DATA = [1.0, 4.0, 9.0] * 50


def opened(ledger: Any, **options: Any) -> dp.stats.BudgetedArray:
    return dp.stats.BudgetedArray(DATA, **{"identity": "x", "ledger": ledger, "budget": dp.PureDP(1)} | options)


def test_the_charge_is_on_disk_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimator looks into the ledger itself, through another connection: the rehearsal sees no charge, it does."""
    path, seen = tmp_path / "x.ledger", []

    def look(data: Any, *, epsilon: Any) -> Any:
        seen.append((len(data), Ledger(path).account("x").charges))
        return dp.stats.count(data, epsilon=epsilon)

    monkeypatch.setattr("dither.estimators.budgeted._ESTIMATORS", (look,))
    opened(path).release(look, epsilon="1/4")
    assert seen == [(1, 0), (len(DATA), 1)]


def test_charges_add_up_and_nothing_beyond_the_budget_is_answered() -> None:
    paid = opened(":memory:")
    for _ in range(4):
        paid.release(dp.stats.median, epsilon="1/4", bounds=(0, 10))
    assert paid.remaining["epsilon"] == 0
    with pytest.raises(OverBudget):
        paid.release(dp.stats.count, epsilon="1e-9")
    account = paid.ledger.account("x")
    assert (account.charges, account.failures.failed) == (4, 0)


def test_what_is_refused_is_not_charged() -> None:
    paid = opened(":memory:")
    refused: list[tuple[Any, dict[str, Any]]] = [
        (dp.stats.mean, {"epsilon": -1}),
        (dp.stats.mean, {"epsilon": 1, "bounds": (3, 2)}),
        (dp.stats.mean, {"epsilon": float("nan")}),
        (dp.stats.mean, {"epsilon": "1/4", "adjacency": REPLACE_ONE}),
        (dp.stats.histogram, {"epsilon": "1/4", "delta": 1e-6}),  # the budget has no δ
        (dp.stats.covariance, {"epsilon": "1/4"}),
        (lambda data, **options: dp.stats.mean(data, epsilon=100), {"epsilon": "1/4"}),
    ]
    for estimator, options in refused:
        with pytest.raises((ParameterError, OverBudget)):
            paid.release(estimator, **options)
    assert paid.ledger.account("x").charges == 0


def test_failures_are_charged_counted_and_all_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens after the charge, the words are the same and hold nothing of the records."""

    def failing(data: Any, *, epsilon: Any) -> Any:
        if len(data) > 1:
            raise ValueError(f"saw {data}")
        return dp.stats.count(data, epsilon=epsilon)

    def dearer(data: Any, *, epsilon: Any) -> Any:
        return dp.stats.count(data, epsilon=epsilon if len(data) == 1 else 2 * dp.PureDP(epsilon).stated_epsilon)

    monkeypatch.setattr("dither.estimators.budgeted._ESTIMATORS", (failing, dearer))
    paid, words = opened(":memory:"), set()
    for estimator in (failing, dearer):
        with pytest.raises(EngineError) as raised:
            paid.release(estimator, epsilon="1/4")
        words.add(str(raised.value))
        assert raised.value.__context__ is None
    assert len(words) == 1
    account = paid.ledger.account("x")
    assert (account.charges, account.failures.failed) == (2, 2)


def test_the_budget_is_given_once(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    opened(path).release(dp.stats.sum, epsilon="1/2", bounds=(0, 10))
    assert opened(path, budget=None).remaining["epsilon"] == 0.5
    with pytest.raises(LedgerError):
        opened(path, budget=dp.PureDP(2))
    with pytest.raises(LedgerError):
        opened(tmp_path / "other.ledger", budget=None)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("estimator", _ESTIMATORS, ids=lambda each: each.__name__)
def test_every_estimator_costs_what_it_was_charged_whatever_the_data_are(estimator: Any, adjacency: Any) -> None:
    """The rehearsal knows the cost: it is the same for no records, one, many and odd ones.

    (Where n is public, no records at all are refused: here, after the charge.)
    """
    options: dict[str, Any] = {"epsilon": "1/8", "adjacency": adjacency}
    args: tuple[Any, ...] = ([0.25, 0.5],) if estimator is dp.stats.quantile else ()
    args = (2,) if estimator is dp.stats.top else args
    if estimator in (dp.stats.top, dp.stats.mode, dp.stats.histogram):
        options["categories"] = [0, 1, 2, 3]
    columns: list[Any] = [[1], [0, 1] * 300, ["x", None, 3, 1e300], np.arange(9)]
    for data in columns if adjacency == REPLACE_ONE else [[], *columns]:
        paid = dp.stats.BudgetedArray(
            data, identity="x", ledger=":memory:", budget=dp.PureDP(1, adjacency=adjacency), adjacency=adjacency
        )
        assert paid.release(estimator, *args, **options).guarantee.epsilon(0) == 1 / 8
        assert paid.remaining["epsilon"] == 0.875


@pytest.mark.parametrize("data", [[], (), np.array([])], ids=["list", "tuple", "array"])
def test_no_records_under_replace_one_are_refused_before_the_charge(data: Any) -> None:
    whole = dp.PureDP(1)
    held = dp.stats.BudgetedArray(data, identity="x", ledger=":memory:", budget=whole, adjacency=REPLACE_ONE)
    for estimator in (dp.stats.mean, dp.stats.sum, dp.stats.median, dp.stats.variance, dp.stats.min):
        with pytest.raises(ParameterError, match="at least one record"):
            held.release(estimator, epsilon="1/4", bounds=(0, 1), adjacency=REPLACE_ONE)
    assert held.remaining["epsilon"] == 1
    assert held.ledger.account("x").failures.unanswered == 0
    held.release(dp.stats.count, epsilon="1/4", adjacency=REPLACE_ONE)
