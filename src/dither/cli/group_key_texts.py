"""Public keys, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from dither.errors import ParameterError
from dither.exact import rational

__all__ = ["keys", "keys_of_others"]


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


def keys_of_others(said: Any, groups: Any, kinds: Mapping[str, str]) -> Any:
    """Public keys that came as JSON: a text such as `Paris, Lyon`, or lists, in which days are texts.

    >>> keys_of_others("75001, 75002", ["code"], {"code": "text"}), keys_of_others("1, 2", ["age"], {"age": "whole"})
    (['75001', '75002'], [1, 2])
    >>> keys_of_others(["2024-01-31"], ["day"], {"day": "date"})
    [datetime.date(2024, 1, 31)]
    """
    names = groups if isinstance(groups, list) and all(isinstance(name, str) for name in groups) else []
    kind_of = [kinds.get(name) for name in names]
    if isinstance(said, str):
        if len(names) != 1:
            raise ParameterError(
                "keys in one text are those of one column. Of several, leave them out where they are publicly known, "
                "or ask in SQL."
            )
        return [piece for piece, _ in _pieces(said)] if kind_of == ["text"] else keys(said)
    if isinstance(said, Mapping):
        return {name: _with_days(listed, [kinds.get(name)]) for name, listed in said.items()}
    return _with_days(said, kind_of)


def _with_days(listed: Any, kind_of: Sequence[str | None]) -> Any:
    """Texts of a column of days as days; what is none stays, and is refused where kinds are compared."""
    if not isinstance(listed, list):
        return listed
    if len(kind_of) > 1:
        return [
            [_day(part, kind) for part, kind in zip(key, kind_of, strict=False)]
            if isinstance(key, list) and len(key) == len(kind_of)
            else key
            for key in listed
        ]
    return [_day(key, kind) for key in listed for kind in kind_of] if kind_of else listed


def _day(key: Any, kind: str | None) -> Any:
    if kind == "date" and isinstance(key, str) and len(key) == len("2024-01-31"):
        with suppress(ValueError):
            return date.fromisoformat(key)
    return key


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
