"""Random parameters and neighbours, against formulas of their own; and attacks on less noise than was asked for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dither as dp
from dither.errors import ParameterError
from dither.sensitivity import Median

BOUNDS = (0, 1000)

# ------------------------------------------------ propose-test-release with its own a and b


def laplace_divergence(shift: float, epsilon: float) -> float:
    """sup P(E) − e^ε Q(E) of Lap(1) and Lap(1) moved by `shift`, for any real ε."""
    if epsilon >= shift:
        return 0.0
    return -math.expm1(epsilon) if epsilon <= -shift else -math.expm1((epsilon - shift) / 2)


def worst_delta(test: float, threshold: int, answer: float, epsilon: float) -> float:
    """δ of the box for Laplace noise, over all neighbours at distances d and d′ with |d − d′| ≤ 1, from its definition.

    It answers with probability p(d) = P[d + X > T]. Where d = d′ = 0 the answers may have nothing in common.
    """

    def passes(distance: int) -> float:
        step, least = math.exp(-test), threshold + 1 - distance  # P[X ≥ least] on the integers
        tail = math.exp(-test * abs(least)) / (1 + step)
        return tail if least >= 1 else 1 - math.exp(-test * (1 - least)) / (1 + step)

    worst = passes(0)
    for here in range(threshold + 40):
        for there in (here - 1, here, here + 1):
            if there < 0 or here == there == 0:
                continue
            p, q = passes(here), passes(there)
            silent = max(0.0, (1 - p) - math.exp(epsilon) * (1 - q))
            worst = max(worst, silent + p * laplace_divergence(answer, epsilon + math.log(q / p)))
    return worst


@pytest.mark.property
@settings(max_examples=60)
@given(
    st.fractions(Fraction(1, 2), 4, max_denominator=10),
    st.fractions(Fraction(1, 2), 3, max_denominator=20),
    st.fractions(0, 25, max_denominator=4),
    st.sampled_from(["1e-6", "1e-3", "0.1"]),
)
def test_own_parameters_are_taken_where_they_keep_the_budget_and_nowhere_else(
    epsilon: Fraction, a: Fraction, b: Fraction, delta: str
) -> None:
    half = float(epsilon) / 2
    truth = worst_delta(half / float(a), math.floor(1 + b / (epsilon / 2)), half / float(a), float(epsilon))
    assume(abs(truth / float(delta) - 1) > 1e-9)
    try:
        made = dp.ProposeTestRelease(Median(BOUNDS), limit=2, epsilon=epsilon, delta=delta, a=a, b=b)
    except ParameterError:
        assert truth > float(delta)
    else:
        assert truth < float(delta)
        assert made.guarantee == dp.ApproxDP(epsilon, delta, adjacency=made.adjacency)


# ---------------------------------------------------- the third smooth noise as it is printed


def rescaled_divergence(first: float, second: float, shift: float, epsilon: float) -> float:
    """sup P(E) − e^ε Q(E) for Laplace noise of two scales, by adding up (p − e^ε q)₊ over 200,000 cells."""
    y, cell = np.linspace(-500 * first, 500 * first, 200_001, retstep=True)
    gap = np.exp(-np.abs(y) / first) / first - np.exp(epsilon - np.abs(y - shift) / second) / second
    return float(np.maximum(gap, 0).sum() * cell / 2)


@pytest.mark.property
@settings(max_examples=25)
@given(st.floats(0.05, 60), st.sampled_from([1e-2, 1e-4, 1e-6]), st.floats(0, 1))
def test_the_printed_noise_keeps_its_budget_wherever_it_is_taken(epsilon: float, delta: float, share: float) -> None:
    """S = 1, any S′ within e^β, values up to min(S, S′) apart: at the ends of these ranges and at one place inside."""
    made = dp.SmoothSensitivity(Median(BOUNDS), epsilon=repr(epsilon), delta=delta, noise="printed")
    beta, scale = float(made.smoothness), float(made.scale)
    assert beta == pytest.approx(epsilon / (4 * (1 + math.log(2 / delta))), rel=1e-6)
    assert scale == pytest.approx(5 * math.sqrt(2 * math.log(2 / delta)) / epsilon, rel=1e-9)
    for log in (-beta, beta, (2 * share - 1) * beta):
        for shift in (min(1.0, math.exp(log)), share * min(1.0, math.exp(log))):
            assert rescaled_divergence(scale, scale * math.exp(log), shift, epsilon) <= delta
    less = rescaled_divergence(scale / 100, scale / 100, 1.0, epsilon)
    assert less > delta, "a control: a hundredth of the noise is too little"


# ------------------------------------------------------------------------- vectors in a norm

coordinates = st.floats(-1e6, 1e6, allow_subnormal=False)


@pytest.mark.property
@given(st.sampled_from(["l2", "linf"]), st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=6))
def test_vectors_move_by_no_more_than_is_paid_for(norm: str, pairs: list[tuple[float, float]]) -> None:
    """‖x − y‖ = Δ exactly or a little less, however far from 0; then their rounded places are Δ in steps apart."""
    here, there = ([Fraction(pair[i]) for pair in pairs] for i in (0, 1))
    moves = [abs(a - b) for a, b in zip(here, there, strict=True)]
    squared = sum(move**2 for move in moves) if norm == "l2" else max(moves) ** 2
    assume(squared > Fraction(1, 10**12))
    reach = Fraction(math.isqrt(math.ceil(squared * 10**40)) + 1, 10**20)  # ≥ ‖x − y‖, and nearly that
    made = dp.KNorm(sensitivity=reach, dimension=len(pairs), norm=norm, epsilon=1)
    places = (made._grid.round(np.array([float(x) for x in vector])) for vector in (here, there))
    steps = [int(a) - int(b) for a, b in zip(*places, strict=True)]
    far = sum(step**2 for step in steps) if norm == "l2" else max(map(abs, steps)) ** 2
    assert far <= made._steps(made.scale) ** 2
    assert made.epsilon <= 1


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_an_audit_finds_a_vector_that_moves_farther_than_it_states(norm: str) -> None:
    """A move of (4, 4) where Δ = 1 is stated. False alarms: 2e-11 by the audit's alpha."""

    mechanism = dp.KNorm(sensitivity=1, dimension=2, norm=norm, epsilon=1)

    def ask(data: Any) -> Any:
        return mechanism.release(data).value

    far, near = ([0.0, 0.0], [4.0, 4.0]), ([0.0, 0.0], [0.6, 0.8])
    assert dp.audit.attack(ask, far, epsilon=1, samples=3000, alpha="1e-7").violated
    assert not dp.audit.attack(ask, near, epsilon=1, samples=3000, alpha="1e-11").violated


# --------------------------------------------------------------------- local sensitivity


def test_an_audit_finds_noise_at_the_local_sensitivity() -> None:
    """It is 0 for one dataset and 8 for its neighbour: as large as it should be, and not private."""
    small = dp.sensitivity.world([0, 1, 9], n=3)
    middle = small.statistic(lambda x: sorted(x)[1])
    smooth = dp.SmoothSensitivity(middle, epsilon=1)

    def by_local(data: Any) -> float:
        size = dp.sensitivity.local_sensitivity(middle, data)
        noisy: float = dp.Laplace(sensitivity=max(size, 0.01), epsilon=1).release(float(middle.value(data))).value
        return noisy

    def by_smooth(data: Any) -> float:
        noisy: float = smooth.release(data).value
        return noisy

    pair = ([0, 0, 0], [0, 0, 9])
    assert dp.audit.attack(by_local, pair, epsilon=1, samples=3000, alpha="1e-7").violated
    assert not dp.audit.attack(by_smooth, pair, epsilon=1, samples=3000, alpha="1e-11").violated
