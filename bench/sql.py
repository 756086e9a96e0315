"""The topic `sql`: TPC-H at scale 1 with the customer protected, against the plain query on DuckDB and the peers; and
how long texts of the grammar take to compile.

All queries run in one process, ours and the plain one in turn. A peer is asked which of the 22 texts it rewrites: what
it takes is counted, in an environment of its own; one that cannot be installed is said to be missing.
"""

import json
import math
import subprocess
from collections.abc import Iterator
from typing import Any

from bench import environment
from bench.child import Failed, last_line
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better, none_allowed

ASKED_ANSWERS = 12
PLAIN_TIMES = 1 / 3
TEXT_LIMIT = 0.05
"""Seconds of CPU time in which a text compiles or is refused."""
PEERS = {
    "SmartNoise SQL": (environment.SMARTNOISE, "bench.peers.smartnoise_sql"),
    "Qrlew": (environment.QRLEW, "bench.peers.qrlew_sql"),
}


def rows() -> Iterator[Row]:
    try:
        found: dict[str, dict[str, Any]] = json.loads(last_line(environment.ours(), "bench.ours_sql", []))
    except Failed as failure:
        yield none_allowed(f"TPC-H: not measured: {failure}", found=1, unit="")
        return
    answered = {number: each for number, each in found.items() if "refused" not in each}
    for number, each in found.items():
        if number in answered:
            yield less_is_better(
                f"query {number}{', changed: ' + each['change'] if each['change'] else ''}, CPU time",
                ours=each["ours"], peer="the plain query", peer_value=each["plain"], asked=None, unit="s",
            )  # fmt: skip
        else:
            say(f"query {number} is refused: {each['refused']}")
    yield _mean_row(answered.values())
    yield more_is_better(
        "queries of 22 that are answered",
        ours=len(answered),
        peer="limit",
        peer_value=ASKED_ANSWERS,
        asked=1.0,
        unit="",
    )
    for peer in PEERS:
        yield _peer_row(peer, len(answered))
    yield from _text_rows()


def _text_rows() -> Iterator[Row]:
    """Of texts of the grammar, how many take longer than they may, and how long the slowest take."""
    say("texts of the grammar ...")
    try:
        found: dict[str, float] = json.loads(last_line(environment.ours(), "bench.sql_texts", []))
    except Failed as failure:
        yield none_allowed(f"texts of the grammar: not measured: {failure}", found=1, unit="")
        return
    texts = f"{found['texts']:,.0f} texts of the grammar"
    yield none_allowed(f"{texts}: above {TEXT_LIMIT * 1000:.0f} ms", found=int(found["above"]), unit="texts")
    yield less_is_better(
        f"{texts}: what one in a hundred passes", ours=found["one_in_a_hundred"], peer="limit", peer_value=TEXT_LIMIT,
        asked=1.0, unit="s",
    )  # fmt: skip


def _mean_row(answered: Any) -> Row:
    logs = [(math.log(each["ours"]), math.log(each["plain"])) for each in answered]
    ours, plain = (math.exp(sum(each[at] for each in logs) / len(logs)) for at in (0, 1))
    return less_is_better(
        f"{len(logs)} queries, geometric mean, CPU time", ours=ours, peer="the plain queries", peer_value=plain,
        asked=PLAIN_TIMES, unit="s",
    )  # fmt: skip


def _peer_row(peer: str, ours: int) -> Row:
    """How many of the texts the peer takes; none if it is not there, and why."""
    where, module = PEERS[peer]
    say(f"{peer} ...")
    try:
        taken = json.loads(last_line(where.interpreter(), module, []))
    except (Failed, subprocess.CalledProcessError) as failure:
        why = str(failure) if isinstance(failure, Failed) else "it cannot be installed"
        say(f"{peer} is missing: {why}")
        return Row(f"queries of 22; {peer} is missing: {why}", float(ours), peer, 0.0, float(ours), None, "")
    for number, outcome in taken.items():
        say(f"{peer}, query {number}: {outcome}")
    count = sum(outcome == "taken" for outcome in taken.values())
    return Row(f"queries of 22, beside {peer}", float(ours), peer, float(count), ours / max(count, 1), None, "")
