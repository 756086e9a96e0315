"""Privacy domains: what is publicly known of columns, declared once, and what follows for expressions of them.

A domain is a range, to which values are clamped, or a set of keys. Both come from the owner and not from the rows, so
nothing that follows from them tells of anybody. A range that is too narrow makes answers biased, never less private.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dither.errors import ParameterError
from dither.exact import rational
from dither.tables import Column, Expression
from dither.tables.expression import Literal, Operation
from dither.tables.row_functions import DAY_UNITS

__all__ = ["Domain", "Domains", "domain_of", "domains_of", "range_of", "values_of"]

Range: TypeAlias = tuple[Any, Any]
"""The smallest and the largest value: two numbers, or two days."""
_MOST_VALUES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Domain:
    """What is known of one column: its range, or its keys."""

    bounds: Range | None = None
    keys: tuple[Any, ...] | None = None

    def or_else(self, other: Domain) -> Domain:
        """What is known of a value that has this domain or another one."""
        bounds = _hull([self.bounds, other.bounds])
        keys = None if self.keys is None or other.keys is None else tuple(dict.fromkeys((*self.keys, *other.keys)))
        return Domain(bounds, keys)


Domains: TypeAlias = Mapping[str, Domain]


def domains_of(columns: Mapping[str, Any] | None, existing: Iterable[str]) -> dict[str, Domain]:
    """Domains as owners write them: a pair is a range, a list is a set of keys."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise ParameterError("columns takes a dictionary such as {'spend': (0, 200), 'city': ['Lyon', 'Paris']}.")
    known = list(existing)
    for name in columns:
        if name not in known:
            raise ParameterError(f"columns names {name!r}, and the data has no such column. It has {', '.join(known)}.")
    return {name: _domain(name, said) for name, said in columns.items()}


def _domain(name: str, said: Any) -> Domain:
    if isinstance(said, tuple) and len(said) == 2:
        return Domain(bounds=_ordered(name, *said))
    if isinstance(said, list) and said:
        return Domain(keys=tuple(said))
    raise ParameterError(
        f"columns[{name!r}] is a pair (low, high) of numbers or days, or a list of keys that is not empty."
    )


def _ordered(name: str, low: Any, high: Any) -> Range:
    days = _is_day(low) and _is_day(high)
    first, last = (low, high) if days else (rational(end, f"columns[{name!r}]") for end in (low, high))
    if not first < last:
        raise ParameterError(f"columns[{name!r}] needs a low end below its high end.")
    return low, high


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def range_of(expression: Expression, domains: Domains) -> Range | None:
    """Numbers or days between which all values of an expression lie if its columns keep theirs; None if unknown.

    An end that is not known is infinite.
    """
    if isinstance(expression, Literal):
        return None if isinstance(expression.value, str) else (_exact(expression.value), _exact(expression.value))
    if isinstance(expression, Column):
        found = domains.get(expression.name)
        return None if found is None or found.bounds is None else (_exact(found.bounds[0]), _exact(found.bounds[1]))
    assert isinstance(expression, Operation)
    verb, parts = expression.verb, expression.parts
    if verb in _ALWAYS:
        return _ALWAYS[verb]
    if (least_or_largest := _extreme(expression, domains)) is not None:
        return least_or_largest
    if verb in ("if_else", "coalesce"):
        return _hull([range_of(part, domains) for part in parts[-2:]])
    if verb == "where":
        return range_of(parts[0], domains)
    ranges = [range_of(part, domains) for part in parts]
    if verb == "date_trunc":
        return _truncated(expression, ranges[0])
    if verb == "year":
        return (ranges[0][0].year, ranges[0][1].year) if ranges[0] is not None and _is_day(ranges[0][0]) else None
    if any(each is None or not all(isinstance(end, Fraction | int) for end in each) for each in ranges):
        return None
    return _arithmetic(verb, [each for each in ranges if each is not None])


_NOWHERE: Final[Range] = (-math.inf, math.inf)
_ALWAYS: Final[dict[str, Range]] = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "is_null", "is_in"), (0, 1)),
    **dict.fromkeys(("starts_with", "contains", "ends_with"), (0, 1)),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
}
"""Ranges that need no knowledge. A condition counts as 1 where it holds."""


