"""`init`, `plan`, `release`, `ledger` and `explain`, as a user runs them."""

import json
import math
import shlex
import sqlite3
from fractions import Fraction
from pathlib import Path
from uuid import uuid4

import psycopg
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.cli.draft import Draft
from dither.cli.files import write_table
from dither.cli.toml_file import described
from dither.engine import Bins
from dither.ledger import Ledger
from dither.unit import Person, Rows
from tests.cli.world import BUDGET, DESCRIPTION, ONE_ROW, QUESTION, SECRETS, charges, run


def test_a_plan_spends_nothing_and_leaves_no_ledger(folder: Path) -> None:
    done = run("plan", "dither.toml")
    assert done.code == 0
    assert "by_city: would cost epsilon 0.5" in done.out
    assert "middle: would cost epsilon 0.25" in done.out
    assert "Nothing was spent." in done.out
    assert not (folder / "visits.ledger").exists()


def test_a_plan_is_that_of_the_library(folder: Path) -> None:
    (plan,) = json.loads(run("plan", "dither.toml", "by_city", "--json").out)
    data = dp.Dataset(
        "visits.csv",
        unit=dp.Person("user_id", max_groups=2, max_rows_per_group=1),
        budget=dp.PureDP(9),
        ledger="other.ledger",
    )
    query = data.group_by("city", keys=["Paris", "Lyon"])
    expected = query.agg(visits=dp.count(), spend=dp.mean("cost", bounds=(0, 200))).plan(epsilon=0.5)
    data.close()
    assert plan["errors"]["spend"]["1000"] == expected.error("spend", 1000)
    assert plan["errors"]["visits"]["100"] == expected.error("visits", 100)
    assert plan["cost"] == {"epsilon": "0.5", "delta": "0"}


def test_a_price_on_the_command_line_replaces_that_of_the_file(folder: Path) -> None:
    (plan,) = json.loads(run("plan", "dither.toml", "by_city", "--rho", "0.02", "--level", "0.9", "--json").out)
    assert plan["cost"] == {"rho": "0.02"}
    assert plan["level"] == "9/10"
    assert "Gaussian" in plan["columns"][0]["noise"]


def test_a_release_from_flags_is_charged_and_close(folder: Path) -> None:
    """At ε = 400, 100 for each person of two groups: the count of 100 rows is off by 1 with probability e^-66 or so."""
    line = f"release visits.csv {QUESTION} --epsilon 400 --budget-epsilon 1000 --ledger visits.ledger --json"
    answer = json.loads(run(*shlex.split(line)).out)
    assert [row["city"] for row in answer["rows"]] == ["Paris", "Lyon"]
    assert all(abs(row["visits"] - 100) <= 1 for row in answer["rows"])
    assert answer["remaining"]["epsilon"] == "600"
    assert charges(folder / "visits.ledger") == 1
    again = json.loads(run(*shlex.split(line.replace("--budget-epsilon 1000 ", ""))).out)
    assert again["remaining"]["epsilon"] == "200", "the ledger knows the budget"


def test_the_table_fits_a_narrow_terminal(folder: Path) -> None:
    done = run("release", "dither.toml", "by_city", columns=60)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert "95 % interval" in done.out
    assert "Spent epsilon 0.5; left epsilon 0.5 of epsilon 1." in done.out
    assert "\x1b[" not in done.out + done.err


def test_an_interval_says_its_own_level(folder: Path) -> None:
    done = run("release", "dither.toml", "middle")
    assert "90 % interval" in done.out
    assert "95 % interval" not in done.out


def test_the_same_key_gives_the_same_answer_once_paid(folder: Path) -> None:
    first, second = (run("release", "dither.toml", "by_city", "--key", "monthly", "--json").out for _ in range(2))
    assert json.loads(first)["rows"] == json.loads(second)["rows"]
    assert charges(folder / "visits.ledger") == 1
    for said, repeated, spent in ((first, False, "0.5"), (second, True, "0")):
        found = json.loads(said)
        assert found["repeated"] is repeated
        assert found["cost"] == {"epsilon": "0.5", "delta": "0"}
        assert found["spent"] == {"epsilon": spent, "delta": "0"}
        assert found["remaining"]["epsilon"] == "0.5"
        assert found["ledger_entry"]["number"] == 2


