"""The site builds without a warning, needs nothing from elsewhere, and has an entry for every public name."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import dither
from docs.site.lectures import items
from docs.site.notebooks import pages
from docs.site.pages import ROOT, gathered, relinked

FETCHED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)=\"((?:https?:)?//[^\"]*)\"|@import|url\(['\"]?http"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, with the pictures that are committed."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs.site", "--to", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, timeout=600)
    assert done.returncode == 0, done.stderr + done.stdout
    return folder / "html"


@pytest.mark.slow
@pytest.mark.xdist_group("site")
class TestSite:
    def test_every_public_name_and_method_has_an_entry(self, site: Path) -> None:
        names = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
        known = {name for kind, found in names.items() if kind.startswith("py:") for name in found}
        public = {name: getattr(dither, name) for name in dither.__all__}
        wanted = {value.__name__ if inspect.ismodule(value) else f"dither.{name}" for name, value in public.items()}
        wanted |= {
            f"dither.{name}.{member}"
            for name, value in public.items()
            if inspect.isclass(value)
            for member, _ in inspect.getmembers(value, inspect.isfunction)
            if not member.startswith("_")
        }
        assert "dither.Dataset.group_by" in wanted
        assert wanted - known == set()

    def test_sections_of_docstrings_become_lists(self, site: Path) -> None:
        page = (site / "api" / "dither.mechanisms.html").read_text(encoding="utf-8")
        assert "<strong>Parameters</strong>" in page
        assert "-------" not in page

    def test_nothing_is_fetched_from_elsewhere(self, site: Path) -> None:
        files = [*site.rglob("*.html"), *site.rglob("*.css")]
        assert [str(file) for file in files if FETCHED.search(file.read_text(encoding="utf-8"))] == []

    def test_every_page_can_be_reached(self, site: Path) -> None:
        start = (site / "index.html").read_text(encoding="utf-8")
        linked = {link.partition("#")[0] for link in re.findall(r'href="([^":]+\.html)', start)}
        known = {str(place.with_suffix(".html")) for place in gathered().values() if place.suffix == ".md"}
        assert known - linked - {"index.html"} - {page for page in known if page.startswith("proofs/")} == set()

    def test_the_notebooks_are_shown_with_their_pictures(self, site: Path) -> None:
        for page in pages():
            shown = (site / "notebooks" / f"{page.stem}.html").read_text(encoding="utf-8")
            wanted = re.findall(r"!\[[^\]]*\]\(img/(\w+\.svg)\)", page.read_text(encoding="utf-8"))
            images = re.findall(r'<img [^>]*src="\.\./([^"]+)"', shown)
            assert [Path(image).name for image in images if Path(image).stem.startswith("lecture_")] == wanted
            assert all((site / image).is_file() for image in images)
            assert shown.count('class="highlight-python') >= len(wanted), "the code that draws them"

    def test_names_of_the_lectures_lead_to_the_reference(self, site: Path) -> None:
        shown = (site / "lectures.html").read_text(encoding="utf-8")
        assert shown.count('href="api/') >= sum(len(item.names) for item in items())


def test_what_is_fetched_would_be_seen() -> None:
    assert FETCHED.search('<script async src="https://example.com/x.js">')
    assert FETCHED.search('<link rel="stylesheet" href="//fonts.example.com/css">')
    assert not FETCHED.search('<a href="https://example.com">')


def test_links_between_files_become_links_between_pages() -> None:
    here, places = ROOT / "docs" / "ledger.md", gathered()
    text = "[a](../src/dither/ledger/ledger.md) [b](tables.md#the-unit) [c](https://example.com) `[d](x.md)`"
    assert relinked(text, here, places) == (
        "[a](proofs/ledger/ledger.md) [b](tables.md#the-unit) [c](https://example.com) `[d](x.md)`"
    )


def test_a_link_that_leads_nowhere_stops_the_build() -> None:
    with pytest.raises(SystemExit, match=r"docs/ledger\.md links to nowhere\.md"):
        relinked("[a](nowhere.md)", ROOT / "docs" / "ledger.md", gathered())
