"""A query is refused for what it does on rows that anyone may see; what it does on the sample is never seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.adaptive import expressions
from dither.adaptive.sample import Sample
from dither.audit.replay import Replayed, replay
from dither.errors import OverBudget, ParameterError
from dither.noise import entropy
from tests.mechanisms.entropy_use import nothing_drawn

BITS = np.arange(20_000) % 2


def oracle(**changes: Any) -> dp.Oracle:
    given: dict[str, Any] = {"sample": BITS, "queries": 5, "accuracy": "0.1"}
    return dp.Oracle(**{**given, **changes})


def half(x: Any) -> Any:
    return np.asarray(x) == 1


# ------------------------------------------------------------------------- refused, and free


class Counter:
    """A query that keeps state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return np.full(len(x), self.calls % 2)


def fails(x: Any) -> Any:
    raise RuntimeError("a secret of the query")


def writes(x: Any) -> Any:
    x[:] = 1
    return np.ones(len(x))


BAD_QUERIES: dict[str, Any] = {
    "above 1": lambda x: x + 0.1,
    "below 0": lambda x: x - 1e-9,
    "NaN": lambda x: np.where(np.arange(len(x)) == 3, np.nan, 0.5),
    "infinite": lambda x: np.full(len(x), np.inf),
    "too short": lambda x: x[1:],
    "too long": lambda x: np.append(x, 0),
    "one number": lambda x: 0.5,
    "two dimensions": lambda x: np.stack([x, x], axis=1),
    "text": lambda x: np.full(len(x), "secret"),
    "objects": lambda x: np.full(len(x), None),
    "complex": lambda x: np.full(len(x), 1j),
    "raises": fails,
    "writes": writes,
    "nothing": lambda x: None,
    "state": Counter(),
    "order": lambda x: np.arange(len(x)) % 2,
    "order of later rows": lambda x: np.where(np.arange(len(x)) < 4, 0.5, np.arange(len(x)) % 2),
    "other rows": lambda x: np.full(len(x), 1 / len(x)),
    "mean of the rows": lambda x: x > x.mean(),
    "largest row": lambda x: x / max(x.max(), 1e-9) if len(x) > 1 else x / 2,
    "random": lambda x: np.random.default_rng().integers(0, 2, len(x)),
    "no query": 3,
    "expression without columns": dp.col("a") == 1,
}


@pytest.mark.parametrize("name", BAD_QUERIES)
@pytest.mark.parametrize("method", ["gaussian", "splitting"])
def test_a_bad_query_costs_nothing_and_does_not_see_the_sample(name: str, method: str) -> None:
    asked, longest = oracle(method=method), 0

    def watched(x: Any) -> Any:
        nonlocal longest
        longest = max(longest, len(x))
        return BAD_QUERIES[name](x)

    query = watched if callable(BAD_QUERIES[name]) else BAD_QUERIES[name]
    with nothing_drawn(), pytest.raises(ParameterError) as caught:
        asked.ask(query)
    assert longest < 100  # only examples
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert asked.left == 5
    asked.ask(half)
    assert asked.left == 4


def test_an_error_says_what_it_was_and_where() -> None:
    with pytest.raises(ParameterError, match=r"raised ZeroDivisionError\. It was tried on made-up rows .* examples="):
        oracle().ask(lambda x: 1 / 0)
    with pytest.raises(ParameterError, match=r"values between 0 and 1 .* It was tried on the examples\."):
        oracle(examples=[20, 80]).ask(lambda x: x / 60)


def test_examples_say_what_rows_look_like() -> None:
    """Made-up rows are 0 and 1: a query that is right about ages must be shown some."""
    ages, query = np.tile(np.arange(20, 80), 700), lambda age: (age - 20) / 60
    with pytest.raises(ParameterError, match="between 0 and 1"):
        dp.Oracle(ages, queries=3).ask(query)
    assert abs(dp.Oracle(ages, queries=3, examples=[20, 80]).ask(query).value - 0.49) < 0.1


