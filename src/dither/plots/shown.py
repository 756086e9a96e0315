"""A release as rows and columns: what pictures and pages show of it. Released numbers only."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import DitherError
from dither.exact import in_words
from dither.mechanisms import NoAnswer, RandomizedResponse, Release
from dither.mechanisms.no_answer import TOO_FEW_ROWS

__all__ = ["Shown", "ShownColumn", "figures", "listed", "plain", "shown"]

_LEVEL = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """One answer per row, and its interval where there is one."""

    name: str
    part: str
    """Which of several numbers this is: a quantile, a bin. Empty if there is one."""
    values: Sequence[Any]
    low: Sequence[Any] | None = None
    high: Sequence[Any] | None = None
    level: str = ""
    """The level of the interval, in percent."""
    is_bars: bool = False
    """Whether it is one bin of a histogram, which is drawn as a bar."""

    def part_of(self, first: int, end: int) -> ShownColumn:
        """Its rows from `first` on, up to `end`."""
        values, low, high = (None if each is None else each[first:end] for each in (self.values, self.low, self.high))
        assert values is not None
        return replace(self, values=values, low=low, high=high)

    @property
    def title(self) -> str:
        """Its name, with the part."""
        return f"{self.name}, {self.part}" if self.part else self.name

    @property
    def is_numeric(self) -> bool:
        """Whether it can be drawn: numbers, of which some may have been refused."""
        return any(map(_is_number, self.values)) and all(_is_number(value) or value is None for value in self.values)

    @property
    def refusal(self) -> str | None:
        """Why no row has an answer; None where one has."""
        if not self.values or not all(value is None or isinstance(value, NoAnswer) for value in self.values):
            return None
        first = self.values[0]
        return TOO_FEW_ROWS if first is None else str(first)

    def written(self, at: int) -> tuple[str, ...]:
        """The value of a row, and its interval where the column has them: an end that is missing may be anything."""
        if self.low is None or self.high is None:
            return figures(self.values[at])
        low, high = self.low[at], self.high[at]
        value, *ends = figures(self.values[at], -math.inf if low is None else low, math.inf if high is None else high)
        return value, " to ".join(ends)


@dataclass(frozen=True, slots=True)
class Shown:
    """Rows that are named by `keys`, and the columns of their answers."""

    keys: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    columns: Sequence[ShownColumn]

    def part(self, first: int, end: int) -> Shown:
        """The rows from `first` on, up to `end`."""
        return Shown(self.keys, self.rows[first:end], [column.part_of(first, end) for column in self.columns])

    def labels(self) -> list[str]:
        """What a picture writes beside each row."""
        return [", ".join(map(plain, row)) for row in self.rows]


def shown(release: Release, *, as_rows: bool = False) -> Shown:
    """The rows and columns of any release; `as_rows`, each number of a list has a row of its own."""
    if hasattr(release, "plan"):  # of a table: the engine is loaded then, and is not loaded for others
        from dither.engine import TableRelease
        from dither.plots.shown_tables import shown_rows, shown_table

        assert isinstance(release, TableRelease)
        return shown_rows(release) if as_rows else shown_table(release)
    return listed(release, getattr(release, "name", "") or "value")


def listed(
    release: Release,
    name: str,
    level: Fraction = _LEVEL,
    parts: list[str] | None = None,
    heading: tuple[str] = ("place",),
    is_bars: bool = False,
) -> Shown:
    """An answer that is one thing, or a list of things: one row for each."""
    low, high = _interval(release, level)
    said = in_words(100 * level)
    value = release.value
    if isinstance(value, Mapping):
        lows, highs = (None if end is None else [end[key] for key in value] for end in (low, high))
        return Shown(
            heading, [(key,) for key in value], [ShownColumn(name, "", list(value.values()), lows, highs, said)]
        )
    if isinstance(value, np.ndarray | list | tuple):
        flat, lows, highs = (None if each is None else _flat(each) for each in (value, low, high))
        assert flat is not None
        fits = lows is not None and highs is not None and len(lows) == len(highs) == len(flat)
        places = parts or _places(value)
        column = ShownColumn(name, "", flat, lows if fits else None, highs if fits else None, said, is_bars)
        return Shown(heading, [(place,) for place in places], [column])
    least, most = (None if end is None else [end] for end in (low, high))
    return Shown((), [()], [ShownColumn(name, "", [value], least, most, said)])


def _interval(release: Release, level: Fraction) -> tuple[Any, Any]:
    """The ends, or nothing: what was chosen has none, and those of randomized response are about frequencies."""
    if isinstance(release.mechanism, RandomizedResponse):
        return None, None
    try:
        return release.interval(level)
    except DitherError:
        return None, None


def _flat(values: Any) -> list[Any]:
    found: list[Any] = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
    return found


def _places(value: Any) -> Iterable[str]:
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return [", ".join(str(at + 1) for at in place) for place in np.ndindex(value.shape)]
    return [str(at + 1) for at in range(len(value))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def plain(value: Any) -> str:
    """A value as one line of text: what would break a line, or turn it around, becomes a space."""
    if value is None:
        return "(missing)"
    text = str(value)
    return "".join(" " if unicodedata.category(letter).startswith("C") else letter for letter in text)


def figures(value: Any, low: Any = None, high: Any = None) -> tuple[str, ...]:
    """A number with its interval, with as many decimals as the interval gives meaning to; other values as text.

    >>> figures(1234.5678, 1200.1, 1269.0), figures(0.123456)
    (('1,235', '1,200', '1,269'), ('0.1235',))
    """
    if value is None:
        return "no answer", *(_written(each, 0) for each in (low, high) if each is not None)
    known = [each for each in (value, low, high) if each is not None]
    if not all(_is_number(each) for each in known):
        return tuple(map(plain, known))
    decimals = _decimals(value, low, high)
    return tuple(_written(each, decimals) for each in known)


def _decimals(value: Any, low: Any, high: Any) -> int:
    if all(isinstance(each, int) for each in (value, low, high) if each is not None):
        return 0
    width = abs(float(value)) / 100 if low is None or high is None else (float(high) - float(low)) / 2
    if not 0 < width < math.inf:
        width = abs(float(value)) / 100 or 1.0
    if not math.isfinite(width):
        return 0
    return min(max(1 - math.floor(math.log10(width)), 0), 12)


def _written(value: Any, decimals: int) -> str:
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(float(value), "unknown")
    return f"{value:,.{decimals}f}".replace("-", "−")
