"""The price of a wish inverts the plan, and a plan says what the ledger would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import OverBudget, ParameterError


@pytest.fixture(scope="module")
def data() -> Iterator[dp.Dataset]:
    table = pa.table({"who": range(100), "city": ["Paris", "Lyon"] * 50, "spend": [20.0, 50.0] * 50})
    unit = dp.Person("who", max_groups=3, max_rows_per_group=2)
    with dp.Dataset(table, unit=unit, budget=dp.PureDP(2), ledger=":memory:", identity="visits") as found:
        yield found


ALL = {"n": dp.count(), "s": dp.sum("spend", (0, 200)), "m": dp.mean("spend", (0, 200))}


@pytest.mark.parametrize("wish", [1, 3, 10, 100, 12_345])
def test_it_inverts_the_plan_of_a_count(data: dp.Dataset, wish: int) -> None:
    question = data.group_by("city", keys=["Lyon", "Paris"]).agg(n=dp.count())
    price = question.price(error=wish)
    assert (question.plan(epsilon=price).error("n") or 0) <= wish
    assert (question.plan(epsilon=price * 0.99).error("n") or 0) > wish


@pytest.mark.parametrize("wish", [{"n": 50}, {"s": "1e4"}, {"m": "0.5"}, {"n": 20, "m": "0.01"}, {"n": 500, "s": 300}])
@pytest.mark.parametrize("weights", [None, {"m": 7}])
def test_per_column(data: dp.Dataset, wish: dict[str, Any], weights: Any) -> None:
    """All columns keep what was asked, and one would not for 1 % less."""
    question = data.agg(**ALL)
    price = question.price(wish, rows=5_000, weights=weights)
    errors = [question.plan(epsilon=price * part, weights=weights) for part in (1, 0.99)]
    kept, missed = (
        [float(plan.error(name, 5_000) or 0) <= float(wanted) for name, wanted in wish.items()] for plan in errors
    )
    assert all(kept)
    assert not all(missed)


@pytest.mark.parametrize("noise", [None, "gaussian", "laplace"])
def test_with_delta(data: dp.Dataset, noise: Any) -> None:
    """Over many groups Gaussian noise is cheaper; what is found holds for the plan that a release would have."""
    unit = dp.Person("who", max_groups=100, max_rows_per_group=1)
    table = pa.table({"who": [1], "k": [1]})
    with dp.Dataset(table, unit=unit, budget=dp.ApproxDP(1, "1e-5"), ledger=":memory:", identity="many") as many:
        question = many.group_by("k", keys=list(range(100))).agg(n=dp.count())
        price = question.price(error=200, delta="1e-6", noise=noise)
        plan = question.plan(epsilon=price, delta="1e-6", noise=noise)
        assert 198 <= (plan.error("n") or 0) <= 200
        assert isinstance(plan.cost, dp.PureDP if noise == "laplace" else dp.ApproxDP)


def _zones(unit: dp.Person, aggregate: Any) -> Any:
    table = pa.table({"who": [1], "k": [1], "x": [1.0]})
    data = dp.Dataset(table, unit=unit, budget=dp.ApproxDP(9, "1e-5"), ledger=":memory:", identity="zones")
    return data.group_by("k", keys=list(range(9))).agg(m=aggregate)


def test_where_laplace_noise_would_do_and_the_plan_takes_gaussian_noise() -> None:
    """Its price would be 1.05; the plan takes Gaussian noise there, which is enough from 1.08 on."""
    question = _zones(dp.Person("who", 22, 29), dp.mean("x", ("-60.12", "-58.94")))
    wish = question.plan(epsilon="1.08", delta="1e-6").error("m", 45_622) or 0
    price = question.price(error=wish, delta="1e-6", rows=45_622)
    assert price == pytest.approx(1.08, rel=0.01)
    assert 0.99 <= (question.plan(epsilon=price, delta="1e-6").error("m", 45_622) or 0) / wish <= 1


def test_an_error_that_any_price_keeps_costs_what_an_answer_has_room_for() -> None:
    """A variance is never off by more than an eighth of the squared range; noise beyond 2^62 is in no plan."""
    question = _zones(dp.Person("who", 29, 59), dp.variance("x", (0, 10_000)))
    price = question.price(error=12_500_000, rows=300)
    assert price < 0.05
    assert question.plan(epsilon=price).error("m", 300) == 12_500_000
    with pytest.raises(ParameterError, match="noise for this price would pass"):
        question.plan(epsilon=price / 2)


def test_groups_that_are_found(data: dp.Dataset) -> None:
    question = data.group_by("city").agg(n=dp.count())
    price = question.price(error=100, delta="1e-6")
    assert question.plan(epsilon=price, delta="1e-6").error("n") == 100
    with pytest.raises(ParameterError, match="need delta"):
        question.price(error=100)


def test_a_share_of_what_is_expected(data: dp.Dataset) -> None:
    question = data.agg(**ALL)
    assert question.price(relative={"n": "0.05"}, rows=1_000) == question.price({"n": 50})
    assert question.price(relative={"s": "0.05"}, rows=1_000) == question.price({"s": 5_000})
    assert question.price(relative={"m": "0.05"}, rows=1_000) == question.price({"m": 5}, rows=1_000)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({}, "say how exact the answer is to be"),
        ({"error": {"x": 1}}, "error names the columns of the answer: n, s, m; got 'x'"),
        ({"error": 0}, "error of n must be greater than 0"),
        ({"error": float("nan")}, "the error of n"),
        ({"error": {"n": 1}, "relative": {"n": "0.1"}}, "'n' has an error and a relative one"),
        ({"error": {"m": 1}}, "depends on how many rows a group has. Give them: rows=1000"),
        ({"relative": {"n": "0.1"}}, "a share of n depends on how many rows a group has"),
        ({"error": {"m": "0.1"}, "rows": 10, "population": True, "weights": None}, "population=True"),
    ],
)
def test_refusals(data: dp.Dataset, wish: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        data.agg(**ALL).price(**wish)


def test_what_is_chosen_has_no_error_beforehand(data: dp.Dataset) -> None:
    with pytest.raises(ParameterError, match="no error of it is known before the answer"):
        data.agg(q=dp.median("spend", (0, 200))).price(error=1)
    with pytest.raises(ParameterError, match="expected to be 0"):
        data.agg(s=dp.sum("spend", (-5, 5))).price(relative=0.1, rows=100)


def test_what_no_price_buys() -> None:
    """The sampling of a population depends on rows alone."""
    with dp.Dataset(
        pa.table({"x": [1.0]}), unit=dp.Rows(), budget=dp.PureDP(1), ledger=":memory:", identity="rows"
    ) as rows:
        question = rows.agg(m=dp.mean("x", (0, 1)))
        with pytest.raises(ParameterError, match="no price up to 1,000,000 gives this error"):
            question.price(error="0.001", rows=100, population=True)
        assert question.price(error="0.5", rows=1000, population=True) > 0


def test_a_plan_says_what_would_be_refused(data: dp.Dataset) -> None:
    question = data.agg(n=dp.count())
    assert question.plan(epsilon=2).shortage is None
    assert str(question.plan(epsilon=3)).endswith("It would be refused: it costs epsilon 3, and 2 is left.")
    assert "the price in rho" in (question.plan(rho=1).shortage or "")
    found = data.group_by("city").agg(n=dp.count()).plan(epsilon=1, delta="1e-6")
    assert "needs a delta, and the budget has none" in (found.shortage or "")
    with pytest.raises(OverBudget):
        question.release(epsilon=3)


def test_the_risk_and_other_prices(data: dp.Dataset) -> None:
    plan = data.agg(n=dp.count()).plan(epsilon=1)
    assert plan.risk == (
        "Somebody who is 50 % sure that a person is in the data becomes at most 73.11 % sure, and guesses right at "
        "most 73.11 % of the time: an advantage of 46.22 %."
    )
    assert [(dict(errors), str(cost.epsilon(0))) for cost, errors in plan.trade_off()] == [
        ({"n": float(data.agg(n=dp.count()).plan(epsilon=each).error("n") or 0)}, each)
        for each in ("0.25", "0.5", "1.0", "2.0", "4.0")
    ]
    assert "but for answers of probability 1e-06" in data.agg(n=dp.count()).plan(rho="0.1").risk


def test_a_share_lies_between_0_and_1() -> None:
    """Where the condition cannot be told it does not hold, and noise that is larger than the table stays inside."""
    table = pa.table({"x": [1.0, 5.0, None, 7.0] * 25, "b": [True, None, False, True] * 25, "s": ["a"] * 100})
    with dp.Dataset(table, unit=dp.Rows(), budget=dp.PureDP(10**6), ledger=":memory:", identity="shares") as rows:
        assert rows.share(dp.col("x") > 2, epsilon=10_000).value == pytest.approx(0.5, abs=1e-3)
        assert rows.share("b", epsilon=10_000).value == pytest.approx(0.5, abs=1e-3)
        for _ in range(20):
            noisy = rows.share(dp.col("x") > 100, epsilon="0.05")
            low, high = noisy.interval(0.95)
            assert 0 <= low <= noisy.value <= high <= 1
        question = rows.agg(high=dp.share(dp.col("x") > 2))
        assert str(question.aggregates["high"]) == "share((x > 2))"
        assert question.price(error="0.05", rows=1000) > 0
        with pytest.raises(ParameterError, match="asks a condition, and the expression gives a text"):
            rows.share("s", epsilon=1)
