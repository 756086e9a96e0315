"""What a new user gets wrong, or is told wrongly, in the first hour."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import dither as dp
from dither.cli.conditions import condition
from dither.errors import ParameterError
from tests.cli.world import BUDGET, charges, run

_WRITTEN = ("a.csv", "c.json", "r.html", "p.svg")


def _pipe(command: str) -> subprocess.CompletedProcess[str]:
    """A real shell, as the reader of a pipe is another process."""
    line = f"set -o pipefail; {shlex.quote(sys.executable)} -m dither {command}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


def test_a_reader_that_goes_away_loses_no_file_that_was_paid(folder: Path) -> None:
    files = "--out a.csv --certificate c.json --report r.html --plot p.svg"
    done = _pipe(f"release dither.toml by_city {files} | true")
    assert (done.returncode, done.stderr) == (0, "")
    assert all((folder / name).stat().st_size for name in _WRITTEN)
    assert charges(folder / "visits.ledger") == 1


def test_a_reader_that_goes_away_does_not_change_a_verdict(folder: Path) -> None:
    """A broken pipe ended with 1, which means: shown to be wrong; and a refusal stays one."""
    run("release", "dither.toml", "by_city", "--certificate", "c.json")
    assert _pipe("verify c.json | true").returncode == 0
    said = json.loads((folder / "c.json").read_text())
    said["guarantee"]["values"] = ["1/100"]
    (folder / "c.json").write_text(json.dumps(said))
    assert _pipe("verify c.json | true").returncode == 1


@pytest.mark.parametrize(
    "question", ["--agg m=mean(cots)", "--per-person n=sum(cots) --agg m=count", "--column x=age --agg m=sum(cots)"]
)
def test_a_misspelt_column_is_not_asked_for_bounds(question: str, folder: Path) -> None:
    done = run(*f"plan visits.csv --person user_id {question} --epsilon 1".split())
    assert done.code == 2
    assert "Column 'cots' is not found" in done.err
    assert "Did you mean 'cost'?" in done.err
    assert "bounds" not in done.err


def test_a_misspelt_column_of_a_description_is_told_with_its_line(folder: Path) -> None:
    place = folder / "dither.toml"
    place.write_text(place.read_text().replace("mean(cost)", "mean(cots)"))
    done = run("plan", "dither.toml")
    assert done.code == 2
    assert "line 19: Column 'cots' is not found" in done.err


def test_a_column_that_is_there_is_asked_for_bounds(folder: Path) -> None:
    done = run(*shlex.split("plan visits.csv --person user_id --agg m=mean(age) --epsilon 1"))
    assert "age needs bounds" in done.err
    made = run(*shlex.split("plan visits.csv --person user_id --column x=age --agg m=mean(x) --epsilon 1"))
    assert "x needs bounds" in made.err
    joined = run(
        *shlex.split("plan visits.csv --person user_id --join city=cities.csv --agg m=mean(people) --epsilon 1")
    )
    assert "people needs bounds" in joined.err


@pytest.mark.parametrize("question", ["mean(age, none)", "sum(age, none)", "median(age, none)", "max(age, none)"])
def test_a_range_can_be_found_instead(question: str, folder: Path) -> None:
    line = f"plan visits.csv --person user_id --max-rows-per-group 1 --agg 'm={question}' --epsilon 1"
    done = run(*shlex.split(line))
    assert done.code == 0, done.err


def test_a_percentage_asks_whether_a_probability_was_meant(folder: Path) -> None:
    done = run("plan", "visits.csv", "--person", "user_id", "--agg", "q=quantile(cost, 90, 0, 200)", "--epsilon", "1")
    assert done.code == 2
    assert "got 90. Did you mean 0.9?" in done.err
    unbounded = run("plan", "visits.csv", "--person", "user_id", "--agg", "q=quantile(cost, [90])", "--epsilon", "1")
    assert "got 90. Did you mean 0.9?" in unbounded.err, "and not that bounds are missing"
    for wrong in (1, 100, -1):
        with pytest.raises(ParameterError, match="Use min or max"):
            dp.quantile("cost", wrong)


def test_a_description_does_not_claim_to_say_what_it_does_not_say(folder: Path) -> None:
    done = run("plan", "dither.toml", "--group-by", "city")
    assert done.code == 2
    assert "is set in the description" not in done.err
    assert "--group-by does not go with a description: its questions say all but the price." in done.err
    assert "Write group_by = ... into one of them" in done.err


def test_data_that_was_moved_is_not_led_to_a_second_budget(folder: Path) -> None:
    line = "release {} --person user_id --agg n=count_people --epsilon 0.1 --ledger moved.ledger"
    assert run(*line.format("visits.csv").split(), "--budget-epsilon", "1").code == 0
    (folder / "visits.csv").rename(folder / "elsewhere.csv")
    refused = run(*line.format("elsewhere.csv").split())
    assert refused.code == 2
    assert "dither ledger move moved.ledger OLD_PLACE elsewhere.csv" in refused.err
    assert run("ledger", "move", "moved.ledger", "visits.csv", "elsewhere.csv").code == 0
    assert run(*line.format("elsewhere.csv").split()).code == 0


def test_a_key_in_other_letters_is_noticed_after_the_noise(folder: Path) -> None:
    """The count of 'paris' is 0 and that of 'Lyon' is 100, at ε = 50 for each of two groups."""
    limits = "--person user_id --max-groups 2 --max-rows-per-group 1"
    line = f"{limits} --group-by city --keys paris,Lyon --agg visits=count {BUDGET}"
    done = run("release", "visits.csv", *line.replace("-epsilon 1", "-epsilon 100").split(), "--epsilon", "100")
    assert "Perhaps nothing is there: 'paris'. These counts are within the noise of 0." in done.out


def test_groups_that_have_rows_are_not_doubted() -> None:
    table = pa.table({"city": ["Paris", "Lyon"] * 500})
    with dp.Dataset(table, unit=dp.Rows(), budget=dp.PureDP(300), ledger=":memory:", identity="t") as data:
        of_both = data.group_by("city", keys=["Paris", "Lyon"])
        assert "Perhaps" not in repr(data.count(epsilon=1))
        assert "Perhaps" not in repr(of_both.agg(n=dp.count()).release(epsilon=100))
        wrong = data.group_by("city", keys=["PARIS", "Lyon"]).agg(n=dp.count())
        assert "Perhaps nothing is there: 'PARIS'." in repr(wrong.release(epsilon=100))


def test_shares_of_a_plan_add_up() -> None:
    table = pa.table({"user": [1], "city": ["Paris"], "x": [1.0]})
    with dp.Dataset(
        table, unit=dp.Person("user", 1, 1), budget=dp.ApproxDP(9, 1e-6), ledger=":memory:", identity="t"
    ) as data:
        asked = data.group_by("city").agg(
            n=dp.count_people(), m=dp.mean("x", bounds=(0, 1)), s=dp.std("x", bounds=(0, 1)), t=dp.count()
        )
        shares = [line[2] for line in asked.plan(epsilon=1, delta=1e-7, weights={"m": 7}).lines()]
        thirds = data.agg(a=dp.count(), b=dp.count_people(), c=dp.sum("x", bounds=(0, 1))).plan(epsilon=1).lines()
    for said in (shares, [line[2] for line in thirds]):
        assert sum(round(10 * float(share.rstrip("%"))) for share in said) == 1000


@pytest.mark.parametrize("price", [{"epsilon": "2"}, {"epsilon": "1", "delta": "1e-6"}, {"rho": "0.1"}])
def test_explain_and_plan_state_the_same_error(price: dict[str, str], folder: Path) -> None:
    flags = [each for name, value in price.items() for each in (f"--{name}", value)]
    question = ("plan", "visits.csv", "--person", "user_id", "--agg", "n=count_people", "--json")
    (plan,) = json.loads(run(*question, *flags).out)
    shown = json.loads(run("explain", *flags, "--json").out)
    assert (shown["noise"], shown["count_error_95"]) == (plan["columns"][0]["noise"], plan["errors"]["n"]["1000"])


def test_a_mechanism_is_found_in_small_letters() -> None:
    done = run("audit", "laplace", "--samples", "2000", "--alpha", "1e-11")
    assert done.code == 0
    assert "not refuted" in done.out


def test_a_text_in_double_quotes_is_told_from_a_column() -> None:
    with pytest.raises(ParameterError, match="A text stands in single quotes: 'ca'"):
        condition('starts_with(payment, "ca")')
    assert repr(condition("starts_with(payment, 'ca')")) == repr(dp.col("payment").starts_with("ca"))
