"""Figures have one source: the marked tables are those of bench/results.json."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench import results
from bench.figures import PAGES, ROOT, TABLES, faster, page_with_figures
from bench.row import less_is_better
from dither.audit.zoo import SPECIMENS


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_a_page_are_made_from_the_results(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- figures: " in page
    assert page_with_figures(page, results.read()) == page, "run python -m bench.figures"


@pytest.mark.parametrize("name", PAGES)
def test_another_figure_would_be_seen(name: str) -> None:
    found = results.read()
    for topic in found.values():
        for row in topic["rows"]:
            row["ratio"] *= 2
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page_with_figures(page, found) != page


def test_every_table_stands_somewhere() -> None:
    pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in PAGES)
    assert [name for name in TABLES if f"<!-- figures: {name} -->" not in pages] == []


def test_there_is_one_notation() -> None:
    assert [faster(ratio) for ratio in (597, 1.57, 1, 0.331, 0.05)] == [
        "597× faster",
        "1.6× faster",
        "the same",
        "3× slower",
        "20× slower",
    ]
    for name in PAGES:
        assert re.findall(r"÷ [\d.]+\b", (ROOT / name).read_text(encoding="utf-8")) == [], "a peer ÷ 597"


def test_a_topic_replaces_its_own_part(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    for topic, ours in (("noise", 1.0), ("audit", 2.0), ("noise", 4.0)):
        results.write(topic, [less_is_better("a", ours=ours, peer="b", peer_value=8, asked=None, unit="s")], file)
    written = json.loads(file.read_text())
    assert list(written) == ["audit", "noise"]
    assert [row.ratio for row in results.rows_of("noise", written)] == [2.0]
    assert written["noise"].keys() == {"date", "versions", "rows"}


def test_the_readme_counts_the_broken_mechanisms_that_there_are() -> None:
    count = sum(each.is_broken for each in SPECIMENS)
    assert f"proves {count} of {count} broken mechanisms broken" in (ROOT / "README.md").read_text(encoding="utf-8")
