"""CPU time of several contenders on the same work, interleaved."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """What one contender does in one repetition; `samples` is how many samples `run` draws."""

    who: str
    samples: int
    run: Callable[[], object]


def samples_per_second(works: Sequence[Work], *, repetitions: int) -> list[float]:
    """The best rate of each contender over interleaved repetitions, in CPU time, after one warm-up each.

    Interleaved, so that a machine that slows down for a while slows down everyone; the best, because
    everything that disturbs a measurement makes it longer.
    """
    for work in works:
        work.run()
    best = [float("inf")] * len(works)
    for _ in range(repetitions):
        for i, work in enumerate(works):
            best[i] = min(best[i], cpu_seconds(work.run))
    return [work.samples / seconds for work, seconds in zip(works, best, strict=True)]


def cpu_seconds(run: Callable[[], object]) -> float:
    """The CPU time of one run, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        run()
        return time.process_time() - start
    finally:
        gc.enable()
