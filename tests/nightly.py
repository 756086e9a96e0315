"""The long run: every long test, and a wider random search, for as many hours as the night has.

    python -m tests.nightly            # NIGHT_HOURS=2 unless set; started again, it goes on where it stopped

The work is cut into shards: each long test (marked `nightly`) is one, or several if it has many cases, and so is each
file of Hypothesis tests, which is run with more and fresh examples. Shards run side by side, one per core, each in a
process of its own. What passed is remembered in build/nightly for the commit at hand, so a second run does the rest;
what failed is run again. No shard starts when the time is up, and one that is still running then is stopped and
counts as not finished.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["Night", "Shard", "hours", "main"]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "nightly"
MOST_CASES = 40
"""Cases of one function that share a shard."""
FEW_CASES = 8
"""A function with so few cases at most has long ones: each is a shard."""
_PATIENCE = 30
"""Seconds that an interrupted run has to put its things away."""
_NO_WATCH = ("-o", "faulthandler_timeout=0")
"""Long tests take longer than a test that hangs; and to show where threads are while they run may end the process."""
_SEARCHED = "hypothesis and not nightly"
"""Tests with random examples, which Hypothesis marks; the others of their files would only be repeated."""
_COUNTED = re.compile(r"^(\d+) (.*; .*)$", re.M)
"""Lines in which tests say how often they acted a fault out (tests/conftest.py)."""


@dataclass(frozen=True)
class Shard:
    """What one process of pytest runs."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a shard: "passed", "failed" or "not finished"; how long it took, and what it counted."""

    state: str
    seconds: float
    counted: Mapping[str, int]


def hours(text: str | None) -> float:
    """The value of NIGHT_HOURS: a positive number of hours, 2 unless it is set."""
    try:
        found = float(text or 2)
    except ValueError:
        found = float("nan")
    if not 0 < found < float("inf"):
        raise SystemExit(f"NIGHT_HOURS must be a positive number of hours, got {text!r}.")
    return found


def shards() -> list[Shard]:
    """All of them: long tests, function by function, then files of random search."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "nightly"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    tests: dict[str, list[str]] = {}
    for line in listed.splitlines():
        if "::" in line:
            tests.setdefault(line.partition("[")[0], []).append(line)
    return [*_long(tests), *_searches()]


def _long(tests: dict[str, list[str]]) -> Iterator[Shard]:
    for name, cases in tests.items():
        if len(cases) <= FEW_CASES:
            yield from (Shard(case, ("-m", "nightly", case)) for case in cases)
            continue
        for at in range(0, len(cases), MOST_CASES):
            part = f" ({at + 1} to {min(at + MOST_CASES, len(cases))})" if len(cases) > MOST_CASES else ""
            yield Shard(name + part, ("-m", "nightly", *cases[at : at + MOST_CASES]))


def _searches() -> Iterator[Shard]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "from hypothesis" in path.read_text():
            name = str(path.relative_to(ROOT))
            yield Shard(f"{name}, wider search", ("-m", _SEARCHED, "--hypothesis-profile", "nightly", name))


class Night:
    """Runs shards until all are done or the time is up, and remembers what passed."""

    def __init__(self, state: Path, seconds: float) -> None:
        self.state = state
        self.deadline = time.monotonic() + seconds
        self.longest = seconds / 4
        """No shard may take longer than this, so that one cannot take the whole night."""
        self.before: dict[str, dict[str, Any]] = json.loads(state.read_text()) if state.exists() else {}
        self.outcomes: dict[str, Outcome] = {}
        self._writing = Lock()

    def run(self, work: Sequence[Shard], at_once: int) -> None:
        """Those that did not pass before, each in its turn."""
        left = [shard for shard in work if self.before.get(shard.name, {}).get("state") != "passed"]
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(self._one, left))

    def _one(self, shard: Shard) -> None:
        seconds = min(self.longest, self.deadline - time.monotonic())
        if not seconds > 0:
            return
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_NO_WATCH, *shard.arguments]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
                state = "passed" if process.returncode == 0 else "failed"
            except subprocess.TimeoutExpired:
                state, output = "not finished", _stopped(process)
        counted = {meaning: int(number) for number, meaning in _COUNTED.findall(output)}
        self._note(shard, Outcome(state, time.monotonic() - began, counted), output)

    def _note(self, shard: Shard, outcome: Outcome, output: str) -> None:
        with self._writing:
            self.outcomes[shard.name] = outcome
            kept = {"state": outcome.state, "seconds": round(outcome.seconds, 1), "counted": outcome.counted}
            self.before[shard.name] = kept
            self.state.parent.mkdir(parents=True, exist_ok=True)
            self.state.write_text(json.dumps(self.before, indent=1, ensure_ascii=False))
            print(f"{outcome.state:12} {outcome.seconds:7.0f} s  {shard.name}", flush=True)
            if outcome.state == "failed":
                log = self.state.parent / (re.sub(r"\W+", "_", shard.name) + ".log")
                log.write_text(output)
                print(f"             what it said: {log.relative_to(ROOT)}", flush=True)

    def summary(self, work: Sequence[Shard]) -> str:
        """What ran, what did not, and what was counted."""
        states = {shard.name: str(self.before.get(shard.name, {}).get("state", "not run")) for shard in work}
        counts = {
            state: list(states.values()).count(state) for state in ("passed", "failed", "not finished", "not run")
        }
        lines = [", ".join(f"{count} {state}" for state, count in counts.items())]
        for state in ("failed", "not finished", "not run"):
            lines += [f"  {state}: {name}" for name, found in states.items() if found == state]
        lines += [f"  {number:,} {meaning}" for meaning, number in self._counted(work).items()]
        if counts["not finished"] or counts["not run"]:
            lines.append("Run `make nightly` again to go on, with more NIGHT_HOURS for what did not finish.")
        return "\n".join(lines)

    def _counted(self, work: Sequence[Shard]) -> Mapping[str, int]:
        """What all shards counted together, also in the runs of this commit before."""
        found = Counter[str]()
        for shard in work:
            found.update(self.before.get(shard.name, {}).get("counted", {}))
        return found

    @property
    def failed(self) -> bool:
        """Whether any shard failed in this run."""
        return any(outcome.state == "failed" for outcome in self.outcomes.values())


def _stopped(process: subprocess.Popen[str]) -> str:
    """Interrupt a run, so that it stops the servers it started; end the whole group if it does not listen."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=_PATIENCE)[0]
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def _commit() -> str:
    """What is tested: the tree of the commit. If files differ from it the name is a new one, and nothing is resumed."""
    tree = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    dirty = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return f"{tree[:16] or 'no-git'}{f'-changed-{int(time.time())}' if dirty else ''}"


def main() -> int:
    """The exit code: 1 if a shard failed."""
    night = Night(FOLDER / f"{_commit()}.json", 3600 * hours(os.environ.get("NIGHT_HOURS")))
    work = shards()
    print(f"{len(work)} shards; results in {night.state.relative_to(ROOT)}", flush=True)
    night.run(work, at_once=os.cpu_count() or 1)
    print(night.summary(work))
    return int(night.failed)


if __name__ == "__main__":
    sys.exit(main())
