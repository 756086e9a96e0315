"""Public keys, as text."""

from __future__ import annotations

from datetime import date
from typing import Any

from dither.errors import ParameterError
from dither.exact import rational

__all__ = ["keys"]


def keys(text: str) -> list[Any]:
    """Public keys, separated by commas: whole numbers, days such as 2024-01-31, true, false, and texts.

    Texts need quotes only if they hold a comma or start with a quote, or look like something else. Keys that are not
    all of one kind are all texts, unless one of them stands in quotes.

    >>> keys("Paris, New York, 'Washington, D.C.'"), keys("75001, 2A004"), keys("1, 2")
    (['Paris', 'New York', 'Washington, D.C.'], ['75001', '2A004'], [1, 2])
    """
    pieces = _pieces(text)
    found = [piece if quoted else _key(piece) for piece, quoted in pieces]
    if len({type(key) for key in found}) > 1 and not any(quoted for _, quoted in pieces):
        return [piece for piece, _ in pieces]
    return found


def _pieces(text: str) -> list[tuple[str, bool]]:
    """The parts between commas, and whether each stood in quotes."""
    found: list[tuple[str, bool]] = []
    rest = text
    while True:
        rest = rest.lstrip()
        if rest.startswith("'"):
            inside, closed = _quoted(rest)
            found.append((inside, True))
            rest = rest[closed:].lstrip()
            if rest and not rest.startswith(","):
                raise ParameterError("after a key in quotes comes a comma or the end. Write a quote inside twice: ''.")
        else:
            found.append((rest.partition(",")[0].strip(), False))
            rest = rest[len(rest.partition(",")[0]) :]
            if not found[-1][0]:
                raise ParameterError("a key between two commas is empty. Write '' for an empty text.")
        if not rest:
            return found
        rest = rest[1:]


def _quoted(text: str) -> tuple[str, int]:
    """The text inside the quotes at the start, and where they end."""
    at = 1
    while at < len(text):
        if text[at] == "'" and text[at : at + 2] != "''":
            return text[1:at].replace("''", "'"), at + 1
        at += 2 if text[at] == "'" else 1
    raise ParameterError("a key starts with a quote that is not closed. Write a quote inside twice: ''.")


def _key(text: str) -> Any:
    """What a key without quotes means: only what is written in the one usual way is more than a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        whole = int(rational(text)) if text.lstrip("-").isdecimal() else None
    except ParameterError:
        whole = None
    if whole is not None and str(whole) == text and abs(whole) < 1 << 63:
        return whole
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return day if day.isoformat() == text else text
