"""Conditions and values of a row, as text.

    condition   age >= 18 and city in ('Paris', 'Lyon') and not spend is null
    value       price * quantity - coalesce(discount, 0)      day between 2024-01-01 and 2024-01-31

    condition = both { "or" both }             both = each { "and" each }             each = ["not"] comparison
    comparison = sum [ ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") sum
                     | ["not"] "between" sum "and" sum
                     | "is" ["not"] "null" | ["not"] "in" "(" literal { "," literal } ")" ]
    sum = product { ("+" | "-") product }      product = part { ("*" | "/") part }    part = ["-"] single
    single = number | 'text' | day | "date" 'day' | "time" 'time' | "true" | "false" | column | function "(" ... ")"
           | "(" condition ")"
    day = four digits "-" two "-" two, without spaces

A column is a word, or any name in double quotes. Texts stand in single quotes; a quote inside is written twice. What is
read is a tree of `dither.tables.expression`, so there is nothing to say here that may not be said there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from dither.cli.tokens import Reader
from dither.errors import ParameterError
from dither.tables import Column, Expression, if_else
from dither.tables.expression import Literal, literal

__all__ = ["Conditions", "condition", "day", "public_value", "sees_day"]

_COMPARISONS: dict[str, Callable[[Any, Any], Expression]] = {
    "=": lambda left, right: left == right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _public(value: Expression) -> Any:
    """What the text says itself, for parts of functions that are public; an expression of rows is refused by these."""
    if isinstance(value, Column):
        raise ParameterError(
            f"a public value is expected in the place of {value.name}, which is a column here. A text stands in single "
            f"quotes: '{value.name}'."
        )
    return value.value if isinstance(value, Literal) else value


_FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[..., Expression]]] = {
    "abs": ((1,), lambda of: abs(of)),
    "after": ((2,), lambda of, text: of.after(_public(text))),
    "coalesce": ((2,), lambda of, other: of.coalesce(other)),
    "contains": ((2,), lambda of, text: of.contains(_public(text))),
    "date_trunc": ((2,), lambda of, unit: of.date_trunc(_public(unit))),
    "day": ((1,), lambda of: of.day()),
    "ends_with": ((2,), lambda of, text: of.ends_with(_public(text))),
    "exp": ((1,), lambda of: of.exp()),
    "floor": ((1,), lambda of: of.floor()),
    "hour": ((1,), lambda of: of.hour()),
    "if_else": ((3,), if_else),
    "left": ((2,), lambda of, length: of.left(_public(length))),
    "log": ((1,), lambda of: of.log()),
    "lower": ((1,), lambda of: of.lower()),
    "minute": ((1,), lambda of: of.minute()),
    "month": ((1,), lambda of: of.month()),
    "round": ((1, 2), lambda of, *digits: of.round(*map(_public, digits))),
    "sqrt": ((1,), lambda of: of.sqrt()),
    "starts_with": ((2,), lambda of, text: of.starts_with(_public(text))),
    "strip": ((1,), lambda of: of.strip()),
    "weekday": ((1,), lambda of: of.weekday()),
    "year": ((1,), lambda of: of.year()),
}
"""By name, how many values each takes and what it makes of them."""
_RESERVED = ("and", "or", "not", "is", "in", "null", "true", "false")


def condition(text: str) -> Expression:
    """A condition, or any other value of a row.

    >>> print(condition("age >= 18 and not (city = 'Paris' or spend is null)"))
    ((age >= 18) and not(((city == 'Paris') or is_null(spend))))
    """
    reader = Reader(text)
    return reader.whole(lambda: Conditions(reader).condition())


class Conditions:
    """Reads conditions and other values of a row."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def condition(self) -> Expression:
        """The next condition or value."""
        return self._reader.nested(self._either)

    def _either(self) -> Expression:
        found = self._both()
        while self._reader.accept("or"):
            found = found | self._both()
        return found

    def _both(self) -> Expression:
        found = self._negated()
        while self._reader.accept("and"):
            found = found & self._negated()
        return found

    def _negated(self) -> Expression:
        if self._reader.accept("not"):
            return ~self._reader.nested(self._negated)
        return self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        if sign := self._reader.accept(*_COMPARISONS):
            return _COMPARISONS[sign](left, self._sum())
        if self._reader.accept("is"):
            negated = self._reader.accept("not")
            self._reader.expect("null")
            return ~left.is_null() if negated else left.is_null()
        is_negated = self._reader.sees("not", "in") or self._reader.sees("not", "between")
        if is_negated:
            self._reader.take()
        if self._reader.accept("in"):
            found: Expression = left.is_in(self._literals())
        elif self._reader.accept("between"):
            found = self._between(left)
        else:
            return left
        return ~found if is_negated else found

    def _between(self, value: Expression) -> Expression:
        """Both ends belong to it."""
        low = self._sum()
        self._reader.expect("and")
        return (value >= low) & (value <= self._sum())

    def _sum(self) -> Expression:
        found = self._product()
        while sign := self._reader.accept("+", "-"):
            other = self._product()
            found = found + other if sign == "+" else found - other
        return found

    def _product(self) -> Expression:
        found = self._part()
        while sign := self._reader.accept("*", "/"):
            other = self._part()
            found = found * other if sign == "*" else found / other
        return found

    def _part(self) -> Expression:
        if self._reader.sees("-") and self._reader.second.kind != "number":
            self._reader.take()
            return -self._reader.nested(self._part)
        return self._single()

    def _single(self) -> Expression:
        reader = self._reader
        token = reader.next
        if token.kind in ("number", "text") or reader.sees("-") or _is_truth(reader) or sees_day(reader):
            return literal(public_value(reader))
        if reader.accept("("):
            found = self.condition()
            reader.expect(")")
            return found
        if reader.sees(token.text.lower(), "("):
            return self._function()
        if token.kind == "word" and token.text.lower() in _RESERVED:
            reader.refuse("a value is expected here; a column of such a name stands in double quotes")
        return Column(reader.identifier("a column, a number, a text in '...' or a function"))

    def _function(self) -> Expression:
        reader = self._reader
        name = reader.accept(*_FUNCTIONS)
        if name is None:
            reader.refuse(f"unknown function; there are {', '.join(_FUNCTIONS)}")
        numbers, function = _FUNCTIONS[name]
        reader.expect("(")
        parts = [self.condition()]
        while reader.accept(","):
            parts.append(self.condition())
        if len(parts) not in numbers:
            reader.refuse(f"this function takes {' or '.join(map(str, numbers))} values, got {len(parts)}")
        reader.expect(")")
        return function(*parts)

    def _literals(self) -> list[Any]:
        self._reader.expect("(")
        found = [public_value(self._reader)]
        while self._reader.accept(","):
            found.append(public_value(self._reader))
        self._reader.expect(")")
        return found


