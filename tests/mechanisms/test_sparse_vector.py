"""Sparse vector: its cost computed on all small cases, its session, the published variants (claim C30)."""

from __future__ import annotations

import copy
import itertools
import math
import multiprocessing
import pickle
import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.accounting import compose
from dither.audit.zoo import noisy_values
from dither.audit.zoo.sparse_vectors import VARIANTS, Variant
from dither.errors import ParameterError
from dither.mechanisms import SparseVector
from tests.mechanisms.entropy_use import nothing_drawn


def _ours(mechanism: SparseVector) -> Variant:
    """The same comparisons on a coarse lattice, so that they can be added up."""
    threshold, query = mechanism._threshold_noise.scale, mechanism._query_noise.scale
    unit = Fraction(mechanism._steps)
    return Variant("ours", lambda c: float(threshold / unit), lambda c: float(query / unit))


def _answers(length: int, cap: int) -> list[tuple[bool, ...]]:
    """All sequences that stop with the `cap`-th ⊤ or after `length` questions."""
    every = itertools.product([False, True], repeat=length)
    return sorted({_cut(answers, cap) for answers in every})


def _cut(answers: Sequence[bool], cap: int) -> tuple[bool, ...]:
    above = 0
    for i, answer in enumerate(answers):
        above += answer
        if above == cap:
            return tuple(answers[: i + 1])
    return tuple(answers)


def _largest_loss(variant: Variant, cap: int, length: int, epsilon: float, changes: Sequence[int]) -> float:
    losses = []
    for change in itertools.product(changes, repeat=length):
        for base in ((0,) * length, (6,) * length, (-6,) * length):
            moved = [b + x for b, x in zip(base, change, strict=True)]
            for answers in _answers(length, cap):
                n = len(answers)
                losses.append(abs(variant.loss(base[:n], moved[:n], answers, epsilon, cap)))
    return max(losses)


def _hard(variant: Variant, cap: int, *, falls: int) -> float:
    """Many ⊥ force the threshold up, and the ⊤ come from values far below it that fall by `falls`."""
    below, far = 300, -40
    left, right = [0] * below + [far] * cap, [1] * below + [far - falls] * cap
    return variant.loss(left, right, [False] * below + [True] * cap, 1.0, cap)


@pytest.mark.parametrize("cap", [1, 2])
def test_claim_c30_the_cost_is_kept_and_nearly_reached(cap: int) -> None:
    """All answers to three questions, for all neighbours of three bases, on a lattice of four steps to Δ."""
    ours = _ours(SparseVector(threshold=0, epsilon=1, max_above=cap))
    assert _largest_loss(ours, cap, 3, 1.0, (-1, 0, 1)) <= 1 + 1e-9
    assert 0.98 < _hard(ours, cap, falls=1) <= 1 + 1e-9


def test_claim_c30_monotone_values_need_less_noise() -> None:
    usual = SparseVector(threshold=0, epsilon=1, max_above=2)
    monotone = SparseVector(threshold=0, epsilon=1, max_above=2, monotone=True)
    assert monotone._query_noise.scale < usual._query_noise.scale
    assert _largest_loss(_ours(monotone), 2, 3, 1.0, (0, 1)) <= 1 + 1e-9
    assert 0.98 < _hard(_ours(monotone), 2, falls=0) <= 1 + 1e-9
    assert _hard(_ours(monotone), 2, falls=1) > 1.5, "values that are not monotone cost more"


@pytest.mark.parametrize("name", ["SVT1", "SVT2"])
def test_claim_c30_the_two_right_variants_keep_their_promise(name: str) -> None:
    assert _largest_loss(VARIANTS[name], 2, 3, 1.0, (-1, 0, 1)) <= 1 + 1e-9


def test_claim_c30_the_third_variant_tells_too_much() -> None:
    """⊥ many times and then the value 0: the loss grows with the number of questions."""
    losses = [VARIANTS["SVT3"].loss([0] * m + [1], [1] * m + [0], [False] * m + [0.0], 1.0, 1) for m in (1, 10, 40)]
    assert losses == sorted(losses)
    assert losses[-1] > 3


@pytest.mark.parametrize("cap", [1, 3])
def test_claim_c30_the_fourth_variant_costs_more_than_epsilon(cap: int) -> None:
    below, above = 40, [True] * cap
    loss = VARIANTS["SVT4"].loss([0] * below + [0] * cap, [1] * below + [-1] * cap, [False] * below + above, 0.5, cap)
    assert 1.3 < loss <= (1 + 6 * cap) / 4 + 1e-9


def test_claim_c30_the_fifth_variant_has_no_privacy() -> None:
    assert VARIANTS["SVT5"].loss([0, 1], [1, 0], [False, True], 1.0, 1) == math.inf


def test_claim_c30_the_sixth_variant_has_no_end() -> None:
    losses = [
        VARIANTS["SVT6"].loss([0] * 2 * m, [1] * m + [-1] * m, [False] * m + [True] * m, 1.0, m) for m in (1, 5, 20)
    ]
    assert losses == sorted(losses)
    assert losses[-1] > 5


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_the_zoo_draws(variant: Variant) -> None:
    answers = variant.many([-900.0, 900.0, -900.0, 900.0], 5, 1.0, 2)[:, :4]
    assert (answers == [0, 1, 0, 1]).all()


