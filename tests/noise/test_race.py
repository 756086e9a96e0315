"""The race draws its winner with exact probabilities: on every stream of bits, and by balls alone."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from dither.errors import NotANumberError, ParameterError
from dither.exact import ball, precision
from dither.noise import entropy, race
from dither.noise.race import NOISES, Race, Scores
from tests.every_stream import RecordedBits, StreamEnded, every_stream
from tests.mechanisms.entropy_use import nothing_drawn

_SCORES: Sequence[Sequence[Any]] = ([0, 0], [0.75, -math.inf, 0], [Fraction(1, 2), 0, 0.5])


def _gumbel(scores: Sequence[Any], scale: Fraction, weights: Sequence[int]) -> list[arb]:
    best = max(scores)
    parts = [
        arb(0) if x == -math.inf else w * ball((Fraction(x) - Fraction(best)) / scale).exp()
        for x, w in zip(scores, weights, strict=True)
    ]
    return [part / sum(parts, arb(0)) for part in parts]


def _exponential(scores: Sequence[Any], scale: Fraction) -> list[arb]:
    """aᵢ ∫₀¹ Πⱼ (1 − aⱼu) du over j ≠ i, multiplied out."""
    best = max(scores)
    a = [arb(0) if x == -math.inf else ball((Fraction(x) - Fraction(best)) / scale).exp() for x in scores]
    chances = []
    for i in range(len(a)):
        polynomial = [arb(1)]
        for j in range(len(a)):
            if j != i:
                shifted = [arb(0), *polynomial]
                polynomial = [p - a[j] * q for p, q in zip([*polynomial, arb(0)], shifted, strict=True)]
        chances.append(a[i] * sum((c / (k + 1) for k, c in enumerate(polynomial)), arb(0)))
    return chances


def _check(outcomes: Any, chances: Sequence[arb]) -> None:
    for i, chance in enumerate(chances):
        reached = arb(outcomes.mass.get(i, Fraction(0)).numerator) / outcomes.mass.get(i, Fraction(0)).denominator
        undecided = arb(outcomes.undecided.numerator) / outcomes.undecided.denominator
        assert not reached > chance, i
        assert not chance > reached + undecided, i


@pytest.mark.parametrize("word_bits", [1, 4])
@pytest.mark.parametrize("scores", _SCORES, ids=str)
def test_gumbel_is_the_exponential_mechanism_on_every_stream(scores: Sequence[Any], word_bits: int) -> None:
    contest = Race("gumbel", Fraction(3, 4))
    outcomes = every_stream(lambda source: contest._run(source, Scores.of(scores)), 12, word_bits)
    assert outcomes.undecided < Fraction(3, 5)
    _check(outcomes, _gumbel(scores, Fraction(3, 4), [1] * len(scores)))


def test_weights_on_every_stream() -> None:
    contest, scores = Race("gumbel", Fraction(2)), Scores.of([0, 1], [3, 1])
    outcomes = every_stream(lambda source: contest._run(source, scores), 16, 4)
    assert outcomes.undecided < Fraction(1, 10)
    _check(outcomes, _gumbel([0, 1], Fraction(2), [3, 1]))


@pytest.mark.parametrize("word_bits", [1, 4])
@pytest.mark.parametrize("scores", _SCORES, ids=str)
def test_exponential_is_permute_and_flip_on_every_stream(scores: Sequence[Any], word_bits: int) -> None:
    contest = Race("exponential", Fraction(3, 4))
    outcomes = every_stream(lambda source: contest._run(source, Scores.of(scores)), 12, word_bits)
    assert outcomes.undecided < Fraction(3, 5)
    _check(outcomes, _exponential(scores, Fraction(3, 4)))


@pytest.mark.parametrize("word_bits", [1, 3, 5])
def test_laplace_on_every_stream(word_bits: int) -> None:
    """For two candidates a gap g apart the worse wins with probability (2 + g)e^{−g}/4."""
    contest = Race("laplace", Fraction(1))
    outcomes = every_stream(lambda source: contest._run(source, Scores.of([0.0, 0.75])), 14, word_bits)
    assert outcomes.undecided < Fraction(1, 5)
    worse = arb(2.75) / 4 * arb(-0.75).exp()
    _check(outcomes, [worse, 1 - worse])


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_balls_and_double_precision_agree(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words, once with the usual margin and once with all candidates sent to the balls."""
    contest, source = Race(noise, Fraction(1, 3)), entropy.current()
    for _ in range(40):
        scores = Scores.of((source.words(5) >> np.uint64(50)).astype(np.float64) / 2**13)
        stream = source.bits(64 * 6)
        usual = contest._run(RecordedBits(stream, 64 * 6), scores)
        with monkeypatch.context() as changed:
            changed.setattr(race, "_MARGIN", 1e9)
            assert contest._run(RecordedBits(stream, 64 * 6), scores) == usual


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_double_precision_stays_within_its_margin(noise: str) -> None:
    """Near the edges, around ½ and in between; the computed value is within 2^-22 of the ball."""
    law, bits = NOISES[noise], 64
    half, edge = 1 << 63, 1 << 36
    words = [edge, edge + 1, half - 1, half, half + 1, 2 * half - edge - 1]
    words += (entropy.current().words(2000) % np.uint64(2 * half - 2 * edge) + np.uint64(edge)).tolist()
    words += [edge + (w >> (k % 36)) for k, w in enumerate(words) if edge + (w >> (k % 36)) < 2 * half - edge]
    values = law.near((np.array(words, dtype=np.uint64).astype(np.float64) + 0.5) * 2.0**-bits)
    with precision(200):
        worst = max(
            abs(float(law.at((ball(2 * w + 1)) / (1 << 65)) - arb(float(value))))
            for w, value in zip(words, values, strict=True)
        )
    assert worst < 2.0**-22


