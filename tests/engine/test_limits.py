"""A limit that a question depends on is stated or refused; one on which it does not depend is not asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from tests.engine.conftest import Open

KEYS = ["Lyon", "Paris"]
TRIPS = pa.table({"id": [1, 1, 1, 2], "city": ["Lyon", "Lyon", "Paris", "Paris"], "fare": [1.0, 2.0, 3.0, 4.0]})

NEEDED: dict[str, tuple[Callable[[Any], Any], set[str]]] = {
    "people": (lambda data: data.agg(x=dp.count_people()), set()),
    "per person": (lambda data: data.per_person(n=dp.count()).agg(x=dp.mean("n", bounds=(0, 9))), set()),
    "people of one group": (lambda data: data.group_by("city", keys=["Lyon"]).agg(x=dp.count_people()), set()),
    "people by group": (lambda data: data.group_by("city", keys=KEYS).agg(x=dp.count_people()), {"max_groups"}),
    "people by found group": (lambda data: data.group_by("city").agg(x=dp.count_people()), {"max_groups"}),
    "rows": (lambda data: data.agg(x=dp.count()), {"max_rows_per_group"}),
    "people and rows": (lambda data: data.agg(x=dp.count_people(), y=dp.count()), {"max_rows_per_group"}),
    "a sum": (lambda data: data.agg(x=dp.sum("fare", bounds=(0, 9))), {"max_rows_per_group"}),
    "a median": (lambda data: data.agg(x=dp.median("fare", bounds=(0, 9))), {"max_rows_per_group"}),
    "a histogram": (lambda data: data.agg(x=dp.histogram("fare", [0, 3, 9])), {"max_rows_per_group"}),
    "distinct values": (lambda data: data.agg(x=dp.count_distinct("city")), {"max_rows_per_group"}),
    "rows by group": (
        lambda data: data.group_by("city", keys=KEYS).agg(x=dp.count()),
        {"max_groups", "max_rows_per_group"},
    ),
}


@pytest.mark.parametrize("case", NEEDED)
@pytest.mark.parametrize("given", [(), ("max_groups",), ("max_rows_per_group",), ("max_groups", "max_rows_per_group")])
def test_a_limit_is_needed_where_the_question_depends_on_it(opened: Open, case: str, given: tuple[str, ...]) -> None:
    ask, needed = NEEDED[case]
    data = opened(TRIPS, dp.Person("id", **dict.fromkeys(given, 2)), dp.ApproxDP(9, "1e-3"))
    question, price = ask(data), {"epsilon": 1} | ({"delta": "1e-4"} if "found" in case else {})
    if needed <= set(given):
        question.plan(**price)
        question.release(**price)
        return
    for ask_it in (question.plan, question.release):
        with pytest.raises(ParameterError, match=r"does not state max_\w+\. State it.*data\.suggest\(question") as said:
            ask_it(**price)
        assert any(f"does not state {limit}." in str(said.value) for limit in needed - set(given))
    assert not any(data.spent.values()), "nothing is charged"


SENTENCES: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "rows by group": (
        lambda data: data.group_by("city", keys=KEYS).agg(n=dp.count(), fare=dp.mean("fare", bounds=(0, "2.5"))),
        "At most 5 rows of each id in each of at most 2 groups (city) count; "
        "fare below 0 counts as 0, above 2.5 as 2.5.",
    ),
    "people by group": (
        lambda data: data.group_by("city", keys=KEYS).agg(n=dp.count_people()),
        "Each id counts in at most 2 groups (city).",
    ),
    "people": (lambda data: data.agg(n=dp.count_people()), None),
    "a histogram": (
        lambda data: data.agg(n=dp.histogram("fare", [0, 3, 9])),
        "At most 5 rows of each id count; rows with fare outside 0 to 9 do not count.",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_what_was_left_out_stands_beside_the_number(opened: Open, tmp_path: Path, case: str) -> None:
    """In every form that an answer takes; and it is the same whatever the rows are."""
    ask, sentence = SENTENCES[case]
    question = ask(opened(TRIPS, dp.Person("id", 3, 5)))
    plan, answer = question.plan(epsilon=1), question.release(epsilon=1)
    assert plan.left_out == answer.plan.left_out == sentence
    page = answer.report(tmp_path / "page.html").read_text(encoding="utf-8")
    shown = [str(plan), plan._repr_html_(), repr(answer), answer._repr_html_(), page]
    assert all((sentence or "counts as") in text for text in shown) == (sentence is not None)
