"""`dither sql` asks the same question as the flags and the description do, at the same price."""

import json
import shlex
from pathlib import Path

import pytest

import dither as dp
from dither.cli.toml_file import described
from tests.cli.world import BUDGET, DESCRIPTION, SECRETS, charges, run

TEXT = "SELECT city, COUNT(*) AS n, AVG(cost) AS spend FROM visits GROUP BY city HAVING COUNT(*) > -1000 ORDER BY city"
FLAGS = "--person user_id --max-groups 2 --max-rows-per-group 1 --keys city=Paris,Lyon --bounds cost=0,200"
IN_SQL = f"""
[columns]
city = ["Paris", "Lyon"]
age = {{ kind = "number", bounds = [0, 120] }}
cost = "number"

[questions.in_sql]
sql = "{TEXT}"
epsilon = 0.25
"""


def test_a_plan_shows_protection_noise_cost_and_the_question_in_python(folder: Path) -> None:
    done = run("sql", "--plan", "visits.csv", TEXT, *shlex.split(FLAGS), "--epsilon", "0.5")
    assert done.code == 0, done.err
    assert "protected: add or remove one person (by user_id)" in done.out
    assert "would cost epsilon 0.5" in done.out
    assert ".group_by('city', keys=['Paris', 'Lyon'])" in done.out
    narrow = run("sql", "--plan", "visits.csv", TEXT, *shlex.split(FLAGS), "--epsilon", "0.5", columns=60).out
    protected = done.out.partition("\n")[0]
    assert len(protected) > 60
    assert " ".join(narrow.split()).startswith(protected)
    assert max(map(len, narrow.split("\n")[:2])) <= 60
    assert ".agg(n=dp.count(), spend=dp.mean('cost', bounds=(0, 200)))" in done.out
    assert not (folder / "visits.ledger").exists()
    assert not any(secret in done.out for secret in SECRETS)


def test_the_python_that_is_shown_is_the_question(folder: Path) -> None:
    done = run("sql", "--plan", "visits.csv", TEXT, *shlex.split(FLAGS), "--epsilon", "0.5", "--json")
    said = json.loads(done.out)
    with dp.Dataset("visits.csv", unit=dp.Person("user_id", 2, 1), budget=dp.PureDP(1), ledger=":memory:") as data:
        question = eval(said["python"], {"dp": dp, "data": data})
        plan = question.plan(epsilon=0.5)
    assert [line["noise"] for line in said["columns"]] == [noise for _, noise, _, _ in plan.lines()]
    assert said["cost"]["epsilon"] == "0.5"


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_an_answer_is_charged_and_printed(folder: Path, form: str) -> None:
    line = f"{FLAGS} --epsilon 0.5 --format {form} {BUDGET} --certificate c.json --out o.csv"
    done = run("sql", "visits.csv", TEXT, *shlex.split(line))
    assert done.code == 0, done.err
    assert done.out.index("Lyon") < done.out.index("Paris")
    assert charges(folder / "visits.ledger") == 1
    assert run("verify", "c.json").code == 0
    assert (folder / "o.csv").read_text(encoding="utf-8").startswith('"city","n","n_low","n_high","spend"')


def test_questions_of_a_description_may_be_in_sql(folder: Path) -> None:
    (folder / "dither.toml").write_text(DESCRIPTION + IN_SQL, encoding="utf-8")
    done = run("plan", "dither.toml", "in_sql")
    assert done.code == 0, done.err
    assert "would cost epsilon 0.25" in done.out
    done = run("release", "dither.toml", "in_sql")
    assert done.code == 0, done.err
    asked = run("sql", "dither.toml", "SELECT AVG(age) FROM visits", "--epsilon", "0.1")
    assert asked.code == 0, asked.err
    assert charges(folder / "visits.ledger") == 2


def test_domains_are_pairs_lists_or_tables() -> None:
    text = DESCRIPTION.partition("[questions")[0] + (
        "\n[columns]\nlevel = { keys = [0, 1] }\nwhen = [2024-01-01, 2024-12-31]\nage = [0, 120]\ncity = ['a', 'b']\n"
    )
    found = described(text, Path())
    assert found.columns["level"] == [0, 1]
    assert isinstance(found.columns["when"], tuple)
    assert isinstance(found.columns["age"], tuple)
    assert found.columns["city"] == ["a", "b"]
    assert found.kinds == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"visits.csv 'SELECT * FROM visits' {FLAGS} --epsilon 1 {BUDGET}", "rows are not shown"),
        (f"visits.csv 'SELECT COUNT(*) FROM visits' {FLAGS} {BUDGET}", "has no price"),
        (f"visits.csv 'SELECT COUNT(*) FROM visits' {FLAGS} --keys cost=1 --epsilon 1 {BUDGET}", "twice"),
        (f"visits.csv 'SELECT COUNT(*) FROM visits' --rows replace --keys Paris --epsilon 1 {BUDGET}", "of a column"),
        ("dither.toml 'SELECT COUNT(*) FROM visits' --bounds cost=0,9 --epsilon 1", "does not go with a description"),
        (f"visits.csv 'SELECT AVG(day) FROM visits' {FLAGS} --bounds day=0,9 --epsilon 1 {BUDGET}", "holds dates"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_there_is_a_ledger(folder: Path, line: str, why: str) -> None:
    done = run("sql", *shlex.split(line))
    assert done.code == 2
    assert why in done.err
    assert not done.out
    assert not (folder / "visits.ledger").exists()


def test_an_audit_names_the_questions_that_it_cannot_make_tables_for(folder: Path) -> None:
    (folder / "dither.toml").write_text(DESCRIPTION + IN_SQL, encoding="utf-8")
    done = run("audit", "dither.toml", "in_sql")
    assert done.code == 2
    assert "'in_sql' is in SQL" in done.err
