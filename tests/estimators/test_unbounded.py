"""Median and mean of data without bounds: what the selection of a scale rests on, and what comes out."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, person
from dither.errors import ParameterError
from dither.estimators.records import LARGEST
from dither.estimators.unbounded import (
    _SCALES,
    _block_means,
    _distances,
    _scores,
    default_blocks,
    unbounded_mean,
    unbounded_median,
)
from dither.mechanisms import NoAnswer
from dither.noise import UniformBelow
from dither.sensitivity import Median, distance_to_sensitivity

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
# ε so large that the scale, the test and the answer all miss with probability below 1e-12: e^{−60} and e^{−30}.
CERTAIN: dict[str, Any] = {"epsilon": 400, "delta": "1e-13"}


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
def test_a_median_needs_no_bounds(adjacency: Adjacency) -> None:
    for centre, width in ((0.0, 1.0), (1e9, 1e-3), (-3e-20, 1e-22), (5.0, 1e20)):
        data = centre + width * np.linspace(-1, 1, 4001)
        data[:200] = -1e300  # far away, and of no account
        estimate = unbounded_median(data, adjacency=adjacency, **CERTAIN)
        assert abs(estimate.value - np.median(data)) < 0.1 * width
        low, high = estimate.interval("0.999999999999")
        assert low <= np.sort(data)[2000] <= high


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
def test_a_mean_needs_no_bounds(adjacency: Adjacency) -> None:
    data = 1e6 + np.linspace(-1, 1, 20_000)
    estimate = unbounded_mean(data, adjacency=adjacency, blocks=400, **CERTAIN)
    assert abs(estimate.value - 1e6) < 0.5  # block means deviate by 0.08
    assert estimate.guarantee.adjacency == estimate.event.adjacency == adjacency


@pytest.mark.parametrize("estimator", [unbounded_median, unbounded_mean], ids=["median", "mean"])
def test_the_budget_is_split_and_kept(estimator: Any) -> None:
    estimate = estimator(np.linspace(0, 1, 3000), **BUDGET)
    assert sum(estimate.split.values()) == 1
    assert estimate.guarantee.stated_epsilon == 1
    assert compose([estimate.event]).delta(1) <= 1e-6 * (1 + 1e-5)  # the lattice of accounting costs a little
    assert estimate.found["limit"] in _SCALES


@pytest.mark.parametrize("data", [[], [3.0], [1.0, 2.0, 3.0]], ids=len)
def test_few_records_get_no_answer(data: list[float]) -> None:
    estimate = unbounded_median(data, epsilon=1, delta="1e-13", adjacency=ADD_REMOVE)
    assert isinstance(estimate.value, NoAnswer)
    assert estimate.interval() == (-math.inf, math.inf)


@pytest.mark.parametrize("data", [[], [3.0], [3.0] * 100], ids=len)
def test_a_mean_of_few_records_is_none(data: list[float]) -> None:
    """Most blocks are empty, and these are as many at either end: a test that passes is a matter of δ = 10⁻¹³."""
    estimates = [unbounded_mean(data, epsilon=1, delta="1e-13", adjacency=ADD_REMOVE) for _ in range(5)]
    assert all(isinstance(estimate.value, NoAnswer) for estimate in estimates)


def test_empty_blocks_do_not_pull_a_mean() -> None:
    """More than half of the blocks are empty: with these at 0, the answer was 0."""
    data = 21.0 + np.linspace(-1, 1, 600)
    answers = [unbounded_mean(data, blocks=900, adjacency=ADD_REMOVE, **CERTAIN).value for _ in range(10)]
    assert all(abs(answer - 21) < 1 for answer in answers)


def test_one_record_moves_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is the first or the last of its block: what an empty block is does not depend on the others."""
    data, rng = np.array([3.0, 7.0, 1.0, 2.0]), np.random.default_rng(3)
    for _ in range(50):
        keys = rng.integers(5, size=len(data))
        monkeypatch.setattr(UniformBelow, "sample", lambda _, count, keys=keys: keys[:count])
        more, fewer = (_block_means(data[:count], 5, ADD_REMOVE) for count in (4, 3))
        assert np.flatnonzero(more != fewer).tolist() in ([], [keys[3]])


def test_equal_records_have_the_smallest_scale() -> None:
    estimate = unbounded_median([7.0] * 3000, **CERTAIN)
    assert estimate.found["limit"] == _SCALES[0]
    assert estimate.value == pytest.approx(7, abs=1e-30)


@pytest.mark.parametrize(
    ("estimator", "size", "bound"), [(unbounded_median, 4000, 0.08), (unbounded_mean, 20_000, 0.05)]
)
@pytest.mark.parametrize("centre", [5.0, 1_234_567.8], ids=str)
@pytest.mark.parametrize("tails", ["normal", "t with 3 degrees of freedom"])
def test_the_closer_look_brings_the_typical_error(
    estimator: Any, size: int, bound: float, centre: float, tails: str
) -> None:
    """ε = 1, δ = 1e-6, a scale of 2: the median error over 41 samples; that of the tested answers alone is larger.

    An error exceeds `bound` with probability 14 % at most (300 samples; 4 to 6 % but for the mean of the wide tails),
    21 of 41 do with 1e-8. A tested answer is as near with 10 % at most, and 21 of 41 are with 1e-10.
    """
    rng = np.random.default_rng(907)
    sample = rng.normal if tails == "normal" else partial(rng.standard_t, 3)
    answers = [estimator(centre + 2 * sample(size=size), **BUDGET) for _ in range(41)]
    given = [each for each in answers if not isinstance(each.value, NoAnswer)]
    assert np.median([abs(each.value - centre) for each in given] + [math.inf] * (41 - len(given))) <= bound
    assert np.median([abs(each.found["tested"] - centre) for each in given]) > bound


