"""Selection: exact probabilities, privacy and utility by brute force, and the special cases of claim C11."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, person
from dither.errors import ParameterError
from dither.events import Selection
from dither.exact import Ball, ball, precision
from dither.measures import ProfileOf, PureDP
from dither.mechanisms import Exponential, MetricExponential, NoisyMax, RandomizedResponse, SparseVector, TopK
from dither.mechanisms.pieces import Pieces
from dither.mechanisms.selection_error import _loses, worst_quantile
from dither.noise import DiscreteLaplace
from tests.contract.entropy_use import nothing_drawn
from tests.oracle.selections import exponential, laplace_max, permute_and_flip

NOISES: list[Any] = ["gumbel", "exponential", "laplace"]
every_noise = pytest.mark.parametrize("noise", NOISES)


def chances(mechanism: NoisyMax, scores: list[float]) -> list[float]:
    """Who wins with which probability; no two scores may be the same."""
    law = mechanism.error_distribution(scores)
    by_gap = {float(gap): float(p) for gap, p in zip(law.errors, law.probabilities, strict=True)}
    assert len(by_gap) == len(scores)
    return [by_gap[max(scores) - score] for score in scores]


def largest_loss(mechanism: NoisyMax, scores: list[float], directions: tuple[int, ...]) -> float:
    """The largest privacy loss between `scores` and all that differ by one of `directions` in each."""
    here = chances(mechanism, scores)
    return max(
        max(abs(math.log(p / q)) for p, q in zip(here, chances(mechanism, moved), strict=True))
        for change in itertools.product(directions, repeat=len(scores))
        if len(set(moved := [score + x for score, x in zip(scores, change, strict=True)])) == len(scores)
    )


@every_noise
def test_neighbours_are_within_epsilon_and_no_smaller_epsilon_holds(noise: Any) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon="0.8", noise=noise)
    losses = [largest_loss(mechanism, s, (-1, 0, 1)) for s in ([0, 0.25, 0.5], [0, 30.5, 61.25], [0, 3.25, 40.5])]
    assert all(loss <= 0.8 + 1e-12 for loss in losses)
    assert max(losses) > 0.79


@every_noise
def test_monotone_scores_need_half_the_noise(noise: Any) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon="0.8", noise=noise, monotone=True)
    assert mechanism.scale == NoisyMax(sensitivity=1, epsilon="0.8", noise=noise).scale / 2
    scores: list[list[float]] = [[0, 0.25, 0.5], [0, 30.5, 61.25], [0, 3.25, 40.5]]
    for s, directions in itertools.product(scores, [(0, 1), (-1, 0)]):
        assert largest_loss(mechanism, s, directions) <= 0.8 + 1e-12
    assert max(largest_loss(mechanism, s, (-1, 0, 1)) for s in scores) > 1.5, "scores that are not monotone cost twice"


_REPLACING = [REPLACE_ONE, person("user_id", 1, "replace")]
_MONOTONE: list[Callable[..., Any]] = [
    lambda **more: Exponential(sensitivity=1, epsilon=1, monotone=True, **more),
    lambda **more: NoisyMax(sensitivity=1, epsilon=1, monotone=True, **more),
    lambda **more: TopK(count=2, sensitivity=1, epsilon=1, monotone=True, **more),
    lambda **more: SparseVector(threshold=1, epsilon=1, monotone=True, **more),
]


@pytest.mark.parametrize("make", _MONOTONE)
def test_monotone_scores_and_replaced_records_do_not_go_together(make: Callable[..., Any]) -> None:
    for adjacency in _REPLACING:
        with pytest.raises(ParameterError, match="monotone"):
            make(adjacency=adjacency)
    assert make(adjacency=ADD_REMOVE).guarantee.adjacency == ADD_REMOVE
    assert make().guarantee.adjacency is None


def test_counts_under_replacement_would_cost_twice_the_monotone_price() -> None:
    """Why it is refused: one count rises by 1, another falls by 1."""
    mechanism = NoisyMax(sensitivity=1, epsilon="0.8", noise="gumbel", monotone=True)
    before, after = chances(mechanism, [30.5, 0.0]), chances(mechanism, [29.5, 1.0])
    assert math.log(after[1] / before[1]) > 1.59


@every_noise
def test_the_probabilities_add_up_to_one(noise: Any) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise)
    for scores in ([3.0], [0.0, 0.0, 5.0], [1e300, -1e300, 7.0], [0.0, -math.inf, 2.0], np.arange(12) % 5):
        law = mechanism.error_distribution(scores)
        with precision(128):
            total = sum(law.probabilities, Ball(0))
        assert total.contains(1)
        assert total.rad() < 1e-25


def test_gumbel_noise_is_the_exponential_mechanism() -> None:
    law = Exponential(sensitivity=1, epsilon=1).error_distribution([0, 1, 3])
    total = 1 + math.exp(-1) + math.exp(-1.5)
    assert [float(p) for p in law.probabilities] == pytest.approx(
        [1 / total, math.exp(-1) / total, math.exp(-1.5) / total]
    )
    assert law.expected == pytest.approx((2 * math.exp(-1) + 3 * math.exp(-1.5)) / total)
    assert law.beyond(2) == pytest.approx(math.exp(-1.5) / total)
    assert law.beyond(3) == 0


def test_permute_and_flip_by_its_definition() -> None:
    """Go through the candidates in random order and accept one with probability e^{−gap/b}."""
    gaps = [0.0, 0.5, 0.5, 2.0]
    expected = [0.0] * 4
    for order in itertools.permutations(range(4)):
        rest = 1.0
        for i in order:
            expected[i] += rest * math.exp(-gaps[i]) / 24
            rest *= 1 - math.exp(-gaps[i])
    law = NoisyMax(sensitivity=1, scale=1).error_distribution([-gap for gap in gaps])
    assert [float(p) for p in law.probabilities] == pytest.approx([expected[0], expected[1] + expected[2], expected[3]])


@pytest.mark.parametrize("scores", [[0, 0], [0, 1], [0, 3, 3, 3, 5], [0, 1, 2, 3, 4, 5, 6], [0] * 50 + [4], [0, 9, 10]])
def test_exponential_noise_is_never_worse_than_gumbel(scores: list[int]) -> None:
    usual = Exponential(sensitivity=1, epsilon=1).error_distribution(scores)
    better = NoisyMax(sensitivity=1, epsilon=1).error_distribution(scores)
    assert better.expected <= usual.expected
    assert all(better.beyond(gap) <= usual.beyond(gap) for gap in usual.errors)


@every_noise
def test_the_error_bound_is_the_worst_case(noise: Any) -> None:
    """All others at the bound: the best one loses with probability β, and with more at 1 % less."""
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise, candidates=6)
    bound = mechanism.error(0.1)
    for factor, is_above in ((1.0, False), (0.99, True)):
        law = mechanism.error_distribution([0.0] + [-factor * bound] * 5)
        assert (float(law.probabilities[1]) > 0.1 + 1e-9) == is_above
    for scores in (
        [0, -3, -bound, -bound, -bound, -20],
        [0, -bound, -bound, -1.5 * bound, -30, -31],
        [0, 0, 0, 0, 0, 0],
    ):
        law = mechanism.error_distribution(scores)
        assert law.beyond(bound - 1e-9) <= 0.1
        assert law.expected <= mechanism.expected_error


@every_noise
@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_chance_that_the_best_loses(noise: Any, count: int) -> None:
    """Its closed form against the integral, to 25 digits."""
    for gap in (Fraction(1, 2), Fraction(3)):
        law = NoisyMax(sensitivity=1, scale=1, noise=noise).error_distribution([Fraction(0)] + [-gap] * (count - 1))
        with precision(128):
            assert abs(law.probabilities[1] - _loses(noise, count, gap)) < 1e-25


def test_the_utility_theorem() -> None:
    """C16 with 2Δ, not the 4Δ of the notes; the exact bound is below it."""
    for count, beta in itertools.product((2, 10, 10**6), ("0.5", "0.05", "1e-9")):
        for mechanism in (
            Exponential(sensitivity=3, epsilon="0.5", candidates=count),
            NoisyMax(sensitivity=3, epsilon="0.5", candidates=count),
        ):
            textbook = 2 * 3 / 0.5 * (math.log(count) + math.log(1 / float(beta)))
            assert mechanism.utility(beta) == pytest.approx(textbook)
            assert mechanism.error(beta) < mechanism.utility(beta)
    with pytest.raises(ParameterError, match="gumbel"):
        NoisyMax(sensitivity=1, epsilon=1, noise="laplace", candidates=3).utility()


def test_the_worst_expected_error_of_the_exponential_mechanism_is_reached() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=8)
    worst = mechanism.expected_error
    found = mechanism.error_distribution([0.0] + [-(worst + 2)] * 7).expected  # g = 1 + λ scales of 2
    assert found == pytest.approx(worst, rel=1e-9)
    for gap in (1.0, 2.0, 4.0, 8.0):
        assert mechanism.error_distribution([0.0] + [-gap] * 7).expected <= worst


def test_a_single_candidate_is_never_wrong() -> None:
    for noise in NOISES:
        mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise, candidates=1)
        assert mechanism.error(0.05) == mechanism.expected_error == 0.0
        assert mechanism.release([5.0]).value == 0
        assert worst_quantile(noise, Fraction(1), 3, Fraction(9, 10)) == 0.0


def test_error_needs_the_number_of_candidates() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    asks: list[Callable[[], float]] = [mechanism.error, mechanism.utility, lambda: mechanism.expected_error]
    for ask in asks:
        with pytest.raises(ParameterError, match="candidates"):
            ask()
    with pytest.raises(ParameterError, match="interval"):
        mechanism.release([1, 2]).interval()


def test_candidates_and_weights() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert mechanism.release([0, 1e6], candidates=["a", "b"]).value == "b"
    assert mechanism.release([0, 0], weights=[1e300, 1e-300]).value == 0
    assert mechanism.release([0, 0], weights=[Fraction(1, 10**400), Fraction(10**400)]).value == 1
    with nothing_drawn():
        refused: list[dict[str, Any]] = [{"candidates": ["a"]}, *({"weights": w} for w in ([1], [1, 0], [1, math.nan]))]
        for bad in refused:
            with pytest.raises(ParameterError):
                mechanism.release([0, 1], **bad)


@pytest.mark.parametrize(
    "candidates",
    [{"a", "b"}, frozenset("ab"), 5, ["a"], np.array(3), (x for x in "abc")],
    ids=["set", "frozenset", "number", "too few", "one number", "generator"],
)
def test_candidates_without_an_order_are_refused_before_anything_is_drawn(candidates: Any) -> None:
    mechanisms: list[Any] = [
        NoisyMax(sensitivity=1, epsilon=1),
        Exponential(sensitivity=1, epsilon=1),
        TopK(count=1, sensitivity=1, epsilon=1),
    ]
    for mechanism in mechanisms:
        with nothing_drawn(), pytest.raises(ParameterError, match="candidates"):
            mechanism.release([1, 900], candidates=candidates)


@pytest.mark.parametrize(
    "candidates", [["a", "b"], "ab", {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), np.array(["a", "b"])]
)
def test_candidates_in_an_order(candidates: Any) -> None:
    assert NoisyMax(sensitivity=1, epsilon=1).release([0, 9000], candidates=candidates).value == "b"
    assert NoisyMax(sensitivity=1, epsilon=1).release([0, 9000], candidates=iter(candidates)).value == "b"
    assert TopK(count=2, sensitivity=1, epsilon=1).release([0, 9000], candidates=candidates).value == ["b", "a"]


def test_the_error_with_weights() -> None:
    """The best has a weight of one in a million: the law knows it, and the bound for equal weights does not hold."""
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=2)
    scores, weights = [mechanism.error(0.05) + 1, 0.0], [1, 10**6]
    law = mechanism.error_distribution(scores, weights=weights)
    best = math.exp(scores[0] / 2) / (math.exp(scores[0] / 2) + 10**6)
    assert float(law.probabilities[0]) == pytest.approx(best, rel=1e-12)
    assert law.beyond(mechanism.error(0.05)) > 0.99
    assert mechanism.error_distribution(scores).beyond(mechanism.error(0.05)) < 0.05
    assert "equal weights" in str(Exponential.__doc__)
    with pytest.raises(ParameterError):
        mechanism.error_distribution(scores, weights=[1])


def test_the_event_of_an_interval_says_nothing_of_candidates() -> None:
    """Their number may be data, and is not the one that was announced."""
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=4)
    release = mechanism.release_interval([0, 1, 2], [0, 1])
    assert isinstance(release.event, Selection)
    assert release.event.candidates is None
    assert mechanism.release([1, 2, 3, 4]).event == mechanism.event


@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 3), (2, 2, 5, 0), (0, 900)], ids=str)
@every_noise
def test_the_error_distribution_is_that_of_the_definition(noise: Any, scores: tuple[int, ...]) -> None:
    """Balls of both overlap, and are narrow."""
    oracle = {"gumbel": exponential, "exponential": permute_and_flip, "laplace": laplace_max}[noise](Fraction(3))
    found = NoisyMax(sensitivity=1, scale=3, noise=noise).error_distribution(scores)
    chances = oracle(tuple(map(Fraction, scores)))
    for error, chance in zip(found.errors, found.probabilities, strict=True):
        with precision(600):
            true = sum((p for q, p in zip(scores, chances, strict=True) if max(scores) - q == error), Ball(0))
            assert chance.overlaps(true)
            assert abs(chance - true) < 1e-20


def test_the_error_distribution_with_weights_is_that_of_the_definition() -> None:
    scores, weights = (Fraction(0), Fraction(1), Fraction(3)), (Fraction(3), Fraction(1), Fraction(1, 2))
    found = Exponential(sensitivity=1, scale=2).error_distribution(scores, weights=weights)
    assert found.errors == (Fraction(0), Fraction(2), Fraction(3))
    with precision(600):
        for chance, true in zip(found.probabilities, exponential(Fraction(2), weights)(scores)[::-1], strict=True):
            assert abs(chance - true) < 1e-20


def test_a04_extreme_scores() -> None:
    for noise in NOISES:
        mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise)
        assert mechanism.release([-1e300, 1e300]).value == 1
        assert mechanism.release([-math.inf] * 5 + [-1e300]).value == 5
        assert 0 <= mechanism.release(np.full(10**6, 1e300)).value < 10**6
        law = mechanism.error_distribution(np.zeros(10**6))
        assert law.errors == (Fraction(0),)
        assert law.probabilities[0].contains(1)
        with precision(128):
            spread = mechanism.error_distribution([1e300, -1e300, 0.0, 1e300 - 1e285, -math.inf])
            assert sum(spread.probabilities, Ball(0)).contains(1), "no mass is lost"
        best = TopK(count=2, sensitivity=1, epsilon=1, noise=noise)
        assert best.release([-math.inf] * 3 + [-1e300, 1e300]).value == [4, 3]
        assert len(set(best.release(np.full(10**6, -1e300)).value)) == 2


def test_a04_extreme_scores_with_weights_on_intervals_and_far_apart() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert mechanism.release([-1e300, 1e300], weights=[1e300, 1e-300]).value == 1
    assert mechanism.release([-math.inf] * 3 + [-1e300], weights=[1e300] * 3 + [5e-324]).value == 3
    assert 2 <= mechanism.release_interval([-1e6, 2, 3, 1e6], [-1e300, 1e300, -math.inf]).value <= 3
    assert 0 <= mechanism.release_interval(np.arange(10**5 + 1), np.full(10**5, 1e300)).value <= 10**5
    far = MetricExponential(points=range(3), distance=lambda x, y: abs(x - y) * 10**300, sensitivity=1, epsilon=1)
    assert far.release(1).value == 1
    assert far.error(0.05) == 0.0
    assert far.expected_error < 1e-300


def test_what_was_announced_is_exact_and_what_was_done_is_tighter() -> None:
    mechanism = Exponential(sensitivity=1, epsilon="0.3")
    assert mechanism.guarantee == PureDP("0.3")
    done = mechanism.release([1.0, 2.0]).guarantee
    assert isinstance(done, ProfileOf)
    assert done.delta("0.1") < mechanism.guarantee.delta("0.1")


# --------------------------------------------------------------------- top-k


def test_the_best_few_in_order() -> None:
    mechanism = TopK(count=3, sensitivity=1, epsilon=1)
    assert mechanism.release([0, 1e6, 2e6, 3e6]).value == [3, 2, 1]
    assert mechanism.release([0, 1e6, 2e6, 3e6], candidates="abcd").value == ["d", "c", "b"]
    assert mechanism.release(np.zeros(3)).value in [list(order) for order in itertools.permutations(range(3))]
    assert mechanism.guarantee == PureDP(1)
    assert mechanism.each.epsilon == Fraction(1, 3)
    with pytest.raises(ParameterError):
        mechanism.release([1.0, 2.0])


# ------------------------------------------------------------------ interval


def test_pieces_hold_every_grid_point_once() -> None:
    pieces = Pieces.of([0.0, 0.3, 0.3, 0.7, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert pieces.grid.exponent == -40
    assert pieces.scores.values.tolist() == [1.0, -math.inf, 3.0, 4.0]
    weights = [int(pieces.scores.weight(i)) for i in (0, 2, 3)]
    assert sum(weights) == 2**40 + 1, "both ends are in"
    assert weights[0] == math.ceil(Fraction(0.3) * 2**40)


def test_pieces_far_from_zero_are_exact() -> None:
    pieces = Pieces.of([1e9, 1e9 + 0.25, 1e9 + 1], [0.0, 1.0])
    assert [int(pieces.scores.weight(i)) for i in range(2)] == [2**38, 3 * 2**38 + 1]
    tiny = Pieces.of([0.0, 5e-324, 1.0], [0.0, 1.0])
    assert int(tiny.scores.weight(0)) == 1, "0 itself lies before the first edge above it"


def test_the_sensitivity_of_the_median_depends_on_who_is_a_neighbour() -> None:
    """The score −|rank − n/2| of every point between and beyond the data: ½ for add or remove, 1 for replace."""

    def scores(data: tuple[int, ...]) -> list[Fraction]:
        return [-abs(sum(2 * x < y for x in data) - Fraction(len(data), 2)) for y in range(-1, 9)]

    def largest_move(pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> Fraction:
        return max(abs(s - t) for one, other in pairs for s, t in zip(scores(one), scores(other), strict=True))

    datasets = [data for n in range(4) for data in itertools.product(range(4), repeat=n)]
    added = ((data, (*data, x)) for data in datasets for x in range(4))
    replaced = ((data, (*data[1:], x)) for data in datasets if data for x in range(4))
    assert 2 * largest_move(added) == largest_move(replaced) == 1
    page = (Path(__file__).parents[2] / "docs/mechanisms/exponential.md").read_text(encoding="utf-8")
    assert "sensitivity=0.5, epsilon=1, adjacency=ADD_REMOVE" in page
    assert "under replace-one Δ = 1" in page


def test_a_point_lies_in_its_piece() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    for _ in range(50):
        assert 2.0 <= mechanism.release_interval([0, 2, 3, 10], [0, 1e6, 0]).value < 3.0
        assert 0.0 <= mechanism.release_interval([0.0, 1.0], [0.0]).value <= 1.0
    halves = [mechanism.release_interval([0, 1, 4], [2 * math.log(3), 0.0]).value < 1 for _ in range(2000)]
    assert 0.35 < np.mean(halves) < 0.65, "width 1 at three times the weight, against width 3: a fair coin"


@pytest.mark.parametrize("scores", [[2**60 + 129, 2**60, 0.5], [2**63 + 1, 2**63, -1]], ids=str)
def test_integer_scores_of_an_interval_are_exact(scores: list[Any]) -> None:
    """As doubles, the first two would be 256 or 0 apart."""
    laid = Pieces.of([0, 1, 2, 3], scores).scores
    assert [laid.gap(i) for i in range(3)] == [Fraction(scores[0]) - Fraction(x) for x in scores]
    mechanism = Exponential(sensitivity=1, epsilon=1000)
    assert {mechanism.release_interval([0, 1, 2, 3], scores).value < 1 for _ in range(20)} == {True}


def test_edges_are_exact() -> None:
    """None of them but the last is a double, and next to it NumPy would make doubles of all."""
    edges: list[Any] = [2**60 + 129, 2**60 + 130, 2**60 + Fraction(401, 3), float(2**60 + 512)]
    step = Pieces.of(edges, [0, 0, 0]).grid.step
    for some in (edges, [edges[0], edges[1], edges[3]]):
        starts = [math.ceil(Fraction(x) / step) for x in some]
        assert Pieces.of(some, [0] * (len(some) - 1)).starts.tolist() == [*starts[:-1], starts[-1] + 1]
    with pytest.raises(ParameterError, match="masked"):
        Pieces.of(np.ma.array([0.0, 1.0]), [0])


@pytest.mark.parametrize("edges", [[0, 1], [0, 0.125, 1, 12345]])
def test_no_error_tells_how_many_edges_there_are(edges: Any) -> None:
    """Those between are data."""
    with pytest.raises(ParameterError) as refused:
        Pieces.of(edges, [0, 1])
    assert not any(digit in str(refused.value) for digit in "0123456789")
    with pytest.raises(ParameterError) as refused:
        Pieces.of([edges], [0])
    assert not any(digit in str(refused.value) for digit in "0123456789")


@pytest.mark.parametrize(
    ("edges", "scores"),
    [
        ([0, 1], [0, 1]),
        ([1, 0], [0]),
        ([0, 0], [0]),
        ([0], []),
        ([0, math.nan], [0]),
        ([-math.inf, 0], [0]),
        ([0, 1], [math.nan]),
        ([0, "b"], [0]),
        ([0, 1e308], [0]),
        ([0, 2, 1], [0, 0]),
    ],
    ids=str,
)
def test_bad_pieces_are_refused(edges: Any, scores: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError):
        Exponential(sensitivity=1, epsilon=1).release_interval(edges, scores)


# --------------------------------------------------------------- metric (C11)


def test_c11_the_factor_two_case() -> None:
    line = MetricExponential(points=range(6), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=1)
    assert (line.factor, line.scale) == (2, Fraction(2))
    assert _largest_metric_loss(line) <= 1


def test_c11_the_factor_one_case_is_tight() -> None:
    circle = MetricExponential(
        points=range(9), distance=lambda x, y: min((x - y) % 9, (y - x) % 9), sensitivity=1, epsilon=1
    )
    assert (circle.factor, circle.scale) == (1, Fraction(1))
    assert _largest_metric_loss(circle) == pytest.approx(1, rel=1e-12)
    squeezed = MetricExponential(points=range(9), distance=lambda x, y: abs(x - y), sensitivity=1, scale=1)
    assert _largest_metric_loss(squeezed) > 1.1, "with a normaliser that moves, α = Δ/ε is too small"
    assert squeezed.guarantee == PureDP(2)


def _largest_metric_loss(mechanism: MetricExponential) -> float:
    laws = [mechanism.probabilities(x) for x in mechanism.points]
    losses = [
        abs(math.log(float(here[y]) / float(there[y])))
        for here, there in itertools.pairwise(laws)
        for y in mechanism.points
    ]
    return max(losses)


@pytest.mark.parametrize("centre", [-3, 0, 4])
def test_c11_the_geometric_mechanism_is_an_instance(centre: int) -> None:
    """On any window of the integers, the metric mechanism is the discrete Laplace law given the window: to 100 bits."""
    scale = Fraction(5, 2)
    window = range(-20, 21)
    metric = MetricExponential(points=window, distance=lambda x, y: abs(x - y), sensitivity=1, scale=scale)
    law = DiscreteLaplace(scale)
    with precision(128):
        inside = sum((law.pmf(y - centre) for y in window), Ball(0))
        for y, chance in metric.probabilities(centre).items():
            assert abs(chance - law.pmf(y - centre) / inside) < ball(Fraction(1, 2**100))


def test_c11_the_laplace_mechanism_is_the_limit() -> None:
    """On ever finer lattices the law tends to the density e^{−|x|/α}/2α: here it is within 2 % at steps of 1/32."""
    step, alpha = Fraction(1, 32), Fraction(1)
    metric = MetricExponential(
        points=range(-150, 151), distance=lambda x, y: abs(x - y) * step, sensitivity=1, scale=alpha
    )
    law = metric.probabilities(0)
    window = 1 - math.exp(-150 / 32)
    for x in (0, 5, -64, 100):
        density = math.exp(-abs(x) / 32) / 2 / window
        assert float(law[x]) * 32 == pytest.approx(density, rel=2e-2)


def test_metric_errors_are_exact() -> None:
    mechanism = MetricExponential(points="abc", distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], sensitivity=1, scale=1)
    a, b = math.exp(-1), math.exp(-2)
    assert mechanism.expected_error == pytest.approx((a + 2 * b) / (1 + a + b))
    assert mechanism.error(0.05) == 2.0
    assert mechanism.error(0.2) == 1.0
    assert mechanism.error(0.5) == 0.0
    with pytest.raises(ParameterError, match="radius"):
        mechanism.release("a").interval()


@pytest.mark.parametrize("sensitivity", [0, None, math.nan, -1, math.inf, True, "none"], ids=str)
def test_a13_a_sensitivity_that_is_none_is_refused(sensitivity: Any) -> None:
    with nothing_drawn():
        for build in (
            lambda: Exponential(sensitivity=sensitivity, epsilon=1),
            lambda: NoisyMax(sensitivity=sensitivity, epsilon=1),
            lambda: TopK(count=1, sensitivity=sensitivity, epsilon=1),
            lambda: MetricExponential(points=[0], distance=[[0]], sensitivity=sensitivity, epsilon=1),
            lambda: SparseVector(threshold=0, epsilon=1, sensitivity=sensitivity),
        ):
            with pytest.raises(ParameterError):
                build()
    with pytest.raises(TypeError, match="sensitivity"):
        Exponential(epsilon=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "text",
    [
        "Exponential(sensitivity=1, epsilon=0.1)",
        "Exponential(sensitivity=3, epsilon=1.5, monotone=True, candidates=4)",
        "NoisyMax(sensitivity=1, epsilon=0.1, monotone=True)",
        "NoisyMax(sensitivity=0.5, epsilon=2, candidates=7, noise='laplace')",
        "TopK(count=3, sensitivity=1, epsilon=1)",
        "TopK(count=2, sensitivity=1, epsilon=1, monotone=True, noise='exponential')",
        "SparseVector(threshold=10.5, epsilon=1, max_above=2, sensitivity=0.3)",
        "SparseVector(threshold=0, epsilon=1, max_above=1, sensitivity=1, monotone=True, answer_epsilon=0.5)",
        "RandomizedResponse(answers=['no', 'yes'], keep=0.5)",
        "RandomizedResponse(answers=[0, 1, 2], epsilon=1)",
    ],
)
def test_a_short_repr_builds_the_same_again(text: str) -> None:
    built = eval(text)
    assert repr(built) == text


def test_a_short_repr_of_what_is_long() -> None:
    many = RandomizedResponse(answers=range(1000), epsilon="0.1", adjacency=REPLACE_ONE)
    assert repr(many) == "RandomizedResponse(answers=[1000 names], epsilon=0.1, adjacency='replace one record')"
    assert many == RandomizedResponse(answers=range(1000), keep=many.keep, adjacency=REPLACE_ONE)