def test_a_repeated_answer_says_that_nothing_was_spent(folder: Path) -> None:
    first, second = (run("release", "dither.toml", "by_city", "--key", "monthly").out for _ in range(2))
    assert "\nSpent epsilon 0.5; left epsilon 0.5 of epsilon 1.\nRecorded as entry 2 of the ledger.\n" in first
    assert "charged before, epsilon 0.5 in entry 2 of the ledger, and is repeated.\nNothing was spent now" in second
    assert "Nothing was spent now; left epsilon 0.5 of epsilon 1.\n" in second
    assert "Spent" not in second
    assert "Spent epsilon 0.25" in run("release", "dither.toml", "middle", "--key", "another").out


def test_no_group_with_enough_people_is_said(folder: Path) -> None:
    """At this price a group of a hundred people is found with a probability below e^-100."""
    question = f"{ONE_ROW} --group-by city --agg n=count --epsilon 1e-3 --delta 1e-200"
    (plan,) = json.loads(run("plan", "visits.csv", *question.split(), "--json").out)
    threshold = int(plan["columns"][-1]["noise"].removeprefix("discovery, from ").removesuffix(" people on"))
    line = f"release visits.csv {question} {BUDGET} --budget-delta 1e-6"
    done = run(*line.split())
    assert done.code == 0, done.err
    assert f"No group is shown: none had {threshold:,} people or more, counted with noise." in done.out
    assert "Spent epsilon 0.001, delta 1e-200;" in done.out
    found = json.loads(run(*line.split(), "--json").out)
    assert found["rows"] == []
    assert found["shown_from_people"] == threshold


def test_the_answer_is_written(folder: Path) -> None:
    line = "release dither.toml by_city --json --out answer.csv --certificate certificate.json"
    shown = json.loads(run(*shlex.split(line)).out)["rows"]
    table = pyarrow.csv.read_csv(folder / "answer.csv")
    assert table.to_pylist() == shown
    for ending in ("parquet", "json"):
        write_table(table, folder / f"answer.{ending}")
    assert pyarrow.parquet.read_table(folder / "answer.parquet").to_pylist() == shown
    assert json.loads((folder / "answer.json").read_text(encoding="utf-8")) == shown
    accepted = run("verify", "certificate.json", "--ledger", "visits.ledger")
    assert accepted.code == 0, accepted.err
    assert not any(secret in (folder / "certificate.json").read_text() for secret in SECRETS)


def test_a_picture_and_a_page_are_made(folder: Path) -> None:
    done = run("release", "dither.toml", "by_city", "--plot", "a.svg", "--report", "a.html")
    assert done.code == 0, done.err
    assert "Paris" in (folder / "a.svg").read_text(encoding="utf-8")
    assert "Paris" in (folder / "a.html").read_text(encoding="utf-8")


def test_an_answer_without_groups_has_no_picture(folder: Path) -> None:
    """At this price a group of a hundred people is found with a probability below e^-100."""
    line = f"release visits.csv {ONE_ROW} --group-by city --agg n=count --epsilon 1e-3 --delta 1e-200 {BUDGET}"
    done = run(*shlex.split(f"{line} --budget-delta 1e-6 --plot a.svg --report a.html"))
    assert done.code == 0, done.err
    assert "Nothing was drawn: no group was found." in done.err
    assert not (folder / "a.svg").exists()
    assert (folder / "a.html").exists()


def test_looking_makes_no_ledger(folder: Path) -> None:
    """Neither `verify` nor `plan` writes to an empty file."""
    line = "release dither.toml by_city --certificate certificate.json"
    assert run(*shlex.split(line)).code == 0
    (folder / "empty.ledger").touch()
    refused = run("verify", "certificate.json", "--ledger", "empty.ledger")
    assert refused.code == 2
    assert "it is empty" in refused.err
    (folder / "new.toml").write_text(DESCRIPTION.replace("visits.ledger", "empty.ledger"), encoding="utf-8")
    assert run("plan", "new.toml").code == 0
    assert (folder / "empty.ledger").read_bytes() == b""


