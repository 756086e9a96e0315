"""Pipelines with one mistake each: a replay must find it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.audit.replay import replay
from dither.engine.group_sensitivity import Whole
from dither.errors import EntropyError, ParameterError
from dither.estimators.answer import Estimate
from dither.mechanisms import Release
from dither.noise import DiscreteLaplace, UniformBelow, entropy, tape
from dither.sensitivity import Median, distance_to_sensitivity
from dither.sensitivity.stepwise import Stepwise
from dither.unit import Neighbour

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
    noising = ONE.for_integers
    assert noising is not None
    law, value = DiscreteLaplace("0.9"), len(x)
    return tape.answered(lambda: value + law.sample(), "added", value, event=noising.event, law=law, grid=None)


def in_order(x: list[float]) -> list[int]:
    """The same two calls, the order by data."""
    coarse, fine = dp.Laplace(sensitivity=1, epsilon=1), dp.Laplace(sensitivity=1, epsilon=2)
    order = [coarse, fine] if len(x) > 3 else [fine, coarse]
    return [each.release(len(x)).value for each in order]


def spread_by_data(x: list[float]) -> Release:
    """Noise for the range that the data has, as if that were public."""
    return dp.Laplace(sensitivity=max(x) - min(x), epsilon=1).release(sum(x))


def exact_keys(x: list[float]) -> dict[float, Any]:
    """A group for each value that there is, one noisy count in each."""
    return {value: ONE.release(x.count(value)).value for value in sorted(set(x))}


def named_in_order(x: list[float]) -> dict[str, Any]:
    """The same names in an order that depends on data."""
    names = ["few", "many"] if len(x) > 3 else ["many", "few"]
    noisy = dp.Histogram(epsilon=1, bins=2).release([len(x), 0]).value
    return dict(zip(names, sorted(noisy.tolist()), strict=True))


def telling_first(x: list[float]) -> Release:
    """Refused before anything is drawn, with data in the message."""
    if len(x) < 100:
        raise ValueError(f"at least 100 records are needed, got {len(x)}")
    return ONE.release(len(x))


def swallowed(x: list[float]) -> Any:
    """An error that depends on data, caught: a value stands for it."""
    try:
        if len(x) > 3:
            raise ValueError("too many")
        return ONE.release(len(x)).value
    except ValueError:
        return None


def swallowed_after(x: list[float]) -> Any:
    """The draw is made on both sides, and what fails after it is caught."""
    noisy = ONE.release(len(x)).value
    try:
        return noisy / (len(x) - 3)
    except ZeroDivisionError:
        return 0.0


def undercharged_noise(x: list[float]) -> Release:
    """Charged a tenth less than was drawn for."""
    made = ONE.release(len(x))
    return Release(made.value, made.event, dp.PureDP("0.9"), ONE)


def undercharged_gaussian(x: list[float]) -> Release:
    """ρ a tenth too small."""
    mechanism = dp.Gaussian(sensitivity=1, rho="0.5")
    made = mechanism.release(len(x))
    return Release(made.value, made.event, dp.ZCDP("0.45"), mechanism)


def overdrawn_session(x: list[float]) -> Any:
    """Three answers of an oracle, and the account of two."""
    oracle = dp.Oracle(np.array(x[:3] * 20 + x[3:] + [0.0] * (4 - len(x))) > 5, queries=3, method="laplace")
    two = [oracle.ask(lambda rows: rows) for _ in range(2)]
    spent = oracle.spent
    oracle.ask(lambda rows: rows)
    return Release([each.value for each in two], two[0].event, spent, two[0].mechanism)


class Counter:
    """A generator of its own, as `random` or NumPy have, that goes on from run to run."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, x: list[float]) -> Any:
        self.drawn += 1
        return ONE.release(len(x)).value + self.drawn


def emptied(x: list[float]) -> Release:
    """The records are used up: whoever holds the same list sees none afterwards."""
    total = 0.0
    while x:
        total += min(x.pop(), 10.0)
    return dp.Laplace(sensitivity=10, epsilon=1).release(total)


