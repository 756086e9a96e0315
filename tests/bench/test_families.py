"""The families of data for the comparison of accuracy: many, drawn by seed, inside their tight bounds."""

import numpy as np
import pytest

from bench.families import Family, draw, families, widened

FAMILIES = families(seed=3)


def test_there_are_at_least_forty_with_different_names() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES) >= 40


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_records_lie_inside_the_tight_bounds_and_are_the_same_for_the_same_seed(family: Family) -> None:
    low, high = family.bounds(500)
    records = draw(family, 500, seed=3)
    assert records.dtype == np.float64
    assert records.shape == (500,)
    assert low <= records.min() <= records.max() <= high
    assert not family.whole or np.array_equal(records, np.round(records))
    np.testing.assert_array_equal(records, draw(family, 500, seed=3))


def test_another_seed_gives_other_records_and_other_mixtures() -> None:
    normal = FAMILIES[0]
    assert not np.array_equal(draw(normal, 500, seed=3), draw(normal, 500, seed=4))
    assert {family.name for family in families(seed=3)} != {family.name for family in families(seed=4)}


def test_wider_bounds_keep_their_sign_and_their_middle() -> None:
    assert widened((0, 8), 10) == (0, 80)
    assert widened((-2200, -100), 10) == (-21000, 0)
    assert widened((-1, 3), 10) == (-19, 21)
    assert widened((1000, 1002), 10) == (991, 1011)
