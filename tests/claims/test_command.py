"""`dither claims` on the command line, and the page that it writes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.audit import claims
from dither.audit.claims import Row
from dither.audit.claims.claim import at_most, claim
from dither.cli import app

ROOT = Path(__file__).resolve().parents[2]
RUNNER = CliRunner()


def run(*arguments: str) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["claims", *arguments], env={"COLUMNS": "160"})
    return result.exit_code, result.output


def test_one_claim_in_detail() -> None:
    code, text = run("--id", "C6")
    assert code == 0
    assert "holds" in text
    assert "31.82 times" in text
    assert "1 of 1 claims hold" in text
    assert "\x1b[" not in text


def test_a_narrow_terminal_still_shows_the_verdict() -> None:
    result = RUNNER.invoke(app, ["claims", "--id", "c22"], env={"COLUMNS": "60"})
    assert "holds" in result.output
    assert "0.6827" in result.output


def test_rows_as_json() -> None:
    code, text = run("--id", "C22", "--id", "D7", "--json")
    assert code == 0
    rows = json.loads(text)
    assert [row["id"] for row in rows] == ["C22", "D7"]
    assert {"source", "statement", "textbook", "exact", "slack", "verdict", "witness"} <= rows[0].keys()


def test_a_bent_constant_shows_where_the_claim_breaks() -> None:
    code, text = run("--id", "C6", "--set", "factor=1.98", "--points")
    assert code == 1
    assert "σ² that the library uses" in text
    assert "fails" in text
    assert "20 of 65 points fail." in text
    code, text = run("--id", "C6", "--points", "--json")
    assert code == 0
    points = json.loads(text)
    assert all(point["holds"] for point in points)
    assert {"quantity", "at", "textbook", "relation", "exact", "holds"} == points[0].keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "factor=1.98"), "Say which: --id C6"),
        (("--points",), "Say which: --id C6"),
        (("--id", "C6", "--id", "C5", "--points"), "Say which: --id C6"),
        (("--id", "C6", "--set", "factor"), "NAME=VALUE"),
        (("--id", "C6", "--set", "colour=1"), "Its constants: floor, factor, numerator"),
        (("--id", "C6", "--set", "factor=nan"), "factor"),
    ],
)
def test_what_cannot_be_bent_is_bad_usage(arguments: tuple[str, ...], said: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert said in " ".join(text.replace("│", " ").split())


def test_an_unknown_id_is_bad_usage() -> None:
    code, text = run("--id", "C99")
    assert code == 2
    assert "Existing ids: D1, D2" in " ".join(text.replace("│", " ").split())


def test_a_claim_that_fails_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = claim("C99", "nowhere", "Two is at most one.", "2 ≤ 1")(lambda: iter([at_most("x", 1, 2)]))
    monkeypatch.setattr(claims, "ALL", (wrong,))
    code, text = run()
    assert code == 1
    assert "fails" in text
    assert "0 of 1 claims hold" in text


@pytest.mark.parametrize("name", ["slack.png", "slack.svg", "slack.pdf"])
def test_a_picture_is_drawn(tmp_path: Path, name: str) -> None:
    code, _ = run("--id", "C1", "--id", "C5", "--plot", str(tmp_path / name))
    assert code == 0
    assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize("name", ["slack.unknown", "missing/slack.png"])
def test_a_picture_that_cannot_be_written_is_bad_usage(tmp_path: Path, name: str) -> None:
    code, text = run("--id", "C5", "--plot", str(tmp_path / name))
    assert code == 2
    assert "Traceback" not in text


def test_a_claim_without_a_ratio_is_not_drawn(tmp_path: Path) -> None:
    code, text = run("--id", "C8", "--plot", str(tmp_path / "slack.png"))
    assert code == 2
    assert "nothing to draw" in text


def test_the_page_in_the_documentation_is_current(rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated with `make claims`. Numbers have a few digits, so that every machine writes the same page."""
    monkeypatch.setattr(claims, "rows", lambda ids: list(rows.values()))  # as it would compute them again
    code, text = run("--markdown")
    assert code == 0
    assert text == (ROOT / "docs" / "claims.md").read_text(), "docs/claims.md is stale: run `make claims`"


def test_the_help_loads_no_mathematics_and_shows_an_example() -> None:
    """What it does not load makes it quick."""
    program = (
        "import sys; sys.argv = ['dither', '--help']\nfrom dither.cli import main\n"
        "try: main()\nexcept SystemExit: print({'flint', 'matplotlib', 'numpy', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    code, text = run("--help")
    assert code == 0
    assert "dither claims --id C6" in text


@pytest.mark.slow
def test_a_real_process_checks_everything() -> None:
    command = [sys.executable, "-m", "dither", "claims", "--json"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=120)
    rows = json.loads(done.stdout)
    assert len(rows) == len(claims.ALL)
    assert {row["verdict"] for row in rows} == {"holds"}
