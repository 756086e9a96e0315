"""Streams replayed on neighbouring streams: over a whole horizon nothing differs by more than was charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.audit.replay import Replayed, replay
from dither.continual.attendance import Attendance
from dither.continual.participation import ONCE, Participation
from dither.engine import keys_over_time, running_stream
from dither.engine.group_sensitivity import Whole
from dither.engine.groups import Groups
from dither.engine.keys_over_time import KeyNoise, KeysOverTime
from dither.engine.running_stream import RunningStream
from dither.tables import RowCount
from tests.replay.case import PAIRS
from tests.replay.stream_cases import CASES, PERIODS, StreamCase, asked, neighbours

Opened = Callable[..., dp.Dataset]
WORLDS = min(PAIRS, 1_000)
KEY = b"k" * 32


@pytest.fixture
def compared(tmp_path: Path, opened: Opened) -> Callable[..., Replayed]:
    """A case on two tables of so many worlds: all periods, resumed in the middle."""
    numbers = count()

    def compared(case: StreamCase, worlds: int, seed: int, charged: Any = None) -> Replayed:
        costs = []

        def stepped(source: pa.Table) -> list[pa.Table]:
            place = tmp_path / f"{next(numbers)}.stream"
            with opened(source, case.unit, case.price) as data:
                question = asked(case, data, worlds)
                with question.start(place, key=KEY, show=case.show, **case.price) as stream:
                    told = [stream.step().to_arrow() for _ in range(PERIODS // 2)]
                    costs.append(stream.cost)
                with question.resume(place, key=KEY) as stream:
                    return [*told, *(stream.step().to_arrow() for _ in range(PERIODS - PERIODS // 2))]

        first, second = neighbours(case, worlds, seed)
        groups = [] if case.finds_groups else [world for world in range(worlds) for _ in range(2 * case.width)]
        paid = _paid(case)
        verdict = replay(stepped, first, second, seed=seed, worlds=groups, charged=charged or paid)
        assert all(cost == paid for cost in costs)
        return verdict

    return compared


def _paid(case: StreamCase) -> Any:
    if "rho" in case.price:
        return dp.ZCDP(case.price["rho"], adjacency=case.unit.adjacency)
    return dp.ApproxDP(case.price["epsilon"], case.price["delta"], adjacency=case.unit.adjacency)


AT_NIGHT = ("a person three times", "histograms")


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=[pytest.mark.nightly] * (each.name in AT_NIGHT), id=each.name) for each in CASES],
)
def test_h86_neighbouring_streams_differ_by_what_was_charged(
    case: StreamCase, compared: Callable[..., Replayed], record_property: Any
) -> None:
    for round_ in range(PAIRS // WORLDS):
        verdict = compared(case, WORLDS, round_)
        assert verdict.passed, verdict.difference
        assert not isinstance(verdict.result, Exception), verdict.result
    record_property("replayed pairs", PAIRS)


def everybody_always(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attendance, "admitted", lambda self, people, period: people)


def forgotten_at_resume(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attendance, "add", lambda self, people, period: None)


def no_pause(patch: pytest.MonkeyPatch) -> None:
    admitted = Attendance.admitted

    def soon(self: Attendance, people: pa.Array, period: int) -> pa.Array:
        self._participation = Participation(self._participation.max_periods, 1)
        return admitted(self, people, period)

    patch.setattr(Attendance, "admitted", soon)


def one_period_less(patch: pytest.MonkeyPatch) -> None:
    """The noise is made for a person who takes part once less."""
    patch.setattr(
        Participation, "earliest",
        lambda self, periods: [self.min_separation * place for place in range(self.most(periods) - 1)],
    )  # fmt: skip


def exact_numbers_are_shown(patch: pytest.MonkeyPatch) -> None:
    drawn = RunningStream._drawn
    patch.setattr(
        RunningStream, "_drawn",
        lambda self, period, steps, people, new: drawn(
            self, period, {key: type(step)(step.exact, step.exact << 40) for key, step in steps.items()}, people, new
        ),
    )  # fmt: skip


def keys_for_one_period(patch: pytest.MonkeyPatch) -> None:
    """The threshold is made for a person who takes part once."""
    made = KeysOverTime.concentrated
    patch.setattr(
        KeysOverTime, "concentrated",
        lambda self, neighbour, rho: made(replace(self, participation=ONCE), neighbour, rho),
    )  # fmt: skip


def keys_by_their_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeysOverTime, "people", Whole(RowCount()))


def a_lower_threshold(patch: pytest.MonkeyPatch) -> None:
    shown = keys_over_time._shown

    def lower(schema: Any, noise: KeyNoise, *rest: Any) -> pa.Table:
        selection = replace(noise.selection, delta=noise.selection.delta + Fraction("0.5"))
        return shown(schema, replace(noise, selection=selection), *rest)

    patch.setattr(keys_over_time, "_shown", lower)


def keys_by_their_size(patch: pytest.MonkeyPatch) -> None:
    """What was found stands in the order of its exact counts."""
    found = keys_over_time.with_found

    def sorted_by_size(known: Groups, noise: KeyNoise, people: str, batches: list[pa.RecordBatch]) -> Groups:
        groups = found(known, noise, people, batches)
        size = groups.vector(batches, people)
        new = sorted(range(len(known), len(groups)), key=lambda place: -size[place])
        return Groups(groups.keys.take(pa.array([*range(len(known)), *new], pa.int64())))

    patch.setattr(running_stream, "with_found", sorted_by_size)


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        (everybody_always, "a person three times"),
        (forgotten_at_resume, "a person three times"),
        (no_pause, "a person with pauses"),
        (one_period_less, "a person three times"),
        (exact_numbers_are_shown, "a person once"),
        (keys_for_one_period, "groups that are found"),
        (keys_by_their_rows, "groups that are found"),
        (a_lower_threshold, "groups that are found"),
        (keys_by_their_size, "groups of rows that are found"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None],
    case: str,
    compared: Callable[..., Replayed],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    found = next(each for each in CASES if each.name == case)
    assert not compared(found, 60, 0).passed


def test_a_charge_that_is_too_small_is_found(compared: Callable[..., Replayed]) -> None:
    """Who is there on all days moves nearly all that is charged for."""
    case = next(each for each in CASES if each.name == "a person every day")
    assert not compared(case, 60, 0, charged=dp.ZCDP("0.9", adjacency=case.unit.adjacency)).passed
