"""Local sensitivities against every dataset of a small world."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.sensitivity import Quantile, TrimmedMean, WinsorisedMean
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


Mean: TypeAlias = TrimmedMean | WinsorisedMean
MEANS: dict[type[Mean], Callable[[Fraction, Fraction], Callable[[sensitivities.Dataset], Fraction]]] = {
    TrimmedMean: sensitivities.trimmed_mean,
    WinsorisedMean: sensitivities.winsorised_mean,
}
both_means = pytest.mark.parametrize("kind", MEANS, ids=["trimmed", "winsorised"])


@pytest.mark.parametrize("trim", TRIMS, ids=str)
@both_means
def test_mean_when_a_record_is_replaced(kind: type[Mean], trim: Fraction) -> None:
    value = MEANS[kind](trim, Fraction(5, 2))
    for size, universe in ((1, UNIVERSE), (2, UNIVERSE), (4, UNIVERSE), (5, UNIVERSE), (7, UNIVERSE[1:])):
        statistic = kind(trim, (universe[0], universe[-1]), REPLACE_ONE)
        truth = sensitivities.within(value, sensitivities.replacements(universe, size), size)
        assert [statistic.value(data) for data in truth[0]] == [float(value(data)) for data in truth[0]]
        agree(statistic, truth)


@pytest.mark.parametrize("trim", TRIMS, ids=str)
@both_means
def test_mean_when_a_record_comes_or_goes(kind: type[Mean], trim: Fraction) -> None:
    statistic = kind(trim, BOUNDS, ADD_REMOVE)
    value = MEANS[kind](trim, Fraction(5, 2))
    truth = sensitivities.within(value, sensitivities.additions(UNIVERSE, 9), 4)
    small = [{data: layer[data] for data in layer if len(data) <= 4} for layer in truth]
    assert [statistic.value(data) for data in small[0]] == [float(value(data)) for data in small[0]]
    agree(statistic, small)


def close(found: float, exact: Fraction) -> bool:
    """Never below, and above by no more than two roundings."""
    return exact <= found <= float(exact) * (1 + 2**-51)


@pytest.mark.nightly
@pytest.mark.parametrize("share", ["0", "1/11", "1/7", "1/6", "2/7", "3/8", "3/7", "9/20"])
def test_larger_worlds(share: str) -> None:
    """Up to six records that come and go, seven steps away; ten, three steps away; up to eleven that are replaced."""
    part, bounds = Fraction(share), (0, 7)
    world = sensitivities.additions((0, 2, 7), 14)
    for statistic, value in (
        (Quantile(part, bounds, ADD_REMOVE), sensitivities.quantile(part, *bounds)),
        (Quantile(1 - part, bounds, ADD_REMOVE), sensitivities.quantile(1 - part, *bounds)),
        *((kind(part, bounds, ADD_REMOVE), naive(part, Fraction(7, 2))) for kind, naive in MEANS.items()),
    ):
        truth = sensitivities.within(value, world, 7)
        agree(statistic, [{data: layer[data] for data in layer if len(data) <= 6} for layer in truth])
        agree(statistic, [{data: layer[data] for data in layer if len(data) <= 10} for layer in truth[:4]])
    for size, universe in ((6, (0, 1, 4, 7)), (8, (0, 1, 4, 7)), (9, (0, 1, 4, 7)), (11, (0, 2, 7))):
        for kind, naive in MEANS.items():
            replaced = sensitivities.replacements(universe, size)
            agree(kind(part, bounds), sensitivities.within(naive(part, Fraction(7, 2)), replaced, size))


def agree(statistic: Quantile | Mean, truth: list[dict[tuple[int, ...], Fraction]]) -> None:
    for data in truth[0]:
        profile = statistic.profile(data)
        found = [profile.within(t) for t in range(len(truth))]
        exact = [layer[data] for layer in truth]
        assert all(close(*both) for both in zip(found, exact, strict=True)), data
