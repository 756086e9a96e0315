"""The help is quick and complete: every command has an example, `--json` and a summary, and every example runs."""

import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dither.cli.app import COMMANDS
from dither.events import GaussianNoise, to_json
from tests.cli.world import STREAM, run

LONG = {"audit", "demo"}
"""Commands whose examples take long."""
MODULE = (
    "import dither as dp\n\n\ndef noisy_count(x):\n    return dp.Laplace(sensitivity=1, epsilon=0.5).release(x).value\n"
)


def examples(name: str) -> list[str]:
    """The commands that the help of a command shows, each on one line."""
    help_text = inspect.getdoc(importlib.import_module(f"dither.cli.{name}").command) or ""
    _, _, shown = help_text.replace("\\\n", " ").partition("Example:")
    return re.findall(r"^ *(dither .*)$", shown, flags=re.MULTILINE)


@pytest.fixture
def prepared(folder: Path) -> Path:
    """The folder with what the examples speak of: a ledger, a certificate, a module, moved data."""
    done = run("release", "dither.toml", "middle", "--certificate", "certificate.json", "--out", "answer.csv")
    assert done.code == 0, done.err
    (folder / "mymodule.py").write_text(MODULE, encoding="utf-8")
    (folder / "event.json").write_text(to_json(GaussianNoise.of(2)), encoding="utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "visits.csv").write_bytes((folder / "visits.csv").read_bytes())
    return folder


def run_examples(name: str, folder: Path) -> None:
    found = examples(name)
    assert found, f"the help of {name} shows no example"
    if name == "stream":  # it has noise that needs a delta, and a budget with one
        (folder / "visits.ledger").unlink()
        (folder / "dither.toml").write_text(STREAM, encoding="utf-8")
    for line in found:
        if name == "init":  # the one command that does not write over what is there
            (folder / "dither.toml").unlink()
        words = shlex.split(line)
        if name == "release" and "--budget-epsilon" in words:  # the example opens a dataset with a budget of its own
            (folder / "visits.ledger").unlink()
        done = run(*words[1:])
        assert done.code == 0, f"{line}\n{done.out}{done.err}"
        assert done.out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in LONG])
def test_the_examples_of_the_help_run(name: str, prepared: Path) -> None:
    run_examples(name, prepared)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in COMMANDS if name in LONG])
def test_the_long_examples_of_the_help_run(name: str, prepared: Path) -> None:
    run_examples(name, prepared)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name: str) -> None:
    done = run(name, "--help", columns=100)
    assert done.code == 0
    assert "--json" in done.out
    assert f"dither {name}" in done.out
    assert examples(name)


def loaded(words: list[str], folder: Path, code: int = 0) -> tuple[str, set[str]]:
    """What a command says in a process of its own that ends with this code, and which modules it has loaded then."""
    program = (
        f"import sys; sys.argv = ['dither', *{words!r}]\nfrom dither.cli import main\n"
        "try: main()\nexcept SystemExit as end: print(end.code, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    said, _, last = done.stdout.rstrip().rpartition("\n")
    ended, *modules = last.split()
    assert ended == str(code), done.stderr
    assert "dither.cli" in modules
    return said, set(modules)


HEAVY = {"flint", "ibis", "numpy", "pyarrow", "scipy", "sqlalchemy"}
"""What is not loaded makes a command quick; how quick is no matter for a test."""


def test_all_commands_are_listed_without_loading_anything_heavy(tmp_path: Path) -> None:
    said, modules = loaded(["--help"], tmp_path)
    assert HEAVY & modules == set()
    assert [name for name in COMMANDS if f"\n  {name} " not in said] == []
    assert "Exit codes: 0 all is well" in " ".join(said.split())


@pytest.mark.parametrize("words", [["ledger", "nothing.ledger"], ["solve", "--queries", "10"]])
def test_what_is_plainly_mistaken_is_refused_without_loading_anything_heavy(words: list[str], tmp_path: Path) -> None:
    assert HEAVY & loaded(words, tmp_path, code=2)[1] == set()


def test_the_ledger_is_shown_without_the_engine(prepared: Path) -> None:
    assert {"duckdb", "ibis", "pyarrow"} & loaded(["ledger", "visits.ledger"], prepared)[1] == set()


def test_the_shell_is_offered_completion() -> None:
    assert "--install-completion" in run("--help").out


def test_a_command_that_does_not_exist() -> None:
    done = run("relaese")
    assert done.code == 2
    assert "Did you mean 'release'?" in done.err
