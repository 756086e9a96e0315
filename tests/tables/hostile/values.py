"""Hostile values: what a column of each type may hold that an engine may stumble over.

A value is a text that the engine casts to the type, an expression of SQL (`Sql`), or NULL. Columns of Arrow hold
objects of Python (arrow_types.py). Each type has ordinary values too, which everybody else has.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither.tables.expression import LONGEST_TEXT

__all__ = [
    "BEYOND_ASCII",
    "DAYS",
    "LENGTHS",
    "LONG",
    "NOT_UTF8",
    "REALS",
    "TEXTS",
    "TIMES",
    "Sql",
    "Typed",
    "decimals",
    "named",
    "random_reals",
    "wholes",
]


@dataclass(frozen=True, slots=True)
class Sql:
    """A value as an expression of the engine."""

    text: str


@dataclass(frozen=True, eq=False)
class Typed:
    """A column of one type: what the catalogue calls the type, some ordinary values, and hostile ones by name."""

    name: str
    type: Any
    ordinary: Sequence[Any]
    hostile: Mapping[str, Any]


NOT_UTF8 = [b"\xffa", b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"x" * 20 + b"\xfe"]
"""Texts of Arrow and DuckDB that are none: a wrong byte, half a character, half of a surrogate pair, too many bytes for
a character, a character beyond the last one, and a text that is not short."""
BEYOND_ASCII = ("é", "Paris", "b")
"""Ordinary texts with which a segment of DuckDB begins: from then on it stores texts that are not UTF-8."""
LONG = 1 << 20
"""The length of a long text: 1 MB."""
LENGTHS = (LONGEST_TEXT, LONGEST_TEXT + 1, LONG)
"""The longest that enters, one byte more, and 1 MB."""

REALS = [
    "NaN", "Infinity", "-Infinity", "0.0", "-0.0", "5e-324", "-5e-324", "1e-310", "1e-300", "-1e-300", "9.9e-101",
    "1e-100", "1e-90", "0.1", "9007199254740991", "9007199254740993", "1e40", "-1e40", "9.999999999999999e99", "1e100",
    "1.0000000000000002e100", "-1e100", "1.7e308", "-1.7e308", "1.7976931348623157e308",
]  # fmt: skip
"""NaN, infinities, both zeros, denormals, neighbours of what is tame, of 2^53 and of the largest double."""

DAYS = [
    "0001-01-01", "0001-12-31", "1582-10-15", "1969-12-31", "2024-02-29", "9999-12-31", "10000-01-01", "12024-02-29",
]  # fmt: skip
TIMES = [f"{day} {time}" for day in DAYS for time in ("00:00:00", "23:59:59.999999")]

TEXTS = [
    "", " ", "   ", "a", "A", "a ", " a", "Paris", "PARIS", "paris", "Paris ", "ß", "SS", "é", "e\u0301", "\u202eabc",
    "שלום", "\u200b", "\ufeffa", "😀" * 20, "1", "1e3", "1e999", "-1e-999", "NaN", "inf", "-inf", "Infinity", "١٢",
    "0x10", "1_000", "1,5", "+.5", ".", "9" * 400, "2024-02-29", "2024-02-30", "0000-01-01", "9999-12-31",
    "10000-01-01", "2024-02-29T25:61:61", "infinity", "true", "TRUE", "NULL", "'; DROP TABLE t; --", '"', '""', "\\",
    "%s", "{}", "$1", "a\nb", "a\r", "a\tb", "\u0085", "\x01",
]  # fmt: skip
"""Empty, blank, of another case, with other bytes for the same letters, right to left, like numbers, days and SQL."""


def named(values: Sequence[Any]) -> dict[str, Any]:
    """Values by a short name each; NULL is among them."""
    return {
        (repr(value) if len(str(value)) < 40 else f"{str(value)[:20]!r}… of {len(str(value))}"): value
        for value in [None, *values]
    }


def wholes(bits: int, *, signed: bool = True) -> list[str]:
    """The edges of an integer type, and those of doubles where they lie within."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    near = [0, -1, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63)]
    edges = {low, low + 1, high - 1, high, *near}
    return [str(edge) for edge in sorted(edges) if low <= edge <= high]


def decimals(precision: int, scale: int) -> list[str]:
    """The largest and the smallest of a width, both signs, and 0."""
    digits = precision - scale
    most = ("9" * digits or "0") + (f".{'9' * scale}" if scale else "")
    least = f"0.{'0' * (scale - 1)}1" if scale else "1"
    return ["0", most, f"-{most}", least, f"-{least}"]


def random_reals(count: int, choose: random.Random) -> list[str]:
    """Doubles of random bits: each magnitude there is comes as often as any other."""
    return [
        f"{choose.choice(['', '-'])}{choose.randint(1, 2**53 - 1)}e{choose.randint(-320, 292)}" for _ in range(count)
    ]
