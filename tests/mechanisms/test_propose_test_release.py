"""Propose-test-release: what it gives back, its thresholds, and the distance it rests on."""

import itertools
import math
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.exact import ball, precision
from dither.mechanisms.additive import Noising
from dither.mechanisms.tested_calibration import gaussian_textbook, gaussian_tight, laplace_textbook, laplace_tight
from dither.sensitivity import Median, TrimmedMean, distance_to_sensitivity
from tests.mechanisms.entropy_use import nothing_drawn
from tests.oracle import tested as oracle

CERTAIN = "1e-13"
"""A δ so small that an answer at distance 0 may not come in any test."""

BUDGETS = [("1", "1e-6"), ("0.1", "1e-6"), ("8", "1e-9"), ("0.5", "0.01"), ("50", "1e-3")]


def _median(limit: Any = 2, bounds: Any = (0, 1000), **other: Any) -> dp.ProposeTestRelease:
    return dp.ProposeTestRelease(Median(bounds), limit=limit, **{"epsilon": 1, "delta": "1e-6", **other})


# ----------------------------------------------------------------- no answer


def test_unstable_data_gets_no_answer_that_says_why() -> None:
    mechanism = _median(delta=CERTAIN)
    release = mechanism.release([0.0] * 50 + [1000.0] * 51)
    assert isinstance(release.value, dp.NoAnswer)
    assert str(release.value) == release.value.explanation
    for word in ("no answer", "by no more than 2", f"{mechanism.split.threshold} records", "larger limit"):
        assert word in str(release.value)
    assert release.interval() == (-math.inf, math.inf)
    assert release.guarantee.delta(1) <= 1e-13
    with pytest.raises(FrozenInstanceError):
        release.value.explanation = ""  # type: ignore[misc]


def test_no_answer_is_neither_true_nor_a_number() -> None:
    nothing = _median().no_answer
    with pytest.raises(ParameterError, match="isinstance"):
        bool(nothing)
    with pytest.raises(TypeError):
        float(nothing)  # type: ignore[arg-type]
    assert nothing == _median().no_answer != _median(limit=3).no_answer


def test_no_answer_says_nothing_about_the_data() -> None:
    mechanism = _median(delta=CERTAIN)
    values = {mechanism.release(data).value for data in ([0.0] * 10 + [999.0] * 11, [1.0], [500.0, 1.0])}
    assert values == {mechanism.no_answer}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_stable_data_gets_an_answer_with_its_interval(noise: str) -> None:
    """300 equal records: the test fails with probability below 1e-40, and the interval misses with 1e-12."""
    release = _median(noise=noise).release([500.0] * 300 + [1.0] * 7)
    assert isinstance(release.value, float)
    low, high = release.interval("0.999999999999")
    assert low < 500 < high
    assert high - low == pytest.approx(2 * _median(noise=noise).error("1e-12"), rel=1e-9)


def test_a_mean_is_not_rounded_before_the_noise() -> None:
    # Near 2^53 doubles are 2 apart. The means of these neighbours are 0.002 apart, on either side of a half.
    low, n = 2**53, 1001
    statistic = TrimmedMean(0, (low, low + 4))
    mechanism = dp.ProposeTestRelease(statistic, limit="0.01", epsilon=1, delta="1e-6")
    added: list[Any] = []

    def add(_: Noising, value: Any) -> float:
        added.append(value)
        return 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noising, "add", add)
        for raised in (500, 501):
            mechanism.release(np.array([low + 2.0] * raised + [float(low)] * (n - raised)))
    assert float(low) != statistic.value(np.array([low + 2.0] * 501 + [float(low)] * 500))
    assert abs(added[0] - added[1]) <= Fraction(1, 100)


def test_empty_data_is_as_unstable_as_one_record() -> None:
    """Under add or remove, no records have no median without bounds: the outcome is as for one record."""
    mechanism = dp.ProposeTestRelease(Median(None, ADD_REMOVE), limit=2, epsilon=1, delta=CERTAIN)
    assert mechanism.release([]).value == mechanism.release([7.0]).value == mechanism.no_answer


