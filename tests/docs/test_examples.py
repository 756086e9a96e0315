"""The examples run without a terminal, in seconds, and say what they should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAYS = {
    "common_condition.py": ["0.1-DP", "do not publish", "hypertension"],
    "digital_good.py": ["best revenue", "10,000"],
    "vote_histogram.py": ["95 % interval", "PureDP(epsilon=0.5", "nobody"],
    "freedman.py": ["naive reuse   claims", "the oracle    claims", "overfitted", "* gaussian"],
    "gaussian_or_laplace.py": ["ε = 1    k = 9", "Gaussian is better, 10.6×"],
    "noisy_descent.py": ["60 steps", "ε = 1.000", "100,000"],
    "one_query_three_engines.py": ["Engines: 1.", "PostgreSQL is left out", "Spark is left out", "same: True"],
    "sensitive_question.py": ["estimated yes", "said yes"],
}


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        timeout=600,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    assert [text for text in SAYS[name] if text not in done.stdout] == []
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert "\x1b[" not in done.stdout, "colours belong in a terminal only"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_no_example_is_left_out() -> None:
    """Each is named, so run, by a test."""
    here = Path(__file__).parent
    tests = "".join(path.read_text() for folder in (here, here.parent / "browser") for path in folder.glob("test_*.py"))
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tests] == []


def test_no_example_seeds_its_noise() -> None:
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert [word for word in ("seed", "default_rng", "numpy.random", "import random") if word in text] == []
