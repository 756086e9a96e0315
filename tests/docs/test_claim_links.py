"""Each claim that a page names is a link to its row in docs/claims.md, and the row exists."""

import re
from pathlib import Path

import pytest

from docs.site.pages import ROOT, claims_linked, gathered, relinked

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", flags=re.MULTILINE | re.DOTALL)
BARE = re.compile(r"(?<![\[\w])(?:C\d+|(?<=claim )D\d+)\b")  # D alone may be a dataset
LINK = re.compile(r"\[([CD]\d+)\]\(([^)\s#]*)#(\w+)\)")
CLAIMS = ROOT / "docs" / "claims.md"
OTHER = {CLAIMS, ROOT / "docs" / "attacks.md"}  # the rows themselves; the cases of attack have numbers of their own
PAGES = [page for folder in ("docs", "src") for page in sorted((ROOT / folder).rglob("*.md")) if page not in OTHER]


def faults(text: str, page: Path) -> list[str]:
    """Claims that are no link, and links that do not lead to their row."""
    prose = CODE.sub("", text)
    rows = set(re.findall(r'<a id="(\w+)"></a>', CLAIMS.read_text(encoding="utf-8")))
    wrong = [
        name
        for name, target, fragment in LINK.findall(prose)
        if (page.parent / target).resolve() != CLAIMS or fragment != name.lower() or fragment not in rows
    ]
    return BARE.findall(prose) + wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_claim_of_a_page_leads_to_its_row(page: Path) -> None:
    assert faults(page.read_text(encoding="utf-8"), page) == []


@pytest.mark.parametrize(
    "text",
    [
        "claim C19.",
        "claim D4",
        "[D4](claims.md#d5)",
        "[C19](claims.md#c18)",
        "[C99](claims.md#c99)",
        "[C19](tables.md#c19)",
        "[C1](claims.md#c1), C2",
    ],
)
def test_a_fault_would_be_seen(text: str) -> None:
    assert faults(text, ROOT / "docs" / "medians.md")


def test_on_the_site_the_link_leads_to_the_row_too() -> None:
    """Sphinx does not know anchors within a table, so the link is written in HTML."""
    here = ROOT / "docs" / "mechanisms" / "laplace.md"
    assert relinked("[C2](../claims.md#c2)", here, gathered()) == '<a href="../claims.html#c2">C2</a>'


def test_claims_in_docstrings_are_linked_on_the_site() -> None:
    text = "As claim C19 says, unlike `C19` or C99."
    assert claims_linked(text) == 'As claim <a href="../claims.html#c19">C19</a> says, unlike `C19` or C99.'
