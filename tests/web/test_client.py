"""`dp.connect`: questions that look like those of a Dataset, and mean the same on the other side."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.cli.aggregates import aggregate, group
from dither.cli.conditions import condition
from dither.errors import EngineError, LedgerConflict, OverBudget, ParameterError
from dither.tables.expression import Column, Literal, Operation
from dither.web.client import http as client_http
from dither.web.client.question_texts import aggregate_text, expression_text, group_text
from tests.web.test_jobs import held
from tests.web.world import World, describe, service

c = dp.col


@pytest.fixture
def visits(world: World) -> Iterator[Any]:
    with dp.connect(world.service.settings.address, world.key("anna")) as found:
        yield found["visits"]


EXPRESSIONS = [
    (c("age") >= 18) & ~(c("city") == "L'Aquila") | c("cost").is_null(),
    c("city").is_in(["Paris", 'a "b"', ""]),
    abs(-c("cost") + 3) * 2.5 / (c("age") - -1),
    c("day") == date(2024, 1, 31),
    c("at") < datetime(2024, 1, 31, 8, 15),
    c("and").coalesce(0).round(2) != 1e-5,
    dp.if_else(c("a b").lower().starts_with("x"), c("date").year(), c("null").floor()),
    c("truth") == True,  # noqa: E712
    c("age").between(18, 65),
    c("day").date_trunc("month") > date(2020, 1, 1),
]
AGGREGATES = [
    dp.count(),
    dp.count_people(),
    dp.count_distinct("city"),
    dp.sum("cost", bounds=(0, 200)),
    dp.mean(c("cost") * 2, bounds=(0, 200), clip=True),
    dp.variance("cost", bounds=(-5, 5)),
    dp.std("cost", bounds=(0, 1)),
    dp.share(c("age") >= 18),
    dp.ratio(c("tip") * 2, "cost", (0, 20), (0, 200)),
    dp.median("cost", bounds=(0, 200)),
    dp.quantile("cost", [0.25, 0.75], bounds=(0, 200), interval_level=0.9),
    dp.min("age", bounds=(0, 120)),
    dp.max("age", bounds=(0, 120)),
    dp.histogram("age", [0, 18, 65, 120]),
    dp.histogram("day", [date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)]),
    dp.top("city", 2, candidates=["Paris", "L'Aquila", "Rome"]),
    dp.top("city", 2),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_what_is_written_is_read_back(expression: Any) -> None:
    assert str(condition(expression_text(expression))) == str(expression)


@pytest.mark.parametrize("asked", AGGREGATES, ids=str)
def test_aggregates_are_read_back(asked: Any) -> None:
    assert str(aggregate(aggregate_text(asked), {})) == str(asked)


def test_groups_are_read_back() -> None:
    assert group(group_text("a b")) == "a b"
    of, found = dp.bins("age", [0, 18.5, 65], name="old"), group(group_text(dp.bins("age", [0, 18.5, 65], name="old")))
    assert not isinstance(found, str)
    assert (found.words, found.labels) == (of.words, of.labels)


numbers = st.integers(-(2**60), 2**60) | st.floats(-1e90, 1e90).filter(lambda x: x == 0 or abs(x) > 1e-90)
leaves = (
    st.builds(c, st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8))
    | st.builds(lambda each: c("x") + each, numbers)
    | st.builds(lambda each: c("x") == each, st.text(st.characters(codec="utf-8"), max_size=8))
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(lambda a, b: a * b, inner, inner)
        | st.builds(lambda a, b: (a < b) & ~b.is_null(), inner, inner)
        | st.builds(lambda a, b: dp.if_else(a, b, -b), inner, inner)
    ),
    max_leaves=6,
)


@pytest.mark.property
@settings(deadline=None)
@given(trees)
def test_any_expression_is_read_back(expression: Any) -> None:
    assert is_same(condition(expression_text(expression)), expression)


def is_same(one: Any, other: Any) -> bool:
    """The same tree, with equal values: 5.0 is read as 5."""
    if isinstance(one, Operation) and isinstance(other, Operation):
        return one.verb == other.verb and all(map(is_same, one.parts, other.parts))
    if isinstance(one, Column) and isinstance(other, Column):
        return one.name == other.name
    return isinstance(one, Literal) and isinstance(other, Literal) and _number(one.value) == _number(other.value)


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else value


def test_questions_look_like_those_of_a_dataset(visits: Any, world: World) -> None:
    question = (
        visits.with_columns(adult=dp.if_else(c("age") >= 18, "yes", "no"))
        .where(c("cost") >= 0)
        .group_by("city", keys=["Paris", "Lyon"])
        .agg(n=dp.count(), spend=dp.mean("cost", bounds=(0, 200)))
    )
    plan = question.plan(epsilon="0.1")
    assert plan.cost["epsilon"] == dp.PureDP("0.1").stated_epsilon
    assert plan.error("n") > 0
    assert "costs epsilon = 0.1" in str(plan)
    assert world.spent == "0"
    release = question.release(epsilon=0.1)
    assert [row["city"] for row in release.rows] == ["Paris", "Lyon"]
    assert release.to_arrow().column("n").to_pylist() == [row["n"] for row in release.rows]
    assert list(release.to_pandas()["city"]) == ["Paris", "Lyon"]
    assert release.guarantee.epsilon(0) == pytest.approx(0.1)
    assert world.spent == "1/10"


def test_sql_shortcuts_bins_and_people(visits: Any, world: World, tmp_path: Path) -> None:
    found = visits.sql("SELECT city, COUNT(*) AS n FROM visits GROUP BY city").release(epsilon="0.1")
    assert len(found.rows) == 2
    count = visits.where(c("age") > 30).count(epsilon="0.1")
    assert count.interval[0] <= count.value <= count.interval[1]
    binned = visits.group_by(dp.bins("age", [0, 40, 80])).agg(n=dp.count()).release(epsilon="0.1")
    assert [row["age"] for row in binned.rows] == ["[0, 40)", "[40, 80]"]
    each = visits.per_person(trips=dp.count()).agg(trips=dp.mean("trips", bounds=(0, 5)))
    assert each.plan(epsilon="0.1").cost["epsilon"] == dp.PureDP("0.1").stated_epsilon
    binned.save(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text().startswith('"age","n"')
    assert visits.remaining["epsilon"] == dp.PureDP("0.7").stated_epsilon
    assert visits.columns["city"] == "text"


def test_a_job_is_withdrawn_or_waited_for(visits: Any, world: World) -> None:
    question = visits.agg(n=dp.count())
    with held() as go_on:
        jobs = [question.submit(epsilon="0.01") for _ in range(4)]
        assert jobs[3].progress["state"] == "asked"
        jobs[3].cancel()
        go_on.set()
        assert jobs[0].result().rows == jobs[0].result().rows
    assert jobs[3].state == "withdrawn"
    jobs[1].result()
    jobs[2].result()
    assert world.spent == "3/100"


def test_refusals_are_the_errors_of_a_dataset(visits: Any, world: World) -> None:
    with pytest.raises(OverBudget, match="left"):
        visits.count(epsilon=50)
    with pytest.raises(ParameterError, match="salary"):
        visits.mean("salary", bounds=(0, 1), epsilon=1)
    visits.count(epsilon="0.1", key="mine")
    with pytest.raises(LedgerConflict):
        visits.count(epsilon="0.2", key="mine")
    with pytest.raises(ParameterError, match="no key that may do this"):
        dp.connect(world.service.settings.address, "dither_wrong")
    with pytest.raises(ParameterError, match="before group_by"):
        visits.group_by("city").where(c("age") > 1)
    assert world.spent == "1/10"


def test_a_key_is_in_no_text(world: World) -> None:
    key = world.key("anna")
    with dp.connect(world.service.settings.address, key) as found:
        question = found["visits"].agg(n=dp.count())
        shown = [found, found["visits"], question, question.release(epsilon="0.1")]
        assert not any(key in repr(each) or key in str(each) for each in shown)
        assert ("visits" in found, "salaries" in found, len(found)) == (True, False, 2)
        (asked,) = found.history()
        assert found.answer(asked["id"]).rows == shown[3].rows  # type: ignore[attr-defined]


def test_a_request_that_is_cut_off_is_sent_again_and_paid_once(
    visits: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[str] = []
    real = type(visits._http._client).request

    def cut_off(self: Any, method: str, path: str, **given: Any) -> Any:
        answer = real(self, method, path, **given)
        if path.endswith("/release") and not cut:
            cut.append(path)
            raise ConnectionResetError
        return answer

    monkeypatch.setattr(type(visits._http._client), "request", cut_off)
    assert visits.count(epsilon="0.1").value is not None
    assert (len(cut), world.spent) == (1, "1/10")


def test_a_service_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_http, "_TRIES", 2)
    with pytest.raises(EngineError, match="does not answer"):
        dp.connect("http://127.0.0.1:9", "dither_x")


def test_a_waiting_question_says_so(tmp_path: Path) -> None:
    with (
        service(describe(tmp_path, server="approval = true\npractice = false")) as world,
        dp.connect(world.service.settings.address, world.key("anna")) as found,
    ):
        question = found["visits"].agg(n=dp.count())
        with pytest.raises(ParameterError, match="waits for the owner"):
            question.release(epsilon="0.1", key="mine")
        job = question.submit(epsilon="0.1", key="mine")
        assert job.state == "waiting"
        world.service.questions.decide(job.id, is_accepted=True)
        assert len(job.result().rows) == 1


def test_an_answer_prints_its_rows_and_its_cost(visits: Any) -> None:
    """And no name acts on a terminal, whatever the service sends."""
    question = visits.group_by("city", keys=["Paris", "Lyon"]).agg(n=dp.count())
    found = question.release(epsilon="0.1")
    printed = str(found).splitlines()
    assert [each.partition(", n ")[0] for each in printed[:2]] == ["city 'Paris'", "city 'Lyon'"]
    assert printed[-1] == "costs epsilon = 0.1, delta = 0"
    bad = str(replace(found, rows=[{"ci\x1bty": "\x1b[2J"}] * 30))
    assert "\x1b" not in bad
    assert "and 10 more rows" in bad
