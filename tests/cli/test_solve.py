"""`dither solve`: the one number that is left out."""

import json

import pytest
from typer.testing import CliRunner, Result

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