def test_a_table_and_a_ledger_in_postgresql(folder: Path, postgres_url: str) -> None:
    """At ε = 400, 200 for each of two groups: a count of 50 is off by 1 with probability e^-199 or so."""
    database = f"command_line_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {database}")
    url = f"{postgres_url.rpartition('/')[0]}/{database}"
    with psycopg.connect(url) as server:
        server.execute(
            "CREATE TABLE visits AS SELECT n::text AS user_id, CASE n % 2 WHEN 0 THEN 'Lyon' ELSE 'Paris' END AS city "
            "FROM generate_series(1, 100) n"
        )
    source = (
        f"{url} --table visits --person user_id --max-groups 2 --max-rows-per-group 1 --group-by city --keys Lyon,Paris"
    )
    assert run("ledger", url).code == 4, "looking makes no ledger"
    line = f"{source} --agg visits=count --epsilon 400 --ledger {url}"
    assert run(*shlex.split(f"plan {line}")).code == 0
    done = run(*shlex.split(f"release {line} --budget-epsilon 1000 --certificate certificate.json --json"))
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert all(abs(row["visits"] - 50) <= 1 for row in answer["rows"])
    assert answer["remaining"]["epsilon"] == "600"
    assert run("verify", "certificate.json", "--ledger", url).code == 0
    assert "left" in run("ledger", url, "--verify").out
    spent = run(*shlex.split(f"release {line} --epsilon 700"))
    assert spent.code == 3
    assert url not in spent.err
    mistaken = run(*shlex.split(f"plan {source} --agg 'm=mean(city, 0, 1)' --epsilon 1"))
    assert "column 'city' holds texts" in mistaken.err


def test_lists_become_rows_in_csv(folder: Path) -> None:
    line = f"release visits.csv {ONE_ROW} --agg 'q=quantile(cost, [0.5, 0.9], 0, 100)' --epsilon 500 --out q.csv"
    budget = "--budget-epsilon 1000 --budget-delta 0 --ledger visits.ledger"  # enough for any number of rows
    assert run(*shlex.split(f"{line} {budget}")).code == 0
    rows = pyarrow.csv.read_csv(folder / "q.csv").to_pylist()
    assert [row["q_probability"] for row in rows] == [0.5, 0.9]
    assert all(0 <= row["q"] <= 100 for row in rows)


def test_an_answer_that_cannot_be_written_was_shown_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("dither.cli.files.write_table", full)
    done = run("release", "dither.toml", "by_city", "--out", "a.csv", "--certificate", "c.json")
    assert done.code == 4
    assert "Paris" in done.out
    assert "The answer above was paid for" in done.err
    assert (folder / "c.json").exists()


def test_found_groups_bins_and_new_columns(folder: Path) -> None:
    unit = "--person user_id --max-groups 4 --max-rows-per-group 1"
    budget = "--budget-epsilon 1000 --budget-delta 0.01 --ledger visits.ledger"
    lines = {
        "found": "--group-by city --agg people=count_people --epsilon 50 --delta 1e-6",
        "bins": "--group-by 'decade=bins(age + 1, [20, 40, 60, 90])' --agg n=count --epsilon 50",
        "two": "--column 'old=if_else(age >= 50, 1, 0)' --group-by city --group-by old --keys city=Paris,Rome "
        "--keys old=0,1 --agg n=count --epsilon 50",
    }
    found = {
        name: json.loads(run(*shlex.split(f"release visits.csv {unit} {line} {budget} --json")).out)["rows"]
        for name, line in lines.items()
    }
    assert [row["city"] for row in found["found"]] == ["Lyon", "Nice", "Paris", "Rome"]
    assert [row["decade"] for row in found["bins"]] == ["[20, 40)", "[40, 60)", "[60, 90]"]
    assert [(row["city"], row["old"]) for row in found["two"]] == [(c, o) for c in ("Paris", "Rome") for o in (0, 1)]


