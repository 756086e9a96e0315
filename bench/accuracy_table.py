"""The rows of `python -m bench accuracy --json` on standard input as the tables of the README.

python -m bench accuracy --minutes 480 --seed 41 --json > rows.json; python -m bench.accuracy_table < rows.json
"""

import re
import sys
from collections.abc import Iterable

from bench.row import Row

_CASE = re.compile(
    r"(?P<door>dp\.stats|Dataset), (?P<change>add or remove|replace), (?P<question>.+), "
    r"(?P<width>tight bounds|bounds ×10|bounds ×1000): error ÷ best peer, median of (?P<cells>\d+) cells"
)
_WIDTHS = ("tight bounds", "bounds ×10", "bounds ×1000")


def render(rows: Iterable[Row]) -> str:
    """One table for each adjacency; figures that were asked for and missed are bold."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        case = _CASE.fullmatch(row.case)
        if case:
            found[case["change"], case["question"], case["door"], case["width"]] = row
    lines = []
    for change in sorted({key[0] for key in found}):
        lines += [
            f"| {change}: tight / ×10 / ×1000 | `dp.stats` | `Dataset` | best peer, mostly |",
            "|---|---|---|---|",
        ]
        for question in dict.fromkeys(key[1] for key in found if key[0] == change):
            doors = [_figures(found, change, question, door) for door in ("dp.stats", "Dataset")]
            here = [row.peer.split()[0] for key, row in found.items() if key[:2] == (change, question)]
            lines.append(f"| {question} | {' | '.join(doors)} | {', '.join(dict.fromkeys(here))} |")
        lines.append("")
    return "\n".join(lines)


def _figures(found: dict[tuple[str, ...], Row], change: str, question: str, door: str) -> str:
    rows = [found.get((change, question, door, width)) for width in _WIDTHS]
    return " / ".join(_figure(row) for row in rows if row is not None or question != "top 5")


def _figure(row: Row | None) -> str:
    if row is None:
        return "–"
    text = f"{row.ours:.2g}" if row.ours < 100 else f"{row.ours:.0f}"
    return f"**{text}**" if row.verdict == "MISSED" else text


if __name__ == "__main__":
    print(render(map(Row.from_json, sys.stdin)))
