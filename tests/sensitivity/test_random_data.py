"""Local and smooth sensitivities on random data, against formulas that are written out."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, inf

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.sensitivity import (
    SMOOTH_EXCESS,
    Median,
    Quantile,
    TrimmedMean,
    WinsorisedMean,
    distance_to_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
)
from tests.oracle import discounts

pytestmark = pytest.mark.property

LOW, HIGH = -3.0, 1000.0
values = st.floats(LOW, HIGH) | st.sampled_from([LOW, 0.0, -0.0, 0.1, 0.3, 5e-324, 1.0, 2.5, HIGH])
datasets = st.lists(values, min_size=1, max_size=24)
probabilities = st.fractions(0, 1, max_denominator=12) | st.sampled_from([Fraction(1, 10**9), 1 - Fraction(1, 10**9)])
betas = st.fractions(Fraction(1, 1000), 5, max_denominator=1000)


def brackets(found: float, truth: arb) -> bool:
    """Never below the truth, and above it by no more than is promised."""
    with ctx.workprec(200):
        return bool(arb(found) >= truth and arb(found) <= truth * (1 + arb(SMOOTH_EXCESS)))


@given(datasets, probabilities, betas)
@settings(max_examples=60)
def test_quantile_when_a_record_is_replaced(data: list[float], probability: Fraction, beta: Fraction) -> None:
    rank = max(1, ceil(probability * len(data)))
    exact = [discounts.replaced_quantile(data, rank, LOW, HIGH, t) for t in range(len(data) + 1)]
    statistic = Quantile(probability, (LOW, HIGH), REPLACE_ONE)
    check_profile(statistic, data, exact, beta)


@given(st.lists(values, max_size=14), probabilities, betas)
@settings(max_examples=60)
def test_quantile_when_a_record_comes_or_goes(data: list[float], probability: Fraction, beta: Fraction) -> None:
    exact = [discounts.added_quantile(data, probability, LOW, HIGH, t) for t in range(len(data) + 1)]
    check_profile(Quantile(probability, (LOW, HIGH), ADD_REMOVE), data, exact, beta)


def check_profile(statistic: Quantile, data: list[float], exact: Sequence[Fraction], beta: Fraction) -> None:
    profile = statistic.profile(data)
    for t, each in enumerate(exact):
        found = profile.within(t)
        assert each <= found
        assert float(each) in (found, np.nextafter(found, -inf))
    assert brackets(smooth_sensitivity(statistic, data, beta), discounts.smooth(exact, beta))


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("probability", ["1/2", "0.3", "0.95", "0"])
def test_long_data(probability: str, adjacency: object) -> None:
    """All levels of the search, and its pruning, against every distance; ties, clusters and an empty stretch."""
    steps = np.arange(701)
    data = np.sort(np.concatenate((steps % 7 * 100.0, 400 + np.sin(steps) * 1e-3, 1000 - 0.9**steps)))
    statistic = Quantile(probability, (LOW, HIGH), adjacency)  # type: ignore[arg-type]
    profile = statistic.profile(data)
    exact = [Fraction(profile.within(t)) for t in range(len(data) + 1)]  # rounded up by one unit, at most
    for beta in (Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 50), Fraction(1, 2), Fraction(400)):
        truth = discounts.smooth(exact, beta)
        with ctx.workprec(200):
            found = arb(smooth_sensitivity(statistic, data, beta))
            assert found >= truth * (1 - arb(2) ** -51)
            assert found <= truth.max(arb(2) ** -850 * (HIGH - LOW)) * (1 + arb(SMOOTH_EXCESS))


@given(datasets, datasets, st.sampled_from(["1/2", "1/4", "0.9"]), betas)
@settings(max_examples=40)
def test_smooth_between_neighbours(data: list[float], other: list[float], probability: str, beta: Fraction) -> None:
    """C18: S_β is never below the local sensitivity, never above the global one, and e^β bounds its ratio."""
    replaced, removed = [*data[:-1], other[0]], data[:-1]
    for adjacency, neighbour in ((REPLACE_ONE, replaced), (ADD_REMOVE, removed)):
        statistic = Quantile(probability, (LOW, HIGH), adjacency)
        here, there = (smooth_sensitivity(statistic, each, beta) for each in (data, neighbour))
        with ctx.workprec(200):
            factor = (arb(beta.numerator) / beta.denominator).exp() * (1 + arb(SMOOTH_EXCESS))
            assert arb(here) <= factor * arb(there)
            assert arb(there) <= factor * arb(here)
        assert local_sensitivity(statistic, data) <= here <= statistic.global_sensitivity
        assert here <= smooth_sensitivity(statistic, data, beta / 2) * (1 + SMOOTH_EXCESS)
        assert abs(statistic.value(data) - statistic.value(neighbour)) <= local_sensitivity(statistic, data)


@given(datasets, values, st.floats(0, 2000, allow_subnormal=False), st.sampled_from([0, 0.1, 0.25, 0.4]))
@settings(max_examples=60)
def test_distance_changes_by_one_between_neighbours(data: list[float], new: float, limit: float, trim: float) -> None:
    """C20: exactly, whatever is rounded."""
    replaced, removed = [*data[:-1], new], data[:-1]
    bounds = (LOW, HIGH)
    for statistic, neighbour in (
        (Median(bounds), replaced),
        (Median(bounds, ADD_REMOVE), removed),
        (Quantile(0.3, None), replaced),
        (Quantile(0.7, None, ADD_REMOVE), removed),
        (TrimmedMean(trim, bounds), replaced),
        (TrimmedMean(trim, bounds, ADD_REMOVE), removed),
        (WinsorisedMean(trim, bounds), replaced),
        (WinsorisedMean(trim, bounds, ADD_REMOVE), removed),
    ):
        here, there = (distance_to_sensitivity(statistic, each, limit) for each in (data, neighbour))
        assert here == there or abs(here - there) <= 1


@given(st.lists(values, min_size=1, max_size=12), betas, st.sampled_from([0, 0.1, 0.25, 0.4]))
@settings(max_examples=20)
def test_smooth_means(data: list[float], beta: Fraction, trim: float) -> None:
    for statistic in (
        TrimmedMean(trim, (LOW, HIGH)),
        TrimmedMean(trim, (LOW, HIGH), ADD_REMOVE),
        WinsorisedMean(trim, (LOW, HIGH)),
        WinsorisedMean(trim, (LOW, HIGH), ADD_REMOVE),
    ):
        exact = [Fraction(statistic.sensitivity_within(data, t)) for t in range(len(data) + 1)]
        truth = discounts.smooth(exact, beta)
        with ctx.workprec(200):
            found = arb(smooth_sensitivity(statistic, data, beta))
            assert found >= truth * (1 - arb(2) ** -50)
            assert found <= truth.max(arb(2) ** -850 * (HIGH - LOW)) * (1 + arb(SMOOTH_EXCESS))
