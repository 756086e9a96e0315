"""The topic `engines`: a private group-by against the plain query of the same engine. It needs no peers.

Every case runs in a process of its own, on two cores. A case that cannot be measured is a missed row that says why.
"""

import json
from collections.abc import Generator, Iterator
from functools import reduce
from pathlib import Path

from bench import environment
from bench.child import Failed, last_line
from bench.groupby_case import FEW_GROUPS, MANY_GROUPS, MEMORY_PER_ROW
from bench.meter import Cost
from bench.progress import say
from bench.row import Row, less_is_better, none_allowed

ROWS = 10**7
ROUNDS = 2

COUNTED, DISTRIBUTION = "GROUP BY with COUNT(DISTINCT)", "GROUP BY with AVG, MEDIAN, QUANTILE"
DUCKDB_TIMES, MEMORY_TIMES, DISTRIBUTION_TIMES, FOUND_TIMES, POSTGRES_TIMES, SPARK_TIMES = 1.2, 1.4, 1.5, 1.5, 1.5, 1.5
"""How many times as long as the plain query on the same engine ours may take, in CPU time."""


def rows() -> Iterator[Row]:
    yield from on_duckdb()
    yield from on_others()


def on_duckdb() -> Generator[Row, None, Cost | None]:
    """Counts and sums, the question that the peers are asked too; what ours cost."""
    return (yield from _against_plain("DuckDB", "duckdb", DUCKDB_TIMES))


def on_others() -> Iterator[Row]:
    """Little memory, other questions, other engines."""
    memory = f"{MEMORY_PER_ROW * ROWS / 1e9:g} GB of memory"
    yield from _against_plain(f"DuckDB within {memory}", "within memory", MEMORY_TIMES)
    few = f"DuckDB, mean, median and 0.9 quantile of {FEW_GROUPS} groups"
    yield from _against_plain(few, "distribution", DISTRIBUTION_TIMES, DISTRIBUTION)
    yield from _against_plain(f"DuckDB, {MANY_GROUPS:,} candidates for found keys", "found keys", FOUND_TIMES)
    yield from _on_postgresql()
    yield from _against_plain("Spark", "spark", SPARK_TIMES)


def _against_plain(engine: str, case: str, times: float, query: str = COUNTED) -> Generator[Row, None, Cost | None]:
    """Ours and the plain query in turn, so that a machine that is busy for a while slows down both."""
    name = f"{engine}, {ROWS:,} rows"
    say(f"{name}, and its own GROUP BY ...")
    try:
        pairs = [(cost_of_ours(case, ROWS), cost_of("bench.plain_groupby", case, str(ROWS))) for _ in range(ROUNDS)]
    except Failed as failure:
        yield not_measured(name, failure)
        return None
    own = reduce(Cost.best, (each for each, _ in pairs))
    plain = reduce(Cost.best, (each for _, each in pairs))
    yield from time_rows(name, own, query, plain, asked_cpu=1 / times, asked_wall=None)
    return own


def _on_postgresql() -> Iterator[Row]:
    """One server with one table answers both in turn."""
    name = f"PostgreSQL, {ROWS:,} rows"
    say(f"{name}, and its own GROUP BY ...")
    try:
        found = json.loads(last_line(environment.ours(), "bench.postgres_groupby", [str(ROWS)]))
    except Failed as failure:
        yield not_measured(name, failure)
        return
    own, plain = (Cost(**found[who]) for who in ("ours", "plain"))
    yield from time_rows(name, own, COUNTED, plain, asked_cpu=1 / POSTGRES_TIMES, asked_wall=None)


def time_rows(
    name: str, ours: Cost, peer: str, theirs: Cost, *, asked_cpu: float | None, asked_wall: float | None
) -> Iterator[Row]:
    for kind, our, their, asked in (
        ("CPU time", ours.cpu, theirs.cpu, asked_cpu),
        ("wall time", ours.wall, theirs.wall, asked_wall),
    ):
        yield less_is_better(f"{name}, {kind}", ours=our, peer=peer, peer_value=their, asked=asked, unit="s")


def not_measured(name: str, failure: Failed) -> Row:
    return none_allowed(f"{name}: not measured: {failure}", found=1, unit="")


def cost_of_ours(case: str, rows: int) -> Cost:
    return cost_of("bench.ours_groupby", case, str(rows))


def cost_of(module: str, *arguments: str, python: Path | None = None) -> Cost:
    return Cost.from_json(last_line(python or environment.ours(), module, arguments))
