"""Something that is replayed on many pairs of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.audit.rerun import Replayed, replay
from tests.replay.drawing import Choices, Strategy, integers

__all__ = ["PAIRS", "Case", "Run", "on_pairs"]

PAIRS = 10_000 if settings().max_examples >= 5_000 else 200
"""So many pairs of each: more in the nightly run."""

_BATCH = 10
_BYTES = 128
_SEEDS = integers(0, 255)


@dataclass(frozen=True)
class Run:
    """A pipeline and two neighbours."""

    pipeline: Callable[[Any], Any]
    first: Any
    second: Any

    def replayed(self, seed: int) -> Replayed:
        return replay(self.pipeline, self.first, self.second, seed=seed)


@dataclass(frozen=True)
class Case:
    """What is covered, and where the pairs come from."""

    name: str
    covers: frozenset[str]
    runs: Strategy

    def __str__(self) -> str:
        return self.name

    def check(self, drawn: bytes) -> int:
        """Replay the pairs that these bytes tell of; their number, 0 if the bytes are all 0 (as the first ones are)."""
        starts = range(0, len(drawn), _BYTES)
        for start in starts:
            choices = Choices(drawn[start : start + _BYTES])
            seed, run = _SEEDS(choices), self.runs(choices)
            verdict = run.replayed(seed)
            assert verdict.passed, f"seed {seed}: {verdict.difference} {run.first!r} and {run.second!r}"
        return len(starts) if any(drawn) else 0


def on_pairs(test: Callable[..., None]) -> Callable[..., None]:
    """A test that is given `drawn`, the bytes of a few pairs, until all pairs were tried."""
    size = _BATCH * _BYTES
    examples = PAIRS // _BATCH + 1  # the first one is all 0
    chosen = settings(
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink],
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return chosen(given(drawn=st.binary(min_size=size, max_size=size))(test))
