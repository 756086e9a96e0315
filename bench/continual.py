"""The topic `continual`: running totals of a year beside what is possible, a long stream, and kills."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa

from bench.environment import ROOT
from bench.row import Row, less_is_better, more_is_better, none_allowed
from dither.adjacency import ADD_REMOVE
from dither.continual.choice import RatedEncoder, chosen
from dither.continual.encrypted_file import EncryptedFile, new_key
from dither.continual.factorisations import lowest_error, tree_row_squares
from dither.continual.participation import ONCE
from dither.continual.periods import Horizon
from dither.continual.track import FRACTION_BITS, Track, TrackNoise
from dither.engine.group_sensitivity import Need
from dither.engine.moment_aggregates import Count
from dither.engine.over_time import OverTime
from dither.engine.plan import planned
from dither.engine.price import Terms
from dither.engine.running_stream import RunningStream
from dither.engine.stream_definition import Header, StreamDefinition
from dither.guarantees import ZCDP
from dither.ledger import Ledger
from dither.mechanisms import Gaussian
from dither.release import ReleasePath
from dither.unit import Neighbour

GROUPS, YEAR, LONG, STEPS, SIMULATED = 100, 365, 100_000, 10_000, 10_000
RHO = Fraction(1, 2)
COUNTS = np.arange(GROUPS)
KEYS = [f"city {place}" for place in range(GROUPS)]


def rows() -> Iterator[Row]:
    """What is asked of streams; a person is in one period and moves one number by 1.

    The long stream comes first: memory is what a process that has done nothing else grows by.
    """
    yield from _long()
    found = chosen(YEAR, [None], ONCE)
    case = f"RMS error of {YEAR} running totals in {GROUPS} groups"
    error = found.mean_square(None) ** 0.5
    lowest = (float(lowest_error(YEAR, [None])) * (YEAR + 1) / 2) ** 0.5
    sums, totals = tree_row_squares(YEAR)
    tree, each = (sums * float(totals.mean())) ** 0.5, ((YEAR + 1) / 2) ** 0.5
    unit = "per unit of noise"
    yield less_is_better(case, ours=error, peer="lowest possible", peer_value=lowest, asked=1 / 1.02, unit=unit)
    yield less_is_better(case, ours=error, peer="binary tree", peer_value=tree, asked=2.2, unit=unit)
    yield less_is_better(case, ours=error, peer="noise per day", peer_value=each, asked=4.5, unit=unit)
    yield _simulated(found)
    yield from _tested()


def _noise(rated: RatedEncoder) -> TrackNoise:
    moved = rated.encoder.moved(1, ONCE, 1)
    noising = Gaussian(sensitivity_squared=moved, rho=RHO, dimension=moved).for_integers
    assert noising is not None
    return TrackNoise(rated.encoder, noising)


def _simulated(rated: RatedEncoder) -> Row:
    """The mean square of all totals of 10^4 streams, beside what is predicted; the ratio is that of the smaller."""
    noise = _noise(rated)
    track, total, squares = Track(noise, SIMULATED), np.zeros(SIMULATED, dtype=object), 0.0
    for _ in range(YEAR):
        step = track.draw(np.zeros(SIMULATED, dtype=np.int64))
        track.add(step)
        total = total + step.decoded
        squares += float(((total / (1 << FRACTION_BITS)).astype(np.float64) ** 2).mean())
    drawn = (squares / YEAR) ** 0.5
    predicted = float((noise.lengths(None) ** 2).mean() * noise.variance) ** 0.5
    ratio = min(drawn / predicted, predicted / drawn)
    return Row(f"predicted error beside {SIMULATED} streams", predicted, "simulated", drawn, ratio, 0.98, "RMS error")


def _long() -> Iterator[Row]:
    """10^4 steps of a stream of 10^5 periods: time and memory beyond the engine's own query, and no drift.

    Ledger and state are real; in place of an engine there is a table of counts, ready to be read.
    """
    with tempfile.TemporaryDirectory() as folder:  # of ten periods: what it loads is there before memory is measured
        small, _ = _started(Path(folder), 10)
        small.step()
        small.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        stream, encoder = _started(Path(folder), LONG)
        totals, strays, seconds = np.zeros(GROUPS), 0, 0.0
        for _ in range(STEPS):
            began = time.process_time()
            answer = stream.step().to_arrow()
            seconds += time.process_time() - began
            totals += COUNTS
            low, high = (answer.column(f"visits_total_{end}").to_numpy() for end in ("low", "high"))
            strays += int(((totals < low) | (totals > high)).sum())
        stream.close()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    case = f"a step of {LONG} periods, {GROUPS} groups ({encoder})"
    yield less_is_better(case, ours=1000 * seconds / STEPS, peer="limit", peer_value=50, asked=1, unit="ms of CPU")
    memory = f"memory of {LONG} periods, after {STEPS} steps"
    yield less_is_better(memory, ours=max(grown, 0.1), peer="limit", peer_value=100, asked=1, unit="MB")
    yield none_allowed(f"totals of {STEPS} steps outside intervals of level 1 - 1e-9", found=strays, unit="totals")


def _tested() -> Iterator[Row]:
    """What tests count: kills at any call to the disk, and neighbouring streams that were replayed."""
    pairs, failed = _counts_of("replayed pairs", "not nightly", "tests/replay/test_streams.py")
    yield none_allowed(
        f"of {pairs} neighbouring streams, those that differ by more than was charged", found=failed, unit="tests"
    )
    for marker, asked in (("not nightly", 40), ("nightly", 1000)):
        kills, failed = _counts_of("kills", marker, "tests/continual/test_kills.py")
        said = "a commit" if asked == 40 else "a night"
        kept = f"kills between any two writes in {said}, every period answered once and charged once"
        yield more_is_better(kept, ours=0 if failed else kills, peer="asked", peer_value=asked, asked=1, unit="kills")


def _counts_of(counted: str, marker: str, tests: str) -> tuple[int, int]:
    """The sum of a property that tests record, and how many tests failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", marker, tests, "--junitxml", str(report)]
        command += ["-o", "junit_family=xunit1"]  # the one with properties of tests
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        suite = next(ElementTree.parse(report).iter("testsuite"))
    found = [int(each.attrib["value"]) for each in suite.iter("property") if each.attrib["name"] == counted]
    return sum(found), int(suite.attrib["failures"]) + int(suite.attrib["errors"])


