"""Which cases are tried: a part of them at every commit, all of them and random values at night."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from dither.errors import DitherError
from dither.ledger import Ledger
from dither.tables import kinds_of as kinds_in
from dither.tables import open_source
from tests.tables.hostile.containers import CONTAINERS, Container
from tests.tables.hostile.operators import LEFT_OUT, MOST_WORLDS, OPERATORS
from tests.tables.hostile.runner import Case, Finding, Report, Worlds
from tests.tables.hostile.values import Typed

__all__ = [
    "AT_NIGHT",
    "RANDOM_VALUES",
    "THINNED",
    "fresh_seed",
    "kinds_of",
    "pairs",
    "part_of",
    "refusal",
    "tried",
    "types_of",
]

THINNED = {"DuckDB table": 1, "PostgreSQL table": 1}
"""Of how many operators one is asked at each commit, where not all are."""
_FEW = {"duckdb": 12, "postgres": 32, "spark": 48}
"""The same of the other containers of an engine, which hand their columns to the same entry."""
_FEWEST = 5
"""Of so many types of a kind, at least, one is asked what other kinds are asked too; a kind with fewer types is asked a
part of it. Times have five types, so that all of it is asked of times."""
_WIDEST = {"DOUBLE", "BIGINT", "VARCHAR", "DATE", "double precision", "bigint", "text", "date"}
"""Types with the most hostile values of their kinds: of these every verb is asked, all in one question."""
_HAVE_ENDS = {"DOUBLE", "double precision", "double"}
"""Types with values beyond and between all ends of bounds: of these `_OF_ENDS` are asked in the main container of each
engine. Other aggregates, and ranges to be found, are dealt to all types of numbers, like everything else."""
_OF_ENDS = {
    "duckdb": ("sum, ", "mean, ", f"{LEFT_OUT}: "),
    "postgres": ("sum, ", "mean, ", f"{LEFT_OUT}: "),
    "spark": (f"{LEFT_OUT}: ",),
}
AT_NIGHT = {"duckdb": 4, "postgres": 6, "spark": 24}
"""Of how many operators one is asked in a night, which is two hours long; which ones, chance decides."""
RANDOM_VALUES = 20
"""How many random numbers a type of numbers has at night, besides the hostile ones."""


def fresh_seed() -> int:
    """DITHER_HOSTILE_SEED, or one that was not used before."""
    return int(os.environ.get("DITHER_HOSTILE_SEED") or random.SystemRandom().randrange(10**9))


@cache
def types_of(container: type[Container]) -> Sequence[Typed]:
    """The types of a container, with their fixed values."""
    return container.types(random.Random(0))


def pairs(engine: str) -> Iterator[tuple[type[Container], str]]:
    """Every container of an engine, with the name of each type that it can hold."""
    for container in CONTAINERS[engine]:
        for typed in types_of(container):
            yield container, typed.name


def kinds_of(container: Container) -> dict[str, str]:
    """The kind of each type, as dither names it; a type that does not come in has none."""
    if container not in _KINDS:
        _KINDS[container] = {typed.name: _kind(container, typed) for typed in types_of(type(container))}
    return _KINDS[container]


_KINDS: dict[Container, dict[str, str]] = {}


def _kind(container: Container, typed: Typed) -> str:
    given = container.source([typed], [])
    try:
        opened = open_source(given["source"], given.get("table"), given.get("identity"))
    except DitherError:
        return ""
    if isinstance(given["source"], str):
        opened.engine.backend.disconnect()
    if "c0" in opened.refused:
        return ""
    return "any" if not opened.has_types else kinds_in(opened.table)["c0"]


def part_of(engine: str, container: Container, typed: Typed) -> list[str]:
    """The operators that are asked of a type at each commit.

    Those that go with a kind are dealt to the types of that kind, and those of one shape together, as they are one
    question. A kind of few types shares what other kinds have too, and the widest type has every verb. What does not go
    with a kind is refused; of that, and of types that do not come in, a few are asked.
    """
    kinds = kinds_of(container)
    kind = kinds[typed.name]
    alike = [name for name, other in kinds.items() if other == kind]
    at, thin = alike.index(typed.name), THINNED.get(container.name, _FEW[engine])
    own, shared, others = dict[str, list[str]](), dict[str, list[str]](), list[str]()
    for name, operator in OPERATORS.items():
        together = name if operator.shape == "all" else operator.shape
        if kind in (*operator.kinds, "any"):
            (own if operator.kinds == {kind} else shared).setdefault(together, []).append(name)
        else:
            others.append(name)
    dealt = [
        *list(own.values())[at * thin :: len(alike) * thin],
        *list(shared.values())[at * thin :: max(len(alike), _FEWEST) * thin],
    ]
    widest = [name for name in shared if name.startswith("sum of ")] if typed.name in _WIDEST else []
    if typed.name in _HAVE_ENDS and type(container) is CONTAINERS[engine][0]:
        ends = (name for name, operator in OPERATORS.items() if operator.ends)
        widest += [name for name in ends if name.startswith(_OF_ENDS[engine]) and "range found" not in name]
    return [*dict.fromkeys([*itertools.chain(*dealt), *widest, *others[at :: len(alike) * 40]])]


def tried(
    container: Container, typed: Typed, operators: Iterable[str], book: Ledger, *, one_row: bool = False
) -> Report:
    """Ask the operators of one type, with each of its hostile values in a world of its own.

    A container may refuse a type, with any rows or none. It may refuse a value as well when it is opened, before there
    is a budget, if that is declared of it.
    """
    assert len(typed.hostile) <= MOST_WORLDS
    asked = list(operators)
    worlds = Worlds(container, [typed], book, one_row)
    try:
        if refusal(worlds, "before") is not None:
            return _of_type(worlds, typed, len(asked))
        report = Report()
        if refusal(worlds, "after") is not None:
            alone = {world: worlds.alone(typed, world) for world in range(len(typed.hostile))}
            barred = [world for world, each in alone.items() if refusal(each, "after") is not None]
            for each in alone.values():
                each.close()
            values = list(typed.hostile)
            report.barred = len(barred)
            report.findings += [
                Finding(Case(container.name, typed.name, values[world], "open"), "is refused with the row only")
                for world in barred
                if not container.may_refuse(typed, typed.hostile[values[world]])
            ]
            worlds = Worlds(container, [typed], book, one_row, [world for world in alone if world not in barred])
        report += worlds.ask(typed, asked)
        return report
    finally:
        worlds.close()


def refusal(worlds: Worlds, which: str) -> str | None:
    """Why a table is refused when it is opened, before there is a budget; None if it is not."""
    try:
        getattr(worlds, which)
    except DitherError as error:
        return re.sub(r"hostile_\d+", "hostile", f"{type(error).__name__}: {error}")  # the name of the table
    return None


def _of_type(worlds: Worlds, typed: Typed, operators: int) -> Report:
    """A type that does not come in: nor does it with hostile rows, in the same words."""
    if refusal(worlds, "after") == refusal(worlds, "before"):
        return Report(refused=operators * len(typed.hostile))
    return Report(
        findings=[Finding(Case(worlds.container.name, typed.name, "any value", "open"), "is refused otherwise")]
    )