def test_bad_data_is_refused_before_anything_is_drawn() -> None:
    for data in ([math.nan], None, "x", 3.0, []):
        with nothing_drawn(), pytest.raises(ParameterError):
            _median().release(data)


# ---------------------------------------------------------------- thresholds


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_laplace_threshold_is_the_smallest_that_keeps_delta(epsilon: str, delta: str) -> None:
    exact, miss = Fraction(epsilon), Fraction(delta)
    split = laplace_tight(exact, miss)
    assert split.test + split.answer == exact
    assert split.test <= exact / 2 * (1 + Fraction(1, 10**15))
    a = math.exp(-split.test)
    assert a ** (split.threshold + 1) / (1 + a) <= delta_of(delta) * (1 + 1e-9)
    if split.threshold:
        half = math.exp(-exact / 2)
        assert half**split.threshold / (1 + half) > delta_of(delta)  # one less would not do
    # C20: with T = 1 + b/ε₁ and continuous noise, b = ln(1/(2δ)) − ε₁; whole distances need no more than one step more.
    continuous = math.log(1 / (2 * delta_of(delta))) / float(exact / 2)
    assert split.threshold <= max(math.ceil(continuous), 0)
    assert split.threshold < laplace_textbook(exact, miss).threshold


def delta_of(text: str) -> float:
    return float(Fraction(text))


@pytest.mark.parametrize("change", ["less noise", "lower threshold"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_nothing_can_be_spared(noise: str, change: str) -> None:
    """Enumeration on a coarse lattice: what the tight split allows holds, ten percent less noise or T − 1 do not."""
    epsilon, delta, shift, step = Fraction(1), Fraction(1, 1000), 8, Fraction(1, 8)
    split = (laplace_tight if noise == "laplace" else gaussian_tight)(epsilon, delta)

    def found(threshold: int, share: Fraction) -> float:
        if noise == "laplace":
            test, answer = oracle.laplace(1 / split.test), oracle.laplace(1 / (split.answer * share * step))
        else:
            test, answer = oracle.gaussian(split.test), oracle.gaussian(1 / (split.answer * share**2 * step**2))
        return float(oracle.delta(epsilon, test, threshold, answer, shift, 160, threshold + 12))

    right = found(split.threshold, Fraction(1))
    wrong = (
        found(split.threshold - 1, Fraction(1))
        if change == "lower threshold"
        else found(split.threshold, Fraction(10, 9))
    )
    assert right <= delta * Fraction(1001, 1000)  # the coarse lattice is not quite the line
    assert wrong > 1.2 * float(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-6"), ("8", "1e-9")])
def test_joint_accounting_beats_the_sum_of_its_parts(epsilon: str, delta: str) -> None:
    """The same budget, each of test and answer paid for by itself, buys less for Gaussian noise."""
    exact, miss = Fraction(epsilon), Fraction(delta)
    joint = gaussian_tight(exact, miss)
    alone = dp.mechanisms.Gaussian(sensitivity=1, epsilon=exact, delta=miss / 2)
    # Two equal Gaussians within (ε, δ/2), and a leak of δ/2.
    sigma = math.sqrt(2) * alone.sigma
    threshold = next(t for t in itertools.count() if math.erfc((t + 0.5) / sigma / math.sqrt(2)) / 2 <= float(miss) / 2)
    cost = (threshold + 1 + 1.645 * sigma) * sigma
    assert (joint.threshold + 1 + 1.645 * math.sqrt(joint.test)) / math.sqrt(joint.answer) < 0.95 * cost


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-6"), ("1.9", "1e-3")])
def test_the_textbook_keeps_its_constants(epsilon: str, delta: str) -> None:
    half, miss = float(Fraction(epsilon) / 2), delta_of(delta)
    assert laplace_textbook(Fraction(epsilon), Fraction(delta)).threshold == math.floor(1 + math.log(2 / miss) / half)
    split = gaussian_textbook(Fraction(epsilon), Fraction(delta))
    share = math.sqrt(math.exp(2 * half) + miss) - math.exp(half)
    assert 2 * math.exp(half) * share + share**2 == pytest.approx(miss)
    a = math.sqrt(2 * math.log(1.25 / share))
    assert math.sqrt(split.test) == pytest.approx(a / half, rel=1e-6)
    assert math.sqrt(1 / split.answer) == pytest.approx(a / half, rel=1e-6)
    assert split.threshold == math.floor(1 + a * a / half)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_event_costs_what_is_promised(noise: str, epsilon: str, delta: str) -> None:
    mechanism = _median(limit="0.37", noise=noise, epsilon=epsilon, delta=delta)
    assert compose([mechanism.event]).delta(epsilon) <= delta_of(delta)
    assert mechanism.guarantee == dp.ApproxDP(epsilon, delta, adjacency=REPLACE_ONE)
    with precision(128):
        assert mechanism._pair.profile(ball(Fraction(epsilon))) <= ball(Fraction(delta))


def test_the_distance_that_is_needed_is_the_smallest() -> None:
    for noise in ("laplace", "gaussian"):
        mechanism = _median(noise=noise)
        for beta in ("0.5", "0.05", "1e-9"):
            needed = mechanism.needed_distance(beta)
            assert mechanism.answer_probability(needed) >= 1 - Fraction(beta) - Fraction(1, 10**15)
            assert mechanism.answer_probability(needed - 1) < 1 - Fraction(beta)
        assert mechanism.answer_probability(0) <= 1e-6


# ------------------------------------------------------------------ statistics


@dataclass(frozen=True)
class _Own:
    """A statistic of one's own: the number of the records above 0, but at most 3; it moves by 1."""

    adjacency: Adjacency = REPLACE_ONE
    global_sensitivity: float = 1.0

    def value(self, data: Any) -> float:
        return float(min(sum(x > 0 for x in data), 3))

    def sensitivity_within(self, data: Any, distance: int) -> float:
        return 1.0 if sum(x > 0 for x in data) - 4 <= distance else 0.0


def test_a_statistic_of_ones_own_will_do() -> None:
    mechanism = dp.ProposeTestRelease(_Own(), limit="0.01", epsilon=1, delta=CERTAIN)
    assert isinstance(mechanism.release([1] * 400).value, float)
    assert mechanism.release([1, 1, -1]).value == mechanism.no_answer
    always = dp.ProposeTestRelease(_Own(), limit=1, epsilon=1, delta="1e-6")
    assert isinstance(always.release([1, 1, -1]).value, float)


_NUMBERS = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.2, 0.3, 1e300, -1e300])
)


