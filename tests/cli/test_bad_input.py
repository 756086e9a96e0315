"""What is refused: one clear sentence with the next step, an exit code, nothing spent, no traceback, no data."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.world import BUDGET, DESCRIPTION, ONE_ROW, QUESTION, SECRETS, charges, run

FLAGS = f"{QUESTION} {BUDGET}"
REFUSED = {
    "missing file": (f"release nothing.csv {FLAGS} --epsilon 0.1", 2, "no file is found at 'nothing.csv'. Check"),
    "a folder": (
        f"release folder.csv {FLAGS} --epsilon 0.1",
        2,
        "'folder.csv' is a folder. Name its files by a pattern",
    ),
    "unreadable CSV": (f"release bytes.csv {FLAGS} --epsilon 0.1", 4, "cannot be read as a table"),
    "unreadable Parquet": (f"release bytes.parquet {FLAGS} --epsilon 0.1", 4, "cannot be read as a table"),
    "empty file": (f"release empty.csv {FLAGS} --epsilon 0.1", 2, "must start with a header line"),
    "another kind of file": (f"release visits.xlsx {FLAGS} --epsilon 0.1", 2, ".csv and .parquet"),
    "missing person": (
        f"release visits.csv --person id --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "Existing columns: user",
    ),
    "missing column": (
        f"release visits.csv {ONE_ROW} --agg 'm=mean(costs, 0, 9)' {BUDGET} --epsilon 0.1",
        2,
        "m = mean(costs, bounds=(0, 9)): Column 'costs' is not found. Existing columns: user_id, city, age, cost, day.",
    ),
    "missing column in a condition": (
        f"release visits.csv {FLAGS} --where 'x > 1' --epsilon 0.1",
        2,
        "Existing columns",
    ),
    "missing column in groups": (
        f"release visits.csv {ONE_ROW} --group-by town --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "Existing columns",
    ),
    "a date where a number should be": (
        f"release visits.parquet {ONE_ROW} --agg 'm=mean(day, 0, 9)' {BUDGET} --epsilon 0.1",
        2,
        "m = mean(day, bounds=(0, 9)): a number is needed in this place, and the expression gives a date",
    ),
    "a date where a number should be, in texts": (
        f"release visits.csv {ONE_ROW} --agg 'm=mean(day, 0, 9)' {BUDGET} --epsilon 0.1",
        2,
        "m = mean(day, bounds=(0, 9)): column 'day' holds dates, and numbers are needed here. Choose a column of",
    ),
    "a word where a number should be": (
        f"release visits.parquet {ONE_ROW} --agg 'm=max(city, 0, 9)' {BUDGET} --epsilon 0.1",
        2,
        "column 'city' holds texts",
    ),
    "bins of numbers of a date": (
        f"release visits.csv {ONE_ROW} --group-by 'bins(day, [0, 5, 9])' --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "bins(day, 0, 5, 9): column 'day' holds dates",
    ),
    "a date as a bound": (
        f"release visits.csv {ONE_ROW} --agg \"m=mean(cost, date '2024-01-01', 9)\" {BUDGET} --epsilon 0.1",
        2,
        "a number is expected here, at character 12",
    ),
    "epsilon is nan": (f"release visits.csv {FLAGS} --epsilon nan", 2, "epsilon must be one finite number, got 'nan'"),
    "epsilon is inf": (f"release visits.csv {FLAGS} --epsilon inf", 2, "epsilon must be one finite number"),
    "epsilon is negative": (f"release visits.csv {FLAGS} --epsilon -5", 2, "epsilon must be greater than 0"),
    "epsilon is 0": (f"release visits.csv {FLAGS} --epsilon 0", 2, "epsilon must be greater than 0"),
    "epsilon is huge": (f"release visits.csv {FLAGS} --epsilon 1e999", 2, "between 1e-308 and 1e308"),
    "epsilon is a word": (f"release visits.csv {FLAGS} --epsilon much", 2, "epsilon must be one finite number"),
    "epsilon is empty": (f"release visits.csv {FLAGS} --epsilon ''", 2, "epsilon must be one finite number"),
    "delta is above 1": (f"release visits.csv {FLAGS} --epsilon 0.1 --delta 2", 2, "delta"),
    "two prices": (f"release visits.csv {FLAGS} --epsilon 0.1 --rho 0.1", 2, "give the price as epsilon"),
    "no price": (f"release visits.csv {FLAGS}", 2, "--epsilon 0.5"),
    "a ledger in memory": (
        "release visits.csv --person user_id --agg n=count --budget-epsilon 1 --ledger :memory: --epsilon 0.1",
        2,
        "a ledger in memory is forgotten when the command ends",
    ),
    "no unit": (f"release visits.csv --agg n=count {BUDGET} --epsilon 0.1", 2, "--person"),
    "two units": (f"release visits.csv {FLAGS} --rows add-remove --epsilon 0.1", 2, "--person"),
    "an unknown unit": (
        f"release visits.csv --rows all --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "add-remove, replace",
    ),
    "no groups of a person": (f"release visits.csv {FLAGS} --max-groups 0 --epsilon 0.1", 2, "max_groups"),
    "limits without a person": (
        f"release visits.csv --rows replace --max-groups 2 --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "go with --person",
    ),
    "nothing asked": (f"release visits.csv --person user_id {BUDGET} --epsilon 0.1", 2, "--agg visits=count"),
    "an unknown aggregate": (
        f"release visits.csv {ONE_ROW} --agg n=number {BUDGET} --epsilon 1",
        2,
        "count_people",
    ),
    "an aggregate without a name": (
        f"release visits.csv {ONE_ROW} --agg count {BUDGET} --epsilon 1",
        2,
        "name, '='",
    ),
    "an aggregate twice": (f"release visits.csv {FLAGS} --agg visits=count --epsilon 0.1", 2, "twice"),
    "no bounds": (
        f"release visits.csv {ONE_ROW} --agg 'm=mean(cost)' {BUDGET} --epsilon 0.1",
        2,
        "needs bounds",
    ),
    "bounds in the wrong order": (
        f"release visits.csv {ONE_ROW} --agg 'm=mean(cost, 9, 0)' {BUDGET} --epsilon 0.1",
        2,
        "low < high",
    ),
    "a condition that is none": (f"release visits.csv {FLAGS} --where 'age >' --epsilon 0.1", 2, "at its end: 'age >'"),
    "a value as a condition": (f"release visits.csv {FLAGS} --where 'age + 1' --epsilon 0.1", 2, ""),
    "keys without groups": (
        f"release visits.csv {ONE_ROW} --keys Paris --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "--group-by",
    ),
    "found groups without delta": (
        f"release visits.csv {ONE_ROW} --group-by city --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "delta",
    ),
    "no ledger": (f"release visits.csv {QUESTION} --epsilon 0.1 --budget-epsilon 1", 2, "--ledger visits.ledger"),
    "no budget": (f"release visits.csv {QUESTION} --epsilon 0.1 --ledger visits.ledger", 2, "--budget-epsilon 2"),
    "a budget of nan": (f"release visits.csv {QUESTION} --epsilon 0.1 --budget-epsilon nan --ledger l", 2, "epsilon"),
    "a ledger that is none": (
        f"release visits.csv {QUESTION} --epsilon 1 --budget-epsilon 1 --ledger visits.csv",
        4,
        "no ledger",
    ),
    "over budget at once": (f"release visits.csv {FLAGS} --epsilon 1.5", 3, "costs epsilon 1.5 (delta 0), but only 1"),
    "out over the data": (f"release visits.csv {FLAGS} --epsilon 0.1 --out visits.csv", 2, "overwrite the data"),
    "out over the ledger": (
        f"release visits.csv {QUESTION} --budget-epsilon 1 --ledger l.json --epsilon 0.1 --out l.json",
        2,
        "the ledger",
    ),
    "certificate over the answer": (
        f"release visits.csv {FLAGS} --epsilon 0.1 --out a.json --certificate a.json",
        2,
        "overwrite --out",
    ),
    "out over a public table": (
        f"release visits.csv {FLAGS} --join city=cities.csv --epsilon 0.1 --out cities.csv",
        2,
        "--out would overwrite a public table",
    ),
    "a public table that is not there": (
        f"release visits.csv {FLAGS} --join city=towns.csv --epsilon 0.1",
        2,
        "the public table 'towns.csv' cannot be read. Check the path",
    ),
    "a public table of another kind": (
        f"release visits.csv {FLAGS} --join city=visits.xlsx --epsilon 0.1",
        2,
        "a public table is a file that ends in .csv or .parquet, got 'visits.xlsx'",
    ),
    "a public table that is none": (
        f"release visits.csv {FLAGS} --join city=bytes.csv --epsilon 0.1",
        2,
        "cannot be r",
    ),
    "a public table with nothing in it": (
        f"release visits.csv {FLAGS} --join city=empty.csv --epsilon 0.1",
        2,
        "'empty.csv' cannot be read",
    ),
    "a public table by a column it has not": (
        f"release visits.csv {FLAGS} --join age=cities.csv --epsilon 0.1",
        2,
        "the public table has no column 'age'",
    ),
    "a public table by a column that the data has not": (
        f"release visits.csv {FLAGS} --join country=cities.csv --epsilon 0.1",
        2,
        "Column 'country' is not found",
    ),
    "two public tables by one column": (
        f"release visits.csv {FLAGS} --join city=cities.csv --join city=cities.csv --epsilon 0.1",
        2,
        "--join says 'city' twice",
    ),
    "a join without a column": (f"release visits.csv {FLAGS} --join cities.csv --epsilon 0.1", 2, "city=cities.csv"),
    "per person of rows": (
        f"release visits.csv --rows replace --per-person n=count --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "per_person needs persons",
    ),
    "per person what is not exact": (
        f"release visits.csv --person user_id --per-person 'm=median(age, 0, 99)' --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "per_person knows count, sum, mean, min and max",
    ),
    "per person twice": (
        f"release visits.csv --person user_id --per-person n=count --per-person n=count --agg n=count {BUDGET} "
        "--epsilon 0.1",
        2,
        "--per-person says 'n' twice",
    ),
    "a date where a number should be, within persons": (
        f"release visits.csv --person user_id --per-person 'm=mean(day, 0, 9)' --agg n=count {BUDGET} --epsilon 0.1",
        2,
        "m = mean(day, bounds=(0, 9)): column 'day' holds dates",
    ),
    "a column that is gone": (
        f"release visits.csv --person user_id --per-person n=count --agg 'm=mean(cost, 0, 9)' {BUDGET} --epsilon 0.1",
        2,
        "Column 'cost' is not found. Existing columns: user_id, n.",
    ),
    "out of an unknown kind": (
        f"release visits.csv {FLAGS} --epsilon 0.1 --out a.xlsx",
        2,
        ".csv or .parquet or .json",
    ),
    "out in no folder": (f"release visits.csv {FLAGS} --epsilon 0.1 --out no/a.csv", 2, "cannot be written"),
    "a picture of names": (
        f"release visits.csv {ONE_ROW} --agg \"t=top(city, 1, ['Paris', 'Rome'])\" {BUDGET} --epsilon 0.1 --plot a.svg",
        2,
        "--plot draws numbers",
    ),
    "an unknown question": ("release dither.toml by_town", 2, "Existing questions: by_city, middle."),
    "one question of several": ("release dither.toml", 2, "Name one of them: by_city, middle."),
    "a flag of the description": ("release dither.toml middle --person city", 2, "does not go with a description"),
    "no description": ("plan nothing.toml", 2, "cannot be read"),
    "a description that is no text": ("plan bytes.toml", 2, "not text in UTF-8"),
    "no ledger to show": ("ledger nothing.ledger", 2, "no ledger is found at 'nothing.ledger'"),
    "a ledger to show that is none": ("ledger visits.csv", 4, "no ledger"),
    "an empty file to show": ("ledger empty.csv", 2, "no ledger is found at 'empty.csv'"),
    "nothing to explain": ("explain", 2, "--epsilon"),
    "explain nan": ("explain --epsilon nan", 2, "epsilon must be one finite number"),
    "a prior of 1": ("explain --epsilon 1 --prior 1", 2, "prior"),
    "init of nothing": ("init nothing.csv --out new.toml --person user_id --budget-epsilon 1", 2, "no file is found"),
    "init over a description": ("init visits.csv --person user_id --budget-epsilon 1", 2, "--force"),
    "init with bounds of a date": (
        f"init visits.csv --out new.toml {ONE_ROW} --bounds day=0,9 --budget-epsilon 1",
        2,
        "column 'day' is of the kind date",
    ),
    "init without a person": ("init visits.csv --out new.toml --budget-epsilon 1", 2, "--person or --rows"),
    "init with a missing person": (
        "init visits.csv --out new.toml --person id --budget-epsilon 1",
        2,
        "Existing columns",
    ),
    "init with a budget of nan": (
        f"init visits.csv --out new.toml {ONE_ROW} --bounds cost=0,9 --budget-epsilon nan",
        2,
        "epsilon must be one finite",
    ),
}


@pytest.fixture
def spoilt(folder: Path) -> Path:
    """The folder with files that are not what they seem."""
    for name in ("bytes.csv", "bytes.parquet", "bytes.toml"):
        (folder / name).write_bytes(b"\xff\xfe\x00" + SECRETS[0].encode() + bytes(range(256)))
    for name in ("empty.csv", "visits.xlsx"):
        (folder / name).write_bytes(b"")
    (folder / "folder.csv").mkdir()
    return folder


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case: str, spoilt: Path) -> None:
    line, code, sentence = REFUSED[case]
    before = (spoilt / "visits.csv").read_bytes()
    done = run(*shlex.split(line))
    assert done.code == code, done.err
    assert sentence in done.err
    told = [each for each in done.err.splitlines() if each.startswith("Error: ")]
    assert len(told) == 1, done.err
    assert told[0].endswith((".", "?")), "one whole sentence"
    assert "Traceback" not in done.out + done.err
    assert [secret for secret in SECRETS if secret in done.out + done.err] == []
    assert charges(spoilt / "visits.ledger") == 0
    assert (spoilt / "visits.csv").read_bytes() == before
    assert not (spoilt / "new.toml").exists()


def test_a_refused_question_leaves_no_ledger(folder: Path) -> None:
    """A budget is given once; a question with a mistake in it must not be what gives it."""
    run(*shlex.split(f"release visits.csv {QUESTION} --where 'x > 1' --epsilon 0.1 {BUDGET}"))
    assert not (folder / "visits.ledger").exists()


def test_a_budget_that_is_spent(folder: Path) -> None:
    assert run("release", "dither.toml", "by_city").code == 0
    assert run("release", "dither.toml", "by_city").code == 0
    done = run("release", "dither.toml", "by_city")
    assert done.code == 3
    assert "this release costs epsilon 0.5 (delta 0), but only 0 (delta 0) of 1 (delta 0) is left." in done.err
    assert "Pay less" in done.err
    assert done.out == ""
    assert charges(folder / "visits.ledger") == 2


def test_another_budget_is_refused(folder: Path) -> None:
    assert run("release", "dither.toml", "by_city").code == 0
    done = run(*shlex.split(f"release visits.csv {QUESTION} --budget-epsilon 9 --ledger visits.ledger --epsilon 0.1"))
    assert done.code == 2
    assert "a budget is given once" in done.err
    assert charges(folder / "visits.ledger") == 1


def test_a_key_of_another_question_is_bad_input(folder: Path) -> None:
    assert run("release", "dither.toml", "by_city", "--key", "monthly").code == 0
    done = run("release", "dither.toml", "middle", "--key", "monthly")
    assert done.code == 2
    assert "this idempotency key was used for another question" in done.err
    assert done.out == ""
    assert charges(folder / "visits.ledger") == 1


EMPTY = {
    "one column": "--group-by city --keys \"Paris,''\"",
    "two columns": "--group-by city --group-by age --keys \"city='',Paris\" --keys age=20,30",
}


@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_key_of_a_csv_file_is_refused(case: str, folder: Path) -> None:
    """An empty field is a missing value there, so that the group would be noise alone; what is said next works."""
    rows = (folder / "visits.csv").read_text().replace(",Lyon,", ",,").replace(",Nice,", ',"",')
    (folder / "gaps.csv").write_text(rows)
    line = (
        "--person user_id --max-groups 4 --max-rows-per-group 1 --agg n=count --epsilon 4000 "
        "--budget-epsilon 9000 --ledger {} " + EMPTY[case]
    )
    done = run(*shlex.split(f"release gaps.csv {line.format('a.ledger')}"))
    assert done.code == 2
    assert "no row has the key '' of 'city': in a CSV file an empty field is a missing value." in done.err
    assert not (folder / "a.ledger").exists()
    found = re.search(r"first: (--column .*)\.$", done.err.strip())
    assert found is not None
    assert run(*shlex.split(f"release gaps.csv {line.format('a.ledger')} {found[1]}")).code == 0
    assert run(*shlex.split(f"release visits.parquet {line.format('b.ledger')}")).code == 0, "there '' is a text"


def test_missing_texts_are_a_group_when_they_are_made_one(folder: Path) -> None:
    """At ε = 4000, 2000 for each of two groups: a count of 200 is off by 1 with probability e^-1999 or so."""
    rows = (folder / "visits.csv").read_text().replace(",Lyon,", ",,").replace(",Nice,", ',"",')
    (folder / "gaps.csv").write_text(rows)
    line = (
        "release gaps.csv --person user_id --max-groups 2 --max-rows-per-group 4 --group-by city --keys \"Paris,''\" "
    )
    line += "--column \"city=coalesce(city, '')\" --agg n=count --epsilon 4000 --budget-epsilon 9000 --ledger a.ledger"
    done = run(*shlex.split(f"{line} --json"))
    assert done.code == 0, done.err
    assert [(row["city"], row["n"]) for row in json.loads(done.out)["rows"]] == [("Paris", 100), ("", 200)]


def test_an_empty_key_in_a_description_is_refused(folder: Path) -> None:
    for old, new in (
        ('keys = ["Paris", "Lyon"]', 'keys = ["Paris", ""]'),
        ('group_by = "city"\nkeys = ["Paris", "Lyon"]', 'group_by = ["city", "age"]\nkeys = [["Paris", 1], ["", 2]]'),
    ):
        (folder / "dither.toml").write_text(DESCRIPTION.replace(old, new), encoding="utf-8")
        done = run("plan", "dither.toml")
        assert done.code == 2
        assert "no row has the key '' of 'city'" in done.err


@pytest.mark.parametrize("budget", ["", "--budget-epsilon 1"])
@pytest.mark.parametrize("second", ["visits_*.csv", "visits_1.csv"])
def test_files_that_have_a_budget_as_part_of_another_dataset(second: str, budget: str, folder: Path) -> None:
    """A pattern that grew, and one file of a pattern: the next step is said at once, and it works."""
    rows = (folder / "visits.csv").read_text()
    (folder / "visits_1.csv").write_text(rows)
    (folder / "visits_2.csv").write_text(rows)
    flags = f"{QUESTION} --epsilon 0.1 --ledger visits.ledger"
    assert run(*shlex.split(f"release 'visits_*.csv' {flags} --budget-epsilon 1")).code == 0
    (folder / "visits_3.csv").write_text(rows)
    done = run(*shlex.split(f"release '{second}' {flags} {budget}"))
    assert done.code == 2
    assert "have a budget in this ledger already" in done.err
    assert "no budget yet" not in done.err
    found = re.search(r"go on with (--identity \S+)", done.err)
    assert found is not None
    assert charges(folder / "visits.ledger") == 1
    shared = run(*shlex.split(f"release '{second}' {flags} {found[1]}"))
    assert shared.code == 0, shared.err
    assert "left epsilon 0.8 of epsilon 1" in shared.out
    (folder / "other.csv").write_text(rows)
    unknown = run(*shlex.split(f"release other.csv {flags}"))
    assert "this dataset has no budget yet" in unknown.err


TYPOS = {
    "epsilon = 1\n": ("epsilom = 1\n", "line 12: unknown key 'epsilom' in [budget]; did you mean 'epsilon'?"),
    "[budget]": ("[budgt]", "line 11: unknown key 'budgt' in the description; did you mean 'budget'?"),
    'person = "user_id"': ('persn = "user_id"', "line 5: unknown key 'persn' in [unit]; did you mean 'person'?"),
    'group_by = "city"': (
        'groupby = "city"',
        "line 17: unknown key 'groupby' in [questions.by_city]; did you mean 'group_by'?",
    ),
    'where = "age >= 18"': ('where = "age >>= 18"', "line 16: a column, a number"),
    "cost = [0, 200]": ("cost = [200, 0]", "line 9: bounds must be in order"),
    "epsilon = 0.5": (
        "epsilon = 2024-01-01",
        "line 20: epsilon in [questions.by_city] must be a number, and it is a date.",
    ),
    "max_groups = 2": ("max_groups = 'two'", "line 6: max_groups in [unit] must be a whole number, and it is a text."),
    'keys = ["Paris", "Lyon"]': ('keys = [["Paris"], "Lyon"]', "line 18: a key is a text, a whole number, a day"),
    "[bounds]": (
        '[columns]\ncost = "money"\n[bounds]',
        "line 9: cost in [columns] must be one of number, date, truth, text.",
    ),
    "[unit]": ("[unit", "line 4: this is not TOML"),
    "epsilon = 0.25": ("epsilon = nan", "epsilon must be one finite number"),
    'agg.cost = "median(cost, interval=0.9)"': ('agg.cost = "midian(cost)"', "line 23: an aggregate is expected here"),
    "ledger =": ("ledger = 3 #", "line 13: ledger in [budget] must be a text, and it is a whole number."),
}


@pytest.mark.parametrize("right", TYPOS, ids=lambda text: text.strip())
def test_a_mistake_in_a_description_is_told_with_its_line(right: str, folder: Path) -> None:
    wrong, sentence = TYPOS[right]
    assert DESCRIPTION.count(right) == 1
    (folder / "dither.toml").write_text(DESCRIPTION.replace(right, wrong), encoding="utf-8")
    done = run("plan", "dither.toml")
    assert done.code == 2
    assert sentence in done.err
    assert not (folder / "visits.ledger").exists()


def test_a_failure_nobody_thought_of_shows_no_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words may be data: only the type is told, unless somebody asks for the traceback."""

    def fails(*_: object) -> None:
        raise KeyError("Zebedee")

    monkeypatch.setattr("dither.cli.flags.described", fails)
    done = run("plan", "dither.toml")
    assert done.code == 4
    assert "KeyError" in done.err
    assert "Zebedee" not in done.out + done.err
    monkeypatch.setenv("DITHER_TRACEBACK", "1")
    assert run("plan", "dither.toml").code == 1


def test_a_real_process_ends_with_one_sentence(folder: Path) -> None:
    command = [sys.executable, "-m", "dither", "release", "visits.csv", *shlex.split(FLAGS), "--epsilon", "2"]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", check=False, timeout=600, env=dict(os.environ)
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: this release costs epsilon 2")
    assert done.stderr.count("\n") == 1
