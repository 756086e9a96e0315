"""TOML with its lines: what is wrong is reported with its line.

The reader of the standard library forgets lines. They are found by reading beginnings of the text again: a key stands
in the first line that names it and from which on every beginning that can be read has it.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

from dither.errors import ParameterError

__all__ = ["Section", "document"]

_LONGEST = 1 << 20
_PLACE = re.compile(r"^(.*) \(at (?:line ([0-9]+), column [0-9]+|end of document)\)$", re.DOTALL)
_Value = TypeVar("_Value")
_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    Decimal: "a number",
    date: "a date",
    list: "a list",
    dict: "a table",
}


def document(text: str) -> Section:
    """The whole text as a section, or `ParameterError` with the line that is not TOML."""
    if len(text) > _LONGEST:
        raise ParameterError(f"a description has at most {_LONGEST} characters.")
    try:
        return Section(text, (), _read(text))
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.match(str(error))
        line = text.count("\n") + 1 if found is None or found[2] is None else int(found[2])
        why = str(error) if found is None else found[1]
    except RecursionError:
        line, why = 1, "values are nested too deeply"
    except ValueError:  # of Python, which reads no whole number of thousands of digits
        line, why = 1, "a whole number in it is too long"
    raise ParameterError(f"line {line}: this is not TOML: {why}. Texts stand in quotes, lists in [ ].")


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a TOML text: its values, and where they stand."""

    text: str | None
    """The whole text; None if the values are from elsewhere, and then no line is said."""
    path: tuple[str, ...]
    values: dict[str, Any]

    def line(self, key: str) -> int:
        """The line where a key stands, from 1."""
        lines = (self.text or "").split("\n")
        numbers = range(1, len(lines) + 1)
        named = [number for number in numbers if key in lines[number - 1]] or numbers  # or written with escapes

        def is_there(number: int) -> bool:
            """Whether the shortest beginning that can be read, with this line in it, has the key."""
            for end in range(number, len(lines) + 1):
                try:
                    return _has(_read("\n".join(lines[:end])), (*self.path, key))
                except tomllib.TOMLDecodeError:  # in the middle of a value of several lines
                    continue
            return True

        return named[min(bisect_left(named, True, key=is_there), len(named) - 1)]

    def refuse(self, key: str, why: str) -> NoReturn:
        """Say what is wrong with the value of a key."""
        raise ParameterError(f"{self._place(key)}{why}")

    def _place(self, key: str) -> str:
        return "" if self.text is None else f"line {self.line(key)}: "

    def at(self, key: str, make: Callable[..., _Value], *arguments: Any) -> _Value:
        """What `make` gives; what it refuses is reported with the line of the key."""
        try:
            return make(*arguments)
        except ParameterError as error:
            why = str(error)
        raise ParameterError(f"{self._place(key)}{why}")

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that mean nothing here, with the nearest one that does."""
        allowed = list(known)
        for key in self.values:
            if key not in allowed:
                near = get_close_matches(key, allowed, 1, 0.5)
                advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(allowed)}."
                self.refuse(key, f"unknown key {key!r} in {self.name}; {advice}")

    @property
    def name(self) -> str:
        """As it stands in the text."""
        return f"[{'.'.join(self.path)}]" if self.path else "the description"

    def section(self, key: str) -> Section:
        """A table inside; an empty one if it is not there."""
        found = self.get(key, dict)
        return Section(self.text, (*self.path, key), {} if found is None else found)

    def sections(self) -> dict[str, Section]:
        """All tables inside, by name; other values are refused."""
        return {key: self.section(key) for key in self.values}

    def need(self, key: str, kind: type) -> Any:
        """A value that must be there."""
        if key not in self.values:
            raise ParameterError(f"{self.name} needs {key} = ..., {_NAMES[kind]}.")
        return self.get(key, kind)

    def get(self, key: str, kind: type) -> Any:
        """A value of one kind, or None if there is none; `Decimal` takes whole numbers too."""
        value = self.values.get(key)
        if value is not None and not _is_a(value, kind):
            self.refuse(key, f"{key} in {self.name} must be {_NAMES[kind]}, and it is {_kind(value)}.")
        return value

    def texts(self, key: str) -> list[str]:
        """A text or a list of texts."""
        value = self.values.get(key, [])
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str) for each in listed):
            self.refuse(key, f"{key} in {self.name} must be a text, or a list of texts.")
        return listed


def _read(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def _has(values: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def _is_a(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, Decimal | int) if kind is Decimal else isinstance(value, kind)


def _kind(value: Any) -> str:
    if isinstance(value, datetime | time):
        return "a time"
    return next(name for kind, name in _NAMES.items() if isinstance(value, kind))