@pytest.mark.parametrize(
    ("sample", "examples"),
    [
        (np.zeros(9000), np.zeros((3, 2))),
        (np.zeros(9000), np.zeros(0)),
        (np.zeros(9000), "rows"),
        (pa.table({"a": [1] * 9000}), pa.table({"b": [1]})),
        (pd.DataFrame({"a": [1] * 9000}), pl.DataFrame({"a": [1]})),
        (pd.DataFrame({"a": [1] * 9000}), pd.DataFrame({"a": [1], "b": [1]})),
    ],
    ids=["shape", "no rows", "text", "other column", "other library", "another column"],
)
def test_examples_must_be_like_the_sample(sample: Any, examples: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="examples"):
        dp.Oracle(sample, queries=1, examples=examples)


def test_train_and_holdout_must_be_alike() -> None:
    with pytest.raises(ParameterError, match="of one kind"):
        dp.ReusableHoldout(np.zeros((9, 2)), np.zeros(9000), threshold="0.1", checks=3, max_overfit=1)


# --------------------------------------------------------------------------- made-up rows

COLUMNS = {
    "whole": [20, 31],
    "real": [0.5, 7.0],
    "truth": [True, False],
    "text": ["Ada", "Bob"],
    "day": pd.to_datetime(["2020-01-01", "2021-05-05"]),
}
KINDS = [np.array([20.5]), np.zeros((3, 2), np.uint8), np.array(["Ada"]), np.array(["2020-01-01"], dtype="M8[D]")]
TABLES = [
    pd.DataFrame({**COLUMNS, "object": pd.Series(["a", "b"], dtype=object), "kind": pd.Categorical(["u", "v"])}),
    pl.DataFrame({**COLUMNS, "kind": pl.Series(["u", "v"], dtype=pl.Categorical), "list": [[1], [2]]}),
    pa.table({**COLUMNS, "list": [[1], [2]]}),
]


def first_seen(sample: Any) -> Any:
    """What a query sees first."""
    seen: list[Any] = []

    def watch(rows: Any) -> Any:
        seen.append(rows)
        return np.zeros(len(rows))

    dp.Oracle(sample, queries=1).ask(watch)
    return seen[0]


@pytest.mark.parametrize("sample", [*KINDS, np.array([(1, 0.5)], dtype=[("a", "i8"), ("b", "f8")])], ids=str)
def test_made_up_arrays_have_the_kind_of_the_sample(sample: Any) -> None:
    seen = first_seen(np.repeat(sample, 9000, axis=0))
    assert seen.dtype == sample.dtype
    assert seen.shape[1:] == sample.shape[1:]
    assert len({str(row) for row in seen}) > 1


@pytest.mark.parametrize("sample", TABLES, ids=["pandas", "polars", "arrow"])
def test_made_up_tables_have_the_kind_of_the_sample(sample: Any) -> None:
    rows = Sample.of(sample).take(np.zeros(9000, dtype=np.int64)).data
    seen = first_seen(rows)
    mine, theirs = (each.schema if hasattr(each, "schema") else each.dtypes for each in (seen, rows))
    assert str(mine) == str(theirs)
    for name in COLUMNS:
        assert len(set(np.asarray(seen[name]).tolist())) > 1
    assert "Ada" not in str(seen)


def test_a_column_alone_is_a_sample() -> None:
    answer = dp.Oracle(pd.Series([0, 1] * 5000), queries=1).ask(lambda x: x == 1)
    assert abs(answer.value - 0.5) < 0.1


def test_columns_of_unknown_types_need_examples() -> None:
    sample = pd.DataFrame({"z": [1j] * 9000})
    with pytest.raises(ParameterError, match="Give some as examples"):
        dp.Oracle(sample, queries=1)
    assert dp.Oracle(sample, queries=1, examples=sample[:1]).ask(lambda x: np.imag(x["z"])).value > 0.9


# ----------------------------------------------------------- nothing is refused on the sample

Outcome = float | str
OUTCOMES: list[Outcome] = [
    0.0, 1.0, 0.3, -0.1, -np.inf, np.inf, np.nan, 5e-324, 1.5, 1e308, "raises", "exits", "is dropped", "is a text",
]  # fmt: skip


