"""The topic `start`: how long it takes from a command to its answer, in a new process, on a small CSV file.

Beside it, the imports that a release cannot do without: NumPy, SciPy, DuckDB and Ibis. All commands run in turn, after
one run of each that warms the disk; the best wall and the best CPU time count, of the process and of all it starts.
Bytecode is kept between runs, as pip writes it when it installs a package.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import environment
from bench.child import Failed
from bench.progress import say
from bench.row import Row, less_is_better

REPETITIONS = 7
ROWS, PEOPLE, CITIES = 1000, 200, ("Paris", "Lyon", "Nice")
IMPORTS = "import numpy, scipy, duckdb, ibis"
LIMITS = {"dither plan": 0.8, "dither release": 1.0}
"""Seconds of wall time."""
_BYTECODE_IS_KEPT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
QUESTION = (
    "--person", "user_id", "--max-groups", "3", "--max-rows-per-group", "1", "--group-by", "city",
    "--keys", ",".join(CITIES), "--agg", "visits=count", "--agg", "spend=mean(cost, 0, 200)", "--epsilon", "0.5",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of a process to its end."""

    wall: float
    cpu: float

    def best(self, other: "Start") -> "Start":
        """The lower time of each kind."""
        return Start(min(self.wall, other.wall), min(self.cpu, other.cpu))


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        found = measured(commands(Path(name)), REPETITIONS)
    imports = found.pop(IMPORTS)
    for case, start in found.items():
        for kind, ours, theirs in (("CPU", start.cpu, imports.cpu), ("wall", start.wall, imports.wall)):
            yield less_is_better(
                f"{case}: {kind} time", ours=ours, peer=IMPORTS, peer_value=theirs, asked=None, unit="s"
            )
        if case in LIMITS:
            yield less_is_better(
                f"{case}: wall time", ours=start.wall, peer="limit", peer_value=LIMITS[case], asked=1.0, unit="s"
            )


def commands(folder: Path) -> dict[str, list[str]]:
    """What is run, by name; the file it is about is written here."""
    visits = folder / "visits.csv"
    lines = [f"{row % PEOPLE},{CITIES[row % len(CITIES)]},{row % 150}" for row in range(ROWS)]
    visits.write_text("\n".join(["user_id,city,cost", *lines]) + "\n", encoding="utf-8")
    python = str(environment.ours())
    dither = [python, "-m", "dither"]
    released = ["--ledger", str(folder / "visits.ledger"), "--budget-epsilon", "1000"]
    return {
        IMPORTS: [python, "-c", IMPORTS],
        "import dither": [python, "-c", "import dither"],
        "dither plan": [*dither, "plan", str(visits), *QUESTION],
        "dither release": [*dither, "release", str(visits), *QUESTION, *released],
    }


def measured(asked: Mapping[str, list[str]], repetitions: int) -> dict[str, Start]:
    """The best of so many runs of each command, in turn."""
    best: dict[str, Start] = {}
    for turn in range(repetitions + 1):
        say(f"run {turn} of {repetitions} ...")
        for name, command in asked.items():
            start = started(command)
            if turn:
                best[name] = start.best(best[name]) if name in best else start
    return best


def started(command: list[str]) -> Start:
    """One run, from its start to its end."""
    before = time.perf_counter()
    process = subprocess.Popen(command, env=_BYTECODE_IS_KEPT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - before
    if process.returncode:
        raise Failed(f"{command}: {said.decode()[-500:]}")
    return Start(wall, used.ru_utime + used.ru_stime)
