"""Random tables and questions: three engines and a naive reference give the same exact numbers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.tables.engines import engine_named, speaking
from tests.tables.questions import Question, answers, expected, questions

_FEW = {"duckdb": 12, "postgres": 8, "spark": 2}
_MANY = {"duckdb": 2_000, "postgres": 500, "spark": 60}
_SPARK = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def _search(name: str, examples: int, request: pytest.FixtureRequest) -> None:
    engine = speaking(engine_named(name, request))

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(questions())
    def compare(question: Question) -> None:
        assert answers(question, engine) == expected(question)

    compare()


@pytest.mark.parametrize("name", ["duckdb", "postgres", pytest.param("spark", marks=_SPARK)])
def test_engine_agrees_with_the_reference(name: str, request: pytest.FixtureRequest) -> None:
    _search(name, _FEW[name], request)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["duckdb", "postgres", pytest.param("spark", marks=_SPARK)])
def test_engine_agrees_with_the_reference_for_long(name: str, request: pytest.FixtureRequest) -> None:
    _search(name, _MANY[name], request)
