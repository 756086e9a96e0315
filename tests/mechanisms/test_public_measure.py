"""Public measures on places: exact masses, exact draws, and the axes that say what places stand for."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.estimators.axes import Doubles, Multiples
from dither.estimators.base_measure import bounded, stepped, unbounded
from dither.mechanisms import Exponential
from dither.mechanisms.public_measure import BaseMeasure, Mixture, PublicMeasure, released_place
from dither.noise import UniformBelow
from tests.noise.fit import ALARM, p_value_of_counts

FIRST = BaseMeasure(np.array([-4, -1, 0, 1, 6]), np.array([3, 2, 7, 4]))
SECOND = BaseMeasure(np.array([-4, 2, 6]), np.array([5, 1]))
MEASURES = [FIRST, SECOND, Mixture((FIRST, SECOND))]


def naive(measure: PublicMeasure) -> dict[int, Fraction]:
    """The mass of each place, by the definition."""
    if isinstance(measure, Mixture):
        parts = [naive(part) for part in measure.parts]
        return {place: sum((part[place] for part in parts), Fraction(0)) for place in parts[0]}
    assert isinstance(measure, BaseMeasure)
    found: dict[int, Fraction] = {}
    for first, end, mass in zip(measure.cuts[:-1], measure.cuts[1:], measure.masses, strict=True):
        found |= {int(place): Fraction(int(mass), int(end - first)) for place in range(first, end)}
    return found


@pytest.mark.parametrize("measure", MEASURES)
@given(st.lists(st.integers(-3, 5), unique=True).map(sorted))
def test_the_mass_of_a_piece_is_the_sum_of_its_places(measure: PublicMeasure, inner: list[int]) -> None:
    starts = [-4, *inner, 6]
    masses = naive(measure)
    weights = measure.weights(np.array(starts))
    for at, (first, end) in enumerate(pairwise(starts)):
        exact = sum((masses[place] for place in range(first, end)), Fraction(0))
        assert measure.weight(first, end) == exact
        assert weights[at] == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("piece", [(-4, 6), (-2, 3), (0, 1), (2, 6)])
def test_a_place_is_drawn_by_its_mass_exactly(
    measure: PublicMeasure, piece: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All draws of the uniform numbers, one after the other, each with its exact probability."""
    chances: Counter[int] = Counter()

    def explore(script: list[int], chance: Fraction) -> None:
        asked: list[int] = []

        def sample(law: UniformBelow) -> int:
            at = len(asked)
            asked.append(law.bound)
            return script[at] if at < len(script) else 0

        with monkeypatch.context() as patch:
            patch.setattr(UniformBelow, "sample", sample)
            place = measure.drawn(*piece)
        if len(asked) == len(script):
            chances[place] += chance  # type: ignore[assignment]
            return
        bound = asked[len(script)]
        for value in range(bound):
            explore([*script, value], chance / bound)

    explore([], Fraction(1))
    total = measure.weight(*piece)
    masses = naive(measure)
    assert dict(chances) == {place: masses[place] / total for place in range(*piece)}


def test_a_release_has_the_law_of_the_exponential_mechanism() -> None:
    """With the mass of each place and e^{q/b}; with another scale, or without the measure, it would be noticed."""
    mechanism = Exponential(sensitivity=1, epsilon=1)
    starts, scores = np.array([-4, -1, 2, 6]), np.array([0.0, -3.0, -1.0])
    draws = Counter(int(released_place(mechanism, starts, scores, MEASURES[2]).value) for _ in range(6_000))
    counts = [draws[place] for place in range(-4, 6)]

    def law(scale: float, masses: dict[int, Fraction]) -> list[float]:
        pieces = np.searchsorted(starts, np.arange(-4, 6), side="right") - 1
        weights = np.array([float(masses[p]) for p in range(-4, 6)]) * np.exp(scores[pieces] / scale)
        return list(weights / weights.sum())

    masses = naive(MEASURES[2])
    assert p_value_of_counts(counts, law(2, masses)) > ALARM
    for wrong in (law(1.5, masses), law(3, masses), law(2, dict.fromkeys(masses, Fraction(1)))):
        assert p_value_of_counts(counts, wrong) < ALARM


