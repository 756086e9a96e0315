"""Something that is replayed on many pairs of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.audit.replay.run import Recording
from tests.replay.drawing import Choices, Strategy, alike, integers

__all__ = ["PAIRS", "Case", "Run"]

PAIRS = 10_000 if settings().max_examples >= 5_000 else 200
"""At least so many pairs of each: more in the nightly run."""

_BATCH = 10
_BYTES = 96
_SEEDS = integers(0, 255)


class Run:
    """A pipeline, an input, and neighbours of that input: each is a pair with it, and it is run once for all."""

    def __init__(self, pipeline: Callable[[Any], Any], first: Any, *neighbours: Any) -> None:
        self.pipeline, self.first, self.neighbours = pipeline, first, neighbours


@dataclass(frozen=True)
class Case:
    """What is covered, and where the pairs come from."""

    name: str
    covers: frozenset[str]
    runs: Strategy

    def __str__(self) -> str:
        return self.name

    def replay_all(self, neighbours: int = 1) -> int:
        """Replay generated pairs, so many to a run; how many, each with two different inputs and from bytes of its own.

        Hypothesis draws the bytes of a few runs at a time. Its first are all 0: they are one run.
        """
        size, pairs = _BATCH * _BYTES, dict[bytes, int]()

        @settings(
            max_examples=1 - (-PAIRS // (_BATCH * neighbours)),  # and one more: the first is all 0
            phases=[Phase.generate, Phase.shrink],
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(st.binary(min_size=size, max_size=size))
        def search(drawn: bytes) -> None:
            for start in range(0, size if any(drawn) else 1, _BYTES):
                part = drawn[start : start + _BYTES]
                pairs[part] = self.check(part)

        search()
        found = sum(pairs.values())
        assert found >= PAIRS, f"{found} pairs only, and {PAIRS} were to be replayed"
        return found

    def check(self, drawn: bytes) -> int:
        """Replay the pairs of the run that these bytes tell of; their number. Two equal inputs are no pair."""
        choices = Choices(drawn)
        seed, run = _SEEDS(choices), self.runs(choices)
        recording = Recording(run.pipeline, run.first, seed)
        for neighbour in run.neighbours:
            assert not alike(run.first, neighbour), f"no two inputs, but twice {neighbour!r}"
            verdict = recording.replayed(neighbour)
            assert verdict.passed, f"seed {seed}: {verdict.difference} {run.first!r} and {neighbour!r}"
        return len(run.neighbours)