TOLD = {
    "by a public column": (
        "--join city=cities.csv --where 'people > 1' --group-by country --keys France,Italy --agg n=count",
        'join = { city = "cities.csv" }\nwhere = "people > 1"\ngroup_by = "country"\nkeys = ["France", "Italy"]\n'
        'agg = { n = "count" }',
        [{"country": "France", "n": 100}, {"country": "Italy", "n": 100}],  # of Paris and of Rome
    ),
    "by days": (
        "--where 'day between 2024-01-31 and 2024-12-31' --group-by 'bins(day, [1980-01-01, 2024-01-01, 2025-01-01])' "
        "--agg n=count",
        'where = "day between 2024-01-31 and 2024-12-31"\nagg = { n = "count" }\n'
        'group_by = "bins(day, [1980-01-01, 2024-01-01, 2025-01-01])"',
        [{"day": "[1980-01-01, 2024-01-01)", "n": 0}, {"day": "[2024-01-01, 2025-01-01]", "n": 98}],  # but two people
    ),
    "by what a person has": (
        "--column 'some=cost + 1' --where \"city != 'Rome'\" --per-person 'total=sum(some, 0, 50)' "
        "--per-person n=count --group-by 'bins(total, [0, 100, 150])' --agg people=count --agg 'most=max(n, 0, 10)'",
        'columns = { some = "cost + 1" }\nwhere = "city != \'Rome\'"\ngroup_by = "bins(total, [0, 100, 150])"\n'
        'per_person = { total = "sum(some, 0, 50)", n = "count" }\nagg = { people = "count", most = "max(n, 0, 10)" }',
        None,
    ),
}
"""The same question in flags and in a description, and the truth."""


@pytest.mark.parametrize("case", TOLD)
def test_public_tables_and_persons(case: str, folder: Path) -> None:
    """At ε = 4000, at least 500 for each count: a count is off by 1 with probability e^-500 or so."""
    flags, question, truth = TOLD[case]
    if truth is None:
        truth = _totals()
    unit, price = (
        "--person user_id --max-groups 4 --max-rows-per-group 1",
        "--epsilon 4000 --budget-epsilon 4000 --ledger visits.ledger",
    )
    from_flags = run(*shlex.split(f"release visits.csv {unit} {flags} {price} --json"))
    text = DESCRIPTION.replace("epsilon = 1\n", "epsilon = 4000\n").replace("max_groups = 2", "max_groups = 4")
    text = text.replace("visits.ledger", "other.ledger") + f"\n[questions.told]\n{question}\nepsilon = 4000\n"
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    from_file = run("release", "dither.toml", "told", "--json")
    for done in (from_flags, from_file):
        assert done.code == 0, done.err
        shown = [{name: row[name] for name in truth[0]} for row in json.loads(done.out)["rows"]]
        assert shown == truth


def _totals() -> list[dict[str, object]]:
    rows = pyarrow.csv.read_csv("visits.csv").to_pylist()
    totals: dict[str, float] = {}
    for row in rows:
        if row["city"] != "Rome":
            totals[row["user_id"]] = totals.get(row["user_id"], 0) + min(row["cost"] + 1, 50)
    low = sum(total < 100 for total in totals.values())
    return [{"total": "[0, 100)", "people": low}, {"total": "[100, 150]", "people": len(totals) - low}]


def test_the_ledger_is_shown(folder: Path) -> None:
    run("release", "dither.toml", "by_city")
    done = run("ledger", "visits.ledger", "--verify")
    assert done.code == 0
    for word in ("epsilon 0.5", "add or remove one person (by user_id)", "visits = count()", "Verified: all 4 entries"):
        assert word in " ".join(done.out.split())
    shown = json.loads(run("ledger", "visits.ledger", "--json").out)
    assert shown["accounts"][0]["remaining"] == {"epsilon": "0.5", "delta": "0"}
    assert shown["accounts"][0]["failures"] == {"failed": 0, "pending": 0, "allowed": 3, "resumes": 0}
    assert [(entry["kind"], entry["outcome"]) for entry in shown["entries"]] == [
        ("budget", None),
        ("charge", "answered"),
    ]
    assert run("ledger", "visits.ledger", "--anchor", shown["anchor"]).code == 0
    for name in ("spent.csv", "spent.json"):
        assert run("ledger", "visits.ledger", "--export", name).code == 0
    assert [row["number"] for row in json.loads((folder / "spent.json").read_text())] == [1, 2]
    assert pyarrow.csv.read_csv(folder / "spent.csv").column("cost").to_pylist()[1] == "epsilon 0.5"