def test_an_interval_that_was_bought_holds_the_median() -> None:
    """Of 20 intervals of the level 1 − 1e-9 none misses, but with probability 2e-8."""
    data = np.sort(np.random.default_rng(5).normal(5, 2, 4000))
    for _ in range(20):
        estimate = unbounded_median(data, interval_level=1 - Fraction(1, 10**9), **BUDGET)
        if isinstance(estimate.value, NoAnswer):
            continue
        low, high = estimate.interval(0.95)
        assert low <= data[1999]
        assert data[2000] <= high
    with pytest.raises(ParameterError):
        unbounded_median(data, interval_level=1, **BUDGET)


_NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e12, 1e12), st.sampled_from([0.1, 1e300, -1e300]))


@given(st.lists(_NUMBERS, min_size=1, max_size=14), _NUMBERS, st.integers(0, 13), st.integers(1, 6))
@settings(deadline=None, max_examples=10)
def test_scores_move_by_at_most_one(data: list[float], other: float, place: int, target: int) -> None:
    """What noisy max is told, and that the distances are those of `unit`, cut off."""
    replaced = [*data]
    replaced[place % len(data)] = other
    for adjacency, neighbour in ((REPLACE_ONE, replaced), (ADD_REMOVE, [*data, other])):
        statistic = Median(None, adjacency)
        here, there = (_distances(statistic.profile(x), 2 * target) for x in (data, neighbour))
        assert np.abs(_scores(here, target) - _scores(there, target)).max() <= 1
        within = [statistic.profile(data).within(distance) for distance in range(2 * target)]
        assert here.tolist() == [sum(each <= scale for each in within) for scale in _SCALES]
        for i in (0, 200, 257, 511):
            exact = distance_to_sensitivity(statistic, data, Fraction(_SCALES[i]))
            assert here[i] == min(exact, 2 * target)


def test_a06_block_means_do_not_depend_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All records in one block: whatever their order, the mean is that of the exact sum."""
    monkeypatch.setattr(UniformBelow, "sample", lambda _, count: np.zeros(count, dtype=np.int64))
    for data in itertools.permutations([1e16, 1.0, -1e16, 3.0]):
        assert _block_means(np.array(data), 3, ADD_REMOVE).tolist() == [1.0, LARGEST, -LARGEST]
    assert _block_means(np.array([]), 3, ADD_REMOVE).tolist() == [-LARGEST, LARGEST, -LARGEST]


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("odd", [None, math.nan, -math.inf, 1e300, 10**400, "x"], ids=str)
def test_no_entry_decides_whether_there_is_an_error(odd: Any, adjacency: Adjacency) -> None:
    data = [*np.linspace(-1, 1, 2001), odd]
    for estimator in (unbounded_median, unbounded_mean):
        assert -1.1 < estimator(data, adjacency=adjacency, **CERTAIN).value < 1.1


def test_an_array_holds_no_persons() -> None:
    for estimator in (unbounded_median, unbounded_mean):
        with pytest.raises(ParameterError, match="one record per entry"):
            estimator(np.arange(100.0), adjacency=person("user", change="replace"), **BUDGET)


def test_blocks_get_equally_many_records_where_these_are_replaced() -> None:
    """The mean of equal records is that record: in blocks of one, too; empty blocks do not come up."""
    assert set(_block_means(np.full(20, 3.0), 10, REPLACE_ONE)) == {3.0}
    everything = _block_means(np.arange(10.0), 10, REPLACE_ONE)
    assert sorted(everything) == list(range(10))


def test_the_number_of_blocks_is_public() -> None:
    assert default_blocks(1, "1e-6") == default_blocks(1, "1e-6", size=10**4)
    assert default_blocks(1, "1e-6", size=10**6) == 2000
    assert default_blocks(1, "1e-6", size=100) == 50


@pytest.mark.parametrize(
    ("data", "other"),
    [
        ([1.0], {"epsilon": 0}),
        ([1.0], {"delta": 0}),
        ([1.0], {"delta": None}),
        ([1.0], {"delta": "0.5"}),
        ([1.0], {"noise": "cauchy"}),
        ([1.0], {"delta": "0.01", "n": 100}),
        ("x", {}),
    ],
    ids=str,
)
def test_bad_input_is_refused(data: Any, other: dict[str, Any]) -> None:
    for estimator in (unbounded_median, unbounded_mean):
        with pytest.raises(ParameterError):
            estimator(data, **{**BUDGET, **other})
    with pytest.raises(ParameterError):
        unbounded_mean([1.0] * 9, blocks=2, **BUDGET)
    with pytest.raises(ParameterError, match=r"blocks=\.\.\."):
        unbounded_mean([1.0] * 9, epsilon="1e-6", delta="1e-6", adjacency=ADD_REMOVE)
