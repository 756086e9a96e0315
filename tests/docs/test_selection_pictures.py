"""The pictures of selection, randomized response and sparse vector are those that the library draws."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_pictures import NUMBER, ROOT


@pytest.mark.slow
def test_the_committed_pictures_are_current(tmp_path: Path) -> None:
    """The same text, and every coordinate within a tenth of a point."""
    subprocess.run([sys.executable, ROOT / "examples" / "selection_pictures.py", tmp_path], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert len(drawn) == 4
    for path in drawn:
        new, old = path.read_text(), (ROOT / "docs" / "mechanisms" / "img" / path.name).read_text()
        advice = f"{path.name} changed: run python examples/selection_pictures.py"
        assert NUMBER.sub("", new) == NUMBER.sub("", old), advice
        pairs = zip(NUMBER.findall(new), NUMBER.findall(old), strict=True)
        assert all(abs(float(a) - float(b)) < 0.1 for a, b in pairs), advice
