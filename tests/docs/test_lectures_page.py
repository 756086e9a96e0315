"""The page of the lectures: all 147 items, and each name, claim, anchor and example that it gives exists."""

import re
from functools import reduce
from pathlib import Path

import pytest

import dither as dp
from dither.audit import claims
from docs.site import api
from docs.site.lectures import PAGE, Item, items, page
from docs.site.pages import ROOT, names_linked

ITEMS = items()
DOCS = PAGE.parent
GENERATED = ("claims.md", "lectures.md", "bent_library.md")
"""Tables of claims, which name them all."""


def claims_of(file: Path) -> set[str]:
    """The claims that a page links to."""
    return set(re.findall(r"\[([CD]\d+)\]\([^)\s#]*claims\.md#\w+\)", file.read_text(encoding="utf-8")))


def anchors(file: Path) -> set[str]:
    """As GitHub and MyST make them of headings."""
    heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_the_page_is_written_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m docs.site.lectures"


def test_every_item_is_there_once() -> None:
    counts = {"000": 28, "001": 47, "002": 16, "003": 18, "004": 38}
    assert [item.number for item in ITEMS] == [
        f"{at}-{n:02}" for at, most in counts.items() for n in range(1, most + 1)
    ]
    assert len(ITEMS) == 147


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.number)
def test_what_an_item_names_exists(item: Item) -> None:
    known = {claim.id for claim in claims.ALL}
    assert set(item.claims) <= known
    for name in item.names:
        assert reduce(getattr, name.split("."), dp) is not None
    target, _, anchor = item.page.partition("#")
    if target:
        assert (DOCS / target).is_file()
        assert not anchor or anchor in anchors(DOCS / target), anchor
    assert item.state in ("y", "p", "n")
    assert bool(item.note) == (item.state != "y"), "what is missing is said, and only that"
    assert item.state == "n" or (item.names and item.page and item.claims)
    assert all((ROOT / "examples" / name).is_file() for name in item.examples)
    assert all((ROOT / "src" / "dither" / name).is_file() for name in item.proofs)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.number)
def test_the_page_that_teaches_an_item_names_its_claims(item: Item) -> None:
    target = item.page.partition("#")[0]
    assert target not in GENERATED, "a table teaches nothing"
    assert [claim for claim in item.claims if claim not in claims_of(DOCS / target)] == []


@pytest.mark.parametrize("claim", [claim.id for claim in claims.ALL])
def test_every_claim_is_named_on_a_page_that_teaches_it(claim: str) -> None:
    pages = [
        page for page in sorted(DOCS.rglob("*.md")) if page.name not in GENERATED and page.parent.name != "notebooks"
    ]
    assert any(claim in claims_of(page) for page in pages)


@pytest.mark.parametrize("claim", [claim.id for claim in claims.ALL if "streams" not in claim.source])
def test_every_claim_of_the_lectures_is_an_item(claim: str) -> None:
    assert any(claim in item.claims for item in ITEMS)


def test_every_example_of_a_lecture_and_every_picture_is_of_an_item() -> None:
    named = {name for item in ITEMS for name in item.examples}
    assert {
        name for lecture in re.findall(r"Examples: (.*)", page()) for name in re.findall(r"examples/(\w+\.py)", lecture)
    } <= named


def test_each_name_is_an_entry_of_the_reference(tmp_path: Path) -> None:
    """So that on the site it is a link: `{py:obj}` says nothing where there is no such entry."""
    api.write(tmp_path)
    entries: set[str] = set()
    for text in (path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")):
        owner = ""
        for kind, name in re.findall(r"^:{3,4}\{py:(\w+)\} ([\w.]+)", text, flags=re.MULTILINE):
            owner = name if kind == "class" else owner
            entries |= {name, f"{owner}.{name}"}
    linked = re.findall(r"\{py:obj\}`dp\.[\w.]+ <([\w.]+)>`", names_linked(page()))
    assert len(linked) == sum(len(item.names) for item in ITEMS)
    assert sorted(set(linked) - entries) == []


def test_every_item_works() -> None:
    assert [item.number for item in ITEMS if item.state != "y"] == []


def test_the_examples_exist() -> None:
    linked = re.findall(r"`(examples/[^`]+)`", page())
    assert len(linked) >= 5
    assert all((DOCS.parent / name).is_file() for name in linked)


def test_a_name_that_is_gone_would_be_missed() -> None:
    with pytest.raises(AttributeError):
        reduce(getattr, ["guarantees", "no_such_name"], dp)
