"""Numbers are asked of columns of numbers: what stands in texts is looked up in the first lines, or said."""

import shlex
from pathlib import Path

import pytest

from dither.cli.aggregates import aggregate, group
from dither.cli.conditions import condition
from dither.cli.kinds import check_kinds, columns_of_numbers
from dither.errors import ParameterError
from tests.cli.world import BUDGET, DESCRIPTION, ONE_ROW, charges, run

SAID = DESCRIPTION.replace("[unit]", '[columns]\nday = "date"\ncost = "number"\n\n[unit]') + (
    '\n[questions.days]\nagg.m = "mean(day, 0, 9)"\nepsilon = 0.25\n'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count", []),
        ("count_distinct(day)", []),
        ("top(city, 2, ['a', 'b', 'c'])", []),
        ("sum(cost, 0, 9)", ["cost"]),
        ("median(-abs(cost) * age + 1, 0, 9)", ["age", "cost"]),
        ("quantile(coalesce(cost, age), 0.5, 0, 9)", ["age", "cost"]),
        ("mean(if_else(city = 'x' and day is null, cost, 0), 0, 9)", ["cost"]),
        ("mean(year(day) - weekday(day), 0, 9)", []),
        ("variance(new, 0, 9)", ["price"]),
        ("std(age + cost, 0, 9)", ["age", "cost"]),
        ("min(age, 0, 9)", ["age"]),
        ("histogram(age, [0, 5, 9])", ["age"]),
        ("histogram(day, [date '2024-01-01', date '2024-06-01', date '2025-01-01'])", []),
    ],
)
def test_which_columns_are_read_as_numbers(text: str, expected: list[str]) -> None:
    found = columns_of_numbers({"x": aggregate(text, {})}, (), {"new": condition("price * 2")})
    assert sorted(found) == expected


def test_a_new_column_is_made_of_old_ones() -> None:
    made = {"cost": condition("cost * 2"), "age": condition("year(day)")}
    assert sorted(columns_of_numbers({"x": aggregate("mean(cost + age, 0, 9)", {})}, (), made)) == ["cost"]


def test_groups_may_be_of_numbers() -> None:
    assert columns_of_numbers({}, ["city", group("bins(age, [0, 5, 9])")], {}) == {"age": "bins(age, 0, 5, 9)"}


def test_the_next_step_can_be_copied() -> None:
    with pytest.raises(ParameterError, match="holds texts") as caught:
        check_kinds({"the day": "m = mean(...)"}, {"the day": "text"})
    assert '--number \'the day\' (in a description: "the day" = "number" in [columns])' in str(caught.value)


def test_a_column_that_is_said_to_hold_numbers_is_believed(folder: Path) -> None:
    line = f"release visits.csv {ONE_ROW} --agg 'm=mean(day, 0, 9)' --epsilon 0.1 {BUDGET} --number day"
    assert run(*shlex.split(line)).code == 0
    assert charges(folder / "visits.ledger") == 1


def test_a_description_refuses_what_its_kinds_do(folder: Path) -> None:
    (folder / "dither.toml").write_text(SAID, encoding="utf-8")
    for command in ("plan", "release"):
        done = run(command, "dither.toml", "days")
        assert (done.code, done.out) == (2, "")
        assert "m = mean(day, bounds=(0, 9)): column 'day' holds dates" in done.err
    assert not (folder / "visits.ledger").exists()
    assert run("release", "dither.toml", "middle").code == 0


@pytest.mark.parametrize("said", [SAID, SAID.replace('day = "date"\n', "")], ids=["kinds said", "kinds not said"])
@pytest.mark.parametrize("question", ["days", "middle"])
def test_under_a_description_rows_decide_nothing(said: str, question: str, folder: Path) -> None:
    """Whether a question is answered may not depend on rows: here all of them become texts, or disappear."""
    (folder / "dither.toml").write_text(said, encoding="utf-8")
    header = (folder / "visits.csv").read_text(encoding="utf-8").partition("\n")[0]
    ends = set()
    for rows in ("", "a,b,c,d,e\n" * 9, "u,Paris,1,2,3\n" * 9, "u,Paris,1,2024-01-01,2024-01-01\n" * 9):
        (folder / "visits.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
        done = run("plan", "dither.toml", question)
        ends.add((done.code, done.out, done.err))
    assert len(ends) == 1


def test_init_writes_the_kinds_and_they_hold(folder: Path) -> None:
    line = "init visits.csv --force --max-groups 1 --max-rows-per-group 1 --bounds cost=0,9 --budget-epsilon 1"
    done = run(*shlex.split(line), answers="user_id\n\n")
    assert done.code == 0, done.err
    assert "Columns: user_id (text), city (text), age (number), cost (number), day (date)." in done.err
    written = (folder / "dither.toml").read_text(encoding="utf-8")
    assert 'user_id = "text"\ncity = "text"\nage = "number"\ncost = "number"\nday = "date"\n' in written
    assert run("plan", "dither.toml").code == 0
    (folder / "dither.toml").write_text(written.replace("mean(cost)", "mean(day, 0, 9)"), encoding="utf-8")
    assert "column 'day' holds dates" in run("plan", "dither.toml").err