def test_the_noisy_value_of_the_winner_costs_more_and_more() -> None:
    losses = [noisy_values.loss([0] * d, [0] + [1] * (d - 1), 0, -3, 1.0) for d in (2, 5, 20)]
    assert losses == sorted(losses)
    assert losses[-1] > 3
    assert (noisy_values.many([0, 500], 5)[:, 0] == 1).all()


# -------------------------------------------------------------------- session


def test_it_stops_and_then_refuses() -> None:
    session = SparseVector(threshold=100, epsilon=1, max_above=2).start()
    assert [session.ask(x) for x in (-1e6, 1e9, -1e6, Fraction(10**9))] == [False, True, False, True]
    assert session.is_finished
    assert session.left == 0
    with nothing_drawn():
        for value in (1e9, -1e9):
            with pytest.raises(ParameterError, match="stopped"):
                session.ask(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, "a", None, True, [1], np.array([1.0, 2.0])], ids=str)
def test_bad_questions_are_refused_and_nothing_is_drawn(value: Any) -> None:
    session = SparseVector(threshold=100, epsilon=1).start()
    with nothing_drawn(), pytest.raises(ParameterError):
        session.ask(value)
    assert session.left == 1


@pytest.mark.parametrize("value", [np.array(3.0), np.array([[1.0], [2.0]]), np.zeros((0, 2))], ids=str)
def test_only_a_list_of_questions_is_asked(value: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="one dimension"):
        SparseVector(threshold=1, epsilon=1).release(value)


def test_a_session_cannot_be_copied_or_stored() -> None:
    session = SparseVector(threshold=100, epsilon=1).start()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError, match="copied"):
            attempt(session)


def _ask_in_child(session: Any, out: Any) -> None:
    try:
        session.ask(1e9)
    except ParameterError as error:
        out.put(str(error))
    else:
        out.put("answered")


def test_a_forked_process_cannot_go_on_with_it() -> None:
    session = SparseVector(threshold=100, epsilon=1).start()
    fork = multiprocessing.get_context("fork")
    out = fork.Queue()
    child = fork.Process(target=_ask_in_child, args=(session, out))
    child.start()
    assert "process" in out.get(timeout=300)
    child.join(300)


def test_threads_share_the_count() -> None:
    session = SparseVector(threshold=0, epsilon=1, max_above=50).start()
    found: list[Any] = []

    def ask() -> None:
        for _ in range(40):
            try:
                found.append(session.ask(1e9))
            except ParameterError:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 50


def test_values_at_their_own_price() -> None:
    mechanism = SparseVector(threshold=100, epsilon=1, max_above=2, answer_epsilon="0.5")
    assert mechanism.epsilon == Fraction(3, 2)
    assert compose([mechanism.event]).epsilon(0) == pytest.approx(1.5)
    release = mechanism.release([-1e6, 5e6, -1e6, 7e6, 0])
    assert [answer is None for answer in release.value] == [True, False, True, False]
    low, high = release.interval("0.999999")
    assert low[1] < 5e6 < high[1]
    assert (low[0], high[2]) == (-math.inf, pytest.approx(100 + mechanism.error("0.000001")))


def test_the_budget_is_split_as_it_should_be() -> None:
    for cap, monotone in ((1, False), (10, False), (10, True)):
        mechanism = SparseVector(threshold=0, epsilon="0.7", max_above=cap, monotone=monotone)
        first, second = mechanism._split
        assert first + second == Fraction(7, 10)
        assert float(second / first) == pytest.approx((cap if monotone else 2 * cap) ** (2 / 3), rel=1e-4)
        assert compose([mechanism.event]).epsilon(0) <= 0.7 * (1 + 1e-12)


def test_rounding_to_the_grid_is_paid_for() -> None:
    """A sensitivity that is no multiple of the step is rounded up, and the noise with it."""
    mechanism = SparseVector(threshold=0, epsilon=1, sensitivity="0.1")
    assert mechanism._steps * mechanism.grid.step > Fraction(1, 10)
    event: Any = mechanism.event
    assert event.sensitivity / event.threshold_scale + 2 * event.sensitivity / event.query_scale == 1


def test_answers_are_right_beyond_the_error_bound() -> None:
    """2000 sessions each at β = 0.05: more than 180 wrong answers are a false alarm in 1e13."""
    mechanism = SparseVector(threshold=10, epsilon=1)
    bound = mechanism.error("0.05")
    for side in (1, -1):
        wrong = sum(mechanism.start().ask(10 + side * bound) != (side > 0) for _ in range(2000))
        assert wrong <= 180
    assert mechanism.expected_error < bound


def test_intervals_of_comparisons() -> None:
    mechanism = SparseVector(threshold=10, epsilon=1, max_above=2)
    low, high = mechanism.release([1e9, -1e9]).interval("0.95")
    assert (high[0], low[1]) == (math.inf, -math.inf)
    assert low[0] < 10 < high[1]


def test_a_comparison_has_both_noises() -> None:
    """How often a value 6 below is called above; seven standard errors of 4000 sessions are a false alarm in 1e11."""
    mechanism = SparseVector(threshold=10, epsilon=1)
    expected = _ours(mechanism).chance([-6], [True], 1.0, 1, 64)
    called = sum(bool(mechanism.start().ask(4)) for _ in range(4000)) / 4000
    allowed = 7 * math.sqrt(expected * (1 - expected) / 4000) + 0.002  # the lattices differ
    assert abs(called - expected) < allowed
    quiet = float(mechanism._threshold_noise.tail(int(6 / mechanism.grid.step)))
    assert abs(quiet - expected) > allowed, "without the noise of the value it would be noticed"
