"""Rows as an aligned table for people."""

from collections.abc import Sequence

from bench.row import Row

HEADER = ("case", "ours", "peer", "theirs", "unit", "ratio", "asked", "verdict")
NUMERIC = {"ours", "theirs", "ratio", "asked"}


def render(rows: Sequence[Row]) -> str:
    """The table, then one line that counts what was asked and what was missed."""
    lines = [HEADER, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    body = [_aligned(line, widths) for line in lines]
    return "\n".join([*body, "", _summary(rows)])


def number(value: float) -> str:
    """Three significant digits, with k, M or G in place of powers of a thousand."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _cells(row: Row) -> tuple[str, ...]:
    asked = "" if row.asked is None else f"≥ {number(row.asked)}"
    values = (number(row.ours), row.peer, number(row.peer_value), row.unit, number(row.ratio), asked)
    return (row.case, *values, row.verdict)


def _aligned(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if name in NUMERIC else cell.ljust(width)
        for name, cell, width in zip(HEADER, cells, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def _summary(rows: Sequence[Row]) -> str:
    asked = [row for row in rows if row.asked is not None]
    missed = sum(row.verdict == "MISSED" for row in asked)
    outcome = f"{missed} MISSED" if missed else "all hold"
    return f"{len(asked)} figures asked, {outcome}. A ratio above 1 means that ours is better."