def clamped_in_place(x: list[Any]) -> Release:
    """A view of the records is clamped, and stays so for the next question."""
    np.clip(x[0], 0.0, 5.0, out=x[0])
    return dp.Laplace(sensitivity=5, epsilon=1).release(float(x[0].sum()))


def caught(x: list[float]) -> int:
    """A draw that nobody knows of, where errors are swallowed."""
    try:
        return UniformBelow(5).sample()
    except Exception:
        return 0


def sign_of_zero(x: list[float]) -> tuple[int, float]:
    return ONE.release(len(x)).value, math.copysign(0.0, len(x) - 3.5)


def kind_of_key(x: list[float]) -> dict[Any, int]:
    """1 and True are equal as keys, and read differently."""
    return {(1 if len(x) > 3 else True): ONE.release(len(x)).value}


def digits(x: list[float]) -> tuple[int, Decimal]:
    return ONE.release(len(x)).value, Decimal("1.0" if len(x) > 3 else "1.00")


def mechanism_by_data(x: list[float]) -> Release:
    """The release shows what made it, with a sensitivity from data."""
    made = ONE.release(len(x))
    return Release(made.value, made.event, made.guarantee, dp.Laplace(sensitivity=len(x), epsilon=1))


def interval_by_data(x: list[float]) -> Estimate:
    """An interval around the exact value."""
    made, exact = ONE.release(len(x)), len(x)
    return Estimate(made.value, made.event, made.guarantee, ONE, bars=lambda level: (exact - 1, exact + 1))


@dataclass(frozen=True)
class Noted:
    noisy: int
    exact: int = field(compare=False, repr=False)


def hidden_field(x: list[float]) -> Noted:
    """What does not count as a difference for Python is there all the same."""
    return Noted(ONE.release(len(x)).value, len(x))


def in_metadata(x: list[float]) -> pa.Table:
    return pa.table({"noisy": [ONE.release(len(x)).value]}).replace_schema_metadata({"rows": str(len(x))})


def names_of_codes(x: list[float]) -> pa.Table:
    """A coded column that uses one of its names, and knows all values."""
    return pa.table({"first": pa.DictionaryArray.from_arrays([0], x), "noisy": [ONE.release(len(x)).value]})


def frame(x: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"noisy": [ONE.release(len(x)).value], "exact": [len(x)]})


def cause_that_tells(x: list[float]) -> Release:
    """A traceback shows both errors."""
    try:
        raise ValueError(f"{len(x)} records")
    except ValueError as error:
        raise RuntimeError("failed") from error


def note_that_tells(x: list[float]) -> Release:
    error = RuntimeError("failed")
    error.add_note(f"{len(x)} records")
    raise error


def warning(x: list[float]) -> Release:
    warnings.warn(f"{len(x)} records", stacklevel=1)
    return ONE.release(len(x))


def caught_all(x: list[float]) -> int:
    """A draw more on one side, where whatever is raised is swallowed."""
    try:
        ONE.release(len(x))
        if len(x) <= 3:
            ONE.release(len(x))
    except BaseException:
        pass
    return 0


def in_a_thread(x: list[float]) -> Release:
    """A draw that is not said, whose error ends a thread and nothing else."""
    drawing = Thread(target=lambda: suppressed(UniformBelow(5).sample))
    drawing.start()
    drawing.join()
    return ONE.release(len(x))


def suppressed(draw: Callable[[], Any]) -> None:
    with suppress(BaseException):
        draw()


def unsaid_value(x: list[float]) -> int:
    """Another value gets the noise than the one that is said to."""
    noising = ONE.for_integers
    assert noising is not None
    terms = {"event": noising.event, "law": noising.law, "grid": None}
    return tape.answered(lambda: len(x) + noising.law.sample(), "added", 0, **terms)


def exact_salt(x: list[float]) -> int:
    """Data in the place of chance."""
    return tape.answered(lambda: len(x), "salt", None)