def _exact(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, date) or value in _NOWHERE else _plain(rational(value, "bounds"))


def _extreme(expression: Operation, domains: Domains) -> Range | None:
    """The range of `if_else(a <= b, a, b)`, the lesser of two, and of the larger: one known end is enough."""
    if expression.verb != "if_else":
        return None
    condition, *chosen = expression.parts
    if not isinstance(condition, Operation) or list(map(id, condition.parts)) != list(map(id, chosen)):
        return None
    choose = {"<=": min, ">=": max}.get(condition.verb)
    ranges = [range_of(part, domains) or _NOWHERE for part in chosen]
    if choose is None or any(_is_day(low) for low, _ in ranges):
        return None
    return choose(low for low, _ in ranges), choose(high for _, high in ranges)


def _plain(value: Fraction) -> Fraction | int:
    return value.numerator if value.denominator == 1 else value


def _hull(ranges: list[Range | None]) -> Range | None:
    known = [each for each in ranges if each is not None]
    if len(known) < len(ranges) or len({_is_day(each[0]) for each in known}) > 1:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _arithmetic(verb: str, ranges: list[Range]) -> Range | None:
    (low, high), others = ranges[0], ranges[1:]
    if verb == "negative":
        return -high, -low
    if verb == "abs":
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if verb == "floor":
        return low // 1, high // 1
    if verb in _RISING:
        return _RISING[verb](low, high)
    if not others:
        return None
    (other_low, other_high) = others[0]
    if verb == "+":
        return _both(low + other_low, high + other_high)
    if verb == "-":
        return _both(low - other_high, high - other_low)
    if verb == "/":
        if other_low <= 0 <= other_high:
            return None
        other_low, other_high = 1 / Fraction(other_high), 1 / Fraction(other_low)
    elif verb != "*":
        return None
    ends = [a * b for a in (low, high) for b in (other_low, other_high)]
    return _both(min(ends), max(ends))


_FINE: Final = 1024
"""Ranges of roots, powers and logarithms are rounded outward to such parts."""
_LARGEST_POWER: Final = 231
"""A little more than log(1e100), which no number of an expression exceeds."""


def _nearest(value: Any) -> int:
    """Halves away from zero, as expressions round."""
    return int(abs(value) + Fraction(1, 2)) * (1 if value >= 0 else -1)


def _roots(low: Any, high: Any) -> Range | None:
    if high < 0:
        return None
    least, most = math.floor(max(low, 0) * _FINE**2), math.ceil(high * _FINE**2)
    end = math.isqrt(most)
    return _both(Fraction(math.isqrt(least), _FINE), Fraction(end + (end * end < most), _FINE))


def _outward(low: float, high: float) -> Range:
    ends = math.floor(math.nextafter(low, -math.inf) * _FINE), math.ceil(math.nextafter(high, math.inf) * _FINE)
    return _both(Fraction(ends[0], _FINE), Fraction(ends[1], _FINE))


def _powers(low: Any, high: Any) -> Range | None:
    return _outward(math.exp(max(low, -_LARGEST_POWER)), math.exp(high)) if high <= _LARGEST_POWER else None


def _logarithms(low: Any, high: Any) -> Range | None:
    return _outward(math.log(low) if low > 0 else -_LARGEST_POWER, math.log(high)) if high > 0 else None


_RISING: Final[dict[str, Callable[[Any, Any], Range | None]]] = {
    "round": lambda low, high: (_nearest(low), _nearest(high)),
    "sqrt": _roots,
    "exp": _powers,
    "log": _logarithms,
}


def _begin_of(day: date, unit: str) -> date:
    """The first day of the week, month, quarter or year of a day."""
    if unit == "week":
        return day - timedelta(days=min(day.weekday(), (day - date.min).days))
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}.get(unit, day.month)
    return day if unit == "day" else day.replace(month=month, day=1)


