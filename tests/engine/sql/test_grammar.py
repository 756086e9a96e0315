"""Texts from a grammar compile or are refused in a sentence, and none costs less than its question in Python."""

import os
from typing import Any

import pytest

import dither as dp
from dither.errors import ParameterError
from dither.guarantees import ApproxDP
from tests.engine.sql.conftest import DOMAINS, made_up
from tests.engine.sql.grammar import texts

PRICE = {"epsilon": 1, "delta": "1e-6", "noise": "laplace"}


def dataset() -> dp.Dataset:
    """A person counts with several rows in several groups, so that what is charged depends on the question."""
    return dp.Dataset(
        made_up(60), unit=dp.Person("pid", max_groups=3, max_rows_per_group=2), budget=ApproxDP(10**9, "0.5"),
        ledger=":memory:", identity="visits", columns=DOMAINS,
    )  # fmt: skip


def compiled(data: dp.Dataset, text: str) -> Any:
    """The question, or None if the text is refused in one sentence; no other exception passes."""
    try:
        return data.sql(text)
    except ParameterError as refusal:
        said = str(refusal)
    assert said
    assert "\n" not in said, text
    assert len(said) < 1_000, text
    return None


def assert_costs_what_python_costs(data: dp.Dataset, text: str, question: Any) -> None:
    """The twin is made from the code that `dither sql --plan` shows."""
    twin = eval(question.code, {"dp": dp, "data": data, "datetime": __import__("datetime")})
    assert twin.words == question.words, text
    plans = [each.plan(**PRICE) for each in (question, twin)]
    mine, theirs = plans
    assert mine.cost == theirs.cost, text
    assert mine.lines() == theirs.lines(), text


def run(count: int, seed: int) -> int:
    """How many compiled."""
    accepted = 0
    with dataset() as data:
        for text in texts(count, seed):
            question = compiled(data, text)
            if question is not None:
                accepted += 1
                if accepted % 5 == 0:
                    assert_costs_what_python_costs(data, text, question)
    return accepted


def test_f74_500_texts_compile_or_are_refused_and_cost_what_python_costs() -> None:
    assert run(500, seed=1) > 150  # most of the valid ones: else the grammar tests nothing


@pytest.mark.nightly
def test_f74_ten_thousand_texts_compile_or_are_refused_and_cost_what_python_costs() -> None:
    assert run(10_000, seed=int(os.environ.get("NIGHT_SEED", "2"))) > 3_000


PUBLIC = (
    "2",
    "'x'",
    "TRUE",
    "1.5",
    "-2",
    "CASE WHEN TRUE THEN 2 END",
    "CASE 2 WHEN 2 THEN 1 ELSE 0 END",
    "NULLIF(2, 2)",
    "COALESCE(2, 3)",
    "LEAST(2, 3)",
    "FLOOR(2)",
    "ABS(-2)",
    "2 = 2",
    "2 IN (1, 2)",
    "2 BETWEEN 1 AND 3",
    "2 IS NULL",
    "TRUE IS TRUE",
    "NOT TRUE",
    "LOWER('X')",
    "SQRT(4)",
    "'a' LIKE 'a%'",
    "2 / 3",
    "TRUE AND TRUE",
    "IF(TRUE, 1, 2)",
    "EXTRACT(YEAR FROM DATE '2020-01-01')",
)
PLACES = (
    "SELECT SUM({}) FROM visits",
    "SELECT COUNT(DISTINCT {}) FROM visits",
    "SELECT COUNT({}) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE {}",
    "SELECT {0} AS k, COUNT(*) FROM visits GROUP BY {0}",
    "SELECT COUNT(*) FILTER (WHERE {}) FROM visits",
    "SELECT SUM(z) FROM (SELECT pid, {} AS z FROM visits) AS t",
)


def test_f74_public_values_alone_are_written_as_python_takes_them() -> None:
    """Python would work out 2 == 2 by itself, and takes 'x' for the name of a column."""
    accepted = 0
    with dataset() as data:
        for text in (place.format(value) for value in PUBLIC for place in PLACES):
            question = compiled(data, text)
            if question is not None:
                accepted += 1
                assert_costs_what_python_costs(data, text, question)
    assert accepted > 80


def test_a_text_that_costs_less_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a compiler that forgets a limit of the unit."""
    with dataset() as data:
        question = data.sql("SELECT COUNT(*) FROM visits")
        forgetful = data.sql("SELECT COUNT(*) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS t")
        twin = type(question)(forgetful.query, question.aggregates, presentation=question.presentation)
        monkeypatch.setattr(type(question), "code", "data.agg(count=dp.count())")
        with pytest.raises(AssertionError):
            assert_costs_what_python_costs(data, "forgetful", twin)
