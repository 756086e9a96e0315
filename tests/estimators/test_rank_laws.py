"""Quantiles, extremes and the scale of an interval on all small datasets: the exact law of answers, by brute force.

For every dataset of up to four records among five values and every neighbour, the probabilities of all places are
computed from the definition of the exponential mechanism (the mass of a place times e^{score/b}), and no ratio exceeds
e^ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators.axes import Multiples
from dither.estimators.base_measure import Base, stepped, unbounded
from dither.estimators.order_statistic import (
    EXTREME_DIGITS,
    EXTREME_SENSITIVITY,
    RankedRows,
    extreme_target,
    quantile_aim,
    scored,
)
from dither.estimators.quantile_bars import QuantileBars
from dither.estimators.quantile_search import as_answer
from dither.estimators.ranks import quantile_sensitivity
from dither.mechanisms import Exponential
from dither.mechanisms.public_measure import BaseMeasure

pytestmark = pytest.mark.contract

VALUES = (-2, -1, 0, 1, 3)
Data = tuple[int, ...]
Law = Callable[[Data], list[float]]
LOGS = 1e-9  # of double precision

PLAIN = replace(stepped(Fraction(1), -2, 3), refuses=False)
MASSES = BaseMeasure(np.array([-2, 0, 1, 4, 5]), np.array([3, 5, 1, 90]))
"""Places and no answer, with masses of the same size: so that each probability shows."""
BOUNDED = Base(Multiples(Fraction(1)), -2, 4, MASSES, refuses=True)
REFUSING = replace(BOUNDED, is_bounded=False)
BASES = {"an answer": PLAIN, "bounds": BOUNDED, "no bounds": REFUSING}


def neighbours(adjacency: Adjacency, most: int) -> Iterator[tuple[Data, Data]]:
    for size in range(most):
        for data in combinations_with_replacement(VALUES, size):
            for value in VALUES:
                if adjacency == ADD_REMOVE:
                    yield data, (*data, value)
                else:
                    yield (*data, VALUES[size % 5]), (*data, value)


def logs(starts: np.ndarray, scores: np.ndarray, base: Base, mechanism: Exponential) -> list[float]:
    """ln P of each place, no answer included."""
    places = range(int(starts[0]), int(starts[-1]))
    pieces = np.searchsorted(starts, np.array(places), side="right") - 1
    rate = 1 / float(mechanism.scale)
    weights = [
        math.log(base.measure.weight(place, place + 1)) + scores[at] * rate
        for place, at in zip(places, pieces, strict=True)
    ]
    return list(np.array(weights) - np.logaddexp.reduce(weights))


def rows_of(data: Data, base: Base) -> RankedRows:
    return RankedRows.of_values(np.sort(np.array(data, dtype=np.float64)), base)


def quantile_law(q: Fraction, base: Base, adjacency: Adjacency, epsilon: Fraction, wrong: int = 1) -> Law:
    sensitivity = Fraction(quantile_sensitivity(q, adjacency), wrong)
    mechanism = Exponential(sensitivity=sensitivity, epsilon=epsilon, adjacency=adjacency)

    def law(data: Data) -> list[float]:
        target = quantile_aim(q, len(data), base, mechanism)
        starts, scores = scored(rows_of(data, base), base, (base.first, base.end), target, mechanism)
        return logs(starts, scores, base, mechanism)

    return law


def extreme_law(largest: bool, base: Base, adjacency: Adjacency, epsilon: Fraction, wrong: int = 1) -> Law:
    sensitivity = Fraction(EXTREME_SENSITIVITY, wrong)
    mechanism = Exponential(sensitivity=sensitivity, epsilon=epsilon, adjacency=adjacency)

    def law(data: Data) -> list[float]:
        target = extreme_target(len(data), mechanism, adjacency, largest=largest, refuses=not base.is_bounded)
        starts, scores = scored(rows_of(data, base), base, (base.first, base.end), target, mechanism)
        return logs(starts, scores, base, mechanism)

    return law


def scale_law(place: int, adjacency: Adjacency, epsilon: Fraction, wrong: int = 1) -> Law:
    bars = QuantileBars(PLAIN, adjacency, Fraction(9, 10))
    mechanism = Exponential(sensitivity=Fraction(2, wrong), epsilon=epsilon, adjacency=adjacency)

    def law(data: Data) -> list[float]:
        distances = bars._distances(place)
        scores = bars._scores(rows_of(data, PLAIN), place, (PLAIN.first, PLAIN.end), distances, mechanism)
        weights = scores / float(mechanism.scale)
        return list(weights - np.logaddexp.reduce(weights))

    return law


def largest_loss(law: Law, adjacency: Adjacency, most: int = 5) -> float:
    return max(
        float(np.abs(np.array(law(left)) - np.array(law(right))).max()) for left, right in neighbours(adjacency, most)
    )


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(99, 100)], ids=str)
def test_no_answer_of_a_quantile_loses_more_than_epsilon(q: Fraction, base: Base, adjacency: Adjacency) -> None:
    assert largest_loss(quantile_law(q, base, adjacency, Fraction(1)), adjacency) <= 1 + LOGS


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("base", [PLAIN, REFUSING], ids=["bounds", "no bounds"])
@pytest.mark.parametrize("largest", [True, False], ids=["max", "min"])
@pytest.mark.parametrize("epsilon", [1, 30, 60])
def test_no_answer_of_an_extreme_loses_more_than_epsilon(
    epsilon: int, largest: bool, base: Base, adjacency: Adjacency
) -> None:
    """With ε = 30 and 60 there are datasets of more and of fewer than 2t records."""
    assert largest_loss(extreme_law(largest, base, adjacency, Fraction(epsilon)), adjacency) <= epsilon * (1 + LOGS)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("epsilon", [1, 10, 20])
@pytest.mark.parametrize("place", [-2, 0, 3])
def test_no_scale_of_an_interval_loses_more_than_epsilon(place: int, epsilon: int, adjacency: Adjacency) -> None:
    assert largest_loss(scale_law(place, adjacency, Fraction(epsilon)), adjacency) <= epsilon * (1 + LOGS)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_with_less_sensitivity_more_is_lost(adjacency: Adjacency) -> None:
    assert largest_loss(quantile_law(Fraction(1, 2), PLAIN, adjacency, Fraction(1), wrong=2), adjacency) > 1.05
    assert largest_loss(extreme_law(True, PLAIN, adjacency, Fraction(30), wrong=4), adjacency) > 31
    assert largest_loss(scale_law(0, adjacency, Fraction(20), wrong=4), adjacency) > 21


class Choices:
    """Stands for the mechanism of the scale, and counts what is asked of it."""

    scale = Fraction(1)

    def __init__(self) -> None:
        self.scores: list[np.ndarray] = []

    def release(self, scores: np.ndarray) -> Choices:
        self.scores.append(scores)
        return self

    value = 0


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_equal_answers_have_one_choice_of_a_scale(adjacency: Adjacency) -> None:
    """A record that moves from below to above would change two, each of which spends all that one may."""
    bars, rows = QuantileBars(PLAIN, adjacency, Fraction(9, 10)), rows_of((-2, 0, 0, 1), PLAIN)
    equal, different = Choices(), Choices()
    bars.cells(rows, {Fraction(1, 4): 0, Fraction(3, 4): 0}, equal)  # type: ignore[arg-type]
    bars.cells(rows, {Fraction(1, 4): -1, Fraction(3, 4): 1}, different)  # type: ignore[arg-type]
    assert (len(equal.scores), len(different.scores)) == (1, 2)


def test_beyond_the_part_of_a_node_there_is_no_answer() -> None:
    """The piece that refuses reaches from the end of the part to the place that means no answer."""
    base = unbounded()
    end = base.axis.place(5.0)
    rows = RankedRows.of_values(np.array([1.0]), base)
    mechanism = Exponential(sensitivity=1, epsilon=1)
    target = quantile_aim(Fraction(1, 2), rows.total, base, mechanism)
    starts, scores = scored(rows, base, (base.first, end), target, mechanism)
    assert list(starts[-2:]) == [end, base.end + 1]
    assert len(scores) == len(starts) - 1
    assert [as_answer(place, end) for place in (end - 1, end, base.end)] == [end - 1, None, None]


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("largest", [True, False], ids=["max", "min"])
def test_an_extreme_without_bounds_is_neither_refused_nor_wild_where_records_are_many(
    largest: bool, adjacency: Adjacency
) -> None:
    """From 150/ε records on; with half as many it is refused. The probabilities are computed, not drawn."""
    rng, base = np.random.default_rng(41), unbounded()
    mechanism = Exponential(sensitivity=EXTREME_SENSITIVITY, epsilon=1, adjacency=adjacency)

    def chances(values: np.ndarray) -> tuple[float, float]:
        """Of no answer, and of a place outside all records."""
        rows = RankedRows.of_values(np.sort(values), base, EXTREME_DIGITS)
        target = extreme_target(len(values), mechanism, adjacency, largest=largest, refuses=True)
        starts, scores = scored(rows, base, (base.first, base.end), target, mechanism)
        logs = np.log(base.measure.weights(starts).astype(np.float64)) + scores / float(mechanism.scale)
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        outside = (starts[:-1] >= rows.ends.max()) | (starts[1:] <= rows.starts.min())
        return float(shares[-1]), float(shares[:-1][outside[:-1]].sum())

    for count in (150, 1_000, 50_000):
        for values in (
            rng.poisson(30, count), rng.poisson(3_000, count), rng.normal(3_000, 50, count),
            rng.lognormal(10, 1, count), np.full(count, 3131.12345),
            rng.poisson(0.1, count) * rng.lognormal(3, 1, count),
        ):  # fmt: skip
            refused, wild = chances(values.astype(np.float64))
            assert refused < 1 / 500
            assert wild < 1 / 20_000
    refused, wild = chances(rng.normal(3_000, 50, 45))
    assert refused > 0.9
    assert wild < 1 / 4_000


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_equal_whole_numbers_without_bounds_are_found(adjacency: Adjacency) -> None:
    """200 records of 12,345, ε = 1: the median is that number but for 1 in 1,000; as doubles it mostly is not.

    The probabilities are computed, not drawn.
    """

    def chance(*, is_whole: bool) -> float:
        base, values = unbounded(is_whole=is_whole), np.full(200, 12345.0)
        rows = RankedRows.of_values(values, base)
        mechanism = Exponential(sensitivity=2 if adjacency == REPLACE_ONE else 1, epsilon=1, adjacency=adjacency)
        target = quantile_aim(Fraction(1, 2), 200, base, mechanism)
        starts, scores = scored(rows, base, (base.first, base.end), target, mechanism)
        logs = np.log(base.measure.weights(starts).astype(np.float64)) + scores / float(mechanism.scale)
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        return float(shares[:-1][base.axis.values(starts[:-2]) == 12345].sum())

    assert chance(is_whole=True) > 0.999
    assert chance(is_whole=False) < 0.5


def test_whole_arrays_without_bounds_have_whole_answers() -> None:
    """Whatever the noise is. One extreme of 26,000 is refused at ε = 20: three of three once in 10¹³."""
    years = np.arange(2000) % 56 + 1950
    for ask in (dp.stats.median, dp.stats.min, dp.stats.max):
        values = [ask(years, epsilon=20).value for _ in range(3)]
        answers = [value for value in values if not isinstance(value, dp.NoAnswer)]
        assert answers
        assert all(value == int(value) for value in answers)
    for value in dp.stats.quantile(years, [0.1, 0.5, 0.9], epsilon=20).value:
        assert value == int(value)
