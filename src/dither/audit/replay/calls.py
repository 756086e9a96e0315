"""The two tapes: one that records every call that draws, and one that answers a second run from the first."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.replay.portrait import same
from dither.events import Event
from dither.noise._replay import one_call

__all__ = ["BitStream", "Call", "Difference", "Recorder", "Repeater"]

_FREE = ("salt", "keys")
"""Draws that are not made for a sensitivity: they choose rows, groups and blocks, in the same way on both sides."""


@dataclass(frozen=True)
class Call:
    """One answer: what went in, what it was made for, what came out."""

    kind: str
    values: Any
    """The exact values. They are data."""
    terms: dict[str, Any]
    """What is public, and must be the same on neighbours."""
    group: int | None
    """The group of a table that the call is about, where it is about one."""
    answer: Any = None
    start: int = 0
    """Where in the stream its bits begin."""
    is_half: bool = False
    """Whether a replacement counts twice here: the call was made for a record that is added or removed."""
    units: Mapping[Event, frozenset[Fraction]] = field(default_factory=dict)
    """What 1 may stand for in the unit of a column, by the noise that is added, where the result shows it."""

    @property
    def is_test(self) -> bool:
        """Whether it decides by a noisy distance if there is an answer at all."""
        return self.kind == "test"


class Difference(BaseException):
    """Ends a run. (Not an `Exception`, which pipelines catch; where they catch anything, the stream remembers it.)"""

    def __init__(self, words: str, witness: tuple[Call, Call] | None = None) -> None:
        super().__init__(words)
        self.words, self.witness = words, witness


@dataclass
class BitStream:
    """A source of bits for tests, from SHAKE-256 of `seed`, that is shut while no call is open."""

    seed: int
    open_calls: int = 0
    word_bits: int = 64
    used: int = 0
    found: Difference | None = None
    """The first difference: it counts even if the pipeline, or a thread of it, swallows what is raised."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """As every source."""
        return np.frombuffer(self._bytes(8 * count), dtype="<u8").astype(np.uint64)

    def bits(self, count: int) -> int:
        """As every source."""
        size = (count + 7) >> 3
        return int.from_bytes(self._bytes(size), "little") >> (8 * size - count)

    def _bytes(self, size: int) -> bytes:
        if not self.open_calls:
            raise self.refused(
                "randomness was drawn outside of any call that says what it is for. Draw inside of "
                "dither.noise.tape.answered, with the exact values and the terms."
            )
        self.used += 1
        return hashlib.shake_256(f"{self.seed} {self.used}".encode()).digest(size)

    def refused(self, words: str, witness: tuple[Call, Call] | None = None) -> Difference:
        """A difference, to be raised."""
        difference = Difference(words, witness)
        self.found = self.found or difference
        return difference


@dataclass
class _CallBits:
    """The bits of one call: those of the stream."""

    stream: BitStream
    word_bits: int = 64

    def words(self, count: int) -> NDArray[np.uint64]:
        """As every source."""
        return self.stream.words(count)

    def bits(self, count: int) -> int:
        """As every source."""
        return self.stream.bits(count)


@dataclass
class Recorder:
    """The tape of the first run."""

    stream: BitStream
    calls: list[Call] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    """The warnings that the pipeline gave."""
    tests_pass: bool = False
    """Whether every test of a distance above 0 passes, whatever is drawn: noise that is large enough has a chance."""
    _group: int | None = None

    def turn(self, group: int | None) -> None:
        """The calls that follow are about this group."""
        self._group = group

    def answer(self, draw: Callable[[], Any], kind: str, values: Any, terms: dict[str, Any]) -> Any:
        """Draw, and keep what went in and what came out. A call within another is part of it."""
        if self.stream.open_calls:
            return draw()
        call = Call(kind, copy.deepcopy(values), terms, self._group, start=self.stream.used)
        answer = self._drawn(draw, call)
        self.calls.append(replace(call, answer=copy.deepcopy(answer)))
        return answer

    def _drawn(self, draw: Callable[[], Any], call: Call) -> Any:
        self.stream.open_calls += 1
        try:
            with one_call(_CallBits(self.stream)):
                drawn = draw()
        finally:
            self.stream.open_calls -= 1
        return True if self.tests_pass and call.is_test and call.values > 0 else drawn


@dataclass
class Repeater(Recorder):
    """The tape of the second run: it gives the answers of the first, to the same calls in the same order.

    Each call is also drawn, from the same bits as before, and what is drawn is thrown away. Whether that fails must not
    depend on the data either; and where the same values went in, the same must come out, or others went in unsaid.
    """

    first: list[Call] = field(default_factory=list)

    def answer(self, draw: Callable[[], Any], kind: str, values: Any, terms: dict[str, Any]) -> Any:
        if self.stream.open_calls:
            return draw()
        place = len(self.calls)
        if place >= len(self.first):
            raise self.stream.refused(f"a call more than on the other side, of the kind '{kind}', after {place} calls.")
        before = self.first[place]
        call = Call(kind, copy.deepcopy(values), terms, self._group)
        if before.kind != kind or before.group != self._group:
            raise self.stream.refused(
                f"call {place + 1} is of the kind '{before.kind}' on one side, and '{kind}' on the other.",
                (before, call),
            )
        self.stream.used = before.start
        own = self._drawn(draw, call)
        words = None if kind in _FREE else _other_terms(before, call) or _other_form(before, own)
        if words is None and same(before.values, call.values) and not same(before.answer, own):
            words = "depends on data by more than the values that are said to go in"
        if words is not None:
            raise self.stream.refused(f"call {place + 1}, of the kind '{kind}', {words}.", (before, call))
        answer = _continued(before.answer, own) if kind in _FREE else copy.deepcopy(before.answer)
        self.calls.append(replace(call, answer=answer))
        return answer


def _continued(before: Any, own: Any) -> Any:
    """The recorded keys of the records, as many as there are now: a record more gets a key of its own."""
    if not isinstance(own, np.ndarray):
        return before
    return np.concatenate([before[: len(own)], own[len(before) :]])


def _other_terms(before: Call, after: Call) -> str | None:
    for name in before.terms.keys() | after.terms.keys():
        if name not in before.terms or name not in after.terms or before.terms[name] != after.terms[name]:
            return f"depends on data in what must be public: {name}"
    return None


def _other_form(before: Call, own: Any) -> str | None:
    """What comes out has the same type, and an array the same shape, unless things are found in the data.

    (Not the same dtype: sums past 2^63 are Python integers, and whether they are follows from the noisy sums alone.)
    """
    is_same = type(before.answer) is type(own)
    if is_same and isinstance(own, np.ndarray) and before.kind not in ("groups", "discovered"):
        is_same = before.answer.shape == own.shape
    return None if is_same else "has an answer of another type or shape"
