"""Randomized response: exact probabilities, the largest keep for a budget, unbiased estimates that cover."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, VERTEX, person
from dither.errors import ParameterError
from dither.exact import ball, precision
from dither.guarantees import PureDP
from dither.mechanisms import RandomizedResponse
from dither.noise import Bernoulli
from tests.every_stream import RecordedBits, every_stream
from tests.mechanisms.entropy_use import nothing_drawn
from tests.noise.fit import ALARM, p_value_of_counts


def test_claim_c09_the_cost_of_two_answers() -> None:
    for keep in ("0.01", "0.5", "0.99"):
        p = float(keep)
        mechanism = RandomizedResponse(answers=["no", "yes"], keep=keep)
        assert mechanism.guarantee.epsilon(0) == pytest.approx(math.log(1 + 2 * p / (1 - p)), rel=1e-12)


@pytest.mark.parametrize("count", [2, 3, 100])
@pytest.mark.parametrize("epsilon", ["1e-20", "0.1", "0.3", "1", "5", "40"])
def test_the_largest_keep_within_the_budget(count: int, epsilon: str) -> None:
    mechanism = RandomizedResponse(answers=range(count), epsilon=epsilon)
    budget = Fraction(epsilon)
    with precision(512):

        def cost(keep: Fraction) -> Any:
            return (1 + count * ball(keep / (1 - keep))).log()

        assert cost(mechanism.keep) <= ball(budget)
        if budget < 40:  # beyond, p is the largest number of 62 digits below 1
            assert cost(mechanism.keep) > ball(budget * (1 - Fraction(1, 2**50)))
    assert mechanism.guarantee.implies(PureDP(epsilon))
    assert compose([mechanism.event]).epsilon(0) <= float(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_each_answer_has_its_exact_probability(count: int) -> None:
    """On every stream of bits, with words of few bits: what is reached is never more than the law allows."""
    mechanism = RandomizedResponse(answers=range(count), keep="3/8")

    def draw(source: Any) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dither.noise.entropy._stand_in", source)
            return int(mechanism.release(1).value)

    outcomes = every_stream(draw, 14, 5)
    for answer in range(count):
        assert outcomes.allows(answer, Fraction(5, 8) / count + (Fraction(3, 8) if answer == 1 else 0))
    assert outcomes.undecided < Fraction(1, 10)


@pytest.mark.parametrize(
    "answers", [["a", "b", "c"], [3, 1, 7], [True, False], [1, "1", None], [2.5, (1, 2), 10**30]], ids=str
)
def test_samples_follow_the_law(answers: list[Any]) -> None:
    """False alarms: at most 1e-10 each; a keep that is 5 % larger or smaller is noticed."""
    d, size = len(answers), 300_000
    mechanism = RandomizedResponse(answers=answers, keep="0.5")
    true = np.fromiter([answers[1]] * size, dtype=object) if d != 2 else np.full(size, answers[1])
    shown = mechanism._shown(mechanism.release(true).value)[0].tolist()
    for keep, fits in ((0.5, True), (0.475, False), (0.525, False)):
        law = [(1 - keep) / d + keep * (k == 1) for k in range(d)]
        assert (p_value_of_counts(shown, law) > ALARM) == fits


def test_shapes_and_types() -> None:
    mechanism = RandomizedResponse(answers=["no", "yes"], keep="0.5")
    assert mechanism.release("no").value in ("no", "yes")
    assert isinstance(mechanism.release(["no", "yes"]).value, list)
    table = mechanism.release(np.array([["no", "yes"], ["yes", "yes"]])).value
    assert table.shape == (2, 2)
    assert set(table.ravel()) <= {"no", "yes"}
    for dtype in (np.uint8, np.int16, np.uint64, np.float64, np.bool_):
        assert set(RandomizedResponse(answers=[0, 1], keep="0.5").release(np.array([0, 1], dtype=dtype)).value) <= {
            0,
            1,
        }
    assert mechanism.release([]).value == []


def test_the_input_is_not_changed() -> None:
    given = np.zeros(1000, dtype=np.int64)
    RandomizedResponse(answers=[0, 1], keep="0.01").release(given)
    assert not given.any()


@pytest.mark.parametrize(
    "value",
    ["maybe", ["no", "maybe"], np.array(["no", "maybe"]), [1], np.array([1]), ["no", None], [["no"]], [math.nan], {}],
    ids=str,
)
def test_answers_outside_the_set_are_refused_and_not_shown(value: Any) -> None:
    mechanism = RandomizedResponse(answers=["no", "yes"], keep="0.5")
    with nothing_drawn(), pytest.raises(ParameterError) as raised:
        mechanism.release(value)
    assert "maybe" not in str(raised.value)
    with pytest.raises(ParameterError):
        mechanism.estimate(value)


def test_the_estimate_is_unbiased_and_its_variance_is_right() -> None:
    """Over 2000 repetitions: six standard errors are a false alarm in 5e8 for each answer and moment."""
    mechanism = RandomizedResponse(answers=["a", "b", "c"], epsilon="0.8")
    given = np.array(["a"] * 120 + ["b"] * 60 + ["c"] * 20)
    found = [mechanism.estimate(mechanism.release(given).value) for _ in range(2000)]
    estimates, variances = np.array([f.estimate for f in found]), np.array([f.variance for f in found])
    assert (np.abs(estimates.mean(0) - [0.6, 0.3, 0.1]) < 6 * estimates.std(0) / math.sqrt(2000)).all()
    assert (np.abs(estimates.var(0) / variances.mean(0) - 1) < 6 * math.sqrt(2 / 2000)).all()
    assert estimates.sum(1) == pytest.approx(1)


@pytest.mark.parametrize("size", [20, 2000])
def test_intervals_hold_the_true_frequency(size: int) -> None:
    """At level 0.9 fewer than 1 in 10 may miss; 100 repetitions miss more than 42 times with chance below 1e-15."""
    mechanism = RandomizedResponse(answers=[0, 1, 2], keep="0.4")
    given = np.repeat([0, 1, 2], [size // 2, size // 4, size - size // 2 - size // 4])
    truth = np.bincount(given) / size
    missed = np.zeros(3)
    for _ in range(100):
        low, high = mechanism.release(given).interval("0.9")
        missed += (truth < low) | (truth > high)
        assert (low <= high).all()
    assert (missed <= 42).all()


def test_intervals_of_extreme_counts() -> None:
    mechanism = RandomizedResponse(answers=[0, 1], keep="0.999")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bernoulli, "sample", lambda self, size: np.zeros(size, dtype=np.int64))
        low, high = mechanism.release(np.zeros(50, dtype=int)).interval("0.95")
    assert (low[0] > 0.9, high[0], low[1], high[1] < 0.1) == (True, 1.0, 0.0, True)


@pytest.mark.parametrize("keep", ["0.01", "0.5", "0.999"])
def test_intervals_lie_within_zero_and_one_and_are_in_order(keep: str) -> None:
    """Also where chance put a frequency far beyond what any true answers would give."""
    mechanism = RandomizedResponse(answers=range(3), keep=keep)
    for shown in ([0] * 500, [0, 1] * 200, [0, 1, 2] * 100, [2]):
        low, high = mechanism._interval(shown, Fraction(1, 2))
        assert ((0 <= low) & (low <= high) & (high <= 1)).all()
        assert not np.signbit([low, high]).any()


@pytest.mark.parametrize("value", [([],), [([],)], [0, ({},)], [[0]], {0}], ids=str)
def test_what_cannot_be_hashed_is_refused(value: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="declared"):
        RandomizedResponse(answers=[0, (1,)], keep="0.5").release(value)


def test_the_error_of_one_answer() -> None:
    mechanism = RandomizedResponse(answers=range(4), keep="0.5")
    assert mechanism.expected_error == 0.375
    assert mechanism.error("0.375") == 0.0
    assert mechanism.error("0.374") == 1.0
    with pytest.raises(ParameterError):
        mechanism.estimate([])


def test_recorded_bits_are_enough_for_the_last_answer() -> None:
    """An answer never moves at keep ≈ 1 when the coin shows its largest number."""
    mechanism = RandomizedResponse(answers=[0, 1], keep="0.9")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dither.noise.entropy._stand_in", RecordedBits((1 << 64) - 1, 64))
        assert mechanism.release(0).value == 0


@pytest.mark.parametrize(
    "adjacency",
    [
        ADD_REMOVE,
        VERTEX,
        EDGE,
        person("user_id"),
        person("user_id", 1),
        person("user_id", change="replace"),
        person("user_id", 2, "replace"),
        "record",
    ],
    ids=str,
)
def test_a_change_that_shows_or_that_costs_more_is_refused(adjacency: Any) -> None:
    """Adding an answer shows in their number, and a person who answers twice pays twice."""
    with pytest.raises(ParameterError):
        RandomizedResponse(answers=[0, 1], keep="0.5", adjacency=adjacency)


@pytest.mark.parametrize("adjacency", [None, REPLACE_ONE, person("user_id", 1, "replace")], ids=str)
def test_one_answer_each_that_may_be_replaced(adjacency: Any) -> None:
    assert RandomizedResponse(answers=[0, 1], keep="0.5", adjacency=adjacency).guarantee.adjacency == adjacency


@pytest.mark.parametrize(
    "made",
    [
        np.array,
        pd.Series,
        lambda x: pd.Series(x, dtype="category"),
        pl.Series,
        pa.array,
        lambda x: pa.chunked_array([x]),
    ],
)
def test_a_series_of_answers_is_answered_one_by_one(made: Any) -> None:
    """`keep` is so near to 1 that an answer moves with probability below 1e-17."""
    for answers in (["no", "yes"], [0, 1], [False, True]):
        mechanism = RandomizedResponse(answers=answers, keep=1 - Fraction(1, 1 << 60))
        given = made([answers[1], answers[0], answers[1]])
        assert mechanism.release(given).value.tolist() == [answers[1], answers[0], answers[1]]
        assert mechanism.estimate(given).count == 3
        with pytest.raises(ParameterError, match="declared"):
            mechanism.release(made(["maybe"]))