@dataclass(frozen=True)
class WrongMedian(Median):
    """A median whose sensitivities at a distance are wrong by one."""

    late: int = 0
    """So many steps later than it should, it sees what exceeds the limit."""
    first: int = 0
    """1 forgets the jump that leads down from the median."""

    def profile(self, data: Any) -> Any:
        return Stepwise(lambda distance: self._within(data, distance - self.late), math.inf)

    def _within(self, data: Any, distance: int) -> float:
        places, middle = [-math.inf, *sorted(data), math.inf], -(-len(data) // 2)
        at = [
            places[min(max(place, 0), len(places) - 1)] for place in range(middle - distance - 1, middle + distance + 2)
        ]
        return max((at[i + distance + 1] - at[i] for i in range(self.first, distance + 2)), default=0.0)


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
    "the order of calls by data": (in_order, "what must be public"),
    "a range taken for public": (spread_by_data, "what must be public"),
    "a group for each value": (exact_keys, "calls on one side"),
    "names in another order": (named_in_order, "the results differ"),
    "a refusal that tells": (telling_first, "another message"),
    "an error that is swallowed": (swallowed, "call"),
    "an error that is swallowed after the draw": (swallowed_after, "something exact is shown"),
    "a charge that is a tenth too small": (undercharged_noise, "cost more than was charged"),
    "a rho that is a tenth too small": (undercharged_gaussian, "cost more than was charged"),
    "a session that forgets an answer": (overdrawn_session, "cost more than was charged"),
    "randomness of its own": (Counter(), "even between two runs on the first input"),
    "records that are used up": (emptied, "changed its input"),
    "the sign of a zero": (sign_of_zero, "something exact is shown"),
    "the type of a key": (kind_of_key, "something exact is shown"),
    "digits that are zero": (digits, "something exact is shown"),
    "a release that shows another mechanism": (mechanism_by_data, "something exact is shown"),
    "an interval around what is exact": (interval_by_data, "something exact is shown"),
    "a field that is not compared": (hidden_field, "something exact is shown"),
    "metadata of a table": (in_metadata, "something exact is shown"),
    "names that a coded column does not use": (names_of_codes, "something exact is shown"),
    "a frame with an exact number": (frame, "something exact is shown"),
    "an error behind an error": (cause_that_tells, "another error, or another message"),
    "a note of an error": (note_that_tells, "another error, or another message"),
    "a warning that tells": (warning, "other warnings"),
    "a draw more where all is swallowed": (caught_all, "a call more than on the other side"),
    "a draw in a thread": (in_a_thread, "outside of any call"),
    "noise on another value": (unsaid_value, "more than the values that are said to go in"),
    "data for a salt": (exact_salt, "more than the values that are said to go in"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found(name: str) -> None:
    pipeline, words = WRONG[name]
    verdict = replay(pipeline, MORE.copy(), LESS.copy())
    assert not verdict.passed
    assert verdict.difference is not None
    assert words in verdict.difference or (name == "an error on one side" and "calls" in verdict.difference)
    assert str(verdict).startswith("DIFFERENT: ")


JUMP = [0.0, 0.0, 10.0, 10.0, 10.0], [0.0, 0.0, 0.0, 10.0, 10.0]
"""The median of the first is 10, that of the second 0: either is at distance 0 from a sensitivity above 5."""


ONE_SIDED, LATE = WrongMedian(None, first=1), WrongMedian(None, late=1)


@pytest.mark.parametrize("wrong", [ONE_SIDED, LATE], ids=["one side is forgotten", "a step too late"])
@pytest.mark.parametrize("pair", [JUMP, JUMP[::-1]], ids=["down", "up"])
@pytest.mark.parametrize("seed", range(5))
def test_e62_a_distance_that_is_off_by_one_is_found(wrong: WrongMedian, pair: Any, seed: int) -> None:
    """It is 1-Lipschitz, and at a distance of 1 hardly any recorded test passes; the answer behind it must be seen."""
    mechanism = dp.ProposeTestRelease(wrong, limit=5, epsilon=1, delta="1e-6")
    distances = [distance_to_sensitivity(wrong, data, 5) for data in pair]
    assert max(distances) == 1
    verdict = replay(mechanism.release, *pair, seed=seed)
    assert verdict.difference is not None
    assert "the value moved by more than the limit 5" in verdict.difference


@pytest.mark.parametrize("pair", [JUMP, JUMP[::-1], ([0.0] * 9, [0.0] * 8 + [10.0]), ([1e300], [7.0])])
def test_the_right_distance_passes(pair: Any) -> None:
    mechanism = dp.ProposeTestRelease(WrongMedian(None), limit=5, epsilon=1, delta="1e-6")
    for data in pair:
        assert distance_to_sensitivity(mechanism.statistic, data, 5) == distance_to_sensitivity(Median(None), data, 5)
    assert all(replay(mechanism.release, *pair, seed=seed).passed for seed in range(5))


def test_the_same_without_the_mistake_passes() -> None:
    verdict = replay(lambda x: dp.Laplace(sensitivity=10, epsilon=1).release(sum(x)), MORE, LESS)
    assert verdict.passed
    assert verdict.calls == 1
    assert str(verdict) == "the same up to what was charged; calls: 1"
    assert verdict.charged == dp.PureDP(1)


def test_what_reads_alike_is_the_same() -> None:
    def answers(x: list[float]) -> Any:
        noisy = ONE.release(len(x)).value
        return {math.nan: noisy}, {"b", "a"}, pd.DataFrame({"noisy": [noisy, math.nan]}), lambda: noisy

    assert replay(answers, MORE, LESS).passed


def test_a_price_that_nobody_named_is_not_called_paid() -> None:
    verdict = replay(lambda x: ONE.release(len(x)).value, MORE, LESS)
    assert verdict.passed
    assert "not known" in str(verdict)


def test_a_kind_without_a_rule_is_refused() -> None:
    with pytest.raises(ParameterError, match="no rule for calls of the kind 'mine'"):
        replay(lambda x: tape.answered(lambda: 0, "mine", len(x)), MORE, LESS)


def test_data_inside_of_data_must_not_change_either() -> None:
    verdict = replay(clamped_in_place, [np.array(MORE)], [np.array(LESS)])
    assert verdict.difference is not None
    assert "changed its input" in verdict.difference


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
        noise = need.pure(neighbour, dp.guarantees.PureDP(1).stated_epsilon)
        assert replay(noise.draw, np.array([4, 7]), np.array([3, 6])).passed == is_enough


def _half(part: dp.Laplace) -> Callable[[list[int]], Release]:
    """Counts of records that are replaced, with the noise of a `part` that is made for one that comes or goes."""
    charged = dp.Laplace(sensitivity=2, scale=part.scale, adjacency=REPLACE_ONE)

    def pipeline(counts: list[int]) -> Release:
        return Release(part.release(counts).value, charged.event_for([1]), charged.guarantee, charged)

    return pipeline


def test_a_replaced_record_counts_twice_in_noise_for_one_that_comes_or_goes() -> None:
    """It leaves one cell and enters another: that is what was charged for, and more is refused."""
    pipeline = _half(dp.Laplace(sensitivity=1, scale=2, adjacency=ADD_REMOVE))
    assert replay(pipeline, [1, 0], [0, 1]).passed
    verdict = replay(pipeline, [2, 0], [0, 1])
    assert "the values moved by more than the sensitivity 1" in str(verdict.difference)


def test_noise_for_one_record_is_no_half_where_records_come_or_go() -> None:
    verdict = replay(dp.Laplace(sensitivity=1, scale=2, adjacency=ADD_REMOVE).release, [1, 0], [0, 1])
    assert "the values moved by more than the sensitivity 1" in str(verdict.difference)


def test_a_warning_that_is_given_once_is_no_difference() -> None:
    given: list[str] = []

    def once(x: list[float]) -> Release:
        if not given:
            given.append("this library is new")
            warnings.warn(given[0], stacklevel=1)
        return ONE.release(len(x))

    assert replay(once, MORE, LESS).passed
