"""Names decide nothing either: whatever a column, a table or a part of a question is called, the exact numbers are
those under a plain name, or the question is refused before its charge, with the hostile person as without.

A new place for a name belongs into `PLACES`, a new kind of name into names.py.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.engine.query import Query
from dither.engine.stream import StreamQuestion
from dither.errors import DitherError
from dither.ledger import Ledger
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.postgres import PostgreSQL
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import (
    ArrowFrame,
    Container,
    CsvFile,
    DuckDBTable,
    ParquetFile,
    PostgresTable,
    SparkTable,
)
from tests.tables.hostile.named_questions import PLACES, STRUCTS, NotStored, Place, World
from tests.tables.hostile.names import OURS, names_beside
from tests.tables.hostile.runner import warned
from tests.tables.hostile.search import fresh_seed

_KEY = b"k" * 32
_PRICE: dict[str, Any] = {"epsilon": 10**15, "delta": "1e-6"}
_PRICE_OVER_TIME: dict[str, Any] = {"epsilon": 10**5, "delta": "1e-6"}
_ON_SERVER = [pytest.mark.xdist_group("postgres")]
_IN_SPARK = [pytest.mark.slow, pytest.mark.xdist_group("spark")]
_COMMITS: list[tuple[str, type[Container], int, list[Any]]] = [
    ("duckdb", ArrowFrame, 1, []),
    ("postgres", PostgresTable, 6, _ON_SERVER),
]
"""The containers of each commit, and of how many places one is asked there; Spark is asked at night."""
_NIGHTS: list[tuple[str, type[Container], int, list[Any]]] = [
    *_COMMITS,
    ("spark", SparkTable, 1, _IN_SPARK),
    *(("duckdb", kind, 1, list[Any]()) for kind in (DuckDBTable, ParquetFile, CsvFile)),
]
_AT_NIGHT = {"duckdb": 20, "postgres": 20, "spark": 3}
"""How many names are tried in each place in a night; which ones, chance decides."""


@dataclass(frozen=True)
class Outcome:
    """What somebody sees of a question but its noise, and the exact numbers, in an order that no name decides."""

    kind: str
    """Answered, refused, or what is wrong."""
    numbers: Any = None
    words: str = ""
    heard: frozenset[str] = frozenset()


def outcome(place: Place, world: World, name: str, folder: Path) -> Outcome | None:
    """Ask, with the name in its place; None if no table can have it."""
    heard: set[str] = set()
    data: Any = None
    try:
        with warned(heard):
            data, question = place.asked(world, name)
            answer = _over_time(question, folder) if isinstance(question, StreamQuestion) else _exact(question)
            kind = "answered" if data.spent["epsilon"] else "answered free of charge"
            return Outcome(kind, answer, heard=frozenset(heard))
    except NotStored:
        return None
    except DitherError as error:
        is_charged = data is not None and bool(data.spent["epsilon"])
        return Outcome("fails after its charge" if is_charged else "refused", words=f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome("fails in words of a library", words=repr(error))
    finally:
        world.close()


def _exact(question: Any) -> Any:
    """The types and numbers of an answer: at this price there is no noise but once in 10^9 runs."""
    answer = question.release(**_PRICE, left_out="found" in question.aggregates).value
    return sorted(str(field.type) for field in answer.schema), _sorted(answer)


def _sorted(table: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def _over_time(question: StreamQuestion, folder: Path) -> Any:
    """The types of three periods; their noise is too large for more."""
    running = question.start(folder / f"{next(_NUMBERS)}.stream", key=_KEY, **_PRICE_OVER_TIME)
    return [sorted(str(field.type) for field in running.step().value.schema) for _ in range(3)]


@pytest.fixture(autouse=True)
def _one_salt(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The same groups and rows of a person each time."""
    engines: list[type[Engine]] = [DuckDB, PostgreSQL]
    if SparkTable.name in request.node.name:
        from dither.tables.database_engines.spark import Spark  # starts slowly

        engines.append(Spark)
    for engine in engines:
        own: Any = engine.hash
        monkeypatch.setattr(engine, "hash", lambda self, values, salt, own=own: own(self, values, 7))


_NUMBERS = count()


@dataclass(frozen=True)
class Asked:
    """A place in a container, and the worlds without and with the hostile person."""

    place: Place
    worlds: tuple[World, World]
    folder: Path

    def outcomes(self, name: str) -> list[Outcome | None]:
        """What is told of the question with this name, in both worlds."""
        return [outcome(self.place, world, name, self.folder) for world in self.worlds]

    def finding(self, name: str, plain: Sequence[Outcome | None]) -> str | None:
        """What is wrong with a name, if anything is."""
        first, second = self.outcomes(name)
        if first is None or second is None:
            return None if first is second else "is stored in one of the worlds only"
        if first.kind not in ("answered", "refused") or second.kind != first.kind:
            return f"{first.kind} {first.words}; with the person {second.kind} {second.words}"
        if first.heard != second.heard or first.words != second.words:
            return f"is told as {first.words} {first.heard}, with the person as {second.words} {second.heard}"
        if first.kind == "answered" and [first.numbers, second.numbers] != [each and each.numbers for each in plain]:
            return "gives other numbers"
        return None


