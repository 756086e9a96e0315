"""The pictures of the mechanisms are those that the library draws."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_committed_pictures_are_current(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "examples" / "mechanism_pictures.py", tmp_path], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert [path.stem for path in drawn] == ["gaussian", "histogram", "laplace", "staircase"]
    for path in drawn:
        committed = (ROOT / "docs" / "mechanisms" / "img" / path.name).read_text()
        assert path.read_text() == committed, f"{path.name} changed: run python examples/mechanism_pictures.py"
