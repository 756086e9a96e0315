"""`dither stream`: a section of the description, charged once, stepped day by day."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.world import STREAM as DESCRIPTION
from tests.cli.world import run

ROWS = "user_id,day,city,cost\n" + "".join(
    f"{row},2026-01-0{1 + row % 4},{('Lyon', 'Paris')[row % 2]},{row % 20}\n" for row in range(40)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "dither.toml").write_text(DESCRIPTION)
    return tmp_path


def test_from_the_plan_to_the_picture(folder: Path) -> None:
    """Nothing is spent by the plan, all of it by the start, nothing by the steps; a day may be asked twice."""
    planned = run("stream", "plan", "dither.toml")
    assert planned.code == 0
    assert "Nothing was spent" in planned.out
    assert not (folder / "visits.ledger").exists()

    started = json.loads(run("stream", "start", "dither.toml", "--json").out)
    assert (started["periods"], started["cost"]["epsilon"], started["remaining"]["epsilon"]) == (4, "1", "1")
    assert (folder / "daily.key").stat().st_mode & 0o077 == 0
    assert len((folder / "daily.key").read_bytes()) == 32

    first = run("stream", "step", "dither.toml", "--day", "2026-01-01", "--out", "a.csv", "--certificate", "c.json")
    assert first.code == 0, first.err
    assert "Period 1 of 4, from 2026-01-01 to before 2026-01-02" in first.out
    again = run("stream", "step", "dither.toml", "--day", "2026-01-01")
    assert again.out == first.out
    verified = run("verify", "a.csv", "c.json", "--ledger", "visits.ledger")
    assert verified.code == 0, verified.err
    second = json.loads(run("stream", "step", "dither.toml", "--json").out)
    assert (second["period"], second["first_day"]) == (1, "2026-01-02")

    shown = json.loads(run("stream", "show", "dither.toml", "--json", "--out", "all.csv").out)
    assert (shown["released"], len(shown["rows"])) == (2, 4)
    assert shown["rows"][2:] == [{"period": "2026-01-02", **row} for row in second["rows"]]
    assert "shape_total_from" in (folder / "all.csv").read_text().partition("\n")[0]
    assert "2 of 4 periods are released" in run("stream", "show", "dither.toml").out
    drawn = run("stream", "plot", "dither.toml", "--out", "p.svg")
    assert "visits_total of 2 periods" in drawn.out
    assert "<svg" in (folder / "p.svg").read_text()
    assert json.loads(run("ledger", "visits.ledger", "--json").out)["accounts"][0]["remaining"]["epsilon"] == "1"


def test_groups_that_are_found(folder: Path) -> None:
    """Without keys: the plan says from how many people on, and an answer without groups is shown as one."""
    (folder / "dither.toml").write_text(DESCRIPTION.replace('keys = ["Lyon", "Paris"]\n', ""))
    planned = json.loads(run("stream", "plan", "dither.toml", "--json").out)
    assert planned["shown_from_people"] > 40
    assert f"{planned['shown_from_people']} people or more" in run("stream", "plan", "dither.toml").out
    assert run("stream", "start", "dither.toml").code == 0
    stepped = run("stream", "step", "dither.toml", "--out", "a.csv", "--certificate", "c.json")
    assert stepped.code == 0, stepped.err
    assert "No group is shown yet" in stepped.out
    assert run("verify", "a.csv", "c.json", "--ledger", "visits.ledger").code == 0
    assert json.loads(run("stream", "show", "dither.toml", "--json").out)["rows"] == []


def test_h84_two_processes_at_once(folder: Path) -> None:
    """While one process has the state, another is refused: two real ones."""
    assert run("stream", "start", "dither.toml").code == 0
    lines = ["import fcntl, sys", "file = open('daily.stream', 'r+b')", "fcntl.flock(file, fcntl.LOCK_EX)"]
    holder = "\n".join([*lines, "print('held', flush=True)", "sys.stdin.read()"])
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        refused = run("stream", "step", "dither.toml")
        other.communicate("")
    assert refused.code == 2
    assert "in use by another process" in refused.err
    assert run("stream", "step", "dither.toml").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["stop", "dither.toml"], "the action must be one of"),
        (["step", "dither.toml", "weekly"], "there is no stream 'weekly'"),
        (["show", "dither.toml", "--day", "2026-01-01"], "--day does not go with"),
        (["plot", "dither.toml"], "--out says where"),
        (["step", "dither.toml", "--day", "yesterday"], "--day must be a day"),
        (["step", "dither.toml", "--day", "2026-01-03"], "the next one is 0"),
        (["step", "dither.toml", "--day", "2027-01-01"], "no period"),
        (["step", "dither.toml", "--out", "daily.stream"], "--out must end in"),
        (["step", "dither.toml", "--out", "visits.csv"], "would overwrite the data"),
        (["start", "dither.toml"], "already"),
        (["show", "dither.toml"], "no period was released yet"),
        (["plot", "dither.toml", "--out", "p.svg", "--column", "visits"], "no period was released yet"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], says: str) -> None:
    assert run("stream", "start", "dither.toml").code == 0
    done = run("stream", *arguments)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("periods = 4", "", "needs periods"),
        ("periods = 4", "periods = 'four'", "a whole number"),
        ("max_periods = 2", "", "max_periods"),
        ("start = 2026-01-01", "start = '2026-01-01'", "a date"),
        ("over = \"day\"", "over = \"dya\"", "dya"),
        ("epsilon = 1\ndelta = 1e-6\n", "epsilon = 1\n", "delta"),
        ("show = [", "sohw = [", "did you mean 'show'"),
        ("show = [\"total\",", "show = [\"week\",", "sliding window"),
        ("agg = {", "per_person = {}\nagg = {", "unknown key 'per_person'"),
    ],
)  # fmt: skip
def test_a_section_that_is_wrong_is_refused(folder: Path, old: str, new: str, says: str) -> None:
    assert DESCRIPTION.count(old) == 1 or old.startswith("epsilon")
    (folder / "dither.toml").write_text(new.join(DESCRIPTION.rsplit(old, 1)))
    done = run("stream", "start", "dither.toml")
    assert done.code == 2
    assert says in done.err
    assert not (folder / "daily.stream").exists()
    assert not (folder / "daily.key").exists()


def test_over_budget_leaves_no_state(folder: Path) -> None:
    (folder / "dither.toml").write_text("epsilon = 3".join(DESCRIPTION.rsplit("epsilon = 1", 1)))
    assert run("stream", "start", "dither.toml").code == 3
    assert not (folder / "daily.stream").exists()


def test_without_the_key_nothing_goes_on(folder: Path) -> None:
    assert run("stream", "start", "dither.toml").code == 0
    (folder / "daily.key").rename(folder / "elsewhere")
    done = run("stream", "step", "dither.toml")
    assert (done.code, "cannot be read" in done.err) == (2, True)
    (folder / "daily.key").write_bytes(b"x" * 32)
    done = run("stream", "step", "dither.toml")
    assert (done.code, "key is not the one" in done.err) == (4, True)
