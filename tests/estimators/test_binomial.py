"""The interval of a population's mean holds it with the probability that it says: by enumeration, not by drawing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dither.estimators.binomial import binomial_between


@pytest.mark.parametrize("rows", [1, 5, 30, 200])
@pytest.mark.parametrize("miss", [0.05, 0.01])
def test_the_share_of_a_population_is_inside_as_often_as_promised(rows: int, miss: float) -> None:
    """Σ over all counts that might be drawn, for shares from 0 to 1."""
    seen = np.arange(rows + 1) / rows
    low, high = binomial_between(seen, seen, np.full(rows + 1, float(rows)), miss)
    for share in np.concatenate([[0.0, 1.0], np.linspace(0.001, 0.999, 333)]):
        likely = scipy.stats.binom.pmf(np.arange(rows + 1), rows, share)
        assert likely[(low <= share) & (share <= high)].sum() >= 1 - miss - 1e-12


def test_ends_stay_between_0_and_1_and_fewer_rows_make_them_wider() -> None:
    places = np.linspace(0, 1, 41)
    widths = []
    for rows in (0.0, -7.0, 1.5, 20.0, 400.0):
        low, high = binomial_between(places, places, np.full(41, rows), 0.05)
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= places).all()
        assert (places <= high).all()
        widths.append(high - low)
    assert (np.diff(widths[1:], axis=0) < 0).all()


def test_what_noise_leaves_open_is_inside() -> None:
    """From the lower end of what the rows may have to the upper one."""
    wide = binomial_between(np.array([0.2]), np.array([0.4]), np.array([100.0]), 0.05)
    lower = binomial_between(np.array([0.2]), np.array([0.2]), np.array([100.0]), 0.05)
    upper = binomial_between(np.array([0.4]), np.array([0.4]), np.array([100.0]), 0.05)
    assert wide[0] == lower[0]
    assert wide[1] == upper[1]
