"""What sensitivities refuse, and what they mean at the edges."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, Adjacency, person
from dither.errors import AdjacencyMismatch, DitherError, NotANumberError, ParameterError
from dither.sensitivity import (
    Maximum,
    Median,
    Minimum,
    Quantile,
    Statistic,
    TrimmedMean,
    WinsorisedMean,
    distance_to_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
)

BOUNDS = (0, 10)


@pytest.mark.parametrize(
    "bounds", [(1, 1), (2, 1), (0, math.nan), (0, math.inf), (-1.7e308, 1.7e308), (0,), 5, "ab", (True, 2)], ids=str
)
def test_bounds_are_two_finite_numbers_in_order(bounds: Any) -> None:
    with pytest.raises(ParameterError):
        Median(bounds)


@pytest.mark.parametrize("adjacency", [EDGE, person("id"), "record"], ids=str)
def test_neighbours_differ_in_one_record(adjacency: Any) -> None:
    for build in (Median, Minimum, Maximum):
        with pytest.raises(AdjacencyMismatch, match="REPLACE_ONE or ADD_REMOVE"):
            build(BOUNDS, adjacency)


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan, True, "x"], ids=str)
def test_probability(probability: Any) -> None:
    with pytest.raises(ParameterError):
        Quantile(probability, BOUNDS)


@pytest.mark.parametrize("trim", [-0.1, 0.5, 1, math.nan], ids=str)
def test_trim(trim: Any) -> None:
    for build in (TrimmedMean, WinsorisedMean):
        with pytest.raises(ParameterError):
            build(trim, BOUNDS)


def test_means_need_bounds_and_a_known_adjacency() -> None:
    for build in (TrimmedMean, WinsorisedMean):
        with pytest.raises(ParameterError, match="bounds must be given"):
            build(0.1, None)
        with pytest.raises(AdjacencyMismatch, match="REPLACE_ONE or ADD_REMOVE"):
            build(0.1, BOUNDS, EDGE)


SECRET = 42.4242
BAD_DATA = [
    [SECRET, math.nan],
    [SECRET, math.inf],
    [SECRET, None],
    [SECRET, "x"],
    [[SECRET]],
    SECRET,
    np.array([SECRET + 1j]),
    np.array(["42.4242"]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    {"a": SECRET},
]


@pytest.mark.parametrize("data", BAD_DATA, ids=range(len(BAD_DATA)))
def test_data_is_a_list_of_finite_numbers_and_is_never_shown(data: Any) -> None:
    for statistic in (Median(BOUNDS), Median(None, ADD_REMOVE), TrimmedMean(0.1, BOUNDS), WinsorisedMean(0.1, BOUNDS)):
        with pytest.raises(DitherError) as refused:
            statistic.sensitivity_within(data, 0)
        assert "42" not in str(refused.value)
        assert refused.value.__cause__ is None


@pytest.mark.parametrize("distance", [-1, 1.0, True, None], ids=str)
def test_distance_is_a_whole_number(distance: Any) -> None:
    for statistic in (Median(BOUNDS), Median(BOUNDS, ADD_REMOVE), TrimmedMean(0.1, BOUNDS, ADD_REMOVE)):
        with pytest.raises(ParameterError):
            statistic.sensitivity_within([1, 2, 3], distance)


@pytest.mark.parametrize("beta", [0, -1, math.nan, math.inf, True], ids=str)
def test_beta_is_positive(beta: Any) -> None:
    with pytest.raises(ParameterError):
        smooth_sensitivity(Median(BOUNDS), [1, 2], beta)


@pytest.mark.parametrize("limit", [-1, math.nan, math.inf], ids=str)
def test_limit_is_a_number(limit: Any) -> None:
    with pytest.raises(ParameterError):
        distance_to_sensitivity(Median(BOUNDS), [1, 2], limit)


def test_no_records() -> None:
    for build in (Median, Minimum, Maximum):
        with pytest.raises(ParameterError, match="at least one record"):
            build(BOUNDS, REPLACE_ONE).value([])
        assert local_sensitivity(build(BOUNDS, ADD_REMOVE), []) == 10
    assert [build(BOUNDS, ADD_REMOVE).value([]) for build in (Median, Minimum, Maximum)] == [0, 10, 0]
    assert [build(0.2, BOUNDS, ADD_REMOVE).value([]) for build in (TrimmedMean, WinsorisedMean)] == [5, 5]
    with pytest.raises(ParameterError, match="only inside bounds"):
        Median(None, ADD_REMOVE).value([])


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
def test_without_bounds(adjacency: Adjacency) -> None:
    median = Median(None, adjacency)
    assert median.global_sensitivity == math.inf
    assert smooth_sensitivity(median, [1, 2, 3], 1) == math.inf
    assert local_sensitivity(median, [1, 2, 3]) == 1
    assert local_sensitivity(median, [-1.7e308, -1.7e308, 1.7e308, 1.7e308]) == math.inf  # no double is that large
    assert distance_to_sensitivity(median, [1, 2, 3, 4, 5, 6, 7], 10) in (3, 6)


def test_limits_at_the_ends() -> None:
    assert distance_to_sensitivity(Median(BOUNDS), [5] * 9, 10) == math.inf
    assert distance_to_sensitivity(Median(BOUNDS), [5] * 9, 0) == 4
    assert distance_to_sensitivity(TrimmedMean(0, BOUNDS), [5] * 9, 2) == math.inf


@pytest.mark.parametrize(
    "data",
    [
        np.array([3, 1, 2], dtype=np.uint8),
        [3.0, 1, 2],
        (3, 1, 2),
        [Fraction(3), Decimal(1), 2],
        np.array([3, 1, 2], dtype=np.float32),
    ],
    ids=["uint8", "list", "tuple", "exact", "float32"],
)
def test_many_kinds_of_numbers(data: Any) -> None:
    assert Median(BOUNDS).value(data) == 2
    assert local_sensitivity(Median(BOUNDS), data) == 1


def test_data_beyond_the_bounds_counts_as_the_bound() -> None:
    assert Median(BOUNDS).value([-5, 99, 10**30]) == 10
    assert smooth_sensitivity(Median(BOUNDS), [-5, 3, 99], 1) == smooth_sensitivity(Median(BOUNDS), [0, 3, 10], 1)


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("scale", [2.0**-1000, 1.0, 2.0**1000], ids=["tiny", "one", "huge"])
def test_the_scale_of_the_data_does_not_matter(scale: float, adjacency: Adjacency) -> None:
    """Also at the ends of the doubles: the search is scaled, and a power of two changes no digit."""
    data = np.array([1, 2, 3.5, 7, 7, 8, 20])
    ordinary = smooth_sensitivity(Quantile(0.3, (0, 64), adjacency), data, 0.25)
    scaled = smooth_sensitivity(Quantile(0.3, (0, Fraction(64 * scale)), adjacency), data * scale, 0.25)
    assert scaled == ordinary * scale


def test_every_statistic_keeps_the_protocol() -> None:
    for build in (Median, Minimum, Maximum):
        assert isinstance(build(BOUNDS), Statistic)
    assert isinstance(TrimmedMean(0, BOUNDS), Statistic)
    assert not isinstance([1, 2], Statistic)


class Own:
    """A statistic of somebody's own, which states whatever it is told to."""

    adjacency, global_sensitivity = REPLACE_ONE, 10.0

    def __init__(self, states: Any, **other: Any) -> None:
        self.states = states
        vars(self).update(other)

    def value(self, data: Any) -> Any:
        return data

    def sensitivity_within(self, data: Any, distance: int) -> Any:
        return self.states


