"""The topic `ledger`: durable charges a second, by one writer and by 64 at once.

The 64 are threads of one process, as in the service, and then processes. Each charges until the cap is reached; that it
is kept exactly is a row. One writer and the 64 are measured in turn, so that a machine or a disk that is busy for a
while slows down both, and the better of the runs counts. Ledgers are written on the disk of the repository.
"""

from collections.abc import Iterator

from bench import environment
from bench.child import Failed, last_line
from bench.ledger_case import Writing
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better, none_allowed

ROUNDS = 3
WRITERS = 64
CHARGES_ALONE, CHARGES = 400, 2560
DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
KINDS = ("threads", "processes")

CHARGES_PER_SECOND = 300.0
TIMES = 4.0
"""What the 64 are asked to make together, in rates of one."""


def rows() -> Iterator[Row]:
    for database, name in DATABASES.items():
        say(f"{name} ...")
        try:
            alone, together = _measured(database)
        except Failed as failure:
            yield none_allowed(f"{name}: not measured: {failure}", found=1, unit="")
            continue
        yield from alone_rows(name, alone)
        for kind, writing in together.items():
            yield from together_rows(f"{name}, {WRITERS} {kind}", writing, alone)


def _measured(database: str) -> tuple[Writing, dict[str, Writing]]:
    alone: list[Writing] = []
    together: dict[str, list[Writing]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in KINDS:
            alone.append(_written(database, kind, 1, CHARGES_ALONE))
            together[kind].append(_written(database, kind, WRITERS, CHARGES))
    return Writing.best(alone), {kind: Writing.best(runs) for kind, runs in together.items()}


def _written(database: str, kind: str, writers: int, charges: int) -> Writing:
    return Writing.from_json(
        last_line(environment.ours(), "bench.ours_ledger", [database, kind, str(writers), str(charges)])
    )


def alone_rows(name: str, writing: Writing) -> Iterator[Row]:
    """A rate is asked of one writer where so many fsyncs take less than half of the time."""
    case = f"{name}, one writer (an fsync takes {1000 * writing.sync:.2f} ms)"
    asked = 1.0 if CHARGES_PER_SECOND * writing.sync <= 0.5 else None
    yield more_is_better(
        f"{case}: durable charges", ours=writing.rate, peer="limit", peer_value=CHARGES_PER_SECOND, asked=asked,
        unit="/s",
    )  # fmt: skip
    yield from _caps_and_cost(f"{name}, one writer", writing)


def together_rows(case: str, writing: Writing, alone: Writing) -> Iterator[Row]:
    """Together they share what one writer spends most of its time on."""
    yield more_is_better(
        f"{case}: durable charges", ours=writing.rate, peer="one writer", peer_value=alone.rate, asked=TIMES, unit="/s"
    )
    yield from _caps_and_cost(case, writing)


def _caps_and_cost(case: str, writing: Writing) -> Iterator[Row]:
    yield less_is_better(
        f"{case}: CPU time of a charge", ours=1000 * writing.cpu / writing.charges, peer="an fsync",
        peer_value=1000 * writing.sync, asked=None, unit="ms",
    )  # fmt: skip
    yield none_allowed(f"{case}: charges beyond or short of the cap", found=writing.off, unit="charges")
