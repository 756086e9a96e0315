"""The exact binomial bounds, against sums of exact fractions."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.audit.attack.binomial import at_least, at_most
from dither.errors import ParameterError

MISSES = st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**11)])


def reaches(hits: int, runs: int, chance: Fraction) -> Fraction:
    """P[X ≥ hits], added up."""
    return sum(
        (comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in range(hits, runs + 1)), start=Fraction(0)
    )


@given(st.integers(1, 40), st.data(), MISSES)
def test_bounds_err_outwards_and_hardly(runs: int, data: st.DataObject, miss: Fraction) -> None:
    hits = data.draw(st.integers(0, runs))
    low, high = at_least(hits, runs, miss), at_most(hits, runs, miss)
    assert 0 <= low < high <= 1 or miss == Fraction(1, 2)
    assert reaches(hits, runs, low) <= miss or hits == 0
    assert 1 - reaches(hits + 1, runs, high) <= miss or hits == runs
    if hits:
        assert reaches(hits, runs, low * (1 + Fraction(1, 10**9))) > miss * (1 - Fraction(1, 10**6))
    if hits < runs:
        assert 1 - reaches(hits + 1, runs, 1 - (1 - high) * (1 + Fraction(1, 10**9))) > miss * (1 - Fraction(1, 10**6))


@given(st.integers(1, 30), MISSES, st.fractions(0, 1, max_denominator=50))
def test_no_chance_is_missed_too_often(runs: int, miss: Fraction, chance: Fraction) -> None:
    """The probability that the bound lies above the truth, added up over all counts."""
    wrong = [k for k in range(runs + 1) if at_least(k, runs, miss) > chance]
    assert sum(comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in wrong) <= miss


def test_nothing_and_everything() -> None:
    assert at_least(0, 10, Fraction(1, 2)) == 0
    assert at_most(10, 10, Fraction(1, 2)) == 1
    assert float(at_most(0, 1000, Fraction(1, 10**6))) == pytest.approx(1 - (1e-6) ** (1 / 1000), rel=1e-9)


@pytest.mark.parametrize(
    ("hits", "runs", "miss"),
    [(-1, 10, Fraction(1, 2)), (11, 10, Fraction(1, 2)), (0, 0, Fraction(1, 2)), (1, 2, Fraction(0)), (1, 2, 1)],
)
def test_what_makes_no_sense_is_refused(hits: int, runs: int, miss: Fraction) -> None:
    with pytest.raises(ParameterError):
        at_least(hits, runs, miss)
