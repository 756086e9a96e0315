"""The parts of the search: what is read off answers, which events are proposed, and what is proved of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dither as dp
from dither.audit import attack
from dither.audit.attack.answer_readings import Cells, Entries, Reading, distinct, table
from dither.audit.attack.curve import Allowed
from dither.audit.attack.events import best, hits, judged_again, propose
from dither.audit.attack.expected_evidence import Outlook
from dither.audit.attack.lower_bound import _fewer, _sides, proved
from dither.audit.attack.scores import scores
from dither.audit.attack.target import AttackTarget
from dither.noise import entropy

NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, -math.inf]), st.floats(-9, 9, width=16))


# --------------------------------------------------------------------- the proof


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("other", [0.05, 0.3])
def test_the_test_is_wrong_as_rarely_as_it_says(epsilon: str, other: float) -> None:
    """Every outcome of twelve runs, each with its probability, where the claim holds with nothing to spare."""
    runs, miss = 12, Fraction(1, 5)
    chance = min(1.0, other * math.exp(float(epsilon)))
    allowed, wrong = Allowed(dp.PureDP(epsilon)), 0.0
    for left in range(runs + 1):
        sizes = left, runs - left
        for here, there in product(range(left + 1), range(runs - left + 1)):
            if proved(allowed, Fraction(0), (here, there), sizes, miss)[0]:
                weight = binom.pmf(left, runs, 0.5) * binom.pmf(here, left, chance)
                wrong += weight * binom.pmf(there, runs - left, other)
    assert 0 < wrong <= miss


@pytest.mark.parametrize("delta", ["0.01", "0.2"])
def test_with_a_delta_both_bounds_hold_together(delta: str) -> None:
    runs, miss, other = (20, 15), Fraction(1, 2), 0.1
    chance, allowed, wrong = math.e * other + float(delta), Allowed(dp.ApproxDP(1, delta)), 0.0
    for here, there in product(range(21), range(16)):
        if proved(allowed, Fraction(delta), (here, there), runs, miss)[0]:
            wrong += binom.pmf(here, 20, chance) * binom.pmf(there, 15, other)
    assert 0 < wrong <= miss


def test_a_coin_decides_the_sides() -> None:
    """2000 coins: the mean of their sides within 7 deviations, which fails once in 10^11 runs."""
    found = [_sides(1_000) for _ in range(200)]
    assert {left + right for left, right in found} == {2 * (1_000 - 126)}
    assert len({left for left, _ in found}) > 20
    coins = 200 * 2 * (1_000 - 126)
    assert abs(sum(left for left, _ in found) - coins / 2) < 7 * math.sqrt(coins) / 2


@pytest.mark.parametrize("runs", [1, 2, 20])
def test_few_runs_have_sides_too(runs: int) -> None:
    assert sum(_sides(runs)) == runs


# ------------------------------------------------------------------- the readings


@given(st.lists(NUMBERS, min_size=1, max_size=200), st.booleans())
def test_cells_are_what_their_words_say(values: list[float], is_coarse: bool) -> None:
    entry = np.array(values)
    cells = Cells.for_entry(entry, is_coarse=is_coarse)
    for value, cell in zip(values, cells.of(entry), strict=True):
        assert 0 <= cell < cells.count
        if math.isnan(value):
            assert cells.words(int(cell)) == "none"
        else:
            assert sum(point <= value for point in cells.points) == cell


@given(st.lists(NUMBERS.filter(lambda x: not math.isnan(x)), max_size=50))
def test_distinct_values(values: list[float]) -> None:
    assert distinct(np.sort(np.array(values, dtype=float))).tolist() == np.unique(values).tolist()


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, math.nan])] * 9), min_size=2, max_size=60))
def test_rows_have_the_same_key_if_and_only_if_they_have_the_same_cells(rows: list[tuple[float, ...]]) -> None:
    """Nine entries: too many for a table, so that keys are hashes; the first three have a table."""
    reading = Entries.for_rows(np.array(rows)).of(np.array(rows))
    for wide in (3, 9):
        cuts = tuple((i, Cells.for_entry(reading[i])) for i in range(wide))
        keys = reading.keys(cuts)
        cells = [tuple(reading.cells(i, cut)[row] for i, cut in cuts) for row in range(len(rows))]
        assert all((keys[a] == keys[b]) == (cells[a] == cells[b]) for a in range(len(rows)) for b in range(a))


# --------------------------------------------------------------------- the events


def _uniform(runs: int, width: int) -> Any:
    words = entropy.current().words(runs * width) >> np.uint64(11)
    return (words * 2.0**-53).reshape(runs, width)


def _rows(lean: float, runs: int) -> Any:
    """Two numbers between 0 and 1; those with both below a tenth are redrawn with probability `lean`."""
    drawn = _uniform(runs, 2)
    again = (drawn < 0.1).all(axis=1) & (_uniform(runs, 1)[:, 0] < lean)
    drawn[again] = _uniform(int(again.sum()), 2) / 2 + 0.5
    return drawn


def test_keys_do_not_depend_on_what_was_asked_before() -> None:
    """A hash that grew from a place in a table would be another one where the table was not asked for first."""
    rows = np.random.default_rng(5).integers(0, 4, (200, 9)).astype(np.float64)
    cut = Cells.for_entry(rows[:, 0])
    cuts = tuple((entry, cut) for entry in range(9))
    assert table(cuts) is None
    assert table(cuts[:6]) is not None
    before = Reading(rows.T)
    for size in range(1, 10):
        before.keys(cuts[:size])
    assert np.array_equal(before.keys(cuts), Reading(rows.T).keys(cuts))


def test_a_corner_is_found() -> None:
    """Both entries must be small: neither alone is much likelier on one side."""
    left, right = _rows(0.0, 40_000), _rows(0.9, 40_000)
    found = max(propose(left, right, Allowed(dp.PureDP("0.5")), 40_000), key=lambda proposal: proposal.surety)
    assert found.on_left
    inside, outside = np.array([[0.01, 0.01]]), np.array([[0.01, 0.5], [0.5, 0.01], [0.5, 0.5]])
    assert found.event.holds(inside).all()
    assert not found.event.holds(outside).any()


def test_counts_of_proposals_are_those_of_their_events() -> None:
    """All kinds of scores: three discrete entries and two numbers."""
    left, right = (np.hstack([np.round(_uniform(4_000, 3) - 0.1 * side), _uniform(4_000, 2)]) for side in (0, 1))
    found = propose(left, right, Allowed(dp.GaussianDP("0.1")), 4_000)
    assert len({type(proposal.event._score).__name__ for proposal in found}) >= 4
    assert len({proposal.band for proposal in found}) > 1
    fresh = np.hstack([np.round(_uniform(30, 3)), _uniform(30, 2)])
    some = found[::7]
    assert hits(some, fresh) == [sum(bool(each.event.holds(row[None])[0]) for row in fresh) for each in some]
    kept = best(found)
    for order, band in {(one.on_left, one.band) for one in found}:
        rivals = [one for one in found if (one.on_left, one.band) == (order, band)]
        for measure in ("promise", "surety"):
            assert max(getattr(one, measure) for one in rivals) == max(
                getattr(one, measure) for one in kept if (one.on_left, one.band) == (order, band)
            )


def test_fresh_runs_are_added_to_what_was_counted() -> None:
    """The counts of a race speak for an event, not what it was proposed by."""
    left, right = _rows(0.0, 20_000), _rows(0.9, 20_000)
    allowed = Allowed(dp.PureDP("0.5"))
    proposal = next(each for each in propose(left, right, allowed, 20_000) if each.on_left)
    good = judged_again(proposal, (900, 100), 10_000, allowed, 20_000)
    assert good.surety > 0 > judged_again(proposal, (100, 100), 10_000, allowed, 20_000).surety
    more = judged_again(good, (880, 120), 10_000, allowed, 20_000)
    assert (more.seen, more.counts) == (20_000, (1_780, 220))
    assert more.surety > 0
    assert judged_again(good, (0, 1_700), 10_000, allowed, 20_000).surety < 0


@pytest.mark.parametrize("width", [1, 2, 6])
def test_scores_say_something_of_every_row(width: int) -> None:
    left, right = _uniform(400, width), _uniform(400, width)
    entries = Entries.for_rows(np.concatenate([left, right]))
    for score in scores(entries, entries.of(left), entries.of(right), Allowed(dp.PureDP(1))):
        assert score(entries.of(left)).shape == (400,)
        assert score.words(entries.names, 1.0, 0.0)


@given(st.integers(0, 1000), st.integers(0, 1000), st.sampled_from(["0.1", "1", "4"]))
def test_what_is_seen_more_often_is_surer(here: int, there: int, epsilon: str) -> None:
    allowed = Allowed(dp.PureDP(epsilon))

    def surety(one: int, other: int) -> float:
        return float(Outlook(np.array([one]), np.array([other]), 1001, 1001, 0.0).surety(allowed)[0])

    assert surety(here + 1, there) > surety(here, there) or surety(here, there) < 0
    assert (surety(here, there) > 0) == (here > math.exp(float(epsilon)) * there)


@given(st.integers(1, 5_000))
def test_pairs_become_fewer(pairs: int) -> None:
    left = list(_fewer(pairs))
    assert all(3 < count < pairs for count in left)
    assert left == sorted(left, reverse=True)


# --------------------------------------------------------------------- the whole


def test_what_is_right_is_nearly_reached() -> None:
    """A claim that is true with nothing to spare is nearly proved, and not refuted but once in 10^11 runs."""
    verdict = attack(dp.Laplace(sensitivity=1, epsilon=1), (0, 1), samples=200_000, alpha=Fraction(1, 10**11))
    assert not verdict.violated
    assert 0.9 < verdict.lower_bound <= 1


def test_no_more_runs_than_asked_for() -> None:
    made = {0: 0, 1: 0}

    def counted(data: int, runs: int) -> Any:
        made[data] += runs
        return data + _uniform(runs, 1)

    verdict = attack(AttackTarget("counted", counted), (0, 1), 1, samples=5_000)
    assert max(made.values()) <= 5_000 + 4
    assert verdict.samples == pytest.approx(max(made.values()), abs=400)


def test_a_witness_calls_texts_by_their_names() -> None:
    verdict = attack(lambda data: "yes" if data else "no", (0, 1), samples=1_000)
    assert verdict.violated
    assert str(verdict.witness.event) in ("the answer = 'yes'", "the answer = 'no'")