def test_a_ledger_that_was_changed_ends_with_1(folder: Path) -> None:
    run("release", "dither.toml", "by_city")
    anchor = json.loads(run("ledger", "visits.ledger", "--json").out)["anchor"]
    with sqlite3.connect("visits.ledger") as database:
        database.execute("DELETE FROM dither_entries WHERE number >= 2")
    database.close()
    assert run("ledger", "visits.ledger", "--verify").code == 0, "cut off at the end, it is a ledger"
    done = run("ledger", "visits.ledger", "--anchor", anchor)
    assert done.code == 1
    assert "entries were removed" in done.err
    with sqlite3.connect("visits.ledger") as database:
        database.execute("UPDATE dither_entries SET body = replace(body, '1', '2')")
    database.close()
    assert run("ledger", "visits.ledger", "--verify").code == 1


def failed(account: str, times: int = 1) -> None:
    """Questions of an account that were charged and never answered."""
    ledger = Ledger("visits.ledger")
    ledger.open_account(account, dp.PureDP(1), parts=[account])
    ledger.open_account(account, dp.PureDP(1), parts=[account, f"more of {account}"])
    event, cost = dp.events.LaplaceNoise(Fraction(10)), dp.PureDP("0.1")
    for _ in range(times):
        ledger.failed(ledger.charge(account, event, cost, "how many?", awaits_outcome=True))
    ledger.close()


def test_the_owner_resumes_after_failures(folder: Path) -> None:
    failed("visits", 3)
    assert "3 of 3" in run("ledger", "visits.ledger").out
    shown = json.loads(run("ledger", "visits.ledger", "--json").out)
    assert shown["accounts"][0]["failures"] == {"failed": 3, "pending": 0, "allowed": 3, "resumes": 0}
    assert [entry["outcome"] for entry in shown["entries"] if entry["kind"] == "charge"] == ["failed"] * 3
    assert [entry["kind"] for entry in shown["entries"]][:2] == ["budget", "source"]
    done = run("ledger", "visits.ledger", "--resume", "--verify")
    assert "Resumed: 3 failed or without an outcome no longer count." in done.out
    assert "3 failures lifted" in run("ledger", "visits.ledger").out
    assert "Nothing to resume" in run("ledger", "visits.ledger", "--resume").out
    failed("visits")
    failed("sales")
    several = run("ledger", "visits.ledger", "--resume")
    assert several.code == 2
    assert "several datasets have failures. Name one with --account: visits, sales." in several.err
    resumed = json.loads(run("ledger", "visits.ledger", "--resume", "--account", "sales", "--json").out)
    assert resumed["lifted"] == 1
    assert [each["failures"]["resumes"] for each in resumed["accounts"]] == [1, 1]
    assert run("ledger", "visits.ledger", "--resume", "--account", "nobody").code == 2
    assert run("ledger", "visits.ledger", "--account", "sales").code == 2


def test_the_owner_says_how_many_may_fail(folder: Path) -> None:
    text = (folder / "dither.toml").read_text(encoding="utf-8")
    (folder / "dither.toml").write_text(
        text.replace("[budget]\n", "[budget]\nfailures_allowed = 5\n"), encoding="utf-8"
    )
    assert run("release", "dither.toml", "by_city").code == 0
    shown = json.loads(run("ledger", "visits.ledger", "--json").out)
    assert shown["accounts"][0]["failures"]["allowed"] == 5
    (folder / "dither.toml").write_text(
        text.replace("[budget]\n", "[budget]\nfailures_allowed = 4\n"), encoding="utf-8"
    )
    other = run("release", "dither.toml", "by_city")
    assert (other.code, "allowed 5 failures in this ledger" in other.err) == (2, True)
    (folder / "dither.toml").write_text(
        text.replace("[budget]\n", "[budget]\nfailures_allowed = 0\n"), encoding="utf-8"
    )
    wrong = run("plan", "dither.toml", "by_city")
    assert (wrong.code, "failures_allowed must be a whole number from 1" in wrong.err) == (2, True)


