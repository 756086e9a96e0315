"""The page of the lectures: all 147 items, and each name, claim, anchor and example that it gives exists."""

import re
from functools import reduce
from pathlib import Path

import pytest

import dither as dp
from dither.audit import claims
from docs.site.lectures import PAGE, Item, items, page

ITEMS = items()
DOCS = PAGE.parent


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
    assert item.state == "n" or (item.names and item.page)


def test_the_examples_exist() -> None:
    linked = re.findall(r"`(examples/[^`]+)`", page())
    assert len(linked) >= 5
    assert all((DOCS.parent / name).is_file() for name in linked)


def test_a_name_that_is_gone_would_be_missed() -> None:
    with pytest.raises(AttributeError):
        reduce(getattr, ["guarantees", "no_such_name"], dp)
