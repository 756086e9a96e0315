"""Samples follow the exact law, in vectors and one by one, and a law a little off would be noticed.

The false-alarm rate is stated in fit.py. A wrong law escapes with a far smaller probability: 5 % in scale moves the
mean of the chi-square statistic of 10⁶ samples by 200 or more, 25 % that of 2·10⁴ samples likewise.
"""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pytest

import dither.noise
from dither.noise import Law
from dither.noise.law import Integers, SymmetricLaw, integer_array
from tests.noise.families import FAMILIES, HUGE, WIDE, Family, Member
from tests.noise.fit import (
    ALARM,
    low_bits,
    p_value,
    p_value_of_counts,
    p_value_of_pairs,
    p_value_of_two,
)

pytestmark = pytest.mark.statistical

_MEMBERS = [member for family in FAMILIES for member in family.members()]
_WIDE = [family for family in FAMILIES if family.huge]
_SYMMETRIC = [family for family in _WIDE if isinstance(family.at(1), SymmetricLaw)]
_NARROW = [family for family in _WIDE if family.members()[0].scale < 1]
_VECTOR = 10**6
_SINGLES = 20_000


def _one_by_one(law: Law, count: int) -> Integers:
    return integer_array([law.sample() for _ in range(count)])


def test_every_law_is_in_a_family() -> None:
    exported = {getattr(dither.noise, name) for name in dither.noise.__all__}
    laws = {x for x in exported if inspect.isclass(x) and issubclass(x, Law) and not inspect.isabstract(x)}
    assert laws <= {type(member.law()) for member in _MEMBERS}, "add a line to families.py"


@pytest.mark.parametrize("member", _MEMBERS, ids=str)
def test_vectors_follow_the_law(member: Member) -> None:
    samples = member.law().sample(_VECTOR)
    assert p_value(samples, member.law()) > ALARM
    for factor in ("0.95", "1.05"):
        assert p_value(samples, member.law(factor)) < ALARM, f"{factor} times the scale was not noticed"


@pytest.mark.parametrize("member", [*_MEMBERS, *(Member(family, Fraction(HUGE)) for family in _WIDE)], ids=str)
def test_single_draws_follow_the_law(member: Member) -> None:
    samples = _one_by_one(member.law(), _SINGLES)
    assert p_value(samples, member.law()) > ALARM
    for factor in ("0.75", "1.25"):
        assert p_value(samples, member.law(factor)) < ALARM, f"{factor} times the scale was not noticed"


@pytest.mark.nightly
@pytest.mark.parametrize("member", _MEMBERS, ids=str)
def test_single_draws_follow_the_law_closely(member: Member) -> None:
    samples = _one_by_one(member.law(), _VECTOR)
    assert p_value(samples, member.law()) > ALARM
    for factor in ("0.95", "1.05"):
        assert p_value(samples, member.law(factor)) < ALARM, f"{factor} times the scale was not noticed"


@pytest.mark.nightly
@pytest.mark.parametrize("member", _MEMBERS, ids=str)
def test_long_vectors_follow_the_law(member: Member) -> None:
    samples = member.law().sample(3 * 10**7)
    assert p_value(samples, member.law()) > ALARM
    for factor in ("0.99", "1.01"):
        assert p_value(samples, member.law(factor)) < ALARM, f"{factor} times the scale was not noticed"


@pytest.mark.parametrize("family", _WIDE, ids=lambda family: family.name)
def test_vectors_and_single_draws_agree(family: Family) -> None:
    law, wider = family.at(1000), family.at(1250)
    singles = _one_by_one(law, _SINGLES)
    assert p_value_of_two(singles, law.sample(_SINGLES), law) > ALARM
    assert p_value_of_two(singles, wider.sample(_SINGLES), law) < ALARM


@pytest.mark.parametrize("family", _WIDE, ids=lambda family: family.name)
def test_a_vector_is_made_of_independent_samples(family: Family) -> None:
    """Neighbours, and samples half a vector apart. The control repeats one sample in ten."""
    law, half = family.at("3.7"), 100_000
    samples = law.sample(2 * half)
    assert p_value_of_pairs(samples[0::2], samples[1::2], law) > ALARM
    assert p_value_of_pairs(samples[:half], samples[half:], law) > ALARM
    repeated = np.where(np.arange(half) % 10 == 0, samples[0::2], samples[1::2])
    assert p_value_of_pairs(samples[0::2], repeated, law) < ALARM


@pytest.mark.parametrize("scale", [WIDE, HUGE], ids=["vector", "single"])
@pytest.mark.parametrize("family", _WIDE, ids=lambda family: family.name)
def test_the_last_digits_of_wide_noise_are_uniform(family: Family, scale: int) -> None:
    """They are in the law, to within 2^-30. The control has no odd numbers."""
    law = family.at(scale)
    samples = law.sample(200_000) if scale == WIDE else _one_by_one(law, _SINGLES)
    assert _digits_p_value(samples) > ALARM
    assert _digits_p_value(samples & ~1) < ALARM


def _digits_p_value(samples: Integers) -> float:
    found = np.bincount(low_bits(samples, 6), minlength=64).tolist()
    return p_value_of_counts(found, [1 / 64] * 64)


@pytest.mark.parametrize("family", _SYMMETRIC, ids=lambda family: family.name)
def test_symmetric_noise_takes_no_side(family: Family) -> None:
    """The control turns one negative sample in ten into a positive one."""
    law = family.at("3.7")
    samples = law.sample(_VECTOR)
    assert _sides_p_value(samples) > ALARM
    assert _sides_p_value(np.where(np.arange(_VECTOR) % 10 == 0, np.abs(samples), samples)) < ALARM


def _sides_p_value(samples: Integers) -> float:
    return p_value_of_counts([int((samples < 0).sum()), int((samples > 0).sum())], [0.5, 0.5])


@pytest.mark.parametrize("family", _NARROW, ids=lambda family: family.name)
def test_noise_far_below_a_step_reaches_no_further_than_its_law(family: Family) -> None:
    """At a scale of 2^-40 steps one or two points have all but 2^-70 of the mass."""
    law = family.at(Fraction(1, WIDE))
    likely = {x for x in range(-3, 4) if float(law.pmf(x)) > 2.0**-70}
    assert len(likely) <= 2
    assert set(law.sample(10_000).tolist()) == likely == {law.sample() for _ in range(200)}
