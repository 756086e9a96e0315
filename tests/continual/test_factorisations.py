"""Encoders of streams: their sensitivity against all patterns, their errors against the matrices written out."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dither.continual.choice import candidates, chosen, fine_for
from dither.continual.encoders import Dense, Encoder, read_encoder
from dither.continual.factorisations import (
    banded,
    best,
    damped,
    each_period,
    fading,
    gram_of,
    lowest_error,
    root_terms,
    square_root,
    tree_row_squares,
)
from dither.continual.participation import ONCE, Participation
from dither.continual.periods import window_of
from dither.errors import ParameterError

PERIODS = 9
ENCODERS = [
    each_period(PERIODS),
    square_root(PERIODS),
    banded(PERIODS, 3),
    damped(PERIODS, 5, 0.4, 0.9),
    best(PERIODS, [None]),
    best(PERIODS, [None, 1, 3]),
    fading(PERIODS),
]
PATTERNS = [
    ONCE,
    Participation(3, 1),
    Participation(3, 2),
    Participation(9, 1),
    Participation(5, 3),
    Participation(2, 8),
]


def written_out(encoder: Encoder) -> np.ndarray[Any, Any]:
    """A, column by column: what is measured of a stream with 1 in one period. Fading sums round, by `rounding`."""
    scale = 1 << 30
    columns = []
    for place in range(encoder.periods):
        memory, found = encoder.memory(1), []
        for period in range(encoder.periods):
            value = scale if period == place else 0
            found.append(int(memory.past()[0]) + encoder.diagonal(period) * value)
            memory.add(np.array([value], dtype=object))
        columns.append(found)
    return np.array(columns, dtype=object).T / scale


def patterns(participation: Participation) -> list[tuple[int, ...]]:
    """All of them, by brute force."""
    found = []
    for size in range(1, participation.max_periods + 1):
        for chosen_periods in combinations(range(PERIODS), size):
            gaps = np.diff(chosen_periods)
            if not len(gaps) or gaps.min() >= participation.min_separation:
                found.append(chosen_periods)
    return found


@pytest.mark.parametrize("participation", PATTERNS, ids=str)
@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda each: each.name)
def test_no_pattern_moves_more_than_is_said(encoder: Encoder, participation: Participation) -> None:
    """Every pattern, and contributions of either sign: the ends hold the largest, and meet where they claim to."""
    matrix = written_out(encoder).astype(np.float64)
    gram = np.abs(matrix.T @ matrix)
    largest = max(float(gram[np.ix_(each, each)].sum()) for each in patterns(participation))
    below, above = encoder.sensitivity_squared(participation)
    assert below <= largest * (1 + 1e-9)
    assert largest <= above * (1 + 1e-9)
    assert encoder.moved(4, participation, 1) >= 4 * largest * (1 - 1e-9)
    if participation.max_periods == 1 or not isinstance(encoder, Dense):
        assert above <= below * (1 + 1e-8)
    too_many = Participation(participation.max_periods + 1, participation.min_separation)
    if too_many.most(PERIODS) > participation.most(PERIODS):
        more = max(float(gram[np.ix_(each, each)].sum()) for each in patterns(too_many))
        assert more > below, "who takes part once more is noticed: the control"


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda each: each.name)
@pytest.mark.parametrize("window", [None, 1, 4])
def test_errors_are_those_of_the_matrix(encoder: Encoder, window: int | None) -> None:
    matrix = written_out(encoder).astype(np.float64)
    rows = np.tril(np.ones((PERIODS, PERIODS)))
    rows -= 0 if window is None else np.tril(rows, -window)
    wanted = ((rows @ np.linalg.inv(matrix)) ** 2).sum(axis=1)
    np.testing.assert_allclose(encoder.row_squares(window), wanted, rtol=1e-7)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda each: each.name)
def test_an_encoder_that_was_written_is_the_same(encoder: Encoder) -> None:
    again = read_encoder(json.loads(json.dumps(encoder.written())))
    assert (written_out(again) == written_out(encoder)).all()
    assert again.moved(3, PATTERNS[1], 2) == encoder.moved(3, PATTERNS[1], 2)
    assert again.name == encoder.name


def test_root_terms_are_those_of_the_series() -> None:
    """Their square is 1, 1, 1, …: exactly the running total."""
    terms = root_terms(200)
    np.testing.assert_allclose(np.convolve(terms, terms)[:200], 1, rtol=1e-12)


@pytest.mark.parametrize("periods", [2, 7, 31, 365, 3000])
def test_fading_sums_are_as_good_as_the_square_root(periods: int) -> None:
    ratio = {}
    for encoder in (fading(periods), square_root(periods)):
        _, above = encoder.sensitivity_squared(ONCE)
        ratio[encoder.name] = float(encoder.row_squares(None).mean()) * above
    assert ratio["fading sums"] <= 1.03 * ratio["square root"]


def test_a_year_of_running_totals_is_as_good_as_can_be() -> None:
    """≤ 1.02 times what no factorisation is below, and the figures of the tree and of noise per day beside it."""
    periods = 365
    found = chosen(periods, [None], ONCE)
    error = found.mean_square(None) ** 0.5
    lowest = (float(lowest_error(periods, [None])) * (periods + 1) / 2) ** 0.5
    sums, totals = tree_row_squares(periods)
    assert found.encoder.name == "optimal"
    assert lowest <= error <= 1.02 * lowest
    assert (sums * totals.mean()) ** 0.5 >= 2.2 * error
    assert ((periods + 1) / 2) ** 0.5 >= 4.5 * error


@pytest.mark.parametrize(("windows", "name"), [([1], "each period"), ([None], "optimal"), ([7], "optimal")])
def test_the_questions_decide(windows: list[int | None], name: str) -> None:
    ranked = candidates(40, windows, ONCE)
    assert ranked[0].score <= min(each.score for each in ranked)
    by_name = {each.encoder.name: each.score for each in ranked}
    assert by_name[name] <= ranked[0].score * (1 + 1e-6)


def test_a_person_in_many_periods_is_best_hidden_by_bands() -> None:
    """Where participations are a week apart, columns that end before the next one do not add up."""
    apart, together = (chosen(120, [None], Participation(17, gap)) for gap in (7, 1))
    assert apart.encoder.name.startswith("banded")
    assert apart.mean_square(None) < 0.5 * together.mean_square(None)


@pytest.mark.parametrize(
    ("windows", "limits", "better"),
    [([None, 1, 7], (30, 7), 0.87), ([None, 1, 7], (12, 30), 0.86), ([None], (10, 1), 0.91)],
)
def test_a_person_in_many_periods_has_less_below_the_diagonal(
    windows: list[int | None], limits: tuple[int, int], better: float
) -> None:
    """The error beside that of the best of the square root, its bands and noise per period."""
    ranked = candidates(365, windows, Participation(*limits))
    others = [each.score for each in ranked if not each.encoder.name.startswith("damped")]
    assert ranked[0].encoder.name.startswith("damped")
    assert ranked[0].score ** 0.5 <= better * min(others) ** 0.5


@pytest.mark.parametrize("windows", [[None], [1], [None, 1, 3]])
def test_no_factorisation_is_below_the_lowest(windows: list[int | None]) -> None:
    """All that there are, and random ones; the best is above it by less than a part in 10^3."""
    lowest = float(lowest_error(PERIODS, windows))
    random = np.random.default_rng(1)
    matrices = [written_out(each).astype(np.float64) for each in ENCODERS]
    matrices += [np.tril(random.uniform(0, 1, (PERIODS, PERIODS))) + np.eye(PERIODS) for _ in range(50)]
    for matrix in matrices:
        inverse = np.linalg.inv(matrix / np.sqrt((matrix**2).sum(axis=0).max()))
        assert float(np.trace(inverse.T @ gram_of(PERIODS, windows) @ inverse)) >= lowest * (1 - 1e-9)
    assert chosen(PERIODS, windows, ONCE).score <= lowest * 1.001


def test_weights_of_questions_are_equal() -> None:
    gram = gram_of(5, [1, None])
    np.testing.assert_allclose(np.trace(gram_of(5, [1])), 1)
    np.testing.assert_allclose(gram, gram_of(5, [1]) + gram_of(5, [None]))


@pytest.mark.parametrize("question", ["week", 0, -1, True, 1.5, None, "7"])
def test_other_questions_are_refused(question: Any) -> None:
    with pytest.raises(ParameterError, match="sliding window"):
        window_of(question)


@pytest.mark.parametrize("limits", [(0, 1), (1, 0), (-1, 1), (True, 1), (1.5, 1)])
def test_other_limits_are_refused(limits: Any) -> None:
    with pytest.raises(ParameterError):
        Participation(*limits)


def test_wide_numbers_have_coarser_entries() -> None:
    assert fine_for(1) == 1 << 24
    assert fine_for(1 << 10) == 1 << 14
    assert fine_for(1 << 40) == 1 << 12
