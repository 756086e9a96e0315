"""The topic `groupby`: a private group-by against the plain query of the same engine and against the peers.

Every case runs in a process of its own, on two cores. The drawing of noise is measured by itself.
A case that cannot be measured is a missed row that says why; a peer that cannot is met with a figure that is quoted.
"""

import subprocess
from collections.abc import Iterator

from bench import engines, environment
from bench.child import Failed, last_line
from bench.engines import COUNTED, ROWS, cost_of, cost_of_ours, not_measured, time_rows
from bench.meter import Cost
from bench.progress import say
from bench.row import Row, less_is_better

ROWS_FOR_TUMULT = 10**6
READY_GROUPS = 10**6

OPENDP_TIMES = 5.0
TUMULT_TIMES = 50.0
MEMORY_LIMIT_MB = 2000.0
DRAWING_SECONDS = 2.0
OPENING_SECONDS = 0.05

QUOTED_SECONDS = {"OpenDP": 55.0, "Tumult": 127.0}
"""Wall times of an earlier measurement on two cores, for a peer that cannot be measured now."""


def rows() -> Iterator[Row]:
    ours = yield from engines.on_duckdb()
    if ours is not None:
        yield less_is_better(
            f"DuckDB, {ROWS:,} rows, peak memory", ours=ours.peak / 1e6, peer="limit",
            peer_value=MEMORY_LIMIT_MB, asked=1.0, unit="MB",
        )  # fmt: skip
        yield from _against_peer(f"DuckDB, {ROWS:,} rows", ours, "OpenDP", _tried("OpenDP"), OPENDP_TIMES)
    yield from _opening()
    yield from engines.on_others()
    yield from _against_tumult()
    for groups in ("found", "public"):
        yield _drawing_row(groups)


def _opening() -> Iterator[Row]:
    """A file with a text and a time, of which all values are looked at when it is first opened."""
    name = f"DuckDB, {ROWS:,} rows with a text and a time"
    say(f"{name}: opening ...")
    try:
        first, later = cost_of_ours("first opening", ROWS), cost_of_ours("later opening", ROWS)
        plain = cost_of("bench.plain_groupby", "duckdb", str(ROWS))
    except Failed as failure:
        yield not_measured(name, failure)
        return
    yield from time_rows(f"{name}, first opening", first, COUNTED, plain, asked_cpu=1.0, asked_wall=1.0)
    yield less_is_better(
        f"{name}, a later opening, CPU time",
        ours=later.cpu,
        peer="limit",
        peer_value=OPENING_SECONDS,
        asked=1.0,
        unit="s",
    )


def _against_tumult() -> Iterator[Row]:
    """Asked of our default engine; on Spark, which Tumult runs on as well, the ratio is only shown."""
    theirs: Cost | Failed | None = None
    for engine, case, asked in (("DuckDB", "duckdb", TUMULT_TIMES), ("Spark", "spark", None)):
        name = f"{engine}, {ROWS_FOR_TUMULT:,} rows"
        say(f"{name} ...")
        try:
            ours = cost_of_ours(case, ROWS_FOR_TUMULT)
        except Failed as failure:
            yield not_measured(name, failure)
            continue
        theirs = _tried("Tumult") if theirs is None else theirs
        yield from _against_peer(name, ours, "Tumult", theirs, asked)


def _against_peer(name: str, ours: Cost, peer: str, theirs: Cost | Failed, asked: float | None) -> Iterator[Row]:
    if isinstance(theirs, Failed):
        quoted = f"{peer}, quoted and not measured: {theirs}"
        yield less_is_better(
            f"{name}, wall time", ours=ours.wall, peer=quoted, peer_value=QUOTED_SECONDS[peer], asked=None, unit="s"
        )
        return
    yield from time_rows(name, ours, peer, theirs, asked_cpu=asked, asked_wall=asked)
    yield less_is_better(
        f"{name}, peak memory", ours=ours.peak / 1e6, peer=peer, peer_value=theirs.peak / 1e6, asked=None, unit="MB"
    )


def _tried(peer: str) -> Cost | Failed:
    """What the peer needs, or why it cannot be measured here."""
    say(f"{peer} ...")
    try:
        if peer == "OpenDP":
            return cost_of("bench.peers.opendp_groupby", _data(ROWS), python=environment.PEERS.interpreter())
        return cost_of("bench.peers.tumult_groupby", _data(ROWS_FOR_TUMULT), python=environment.TUMULT.interpreter())
    except Failed as failure:
        return failure
    except subprocess.CalledProcessError:
        return Failed("it cannot be installed")


def _drawing_row(groups: str) -> Row:
    name = f"noise and intervals for {READY_GROUPS:,} {groups} groups, CPU time"
    say(f"{name} ...")
    try:
        cost = cost_of_ours(f"{groups} groups", READY_GROUPS)
    except Failed as failure:
        return not_measured(name, failure)
    return less_is_better(name, ours=cost.cpu, peer="limit", peer_value=DRAWING_SECONDS, asked=1.0, unit="s")


def _data(rows: int) -> str:
    """The path of the table, which our own interpreter writes: it has Arrow."""
    return last_line(environment.ours(), "bench.groupby_case", [str(rows)])
