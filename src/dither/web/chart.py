"""Charts as inline SVG: of an answer, a dot for each private value and a line for its interval; of what was spent."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import Any

from dither.engine import TableRelease
from dither.exact import rational

__all__ = ["chart", "spending_chart"]

_MOST_ROWS = 40
_MOST_LINES = 5
_LABEL = 21
"""The height of a line of text on a small screen."""
_LONGEST = 22
"""Signs of a label: so many fit before the axis on a small screen, where letters are larger."""
_WIDTH, _LEFT, _RIGHT, _ROW = 720, 250, 20, 26


def chart(release: TableRelease) -> str:
    """The columns that have intervals, one below the other; empty if there are none."""
    table = release.tidy()
    names = [name for name in table.column_names if {f"{name}_low", f"{name}_high"} <= set(table.column_names)]
    hidden = {f"{name}_{end}" for name in names for end in ("low", "high")} | set(names)
    keys = [name for name in table.column_names if name not in hidden]
    rows = table.to_pylist()[:_MOST_ROWS]
    return "".join(_drawn(name, keys, [_bounded(row, name) for row in rows if _is_known(row[name])]) for name in names)


def _is_known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _bounded(row: dict[str, Any], name: str) -> dict[str, Any]:
    """The row, with infinite ends where an interval has none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return {**row, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _drawn(name: str, keys: list[str], rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    numbers = [float(row[each]) for row in rows for each in (name, f"{name}_low", f"{name}_high")]
    known = [number for number in numbers if math.isfinite(number)]
    low, high = min(known), max(known)
    width = (high - low) or 1.0

    def across(value: Any) -> str:
        share = min(max((float(value) - low) / width, 0.0), 1.0)  # an infinite end is at the edge
        return f"{_LEFT + share * (_WIDTH - _LEFT - _RIGHT):.1f}"

    height = _ROW * (len(rows) + 1)
    marks = [_mark(row, name, keys, at, across) for at, row in enumerate(rows)]
    title = escape(f"{name}: private values and their intervals")
    if len(known) < len(numbers):
        title += "; an arrow where an interval has no end"
    foot = height - 6
    ends = f'<text x="{_LEFT}" y="{foot}">{low:,.6g}</text>'
    ends += f'<text x="{_WIDTH - _RIGHT}" y="{foot}" text-anchor="end">{high:,.6g}</text>'
    return (
        f'<figure><svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img"><title>{title}</title>'
        f"{''.join(marks)}{ends}</svg><figcaption>{title}</figcaption></figure>\n"
    )


def _mark(row: dict[str, Any], name: str, keys: list[str], at: int, across: Any) -> str:
    y = _ROW * at + _ROW // 2
    said = ", ".join("(missing)" if row[key] is None else str(row[key]) for key in keys) or name
    label = escape(said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…")
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    start, end = across(low), across(high)
    arrows = "" if math.isfinite(low) else _arrow(_LEFT, 1, y)
    arrows += "" if math.isfinite(high) else _arrow(_WIDTH - _RIGHT, -1, y)
    return (
        f'<text x="{_LEFT - 12}" y="{y + 5}" text-anchor="end">{label}</text>'
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
        f'<line x1="{start}" x2="{end}" y1="{y}" y2="{y}"/>{arrows}<circle cx="{across(row[name])}" cy="{y}" r="5"/>'
    )


def _arrow(tip: int, inwards: int, y: int) -> str:
    return f'<polygon points="{tip},{y} {tip + 10 * inwards},{y - 6} {tip + 10 * inwards},{y + 6}"/>'


def spending_chart(charges: Sequence[Mapping[str, Any]]) -> str:
    """What each analyst has spent, as steps over time; empty if there is nothing to see."""
    if len(charges) < 2:
        return ""
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in charges]
    costs = [float(rational(next(iter(each["cost"].values())))) for each in charges]
    totals: dict[str, float] = defaultdict(float)
    lines: dict[str, list[tuple[float, float]]] = {}
    for at, each, cost in zip(times, charges, costs, strict=True):
        totals[each["by"]] += cost
        lines.setdefault(each["by"], [(times[0], 0.0)]).append((at, totals[each["by"]]))
    names = sorted(totals, key=lambda name: -totals[name])[:_MOST_LINES]
    first, last, top = times[0], max(times[-1], times[0] + 1), max(totals.values())
    height, foot, right = 220, 190, _WIDTH - _LEFT

    def place(at: float, spent: float) -> str:
        across = 60 + (at - first) / (last - first) * (right - 60)
        return f"{across:.1f},{foot - spent / top * (foot - 15):.1f}"

    drawn = ""
    labels = _apart([foot - totals[name] / top * (foot - 15) + 5 for name in names], foot + 5)
    for number, (name, y) in enumerate(zip(names, labels, strict=True)):
        steps = [place(*lines[name][0])]
        for (_, before), (at, after) in pairwise([*lines[name], (last, totals[name])]):
            steps += [place(at, before), place(at, after)]
        drawn += f'<polyline class="series s{number}" points="{" ".join(steps)}"/>'
        said = f"{escape(name[:15])} {totals[name]:.4g}"
        drawn += f'<text class="s{number}" x="{right + 8}" y="{y:.1f}">{said}</text>'
    ends = [datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%d %H:%M") for each in (first, last)]
    axis = f'<line class="axis" x1="60" x2="{right}" y1="{foot}" y2="{foot}"/>'
    axis += f'<text x="52" y="{foot + 5}" text-anchor="end">0</text>'
    axis += f'<text x="52" y="20" text-anchor="end">{top:.4g}</text><text x="60" y="{height - 8}">{ends[0]}</text>'
    axis += f'<text x="{right}" y="{height - 8}" text-anchor="end">{ends[1]}</text>'
    title = "Spent by each analyst over time (UTC)"
    return (
        f'<figure><svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img"><title>{title}</title>{axis}{drawn}'
        f"</svg><figcaption>{title}</figcaption></figure>\n"
    )


def _apart(wanted: Sequence[float], most: float) -> list[float]:
    """The heights of labels, from the top down, so that none stands on another and none below `most`."""
    found: list[float] = []
    for height in wanted:
        found.append(max(height, found[-1] + _LABEL) if found else height)
    for at in reversed(range(len(found))):
        found[at] = min(found[at], most - _LABEL * (len(found) - 1 - at))
    return found