def test_library_logarithms_are_far_better_than_assumed() -> None:
    points = (entropy.current().words(4000) >> np.uint64(1)).astype(np.float64) * 2.0**-63
    points = np.concatenate([points, np.ldexp(points, -np.arange(4000) % 60), 1 - np.ldexp(points, -20), [0.5, 1 / 3]])
    points = points[(points > 2.0**-40) & (points < 1)]
    with precision(120):
        for name, computed in (("log", np.log(points)), ("log1p", np.log1p(-points))):
            exact = [arb(x).log() if name == "log" else (-arb(x)).log1p() for x in points.tolist()]
            worst = max(abs(float(e - arb(c)) / float(e)) for e, c in zip(exact, computed.tolist(), strict=True))
            assert worst < 2.0**-50 < race.LIBRARY_ERROR


def test_a04_extreme_scores() -> None:
    for noise in NOISES:
        contest = Race(noise, Fraction(1))
        assert contest.winner([-1e300, 1e300, 0.0]) == 1
        assert contest.winner([1.7e308, -1.7e308]) == 0
        assert contest.winner([-math.inf, -1e300, -math.inf]) == 1
        assert {contest.winner([1e300, 1e300]) for _ in range(100)} == {0, 1}
        assert 0 <= contest.winner(np.zeros(10**6)) < 10**6
        assert contest.winner(np.concatenate([np.full(10**5, -math.inf), [5e-324]])) == 10**5


def test_differences_of_large_scores_are_exact() -> None:
    """2^62 and 2^62 + 50 are the same double; 1e16 and 1e16 + 2 differ by two scales."""
    assert {Race("gumbel", Fraction(1)).winner(np.array([2**62, 2**62 + 50])) for _ in range(50)} == {1}
    scores = Scores.of(np.array([2**62, 2**62 + 50]))
    assert scores.gap(0) == 50
    assert Scores.of([Fraction(10**400), Fraction(1, 3)]).gap(1) == 10**400 - Fraction(1, 3)
    assert Scores.of(np.array([1e16, 1e16 + 2])).gap(0) == 2


@pytest.mark.parametrize("kind", [list, tuple, deque, lambda x: np.array(x, dtype=object)])
@pytest.mark.parametrize(
    "scores", [[2**60 + 129, 2**60, 0.5], [2**63 + 1, 2**63, -1], [2**53 + 1, 2**53, 1.5], [2**70 + 1, 2**70]], ids=str
)
def test_integers_in_a_list_are_exact(scores: list[Any], kind: Callable[[list[Any]], Any]) -> None:
    """NumPy makes doubles of such lists, in which neighbours are hundreds apart or the same."""
    known = Scores.of(kind(scores), kind([*scores[:-1], 1]))
    assert [known.gap(i) for i in range(len(scores))] == [Fraction(scores[0]) - Fraction(x) for x in scores]
    assert known.weight(0) == scores[0]


def test_lists_of_ordinary_numbers_are_doubles() -> None:
    """The quick path, which holds each of them exactly."""
    lists: Sequence[Any] = ([0.5, 2.5], [3, -(2**53), 0.25], [np.float32(0.1), np.int8(3)], np.arange(5), range(4))
    for scores in lists:
        assert Scores.of(scores).values.dtype == np.float64
    assert Scores.of(np.array([np.float32(0.1), 0.0], dtype=object)).values[0] == float(np.float32(0.1))


