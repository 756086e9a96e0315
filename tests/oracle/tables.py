"""What a bounded table must answer, in plain Python: one row, one person and one group at a time.

Nothing here is shared with `dither.tables`. Expressions are nested tuples such as ("<", ("column", "x"), ("value", 3)).
Numbers follow the documented rules: NaN is missing, a text is the number or the day that is written there, all numbers
are doubles between 1e-100 and 1e100 in magnitude, or 0.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

__all__ = ["BoundedRows", "Steps", "evaluate", "float_bin", "spoken"]

Row = dict[str, Any]
Key = tuple[Any, ...]


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        plain = value.strip(" ")
        if re.fullmatch(r"[+-]?(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?", plain, re.ASCII) is None:
            return None
        return _tame(float(plain))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return _tame(float(value))


def _day(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return (
                date.fromisoformat(value[:10]) if re.fullmatch(r"\d{4}-\d\d-\d\d([ T].*)?", value, re.ASCII) else None
            )
        except ValueError:
            return None
    return value.date() if isinstance(value, datetime) else value


def _tame(value: float | None) -> float | None:
    if value is None:
        return None
    if abs(value) < 1e-100:
        return 0.0
    return max(-1e100, min(1e100, value))


def _pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Two values as they are compared: days, or values of one kind as they are, else doubles."""
    kinds = {type(value) for value in (a, b)}
    if date in kinds:
        return _day(a), _day(b)
    if kinds <= {str} or kinds <= {int} or kinds <= {bool}:
        return a, b
    return _number(a), _number(b)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[..., float | None]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
    "negative": lambda a: -a,
    "abs": abs,
    "floor": lambda a: float(math.floor(a)),
}
_PARTS: dict[str, Callable[[date], int]] = {
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "weekday": date.weekday,
}


def evaluate(expression: Any, row: Row) -> Any:
    """The value of an expression in one row; None for NULL."""
    verb, *parts = expression
    if verb == "column":
        return row[parts[0]]
    if verb == "value":
        return parts[0]
    values = [evaluate(part, row) for part in parts]
    if verb in _COMPARISONS:
        return _compared(verb, *values)
    if verb in _ARITHMETIC:
        numbers = [_number(value) for value in values]
        return None if None in numbers else _tame(_ARITHMETIC[verb](*numbers))
    if verb in _PARTS:
        day = _day(values[0])
        return None if day is None else _PARTS[verb](day)
    return _joined(verb, values)


