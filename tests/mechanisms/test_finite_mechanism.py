"""A mechanism of your own: the whole way from a table to the ledger, and what dominates its neighbours."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.errors import OverBudget, ParameterError
from dither.events import PoissonSampled, from_json, to_json
from dither.exact import ball
from dither.ledger import Ledger
from dither.pairs import finite
from dither.pairs.finite import FinitePair, worst_of

RESPONSE = {"no": {"no": "3/4", "yes": "1/4"}, "yes": {"no": "1/4", "yes": "3/4"}}


def law(weights: list[int]) -> tuple[Fraction, ...]:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


laws = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any).map(law)


@pytest.mark.property
@given(st.lists(st.tuples(laws, laws), min_size=1, max_size=4), st.floats(-3, 3))
def test_the_worst_of_several_pairs_is_the_largest_at_every_epsilon(pairs: Any, epsilon: float) -> None:
    """δ of the hull is the maximum, at ε on both sides of 0 and in the limit: nothing lost and nothing added."""
    known = [FinitePair(p, q) for p, q in pairs]
    worst = worst_of(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finite, "_MOST_POINTS", 2)  # many pairs, a few at a time
        assert worst_of(pairs) == worst
    level = ball(Fraction(epsilon))
    assert float(worst.profile(level)) == pytest.approx(max(float(each.profile(level)) for each in known), abs=1e-14)
    assert worst.infinity == max(each.infinity for each in known)


def test_a_table_is_randomized_response_if_it_is_the_same_table() -> None:
    mine, ours = dp.FiniteMechanism(RESPONSE), dp.RandomizedResponse(answers=["no", "yes"], keep="1/2")
    for epsilon in (0, 0.5, 1, 2):
        assert mine.guarantee.delta(epsilon) == pytest.approx(ours.guarantee.delta(epsilon), rel=1e-14)
    composed = [dp.compose([each] * 20).epsilon(1e-6) for each in (mine, ours)]
    assert composed[0] == pytest.approx(composed[1], rel=1e-6)


def test_the_event_covers_both_orders_of_each_neighbour() -> None:
    """Two tables whose worst orders are opposite cost as much together as twice the worse order of one."""
    table = {"a": ["9/10", "1/10"], "b": ["99/100", "1/100"]}
    there, back = dp.FiniteMechanism(table), dp.FiniteMechanism(dict(reversed(table.items())))
    for epsilon in (0, 0.1, 1, 2):
        level = ball(Fraction(epsilon))
        assert float(there._pair.profile(level)) == pytest.approx(
            float(there._pair.swapped().profile(level)), abs=1e-14
        )
    assert dp.compose([there, back]).epsilon(0) == pytest.approx(2 * math.log(10))


def test_from_a_table_to_the_ledger(tmp_path: Path) -> None:
    """Event, composition, charge, certificate and audit of a mechanism that only its author knows."""
    mine = dp.FiniteMechanism(RESPONSE, adjacency=ADD_REMOVE)
    assert from_json(to_json(mine.event)) == mine.event
    release = mine.release("yes")
    assert dp.check_certificate(release.certificate()).event == mine.event
    ledger = Ledger(tmp_path / "mine.ledger")
    ledger.open_account("data", dp.ApproxDP(2, "1e-6", adjacency=ADD_REMOVE))
    cost = dp.ApproxDP("1.0987", 0, adjacency=ADD_REMOVE)
    ledger.charge("data", mine.event, cost, "mine")
    assert ledger.account("data").spent["epsilon"] == Fraction("1.0987")
    with pytest.raises(OverBudget):
        ledger.charge("data", mine.event, cost, "mine again")
    with pytest.raises(ParameterError):  # it costs ln 3, and not less
        ledger.charge("data", mine.event, dp.ApproxDP("0.5", 0, adjacency=ADD_REMOVE), "too cheap")
    sampled = dp.compose([PoissonSampled(mine.event, "0.1")])
    assert sampled.epsilon(0) == pytest.approx(math.log(1.2), rel=1e-6)
    assert not dp.audit.attack(mine, samples=20_000, alpha="1e-11").violated


def test_an_audit_finds_a_table_that_promises_too_much() -> None:
    assert dp.audit.attack(dp.FiniteMechanism(RESPONSE), epsilon="0.9", samples=20_000).violated


def test_floats_are_drawn_and_charged_as_they_were_rounded() -> None:
    weights = np.exp(np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.0]]))
    shares = weights / weights.sum(axis=1, keepdims=True)
    mine = dp.FiniteMechanism({"a": shares[0], "b": shares[1]}, normalise=True)
    assert all(sum(row) == 1 for row in mine.rows)
    assert np.abs(np.array(mine.rows, dtype=float) - shares).max() < 1e-15
    tiny = dp.FiniteMechanism({"a": [1.0, 1e-300], "b": [0.5, 0.5]}, normalise=True)
    assert tiny.rows[0][1] == Fraction(1, 1 << 62)
    assert tiny.guarantee.epsilon(0) < math.inf


@pytest.mark.statistical
def test_outputs_have_their_exact_probabilities() -> None:
    """40,000 draws; each of the three counts is within 6 standard deviations: false alarms below 1e-8."""
    share = {"x": Fraction(1, 7), "y": Fraction(2, 7), "z": Fraction(4, 7)}
    mine = dp.FiniteMechanism({0: share, 1: {"x": 1}})
    counts = Counter(mine.release(0).value for _ in range(40_000))

    def fits(claimed: dict[str, Fraction]) -> bool:
        return all(abs(counts[y] - 40_000 * p) < 6 * math.sqrt(40_000 * p * (1 - p)) for y, p in claimed.items())

    assert fits(share)
    for wrong in (share["x"] * Fraction(11, 10), share["x"] * Fraction(9, 10)):
        assert not fits({"x": wrong, "y": share["y"], "z": 1 - wrong - share["y"]})


@pytest.mark.parametrize(("inputs", "outputs", "message"), [
    ("aab", "xy", "inputs must be all different"),
    ("ab", "xyy", "outputs must be all different"),
    ([[0], [1]], "xy", "inputs must be hashable"),
    ("ab", [[0], [1]], "outputs must be hashable"),
])  # fmt: skip
def test_inputs_and_outputs_of_a_function_are_all_different(inputs: Any, outputs: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dp.FiniteMechanism.of(lambda x, y: 1, inputs, outputs)


def test_the_message_shows_no_value() -> None:
    with pytest.raises(ParameterError) as caught:
        dp.FiniteMechanism(RESPONSE).release("a secret")
    assert "secret" not in str(caught.value)


def test_a_table_with_too_many_losses_says_what_to_do() -> None:
    """All of 1,001 outputs have another ratio; as many as there may be of few ratios are fine."""
    outputs = range(1001)
    weights = {0: [1 + y for y in outputs], 1: [2002 - y for y in outputs]}
    laws = {x: dict(zip(outputs, law(each), strict=True)) for x, each in weights.items()}
    with pytest.raises(ParameterError, match=r"10\d\d different losses, .* at most 1000\. Use fewer outputs"):
        dp.FiniteMechanism(laws)
    halves = {x: dict(zip(outputs, law([1 + 2 * ((x + y) % 2) for y in outputs]), strict=True)) for x in (0, 1)}
    assert dp.FiniteMechanism(halves).guarantee.epsilon(0) < 1.2
