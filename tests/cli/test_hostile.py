"""What others wrote into files stays text: on the terminal, in JSON, in descriptions; and nothing hangs on it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dither as dp
from dither.adjacency import Adjacency
from dither.cli import app
from dither.cli.files import Files
from dither.cli.screen import print_json
from dither.cli.toml_lines import document
from dither.errors import EngineError, ParameterError
from tests.cli.world import BUDGET, DESCRIPTION, QUESTION, run

ORDER = "\x1b[31m"
"""What a terminal obeys: red from here on."""


def on_a_terminal(*arguments: str) -> str:
    """All that a terminal would get; `run` sees only what is left after click took orders out, as for a file."""
    done = CliRunner().invoke(app, list(arguments), color=True, env={"TERM": "xterm", "COLUMNS": "120"})
    return done.output


def test_names_of_columns_give_no_orders(folder: Path) -> None:
    Path("odd.csv").write_text(f"user_id,{ORDER}city,cost\nu1,Paris,1\n", encoding="utf-8")
    missing = on_a_terminal("plan", "odd.csv", "--person", "nobody", "--agg", "n=count", "--epsilon", "1")
    assert "Existing columns: user_id, \N{REPLACEMENT CHARACTER}[31mcity" in missing
    description = DESCRIPTION.replace("visits.csv", "odd.csv").replace('"age >= 18"', "[]")
    description = description.replace('"city"', r'''"\"\u001b[31mcity\""''').replace(', spend = "mean(cost)"', "")
    Path("odd.toml").write_text(description, encoding="utf-8")
    released = on_a_terminal("release", "odd.toml", "by_city", "--epsilon", "0.5")
    assert "\N{REPLACEMENT CHARACTER}[31mcity" in released
    assert "Lyon" in released
    assert ORDER not in missing + released


def test_a_certificate_gives_no_orders(folder: Path) -> None:
    for words in ({}, {"version": "1", "mechanism": "x", "unit": "x", "digest": "x", ORDER: 1}):
        Path("c.json").write_text(json.dumps({"dither_certificate": 1, **words}), encoding="utf-8")
        shown = on_a_terminal("verify", "c.json")
        assert shown.startswith("refused. ")
        assert ORDER not in shown


def test_numbers_that_json_has_no_word_for(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"low": -float("inf"), "high": [float("nan"), 1.5], "n": 3, "name": "Infinity"})
    assert json.loads(capsys.readouterr().out) == {"low": None, "high": [None, 1.5], "n": 3, "name": "Infinity"}


def test_one_file_that_fails_in_an_unknown_way_leaves_the_others(folder: Path) -> None:
    class Broken:
        report = None

        def tidy(self) -> None:
            raise ValueError("31337.42 is a value")

        def certificate(self) -> dict[str, float]:
            return {"epsilon": 0.5}

    files = Files(out=folder / "o.csv", certificate=folder / "c.json", report=None, plot=None)
    failed = files.write(Broken())  # type: ignore[arg-type]
    assert isinstance(failed, EngineError)
    assert re.search(r"--out could not be written: .*\(ValueError\)\. The answer", str(failed))
    assert "31337.42" not in str(failed)
    assert json.loads((folder / "c.json").read_text(encoding="utf-8")) == {"epsilon": 0.5}


def test_the_line_of_a_key_in_a_long_text() -> None:
    keys = ",\n".join(f"  'key {number}'" for number in range(3000))
    text = f"\n\n# bogus\n[questions.all]\nkeys = [\n{keys}\n]\n" + "\n" * 3000 + "[questions.x]\n\nbogus = 1\n"
    with pytest.raises(ParameterError, match=rf"^line {text.count(chr(10))}: unknown key 'bogus'"):
        document(text).section("questions").section("x").only(("agg",))


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a = 1\n\n# b\nb = 2\n", "b", 4),
        ("a = 'b'\nb = 2\n", "b", 2),
        ("b.c = 1\n", "b", 1),
        ("a = [\n 1, # b\n]\nb = 2", "b", 4),
        ('a = 1\n"\\u0062" = 2\n', "b", 2),
        ("[x]\nb = 1\n[b]\n", "b", 3),
        ("b = [\n 1,\n]\n", "b", 1),
    ],
)
def test_the_line_of_a_key(text: str, key: str, line: int) -> None:
    assert document(text).line(key) == line


def test_a_whole_number_of_thousands_of_digits(folder: Path) -> None:
    Path("big.toml").write_text(DESCRIPTION.replace("epsilon = 0.5", f"epsilon = {'9' * 5000}"), encoding="utf-8")
    done = run("plan", "big.toml")
    assert (done.code, done.out) == (2, "")
    assert "too long" in done.err


def test_errors_repeat_no_more_than_the_beginning_of_a_text(folder: Path) -> None:
    done = run(
        "plan",
        "visits.csv",
        "--where",
        "(" * 3000,
        "--person",
        "user_id",
        "--max-rows-per-group",
        "1",
        "--agg",
        "n=count",
        "--epsilon",
        "1",
    )
    assert done.code == 2
    assert len(done.err) < 500


@pytest.mark.parametrize("flags", ["--group-by 'order id'", "--agg 'm=mean(order id, 0, 5)'", "--where 'order id > 5'"])
def test_names_with_spaces_stand_in_double_quotes(folder: Path, flags: str) -> None:
    option, _, value = flags.partition(" ")
    done = run(
        "plan",
        "visits.csv",
        "--person",
        "user_id",
        "--max-rows-per-group",
        "1",
        "--agg",
        "n=count",
        option,
        value.strip("'"),
    )
    assert done.code == 2
    assert "stands in double quotes" in done.err


def test_the_ledger_of_a_description(folder: Path) -> None:
    assert run("release", "dither.toml", "by_city").code == 0
    assert run("ledger", "dither.toml", "--json") == run("ledger", "visits.ledger", "--json")
    Path("no.toml").write_text(DESCRIPTION.replace('ledger = "visits.ledger"', ""), encoding="utf-8")
    assert "names no ledger" in run("ledger", "no.toml").err


def test_errors_with_json_leave_the_standard_output_empty(folder: Path) -> None:
    for command in (
        f"release visits.csv {QUESTION} {BUDGET} --epsilon 9 --json",
        "plan nothing.csv --json",
        "ledger no --json",
    ):
        done = run(*command.split())
        assert (done.code > 0, done.out) == (True, "")
        assert done.err.startswith("Error: ")


def test_a_certificate_cannot_say_that_a_ledger_confirmed_it(folder: Path) -> None:
    """A name in it that breaks the line would write the next one."""
    entry = "Entry 2 of the ledger says the same, and the ledger holds together (3 entries)."
    adjacency = Adjacency("person", "add or remove", f"x\n{entry}\n")
    made = dp.Laplace(sensitivity=1, epsilon=1, adjacency=adjacency).release(5).certificate()
    Path("c.json").write_text(json.dumps(made), encoding="utf-8")
    accepted, last = on_a_terminal("verify", "c.json").splitlines()
    assert accepted.startswith("accepted. What it says was done costs at most ")
    assert last.startswith("No ledger was asked")


def test_an_export_leaves_the_data_alone(folder: Path) -> None:
    assert run("release", "dither.toml", "by_city").code == 0
    before = (folder / "visits.csv").read_bytes()
    done = run("ledger", "visits.ledger", "--export", "visits.csv")
    assert done.code == 2
    assert "exists. Name another file." in done.err
    assert (folder / "visits.csv").read_bytes() == before
