"""The picture of the accounting page is the one that the library draws."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")


def test_the_committed_picture_is_current(tmp_path: Path) -> None:
    """The same text, and every coordinate within a tenth of a point."""
    subprocess.run([sys.executable, ROOT / "examples" / "accounting_pictures.py", tmp_path], check=True)
    (drawn,) = tmp_path.glob("*.svg")
    new, old = drawn.read_text(), (ROOT / "docs" / "img" / drawn.name).read_text()
    advice = f"{drawn.name} changed: run python examples/accounting_pictures.py"
    assert NUMBER.sub("", new) == NUMBER.sub("", old), advice
    pairs = zip(NUMBER.findall(new), NUMBER.findall(old), strict=True)
    assert all(abs(float(a) - float(b)) < 0.1 for a, b in pairs), advice
