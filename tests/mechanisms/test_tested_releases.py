"""An auditor's look at propose-test-release: many runs on the worst neighbours that are known.

Each target is run on both datasets. An event is a violation if P[event | D] > e^ε P[event | D′] + δ is certain: the
lower end of one exact binomial interval (Clopper and Pearson) lies above the upper end of the other. Each end fails
with probability at most ALARM/2: a private target is accused in one of 1e11 looks, and even the nightly run takes under
500.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, betaincinv

from dither.audit.zoo import tested_releases as zoo
from dither.mechanisms import NoAnswer, ProposeTestRelease, SmoothSensitivity
from dither.sensitivity import Median, distance_to_sensitivity
from tests.noise.fit import ALARM

pytestmark = pytest.mark.statistical

EPSILON, DELTA = 2.0, 1e-6  # promised by all of them
RUNS, MANY = 500, 3_000

Target = Callable[[Sequence[int]], Any]


def _far_apart(distance: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """301 records, one half at 0 and the rest at 100, so that the median must move by `distance` records to see 100."""
    left = (*[0] * (150 + distance), *[100] * (151 - distance))
    return left, (*[0] * (149 + distance), *[100] * (152 - distance))


PAIRS = {
    "C20": zoo.C20_PAIR,
    "median jumps": _far_apart(1),
    **{f"distance {d}": _far_apart(d) for d in (2, 14, 15, 16, 17, 30)},
    "sensitivity appears": _far_apart(2),
}

BROKEN: dict[str, tuple[Target, str]] = {
    "printed": (lambda data: _told(zoo.printed(data, 1, EPSILON / 2, DELTA)), "C20"),
    "noiseless distance": (lambda data: _told(zoo.noiseless_test(data, 1, EPSILON / 2, DELTA)), "distance 17"),
    "local sensitivity": (lambda data: _told(zoo.local_noise(data, 1, EPSILON / 2)), "sensitivity appears"),
}


def _told(answers: Any) -> Any:
    return None if np.isnan(answers[0]) else answers[0]


def _ours(noise: str, threshold: str) -> Target:
    epsilon = EPSILON if threshold == "tight" or noise == "laplace" else EPSILON * 0.999
    mechanism = ProposeTestRelease(
        Median(None), limit=zoo.LIMIT, epsilon=str(epsilon), delta=str(DELTA), noise=noise, threshold=threshold
    )

    def run(data: Sequence[int]) -> Any:
        value = mechanism.release(data).value
        return None if isinstance(value, NoAnswer) else value

    return run


OURS = {f"{noise}, {rule}": (noise, rule) for noise in ("laplace", "gaussian") for rule in ("tight", "textbook")}


def _events(outcomes: list[Any]) -> list[int]:
    """How often each event came: an answer; none; an answer of 0; up to 2; between 3 and 50; above."""
    answers = np.array([x for x in outcomes if x is not None], dtype=np.float64)
    parts = [answers == 0, answers <= 2, (answers > 2) & (answers <= 50), answers > 50]
    return [len(answers), len(outcomes) - len(answers), *(int(part.sum()) for part in parts)]


def _lower(hits: int, runs: int) -> float:
    return float(betaincinv(hits, runs - hits + 1, ALARM / 2)) if hits else 0.0


def _upper(hits: int, runs: int) -> float:
    """By symmetry: 1 − ALARM/2 would be rounded."""
    return 1 - _lower(runs - hits, runs)


def _is_violated(target: Target, pair: tuple[Sequence[int], Sequence[int]], runs: int) -> bool:
    left, right = (_events([target(data) for _ in range(runs)]) for data in pair)
    return any(
        _lower(a, runs) > math.exp(EPSILON) * _upper(b, runs) + DELTA
        for one, other in ((left, right), (right, left))
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_private_is_caught(name: str) -> None:
    target, pair = BROKEN[name]
    assert _is_violated(target, PAIRS[pair], RUNS)


@pytest.mark.parametrize("name", ["laplace, tight", "gaussian, tight"])
@pytest.mark.parametrize("pair", ["C20", "distance 17"])
def test_ours_is_not_accused(name: str, pair: str) -> None:
    assert not _is_violated(_ours(*OURS[name]), PAIRS[pair], RUNS)


@pytest.mark.parametrize("pair", ["C20", "sensitivity appears"])
def test_smooth_noise_is_not_accused(pair: str) -> None:
    """Where noise of local sensitivity is caught, noise of smooth sensitivity is not."""
    mechanism = SmoothSensitivity(Median((0, 100)), epsilon=EPSILON)
    assert not _is_violated(lambda data: mechanism.release(data).value, PAIRS[pair], RUNS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("pair", PAIRS)
def test_ours_is_accused_on_no_pair(name: str, pair: str) -> None:
    assert not _is_violated(_ours(*OURS[name]), PAIRS[pair], MANY)


def test_the_ends_of_the_interval_are_exact() -> None:
    for hits in (1, 17, 250, RUNS - 1):
        assert bdtrc(hits - 1, RUNS, _lower(hits, RUNS)) == pytest.approx(ALARM / 2, rel=1e-4)
        assert bdtr(hits, RUNS, _upper(hits, RUNS)) == pytest.approx(ALARM / 2, rel=1e-4)


def test_the_printed_count_jumps_between_neighbours() -> None:
    """The counter-example of claim C20, in exact numbers: no answer on one side, an answer on the other."""
    first, second = (zoo.distance_of_values(data, zoo.LIMIT) for data in zoo.C20_PAIR)
    assert (first, second) == (151, 1)
    bound = math.log(1 / (2 * DELTA))  # with b = ln(1/(2δ)) and ε = 1 the second one answers with probability δ exactly
    assert math.exp(-bound) / 2 == pytest.approx(DELTA)
    assert (
        math.exp(second - zoo.threshold(1, DELTA)) / 2 < DELTA < 0.999 < 1 - math.exp(zoo.threshold(1, DELTA) - first)
    )
    right = [zoo.distance_of_sensitivity(data, zoo.LIMIT) for data in zoo.C20_PAIR]
    assert right == [1, 0]


def test_the_corrected_distance_is_that_of_the_library() -> None:
    for pair in PAIRS.values():
        for data in pair:
            for limit in (0.5, 5, 9, 10, 100):
                assert zoo.distance_of_sensitivity(data, limit) == distance_to_sensitivity(Median(None), data, limit)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("wrong", [None, -0.1, 0.1])
def test_it_answers_as_often_as_it_says(name: str, wrong: float | None) -> None:
    """An exact binomial test of the share of answers, at the distance that is passed half of the time.

    A threshold that is ten percent off must be seen.
    """
    mechanism = ProposeTestRelease(
        Median(None), limit=5, epsilon="1.9", delta="1e-6", noise=OURS[name][0], threshold=OURS[name][1]
    )
    distance = mechanism.split.threshold
    told = round(distance * (1 + wrong)) if wrong else distance
    runs = 40_000
    answered = int((distance + mechanism._test.law.sample(runs) > distance).sum())
    chance = mechanism.answer_probability(told)
    tails = bdtr(answered, runs, chance), bdtrc(answered - 1, runs, chance)
    assert bool(min(tails) > ALARM) is (wrong is None)
