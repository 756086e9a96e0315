"""Your own statistic, score and group: properties over random ones, and attacks on what promises too much."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.exact import Ball, ball, precision
from dither.guarantees import hockey_stick
from dither.mechanisms import exponential_tail, largest_exponential_tail, normal_tail, normal_tail_bound
from dither.sensitivity import local_sensitivity, smooth_sensitivity, world

SMALLEST = 1e-300
"""The smooth sensitivity of a function that is constant is rounded up from 0."""

# --------------------------------------------------------------------- any function


@pytest.mark.property
@settings(max_examples=40)
@given(st.lists(st.integers(-100, 100), min_size=27, max_size=27), st.sampled_from(["0.1", "1"]))
def test_any_function_has_the_sensitivities_of_their_definition(table: list[int], beta: str) -> None:
    """Lists of three records of three kinds, a random number for each; neighbours by their Hamming distance."""
    value = dict(zip(product(range(3), repeat=3), table, strict=True))
    statistic = world(range(3), 3, REPLACE_ONE).statistic(value.__getitem__)
    near = [(d, e) for d in value for e in value if sum(a != b for a, b in zip(d, e, strict=True)) == 1]
    assert statistic.global_sensitivity == max(abs(value[d] - value[e]) for d, e in near)
    local = {d: max(abs(value[d] - value[e]) for e in value if (d, e) in set(near)) for d in value}
    assert all(local_sensitivity(statistic, d) == local[d] for d in value)
    smooth = {d: smooth_sensitivity(statistic, d, beta) for d in value}
    largest = statistic.global_sensitivity * (1 + 1e-9) or SMALLEST
    assert all(local[d] <= smooth[d] <= largest for d in value)
    assert all(smooth[d] <= math.exp(float(beta)) * smooth[e] * (1 + 1e-9) for d, e in near)


# ------------------------------------------------------------------------ any score


def _common(condition: str, people: Any) -> int:
    return sum(condition in each for each in people)


@pytest.mark.property
@settings(max_examples=40)
@given(
    st.lists(st.sets(st.sampled_from("abc")), max_size=6),
    st.sets(st.sampled_from("abc")),
    st.sampled_from(["exponential", "gumbel", "laplace"]),
    st.sampled_from(["0.1", "1", "3"]),
)
def test_a_score_of_ones_own_keeps_its_epsilon(people: Any, joins: Any, noise: Any, epsilon: str) -> None:
    """From its exact probabilities: one more person changes none by more than e^ε."""
    chosen = dp.ScoredSelection("abc", _common, 1, epsilon=epsilon, noise=noise, adjacency=ADD_REMOVE)
    before, after = chosen.probabilities(people), chosen.probabilities([*people, joins])
    with precision(128):
        most = ball(Fraction(epsilon)) + Ball(10) ** -9
        assert all(abs((before[y] / after[y]).log()) <= most for y in "abc")
        assert abs(sum(before.values(), Ball(0)) - 1) < Ball(10) ** -9


PEOPLE = ([{"a"}] * 3, [{"a"}] * 3 + [{"b"}])


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_an_audit_finds_a_score_that_moves_more_than_it_states(noise: Any) -> None:
    """Each person counts ten times, and the sensitivity is said to be 1. False alarms: 3e-11 by the audit's alpha."""

    def tenfold(condition: str, people: Any) -> int:
        return 10 * _common(condition, people)

    wrong, right = (
        dp.ScoredSelection("abc", tenfold, sensitivity, epsilon=2, noise=noise, adjacency=ADD_REMOVE)
        for sensitivity in (1, 10)
    )
    pair = ([{"a"}], [{"a"}, {"b"}])
    assert dp.audit.attack(wrong, pair, epsilon=2, samples=4000, alpha="1e-7").violated
    assert not dp.audit.attack(right, pair, samples=4000, alpha="1e-11").violated


# --------------------------------------------------------------------------- groups


@pytest.mark.property
@settings(max_examples=60)
@given(
    st.fractions(Fraction(1, 10), 2, max_denominator=20),
    st.fractions(0, Fraction(1, 10), max_denominator=1000),
    st.integers(1, 5),
)
def test_a_chain_of_neighbours_costs_no_more_than_its_group(epsilon: Fraction, delta: Fraction, size: int) -> None:
    """Two outcomes: q moves to e^ε q + δ at most, `size` times; the ends are what the group promises."""
    promise = dp.ApproxDP(epsilon, delta) if delta else dp.PureDP(epsilon)
    together = promise.group(size)
    odds = Fraction(math.exp(float(epsilon)) * (1 - 1e-12))
    for start in (Fraction(0), Fraction(1, 1000), Fraction(1, 5)):
        chance = start
        for _ in range(size):
            # both outcomes are bounded: p ≤ e^ε q + δ, and 1 − q ≤ e^ε (1 − p) + δ
            chance = min(odds * chance + delta, 1 - (1 - chance - delta) / odds, Fraction(1))
        needed = hockey_stick([chance, 1 - chance], [start, 1 - start], size * epsilon)
        assert needed <= together.delta(size * epsilon) * (1 + 1e-9)


# ---------------------------------------------------------------------------- tails


@pytest.mark.property
@given(st.floats(1e-3, 30), st.integers(1, 10**6))
def test_tails_are_below_their_bounds(t: float, count: int) -> None:
    for sides in (1, 2):
        assert normal_tail(t, sides=sides) <= normal_tail_bound(t, sides=sides, form="chernoff")
    assert normal_tail(t, sides=2) <= normal_tail_bound(t)
    assert normal_tail(t) < normal_tail(t / 2)
    assert largest_exponential_tail(count, t) <= exponential_tail(t) * (1 + 1e-12)
    assert exponential_tail(t) == pytest.approx(math.exp(-t), rel=1e-12)