class _Counts:
    """What stands for the rows of each period: the same counts."""

    def asking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def totals(self, measures: Mapping[str, Any], salt: int) -> _Counts:
        self.names = list(measures)
        return self

    def _rehearse(self) -> None: ...

    def _without_rows(self) -> pa.RecordBatch:
        return next(self._open()).slice(0, 0)

    def _open(self) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"city": KEYS, **dict.fromkeys(self.names, COUNTS)})


def _started(folder: Path, periods: int) -> tuple[RunningStream, str]:
    """A stream over these counts, with a ledger and a state on disk, and the name of its encoder."""
    ledger = Ledger(folder / "bench.ledger")
    ledger.open_account("visits", ZCDP(1, adjacency=ADD_REMOVE))
    terms = Terms(None, None, str(RHO), "gaussian", None, "0.999999999", population=False)

    def over(needs: Mapping[str, Need]) -> dict[str, Need]:
        return {key: OverTime(need, periods, (None,), ONCE) for key, need in needs.items()}

    plan = planned({"visits": Count(people=False)}, Neighbour(1, 1, ADD_REMOVE), False, terms, (), over)
    rows = _Counts()
    origin = SimpleNamespace(_source=SimpleNamespace(engine=rows), release_path=ReleasePath(ledger, "visits"))
    query = SimpleNamespace(origin=origin, public_keys=pa.table({"city": KEYS}))
    asked: Any = SimpleNamespace(query=query, _bounded=rows)
    file = EncryptedFile(folder / "bench.stream", new_key(), create=True)
    header = Header.new("visits; add or remove one record", plan, ("total",))
    file.append(header.written())
    horizon = Horizon(date(2026, 1, 1), periods)
    definition = StreamDefinition(header, header.words, plan, header.show, horizon, None, lambda period: asked)
    (encoder,) = header.encoders.values()
    return RunningStream(definition, file), encoder.name
