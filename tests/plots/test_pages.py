"""Reports and notebook tables: complete, well formed, and deaf to hostile names."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

import dither as dp
from dither.engine import read_certificate
from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.plots.html import release_table
from tests.plots.conftest import HOSTILE

pytestmark = pytest.mark.xdist_group("plots")  # the releases are made once

VOID = {"meta", "img", "br"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "section", "h1", "h2", "h3", "p", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "img", "figcaption", "details", "summary", "pre"),
    *("code", "a"),
}


class Page(HTMLParser):
    """Reads a page as a browser would: its elements, its attributes, its text; refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_hostile_names_stay_text(page: Path) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    assert {tag for tag, _ in found.elements} <= ALLOWED
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert HOSTILE[0] in found.cells
    assert HOSTILE[1] in found.cells
    assert "a b c" in found.cells  # what breaks or turns a line does not
    assert "&amp;" in found.cells


def test_the_page_loads_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    addresses = [
        value for _, attributes in found.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert addresses
    assert all(value is not None and value.startswith("data:") for value in addresses)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_every_picture_has_words_and_is_an_image(page: Path) -> None:
    images = [attributes for tag, attributes in Page(page.read_text(encoding="utf-8")).elements if tag == "img"]
    assert len(images) == 7  # grouped, lists, histogram, estimate, vector, found; the budget
    for image in images:
        assert len(image["alt"] or "") > 30
        svg = base64.b64decode((image["src"] or "").partition(",")[2]).decode()
        assert svg.rstrip().endswith("</svg>")
        assert "<script" not in svg


def test_certificates_on_the_page_are_true(page: Path, ledger: Ledger) -> None:
    links = re.findall(r'href="data:application/json;base64,([^"]+)"', page.read_text(encoding="utf-8"))
    assert len(links) == 9
    certificates = [read_certificate(base64.b64decode(link).decode()) for link in links]
    for certificate in certificates:
        dp.check_certificate(certificate, ledger if "ledger_entry" in certificate else None)


def test_the_cost_is_said_in_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "It cost ε = 1, δ = 1e-06 for each change of this kind: add or remove one person (by user)" in text
    assert "guesses right at most 73.2 % of the time" in text
    assert "is left for &lt;b&gt;visits&lt;/b&gt;." in text


def test_long_tables_are_cut_and_say_so(ledger: Ledger, tmp_path: Path) -> None:
    table = pa.table({"user": [1], "code": [1]})
    keys = list(range(600))
    with dp.Dataset(table, unit=dp.Person("user", 1, 1), budget=dp.PureDP(9), ledger=ledger, identity="long") as data:
        release = data.group_by("code", keys=keys).agg(n=dp.count()).release(epsilon=1)
    text = release.report(tmp_path / "long.html").read_text(encoding="utf-8")
    assert len(Page(text).cells) == 500 * 3
    assert "The first 500 of 600 rows." in text
    picture = base64.b64decode(text.partition("svg+xml;base64,")[2].split('"')[0]).decode()
    assert "page 1 of 15: rows 1 to 40 of 600" in picture
    assert "The first 20 of 600 rows." in release._repr_html_()


def test_notebooks_show_small_tables(releases: dict[str, dp.Release], data: dp.Dataset) -> None:
    for release in releases.values():
        assert {tag for tag, _ in Page(release._repr_html_()).elements} <= ALLOWED
    plan = data.group_by("place", keys=HOSTILE).agg(**{"<b>": dp.count()}).plan(epsilon=1)
    assert "&lt;b&gt;" in plan._repr_html_()
    assert "costs PureDP(epsilon=1" in plan._repr_html_()


def test_numbers_have_the_digits_that_mean_something(releases: dict[str, dp.Release]) -> None:
    row = Page(release_table(releases["grouped"])).cells[:5]
    assert re.fullmatch(r"−?\d+", row[1])
    assert re.fullmatch(r"\d+\.\d", row[3])
    assert re.fullmatch(r"\d+\.\d to \d+\.\d", row[4])


def test_what_is_no_release_or_no_place_is_refused(releases: dict[str, dp.Release], tmp_path: Path) -> None:
    for nothing in ([], ["text"], "text", [None]):
        with pytest.raises(ParameterError, match="about one or more releases"):
            dp.plots.report(nothing, tmp_path / "x.html")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cannot be written"):
        releases["one"].report(tmp_path / "nowhere" / "x.html")
    assert json.dumps(releases["one"].certificate())
