"""The pictures of the documentation are those that the library draws."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_committed_pictures_are_current(tmp_path: Path) -> None:
    """Same curves, so same vertices; fonts and versions of matplotlib may differ in the rest."""
    subprocess.run([sys.executable, ROOT / "examples" / "guarantee_pictures.py", tmp_path], check=True)
    for drawn in sorted(tmp_path.glob("*.svg")):
        committed = (ROOT / "docs" / "img" / drawn.name).read_text()
        assert drawn.read_text() == committed, f"{drawn.name} changed: run python examples/guarantee_pictures.py"
