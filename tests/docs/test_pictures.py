"""The pictures of the documentation are those that the library draws."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")
FOLDERS = {
    "accounting_pictures.py": "docs/img",
    "adaptive_pictures.py": "docs/img",
    "growth_pictures.py": "docs/img",
    "guarantee_pictures.py": "docs/img",
    "mechanism_pictures.py": "docs/mechanisms/img",
    "median_pictures.py": "docs/img",
    "sensitivity_pictures.py": "docs/img",
    "stream_pictures.py": "docs/img",
    "workload_pictures.py": "docs/img",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", FOLDERS)
def test_the_committed_pictures_are_current(script: str, tmp_path: Path) -> None:
    """The same text, and every coordinate within a tenth of a point."""
    subprocess.run([sys.executable, ROOT / "examples" / script, tmp_path], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    for path in drawn:
        new, old = path.read_text(), (ROOT / FOLDERS[script] / path.name).read_text()
        advice = f"{path.name} changed: run python examples/{script}"
        assert NUMBER.sub("", new) == NUMBER.sub("", old), advice
        pairs = zip(NUMBER.findall(new), NUMBER.findall(old), strict=True)
        assert all(abs(float(a) - float(b)) < 0.1 for a, b in pairs), advice


def test_every_picture_is_drawn_by_a_script() -> None:
    """Each is shown on a page, and named by a script."""
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    scripts = "".join((ROOT / "examples" / script).read_text() for script in FOLDERS)
    scripts += "".join(page.read_text() for page in (ROOT / "docs" / "notebooks").glob("*.md"))  # test_notebooks.py
    for picture in (ROOT / "docs").rglob("img/*.svg"):
        assert f"img/{picture.name})" in pages, f"no page shows {picture.name}"
        assert picture.stem in scripts, f"no script draws {picture.name}"
