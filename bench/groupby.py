"""The topic `groupby`: a private group-by against the plain query of the same engine and against the peers.

Every case runs in a process of its own, on two cores. The drawing of noise is measured by itself.
A case that cannot be measured is a missed row that says why; a peer that cannot is met with a figure that is quoted.
"""

import json
import subprocess
from collections.abc import Generator, Iterator
from functools import reduce
from pathlib import Path

from bench import environment
from bench.child import Failed, last_line
from bench.groupby_case import FEW_GROUPS, MANY_GROUPS, MEMORY_PER_ROW
from bench.meter import Cost
from bench.progress import say
from bench.row import Row, less_is_better, none_allowed

ROWS, ROWS_FOR_TUMULT = 10**7, 10**6
READY_GROUPS = 10**6
ROUNDS = 2

COUNTED, DISTRIBUTION = "GROUP BY with COUNT(DISTINCT)", "GROUP BY with AVG, MEDIAN, QUANTILE"
DUCKDB_TIMES, MEMORY_TIMES, DISTRIBUTION_TIMES, FOUND_TIMES, POSTGRES_TIMES, SPARK_TIMES = 1.2, 1.4, 1.5, 1.5, 1.5, 1.5
"""How many times as long as the plain query on the same engine ours may take, in CPU time."""
OPENDP_TIMES = 5.0
TUMULT_TIMES = 50.0
MEMORY_LIMIT_MB = 2000.0
DRAWING_SECONDS = 2.0
OPENING_SECONDS = 0.05

QUOTED_SECONDS = {"OpenDP": 55.0, "Tumult": 127.0}
"""Wall times of an earlier measurement on two cores, for a peer that cannot be measured now."""


def rows() -> Iterator[Row]:
    ours = yield from _against_plain("DuckDB", "duckdb", DUCKDB_TIMES)
    if ours is not None:
        yield less_is_better(
            f"DuckDB, {ROWS:,} rows, peak memory", ours=ours.peak / 1e6, peer="limit",
            peer_value=MEMORY_LIMIT_MB, asked=1.0, unit="MB",
        )  # fmt: skip
        yield from _against_peer(f"DuckDB, {ROWS:,} rows", ours, "OpenDP", _tried("OpenDP"), OPENDP_TIMES)
    memory = f"{MEMORY_PER_ROW * ROWS / 1e9:g} GB of memory"
    yield from _against_plain(f"DuckDB within {memory}", "within memory", MEMORY_TIMES)
    yield from _against_plain(
        f"DuckDB, mean, median and 0.9 quantile of {FEW_GROUPS} groups",
        "distribution",
        DISTRIBUTION_TIMES,
        DISTRIBUTION,
    )
    yield from _against_plain(f"DuckDB, {MANY_GROUPS:,} candidates for found keys", "found keys", FOUND_TIMES)
    yield from _on_postgresql()
    yield from _opening()
    yield from _against_plain("Spark", "spark", SPARK_TIMES)
    yield from _against_tumult()
    for groups in ("found", "public"):
        yield _drawing_row(groups)


def _against_plain(engine: str, case: str, times: float, query: str = COUNTED) -> Generator[Row, None, Cost | None]:
    """Ours and the plain query in turn, so that a machine that is busy for a while slows down both."""
    name = f"{engine}, {ROWS:,} rows"
    say(f"{name}, and its own GROUP BY ...")
    try:
        pairs = [(_ours(case, ROWS), _cost("bench.plain_groupby", case, str(ROWS))) for _ in range(ROUNDS)]
    except Failed as failure:
        yield _not_measured(name, failure)
        return None
    ours = reduce(Cost.best, (each for each, _ in pairs))
    plain = reduce(Cost.best, (each for _, each in pairs))
    yield from _time_rows(name, ours, query, plain, asked_cpu=1 / times, asked_wall=None)
    return ours


def _on_postgresql() -> Iterator[Row]:
    """One server with one table answers both in turn."""
    name = f"PostgreSQL, {ROWS:,} rows"
    say(f"{name}, and its own GROUP BY ...")
    try:
        found = json.loads(last_line(environment.ours(), "bench.postgres_groupby", [str(ROWS)]))
    except Failed as failure:
        yield _not_measured(name, failure)
        return
    ours, plain = (Cost(**found[who]) for who in ("ours", "plain"))
    yield from _time_rows(name, ours, COUNTED, plain, asked_cpu=1 / POSTGRES_TIMES, asked_wall=None)


def _opening() -> Iterator[Row]:
    """A file with a text and a time, of which all values are looked at when it is first opened."""
    name = f"DuckDB, {ROWS:,} rows with a text and a time"
    say(f"{name}: opening ...")
    try:
        first, later = _ours("first opening", ROWS), _ours("later opening", ROWS)
        plain = _cost("bench.plain_groupby", "duckdb", str(ROWS))
    except Failed as failure:
        yield _not_measured(name, failure)
        return
    yield from _time_rows(f"{name}, first opening", first, COUNTED, plain, asked_cpu=1.0, asked_wall=1.0)
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
            ours = _ours(case, ROWS_FOR_TUMULT)
        except Failed as failure:
            yield _not_measured(name, failure)
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
    yield from _time_rows(name, ours, peer, theirs, asked_cpu=asked, asked_wall=asked)
    yield less_is_better(
        f"{name}, peak memory", ours=ours.peak / 1e6, peer=peer, peer_value=theirs.peak / 1e6, asked=None, unit="MB"
    )


def _tried(peer: str) -> Cost | Failed:
    """What the peer needs, or why it cannot be measured here."""
    say(f"{peer} ...")
    try:
        if peer == "OpenDP":
            return _cost("bench.peers.opendp_groupby", _data(ROWS), python=environment.PEERS.interpreter())
        return _cost("bench.peers.tumult_groupby", _data(ROWS_FOR_TUMULT), python=environment.TUMULT.interpreter())
    except Failed as failure:
        return failure
    except subprocess.CalledProcessError:
        return Failed("it cannot be installed")


def _time_rows(
    name: str, ours: Cost, peer: str, theirs: Cost, *, asked_cpu: float | None, asked_wall: float | None
) -> Iterator[Row]:
    for kind, our, their, asked in (
        ("CPU time", ours.cpu, theirs.cpu, asked_cpu),
        ("wall time", ours.wall, theirs.wall, asked_wall),
    ):
        yield less_is_better(f"{name}, {kind}", ours=our, peer=peer, peer_value=their, asked=asked, unit="s")


def _drawing_row(groups: str) -> Row:
    name = f"noise and intervals for {READY_GROUPS:,} {groups} groups, CPU time"
    say(f"{name} ...")
    try:
        cost = _ours(f"{groups} groups", READY_GROUPS)
    except Failed as failure:
        return _not_measured(name, failure)
    return less_is_better(name, ours=cost.cpu, peer="limit", peer_value=DRAWING_SECONDS, asked=1.0, unit="s")


def _not_measured(name: str, failure: Failed) -> Row:
    return none_allowed(f"{name}: not measured: {failure}", found=1, unit="")


def _ours(case: str, rows: int) -> Cost:
    return _cost("bench.ours_groupby", case, str(rows))


def _data(rows: int) -> str:
    """The path of the table, which our own interpreter writes: it has Arrow."""
    return last_line(environment.ours(), "bench.groupby_case", [str(rows)])


def _cost(module: str, *arguments: str, python: Path | None = None) -> Cost:
    return Cost.from_json(last_line(python or environment.ours(), module, arguments))
