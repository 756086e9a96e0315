"""Selection: privacy by brute force, mechanisms by their definition, candidates and refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, person
from dither.errors import ParameterError
from dither.exact import Ball, precision
from dither.guarantees import PureDP
from dither.mechanisms import Exponential, MetricExponential, NoisyMax, RandomizedResponse, SparseVector, TopK
from dither.noise.race import NOISES
from dither.pairs import ProfileOf
from tests.mechanisms.entropy_use import nothing_drawn

every_noise = pytest.mark.parametrize("noise", sorted(NOISES))


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


@every_noise
def test_a04_extreme_scores(noise: Any) -> None:
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


def test_the_best_few_in_order() -> None:
    mechanism = TopK(count=3, sensitivity=1, epsilon=1)
    assert mechanism.release([0, 1e6, 2e6, 3e6]).value == [3, 2, 1]
    assert mechanism.release([0, 1e6, 2e6, 3e6], candidates="abcd").value == ["d", "c", "b"]
    assert mechanism.release(np.zeros(3)).value in [list(order) for order in itertools.permutations(range(3))]
    assert mechanism.guarantee == PureDP(1)
    assert mechanism.each.epsilon == Fraction(1, 3)
    with pytest.raises(ParameterError):
        mechanism.release([1.0, 2.0])


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
