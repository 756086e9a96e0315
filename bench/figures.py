"""`python -m bench.figures`: write the tables between markers in README.md, bench/README.md and docs/peers.md.

A marker is `<!-- figures: noise -->`, and the table ends at `<!-- end of figures -->`. All come from results.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import results
from bench.row import Row
from bench.table import number

__all__ = ["PAGES", "TABLES", "faster", "page_with_figures"]

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "bench/README.md", "docs/peers.md")
_MARKED = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", flags=re.DOTALL)


def faster(ratio: float) -> str:
    """597× faster, or 3× slower: one notation everywhere."""
    if 0.95 < ratio < 1.05:
        return "the same"
    return f"{_short(ratio)}× faster" if ratio > 1 else f"{_short(1 / ratio)}× slower"


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _cases(topic: str, found: dict[str, Any]) -> dict[str, list[Row]]:
    cases: dict[str, list[Row]] = {}
    for row in results.rows_of(topic, found):
        if not (row.unit == "samples/s" or row.case.endswith((": time", "CPU time"))):
            continue  # errors, widths and memory are no speeds
        cases.setdefault(row.case, []).append(row)
    return cases


def _by_case(topic: str, found: dict[str, Any]) -> str:
    """One line per case: ours, and each peer."""
    lines = [f"Measured {found[topic]['date']}.", "", "| case | ours | beside |", "|---|---|---|"]
    for case, rows in _cases(topic, found).items():
        ours = f"{number(rows[0].ours)} {rows[0].unit}"
        lines.append(f"| {case} | {ours} | {', '.join(f'{row.peer} {faster(row.ratio)}' for row in rows)} |")
    return "\n".join(lines)


def _summary(found: dict[str, Any]) -> str:
    """A few cases of all topics."""
    lines = ["| | measured | ours | than |", "|---|---|---|---|"]
    for topic, case in SUMMARY:
        rows = _cases(topic, found)[case]
        ours = f"{number(rows[0].ours)} {rows[0].unit}"
        than = ", ".join(f"{row.peer}: {faster(row.ratio)}" for row in rows)
        lines.append(f"| {case} | {found[topic]['date']} | {ours} | {than} |")
    return "\n".join(lines)


def _limits(topic: str, found: dict[str, Any], *, units: Sequence[str] | None = None) -> str:
    """One line per case, or per case of these units: ours, and what it is held against."""
    lines = [f"Measured {found[topic]['date']}.", "", "| case | ours | beside | |", "|---|---|---|---|"]
    for row in results.rows_of(topic, found):
        if units is not None and row.unit not in units:
            continue
        most = f"{number(row.peer_value)} {row.unit} ({row.peer})"
        lines.append(f"| {row.case} | {number(row.ours)} {row.unit} | {most} | {row.verdict} |")
    return "\n".join(lines)


SUMMARY = (
    ("noise", "Laplace integer, scale 10, vector of 10^6"),
    ("noise", "Gaussian real, scale 1, vector of 10^6"),
    ("noise", "Laplace integer, scale 10, one call at a time"),
    ("accounting", "(c) q = 0.01, σ = 1, T = 10^4: time"),
    ("groupby", "DuckDB, 10,000,000 rows, CPU time"),
    ("groupby", "DuckDB, 1,000,000 rows, CPU time"),
)
"""Topic and case of each line in the README."""

TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "summary": _summary,
    "noise": lambda found: _by_case("noise", found),
    "accounting": lambda found: _by_case("accounting", found),
    "engines": lambda found: _limits("engines", found, units=("s",)),
    "groupby": lambda found: _by_case("groupby", found),
    "continual": lambda found: _limits("continual", found),
    "first_draws": lambda found: _limits("noise", found, units=("ms", "numbers/s")),
    "growth": lambda found: _by_case("growth", found),
    "ledger": lambda found: _limits("ledger", found),
    "service": lambda found: _limits("service", found),
    "sql": lambda found: _by_case("sql", found),
    "start": lambda found: _limits("start", found),
}


def page_with_figures(text: str, found: dict[str, Any]) -> str:
    """The page with each marked table made anew."""
    return _MARKED.sub(lambda at: f"{at[1]}\n{TABLES[at[2]](found)}\n\n{at[3]}", text)


def main() -> None:
    found = results.read()
    for name in PAGES:
        page = ROOT / name
        page.write_text(page_with_figures(page.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
