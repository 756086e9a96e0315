"""The oracle under attack: how often all of its intervals hold, beside the same rows used again and again."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import dither as dp
from bench.adaptive_attacks import ATTACKS, Attack, Bits, Naive, Query, pure_noise
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better

CONFIDENCE = 0.95
RUNS = 1000


@dataclass(frozen=True, slots=True)
class Size:
    method: str
    queries: int
    accuracy: str


SIZES = (
    Size("gaussian", 200, "0.1"),
    Size("laplace", 5, "0.1"),
    Size("splitting", 10, "0.1"),
    Size("rounding", 10, "0.1"),
)
VISIBLY = 10.0
"""How many times more often the oracle's intervals must hold than naive ones, where noise is attacked."""


def rows() -> Iterator[Row]:
    for size in SIZES:
        for name in ATTACKS:
            yield from _attacked(size, name)
    yield from _rows_needed()


def _attacked(size: Size, name: str) -> Iterator[Row]:
    needed = dp.Oracle.needed(queries=size.queries, accuracy=size.accuracy, method=size.method)
    case = f"{name} of {size.queries} queries on {needed:,} rows, {size.method}"
    say(f"{case} ...")
    generator = np.random.default_rng(8)
    ours = naive = 0
    for _ in range(RUNS):
        sample = pure_noise(needed, size.queries, generator)
        reach = dp.Oracle(sample, queries=size.queries, adaptive=False, method="union").promise.accuracy
        ours += covers(sample, ATTACKS[name], size)
        naive += Naive(sample, reach).covers(ATTACKS[name], size.queries)
    yield more_is_better(
        f"{case}: all intervals hold", ours=ours / RUNS, peer="promised", peer_value=CONFIDENCE, asked=1.0,
        unit="of runs",
    )  # fmt: skip
    # Naive intervals that always fail are as good as once in all runs.
    yield more_is_better(
        f"{case}: all intervals hold", ours=ours / RUNS, peer="naive reuse", peer_value=max(naive, 1) / RUNS,
        asked=VISIBLY if (size.method, name) == ("gaussian", "overfitting") else None, unit="of runs",
    )  # fmt: skip


def covers(sample: Bits, attack: Attack, size: Size) -> bool:
    """Whether all intervals of one conversation hold the population's ½."""
    oracle = dp.Oracle(sample, queries=size.queries, accuracy=size.accuracy, confidence=CONFIDENCE, method=size.method)
    missed = 0

    def ask(query: Query) -> float:
        nonlocal missed
        answer = oracle.ask(query)
        low, high = answer.interval(CONFIDENCE)
        missed += not low <= 0.5 <= high
        return float(answer.value)

    attack(ask, size.queries)
    return not missed


def _rows_needed() -> Iterator[Row]:
    """What the noise saves, and from which number of queries on."""
    for queries in (10, 100, 1000, 10_000):
        ours = dp.Oracle.needed(queries=queries, accuracy="0.05")
        for peer in ("splitting", "rounding"):
            theirs = dp.Oracle.needed(queries=queries, accuracy="0.05", method=peer)
            yield less_is_better(
                f"rows for {queries:,} queries within 0.05, 95 %", ours=ours, peer=peer, peer_value=theirs, asked=1.0,
                unit="rows",
            )  # fmt: skip
