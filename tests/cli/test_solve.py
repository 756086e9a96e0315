"""`dither solve`: the one number that is left out."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dither as dp
from dither.cli import app


def solve(flags: str) -> Result:
    return CliRunner().invoke(app, ["solve", *flags.split()], env={"COLUMNS": "120", "TERM": "dumb"})


@pytest.mark.parametrize(
    ("flags", "solved"),
    [
        ("--queries 10 --accuracy 0.05 --epsilon 1", "n"),
        ("--queries 10 --accuracy 0.05 --n 2000", "epsilon"),
        ("--queries 10 --n 2000 --epsilon 1", "accuracy"),
        ("--queries 10 --n 2000 --epsilon 1 --accuracy 0.05", "confidence"),
        ("--n 2000 --epsilon 1 --accuracy 0.05", "queries"),
    ],
)
def test_the_number_that_is_left_out_is_found(flags: str, solved: str) -> None:
    done = solve(f"{flags} --json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer["solved_for"] == solved
    assert answer["options"][0][solved] > 0
    assert len(answer["trade_off"]) == 5


def test_a_table_says_the_same() -> None:
    done = solve("--queries 10 --accuracy 0.05 --epsilon 0.5 --delta 1e-6")
    assert done.exit_code == 0
    assert "every error at most 0.05 of n" in done.stdout
    assert "textbook" in done.stdout
    assert "gaussian" in done.stdout


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--queries 10", "left out: --n, --epsilon, --accuracy."),
        ("--queries 10 --n 5 --epsilon 1 --accuracy 0.1 --confidence 0.9", "left out: none."),
        ("--queries 10 --n 5 --accuracy nan", "accuracy must be one finite number"),
        ("--queries 10 --n 100 --accuracy 2", "accuracy must lie strictly between 0 and 1"),
        ("--queries 10 --n 100 --accuracy 0.1 --delta 0.5", "delta must be far below 1/n"),
    ],
)
def test_bad_input_is_one_sentence(flags: str, says: str) -> None:
    done = solve(flags)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "None" not in done.stderr


def test_a_question_of_a_description_has_a_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own unit, groups and keys, and no data read: three groups of a person cost three times one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("id,city,spend\n1,Paris,3\n")
    description = """
[dataset]
source = "visits.csv"

[unit]
person = "id"
max_groups = {}
max_rows_per_group = 1

[questions.cities]
group_by = ["city"]
keys = ["Paris", "Lyon", "Nice"]
agg = {{ people = "count_people", spend = "mean(spend, 0, 200)" }}
epsilon = 1
"""
    found = {}
    for groups in (1, 3):
        (tmp_path / "dither.toml").write_text(description.format(groups))
        done = solve("dither.toml cities --error people=10 --json")
        assert done.exit_code == 0, done.output
        found[groups] = json.loads(done.stdout)["epsilon"]
    assert found[3] == pytest.approx(3 * found[1], rel=2e-3)
    shown = solve("dither.toml --relative people=0.1 --relative spend=0.05 --rows 1000")
    assert shown.exit_code == 0
    assert "The smallest epsilon is " in shown.stdout
    assert "Nothing was spent." in shown.stdout
    for flags, said in (
        ("dither.toml cities", "say how exact the answer is to be"),
        ("dither.toml cities --error 10 --error people=3", "one number for all columns, or name=number"),
        ("dither.toml towns --error 10", "there is no question 'towns'"),
        ("--error 10", "are for a question: name its description first"),
    ):
        refused = solve(flags)
        assert refused.exit_code == 2
        assert said in " ".join(refused.stderr.split())


RUN = "--steps 200 --rate 0.02"
RISKS = {
    "--advantage 0.1": {"advantage": "0.1"},
    "--tpr 0.05 --fpr 0.01": {"tpr": "0.05", "fpr": "0.01"},
    "--posterior 0.1 --prior 0.01 --chance 1e-6": {"posterior": "0.1", "prior": "0.01", "chance": "1e-6"},
    "--guess 0.55 --prior 0.5": {"guess": "0.55", "prior": "0.5"},
    "--reconstruction 0.05 --baseline 0.001": {"reconstruction": "0.05", "baseline": "0.001"},
}


@pytest.mark.parametrize("flags", RISKS)
def test_noise_is_found_for_a_risk_as_calibrate_finds_it(flags: str, tmp_path: Path) -> None:
    """For an event in a file and for a training run: the same noise, and a risk between its two ends."""
    step = dp.events.PoissonSampled(dp.events.GaussianNoise.of(1), "0.02")
    event = dp.events.Repeated(step, 200)
    file = tmp_path / "event.json"
    file.write_text(dp.events.to_json(event), encoding="utf-8")
    found = [json.loads(solve(f"{what} {flags} --json").stdout) for what in (file, RUN)]
    expected = dp.calibrate(event, **RISKS[flags])
    limit = float(flags.split()[1])
    for answer in found:
        assert answer["scale"] == pytest.approx(expected.scale, rel=1e-5)
        assert answer["risk"]["lower"] <= answer["risk"]["upper"] <= limit
    assert dp.events.from_json(json.dumps(found[0]["event"])) == expected.event
    shown = solve(f"{file} {flags}").stdout
    assert f"{expected.scale:.6g}" in shown
    assert "not below" in shown


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("missing.json --advantage 0.1", "there is no event in 'missing.json'"),
        ("--advantage 0.1", "say what the noise is for"),
        (f"missing.json {RUN} --advantage 0.1", "say what the noise is for"),
        (RUN, "give exactly one risk"),
        (f"{RUN} --advantage 0.1 --tpr 0.5 --fpr 0.1", "give exactly one risk"),
        (f"{RUN} --tpr 0.5", "fpr is missing"),
        (f"{RUN} --advantage 2", "advantage must lie strictly between 0 and 1"),
        (f"{RUN} --advantage 0.1 --n 10", "leave out what belongs to other questions"),
        ("--steps 0 --advantage 0.1", "times"),
        ("--steps 5 --rate 2 --advantage 0.1", "rate"),
    ],
)
def test_a_risk_that_is_not_one_has_its_sentence(flags: str, says: str) -> None:
    done = solve(flags)
    assert done.exit_code == 2
    assert says in done.stderr
