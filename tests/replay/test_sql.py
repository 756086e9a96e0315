"""Texts from the grammar of SQL, each released on two tables that differ by one person: whatever compiles passes."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.audit.replay import Replayed, replay
from dither.errors import ParameterError
from dither.tables import BoundedTable
from tests.engine.sql.conftest import DOMAINS
from tests.engine.sql.grammar import texts

PRICE: dict[str, Any] = {"epsilon": 20, "delta": "1e-5"}
"""So much that some groups that are found are shown, and some are not; thousands of texts can be paid for."""
PAIRS = 6
PEOPLE, ROWS = 7, 50
Pair = tuple[dp.Dataset, dp.Dataset]


def visits(seed: int) -> pa.Table:
    """Visits of few people, of whom person 0 has most; values are missing, or lie outside of their domain."""
    draw = random.Random(seed)
    numbers = [None, float("nan"), float("inf"), -1.0, 0.0, 50.0, 100.0, 1e300]
    days = [None, date(1, 1, 1), date(9999, 12, 31)]
    return pa.table(
        {
            "pid": [draw.choice([*[0] * 6, None, *range(PEOPLE)]) for _ in range(ROWS)],
            "city": [draw.choice(["Lyon", "Nice", "Paris", "Paris", "elsewhere", "", None]) for _ in range(ROWS)],
            "spend": [draw.choice(numbers) if draw.random() < 0.3 else draw.uniform(0, 100) for _ in range(ROWS)],
            "age": [draw.choice([None, -(2**63), 2**63 - 1]) if draw.random() < 0.2 else draw.randrange(90)
                    for _ in range(ROWS)],
            "day": [draw.choice(days) if draw.random() < 0.2 else date(2022, 1, 1) + timedelta(draw.randrange(1090))
                    for _ in range(ROWS)],
        }
    )  # fmt: skip


def opened(table: pa.Table) -> dp.Dataset:
    return dp.Dataset(
        table, unit=dp.Person("pid", max_groups=2, max_rows_per_group=2), budget=dp.ApproxDP(10**9, "0.999999"),
        ledger=":memory:", identity="visits", columns=DOMAINS,
    )  # fmt: skip


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    """Each a table, and the same without one person; in half of them the person is in the second."""
    with ExitStack() as stack:
        found = []
        for number in range(PAIRS):
            table = visits(number)
            without = table.filter(pa.array([who != number // 2 for who in table["pid"].to_pylist()]))
            sides = [stack.enter_context(opened(each)) for each in (table, without)]
            found.append((sides[number % 2], sides[1 - number % 2]))
        yield found


def released(data: dp.Dataset, text: str) -> Any:
    """At a price of which the part that is not needed stays; as a question of its own, without what was before."""
    question = data.sql(text)
    return question.release(epsilon=PRICE["epsilon"], delta=PRICE["delta"] if question._finds else None)


def replayed(pair: Pair, text: str, seed: int) -> Replayed | None:
    """The verdict; None if the text is refused. It is compiled on both sides before, as public keys enter once."""
    try:
        for data in pair:
            data.sql(text)
    except ParameterError:
        return None
    return replay(lambda data: released(data, text), *pair, seed=seed)


def run(pairs: list[Pair], count: int, seed: int) -> int:
    """How many texts were replayed."""
    found = 0
    for number, text in enumerate(texts(count, seed)):
        verdict = replayed(pairs[number % PAIRS], text, number)
        if verdict is not None:
            found += 1
            assert verdict.passed, f"{text}: {verdict.difference}"
            assert not isinstance(verdict.result, Exception), f"{text}: {verdict.result!r}"
    return found


def test_texts_of_the_grammar_pass_replay(pairs: list[Pair], record_property: Any) -> None:
    found = run(pairs, 70, seed=3)
    assert found >= 24
    record_property("replayed pairs", found)


@pytest.mark.nightly
def test_thousands_of_texts_of_the_grammar_pass_replay(pairs: list[Pair], record_property: Any) -> None:
    found = run(pairs, 5_000, seed=int(os.environ.get("NIGHT_SEED", "4")))
    assert found > 1_500
    record_property("replayed pairs", found)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("_few_groups", "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"),
        ("_few_groups", "SELECT city, EXTRACT(YEAR FROM day) AS y, COUNT(*) AS n FROM visits GROUP BY ROLLUP(city, y)"),
        ("_first", "SELECT MEDIAN(age) AS m FROM visits"),
    ],
)
def test_a_limit_that_is_not_kept_would_be_noticed(
    step: str, text: str, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: person 0, of the first two pairs, has more groups and rows than may count."""
    assert replayed(pairs[1], text, 0).passed  # type: ignore[union-attr]
    monkeypatch.setattr(BoundedTable, step, lambda self, table, *others: table)
    verdict = replayed(pairs[0], text, 0)
    assert verdict is not None
    assert not verdict.passed
