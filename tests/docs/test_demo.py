"""`make demo` works without a terminal, answers, and refuses what is beyond the budget."""

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


def test_the_demo_runs() -> None:
    done = subprocess.run(
        [sys.executable, DEMO],
        capture_output=True,
        encoding="utf-8",
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    assert "spent 4/5 of 1" in done.stdout
    assert "this release costs epsilon 0.8" in done.stdout
    assert "\x1b[" not in done.stdout, "colours belong in a terminal only"