def of_each_kind(place: Place, engine: str) -> list[str]:
    """Names for each commit: some of those made of what stands beside it, and of those by themselves, dealt to the
    places. Most of them are refused, which costs little."""
    listed = list(names_beside(place.beside))
    at = list({**PLACES, **STRUCTS}.values()).index(place)
    near = [
        name for kind, name in listed if kind.startswith(("upper case of", "a dotless i of", "an i with its dot of"))
    ]
    ours = [name for kind, name in listed if kind.startswith("ours")]
    others = [name for kind, name in listed if kind.partition(" of ")[0] not in _OFTEN and not kind.startswith("ours")]
    few = 2 if engine == "duckdb" else 1
    return [near[at % len(near)], *ours[at :: len(PLACES)][:few], others[(37 * at + len(engine)) % len(others)]]


_OFTEN = ("upper case", "a dotless i", "an i with its dot")


def cases(engine: str) -> list[tuple[str, Place]]:
    """The places of an engine."""
    return [*PLACES.items(), *([] if engine == "postgres" else STRUCTS.items())]


def findings(asked: Asked, names: Sequence[str]) -> tuple[list[str], int]:
    """What is wrong with any of the names, and how many were tried."""
    plain = asked.outcomes(asked.place.plain)
    assert all(each is not None and each.kind == "answered" for each in plain), plain
    found = {name: asked.finding(name, plain) for name in names}
    return [f"{name!r} {what}" for name, what in found.items() if what is not None], len(found) + 1


@pytest.mark.parametrize(
    ("engine", "kind", "where"),
    [
        pytest.param(engine, kind, where, id=f"{kind.name} - {where}", marks=marks)
        for engine, kind, every, marks in _COMMITS
        for where, _ in cases(engine)[::every]
    ],
)
def test_no_name_decides(
    engine: str, kind: type[Container], where: str, container: Open, book: Ledger, request: Any, tmp_path: Path
) -> None:
    asked = opened(kind, where, container, book, tmp_path)
    found, tried = findings(asked, of_each_kind(asked.place, engine))
    assert not found, "\n".join(found)
    request.node.user_properties.append((f"hostile rows, {engine}", tried))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("engine", "kind", "where"),
    [
        pytest.param(engine, kind, where, id=f"{kind.name} - {where}", marks=marks)
        for engine, kind, _, marks in _NIGHTS
        for where, _ in cases(engine)
        if kind is not CsvFile or where in PLACES
    ],
)
def test_no_name_decides_for_long(
    engine: str, kind: type[Container], where: str, container: Open, book: Ledger, request: Any, tmp_path: Path
) -> None:
    """Chance chooses: DITHER_HOSTILE_SEED repeats a night."""
    seed = fresh_seed()
    asked = opened(kind, where, container, book, tmp_path)
    names = [name for _, name in names_beside(asked.place.beside)]
    found, tried = findings(asked, random.Random(seed).sample(names, _AT_NIGHT[engine]))
    assert not found, f"DITHER_HOSTILE_SEED={seed}\n" + "\n".join(found)
    request.node.user_properties.append((f"hostile rows, {engine}", tried))


def opened(kind: type[Container], where: str, container: Open, book: Ledger, folder: Path) -> Asked:
    """The worlds of a place."""
    made = container(kind)
    return Asked({**PLACES, **STRUCTS}[where], (World(made, book, False), World(made, book, True)), folder)


@pytest.mark.parametrize("name", [name for name, of in vars(Query).items() if callable(of) and name[0] != "_"])
def test_every_method_of_a_query_is_given_names(name: str) -> None:
    assert any(name in place.methods for place in PLACES.values()), f"no hostile names for Query.{name}"


def test_our_own_names_are_found_in_the_source() -> None:
    assert {"dither_rank", "dither person", "dither key ", "dither owner", "dither where", "dither_value"} <= {*OURS}


def test_a_name_that_an_engine_takes_for_that_of_the_persons_is_noticed(
    container: Open, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without the rule about upper and lower case, a column stands in for that of the persons."""
    asked = opened(ArrowFrame, "a column of a child table", container, book, tmp_path)
    assert not findings(asked, ["WHO"])[0]
    monkeypatch.setattr("dither.engine.private_tables.different", lambda *names: None)
    monkeypatch.setattr("dither.tables.expression_compiler.different", lambda *names: None)
    monkeypatch.setattr("dither.engine.join_rules.different", lambda *names: None)
    assert findings(asked, ["WHO"])[0]
