"""Local sensitivities against every dataset of a small world."""

from fractions import Fraction

import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.unit import Quantile, TrimmedMean, WinsorisedMean
from tests.oracle import sensitivities

UNIVERSE = (0, 1, 2, 5)
BOUNDS = (0, 5)
SIZES = (1, 2, 3, 5)
PROBABILITIES = tuple(Fraction(p) for p in ("0", "1/10", "1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "9/10", "1"))


@pytest.mark.parametrize("probability", PROBABILITIES, ids=str)
def test_quantile_when_a_record_is_replaced(probability: Fraction) -> None:
    statistic = Quantile(probability, BOUNDS, REPLACE_ONE)
    value = sensitivities.quantile(probability, *BOUNDS)
    for size in SIZES:
        truth = sensitivities.within(value, sensitivities.replacements(UNIVERSE, size), size + 1)
        for data in truth[0]:
            assert statistic.value(data) == value(data)
            profile = statistic.profile(data)
            assert [profile.within(t) for t in range(size + 2)] == [layer[data] for layer in truth], data


@pytest.mark.parametrize("probability", PROBABILITIES, ids=str)
def test_quantile_when_a_record_comes_or_goes(probability: Fraction) -> None:
    statistic = Quantile(probability, BOUNDS, ADD_REMOVE)
    value = sensitivities.quantile(probability, *BOUNDS)
    truth = sensitivities.within(value, sensitivities.additions(UNIVERSE, 9), 4)
    for data in truth[0]:
        if len(data) <= 4:
            assert statistic.value(data) == value(data)
            profile = statistic.profile(data)
            assert [profile.within(t) for t in range(5)] == [layer[data] for layer in truth], data


TRIMS = tuple(Fraction(trim) for trim in ("0", "1/10", "1/5", "1/4", "1/3", "2/5", "12/25"))


@pytest.mark.parametrize("trim", TRIMS, ids=str)
@pytest.mark.parametrize("kind", [TrimmedMean, WinsorisedMean], ids=["trimmed", "winsorised"])
def test_mean_when_a_record_is_replaced(kind: type[TrimmedMean] | type[WinsorisedMean], trim: Fraction) -> None:
    naive = sensitivities.trimmed_mean if kind is TrimmedMean else sensitivities.winsorised_mean
    value = naive(trim, Fraction(5, 2))
    for size, universe in ((1, UNIVERSE), (2, UNIVERSE), (4, UNIVERSE), (5, UNIVERSE), (7, UNIVERSE[1:])):
        statistic = kind(trim, (universe[0], universe[-1]), REPLACE_ONE)
        truth = sensitivities.within(value, sensitivities.replacements(universe, size), size)
        for data in truth[0]:
            assert statistic.value(data) == float(value(data))
            profile = statistic.profile(data)
            found = [profile.within(t) for t in range(size + 1)]
            exact = [layer[data] for layer in truth]
            assert all(close(*both) for both in zip(found, exact, strict=True)), data


@pytest.mark.parametrize("trim", TRIMS, ids=str)
def test_trimmed_mean_when_a_record_comes_or_goes(trim: Fraction) -> None:
    statistic = TrimmedMean(trim, BOUNDS, ADD_REMOVE)
    value = sensitivities.trimmed_mean(trim, Fraction(5, 2))
    truth = sensitivities.within(value, sensitivities.additions(UNIVERSE, 9), 4)
    for data in truth[0]:
        if len(data) <= 4:
            assert statistic.value(data) == float(value(data))
            profile = statistic.profile(data)
            found = [profile.within(t) for t in range(5)]
            exact = [layer[data] for layer in truth]
            assert all(close(*both) for both in zip(found, exact, strict=True)), data


def close(found: float, exact: Fraction) -> bool:
    """Never below, and above by no more than two roundings."""
    return exact <= found <= float(exact) * (1 + 2**-51)
