"""What a piece of work costs: CPU time, wall time and memory of this process and of those it started.

Linux only: it reads /proc. A Java machine that Spark runs in is a child like any other.
"""

import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU and wall time in seconds, of the cheapest of several runs; the peak of memory in bytes, of all of them."""

    cpu: float
    wall: float
    peak: float

    def best(self, other: "Cost") -> "Cost":
        """The lower time of each kind, and the higher peak."""
        return Cost(min(self.cpu, other.cpu), min(self.wall, other.wall), max(self.peak, other.peak))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Cost":
        return cls(**json.loads(line))


def cost_of(run: Callable[[], object], *, repetitions: int, calls: int = 1) -> Cost:
    """One call, in the best of several runs: everything that disturbs a measurement makes it longer.

    A run is so many calls: the clock of processor time has steps of 10 ms.
    """
    costs = []
    for _ in range(repetitions):
        gc.collect()
        cpu, wall = cpu_seconds(), time.perf_counter()
        for _ in range(calls):
            run()
        costs.append(((cpu_seconds() - cpu) / calls, (time.perf_counter() - wall) / calls))
    return Cost(min(cpu for cpu, _ in costs), min(wall for _, wall in costs), peak_bytes())


def cpu_seconds() -> float:
    """User and system time so far, of this process and its descendants, also of those that have ended."""
    ticks = 0
    for process in _family():
        fields = _stat(process)
        if fields is not None:
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICK


def peak_bytes() -> int:
    """The most memory that this process and each living descendant ever held, added up: an upper bound."""
    return sum(map(_peak, _family()))


def _family() -> Iterator[int]:
    """This process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def _stat(process: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name, which may hold anything; None if the process has gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _peak(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
