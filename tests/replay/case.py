"""Something that is replayed on many pairs of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.audit.rerun.run import Recording
from tests.replay.drawing import Choices, Strategy, integers

__all__ = ["PAIRS", "Case", "Run", "on_pairs"]

PAIRS = 10_000 if settings().max_examples >= 5_000 else 200
"""So many pairs of each: more in the nightly run."""

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

    def check(self, drawn: bytes) -> int:
        """Replay the pairs that these bytes tell of; their number. (The first bytes of all are 0: that is one run.)"""
        pairs = 0
        for start in range(0, len(drawn) if any(drawn) else 1, _BYTES):
            choices = Choices(drawn[start : start + _BYTES])
            seed, run = _SEEDS(choices), self.runs(choices)
            recording = Recording(run.pipeline, run.first, seed)
            for neighbour in run.neighbours:
                verdict = recording.replayed(neighbour)
                assert verdict.passed, f"seed {seed}: {verdict.difference} {run.first!r} and {neighbour!r}"
            pairs += len(run.neighbours)
        return pairs


def on_pairs(neighbours: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test that is given `drawn`, the bytes of a few runs with so many neighbours each, until all were tried."""
    size = _BATCH * _BYTES
    chosen = settings(
        max_examples=1 - (-PAIRS // (_BATCH * neighbours)),  # and one more: the first is all 0
        phases=[Phase.generate, Phase.shrink],
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: chosen(given(drawn=st.binary(min_size=size, max_size=size))(test))
