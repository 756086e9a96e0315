"""Pipelines with one mistake each: a replay must find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.audit.rerun import replay
from dither.engine.needs import Neighbour, Whole
from dither.errors import EntropyError
from dither.mechanisms import Release
from dither.noise import DiscreteLaplace, UniformBelow, entropy, tape

ONE = dp.Laplace(sensitivity=1, epsilon=1)
MORE, LESS = [1.0, 9.5, 3.0, 10.0], [1.0, 9.5, 3.0]


def understated(x: list[float]) -> Release:
    """Values up to 10, and a sensitivity that is 10 % too small."""
    return dp.Laplace(sensitivity=9, epsilon=1).release(sum(min(max(value, 0.0), 10.0) for value in x))


def not_clamped(x: list[float]) -> Release:
    return dp.Laplace(sensitivity=5, epsilon=1).release(sum(x))


def drawn_by_data(x: list[float]) -> Release:
    """One release more if there are many records."""
    if len(x) > 3:
        ONE.release(0)
    return ONE.release(len(x))


def fewer_draws(x: list[float]) -> Release:
    if len(x) <= 3:
        ONE.release(0)
    return ONE.release(len(x))


def other_mechanism(x: list[float]) -> Release:
    return (ONE if len(x) > 3 else dp.NoisyMax(sensitivity=1, epsilon=1)).release(len(x) if len(x) > 3 else [1])


def scaled_by_data(x: list[float]) -> Release:
    return dp.Laplace(sensitivity=len(x), epsilon=1).release(len(x))


def keys_from_data(x: list[float]) -> Any:
    counts = {value: x.count(value) for value in x}
    noisy = dp.Histogram(epsilon=1, bins=3).release([1, 1, 1]).value
    return dict(zip(sorted(counts, reverse=True), noisy, strict=False))


def shape_from_data(x: list[float]) -> Release:
    return dp.Laplace(sensitivity=10, epsilon=1, dimension=9).release(np.array(x))


def undercharged(x: list[float]) -> Release:
    """Two releases for the price of one."""
    first, second = ONE.release(len(x)), ONE.release(len(x))
    return Release(first.value + second.value, first.event, first.guarantee, ONE)


def failing(x: list[float]) -> Release:
    if len(x) > 3:
        raise ValueError("too many")
    return ONE.release(len(x))


def telling(x: list[float]) -> Release:
    ONE.release(len(x))
    raise ValueError(f"{len(x)} records")


def exact(x: list[float]) -> tuple[Release, int]:
    return ONE.release(len(x)), len(x)


def unsaid(x: list[float]) -> int:
    """A new mechanism that does not say what it draws for."""
    return len(x) + DiscreteLaplace(1).sample()


def narrow(x: list[float]) -> Any:
    """Noise that is 10 % narrower than its event says."""
    noising = ONE._integers
    assert noising is not None
    law, value = DiscreteLaplace("0.9"), len(x)
    return tape.answered(lambda: value + law.sample(), "added", value, event=noising.event, law=law, grid=None)


def caught(x: list[float]) -> int:
    """A draw that nobody knows of, where errors are swallowed."""
    try:
        return UniformBelow(5).sample()
    except Exception:
        return 0


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sensitivity understated by a tenth": (understated, "moved by more than the sensitivity 9"),
    "no clamp": (not_clamped, "moved by more than the sensitivity 5"),
    "a draw more, by data": (drawn_by_data, "calls"),
    "a draw less, by data": (fewer_draws, "a call more than on the other side"),
    "another mechanism": (other_mechanism, "is of the kind 'added' on one side"),
    "a scale from data": (scaled_by_data, "what must be public"),
    "keys from data": (keys_from_data, "the results differ"),
    "a shape from data": (shape_from_data, "another type or shape"),
    "charged too little": (undercharged, "cost more than was charged"),
    "an error on one side": (failing, "on one side"),
    "an error that tells": (telling, "another message"),
    "an exact number": (exact, "something exact is shown"),
    "a draw that is not said": (unsaid, "outside of any call"),
    "a draw behind a wide except": (caught, "outside of any call"),
    "noise that is too narrow": (narrow, "narrower than the event says"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found(name: str) -> None:
    pipeline, words = WRONG[name]
    verdict = replay(pipeline, MORE, LESS)
    assert not verdict.passed
    assert verdict.difference is not None
    assert words in verdict.difference or (name == "an error on one side" and "calls" in verdict.difference)
    assert str(verdict).startswith("DIFFERENT: ")


def test_the_same_without_the_mistake_passes() -> None:
    verdict = replay(lambda x: dp.Laplace(sensitivity=10, epsilon=1).release(sum(x)), MORE, LESS)
    assert verdict.passed
    assert verdict.calls == 1
    assert str(verdict) == "the same up to what was charged; calls: 1"
    assert verdict.charged == dp.PureDP(1)


def test_no_data_is_shown_unless_asked_for() -> None:
    verdict = replay(not_clamped, [123.456, 1.0], [1.0])
    assert "123" not in repr(verdict)
    assert verdict.witness is not None
    assert [call.values for call in verdict.witness] == [124.456, 1.0]


def test_answers_are_those_of_the_seed() -> None:
    values = [replay(ONE.release, 5, 6, seed=seed).result.value for seed in (1, 1, 2, 3, 4, 5)]
    assert values[0] == values[1]
    assert len(set(values)) > 1


def test_the_door_is_shut_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", False)
    with pytest.raises(EntropyError, match="DITHER_TEST_DOOR=open"):
        replay(ONE.release, 5, 6)


def test_nothing_is_left_open() -> None:
    with pytest.raises(KeyboardInterrupt):
        replay(_interrupted, 1, 2)
    assert tape._tape is None
    assert entropy._stand_in is None


def _interrupted(x: int) -> Any:
    raise KeyboardInterrupt


def test_a_smaller_bound_in_the_engine_would_be_seen() -> None:
    """The noise of a need for a neighbour with one group less, on counts that moved in all of its groups."""
    need = dp.count().needs["rows"]
    assert isinstance(need, Whole)
    full = Neighbour(2, 1, dp.Person("user", max_groups=2).adjacency)
    for neighbour, is_enough in ((full, True), (Neighbour(1, 1, full.adjacency), False)):
        noise = need.pure(neighbour, dp.measures.PureDP(1).stated_epsilon)
        assert replay(noise.draw, np.array([4, 7]), np.array([3, 6])).passed == is_enough
