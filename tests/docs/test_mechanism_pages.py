"""Each mechanism has a page, and each page its formula, picture, example and references."""

import re
from pathlib import Path

import pytest

from dither import mechanisms
from dither.mechanisms import Mechanism
from tests.docs import pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "mechanisms"
PAGES = sorted(FOLDER.glob("*.md"))


def prose(text: str) -> str:
    """The text without its blocks of code."""
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_complete(page: Path) -> None:
    text = page.read_text()
    assert "**For** " in text, "say what it is for"
    assert "**Promises** " in text, "say what it promises"
    assert re.search(r"[=∝≤]", prose(text)), "give the formula"
    assert f"(img/{page.stem}.svg)" in text, "show the picture"
    assert any(">>> " in block.code for block in pages.blocks(text)), "give an example"
    assert "\n## References\n" in text, "name the references"


def test_every_mechanism_is_on_a_page() -> None:
    text = "".join(page.read_text() for page in PAGES)
    public = [getattr(mechanisms, name) for name in mechanisms.__all__]
    classes = [each for each in public if isinstance(each, type)]
    found = [each.__name__ for each in classes if issubclass(each, Mechanism) and each is not Mechanism]
    assert "Laplace" in found
    assert [name for name in found if f"dp.{name}(" not in text] == []
