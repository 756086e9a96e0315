"""Tables on a terminal: whole cells beside each other if they fit, else each row as a block of lines."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence

import typer

from dither.cli.screen import printable

__all__ = ["fitted", "print_markdown", "print_sentence", "print_table", "width"]

_GAP = "  "
_LEAST = 16
"""Columns that a text of several words needs at least to be read."""


def width() -> int | None:
    """How many columns a line may have: those of the terminal, or that COLUMNS says; None for a pipe or a file."""
    said = os.environ.get("COLUMNS", "")
    if sys.stdout.isatty() or (said.isdecimal() and int(said)):
        return shutil.get_terminal_size().columns
    return None


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = (), prose: Collection[str] = ()
) -> None:
    """Print a table as wide as the terminal at most; see `fitted`."""
    for line in fitted(columns, rows, width(), right=right, prose=prose):
        typer.echo(line)


def print_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()) -> None:
    """Print a table for a Markdown page."""
    lines = [columns, [("---:" if name in right else "---") for name in columns], *rows]
    for line in lines:
        typer.echo(f"| {' | '.join(printable(cell).replace('|', chr(92) + '|') for cell in line)} |")


def print_sentence(text: str) -> None:
    """Print words as wide as the terminal at most."""
    limit = width()
    for line in [printable(text)] if limit is None else textwrap.wrap(printable(text), limit):
        typer.echo(line)


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    limit: int | None,
    *,
    right: Collection[str] = (),
    prose: Collection[str] = (),
) -> list[str]:
    """The lines of a table, none longer than `limit` if it can be helped.

    Numbers, of the columns `right`, and names are never cut: only columns of `prose` go on in the next line, between
    two words. Where that is not enough each row becomes a block, with a line for each column.

    >>> fitted(["city", "visits"], [["Paris", "14,849"], ["Lyon", "9"]], 80, right=["visits"])
    ['city   visits', 'Paris  14,849', 'Lyon        9']
    >>> fitted(["city", "visits"], [["Paris", "14,849"], ["Lyon", "9"]], 12)
    ['city', '  Paris', 'visits', '  14,849', '', 'city', '  Lyon', 'visits', '  9']
    """
    names = [printable(name) for name in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(names, cells, limit, [name in prose for name in columns])
    if widths is None:
        return _blocks(names, cells, limit)
    is_right = [name in right for name in columns]
    wrapped = [[_wrapped(cell, most) for cell, most in zip(row, widths, strict=True)] for row in cells]
    lines = [_line(names, widths, is_right)]
    for row in wrapped:
        for at in range(max(map(len, row), default=0)):
            lines.append(_line([cell[at] if at < len(cell) else "" for cell in row], widths, is_right))
    return lines


def _widths(
    names: Sequence[str], rows: Sequence[Sequence[str]], limit: int | None, is_prose: Sequence[bool]
) -> list[int] | None:
    """The width of each column, or None if they do not fit: prose gives way, each column of it as much as it must."""
    columns = [[name, *(row[at] for row in rows)] for at, name in enumerate(names)]
    widths = [max(map(_columns, column)) for column in columns]
    if limit is None:
        return widths
    least = [
        min(most, max(_LEAST, _columns(column[0]), _longest_word(column))) if gives_way else most
        for most, column, gives_way in zip(widths, columns, is_prose, strict=True)
    ]
    too_many = sum(widths) + len(_GAP) * (len(widths) - 1) - limit
    while too_many > 0:
        spare = [most - fewest for most, fewest in zip(widths, least, strict=True)]
        if not any(spare):
            return None
        widest = max((at for at, more in enumerate(spare) if more), key=lambda at: widths[at])
        widths[widest] -= 1
        too_many -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], is_right: Sequence[bool]) -> str:
    padded = []
    for cell, most, moved in zip(cells, widths, is_right, strict=True):
        space = " " * (most - _columns(cell))
        padded.append(space + cell if moved else cell + space)
    return _GAP.join(padded).rstrip()


def _blocks(names: Sequence[str], rows: Sequence[Sequence[str]], limit: int | None) -> list[str]:
    """Each row under the one before: a name and its value in a line, or below each other where that is too wide."""
    room = max(map(_columns, names)) + len(_GAP)
    cells = [cell for row in rows for cell in row]
    needed = max(min(_LEAST, max(map(_columns, cells), default=0)), _longest_word(cells))
    is_beside = limit is None or room + needed <= limit
    lines: list[str] = []
    for row in rows or [[""] * len(names)]:
        lines += [""] if lines else []
        for name, cell in zip(names, row, strict=True):
            if is_beside:
                first, *more = _wrapped(cell, None if limit is None else limit - room)
                found = [name + " " * (room - _columns(name)) + first, *(" " * room + each for each in more)]
            else:
                found = [name, *(_GAP + each for each in _wrapped(cell, limit and limit - len(_GAP)))]
            lines += [line.rstrip() for line in found]
    return lines


def _wrapped(text: str, most: int | None) -> list[str]:
    """The text in lines of so many columns, cut between words alone."""
    if most is None or _columns(text) <= most:
        return [text]
    return list(_filled(text.split(" "), most))


def _filled(words: Sequence[str], most: int) -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if _columns(line) + 1 + _columns(word) > most:
            yield line
            line = word
        else:
            line += f" {word}"
    yield line


def _longest_word(texts: Sequence[str]) -> int:
    return max((_columns(word) for text in texts for word in text.split()), default=0)


def _columns(text: str) -> int:
    """How many columns of a terminal the text takes: some signs take two, and accents none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
