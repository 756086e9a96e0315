"""The topic `accuracy`: a gauntlet of data that nobody tuned for, both of our doors, and the peers beside.

Settings are drawn by seed until the time is over: a question about a family of data, a number of records, ε, bounds, an
adjacency. In each, everyone answers the same question about the same records, with the same public facts.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import accuracy_cells, accuracy_report, ours_accuracy
from bench.accuracy_case import QUESTIONS, Data, Estimator, Setting, settings
from bench.accuracy_options import Options
from bench.accuracy_report import Outcome
from bench.accuracy_runs import Contender, by_group, measure
from bench.families import Floats, families, real_columns
from bench.hindsight import best_clip
from bench.peers import diffprivlib_accuracy, opendp_accuracy, pydp_accuracy
from bench.progress import bar
from bench.row import Row, less_is_better
from bench.timing import samples_per_second

PEERS = (diffprivlib_accuracy, opendp_accuracy, pydp_accuracy)
LEAST_SECONDS, MOST_SECONDS = 0.15, 2.0
"""CPU time for one contender in one setting: less in a short run, so that there are many settings."""
SECONDS_LIMIT = 0.3
VALUES = 10**6


def rows(arguments: Sequence[str] = ()) -> Iterator[Row]:
    options = Options.parsed(arguments)
    if options.report:
        yield from accuracy_report.rows(list(accuracy_cells.outcomes(options.report)))
        return
    yield from accuracy_report.rows(list(_outcomes(options)))
    yield _time_row()


def _outcomes(options: Options) -> Iterator[Outcome]:
    """In CPU time, so that a busy machine measures as much."""
    start, end = time.process_time(), 60 * options.minutes
    seconds = min(max(options.minutes / 100, LEAST_SECONDS), MOST_SECONDS)
    memory = Path("/dev/shm")  # a ledger on disk would wait for it at each of many thousand charges
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None))
        cells = stack.enter_context(open(options.cells, "a")) if options.cells else None
        for number, setting in enumerate(_settings(options)):
            spent = time.process_time() - start
            if spent > end:
                break
            bar(spent / end, f"{number} settings, {setting}")
            outcome = _outcome(setting, options.door, Path(folder), seconds)
            if cells is not None:
                cells.write(f"{accuracy_cells.line(outcome, options.seed)}\n")
                cells.flush()
            yield outcome
    bar(1.0, "done")


def _settings(options: Options) -> Iterator[Setting]:
    """Of the questions, families and sizes that are wanted."""
    questions = [question for question in QUESTIONS if options.only in question.name]
    known = [each for each in (*families(options.seed), *real_columns()) if options.family in each.name]
    return (setting for setting in settings(options.seed, known, questions) if setting.n <= options.largest)


def _outcome(setting: Setting, door: str, folder: Path, seconds: float) -> Outcome:
    data = Data.of(setting)
    contenders = [each for each in _ours(data, folder) if door in ("", each.who)]
    measured = [measure(each, data, seconds=seconds) for each in contenders]
    measured += [measure(each, data, seconds=seconds) for each in _peers(data)]
    for ledger in folder.iterdir():
        ledger.unlink()
    return Outcome(setting, measured, best_clip(data) if setting.question.name == "mean" else None)


def _ours(data: Data, folder: Path) -> Iterator[Contender]:
    yield ours_accuracy.stats(data)
    yield ours_accuracy.dataset(data, folder)


def _peers(data: Data) -> Iterator[Contender]:
    """None of them gives an interval of a quantile, so none is beside ours where a part of ε pays for that."""
    if data.setting.question.interval:
        return
    for peer in PEERS:
        try:
            estimator = peer.estimator(data.setting)
        except Exception as error:  # a peer that cannot be built is a peer that raised
            estimator = _raising(error)
        if estimator is not None:
            yield by_group(peer.WHO, estimator, data)


def _raising(error: Exception) -> Estimator:
    def estimator(data: Floats) -> float:
        raise error

    return estimator


def _time_row() -> Row:
    (rate,) = samples_per_second([ours_accuracy.many_values(VALUES)], repetitions=5)
    return less_is_better(
        "median and five quantiles of 10^6 values, CPU time", ours=VALUES / rate, peer="limit",
        peer_value=SECONDS_LIMIT, asked=1.0, unit="s",
    )  # fmt: skip