def test_what_others_wrote_cannot_command_the_terminal(folder: Path) -> None:
    ledger = Ledger("visits.ledger")
    ledger.open_account("visits", dp.PureDP(1))
    ledger.charge(
        "visits", dp.events.LaplaceNoise(Fraction(10)), dp.PureDP("0.1"), "\x1b[2Jhow many?", by="\x1b]0;x\x07"
    )
    ledger.close()
    done = run("ledger", "visits.ledger")
    assert "how many?" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize("promise", ["--epsilon 1", "--epsilon 1 --delta 1e-6", "--rho 0.5", "--mu 1"])
def test_what_is_shown_of_a_risk_is_never_below_it(promise: str) -> None:
    found = json.loads(run("explain", *promise.split(), "--json").out)
    shown = run("explain", *promise.split()).out
    for name in ("posterior_at_most", "right_guesses_at_most", "advantage_at_most"):
        up = math.ceil(found[name] * 100 * 10**2) / 10**2
        assert f"{up:g} %" in shown
        assert up / 100 >= found[name]


def test_half_sure_at_epsilon_1() -> None:
    found = json.loads(run("explain", "--epsilon", "1", "--json").out)
    assert found["posterior_at_most"] == pytest.approx(math.e / (1 + math.e), rel=1e-12)
    assert found["true_positive_rate_at_most"]["0.01"] == pytest.approx(math.e / 100, rel=1e-9)
    assert found["count_error_95"] == dp.Laplace(sensitivity=1, epsilon=1).error(0.05)


def test_init_asks_and_plan_takes_what_it_writes(folder: Path) -> None:
    done = run("init", "visits.csv", "--out", "new.toml", answers="user_id\n3\n\ncost, age\n0,200\n0, 120\n2\n1e-6\n")
    assert done.code == 0, done.err
    found = described((folder / "new.toml").read_text(encoding="utf-8"), folder)
    assert found.unit == Person("user_id", 3)
    assert str(found.budget) == str(dp.ApproxDP(2, "1e-6"))
    assert "cost = [0, 200]" in (folder / "new.toml").read_text()
    assert run("plan", "new.toml").code == 0
    assert run("release", "new.toml", "people").code == 0
    assert not any(secret in (folder / "new.toml").read_text() + done.out + done.err for secret in SECRETS)


def test_init_looks_at_values_only_if_they_are_public(folder: Path) -> None:
    flags = shlex.split("--out new.toml --person user_id --budget-epsilon 1 --force")
    flags += ["--max-groups", "1", "--max-rows-per-group", "1"]
    for source in ("visits.csv", "visits.parquet"):
        assert run("init", source, *flags, answers="\n").code == 0
        said = [line for line in (folder / "new.toml").read_text().splitlines() if not line.startswith("#")]
        assert "Paris" not in "".join(said)
        assert run("init", source, *flags, "--public").code == 0
        text = (folder / "new.toml").read_text()
        assert 'keys = ["Lyon", "Nice", "Paris", "Rome"]' in text
        assert "age = [20, 79]" in text
        assert run("plan", "new.toml").code == 0


def test_init_of_rows(folder: Path) -> None:
    assert run("init", "visits.csv", "--out", "new.toml", answers="rows\n\n1\n\n").code == 0
    assert described((folder / "new.toml").read_text(), folder).unit == Rows()
    assert run("plan", "new.toml").code == 0


ANSWERS = ["user_id", "", "", "cost", "0,200", "2", ""]
"""To all that `init` asks."""