@pytest.mark.parametrize("states", [None, "0.5", True, 1j, [1.0], -1.0, -1, np.float32(-1)], ids=str)
def test_what_is_no_sensitivity_is_refused_and_not_shown(states: Any) -> None:
    asks: list[Callable[[Own], object]] = [
        lambda own: local_sensitivity(own, []),
        lambda own: smooth_sensitivity(own, [], beta=1),
        lambda own: distance_to_sensitivity(own, [], 5),
    ]
    for ask in asks:
        with pytest.raises(ParameterError, match="sensitivity_within of a statistic must be") as refusal:
            ask(Own(states))
        assert "-1" not in str(refusal.value)
        with pytest.raises(ParameterError, match="global_sensitivity of a statistic must be"):
            smooth_sensitivity(Own(0.5, global_sensitivity=states), [], beta=1)


@pytest.mark.parametrize("states", [1, 0.1, np.float32(0.1), Decimal("0.1"), Fraction(1, 3), np.int64(2)], ids=str)
def test_a_sensitivity_may_be_any_number_and_is_never_less(states: Any) -> None:
    exact = Fraction(states.item() if isinstance(states, np.generic) else states)
    assert exact <= Fraction(local_sensitivity(Own(states), [])) <= exact * (1 + Fraction(1, 2**52))
    assert exact <= Fraction(smooth_sensitivity(Own(states), [], beta=1))
    assert distance_to_sensitivity(Own(states), [], exact) == math.inf
    assert distance_to_sensitivity(Own(states), [], exact * Fraction(99, 100)) == 0


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), Fraction(3), Decimal(3)], ids=repr)
def test_the_value_of_a_statistic_may_be_any_number(value: Any) -> None:
    own = Own(1e-9)
    assert abs(dp.SmoothSensitivity(own, epsilon=1).release(value).value - 3) < 1
    noisy = dp.ProposeTestRelease(Own(1e-9, global_sensitivity=1e-9), limit=1e-3, epsilon=1, delta=1e-6).release(value)
    assert abs(noisy.value - 3) < 1


@pytest.mark.parametrize("value", [None, "3", True, 3j, [3.0], math.nan, -math.inf, np.float32("nan")], ids=repr)
def test_what_is_no_value_is_refused_and_not_shown(value: Any) -> None:
    for mechanism in (
        dp.SmoothSensitivity(Own(1e-9), epsilon=1),
        dp.ProposeTestRelease(Own(1e-9, global_sensitivity=1e-9), limit=1, epsilon=1, delta=1e-6),
    ):
        with pytest.raises(NotANumberError, match="the value of a statistic must be") as refusal:
            mechanism.release(value)
        assert "3" not in str(refusal.value)


def test_a_sensitivity_that_is_nan_may_be_anything() -> None:
    assert local_sensitivity(Own(math.nan), []) == smooth_sensitivity(Own(math.nan), [], beta=1) == math.inf
    assert distance_to_sensitivity(Own(math.nan), [], 5) == 0
    assert distance_to_sensitivity(Own(7.0, global_sensitivity=math.nan), [], 5) == 0