def _truncated(expression: Operation, known: Range | None) -> Range | None:
    """Of DATE_TRUNC: days alone have a range, hours are texts."""
    unit = expression.parts[1]
    if known is None or not _is_day(known[0]) or not isinstance(unit, Literal) or unit.value not in DAY_UNITS:
        return None
    return _begin_of(known[0], str(unit.value)), _begin_of(known[1], str(unit.value))


def _days(limits: Range, unit: str) -> tuple[date, ...] | None:
    """The first days of all weeks, months and so on from one to another."""
    found, length = [limits[0]], {"day": 1, "week": 7, "month": 31, "quarter": 93, "year": 366}[unit]
    while found[-1] < limits[1]:
        if len(found) == _MOST_VALUES:
            return None
        found.append(_begin_of(found[-1] + timedelta(days=length), unit))
    return tuple(found)


def _both(low: Any, high: Any) -> Range:
    return _plain(Fraction(low)), _plain(Fraction(high))


def values_of(expression: Expression, domains: Domains) -> tuple[Any, ...] | None:
    """All values that an expression can have, if they are publicly known and few; NULL is None, if it can be one."""
    if isinstance(expression, Literal):
        return (expression.value,)
    if isinstance(expression, Column):
        found = domains.get(expression.name)
        return None if found is None else found.keys
    assert isinstance(expression, Operation)
    verb, parts = expression.verb, expression.parts
    if verb == "if_else":
        return _joined([values_of(parts[1], domains), _values_otherwise(parts[0], parts[2], domains)])
    if verb == "where":
        return _joined([values_of(parts[0], domains), (None,)])
    if verb == "date_trunc" and (known := range_of(expression, domains)) is not None:
        assert isinstance(parts[1], Literal)
        return _days(known, str(parts[1].value))
    if verb in ("year", "month", "day", "weekday", "hour", "minute", "floor", "round"):
        limits = range_of(expression, domains)
        if limits is not None and limits[1] - limits[0] < _MOST_VALUES:
            return tuple(range(limits[0], limits[1] + 1))
    if verb in _OF_WHOLE:
        sets = [values_of(part, domains) for part in parts]
        return _calculated(_OF_WHOLE[verb], [each for each in sets if each is not None]) if all(sets) else None
    return None


_OF_WHOLE: Final[dict[str, Callable[..., Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "negative": lambda a: -a,
}


def _calculated(verb: Callable[..., Any], sets: list[tuple[Any, ...]]) -> tuple[int, ...] | None:
    """All results for these values, if they are whole numbers and few."""
    numbers = [value for each in sets for value in each]
    if not all(type(value) is int for value in numbers) or math.prod(map(len, sets)) > _MOST_VALUES:
        return None
    found = {verb(*each) for each in itertools.product(*sets)}
    return tuple(sorted(found)) if max(map(abs, found)) < _ALL_WHOLE else None


_ALL_WHOLE: Final = 1 << 53
"""Whole numbers below it are doubles, in which arithmetic is done."""


def _values_otherwise(condition: Expression, value: Expression, domains: Domains) -> tuple[Any, ...] | None:
    """All values of an expression where a condition does not hold: after `a == 6`, a + 1 is not 7."""
    is_equal = isinstance(condition, Operation) and condition.verb == "=="
    if is_equal and isinstance(value, Operation) and value.verb in _OF_WHOLE:
        assert isinstance(condition, Operation)
        same, other = condition.parts
        first, second = (*value.parts, None)[:2]
        known = values_of(same, domains)
        if first is same and isinstance(other, Literal) and isinstance(second, Literal) and known is not None:
            left = tuple(each for each in known if each != other.value)
            return _calculated(_OF_WHOLE[value.verb], [left, (second.value,)]) if left else None
    return values_of(value, domains)


def domain_of(expression: Expression, domains: Domains) -> Domain:
    """What is known of an expression, as of a column."""
    return Domain(bounds=range_of(expression, domains), keys=values_of(expression, domains))


def _joined(sets: list[tuple[Any, ...] | None]) -> tuple[Any, ...] | None:
    if any(each is None for each in sets):
        return None
    return tuple(dict.fromkeys(value for each in sets if each is not None for value in each))
