"""Leaks of probability one are found whatever hides them, and nobody is accused of one who has none.

False alarms. Where nothing leaks, alpha is 1e-11 for each attack, of which there are fewer than 100; the test of the
rate itself says its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dither.audit import attack
from dither.audit.attack.answer_readings import Entries
from dither.audit.attack.curve import Allowed
from dither.audit.attack.events import propose
from dither.audit.attack.outcomes import as_rows
from dither.audit.attack.residues import relations
from dither.audit.attack.target import AttackTarget
from dither.guarantees import PureDP
from tests.audit.leaks import LEAKS, Leak, _mask, _noise, _unit
from tests.noise.fit import ALARM

RUNS = 3_000


@pytest.mark.parametrize("name", LEAKS)
def test_e62_a_leak_of_probability_one_is_found(name: str) -> None:
    verdict = attack(AttackTarget(name, LEAKS[name]), (10, 11), 1, samples=RUNS)
    assert verdict.violated
    assert str(verdict.witness.event)


@pytest.mark.parametrize("name", LEAKS)
def test_without_the_leak_nobody_is_accused(name: str) -> None:
    """The same answers, of the same count on both sides."""
    many = LEAKS[name]
    verdict = attack(AttackTarget(name, lambda data, runs: many(10, runs)), (0, 1), 0, samples=1_000, alpha=ALARM)
    assert not verdict.violated
    assert verdict.lower_bound == 0


def test_alarms_are_as_rare_as_alpha_says() -> None:
    """All of them once at alpha = 0.2, where nothing leaks: more than 25 alarms in 43 have a chance below 1e-8."""
    attacks = [AttackTarget(name, _of_ten(many)) for name, many in LEAKS.items()]
    most = int(binom.isf(1e-8, len(attacks), 0.2))
    assert most < len(attacks)
    assert sum(attack(each, (0, 1), 0, samples=500, alpha="0.2").violated for each in attacks) <= most


def _of_ten(many: Leak) -> Leak:
    return lambda data, runs: many(10, runs)


def _flipped(bit: int, runs: int) -> Any:
    """Randomized response of ε = 1."""
    return np.where(_unit(runs) < math.e / (1 + math.e), bit, 1 - bit)


HIDDEN = {
    "behind a residue": lambda data, runs: _flipped(data, runs) + 2 * _noise(runs),
    "behind a mask": lambda data, runs: np.stack([m := _mask(runs, 32), m ^ _flipped(data, runs)], axis=1),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_relation_may_tell_is_measured(name: str) -> None:
    """A true ε of 1: no claim of 1 is called violated, and one of 0.8 is."""
    hidden = AttackTarget(name, HIDDEN[name])
    true = attack(hidden, (0, 1), 1, samples=20_000, alpha=ALARM)
    assert not true.violated
    assert 0.7 < true.lower_bound <= 1
    assert attack(hidden, (0, 1), "0.7", samples=20_000).violated


# -------------------------------------------------------------------- the readings


NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 2.0**53, -(2.0**63), 1.7e308, 5e-324]),
    st.integers(-(2**40), 2**40).map(float),
    st.floats(),
)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1, max_size=40)
)


@given(TABLES, st.integers(0, 20))
def test_relations_read_any_numbers(rows: list[list[float]], moved: int) -> None:
    """Without a warning, and of each row by itself."""
    left = np.array(rows)
    right = np.roll(left, moved % len(left), axis=0) + moved
    for each in relations(left, right, [True] * left.shape[1]):
        whole = each.of(left)
        assert whole.shape == (len(left),)
        assert np.array_equal(whole, [each.of(left[i : i + 1])[0] for i in range(len(left))], equal_nan=True)
        assert each.words([f"entry {i + 1}" for i in range(left.shape[1])])


def test_a_relation_is_read_only_where_it_tells_more_than_its_entries() -> None:
    """Else it would cost time, and stand in the way of plainer words."""
    noise = np.random.default_rng(5).integers(-9, 10, (2, 2_000, 2)).astype(np.float64)
    assert relations(noise[0], noise[1], [True, True]) == ()
    assert relations(noise[0], noise[1] + 50, [True, True]) == ()


def test_an_event_of_a_relation_is_what_its_words_say() -> None:
    left, right = ((count + 5 * _noise(4_000))[:, None].astype(np.float64) for count in (0, 1))
    found = max(propose(left, right, Allowed(PureDP(1)), 4_000), key=lambda proposal: proposal.surety)
    assert "the answer mod 5" in str(found.event)
    assert found.event.holds(left).all() != found.event.holds(right).all()
    assert found.event.holds(left).any() != found.event.holds(right).any()


def test_names_are_not_added_up() -> None:
    """The sum of a number and the code of a text says less than the number."""
    rows = as_rows([(1, "Paris"), (2, "Lyon")])
    assert not Entries.for_rows(rows).summed
    assert Entries.for_rows(as_rows([(1, "Paris", 3), (2, "Lyon", 4)])).summed == (0, 2)


# ------------------------------------------------------------------ answers as rows


def _read(answer: Any) -> list[float]:
    return [x for x in as_rows([answer])[0].tolist() if not math.isnan(x)]


@pytest.mark.parametrize("number", [2**53 + 1, -(2**60) - 1, 2**100 + 3, 10**400, -(10**400)])
def test_whole_numbers_are_read_to_the_last_digit(number: int) -> None:
    assert _read(number) != _read(number + 1)
    assert _read(number)[1] == number % 2**48


def test_an_array_of_long_numbers_is_read_as_a_list_of_them() -> None:
    long = np.array([[2**60 + 1, 3], [4, 5]])
    assert np.array_equal(as_rows(long), as_rows([tuple(row) for row in long.tolist()]), equal_nan=True)
    assert np.array_equal(as_rows(long), as_rows(long.astype(object)), equal_nan=True)
    assert np.array_equal(as_rows(long[1:]), [[4, 5]])


@pytest.mark.parametrize("number", [2**53 + 2, -(2**60), 2**62 + 2**20, 2**63, -(2**63)])
@pytest.mark.parametrize("beside", [0.5, -1, 2**63, float("nan"), float("inf"), 1e300, 1j, None, 2**100])
def test_how_a_long_number_is_read_does_not_depend_on_the_other_answers(number: int, beside: Any) -> None:
    """NumPy makes floats, or objects, of all answers for one of them: a private mechanism would be called broken."""
    alone = [x for x in as_rows(np.array([number]))[0].tolist() if not math.isnan(x)]
    assert len(alone) > 1
    for batch in ([number, beside], [beside, number]):
        at = batch.index(number)
        for found in (as_rows(np.array(batch)), as_rows(np.array([[each, 7] for each in batch]))):
            row = [x for x in found[at].tolist() if not math.isnan(x)]
            assert row in (alone, [*alone, 7.0])


def test_types_that_are_printed_alike_are_one() -> None:
    for one, other in ((3, np.int64(3)), (3.0, np.float64(3)), (True, np.True_), (2.5, np.float32(2.5))):
        assert _read(one) == _read(other)
    assert _read(3) != _read(3.0)
    assert _read(True) != _read(1)


def test_the_order_of_keys_is_read_and_that_of_sets_is_not() -> None:
    assert _read({"a": 1, "b": 2}) != _read({"b": 2, "a": 1})
    assert _read({"a", "b"}) == _read({"b", "a"})


@given(st.text(max_size=60), st.integers(0, 3))
def test_texts_of_any_letters_are_read(text: str, depth: int) -> None:
    answer: Any = text
    for _ in range(depth):
        answer = (answer,)
    assert _read(answer) == _read(answer)
    assert len(_read(answer)) in (1, 28)


def test_types_in_an_array_are_those_of_the_batch_and_are_not_read() -> None:
    """An array is of floats if one of its answers is one."""
    assert np.array_equal(as_rows(np.array([1, 2])), as_rows(np.array([1.0, 2.0])))
    mixed = np.array([1, 2.0, None], dtype=object)
    assert as_rows(mixed).shape == (3, 1)