def test_init_stops_where_the_answers_end(folder: Path) -> None:
    """An empty line is an answer; the end of the input is none, and nothing is written."""
    flags = [
        ("--person or --rows", "."),
        ("--max-groups", "."),
        ("--max-rows-per-group", "."),
        ("--bounds", "."),
        ("--bounds", "."),
        ("--budget-epsilon or --budget-rho", "."),
        ("--budget-delta", ", or answer with an empty line for 0."),
    ]
    for number, (flag, more) in enumerate(flags):
        done = run("init", "visits.csv", "--out", "new.toml", answers="".join(f"{each}\n" for each in ANSWERS[:number]))
        assert done.code == 2
        assert "Error: the answers end here: " in done.err
        assert done.err.strip().endswith(f"Say it with {flag}{more}")
        assert not (folder / "new.toml").exists()
    done = run("init", "visits.csv", "--out", "new.toml", answers="".join(f"{each}\n" for each in ANSWERS))
    assert done.code == 0, done.err


def test_init_takes_rho(folder: Path) -> None:
    limits = "--person user_id --max-groups 2 --max-rows-per-group 1 --bounds cost=0,200"
    done = run(*shlex.split(f"init visits.csv --out new.toml {limits} --budget-rho 0.5"))
    assert done.code == 0, done.err
    found = described((folder / "new.toml").read_text(), folder)
    assert found.budget == dp.ZCDP("0.5")
    released = run("release", "new.toml", "mean")
    assert "Spent rho 0.05; left rho 0.45 of rho 0.5." in released.out, released.err
    for both in ("--budget-epsilon 1", "--budget-delta 1e-6"):
        refused = run(*shlex.split(f"init visits.csv --force --out new.toml {limits} --budget-rho 0.5 {both}"))
        assert refused.code == 2
        assert "a budget is epsilon, epsilon and delta, or rho alone." in refused.err


def test_a_description_speaks_of_itself(folder: Path) -> None:
    (folder / "sub").mkdir()
    people = "--person user_id --max-groups 1 --max-rows-per-group 1"
    for unit, question in ((people, "people"), ("--rows add-remove", "rows")):
        flags = f"{unit} --bounds cost=0,200 --budget-epsilon 1"
        done = run(*shlex.split(f"init visits.csv --force --out 'sub/my own.toml' {flags}"))
        assert done.code == 0, done.err
        text = (folder / "sub" / "my own.toml").read_text()
        assert "#   dither plan 'my own.toml' " in text
        assert f"#   dither release 'my own.toml' {question} " in text
        assert "dither.toml" not in text


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    columns=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    ends=st.tuples(st.integers(-1000, 0), st.integers(1, 1000)),
    epsilon=st.decimals("0.001", 100, places=3),
)
def test_whatever_columns_are_called_a_draft_is_a_description(
    columns: list[str], ends: tuple[int, int], epsilon: object
) -> None:
    kinds = dict.fromkeys(columns, "string")
    both = (Fraction(ends[0]), Fraction(ends[1]))
    draft = Draft(kinds, columns[0], "add-remove", {columns[-1]: both}, dp.PureDP(str(epsilon)))
    found = described(draft.text("data.csv", Path("dither.toml"), None, None), Path())
    assert found.unit == Person(columns[0])
    assert found.budget == dp.PureDP(str(epsilon))


def test_a_description_is_read_as_it_is_meant(folder: Path) -> None:
    text = DESCRIPTION + (
        '[questions.all]\ncolumns = { total = "cost * 2" }\nwhere = ["age > 1", "city in (\'Paris\')"]\n'
        'group_by = ["city", "bins(age, [0, 50, 99])"]\nkeys = { city = ["Paris"] }\nagg = { n = "count" }\n'
        'rho = 0.1\nweights = { n = 2 }\nlevel = 0.9\nkey = "once"\nnoise = "gaussian"\n'
    )
    asked = described(text, folder).questions["all"]
    assert [str(each) for each in asked.where] == ["(age > 1)", "is_in(city, 'Paris')"]
    assert str(asked.columns["total"]) == "(cost * 2)"
    assert asked.group_by[0] == "city"
    assert isinstance(asked.group_by[1], Bins)
    assert asked.keys == {"city": ["Paris"]}
    assert {name: str(value) for name, value in asked.price.items() if name != "weights"} == {
        "rho": "0.1", "level": "0.9", "noise": "gaussian"
    }  # fmt: skip
    assert asked.key == "once"
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    assert run("plan", "dither.toml", "all").code == 0