def _compared(verb: str, a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    a, b = _pair(a, b)
    return None if a is None or b is None else _COMPARISONS[verb](a, b)


def _joined(verb: str, values: list[Any]) -> Any:
    if verb == "is_null":
        return values[0] is None or (isinstance(values[0], float) and math.isnan(values[0]))
    if verb == "is_in":
        return _any([_compared("==", values[0], other) for other in values[1:]])
    if verb == "not":
        return None if values[0] is None else not values[0]
    if verb == "or":
        return _any(values)
    if verb == "and":
        none = _any([None if value is None else not value for value in values])
        return None if none is None else not none
    assert verb == "if_else"
    return values[1] if values[0] is True else values[2]


def _any(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


@dataclass(frozen=True)
class Steps:
    """A lattice by its numbers: multiples of `step` from `low` to `high`, counted in steps."""

    step: Fraction
    low: int
    high: int

    def of(self, value: Any) -> int | None:
        """How many steps a value lies above the low end."""
        number = _number(value)
        if number is None:
            return None
        step = float(self.step)
        inside = max(float(self.low * self.step), min(float(self.high * self.step), number))
        return max(0, min(self.high - self.low, math.floor(inside / step + 0.5) - self.low))


def float_bin(value: Any, bounds: tuple[float, float], flat: int, digits: int) -> int | None:
    """The bin of a value by its exact number: the octave by counting, the rest by division of fractions."""
    number = _number(value)
    if number is None:
        return None
    inside = Fraction(max(bounds[0], min(bounds[1], number)))
    size, octave = abs(inside), 0
    while size >= Fraction(2) ** (flat + octave + 1):
        octave += 1
    found: int = octave * 2**digits + math.floor(size / Fraction(2) ** (flat + octave - digits))
    return -found if inside < 0 else found


def spoken(values: Sequence[Any], salt: int) -> str:
    """MD5 of the values written out: a hash that every engine has."""
    words = [
        "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for value in values
    ]
    return hashlib.md5("|".join([*words, str(salt)]).encode()).hexdigest()


@dataclass(frozen=True)
class BoundedRows:
    """Rows, the name of the column of persons (None if each row is its own), the key columns, and the bounds."""

    rows: Sequence[Row]
    person: str | None
    keys: Sequence[str]
    max_groups: int
    max_rows: int
    salt: int
    public: frozenset[Key] | None = None

    def totals(self, measures: dict[str, tuple[str, Any, Steps | None]]) -> dict[Key, dict[str, int]]:
        """Of each group, each measure: its kind, the expression it is of, and its lattice."""
        brought: dict[tuple[Any, Key], list[Row]] = defaultdict(list)
        for who, key, row in self._attributed():
            brought[who, key].append(row)
        found: dict[Key, dict[str, int]] = {}
        for who, key in self._few_groups(brought):
            group = found.setdefault(key, dict.fromkeys(measures, 0))
            for name, (kind, of, steps) in measures.items():
                group[name] += self._contribution(kind, of, steps, brought[who, key])
        if not self.keys and not found:
            return {(): dict.fromkeys(measures, 0)}
        return found

    def bins(self, of: Any, bounds: tuple[Any, Any], flat: int, digits: int) -> dict[Key, int]:
        """How many rows each group and bin has."""
        found: dict[Key, int] = defaultdict(int)
        for key, value in self._few_rows(lambda row: float_bin(evaluate(of, row), bounds, flat, digits)):
            found[*key, value] += 1
        return dict(found)

    def distinct(self, of: Any) -> dict[Key, int]:
        """How many different values each group has."""
        found: dict[Key, set[Any]] = defaultdict(set)
        for key, value in self._few_rows(lambda row: evaluate(of, row)):
            found[key].add(value)
        counted = {key: len(values) for key, values in found.items()}
        return counted if self.keys else {(): counted.get((), 0)}

    def tally(self, of: Any) -> dict[Key, int]:
        """How many rows each group and value has."""
        found: dict[Key, int] = defaultdict(int)
        for key, value in self._few_rows(lambda row: evaluate(of, row)):
            found[*key, value] += 1
        return dict(found)

    def _attributed(self) -> list[tuple[Any, Key, Row]]:
        listed = []
        for index, row in enumerate(self.rows):
            who = index if self.person is None else row[self.person]
            key = tuple(row[name] for name in self.keys)
            if who is not None and (self.public is None or key in self.public):
                listed.append((who, key, row))
        return listed

    def _few_groups(self, pairs: Any) -> list[tuple[Any, Key]]:
        if self.person is None:
            return list(pairs)
        groups: dict[Any, list[Key]] = defaultdict(list)
        for who, key in pairs:
            groups[who].append(key)
        return [
            (who, key)
            for who, keys in groups.items()
            for key in sorted(keys, key=lambda key, who=who: spoken([who, *key], self.salt))[: self.max_groups]  # type: ignore[misc]
        ]

    def _few_rows(self, value_of: Callable[[Row], Any]) -> list[tuple[Key, Any]]:
        values: dict[tuple[Any, Key], list[Any]] = defaultdict(list)
        for who, key, row in self._attributed():
            value = value_of(row)
            if value is not None and value == value:
                values[who, key].append(value)
        most = None if self.person is None else self.max_rows
        return [
            (key, value)
            for who, key in self._few_groups(values)
            for value in sorted(values[who, key], key=lambda value: spoken([who, *key, value], self.salt))[:most]
        ]

    def _contribution(self, kind: str, of: Any, steps: Steps | None, rows: list[Row]) -> int:
        most = 1 if self.person is None else self.max_rows
        if kind == "people":
            return 1
        if kind == "rows":
            return min(len(rows), most)
        values = [evaluate(of, row) for row in rows]
        if kind == "values":
            return min(sum(_number(value) is not None for value in values), most)
        assert steps is not None
        width = steps.high - steps.low
        taken = [step for value in values if (step := steps.of(value)) is not None]
        if kind == "sum":
            total = sum(steps.low + step for step in taken)
            return max(most * min(steps.low, 0), min(most * max(steps.high, 0), total))
        if kind == "squares":
            taken, width = [(2 * step - width) ** 2 for step in taken], width**2
        number, total = len(taken), sum(taken)
        if number > most:
            number, total = most, min(most * width, math.floor(total / number * most))
        return 2 * total - width * number
