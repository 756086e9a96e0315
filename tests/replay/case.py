"""Something that is replayed on many pairs of neighbours."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import settings

from dither.audit.rerun import Replayed, replay
from tests.replay.drawing import Strategy

__all__ = ["PAIRS", "Case", "Run", "search"]

PAIRS = 10_000 if settings().max_examples >= 5_000 else 200
"""So many pairs of each: more in the nightly run."""


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
    is_long: bool = False
    """Whether a pair takes a tenth of a second: then a commit tries a tenth of the pairs."""

    def __str__(self) -> str:
        return self.name


def search(case: Case) -> int:
    """Replay many pairs; the number that were replayed."""
    pairs = PAIRS // 10 if case.is_long and PAIRS < 10_000 else PAIRS
    for number in range(pairs):
        run: Run = case.runs(random.Random(f"{case.name} {number}"))
        verdict = run.replayed(number)
        assert verdict.passed, f"pair {number}: {verdict.difference} {run.first!r} and {run.second!r}"
    return pairs
