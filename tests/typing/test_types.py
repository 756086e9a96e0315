"""Users' code passes `mypy --strict`, and their mistakes are seen."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from dither import events
from dither.engine.table_release import TableRelease
from dither.events import added_noise, composite, event, noisy_choices

ROOT = Path(__file__).resolve().parents[2]
_WRONG = """
import dither as dp
from dither.events import LaplaceNoise

LaplaceNoise([1])
dp.compose([3])
def frame(data: dp.Dataset) -> int:
    return data.group_by("city").agg(n=dp.count()).release(epsilon=1).to_polars()
"""


@pytest.mark.slow
def test_users_code_is_accepted_and_mistakes_are_not(tmp_path: Path) -> None:
    """With the settings of the repository, which are strict, and its cache, so that it takes seconds."""
    (tmp_path / "wrong.py").write_text(_WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "tests/typing/users_code.py", str(tmp_path / "wrong.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.partition(" error: ")[0].rpartition("wrong.py")[2] for line in found] == [":5:", ":6:", ":8:"], found


def _typed_parameters() -> dict[str, list[str]]:
    """By class: the parameters that type checkers see."""
    found = {}
    for module in (added_noise, noisy_choices, event, composite):
        for made in ast.walk(ast.parse(inspect.getsource(module))):
            for part in made.body if isinstance(made, ast.ClassDef) else ():
                if isinstance(part, ast.If) and isinstance(part.body[0], ast.FunctionDef):
                    taken = part.body[0].args
                    found[made.name] = [each.arg for each in (*taken.args[1:], *taken.kwonlyargs)]  # type: ignore[attr-defined]
    return found


def test_what_type_checkers_see_of_an_event_is_what_it_takes() -> None:
    seen = _typed_parameters()
    assert {"GaussianNoise", "LaplaceNoise", "PoissonSampled"} <= seen.keys()
    for name, parameters in seen.items():
        assert [each.name for each in dataclasses.fields(getattr(events, name))] == parameters, name


def test_frames_are_not_any() -> None:
    assert TableRelease.to_pandas.__annotations__["return"] == "pd.DataFrame"
    assert TableRelease.to_polars.__annotations__["return"] == "pl.DataFrame"