@given(
    data=st.lists(_NUMBERS, min_size=1, max_size=12),
    other=_NUMBERS,
    place=st.integers(0, 11),
    limit=st.floats(1e-3, 10),
)
@settings(max_examples=max(50, settings().max_examples // 4))
def test_the_distance_moves_by_at_most_one_and_answers_by_the_limit(
    data: list[float], other: float, place: int, limit: float
) -> None:
    """What the proof rests on, for the computed numbers: 1-Lipschitz, and values within the limit unless both are 0."""
    replaced = [*data]
    replaced[place % len(data)] = other
    cases = [(REPLACE_ONE, replaced), (ADD_REMOVE, [*data, other])]
    for adjacency, neighbour in cases:
        for bounds in (None, (-5, 5)):
            statistic = Median(bounds, adjacency)
            here, there = (distance_to_sensitivity(statistic, x, str(limit)) for x in (data, neighbour))
            assert here == there or abs(here - there) <= 1
            if here or there:
                moved = abs(Fraction(statistic.value(data)) - Fraction(statistic.value(neighbour)))
                assert moved <= Fraction(str(limit))


def test_the_shown_form_can_be_read() -> None:
    assert repr(_median()).startswith("ProposeTestRelease(Median(")
    assert "limit=2, epsilon=1, delta=1e-06" in repr(_median())
    assert "threshold='textbook'" in repr(_median(threshold="textbook"))
    assert np.isfinite(_median().expected_error)