def test_a_masked_array_is_refused() -> None:
    """Its masked scores would take part."""
    masked = np.ma.array([1.0, 9.0], mask=[False, True])
    with pytest.raises(NotANumberError, match="masked"):
        Scores.of(masked)
    with pytest.raises(NotANumberError, match="masked"):
        Scores.of([1.0, 2.0], masked)


@pytest.mark.parametrize(
    "scores",
    [
        [math.nan, 1.0],
        [math.inf, 1.0],
        [-math.inf, -math.inf],
        [],
        [[1.0, 2.0]],
        3.0,
        ["a"],
        [True, False],
        [None],
        [Decimal("NaN"), Decimal(1)],
        [Fraction(1), math.nan],
        [Fraction(1), math.inf],
        np.array([1.0], dtype=np.longdouble),
        [1 + 2j],
        [np.longdouble(1)],
        [np.zeros((2, 2)), np.zeros((2, 3))],
        "12",
        b"12",
        {1, 2},
    ],
    ids=str,
)
def test_bad_scores_are_refused_and_nothing_is_drawn(scores: Any) -> None:
    with nothing_drawn(), pytest.raises((ParameterError, NotANumberError)):
        Race("gumbel", Fraction(1)).winner(scores)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, math.nan], [1.0, math.inf], [1, -1], ["a", "b"]], ids=str)
def test_bad_weights_are_refused(weights: Any) -> None:
    with pytest.raises((ParameterError, NotANumberError)):
        Scores.of([1.0, 2.0], weights)
    with pytest.raises(ParameterError):
        Race("laplace", Fraction(1)).winner(Scores.of([1.0, 2.0], [1, 1]))


@pytest.mark.parametrize("scale", [0, -1, math.nan, "2/0", True, Fraction(2) ** 901, Fraction(1, 2**901)], ids=str)
def test_bad_scales_are_refused(scale: Any) -> None:
    with pytest.raises(ParameterError):
        Race("gumbel", scale)
    with pytest.raises(ParameterError):
        Race("cauchy", Fraction(1))


def test_a_short_stream_ends() -> None:
    with pytest.raises(StreamEnded):
        Race("gumbel", Fraction(1))._run(RecordedBits(0, 64), Scores.of([1.0, 2.0]))


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_words_that_are_not_looked_at_could_not_have_won(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words with and without the limit, over many small chunks, with −inf scores and weights in between."""
    contest, source = Race(noise, Fraction(2)), entropy.current()
    monkeypatch.setattr(race, "_CHUNK", 7)
    for k in range(30):
        values = (source.words(60) >> np.uint64(60)).astype(np.float64)
        values[k::11] = -math.inf
        weights = 1 + (source.words(60) >> np.uint64(60)).astype(np.float64) if noise == "gumbel" else None
        stream, length = source.bits(64 * 70), 64 * 70
        usual = contest._run(RecordedBits(stream, length), Scores.of(values, weights))
        with monkeypatch.context() as changed:
            changed.setattr(race, "_limit", lambda least, bits: np.uint64((1 << bits) - 1))
            assert contest._run(RecordedBits(stream, length), Scores.of(values, weights)) == usual


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("least", [0.0, 0.1, 1.0, 7.5, 30.0, 44.0, 60.0, 800.0])
def test_a_word_above_the_limit_means_less_noise(noise: str, least: float) -> None:
    limit = int(race._limit(least, 64))
    assert limit <= 2**64 - 1
    if limit + 1 < 2**64:
        with precision(200):
            assert NOISES[noise].at(ball(limit + 1) / 2**64) < least


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_double_precision_encloses_all_that_the_digits_leave_open(noise: str, bits: int) -> None:
    """Every word of few bits: the ends in double precision lie outside the exact ends."""
    contest, words = Race(noise, Fraction(1)), np.arange(1 << bits, dtype=np.uint64)
    lower, upper = contest._ends(words, bits, np.zeros(len(words)))
    assert np.isfinite(lower).any() == (bits > 3)
    with precision(100):
        for word, low, high in zip(words.tolist(), lower.tolist(), upper.tolist(), strict=True):
            exact_low, exact_high = contest._exact_ends(word, bits, arb(0))
            assert arb(low) <= exact_low
            assert exact_high <= arb(high)
