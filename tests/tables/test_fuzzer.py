"""Random tables and questions: three engines and a naive reference give the same exact numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from dither.tables.database_engines.duckdb import DuckDB
from tests.tables.engines import engine_named, speaking
from tests.tables.questions import Question, answers, expected, questions

_FEW = {"duckdb": 12, "postgres": 8, "spark": 2}
_MANY = {"duckdb": 2_000, "postgres": 500, "spark": 60}
_SPARK = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def _search(name: str, examples: int, request: pytest.FixtureRequest) -> None:
    """Random questions, as many as asked for, and how many there were."""
    engine = speaking(engine_named(name, request))

    asked = 0

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(questions())
    def compare(question: Question) -> None:
        nonlocal asked
        asked += 1
        assert answers(question, engine) == expected(question)

    compare()
    request.node.user_properties.append(("questions", asked))


@pytest.mark.parametrize("name", ["duckdb", "postgres", pytest.param("spark", marks=_SPARK)])
def test_engine_agrees_with_the_reference(name: str, request: pytest.FixtureRequest) -> None:
    _search(name, _FEW[name], request)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["duckdb", "postgres", pytest.param("spark", marks=_SPARK)])
def test_engine_agrees_with_the_reference_for_long(name: str, request: pytest.FixtureRequest) -> None:
    _search(name, _MANY[name], request)


_FIXED = Question(
    rows=tuple(
        {
            "who": index % 3,
            "i": index % 7,
            "x": index / 8,
            "f": 1.5,
            "m": None,
            "s": "aAb"[index % 3],
            "b": True,
            "d": None,
        }
        for index in range(60)
    ),
    where=("<", ("column", "x"), ("value", 7)),
    new=("*", ("column", "x"), ("value", 3)),
    keys=("i",),
    person=True,
    max_groups=2,
    max_rows=2,
    public=None,
    bounds=(0, 20),
)


def test_the_comparison_notices() -> None:
    """Negative controls: another bound, salt or question is told from the right one."""
    found = answers(_FIXED, speaking(DuckDB()))
    assert found == expected(_FIXED)
    wrong: list[dict[str, Any]] = [
        {"max_groups": 3},
        {"max_rows": 3},
        {"salt": 54321},
        {"bounds": (0, 21)},
        {"person": False},
        {"public": ((1,), (2,))},
        {"where": ("<", ("column", "x"), ("value", 4))},
        {"new": ("*", ("column", "x"), ("value", 3.25))},
    ]
    for change in wrong:
        assert found != expected(replace(_FIXED, **change)), f"{change} went unnoticed"
