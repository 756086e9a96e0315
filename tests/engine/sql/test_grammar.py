"""Texts from a grammar compile or are refused in a sentence, and none costs less than its question in Python."""

import os
import time
from fractions import Fraction
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


def run(count: int, seed: int) -> tuple[int, list[float]]:
    """How many compiled, and the CPU time of each text."""
    accepted, seconds = 0, []
    with dataset() as data:
        for text in texts(count, seed):
            begin = time.process_time()
            question = compiled(data, text)
            seconds.append(time.process_time() - begin)
            if question is not None:
                accepted += 1
                if accepted % 5 == 0:
                    assert_costs_what_python_costs(data, text, question)
    return accepted, seconds


def test_f74_500_texts_compile_or_are_refused_and_cost_what_python_costs() -> None:
    accepted, _ = run(500, seed=1)
    assert accepted > 150  # most of the valid ones: else the grammar tests nothing


@pytest.mark.nightly
def test_ten_thousand_texts_within_50_ms_each() -> None:
    accepted, seconds = run(10_000, seed=int(os.environ.get("NIGHT_SEED", "2")))
    assert accepted > 3_000
    ordered = sorted(seconds)
    assert Fraction(sum(each > 0.05 for each in ordered), len(ordered)) <= Fraction(1, 100)


def test_a_text_that_costs_less_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a compiler that forgets a limit of the unit."""
    with dataset() as data:
        question = data.sql("SELECT COUNT(*) FROM visits")
        forgetful = data.sql("SELECT COUNT(*) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS t")
        twin = type(question)(forgetful.query, question.aggregates, question.presentation)
        monkeypatch.setattr(type(question), "code", "data.agg(count=dp.count())")
        with pytest.raises(AssertionError):
            assert_costs_what_python_costs(data, "forgetful", twin)