@given(st.lists(st.floats(allow_nan=False, min_value=-1e30, max_value=1e30), min_size=1))
def test_places_of_doubles_are_in_order_and_stand_for_themselves(values: list[float]) -> None:
    axis = Doubles(-40)
    ordered = np.sort(np.array(values) + 0.0)
    places = axis.places(ordered)
    assert (np.diff(places) >= 0).all()
    back = axis.values(places)
    far = np.abs(ordered) >= 2.0**-40
    assert (back[far] == ordered[far]).all()
    assert (np.abs(back - ordered)[~far] < 2.0**-92).all()
    assert (axis.places(back) == places).all()


@given(st.integers(-(2**60), 2**60))
def test_neighbouring_places_stand_for_neighbouring_doubles(place: int) -> None:
    axis = Doubles(-120)
    low, high = axis.value(place), axis.value(place + 1)
    assert low < high
    assert high == math.nextafter(low, math.inf) or max(abs(low), abs(high)) <= 2.0**-120


def test_steps_are_multiples() -> None:
    axis = Multiples(Fraction(1, 4))
    assert axis.places(np.array([-0.3, 0.0, 0.1, 0.126])).tolist() == [-1, 0, 0, 1]
    assert axis.values(np.array([-3, 5])).tolist() == [-0.75, 1.25]


BOUNDS = [(0.0, 1e6), (5.0, 6.0), (-10.0, 10.0), (-1000.0, -1.0), (1e9, 1e9 + 1), (0.0, 2.0**380), (1.0, 1 + 2.0**-50),
          (-1e-100, 2e-100), (0.0, 1.0)]  # fmt: skip


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_the_base_measure_is_on_the_bounds_and_has_its_shares(bounds: tuple[float, float]) -> None:
    base = bounded(bounds)
    assert base.bounds == bounds
    measure = base.measure
    assert isinstance(measure, BaseMeasure)
    assert (int(measure.cuts[0]), int(measure.cuts[-1])) == (base.first, base.end + 1)  # the last is no answer
    total = measure.weight(base.first, base.end)
    assert measure.weight(base.end, base.end + 1) == total * 2**13
    for end in (base.first, base.end - 1):
        assert measure.weight(end, end + 1) >= total * Fraction(4, 1000)
    if bounds[0] <= 0 <= bounds[1]:
        assert measure.weight(0, 1) >= total * Fraction(3, 100)
    near = base.around(base.axis.place((bounds[0] + bounds[1]) / 2))
    assert near.measure.weight(base.first, base.end) > total


@pytest.mark.parametrize("value", [7.0, 0.25, 120.0, 45_000.0, 999_000.0])
def test_round_numbers_have_a_mass_of_their_own(value: float) -> None:
    base = bounded((0.0, 1e6))
    place = base.axis.place(value)
    alone, beside = base.measure.weight(place, place + 1), base.measure.weight(place + 1, place + 2)
    assert alone > 10**6 * beside


def test_a_wide_bound_costs_little() -> None:
    """The mass around 40,000 with bounds 1000 times wider: less than a factor of 4, not of 1000."""

    def near(high: float) -> float:
        base = bounded((0.0, high))
        ends = [base.axis.place(x) for x in (39_000.0, 41_000.0)]
        return float(base.measure.weight(*ends) / base.measure.weight(base.first, base.end))

    assert near(1e9) > near(1e6) / 4


def test_whole_numbers_have_whole_places() -> None:
    base = stepped(Fraction(1), -3, 120)
    assert (base.first, base.end, base.bounds) == (-3, 121, (-3.0, 120.0))
    assert base.measure.weight(0, 1) > base.measure.weight(1, 2) > base.measure.weight(101, 102)


def test_without_bounds_there_is_a_place_for_no_answer() -> None:
    base = unbounded()
    assert base.refuses
    everything = base.measure.weight(base.first, base.end)
    assert base.measure.weight(base.end, base.end + 1) == everything * 2**13
    human, tiny = (base.measure.weight(base.axis.place(x), base.axis.place(2 * x)) for x in (300.0, 1e-30))
    assert human > 10 * tiny


def test_equal_measures_are_equal() -> None:
    assert BaseMeasure(FIRST.cuts.copy(), FIRST.masses.copy()) == FIRST != SECOND
    assert hash(BaseMeasure(FIRST.cuts.copy(), FIRST.masses.copy())) == hash(FIRST)
    assert Mixture((FIRST, SECOND)) == MEASURES[2] != Mixture((SECOND, FIRST))