class RowFunction:
    """A query from a list: what it does on rows 0, 1, 2, …; it behaves on examples, which are −1 alone."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes

    def __call__(self, x: Any) -> Any:
        told = [0.5 if row < 0 else self.outcomes[int(row)] for row in np.asarray(x)]
        if "raises" in told:
            raise ValueError("a secret")
        if "exits" in told:
            raise SystemExit(3)
        if "is a text" in told:
            return np.array([str(each) for each in told])
        return np.array([each for each in told if each != "is dropped"])


def naive(outcome: Outcome) -> int:
    """One row alone, in parts of 2^-30."""
    if isinstance(outcome, str) or outcome != outcome or outcome <= 0:
        return 0
    return 1 << 30 if outcome >= 1 else round(outcome * 2**30)


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6), st.data())
def test_any_function_of_a_row_becomes_one_with_values_between_0_and_1(outcomes: list[Outcome], data: Any) -> None:
    rows = data.draw(st.lists(st.integers(0, len(outcomes) - 1), min_size=1, max_size=40))
    found = Sample.of(np.array(rows)).settled(RowFunction(outcomes))
    assert found.tolist() == [naive(outcomes[row]) for row in rows]


@pytest.mark.parametrize("kind", [np.array, pd.Series, pl.Series, list], ids=["array", "pandas", "polars", "list"])
def test_any_number_of_failing_rows_is_found(kind: Callable[[Any], Any]) -> None:
    values = np.arange(300) % len(OUTCOMES)
    sample = kind(values.tolist())
    if not isinstance(sample, list | np.ndarray):
        sample = (pd if kind is pd.Series else pl).DataFrame({"x": sample})
    function = RowFunction(OUTCOMES)
    found = Sample.of(sample).settled(lambda rows: function(rows if isinstance(rows, np.ndarray) else rows["x"]))
    assert found.tolist() == [naive(OUTCOMES[row]) for row in values]


def test_an_arrow_table_and_null() -> None:
    asked = dp.Oracle(pa.table({"age": [1.0, None] * 5000}), queries=2, method="rounding")
    levels = asked.promise.route.levels  # type: ignore[attr-defined]
    assert abs(asked.ask(dp.col("age") * 0.5).value - 0.25) <= 1 / (2 * levels) + 1e-9  # NULL counts as 0
    assert abs(asked.ask(lambda t: np.asarray(t["age"].fill_null(0))).value - 0.5) <= 1 / (2 * levels) + 1e-9


def test_a_text_is_refused_by_its_type() -> None:
    asked = dp.Oracle(pa.table({"name": ["0.5", "secret"] * 1000}), queries=1)
    with nothing_drawn(), pytest.raises(ParameterError, match="truth values") as caught:
        asked.ask(dp.col("name"))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_what_an_engine_says_about_rows_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(rows: Any) -> Any:
        if rows.num_rows > 100:
            raise RuntimeError("row 7 is secret")
        return np.full(rows.num_rows, 1.0)

    asked = dp.Oracle(pa.table({"age": [1] * 4000}), queries=1, method="rounding")
    monkeypatch.setattr(expressions, "as_function", lambda *_: fail)
    assert asked.ask(dp.col("age") >= 65).value > 0.9


def test_an_interrupted_query_is_counted() -> None:
    """Nothing is paid back once the sample was touched; a key that was pressed must still end the program."""

    def interrupted(x: Any) -> Any:
        if len(x) > 100:
            raise KeyboardInterrupt
        return half(x)

    asked = oracle()
    with nothing_drawn(), pytest.raises(KeyboardInterrupt):
        asked.ask(interrupted)
    assert asked.left == 4
    asked.ask(half)
    assert asked.left == 3


# ------------------------------------------------------------------------------ the attack

DOMAIN, ROWS = 512, 200


def raises_on(value: int) -> Any:
    def query(x: Any) -> Any:
        if (x == value).any():
            raise ValueError
        return np.full(len(x), 0.5)

    return query


def learned_from_refusals(asked: dp.Oracle) -> list[int]:
    """Free questions: the second of each pair is always refused, and if the first is, that is heard before it."""
    found = []
    for value in range(DOMAIN):
        try:
            asked.ask_all([raises_on(value), lambda x: np.full(len(x), 2.0)])
        except ParameterError as error:
            if "raised" in str(error):
                found.append(value)
    return found


def error_after_refusals(asked: dp.Oracle) -> float:
    """One answered question, about being one of the values that refusals told of."""
    known = learned_from_refusals(asked)
    assert asked.asked == 0
    return float(abs(asked.ask(lambda x: np.isin(x, known)).value - len(known) / DOMAIN))


def test_refusals_tell_nothing_about_the_sample() -> None:
    """Where queries are refused for what they do on the sample itself, 512 free refusals break the promise."""
    sample = np.random.default_rng(8).integers(0, DOMAIN, ROWS)
    options: dict[str, Any] = {"queries": 2, "method": "laplace", "confidence": "0.5"}
    leaking = dp.Oracle(sample, examples=sample, **options)
    assert sorted(set(sample.tolist())) == learned_from_refusals(leaking)
    assert error_after_refusals(leaking) > 0.5 > leaking.promise.accuracy
    safe, other = dp.Oracle(sample, **options), dp.Oracle(sample % 100 + 100, **options)
    assert learned_from_refusals(safe) == learned_from_refusals(other) == [0, 1]  # the made-up rows
    fair = dp.Oracle(sample, queries=2, confidence="0.999999999999")
    assert error_after_refusals(fair) < fair.promise.accuracy  # false alarms: 1e-12


def test_questions_that_fail_on_the_sample_are_paid_for() -> None:
    sample = np.random.default_rng(8).integers(2, DOMAIN, 5000)
    asked = dp.Oracle(sample, queries=5)
    for value in sample[:5].tolist():
        asked.ask(raises_on(value))
    with pytest.raises(OverBudget):
        asked.ask(raises_on(int(sample[5])))


# --------------------------------------------------------- neighbours cannot be told apart


@pytest.fixture
def _open_door() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "DOOR_MAY_OPEN", True)
        yield


def replayed(outcome: Outcome, method: str, examples: Any) -> Replayed:
    """Two neighbours, one of which has a row where the query does something odd."""
    calm = np.zeros(60, dtype=np.int64)
    odd = calm.copy()
    odd[7] = 1
    charged = dp.Oracle(calm, queries=2, method=method).guarantee

    def ask(sample: Any) -> Any:
        asked = dp.Oracle(sample, queries=2, method=method, examples=sample if examples is None else examples)
        query = RowFunction([0.5, outcome])
        return [asked.ask(query).value, asked.ask(query).value, asked.asked]

    return replay(ask, calm, odd, charged=charged)


@pytest.mark.usefixtures("_open_door")
@pytest.mark.parametrize("outcome", [outcome for outcome in OUTCOMES if outcome != 0.3], ids=str)  # that takes 10 s
@pytest.mark.parametrize("method", ["gaussian", "laplace"])
def test_neighbours_are_refused_alike(method: str, outcome: Outcome) -> None:
    verdict = replayed(outcome, method, [-1, -1])
    assert verdict.passed, verdict.difference


@pytest.mark.usefixtures("_open_door")
@pytest.mark.parametrize("outcome", [np.nan, 1.5, -0.1, "raises", "is dropped", "is a text"], ids=str)
def test_refusals_on_the_sample_itself_would_be_seen(outcome: Outcome) -> None:
    """The negative control: examples that are the sample."""
    verdict = replayed(outcome, "laplace", None)
    assert not verdict.passed


@pytest.mark.usefixtures("_open_door")
@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_neighbouring_holdouts_are_refused_alike(outcome: Outcome) -> None:
    calm = np.zeros(2000, dtype=np.int64)
    odd = calm.copy()
    odd[7] = 1
    options: dict[str, Any] = {"threshold": "0.4", "checks": 3, "max_overfit": 1, "method": "sparse vector"}

    def check(sample: Any) -> Any:
        holdout = dp.ReusableHoldout(np.full(50, -1), sample, **options)
        return [holdout.check(RowFunction([0.5, outcome])).value, holdout.checked, holdout.left]

    verdict = replay(check, calm, odd, charged=dp.ReusableHoldout(np.full(50, -1), calm, **options).guarantee)
    assert verdict.passed, verdict.difference


def test_a_column_of_a_type_that_does_not_enter_is_refused_by_name() -> None:
    sample = pa.table({"x": [1.0, 2.0], "listed": [[1], [2]]})
    with pytest.raises(ParameterError, match=r"column 'listed' has the type BIGINT\[\], which does not enter"):
        expressions.as_function(sample, dp.col("listed") == 1)
    assert list(expressions.as_function(sample, dp.col("x") > 1)(sample)) == [0, 1]
