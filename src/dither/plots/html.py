"""Pieces of pages: tables and sentences, with everything escaped. No scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dither.plots.shown import Shown, ShownColumn, plain, shown

if TYPE_CHECKING:
    from dither.engine import Plan
    from dither.mechanisms import Release

__all__ = ["estimate_line", "fold", "paragraph", "plan_table", "release_table", "release_text", "table"]

_NUMBER = ' class="number"'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of texts; `numbers` are the columns that are set to the right."""
    right = set(numbers)
    names = "".join(
        f'<th scope="col"{_NUMBER if at in right else ""}>{escape(name)}</th>' for at, name in enumerate(head)
    )
    lines = (
        "".join(f"<td{_NUMBER if at in right else ''}>{escape(cell)}</td>" for at, cell in enumerate(row))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def release_table(release: Release, most_rows: int = 20) -> str:
    """The answers of a release with their intervals; of long ones the first rows, and how many there are."""
    answer = shown(release, as_rows=True)
    head, lines = _lines(answer, most_rows)
    names = {plain(column.title) for column in answer.columns if not column.is_numeric}
    numbers = [at for at in range(len(answer.keys), len(head)) if head[at] not in names]
    found = table(head, lines, numbers)
    if len(lines) < len(answer.rows):
        found += f"<p>The first {len(lines):,} of {len(answer.rows):,} rows.</p>\n"
    return found


def release_text(release: Release, most_rows: int = 20) -> str:
    """The same as lines of text."""
    answer = shown(release, as_rows=True)
    head, lines = _lines(answer, most_rows)
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    found = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *lines)
    ]
    if len(lines) < len(answer.rows):
        found.append(f"The first {len(lines):,} of {len(answer.rows):,} rows.")
    return "\n".join(found)


def estimate_line(release: Release, most: int = 6) -> str:
    """The name of an estimator, its values and their intervals in one line; of many values the first."""
    answer = shown(release)
    (column,) = answer.columns
    said: list[str] = []
    for at in range(min(len(column.values), most)):
        written = column.written(at)
        said.append(written[0] if len(written) == 1 else f"{written[0]} ({written[1]})")
    more = f", ... ({len(column.values):,} values)" if len(column.values) > most else ""
    interval = "" if column.low is None else f", {column.level} % interval{'s' if len(said) > 1 else ''}"
    return f"{plain(column.title)}: {', '.join(said)}{more}{interval}"


def _lines(answer: Shown, most_rows: int) -> tuple[list[str], list[list[str]]]:
    """The headings, and the cells of the first rows."""
    head = [*map(plain, answer.keys), *(name for column in answer.columns for name in _names(column))]
    return head, [_cells(answer, at) for at in range(min(len(answer.rows), most_rows))]


def _names(column: ShownColumn) -> list[str]:
    title = plain(column.title)
    return [title] if column.low is None else [title, f"{column.level} % interval"]


def _cells(answer: Shown, at: int) -> list[str]:
    cells = [plain(key) for key in answer.rows[at]]
    for column in answer.columns:
        cells += column.written(at)
    return cells


def plan_table(plan: Plan) -> str:
    """The lines of a plan, and its cost."""
    head = ("column", "noise", "share", "error")
    said = [] if plan.left_out is None else [plan.left_out]
    return table(head, plan.lines()) + "".join(map(paragraph, (*said, f"costs {plan.cost}")))


def fold(summary: str, inside: str) -> str:
    """What opens when it is asked for, without a script."""
    return f"<details><summary>{escape(summary)}</summary>\n{inside}</details>\n"


def paragraph(*sentences: Any) -> str:
    """Sentences, escaped."""
    return f"<p>{escape(' '.join(map(str, sentences)))}</p>\n"
