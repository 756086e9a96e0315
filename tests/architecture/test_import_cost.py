"""`import dither` is quick because it loads nothing heavy; how quick is measured in `bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"fastapi", "flint", "ibis", "matplotlib", "numpy", "scipy", "sqlalchemy", "typer", "uvicorn"}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a fresh interpreter."""
    program = f"import json, sys; {statement}; print(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_nothing_heavy_is_loaded() -> None:
    modules = loaded_by("import dither")
    assert "dither" in modules
    assert modules & HEAVY == set()


def test_a_heavy_module_would_be_seen() -> None:
    assert "numpy" in loaded_by("import dither; dither.PureDP") & HEAVY


NOT_FOR_A_PLAN = {
    "dither.adaptive",
    "dither.audit",
    "dither.plots",
    "dither.sensitivity",
    "dither.workloads",
    "matplotlib",
    "pandas",
    "pyarrow.dataset",
    "scipy.fft",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "sqlalchemy",
    "sqlglot.dialects.athena",
}
"""What takes longer to load than a plan takes to make. pyarrow loads pandas when it converts an object of Python."""


def loaded_by_a_command(folder: Path, command: str, *flags: str, first: str = "pass") -> set[str]:
    """The modules that are loaded when a command about a small file ends, after a `first` statement."""
    (folder / "visits.csv").write_text("city,cost\nParis,3\nLyon,4\n")
    program = (
        f"{first}; import atexit, json, sys;"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr));"
        "from dither.cli import main; main()"
    )
    words = [sys.executable, "-c", program, command, "visits.csv", "--rows", "add-remove", "--epsilon", "0.5", *flags]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert {"plan": "Nothing was spent.", "release": "Spent epsilon 0.5"}[command] in done.stdout
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "flags",
    [
        ("--agg", "visits=count"),
        ("--group-by", "city", "--keys", "Paris,Lyon", "--agg", "visits=count"),
        ("--group-by", "city", "--keys", "Paris,Lyon", "--agg", "cost=sum(cost, 0, 20)"),
        ("--agg", "visits=count", "--delta", "1e-6", "--noise", "gaussian"),
    ],
    ids=["count", "groups", "sums", "gaussian"],
)
def test_a_plan_loads_what_it_needs(flags: tuple[str, ...], tmp_path: Path) -> None:
    modules = loaded_by_a_command(tmp_path, "plan", *flags)
    assert "duckdb" in modules
    assert modules & NOT_FOR_A_PLAN == set()


def test_what_a_plan_should_not_load_would_be_seen(tmp_path: Path) -> None:
    modules = loaded_by_a_command(tmp_path, "plan", "--agg", "visits=count", first="import pyarrow; pyarrow.array([1])")
    assert modules & NOT_FOR_A_PLAN == {"pandas"}


@pytest.mark.parametrize(
    "flags",
    [
        ("--group-by", "city", "--keys", "Paris,Lyon", "--agg", "visits=count", "--agg", "cost=sum(cost, 0, 20)"),
        ("--group-by", "city", "--agg", "cost=mean(cost, 0, 20)", "--delta", "1e-6", "--budget-delta", "1e-5"),
        ("--agg", "cost=median(cost, 0, 20)"),
    ],
    ids=["sums", "found groups", "median"],
)
def test_a_release_loads_what_it_needs(flags: tuple[str, ...], tmp_path: Path) -> None:
    modules = loaded_by_a_command(tmp_path, "release", *flags, "--ledger", "visits.ledger", "--budget-epsilon", "2")
    assert modules & NOT_FOR_A_PLAN == {"sqlalchemy"}  # the ledger
