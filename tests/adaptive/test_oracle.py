"""What an oracle answers, counts and refuses."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dp
from dither.adaptive import OracleAnswer
from dither.adjacency import REPLACE_ONE
from dither.errors import OverBudget, ParameterError
from dither.mechanisms import Release
from tests.mechanisms.entropy_use import nothing_drawn

BITS = np.arange(20_000) % 2
METHODS = ["gaussian", "laplace", "splitting", "rounding"]


def oracle(**changes: Any) -> dp.Oracle:
    given: dict[str, Any] = {"sample": BITS, "queries": 5, "accuracy": "0.1"}
    return dp.Oracle(**{**given, **changes})


def half(x: Any) -> Any:
    return np.asarray(x) == 1


# ------------------------------------------------------------------------- answers


@pytest.mark.parametrize("method", METHODS)
def test_an_answer_is_a_release_with_two_intervals(method: str) -> None:
    asked = oracle(method=method)
    answer = asked.ask(half)
    assert isinstance(answer, OracleAnswer)
    assert isinstance(answer, Release)
    assert answer.certificate()["mechanism"] == "QueryMean"
    low, high = answer.interval()
    assert low <= answer.value <= high
    assert high - low <= 2 * asked.promise.accuracy + 1e-12
    narrow = answer.sample_interval()
    assert low < narrow[0] < narrow[1] < high
    assert narrow[0] < 0.65  # the noise is forty times smaller
    assert narrow[1] > 0.35
    assert answer.interval("0.999")[0] < low


@pytest.mark.parametrize("method", METHODS)
def test_intervals_exist_at_every_level(method: str) -> None:
    answer = oracle(method=method).ask(half)
    levels = [Fraction(1, 10**300), Fraction(1, 2), Fraction(10**9 - 1, 10**9), 1 - Fraction(1, 10**300)]
    widths = [high - low for low, high in map(answer.interval, levels)]
    assert widths == sorted(widths)
    assert all(low <= answer.value <= high for low, high in map(answer.sample_interval, levels))


def test_levels_beyond_all_floats_are_refused() -> None:
    """As a fraction a level can be nearer to 1 than noise can be computed for."""
    level = 1 - Fraction(1, 10**400)
    with nothing_drawn(), pytest.raises(ParameterError, match="1e-300"):
        oracle(confidence=level)
    with pytest.raises(ParameterError, match="1e-300"):
        oracle(method="laplace").ask(half).interval(level)


def test_the_ends_of_an_interval_are_means() -> None:
    answer = oracle().ask(lambda x: x >= 0)
    assert answer.interval()[1] == 1.0
    assert oracle().ask(lambda x: x < 0).interval()[0] == 0.0


@pytest.mark.parametrize("value", [np.uint8(1), np.int64(1), np.float32(1), np.float64(1), np.bool_(True)])
def test_truth_values_integers_and_floats_mean_the_same(value: Any) -> None:
    answer = oracle(method="splitting").ask(lambda x: np.where(x == 1, value, type(value)(0)).astype(type(value)))
    assert abs(answer.value - 0.5) < 0.1


TABLE = {"age": [10, 70, 80, 30] * 1000}


@pytest.mark.parametrize(
    "sample", [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE)], ids=["pandas", "polars", "arrow"]
)
@pytest.mark.parametrize("method", ["rounding", "splitting"])
def test_tables_take_functions_and_expressions(sample: Any, method: str) -> None:
    asked = dp.Oracle(sample, queries=3, method=method)
    for query in (lambda t: np.asarray(t["age"]) >= 65, dp.col("age") >= 65, dp.if_else(dp.col("age") >= 65, 1.0, 0.0)):
        assert abs(asked.ask(query).value - 0.5) < 0.2
    assert asked.left == 0


def test_structured_arrays_and_lists_are_samples() -> None:
    rows = np.array([(1, 0.5)] * 5000, dtype=[("a", "i8"), ("b", "f8")])
    assert abs(dp.Oracle(rows, queries=1).ask(lambda x: x["b"]).value - 0.5) < 1e-6
    assert dp.Oracle([0, 1] * 5000, queries=1).rows == 10_000


# ------------------------------------------------------------------------ accounts


def test_every_answer_counts_and_the_last_is_followed_by_a_refusal() -> None:
    asked = oracle()
    for number in range(5):
        assert (asked.asked, asked.left) == (number, 5 - number)
        asked.ask(half)
    with nothing_drawn(), pytest.raises(OverBudget, match="only 0 of queries=5 are left"):
        asked.ask(half)


def test_the_account_of_gaussian_noise_adds_squares_and_knows_the_total_variation() -> None:
    """C22: 2Φ(1/(2nσ)) − 1 after one answer."""
    asked = oracle(method="gaussian")
    asked.ask(half)
    once = asked.spent
    assert isinstance(once, dp.GaussianDP)
    mu = 1 / (asked.rows * float(asked.promise.route.mean.scale))
    assert once.tv() == pytest.approx(dp.GaussianDP(mu).tv(), rel=1e-9)
    asked.ask(half)
    twice, whole = asked.spent, asked.guarantee
    assert isinstance(twice, dp.GaussianDP)
    assert isinstance(whole, dp.GaussianDP)
    assert twice.mu_squared == 2 * once.mu_squared
    assert whole.mu_squared == 5 * once.mu_squared


def test_the_account_of_laplace_noise_adds_epsilons() -> None:
    asked = oracle(method="laplace")
    asked.ask(half)
    assert isinstance(asked.spent, dp.PureDP)
    assert isinstance(asked.guarantee, dp.PureDP)
    assert asked.guarantee.stated_epsilon == 5 * asked.spent.stated_epsilon
    assert asked.spent.tv() == pytest.approx(np.tanh(float(asked.spent.stated_epsilon) / 2), rel=1e-12)


def test_the_noise_of_the_lecture_can_be_given() -> None:
    """Algorithms 1 and 2 of the lecture: N(0, σ²), TV-stable by C22, and Lap(k/(nε)), ε-DP for all k answers."""
    asked = oracle(sigma="0.01")
    n = asked.rows
    assert asked.promise.route.mean.scale == pytest.approx(Fraction(1, 100))
    asked.ask(half)
    assert asked.spent.tv() == pytest.approx(dp.GaussianDP(100 / n).tv(), rel=1e-6)
    assert f"* gaussian    {asked.promise.accuracy:>9.4g}" in str(asked)
    pure = oracle(epsilon="0.5", accuracy=None)
    assert pure.promise.route.mean.scale == Fraction(5, n) * 2
    assert pure.guarantee == dp.PureDP("0.5", adjacency=REPLACE_ONE)
    answers = [pure.ask(half) for _ in range(5)]
    assert all(answer.interval()[0] <= 0.5 <= answer.interval()[1] for answer in answers)


def test_a_noise_may_promise_nothing() -> None:
    """Next to no noise on few rows: the interval says nothing of the population."""
    asked = dp.Oracle(BITS[:20], queries=30, sigma="1e-3")
    assert asked.promise.accuracy == 1
    assert asked.ask(half).interval() == (0.0, 1.0)


@pytest.mark.parametrize("method", ["splitting", "rounding"])
def test_exact_answers_say_that_they_hide_nothing(method: str) -> None:
    assert oracle(method=method).guarantee.tv() == 1.0


# ------------------------------------------------------------------------ refusals


def fails(x: Any) -> Any:
    raise RuntimeError("always")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_what_a_query_writes_into_a_frame_stays_its_own(kind: Any) -> None:
    """Otherwise later answers would be about other rows, and the frame of whoever made the oracle would change."""
    frame = kind({"x": np.arange(6000) % 2})

    def overwrites(rows: Any) -> Any:
        if kind is pd.DataFrame:
            rows["x"] = 1
        else:
            rows.replace_column(0, pl.Series("x", np.ones(len(rows), dtype=np.int64)))
        return np.asarray(rows["x"])

    asked = dp.Oracle(frame, queries=2, method="rounding")
    asked.ask(overwrites)
    assert frame["x"].mean() == 0.5
    assert asked.ask(lambda rows: np.asarray(rows["x"])).value < 0.9


BAD: dict[str, list[Any]] = {
    "accuracy": [0, 1, -0.1, 1.5, float("nan"), float("inf"), True, "half"],
    "confidence": [0, 1, -0.1, 1.5, float("nan"), True, None, "half"],
    "queries": [0, -1, 2.5, float("nan"), True, None, "5", 10**10],
    "method": ["union", "magic", 3],
    "sigma": [0, -1, float("nan"), float("inf"), True, "half"],
    "epsilon": [0, -1, float("nan"), float("inf"), True, "half"],
    "sample": [np.array(3), "rows", None, 3, np.zeros(0), np.zeros((0, 3)), {}],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values], ids=str
)
def test_bad_parameters_are_refused(name: str, value: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError):
        oracle(**{name: value})


@pytest.mark.parametrize("given", [{"sigma": 1, "epsilon": 1}, {"sigma": 1, "method": "gaussian"}], ids=str)
def test_the_noise_is_said_in_one_way(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="Give one of them"):
        oracle(**given)


def test_noise_that_misses_the_accuracy_is_refused() -> None:
    assert oracle(sigma="0.01", accuracy="0.2").promise.accuracy <= 0.2
    with pytest.raises(ParameterError, match=r"with this noise .* accuracy=0.01 was asked for"):
        oracle(sigma="0.01", accuracy="0.01")


def test_too_few_rows_are_refused_with_the_number_that_suffices() -> None:
    needed = dp.Oracle.needed(queries=30, accuracy="0.05")
    with pytest.raises(ParameterError, match=f"accuracy=0.05 needs {needed:,} rows"):
        dp.Oracle(BITS[: needed - 500], queries=30, accuracy="0.05")
    assert dp.Oracle(BITS[:needed], queries=30, accuracy="0.05").promise.accuracy <= 0.05


def test_rows_that_promise_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="promises nothing"):
        dp.Oracle(np.zeros(3), queries=1000)


def test_a_copy_or_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = oracle()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError, match="cannot be copied"):
            attempt(asked)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    monkeypatch.setattr(asked._turns, "_lock", None)  # a child may not even wait for a lock that was held at the fork
    with pytest.raises(ParameterError, match="an oracle belongs to the process"):
        asked.ask(half)


# ------------------------------------------------------------- questions inside questions


class AsksInside:
    """A query that asks the same oracle again while it is evaluated, and goes on whatever comes of it."""

    def __init__(self, asked: dp.Oracle) -> None:
        self.asked = asked
        self.inside: list[Any] = []

    def __call__(self, x: Any) -> Any:
        with pytest.raises(ParameterError, match="evaluating it"):
            self.inside.append(self.asked.ask(half))
        return half(x)


@pytest.mark.parametrize("method", METHODS)
def test_a_query_cannot_ask_in_the_middle_of_another(method: str) -> None:
    """Both would be counted after both were let in, and would see the same fresh rows."""
    asked = oracle(method=method, queries=1)
    query = AsksInside(asked)
    asked.ask(query)
    assert not query.inside
    assert (asked.asked, asked.left) == (1, 0)


def test_a_list_fixed_in_advance_cannot_depend_on_an_answer() -> None:
    asked = oracle(adaptive=False)

    def late() -> Any:
        yield half if asked.ask_all([half])[0].value > 0.4 else fails

    with nothing_drawn(), pytest.raises(OverBudget, match="one list"):
        asked.ask_all(late())
    assert asked.asked == 1


def test_threads_get_no_more_answers_than_were_promised() -> None:
    asked = oracle(queries=3, method="laplace")

    def one(_: int) -> bool:
        try:
            asked.ask(half)
        except OverBudget:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(one, range(12))) == 3
    assert asked.left == 0


# ---------------------------------------------------------------- questions in one list


def test_queries_fixed_in_advance_come_in_one_list() -> None:
    asked = oracle(adaptive=False)
    assert asked.promise.route.name == "union"
    assert asked.promise.accuracy < oracle().promise.accuracy
    with pytest.raises(ParameterError, match="ask_all"):
        asked.ask(half)
    assert [round(answer.value, 6) for answer in asked.ask_all([half, lambda x: x >= 0])] == [0.5, 1.0]
    with pytest.raises(OverBudget, match="one list"):
        asked.ask_all([half])


def test_a_list_is_answered_whole_or_not_at_all() -> None:
    asked = oracle()
    with nothing_drawn(), pytest.raises(ParameterError):
        asked.ask_all([half, fails])
    with nothing_drawn(), pytest.raises(OverBudget, match="6 queries were asked, but only 5"):
        asked.ask_all([half] * 6)
    assert len(asked.ask_all([half] * 5)) == 5


# ------------------------------------------------------------------------- the promise


def test_the_promise_names_the_theorem_and_what_each_way_needs() -> None:
    text = str(dp.Oracle(BITS, queries=30, accuracy="0.05"))
    assert "30 adaptive queries on 20,000 rows" in text
    for word in (
        "* gaussian",
        "✗ union",
        "splitting",
        "rounding",
        "as printed",
        "stability",
        "Jung et al. 2020",
        "19,41",
    ):
        assert word in text


@pytest.mark.parametrize(("queries", "name"), [(1, "splitting"), (3, "splitting"), (30, "gaussian"), (300, "gaussian")])
def test_the_best_way_is_used(queries: int, name: str) -> None:
    promise = dp.Oracle(BITS, queries=queries).promise
    others = [each.accuracy for each in promise.candidates() if each.is_valid]
    assert promise.route.name == name
    assert promise.accuracy == min(others)


def test_fresh_rows_are_used_once() -> None:
    """A row is its own number: every question must see other rows, all of them n/k."""
    parts: list[set[int]] = []

    def watch(x: Any) -> Any:
        if len(x) > 100:  # before that it is tried on examples
            parts.append(set(x.tolist()))
        return np.zeros(len(x))

    asked = dp.Oracle(np.arange(10_000), queries=4, method="splitting")
    for _ in range(4):
        asked.ask(watch)
    assert [len(part) for part in parts] == [2500] * 4
    assert len(set().union(*parts)) == 10_000
    assert max(parts[0]) > 9000  # drawn from everywhere: a table may be sorted


def test_rounded_answers_are_levels() -> None:
    asked = oracle(method="rounding")
    route = asked.promise.route
    levels = {(2 * i + 1) / (2 * route.levels) for i in range(route.levels)}  # type: ignore[attr-defined]
    for share in (0.0, 0.3, 0.5, 1.0):
        answer = asked.ask(lambda x, share=share: np.full(len(x), share))
        assert answer.value in levels
        assert abs(answer.value - share) <= 1 / (2 * route.levels) + 1e-9  # type: ignore[attr-defined]
        low, high = answer.sample_interval()
        assert low <= share <= high


def test_the_values_are_rounded_by_less_than_is_stated() -> None:
    answer = dp.Oracle(BITS, queries=1, method="splitting").ask(lambda x: np.full(len(x), 1 / 3))
    assert abs(Fraction(answer.value) - Fraction(1, 3)) < Fraction(1, 1 << 29)
