"""The same through the whole release: somebody with a hostile value changes neither the outcome nor the charge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import DitherError, EngineError
from dither.ledger import Ledger
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, Container
from tests.tables.hostile.operators import OPERATORS
from tests.tables.hostile.runner import Worlds, warned
from tests.tables.hostile.search import types_of

_PRICE: dict[str, Any] = {"epsilon": "1e-5", "delta": "1e-9"}


def _questions(data: dp.Dataset) -> list[tuple[str, Any]]:
    """A few questions without groups, with groups that are found, and with a filter that picks the hostile row."""
    number: dict[str, Any] = {"bounds": (0, "1e40")}
    return [
        ("sum", lambda: data.agg(v=dp.sum("c0", **number)).release(epsilon="1e-5")),
        ("median", lambda: data.agg(v=dp.median("c0", **number)).release(epsilon="1e-5")),
        ("filter", lambda: data.where(dp.col("who") == "w000 new").agg(v=dp.mean("c0", **number)).release(epsilon=1)),
        ("found", lambda: data.group_by("c0").agg(v=dp.count()).release(**_PRICE)),
        ("top", lambda: data.agg(v=dp.top("c0", 1)).release(**_PRICE)),
        ("histogram", lambda: data.agg(v=dp.histogram("c0", [0, 3, 10])).release(epsilon=1)),
        (
            "keys",
            lambda: (
                data.group_by("c0", keys=["Paris", "b"])
                .agg(v=dp.count(), d=dp.top("c0", 1, ["a", "b"]))
                .release(epsilon=1)
            ),
        ),
        ("days", lambda: data.group_by("c0", keys=[date(2024, 2, 29)]).agg(v=dp.count()).release(epsilon=1)),
        ("distinct", lambda: data.agg(v=dp.count_distinct("c0")).release(epsilon=1)),
        ("per person", lambda: data.per_person(v=dp.sum("c0", **number)).sum("v", (0, 9), epsilon=1)),
    ]


@dataclass(frozen=True)
class _Outcome:
    """All that somebody sees of a question but the noisy numbers and the groups that were found."""

    said: str
    """The types of the answer, or the error and its words."""
    is_failure: bool
    is_charged: bool
    warned: frozenset[str]


def _outcome(ask: Any, data: dp.Dataset) -> _Outcome:
    before, failed = data.spent, False
    with warned() as heard:
        try:
            answer = ask().value
            said = str(answer.schema) if isinstance(answer, pa.Table) else type(answer).__name__
        except DitherError as error:
            said, failed = f"{type(error).__name__}: {error}", isinstance(error, EngineError)
    return _Outcome(said, failed, data.spent != before, frozenset(heard))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(CONTAINERS["duckdb"][0], name, id=f"DuckDB - {name}")
        for name in ("DOUBLE", "DECIMAL(38,38)", "VARCHAR", "VARCHAR beyond ASCII", "TIMESTAMP", "UHUGEINT", "JSON")
    ]
    + [pytest.param(CONTAINERS["duckdb"][2], name, id=f"Parquet - {name}") for name in ("string", "timestamp[ms]")]
    + [
        pytest.param(
            CONTAINERS["postgres"][0], name, id=f"PostgreSQL - {name}", marks=pytest.mark.xdist_group("postgres")
        )
        for name in ("double precision", "numeric", "numeric(310,0)", "citext", "date", "domain over a domain", "money")
    ],
)
def test_a_release_has_the_same_outcome(kind: type[Container], name: str, container: Open, book: Ledger) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    readable = [name for name, value in typed.hostile.items() if not container(kind).may_refuse(typed, value)]
    for value in readable[:: max(1, len(readable) // 5)]:
        worlds = Worlds(container(kind), [typed], book).alone(typed, list(typed.hostile).index(value))
        pairs = zip(_questions(worlds.before), _questions(worlds.after), strict=True)
        for (asked, first), (_, second) in pairs:
            outcomes = _outcome(first, worlds.before), _outcome(second, worlds.after)
            assert outcomes[0] == outcomes[1], f"{name}, {value}: {asked}"
            assert not outcomes[0].is_failure, f"{name}, {value}: {asked}"
            assert not outcomes[0].warned, f"{name}, {value}: {asked}"
            assert outcomes[0].is_charged == (not outcomes[0].said.startswith("ParameterError")), f"{name}: {asked}"
        worlds.close()


_TOGETHER = [
    name
    for name, operator in OPERATORS.items()
    if operator.shape == "all" and operator.functions and not operator.ends and "real" in operator.kinds
    if ", " not in name or name.endswith(("ordinary bounds", "no bounds", "found in huge bounds"))
]
"""Every aggregate, with bounds, without and with a range to be found."""


@pytest.mark.parametrize("groups", ["none", pytest.param("public", marks=pytest.mark.nightly), "found"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(CONTAINERS["duckdb"][0], "DOUBLE", id="DuckDB"),
        pytest.param(
            CONTAINERS["postgres"][0],
            "double precision",
            id="PostgreSQL",
            marks=[pytest.mark.nightly, pytest.mark.xdist_group("postgres")],
        ),
    ],
)
def test_nobody_is_answered_as_somebody_is(
    kind: type[Container], name: str, groups: str, container: Open, book: Ledger
) -> None:
    """Where no row is left there are no numbers to add up: that must not show."""
    (typed,) = (each for each in types_of(kind) if each.name == name)
    worlds = Worlds(container(kind), [typed], book).alone(typed, list(typed.hostile).index("'0.1'"))
    outcomes = []
    for who in ("w000 p3", "nobody"):
        asked = worlds.after.where(dp.col("who") == who)
        if groups != "none":
            asked = asked.group_by("city", keys=["a", "c"] if groups == "public" else None)
        question = asked.agg(**{f"v{at}": OPERATORS[each].aggregate("c0") for at, each in enumerate(_TOGETHER)})
        release = partial(question.release, epsilon=100, delta="1e-6", left_out=True)
        outcomes.append(_outcome(release, worlds.after))
    assert outcomes[0] == outcomes[1]
    assert not outcomes[0].is_failure
    assert outcomes[0].is_charged
    worlds.close()
