"""`dither suggest`: paid for, printed, and written into [unit] of a description."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from dither.cli.toml_file import described
from dither.cli.toml_limits import with_keys
from dither.unit import Person
from tests.cli.world import BUDGET, DESCRIPTION, ONE_ROW, SECRETS, charges, run

OPEN = DESCRIPTION.replace("max_groups = 2\nmax_rows_per_group = 1\n", "# max_groups = 5\n# max_rows_per_group = 5\n")


def test_limits_come_into_the_description(folder: Path) -> None:
    (folder / "dither.toml").write_text(OPEN, encoding="utf-8")
    assert run("plan", "dither.toml", "by_city").code == 2, "limits are missing"
    done = run("suggest", "dither.toml", "by_city")
    assert done.code == 0, done.err
    assert "Wrote the limits into [unit] of dither.toml." in done.out
    text = (folder / "dither.toml").read_text(encoding="utf-8")
    assert "Wrote the bounds of cost into [bounds] of dither.toml." in done.out
    assert text.count("suggested: entry") == 3
    description = described(text, folder)
    unit = description.unit
    assert 0 < tomllib.loads(text)["bounds"]["cost"][1] <= 200
    assert description.questions["by_city"].price["left_out"] is True
    assert "left_out" not in description.questions["middle"].price
    assert isinstance(unit, Person)
    assert unit.max_groups in (1, 2)
    assert run("plan", "dither.toml", "by_city").code == 0
    assert charges(folder / "visits.ledger") == 2, "a look at persons and one at values"


def test_flags_and_json(folder: Path) -> None:
    line = f"suggest visits.csv --person user_id --agg visits=count --epsilon 0.5 --share 0.2 {BUDGET} --json"
    done = run(*shlex.split(line))
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["epsilon_left_for_the_question"] == "2/5"
    assert found["unit"]["max_groups"] == 1
    assert found["considered"][0]["errors"]["visits"] > 0
    assert len(found["ledger_entries"]) == 1
    refused = run(*shlex.split("suggest visits.csv --person user_id --agg visits=count --ledger visits.ledger"))
    assert refused.code == 2
    assert "--epsilon 1" in refused.err


@pytest.mark.parametrize("before", ["", "max_groups = 7\n", "# max_rows_per_group = 9  # words\n\n"])
def test_only_the_limits_change(before: str) -> None:
    text = f"# max_groups = 1 elsewhere\n[unit]\nperson = 'a'\n{before}[budget]\nepsilon = 1\n"
    found = with_keys(text, "unit", {"max_groups": ("3", "x"), "max_rows_per_group": ("4", "y")})
    assert found == (
        "# max_groups = 1 elsewhere\n[unit]\nperson = 'a'\nmax_groups = 3  # x\nmax_rows_per_group = 4  # y\n\n"
        "[budget]\nepsilon = 1\n"
    )


def test_what_is_left_out_stands_in_every_form(folder: Path) -> None:
    """One of four rows of each person counts: 100 people at ε = 200 leave no doubt (noise of 1/5 of a person)."""
    line = f"release visits.csv {ONE_ROW} --agg visits=count --epsilon 200 --left-out --budget-epsilon 900 --ledger l"
    shown = run(*shlex.split(f"{line} --out a.csv --report a.html"))
    assert shown.code == 0, shown.err
    assert shown.out.startswith("More than 5% is left out: ")
    assert (folder / "a.csv.about.txt").read_text(encoding="utf-8").startswith("More than 5% is left out: ")
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert page.index("More than 5% is left out: ") < page.index("<table>")
    found = json.loads(run(*shlex.split(f"{line} --json")).out)
    assert next(iter(found)) == "warning"
    (rows,) = [each for each in found["left_out_shares"] if each["of"] == "rows"]
    assert 0.6 < rows["low"] <= rows["share"] <= rows["high"] < 0.9
    assert "(left out)" in run(*shlex.split(f"plan {line.removeprefix('release ').partition(' --budget')[0]}")).out


def test_a_first_look_at_a_file(folder: Path) -> None:
    """Nothing is said of rows but what was released; the report is one page."""
    done = run(*shlex.split(f"suggest visits.csv --person user_id --epsilon 0.5 --report look.html {BUDGET}"))
    assert done.code == 0, done.err
    for name in ("people", "rows", "city", "age", "cost", "day", "Left of the budget: epsilon 0.5."):
        assert name in done.out
    assert (folder / "look.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    told = json.loads(run(*shlex.split(f"suggest visits.csv --person user_id --epsilon 0.5 --json {BUDGET}")).out)
    assert [row["column"] for row in told["columns"]] == ["city", "age", "cost", "day"]
    assert all(row["holds"] == "text" for row in told["columns"] if row["column"] in told["read_as_text"])
    assert set(told["people"]) == {"value", "low", "high"}
    for text in (done.out, json.dumps(told)):
        assert not any(secret in text for secret in SECRETS)
    refused = run(*shlex.split(f"suggest visits.csv --person user_id --epsilon 0.5 {BUDGET}"))
    assert refused.code == 3
    assert "nothing was charged" in refused.err


def test_a_first_look_tells_what_columns_hold(folder: Path) -> None:
    """At ε = 12 for the kinds of each column, noise moves none of 100 people's counts by 30 (e^-300)."""
    line = "suggest visits.csv --person user_id --epsilon 500 --json --budget-epsilon 500 --ledger wide.ledger"
    done = run(*shlex.split(line))
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert [row["holds"] for row in told["columns"]] == ["text", "number", "number", "day"]
    assert told["read_as_text"] == []


def test_a_first_look_asks_no_question(folder: Path) -> None:
    line = f"suggest visits.csv --person user_id --epsilon 0.5 {BUDGET}"
    assert "--where is about a question" in run(*shlex.split(line), "--where", "age >= 18").err
    assert "say what the first look may cost" in run("suggest", "visits.csv", "--person", "user_id").err
    assert "--report is about a first look" in run("suggest", "dither.toml", "by_city", "--report", "r.html").err
    assert "--report must end in .html" in run(*shlex.split(line), "--report", "r.pdf").err
    looked = run("suggest", "dither.toml", "--look", "--epsilon", "0.5")
    assert looked.code == 0, looked.err
    assert "a tenth below" in looked.out