def sees_day(reader: Reader) -> bool:
    """Whether a day, date '...' or time '...' is next; a column may be called date or time as well."""
    is_named = reader.sees("date") or reader.sees("time")
    return reader.next.kind == "day" or (is_named and reader.second.kind == "text")


def public_value(reader: Reader) -> Any:
    """A number, a text, a day, true or false, as an expression can hold it."""
    if sees_day(reader):
        return day(reader)
    if found := reader.accept("true", "false"):
        return found == "true"
    if reader.next.kind == "text":
        return reader.take().text
    if not reader.sees("-") and reader.next.kind != "number":
        reader.refuse("a number, a text in '...', a day, true or false is expected here")
    digits = reader.second if reader.sees("-") else reader.next
    number = reader.number()
    is_whole = digits.text.isdecimal() or (number.denominator == 1 and abs(number) < 1 << 63)
    return int(number) if is_whole else float(number)


def _is_truth(reader: Reader) -> bool:
    return reader.sees("true") or reader.sees("false")


def day(reader: Reader) -> date:
    """The day of 2024-01-31, or of date '2024-01-31'; the time of time '2024-01-31 08:15'."""
    if reader.accept("time"):
        return _time(reader)
    is_bare = reader.next.kind == "day"
    if not is_bare:
        reader.take()
    try:
        found = date.fromisoformat(reader.next.text)
    except ValueError:
        if is_bare:
            reader.refuse("this is no day of the calendar; a difference of numbers has spaces: 2024 - 13 - 45")
        reader.refuse("a day such as '2024-01-31' is expected here")
    reader.take()
    return found


def _time(reader: Reader) -> datetime:
    try:
        found = datetime.fromisoformat(reader.next.text)
    except ValueError:
        reader.refuse("a time such as '2024-01-31 08:15' is expected here")
    reader.take()
    return found
