"""Local sensitivities against every dataset of a small world."""

from fractions import Fraction

import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.unit import Quantile
from tests.oracle import sensitivities

UNIVERSE = (0, 1, 2, 5)
BOUNDS = (0, 5)
SIZES = range(1, 6)
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
    truth = sensitivities.within(value, sensitivities.additions(UNIVERSE, 10), 5)
    for data in truth[0]:
        if len(data) <= 4:
            assert statistic.value(data) == value(data)
            profile = statistic.profile(data)
            assert [profile.within(t) for t in range(6)] == [layer[data] for layer in truth], data
