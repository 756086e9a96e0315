"""The topic `growth`: how the cost of a private group-by grows with rows and with groups, beside the plain query.

Each point is a process of its own, on two cores, as in the topic `groupby`; ours and the plain query in turn. Nothing
is asked: the docs draw the lines (`examples/growth_pictures.py`).
"""

from collections.abc import Iterator, Sequence

from bench import environment
from bench.child import Failed, last_line
from bench.groupby_case import GROUPS
from bench.meter import Cost
from bench.progress import say
from bench.row import Row, less_is_better, none_allowed

ROWS = tuple(10**power for power in range(4, 9))
ROWS_OF_GROUPS = 10**7
EXECUTORS = (1, 2)
GROUPS_ASKED = (1, *(10**power for power in range(1, 7)))
PLAIN = "GROUP BY with COUNT(DISTINCT)"


def rows() -> Iterator[Row]:
    for count in ROWS:
        yield from _point(f"{count:,} rows, {GROUPS:,} groups", count, GROUPS)
    for groups in GROUPS_ASKED:
        yield from _point(f"{groups:,} groups, {ROWS_OF_GROUPS:,} rows", ROWS_OF_GROUPS, groups)
    for executors in EXECUTORS:
        name = f"a Spark cluster of {executors}, {ROWS_OF_GROUPS:,} rows, {GROUPS:,} groups"
        yield from _point(name, ROWS_OF_GROUPS, GROUPS, executors)


def _point(name: str, *numbers: int) -> Iterator[Row]:
    say(f"{name} ...")
    try:
        ours, plain = (_cost([who, *map(str, numbers)]) for who in ("ours", "plain"))
    except Failed as failure:
        yield none_allowed(f"{name}: not measured: {failure}", found=1, unit="")
        return
    for kind, mine, theirs in (("CPU time", ours.cpu, plain.cpu), ("wall time", ours.wall, plain.wall)):
        yield less_is_better(f"{name}, {kind}", ours=mine, peer=PLAIN, peer_value=theirs, asked=None, unit="s")
    yield less_is_better(
        f"{name}, peak memory", ours=ours.peak / 1e6, peer=PLAIN, peer_value=plain.peak / 1e6, asked=None, unit="MB"
    )


def _cost(arguments: Sequence[str]) -> Cost:
    return Cost.from_json(last_line(environment.ours(), "bench.growth_case", arguments))
